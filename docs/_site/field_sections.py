"""Docstrings describe fields and arguments in lines `name: ...`; the reference shows these as parameters."""

import re
from typing import Any

import griffe

FIELD = re.compile(r"((?:\w+, )*\w+): (.*)")


class FieldSections(griffe.Extension):
    """Write such paragraphs as sections `Args:` of Google's style, and doctests as `Examples:`."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a class or function."""
        if obj.docstring is not None and obj.kind.value in ("class", "function"):
            obj.docstring.value = with_sections(obj.docstring.value)


def with_sections(text: str) -> str:
    """The docstring with `Args:` before each paragraph that describes fields; two names of one line have a line each.

    >>> print(with_sections("Waves: moving.\\n\\nspeed: c.\\n    Default 1.\\nlow, high: the range."))
    Waves: moving.
    <BLANKLINE>
    Args:
        speed: c.
            Default 1.
        low: the range.
        high: the range.
    """
    first, *parts = text.split("\n\n")
    for i, part in enumerate(parts):
        lines = part.splitlines()
        if part.startswith(">>> "):
            parts[i] = "\n".join(["Examples:", *(f"    {line}" for line in lines)])
            continue
        if lines[:1] == ["Args:"]:
            lines = [line.removeprefix("    ") for line in lines[1:]]
        if lines and all(FIELD.match(line) or line.startswith(" ") for line in lines) and not lines[0].startswith(" "):
            parts[i] = "\n".join(["Args:", *(f"    {line}" for line in _apart(lines))])
    return "\n\n".join([first, *parts])


def _apart(lines: list[str]) -> list[str]:
    """Lines of fields, those of several names written for each."""
    entries: list[list[str]] = []
    for line in lines:
        if line.startswith(" "):
            entries[-1].append(line)
        else:
            entries.append([line])
    found: list[str] = []
    for head, *rest in entries:
        names, words = FIELD.match(head).groups()  # type: ignore[union-attr]
        for name in names.split(", "):
            found += [f"{name}: {words}", *rest]
    return found
