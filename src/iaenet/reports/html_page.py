"""HTML pages of one look, each a single file: styles, scripts and pictures are inside, nothing is fetched."""

import base64
from pathlib import Path
from typing import Any

import jinja2

from iaenet.data.atomic import kind_of, replacing
from iaenet.outside import MOST_TEXT, own_file


def write_page(template: str, path: str | Path, **values: Any) -> None:
    """Fill a template of `reports/templates` and write it, in full or not at all."""
    environment = jinja2.Environment(loader=jinja2.PackageLoader("iaenet.reports"), autoescape=True, trim_blocks=True)
    environment.filters["figure"] = figure
    text = environment.get_template(template).render(**values)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def embedded(folder: Path, name: str) -> str:
    """A PNG file of a folder as text for `src="data:image/png;base64,..."`; nothing if it is none."""
    picture = own_file(folder, name)
    if picture is None or kind_of(picture) != "a PNG picture" or picture.stat().st_size > MOST_TEXT:
        return ""
    return base64.b64encode(picture.read_bytes()).decode()


def figure(value: float | None) -> str:
    """A number as tables show it.

    >>> figure(0.0123456), figure(None)
    ('0.0123', '')
    """
    return "" if value is None else f"{value:.3g}"
