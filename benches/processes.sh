#!/bin/sh
# Times whole processes: `rea run` beside bash and dash, `rea grant check`, and a batch of everyday lines.
# Needs hyperfine and a release build: cargo build --release -p rea-gateway
# Usage: benches/processes.sh [path of rea] [runs]
set -eu
rea=${1:-target/release/rea}
runs=${2:-300}
rea=$(realpath "$rea")
corpus=$(realpath corpus/everyday.toml)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_STATE_HOME="$scratch/state" XDG_CACHE_HOME="$scratch/cache"
mkdir -p "$scratch/repository" && cd "$scratch/repository" && git init -q .
"$rea" grant add 'git status' --scope name --for always --reason bench >/dev/null

compare() {
    line=$1
    "$rea" run "$line" >/dev/null
    # A file that has just changed is hashed each time, so let its time pass.
    sleep 3
    "$rea" run "$line" >/dev/null
    hyperfine -N --style basic --warmup 30 --runs "$runs" --export-json "$scratch/run.json" \
        -n rea "'$rea' run '$line'" \
        -n bash "bash --norc -c '$line'" \
        -n dash "dash -c '$line'" 2>/dev/null >/dev/null
    python3 - "$scratch/run.json" "$line" <<'PYTHON'
import json, sys
rows = {r["command"]: r["median"] * 1e3 for r in json.load(open(sys.argv[1]))["results"]}
rea, bash, dash = rows["rea"], rows["bash"], rows["dash"]
print(f"{sys.argv[2]:<24} rea {rea:.2f} ms   bash {bash:.2f} ms   dash {dash:.2f} ms   "
      f"rea/bash {rea / bash:.2f}   rea/dash {rea / dash:.2f}")
PYTHON
}
compare '/bin/true'
compare 'git --version'
compare 'ls'
compare 'seq 10 | tail -n 1'

hyperfine -N --style basic --warmup 30 --runs "$runs" --export-json "$scratch/check.json" \
    "'$rea' grant check 'git status'" >/dev/null 2>&1
python3 - "$scratch/check.json" <<'PYTHON'
import json, sys
for r in json.load(open(sys.argv[1]))["results"]:
    print(f"rea grant check 'git status': median {r['median'] * 1e3:.2f} ms, max {r['max'] * 1e3:.2f} ms")
PYTHON

python3 - "$rea" "$corpus" <<'PYTHON'
import os, resource, subprocess, sys, tomllib
lines = tomllib.load(open(sys.argv[2], "rb"))["read"]
batch = b"".join(line.encode() + b"\0" for line in lines)
rounds = 500
with open("batch", "wb") as file:
    for _ in range(rounds):
        file.write(batch)
with open("batch", "rb") as file:
    subprocess.run([sys.argv[1], "analyze", "--batch", "--syntax-only"], stdin=file, stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
count = rounds * len(lines)
print(f"batch                    {count} lines in {seconds:.2f} s of one core, {count / seconds:.0f} a second")
PYTHON
