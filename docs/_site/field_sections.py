"""Docstrings describe fields and arguments in lines `name: ...`; the reference shows these as parameters.

Options that several functions share, `**options: Unpack[...]`, are shown as the keywords that they are.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from typing import Any, get_args, is_typeddict

import griffe

FIELD = re.compile(r"((?:\w+, )*\w+): (.*)")


class FieldSections(griffe.Extension):
    """Write such paragraphs as sections `Args:` of Google's style, and doctests as `Examples:`."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a class or function."""
        if obj.docstring is not None and obj.kind.value in ("class", "function"):
            obj.docstring.value = with_sections(obj.docstring.value)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Show shared options one by one."""
        for parameter in list(func.parameters):
            if str(parameter.annotation).startswith("Unpack["):
                del func.parameters[parameter.name]
                where = func.module.canonical_path
                found = attrgetter(func.canonical_path.removeprefix(f"{where}."))(import_module(where))
                (shared,) = get_args(inspect.signature(found).parameters[parameter.name].annotation)
                for name, kind in fields_of(shared):
                    func.parameters.add(
                        griffe.Parameter(name, annotation=kind, kind=griffe.ParameterKind.keyword_only, default="...")
                    )


def fields_of(shared: Any) -> Iterator[tuple[str, str]]:
    """Names and types of a TypedDict, as they are written, after those that it inherits."""
    (written,) = ast.parse(inspect.getsource(shared)).body
    assert isinstance(written, ast.ClassDef)
    for base in (getattr(import_module(shared.__module__), ast.unparse(one)) for one in written.bases):
        if is_typeddict(base):
            yield from fields_of(base)
    for line in written.body:
        if isinstance(line, ast.AnnAssign):
            yield ast.unparse(line.target), ast.unparse(line.annotation)


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
