"""The library for agents over the Model Context Protocol: they read and propose, or write too.

`memtui mcp` runs it; `server.py` alone imports the SDK. `reading.py` and `tools.py` have what
agents can do, a function each, `framing.py` how stored text is given to them.
"""
