"""The site: every public name is in its reference, links lead somewhere, and it is built without a warning."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import iaenet
from iaenet.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def reference():
    spec = spec_from_file_location("site_reference", ROOT / "docs" / "_site" / "reference.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference_pages()


def test_every_public_name_is_in_the_reference_once(reference):
    found = re.findall(r"^::: iaenet\.(\w+)$", "\n".join(reference.values()), re.MULTILINE)
    assert sorted(found) == sorted(iaenet.__all__)
    for name in iaenet.__all__:
        assert f".md#iaenet.{name})" in reference["reference/index.md"]


def test_every_command_is_in_the_reference(reference):
    for name in COMMANDS:
        assert f"usage: iaenet {name}" in reference["reference/commands.md"]


def test_tutorials_are_in_the_navigation_and_can_be_compiled():
    sources = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
    assert len(sources) == 5
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for source in sources:
        assert f"tutorials/{source.stem}.md" in navigation
        compile(source.read_text(encoding="utf-8"), source.name, "exec")


class Links(HTMLParser):
    """Targets of a page, and the places in it that others may name."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.fetched, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[key] for key in ("id", "name") if given.get(key)}
        target = given.get("href") or given.get("src")
        if target:
            (self.targets if tag == "a" else self.fetched).append(target)


@pytest.mark.slow
def test_site_is_built_without_a_warning_fetches_nothing_and_has_no_dead_link(tmp_path):
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("*.html")}
    assert len(pages) > 40
    for path, page in pages.items():
        assert not [target for target in page.fetched if urlsplit(target).netloc], path
        for target in page.targets + page.fetched:
            parts = urlsplit(target)
            if parts.scheme or path.name == "404.html":
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert there.exists(), f"{path.name}: {target}"
            if parts.fragment and there in pages:
                assert unquote(parts.fragment) in pages[there].places, f"{path.name}: {target}"
    reference = "\n".join(
        (tmp_path / "reference" / page.name).read_text("utf-8") for page in (tmp_path / "reference").glob("*.html")
    )
    for name in iaenet.__all__:
        assert f'id="iaenet.{name}"' in reference
    for source in (ROOT / "docs" / "tutorials").glob("*.py"):
        text = (tmp_path / "tutorials" / f"{source.stem}.html").read_text(encoding="utf-8")
        assert "<img" in text, source.name
    assert "<math" in (tmp_path / "maths.html").read_text(encoding="utf-8")
