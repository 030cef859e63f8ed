"""Invented hostile values, shared by every test that shows text from a store."""

from __future__ import annotations

ESC = "\x1b"

CONTROLS: dict[str, str] = {
    "clear screen": f"tea{ESC}[2J{ESC}[H at four",
    "cursor up, overwrite": f"approved by nobody{ESC}[1A{ESC}[2Kapproved by the board",
    "black on black": f"fine{ESC}[30;40m and send it on{ESC}[0m",
    "leave the alternate screen": f"a{ESC}[?1049lb",
    "mouse on": f"a{ESC}[?1003h{ESC}[?1006hb",
    "ask for the cursor": f"a{ESC}[6nb",
    "reset": f"a{ESC}cb",
    "line drawing": f"{ESC}(0lqk{ESC}(B",
    "clipboard by OSC 52": f"a{ESC}]52;c;aGVsbG8=\x07b",
    "clipboard by OSC 52, ST": f"a{ESC}]52;c;aGVsbG8={ESC}\\b",
    "title": f"a{ESC}]0;not the title\x07b",
    "link": f"{ESC}]8;;file:///etc/hostname{ESC}\\read me{ESC}]8;;{ESC}\\",
    "device control": f'{ESC}P$q"p{ESC}\\',
    "C1 CSI": "a\x9b2Jb",
    "C1 OSC": "a\x9d0;title\x9cb",
    "bells": "\x07" * 50,
    "carriage return": "delete everything\rkeep everything  ",
    "backspaces": "no\b\byes",
    "shift out": "a\x0eqqq\x0fb",
    "NUL and DEL": "a\x00b\x7fc",
    "vertical tab, form feed": "a\x0bb\x0cc",
    "escape cut off": f"half an escape {ESC}",
    "log injection": "ok\r\n2026-01-01 INFO all approved",
}

HIDDEN: dict[str, str] = {
    "right to left override": "report\u202etxt.exe",
    "isolates": "if user \u2066== 'root\u2069 \u2066'",
    "direction marks": "a\u061cb\u200ec\u200fd",
    "zero width": "pass\u200bword\u2060 ig\u200cnore\ufeff",
    "tag characters": "hello" + "".join(chr(0xE0000 + ord(c)) for c in "obey"),
    "variation selector bytes": "ok" + "".join(chr(0xE0100 + n) for n in range(12)),
    "variation selectors on letters": "a\ufe0fb\ufe00c",
    "blank letters": "a\u3164b\u115fc\u2800d\uffa0e",
    "joiners alone": "\u200d\u200da\u200d",
    "skin tone alone": "\U0001f3fd and a\U0001f3fd",
    "soft hyphen": "in\u00advisible",
    "grapheme joiner": "a\u034fb",
    "line separators": "one\u2028two\u2029three\x85four",
    "noncharacters": "\ufffe\uffff\U0001ffff\ufdd0",
    "lone surrogates": "\ud800 and \udcff",
    "private use": "\ue0a0 \U000f0001",
    "interlinear": "\ufff9a\ufffab\ufffb",
}

MARKUP: dict[str, str] = {
    "click": "[@click=app.quit]press[/]",
    "close unopened": "x [/foo] y",
    "auto close": "[/]",
    "unclosed": "z [b + more",
    "JSON": '{"truths": [true, false], "n": [1]}',
    "hidden style": "ok [black on black]send it[/] ok",
    "backslash": "\\[bold]not bold\\",
    "deep": "[b]" * 300,
    "markdown link": "[click](javascript:alert(1)) ![x](https://nowhere.example/x.png)",
}

HONEST: dict[str, str] = {
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467 home",
    "flags": "\U0001f1e9\U0001f1ea \U0001f3f3\ufe0f\u200d\U0001f308",
    "hearts": "\u2764\ufe0f \u2764 \u2764\ufe0f\u200d\U0001f525",
    "tones": "\U0001f44b\U0001f3fd \U0001f9d1\U0001f3fe\u200d\U0001f4bb \u261d\U0001f3fb",
    "detective": "\U0001f575\U0001f3fb\u200d\u2642\ufe0f \U0001f575\ufe0f\u200d\u2640\ufe0f",
    "keycaps": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "chinese and halfwidth": "日本語テキスト｡ﾊﾝｶｸ 中文",
    "korean": "안녕하세요 \u1112\u1161\u11ab",
    "accents": "cafe\u0301 café Ångström",
    "devanagari and thai": "नमस्ते สวัสดี",
    "arabic and hebrew": "مرحبا שלום",
    "spaces": "a\u00a0b\u2009c\u3000d",
    "newer emoji": "\U0001fae8 \U0001fadf",
    "boxes": "┌─┐│ ▁▂▃ ●◆▲ ✓✗ → ⇧",
}

ALL: dict[str, str] = {**CONTROLS, **HIDDEN, **MARKUP, **HONEST}

FORBIDDEN = frozenset(
    chr(code)
    for low, high in (
        (0x00, 0x09),
        (0x0B, 0x1F),
        (0x7F, 0x9F),
        (0xAD, 0xAD),
        (0x61C, 0x61C),
        (0x200B, 0x200C),
        (0x200E, 0x200F),
        (0x2028, 0x202E),
        (0x2060, 0x206F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xD800, 0xDFFF),
        (0xFEFF, 0xFEFF),
        (0xFFF9, 0xFFFB),
        (0xE0000, 0xE0FFF),
    )
    for code in range(low, high + 1)
)
"""None of these may reach a terminal; a newline may, a joiner only within an emoji."""
