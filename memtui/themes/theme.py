"""A theme as plain values: a paint for every role, fallbacks, and the arguments Textual takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from zlib import crc32

from memtui.dataclass import dataclass, field

DEFAULT = "dusk"
MONO = "mono"
"""The theme without colours, built in; NO_COLOR chooses it."""
TERMINAL = "terminal"
"""The shipped theme of the terminal's own sixteen colours."""

ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse")
ANSI = tuple(
    f"ansi_{bright}{name}"
    for bright in ("", "bright_")
    for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
)
"""The sixteen colours of a terminal, as Textual names them."""
ANSI_DEFAULT = "ansi_default"
"""The terminal's own text colour, or as a ground its own background."""

GROUNDS = ("background", "surface", "panel")
"""Roles that are a colour alone: the page, what lies on it, bars and boxes."""

FALLBACKS: Mapping[str, tuple[str, str]] = {
    "surface": ("background", ""),
    "panel": ("surface", ""),
    "muted": ("text", ""),
    "faint": ("muted", ""),
    "accent": ("text", ""),
    "border": ("faint", ""),
    "border-focus": ("accent", ""),
    "title": ("text", "bold"),
    "heading": ("muted", "bold"),
    "match": ("accent", "bold underline"),
    "link": ("accent", "underline"),
    "key": ("accent", "bold"),
    "selection": ("", "reverse"),
    "selection-blurred": ("", "underline"),
    "selection-text": ("text", "bold"),
    "chosen": ("accent", "bold"),
    "chip": ("text", "reverse"),
    "chip-label": ("chip", ""),
    "mark": ("accent", "bold"),
    "pin": ("mark", ""),
    "fresh": ("accent", "bold"),
    "warning": ("accent", "bold"),
    "error": ("warning", ""),
    "success": ("accent", ""),
    "badge": ("warning", "reverse"),
    "high": ("accent", "bold"),
    "medium": ("text", ""),
    "low": ("faint", ""),
    "active": ("success", ""),
    "proposed": ("warning", ""),
    "superseded": ("muted", ""),
    "retired": ("faint", ""),
    "deleted": ("error", ""),
    "added": ("success", ""),
    "removed": ("error", ""),
    "bar": ("accent", ""),
    "bar-cursor": ("match", ""),
    "thumb": ("border", ""),
    "thumb-focus": ("border-focus", ""),
}
"""Role -> its fallback role, and the attributes added to it."""
ROLES = ("background", "text", *FALLBACKS)

_RELATED_TYPES = (
    "decision architecture design choice",
    "person people preference identity profile user",
    "fact knowledge discovery learning concept observation file-context reference tacit",
    "policy convention pattern rule guideline constraint",
    "bug bugfix incident error error-resolution problem issue",
    "goal project task task-update plan milestone todo",
    "event episode session session-summary journal daily note summary meeting",
    "company organization team place config procedure tool workflow lesson",
)
"""Types that share a colour of the cycle; all others go by their name."""
_SLOT = {word: at for at, words in enumerate(_RELATED_TYPES) for word in words.split()}


class Paint(NamedTuple):
    """How something is drawn. Empty colours leave what is underneath."""

    colour: str = ""
    ground: str = ""
    attributes: tuple[str, ...] = ()
    """Of `ATTRIBUTES`."""

    @property
    def style(self) -> str:
        """As a style definition of Rich: `bold #f2cd7f on #16181f`, `reverse`, `blue`."""
        words = [*self.attributes, self.colour, *(("on", self.ground) if self.ground else ())]
        return " ".join(word.removeprefix("ansi_") for word in words if word)


@dataclass(frozen=True, slots=True)
class Theme:
    """A paint for every role."""

    name: str
    paints: Mapping[str, Paint]
    """Every one of `ROLES`."""
    cycle: tuple[Paint, ...]
    """At least one."""
    types: Mapping[str, Paint] = field(default_factory=dict)
    """Type (lower case) -> a colour of its own."""
    title: str = ""
    about: str = ""
    dark: bool = True

    def __getitem__(self, role: str) -> Paint:
        return self.paints[role]

    def style(self, role: str) -> str:
        """Return Rich's style definition for a role."""
        return self.paints[role].style

    def type_paint(self, word: str) -> Paint:
        """Return the colour of a memory's type; the empty type is faint."""
        word = word.casefold()
        if not word:
            return self.paints["faint"]
        at = _SLOT.get(word)
        if at is None:
            at = crc32(word.encode("utf-8", "replace"))
        return self.types.get(word) or self.cycle[at % len(self.cycle)]

    @property
    def ansi(self) -> bool:
        """Whether it uses the terminal's own colours only."""
        return not any("#" in paint.style for paint in (*self.paints.values(), *self.cycle))


def mono() -> Theme:
    """Return the theme without colours, with bold, underline, reverse and dim only."""
    paints = {
        "background": Paint(colour=ANSI_DEFAULT),
        "text": Paint(),
        "faint": Paint(attributes=("dim",)),
        "border": Paint(attributes=("dim",)),
        "border-focus": Paint(attributes=("bold",)),
        "low": Paint(attributes=("dim",)),
        "retired": Paint(attributes=("dim",)),
        "added": Paint(attributes=("underline",)),
    }
    title, about = "Mono", "No colours; used where NO_COLOR is set"
    return Theme(MONO, complete(paints), (Paint(),), title=title, about=about)


def complete(chosen: Mapping[str, Paint], *, dark: bool = True) -> dict[str, Paint]:
    """Return a paint for every role: the chosen one, else that of its fallback."""
    paints = dict(chosen)
    if any("#" in paint.style for paint in chosen.values()):
        page, ink = ("#101216", "#e4e6ea") if dark else ("#fcfbf8", "#24262a")
    else:
        page, ink = ANSI_DEFAULT, ""
    paints.setdefault("background", Paint(page))
    paints.setdefault("text", Paint(ink))
    for role, (fallback, attributes) in FALLBACKS.items():
        if role not in paints:
            base = paints[fallback] if fallback else Paint()
            extra = tuple(dict.fromkeys((*base.attributes, *attributes.split())))
            paints[role] = base._replace(attributes=extra)
    return {role: paints[role] for role in ROLES}


_TEXTUAL = (
    *("text", "muted", "faint", "accent", "border", "border-focus", "warning", "error"),
    *("success", "selection-text", "thumb", "thumb-focus", "link"),
)


def textual_values(theme: Theme) -> dict[str, Any]:
    """Return the keyword arguments of `textual.theme.Theme` for this theme.

    The variables are those of our own sheets and of the widgets of Textual that memtui has.
    """
    plain = {name: theme[name].colour or ANSI_DEFAULT for name in (*GROUNDS, *_TEXTUAL)}
    ground = theme["selection"].ground or (plain["accent"] if theme.ansi else plain["panel"])
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
            "text-disabled": plain["faint"],
            "input-cursor-background": plain["text"],
            "input-cursor-foreground": plain["background"],
            "input-cursor-text-style": "reverse" if theme.ansi else "none",
            "input-selection-background": ground,
            "input-selection-foreground": plain["selection-text"],
            "screen-selection-background": ground,
            "screen-selection-foreground": plain["selection-text"],
            "scrollbar": plain["thumb"],
            "scrollbar-hover": plain["thumb-focus"],
            "scrollbar-active": plain["thumb-focus"],
            "scrollbar-background": plain["background"],
            "scrollbar-background-hover": plain["background"],
            "scrollbar-background-active": plain["background"],
            "scrollbar-corner-color": plain["background"],
            "link-color": plain["link"],
            # Textual's own sheets ask for it when a theme is the terminal's.
            "ansi-background": plain["background"],
        },
    }
