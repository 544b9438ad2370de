"""Verifies an audit log by the rules of docs/audit.md, independently of the Rust code.

Usage: second_verifier.py DIRECTORY...
Prints a line for each: "intact RECORDS" or "tampered FILE LINE", FILE being a base name and LINE counting from 0.
Repairs, notes and checkpoints are not its business: it checks hashes and links, nothing else.
"""

import hashlib
import json
import os
import re
import sys

SEGMENT = re.compile(r"audit-(\d{8})-(\d{6})(?:-(\d+))?\.jsonl\Z")
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def spell_string(text):
    """Returns a JSON string with no escape but those that JSON demands."""
    # json.loads leaves the halves of an escaped pair joined and lone halves alone.
    out = []
    for character in text:
        code = ord(character)
        if character in SHORT:
            out.append(SHORT[character])
        elif code < 0x20 or 0xD800 <= code <= 0xDFFF:
            out.append("\\u%04x" % code)
        else:
            out.append(character)
    return '"' + "".join(out) + '"'


def spell_number(number):
    """Returns a double as ECMAScript prints it."""
    if number != number or number in (float("inf"), float("-inf")):
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the POINT.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits + "0" * (point - len(digits))
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return "%s%s%se%s%d" % (sign, digits[0], rest, "+" if point > 0 else "-", abs(point - 1))


def is_index(key):
    """Says whether a key is an array index."""
    return re.match(r"(0|[1-9][0-9]{0,9})\Z", key) is not None and int(key) <= 4294967294


def spell(value):
    """Returns the canonical form of any value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return spell_number(value)
    if isinstance(value, str):
        return spell_string(value)
    if isinstance(value, list):
        return "[" + ",".join(spell(item) for item in value) + "]"
    keys = sorted((key for key in value if is_index(key)), key=int)
    keys += [key for key in value if not is_index(key)]
    return "{" + ",".join(spell_string(key) + ":" + spell(value[key]) for key in keys) + "}"


def no_constant(name):
    raise ValueError(name)


def read(line):
    """Returns what a line holds; numbers as doubles, a repeated key with its last value at its first place."""
    text = line.decode("utf-8")
    if text != text.strip(" \t\r") and not text.strip(" \t\r"):
        raise ValueError("blank")
    return json.loads(text, parse_int=float, parse_constant=no_constant)


def verify(directory):
    """Returns the verdict as a line of text."""
    names = [name for name in os.listdir(directory) if SEGMENT.match(name)]
    names.sort(key=lambda name: (SEGMENT.match(name).group(1, 2), int(SEGMENT.match(name).group(3) or 0)))
    if os.path.exists(os.path.join(directory, "audit.jsonl")):
        names.append("audit.jsonl")
    running, records = None, 0
    for name in names:
        with open(os.path.join(directory, name), "rb") as file:
            lines = file.read().split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        for index, line in enumerate(lines):
            wrong = "tampered %s %d" % (name, index)
            try:
                record = read(line)
            except ValueError:
                return wrong
            if not isinstance(record, dict):
                return wrong
            stated, previous = record.pop("hash", None), record.get("prev_hash")
            if not isinstance(stated, str) or not isinstance(previous, str):
                return wrong
            if running is None:
                rotated = record.get("tool_name") == "audit.rotation" and record.get("server_name") == "rea"
                running = previous if rotated else "0" * 64
            actual = hashlib.sha256(spell(record).encode("utf-8", "surrogatepass")).hexdigest()
            if previous != running or stated != actual:
                return wrong
            running = stated
            records += 1
    return "intact %d" % records


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(verify(argument))
