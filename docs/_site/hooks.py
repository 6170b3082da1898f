"""Pages of the site that are made when it is built: the reference, the commands, the gallery, the measured tables.

Formulas between dollar signs become MathML, which browsers draw by themselves.
"""

import html
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from notebooks import run_notebook
from reference import reference_pages

ROOT = Path(__file__).parents[2]
PLANE = ("darcytriangular", "darcybenchmark", "ellipsesbenchmark", "scattering")  # in the plane: these come first
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def gallery_page(results: Path) -> str:
    """Pictures of the measured tables: what goes in, the truth, the prediction, the difference."""
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    seen, parts = set(), []
    for picture in sorted(results.glob("*-samples.png"), key=lambda path: (not path.name.startswith(PLANE), path.name)):
        name = picture.name.removesuffix("-samples.png")
        if picture.read_bytes() not in seen:  # tables of one problem may share their samples
            seen.add(picture.read_bytes())
            title = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))["title"]
            page = f"experiments/results/{name}"
            parts.append(f"### [{title}]({page}.md)\n\n![{title}]({page}-samples.png)")
    return text.replace("<!-- samples of the tables -->", "\n\n".join(parts))


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and the files of `experiments/`, which lie outside the folder of the docs."""
    results = ROOT / "experiments" / "results"
    for address, text in reference_pages().items():
        files.append(File.generated(config, address, content=text))
    files.remove(files.get_file_from_path("gallery.md"))  # type: ignore[arg-type]
    files.append(File.generated(config, "gallery.md", content=gallery_page(results)))
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "changelog.md", content=log))
    for source in sorted((ROOT / "docs" / "tutorials").glob("*.py")):
        logging.getLogger("mkdocs").info("Running %s", source.name)
        text, pictures = run_notebook(source, execute=os.environ.get("DOCS_EXECUTE", "true") == "true")
        files.append(File.generated(config, f"tutorials/{source.stem}.md", content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"tutorials/{name}", content=picture))
    for path in (ROOT / "experiments" / "README.md", *sorted(results.glob("*.md")), *sorted(results.glob("*.png"))):
        address = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, address, abs_src_path=str(path)))
    return files


def on_config(config: Any) -> Any:
    """Put the pages that are made into the navigation."""
    for section in config.nav:
        ((title, value),) = section.items()
        if title == "Reference":
            pages = [address for address in reference_pages() if address != value]
            section[title] = [value, *pages]
        elif title == "Tables":
            tables = sorted((ROOT / "experiments" / "results").glob("*.md"))
            section[title] = [value, *({path.stem: path.relative_to(ROOT).as_posix()} for path in tables)]
        elif title == "Guide":
            section[title] = [*value, {"Changes": "changelog.md"}]
    return config


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML."""

    def mathml(match: re.Match[str]) -> str:
        display = "block" if match[2] == "[" else "inline"
        return convert(html.unescape(match[3]).strip(), display=display)

    return FORMULA.sub(mathml, content)
