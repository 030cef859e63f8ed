"""The library for agents over the Model Context Protocol: they read and propose, or write too.

`memtui mcp` runs it; `server.py` alone imports the SDK. `tools.py` has what agents can do, a
function each, `framing.py` how stored text is given to them.
"""
