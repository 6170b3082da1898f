"""The reference: pages with every public name and every command."""

import io
from contextlib import redirect_stdout

import iaenet
from iaenet.cli.main import COMMANDS, main

# Sub-packages that public names come from, in the order of the data path, and the title of their page.
PARTS = {
    "functions": "Functions",
    "nn": "Parts of networks",
    "models": "Models",
    "data": "Data",
    "training": "Training",
    "evaluation": "Evaluation",
    "reports": "Files and reports",
    "errors": "Errors",
}


def reference_pages() -> dict[str, str]:
    """Markdown of the reference by address: a page for each sub-package, with every public name of it.

    A name of a sub-package without a title here makes a page of its own.
    """
    names: dict[str, list[str]] = {part: [] for part in PARTS}
    for name in iaenet.__all__:
        names.setdefault(iaenet._HOME[name].split(".")[0], []).append(name)
    pages, index = {}, ["# Reference", "", "Every public name, `from iaenet import NAME`.", ""]
    for part, members in names.items():
        if members:
            title = PARTS.get(part, part.capitalize())
            blocks = "\n\n".join(f"::: iaenet.{name}" for name in sorted(members, key=str.lower))
            pages[f"reference/{part}.md"] = f"# {title}\n\n{blocks}\n"
            links = ", ".join(f"[`{name}`]({part}.md#iaenet.{name})" for name in sorted(members, key=str.lower))
            index.append(f"- [{title}]({part}.md): {links}")
    index.append("- [The command line](commands.md)")
    return {"reference/index.md": "\n".join(index) + "\n", **pages, "reference/commands.md": command_page()}


def command_page() -> str:
    """The help text of every command."""
    parts = ["# The command line", "", "What `iaenet COMMAND --help` prints.", ""]
    for name, text in COMMANDS.items():
        shown = io.StringIO()
        with redirect_stdout(shown):
            try:
                main([name, "--help"])
            except SystemExit as end:
                if end.code:
                    raise
        parts += [f"## {name}", "", f"{text[0].upper()}{text[1:]}.", "", "```text", shown.getvalue().strip(), "```", ""]
    return "\n".join(parts)
