"""The screen in a browser, for a person's own other device; needs the extra `serve`.

`access` decides who may ask, `server` runs a memtui in a pseudo-terminal for each tab and speaks
HTTP with the browser. The page and its terminal emulator (xterm.js) are those of textual-serve; its
server is not used: it checks no origin and starts a shell.
"""
