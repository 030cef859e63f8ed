"""The arguments of a Textual theme, as plain values."""

from __future__ import annotations

from typing import Any

from memtui.themes.theme import ANSI_DEFAULT, GROUNDS, Theme

_TEXTUAL = (
    *("text", "muted", "faint", "accent", "border", "border-focus", "warning", "error"),
    *("success", "selection-text", "key", "thumb", "thumb-focus", "link"),
)


def textual_values(theme: Theme) -> dict[str, Any]:
    """Return the keyword arguments of `textual.theme.Theme` for this theme.

    Roles that Textual does not have are CSS variables: `$selection-ground`, `$rule`...
    """
    plain = {name: theme[name].colour or ANSI_DEFAULT for name in (*GROUNDS, *_TEXTUAL)}
    selection, blurred = theme["selection"], theme["selection-blurred"]
    ground = selection.ground or (plain["accent"] if theme.ansi else plain["panel"])
    return {
        "name": theme.name,
        "dark": theme.dark,
        "ansi": theme.ansi,
        **{name: plain[name] for name in GROUNDS},
        "foreground": plain["text"],
        "primary": plain["border-focus"],
        "secondary": plain["muted"],
        **{name: plain[name] for name in ("accent", "warning", "error", "success")},
        "variables": {
            "rule": plain["border"],
            "border": plain["border-focus"],
            "border-blurred": plain["border"],
            "faint": plain["faint"],
            "text-muted": plain["muted"],
            "foreground-muted": plain["muted"],
            "foreground-disabled": plain["faint"],
            "selection-ground": ground,
            "selection-blurred-ground": blurred.ground or plain["panel"],
            "block-cursor-background": ANSI_DEFAULT if theme.ansi else ground,
            "block-cursor-foreground": plain["selection-text"],
            "block-cursor-text-style": "bold reverse" if theme.ansi else "bold",
            "block-cursor-blurred-background": blurred.ground or plain["panel"],
            "block-cursor-blurred-foreground": plain["text"],
            "block-hover-background": plain["panel"],
            "input-cursor-background": plain["text"],
            "input-cursor-foreground": plain["background"],
            "input-cursor-text-style": "reverse" if theme.ansi else "none",
            "input-selection-background": ground,
            "input-selection-foreground": plain["selection-text"],
            "screen-selection-background": ground,
            "screen-selection-foreground": plain["selection-text"],
            "footer-background": plain["background"],
            "footer-foreground": plain["text"],
            "footer-key-foreground": plain["key"],
            "footer-description-foreground": plain["muted"],
            "scrollbar": plain["thumb"],
            "scrollbar-hover": plain["thumb-focus"],
            "scrollbar-active": plain["thumb-focus"],
            "scrollbar-background": plain["background"],
            "scrollbar-background-hover": plain["background"],
            "scrollbar-background-active": plain["background"],
            "scrollbar-corner-color": plain["background"],
            "link-color": plain["link"],
            "button-color-foreground": plain["background"],
            # Textual's own sheets ask for these two when a theme is the terminal's.
            "ansi-background": plain["background"],
            "ansi-foreground": plain["text"],
        },
    }
