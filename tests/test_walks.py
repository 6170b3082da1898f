"""The walks through the code in CONTRIBUTING name the files that a trace of the program sees."""

import inspect
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import torch

import iaenet
from iaenet import Discretization, Field, IAENet
from iaenet.cli.main import main

ROOT = Path(__file__).parents[1]
PACKAGE = Path(iaenet.__file__).parent


def named(title):
    """Files of the package that a section names, those with a number first."""
    (section,) = re.findall(rf"^## {title}.*?$(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M | re.S)
    steps = "".join(line for line in section.splitlines() if re.match(r"\d\. ", line))
    walk, all_files = (set(re.findall(r"`(\w+/\w+\.py)`", text)) for text in (steps, section))
    return walk, {name for name in all_files - walk if (PACKAGE / name).is_file()}


@contextmanager
def traced():
    """Files of the package whose functions are called meanwhile; what runs at import does not count."""
    found, before = set(), sys.gettrace()

    def look(frame, _event, _argument):
        code = frame.f_code
        if code.co_filename.startswith(str(PACKAGE)) and code.co_flags & inspect.CO_OPTIMIZED:  # no module, no class
            found.add(Path(code.co_filename).relative_to(PACKAGE).as_posix())

    sys.settrace(look)
    try:
        yield found
    finally:
        sys.settrace(before)


def wave(grid):
    return Field(grid, torch.sin(2 * torch.pi * grid.points).float())


def test_a_call_touches_the_files_that_its_walk_names():
    walk, leaves = named("A call of a network")
    assert len(walk) <= 8
    model = IAENet.from_preset("small", in_channels=1, out_channels=1, periodic=True)
    grid = Discretization.uniform(240, periodic=True)  # a size that nothing else asked for
    with traced() as first:
        model(wave(grid))
    with traced() as second:
        model(wave(grid))
    assert first == (walk | leaves) - {"models/query_head.py"}
    assert second < first
    headed = IAENet.from_preset("small", in_channels=1, out_channels=1, periodic=True, head=8)
    with traced() as found:
        headed(wave(grid), at=Discretization.points([[0.2], [0.7]], periodic=True))
    assert walk <= found


def test_training_touches_the_files_that_its_walk_names(tmp_path):
    walk, _ = named("`iaenet train`")
    assert len(walk) <= 15
    data = tmp_path / "data.h5"
    assert not main(["generate", "burgers", "--samples", "12", "--resolutions", "32", "--out", str(data)])
    with traced() as found:
        assert not main(["train", "--data", str(data), "--epochs", "1", "--run", str(tmp_path / "run")])
    assert walk <= found
