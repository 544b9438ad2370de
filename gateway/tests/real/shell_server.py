"""A server with one tool, `bash`, that runs the line it is given in the current folder.

Usage: shell_server.py SEEN, where SEEN is a file that gets every line before it is run, as JSON.
"""

import json
import subprocess
import sys

TOOL = {
    "name": "bash",
    "description": "Runs a line.",
    "inputSchema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
    "annotations": {"destructiveHint": True},
}


def call(command):
    with open(sys.argv[1], "a", encoding="utf-8") as seen:
        seen.write(json.dumps(command) + "\n")
    try:
        done = subprocess.run(
            ["bash", "--norc", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=1,
        )
        text, code = done.stdout.decode("utf-8", "replace"), done.returncode
    except subprocess.TimeoutExpired:
        text, code = "", 124
    return {"content": [{"type": "text", "text": text}], "isError": False, "_meta": {"status": code}}


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "shell", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return call(params["arguments"]["command"])
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and "method" in request:
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
        print(json.dumps(reply), flush=True)
