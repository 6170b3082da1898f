"""Data files that do not fit into memory: the same batches, networks and weights, and a process that stays small."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from iaenet import Discretization, Field, fit, load_dataset, write_dataset
from iaenet.data.dataset import Dataset
from iaenet.data.problems.problem import Channel
from iaenet.functions.sample import Sample
from iaenet.models.base import Pair
from iaenet.outside import LIMIT
from iaenet.training import stored
from iaenet.training.batches import Samples
from iaenet.training.fit import load
from iaenet.training.stored import InFile, InMemory

CHANNELS = {"inputs": [Channel("a")], "outputs": [Channel("u")]}


def wave(at: Discretization, k: int) -> Field:
    return Field(at, torch.sin(2 * torch.pi * (at.points.sum(dim=1, keepdim=True) + k / 10)).float())


def pairs(count: int, *grids: Discretization) -> Iterator[Pair]:
    for k in range(count):
        a = wave(grids[k % len(grids)], k)
        yield a, Field(a.discretization, a.values**2)


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Samples, Samples]:
    """The training samples of a file in memory, and those that are read when they are needed."""
    data = load_dataset(path, split="train")
    kept = Samples(data)
    monkeypatch.setenv(LIMIT, f"{data.nbytes}")
    read = Samples(data)
    assert isinstance(kept.stacks, InMemory)
    assert isinstance(read.stacks, InFile)
    return kept, read


def mixed(path: Path) -> Path:
    """Two grids, and points of its own for every third sample."""
    own = [Discretization.points(torch.rand(30, 1, generator=torch.Generator().manual_seed(k))) for k in range(8)]
    grids = [Discretization.uniform(32), Discretization.uniform(48)]
    every = [pair for k in range(8) for pair in pairs(3, grids[0], grids[1], own[k])]
    write_dataset(path, every, splits=["train"] * 18 + ["validation"] * 6, **CHANNELS)
    return path


def several(path: Path) -> Path:
    """Samples of two functions and a number."""
    curve, grid = Discretization.uniform(20, periodic=True), Discretization.uniform((6, 6))
    made = [(Sample({"g": wave(curve, k), "f": wave(grid, k)}, {"T": k / 3}), wave(grid, 2 * k)) for k in range(9)]
    names = [Channel("g"), Channel("f"), Channel("T")]
    write_dataset(path, made, inputs=names, outputs=[Channel("u")])
    return path


@pytest.mark.parametrize("make", [mixed, several])
def test_what_is_read_is_what_is_kept(make, tmp_path, monkeypatch):
    kept, read = both(make(tmp_path / "a.h5"), monkeypatch)
    order = [7, 0, 3, 4, 1, 8, 2]
    for (given, wanted), (other, target) in zip(kept.take(order), read.take(order), strict=True):
        for one, two in zip((*given.parts, wanted), (*other.parts, target), strict=True):
            assert torch.equal(one.values, two.values)
            assert one.discretization.key == two.discretization.key
    assert read.content == kept.content
    assert read.by_size() == kept.by_size()
    assert read.survey.metadata == kept.survey.metadata
    mine, theirs = ([one.to_json() for one in samples.survey.normalizers] for samples in (kept, read))
    assert mine == theirs


def test_weights_do_not_depend_on_where_samples_are(tmp_path, monkeypatch):
    path = mixed(tmp_path / "a.h5")
    options = {"epochs": 2, "batch_size": 4, "threads": 1}
    model = {"name": "iaenet", "width": 8, "blocks": 1, "grid": [16], "linear_start": 0, "smoothing": 1.0, "head": 0}
    kept = fit(model, path, tmp_path / "kept", **options)
    monkeypatch.setenv(LIMIT, f"{load_dataset(path).nbytes}")
    fit(model, path, tmp_path / "read", **options)
    read = load(tmp_path / "read")
    for name, one in kept.state_dict().items():
        assert torch.equal(one, read.state_dict()[name]), name


def test_projections_of_points_are_kept(tmp_path, monkeypatch):
    _, read = both(mixed(tmp_path / "a.h5"), monkeypatch)
    assert isinstance(read.stacks, InFile)
    monkeypatch.setattr(read.stacks, "_kept", 3)
    own = [i for i in range(18) if i % 3 == 2]
    for _ in range(2):
        for (given, _), i in ((read.take([i])[0], i) for i in own):
            given.cache.setdefault("projected", i)
            assert given.cache["projected"] == i
    assert len(read.stacks._projections) == 3


def test_networks_are_made_for_samples_of_every_resolution(tmp_path, monkeypatch):
    grids = [Discretization.uniform(n) for n in (16, 24, 40)]
    write_dataset(tmp_path / "a.h5", pairs(300, grids[0], grids[0], grids[1], grids[0]), **CHANNELS)
    data = load_dataset(tmp_path / "a.h5")
    write_dataset(tmp_path / "b.h5", [*data, *pairs(1, grids[2])], **CHANNELS)
    _, read = both(tmp_path / "b.h5", monkeypatch)
    monkeypatch.setattr(stored, "EXAMPLES", 20)
    found = {given.discretization.n: given.count for given, _ in read.stacks.examples}
    assert found[16] > found[24] > found[40]
    assert sum(found.values()) <= 30


LARGE = 128  # points along a side
COUNT = 1500  # samples of each split: 197 MB
ROOM = 180 * 10**6  # bytes that the process may have beyond what it has when it starts

SMALL_PROCESS = f"""
import re, resource, sys
import matplotlib, torch, h5py
import iaenet.training.fit, iaenet.evaluation.evaluate, iaenet.reports.predict_files, iaenet.reports.result_plots
from iaenet.cli.main import main
torch.zeros(100, 100) @ torch.zeros(100, 100)
held = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (held + {ROOM}, held + {ROOM}))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is one of Linux")
def test_a_file_larger_than_memory_trains_evaluates_and_predicts(tmp_path):
    grid = Discretization.uniform((LARGE, LARGE), periodic=True)
    splits = ["train"] * COUNT + ["validation"] * 10 + ["test"] * COUNT
    write_dataset(tmp_path / "large.h5", pairs(len(splits), grid), splits=splits, **CHANNELS)
    data: Dataset = load_dataset(tmp_path / "large.h5", split="train")
    assert data.nbytes > ROOM
    assert load_dataset(tmp_path / "large.h5", split="test").nbytes > ROOM
    train = ["train", "--data", "large.h5", "--epochs", "1", "--threads", "1", "--run", "run", "--batch_size", "8"]
    train += ["--model.name", "iaenet", "--model.width", "8", "--model.blocks", "1", "--model.grid", "[16,16]"]
    predict = ["predict", "run", "--input", "large.h5", "--split", "test", "--output", "predicted.h5"]
    for command in (train, ["evaluate", "run"], predict):
        found = subprocess.run(
            [sys.executable, "-c", SMALL_PROCESS, *command],
            cwd=tmp_path,
            env={**os.environ, LIMIT: "100M", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert found.returncode == 0, found.stderr
    assert len(load_dataset(tmp_path / "predicted.h5")) == COUNT
