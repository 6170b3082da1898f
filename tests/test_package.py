"""The public names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import iaenet


def test_every_public_name_is_there():
    for name in iaenet.__all__:
        assert getattr(iaenet, name).__doc__
    assert set(iaenet.__all__) <= set(dir(iaenet))
    assert sorted(iaenet._HOME) == sorted(iaenet.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = iaenet.nothing


def test_help_needs_no_pytorch():
    code = "import sys; from iaenet.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_imports_point_up_the_list_in_the_guide():
    source = Path(iaenet.__file__).parent
    guide = (source.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    place = {
        name: number
        for number, line in re.findall(r"^(\d)\. (.*(?:\n   .*)*)", guide, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", line)
    }
    there = {path.name.removesuffix(".py") for path in source.iterdir() if not path.name.startswith("__")}
    assert set(place) == there - {"py.typed"}
    wrong = []
    for path in sorted(source.rglob("*.py")):
        own = path.relative_to(source).parts[0].removesuffix(".py")
        used = re.findall(r"(?:from|import) iaenet\.(\w+)", path.read_text(encoding="utf-8"))
        wrong += [(own, name) for name in set(used) if own in place and place[name] > place[own]]
    assert not wrong
