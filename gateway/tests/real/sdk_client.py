"""Talks to an MCP server with the Python SDK and prints what came back, one JSON value a line.

Usage: sdk_client.py MODE PREFIX CALLS -- COMMAND ARGUMENTS
MODE is what the SDK calls it; PREFIX stands before the names of tools; CALLS is a JSON list of
[tool, arguments].
"""

import asyncio
import json
import sys

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client


def show(kind, value, prefix):
    text = json.dumps(value, sort_keys=True)
    if prefix:
        text = text.replace(f'"{prefix}', '"')
    print(kind, text, flush=True)


async def main():
    mode, prefix, calls = sys.argv[1:4]
    command = sys.argv[5:]
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(stdio_client(parameters), mode=mode) as client:
        tools = []
        for _ in range(40):
            listed = await client.list_tools()
            # The gateway has a tool of its own.
            tools = [tool for tool in listed.tools if tool.name != "__rea__health"]
            if tools:
                break
            await asyncio.sleep(0.5)  # a server that is slow to start is listed later
        listed = [tool.model_dump(mode="json", by_alias=True) for tool in tools]
        show("tools", listed, prefix)
        for tool, arguments in json.loads(calls):
            result = await client.call_tool(prefix + tool, arguments)
            dumped = result.model_dump(mode="json", by_alias=True)
            show(tool, dumped, prefix)
        try:
            await client.call_tool(prefix + "no-such-tool", {})
        except Exception as error:
            show("unknown", [type(error).__name__], "")


asyncio.run(main())
