"""Checkpoints: all or nothing, every byte accounted for, data and never code."""

import json
import os
import pickle
import shutil
import subprocess
import sys

import pytest
import torch
from torch import nn

from iaenet.errors import CorruptFileError
from iaenet.training.checkpoint import SUMS, flatten_optimizers, load_checkpoint, restore_optimizers, save_checkpoint
from iaenet.training.optim import Muon


@pytest.fixture
def small(tmp_path):
    """A small checkpoint."""
    weights = {"w": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(0.5, dtype=torch.float64)}
    save_checkpoint(tmp_path / "step-1", {"step": 1, "loss": 0.1}, weights=weights, optimizer={"m": torch.ones(2)})
    return tmp_path / "step-1"


def test_what_is_saved_is_loaded(small):
    state, parts = load_checkpoint(small)
    assert state == {"step": 1, "loss": 0.1}
    assert torch.equal(parts["weights"]["w"], torch.arange(6.0).reshape(2, 3))
    assert parts["weights"]["b"].dtype == torch.float64
    assert parts["optimizer"]["m"].tolist() == [1.0, 1.0]
    assert os.listdir(small.parent) == ["step-1"]


def test_numbers_come_back_exactly(tmp_path):
    strange = [0.1, 1e-323, 1.7976931348623157e308, float("inf"), -0.0, 2.0**-53]
    values = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    save_checkpoint(tmp_path / "a", {"numbers": strange}, weights={"w": values})
    state, parts = load_checkpoint(tmp_path / "a")
    assert [number.hex() for number in state["numbers"]] == [number.hex() for number in strange]
    assert parts["weights"]["w"].numpy().tobytes() == values.numpy().tobytes()


def test_tensors_that_share_memory_or_lie_crosswise(tmp_path):
    tied = torch.rand(3, 4)
    save_checkpoint(tmp_path / "a", {}, weights={"a": tied, "b": tied, "c": tied.T, "d": tied[:, 1]})
    _, parts = load_checkpoint(tmp_path / "a")
    assert torch.equal(parts["weights"]["a"], tied)
    assert torch.equal(parts["weights"]["b"], tied)
    assert torch.equal(parts["weights"]["c"], tied.T)
    assert torch.equal(parts["weights"]["d"], tied[:, 1])


def test_sha256sum_reads_the_sums(small):
    done = subprocess.run(["sha256sum", "-c", SUMS], cwd=small, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("OK")) == (0, 3)


# ------------------------------------------------------------------ damage


def test_a_flipped_bit_anywhere_is_noticed(small):
    flips = 0
    for path in small.iterdir():
        whole = path.read_bytes()
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= 1 << place % 8
            path.write_bytes(bytes(changed))
            with pytest.raises(CorruptFileError, match="step-1"):
                load_checkpoint(small)
            flips += 1
        path.write_bytes(whole)
    assert flips > 500
    load_checkpoint(small)


def test_a_file_cut_short_anywhere_is_noticed(small):
    for path in small.iterdir():
        whole = path.read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            with pytest.raises(CorruptFileError, match="step-1"):
                load_checkpoint(small)
        path.write_bytes(whole + b"\n")
        with pytest.raises(CorruptFileError):
            load_checkpoint(small)
        path.write_bytes(whole)
    load_checkpoint(small)


def test_missing_swapped_and_further_files_are_noticed(small, tmp_path):
    for path in list(small.iterdir()):
        kept = path.read_bytes()
        path.unlink()
        with pytest.raises(CorruptFileError):
            load_checkpoint(small)
        path.write_bytes(kept)
    (small / "more.safetensors").write_bytes(b"")
    with pytest.raises(CorruptFileError):
        load_checkpoint(small)
    (small / "more.safetensors").unlink()
    os.rename(small / "weights.safetensors", small / "x")
    os.rename(small / "optimizer.safetensors", small / "weights.safetensors")
    os.rename(small / "x", small / "optimizer.safetensors")
    with pytest.raises(CorruptFileError):
        load_checkpoint(small)
    with pytest.raises(CorruptFileError, match="no checkpoint"):
        load_checkpoint(tmp_path / "none")


class Hostile:
    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return os.system, (f"touch {self.canary}",)


@pytest.mark.parametrize("name", ["weights.safetensors", "state.json", "weights.pt", SUMS])
@pytest.mark.parametrize("hashed", [False, True])
def test_a_pickle_is_refused_and_not_run(small, tmp_path, name, hashed):
    canary = tmp_path / "canary"
    bad = pickle.dumps(Hostile(canary))
    pickle.loads(bad)  # it would work
    assert canary.exists()
    canary.unlink()
    (small / name).write_bytes(bad)
    if hashed and name != SUMS:
        names = sorted(path.name for path in small.iterdir() if path.name != SUMS)
        sums = subprocess.run(["sha256sum", *names], cwd=small, capture_output=True, check=True).stdout
        (small / SUMS).write_bytes(sums)
    with pytest.raises(CorruptFileError):
        load_checkpoint(small)
    assert not canary.exists()


# ------------------------------------------------------------------ saving

FULL = """
import resource, signal, sys, torch
from pathlib import Path
from iaenet.training.checkpoint import save_checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
try:
    save_checkpoint(Path(sys.argv[1]), {}, weights={"w": torch.ones(5000)})
except OSError as error:
    print(error.filename, error.strerror)
"""


def test_a_full_disk_is_told_and_leaves_nothing(small):
    target = small.with_name("step-2")
    done = subprocess.run([sys.executable, "-c", FULL, target], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{target} cannot be written: File too large\n", "")
    assert os.listdir(small.parent) == ["step-1"]
    load_checkpoint(small)


def test_a_failed_save_leaves_what_was_there(small, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    before = {path.name: path.read_bytes() for path in small.iterdir()}
    for stage in ("iaenet.training.checkpoint.sync", "os.rename"):
        with monkeypatch.context() as patch:
            patch.setattr(stage, fail)
            with pytest.raises(OSError, match="step-2"):
                save_checkpoint(small.with_name("step-2"), {"step": 2})
        assert os.listdir(small.parent) == ["step-1"]
        assert {path.name: path.read_bytes() for path in small.iterdir()} == before


def test_a_checkpoint_is_never_overwritten(small):
    with pytest.raises(OSError, match="step-1"):
        save_checkpoint(small, {"step": 2})
    assert load_checkpoint(small)[0]["step"] == 1
    assert os.listdir(small.parent) == ["step-1"]


# ------------------------------------------------------------------ optimizers


@pytest.mark.parametrize("kind", ["adam", "adamw", "muon", "sgd"])
def test_an_optimizer_goes_on_as_if_nothing_had_happened(tmp_path, kind):
    makers = {
        "adam": lambda p: [torch.optim.Adam(p, 0.1)],
        "adamw": lambda p: [torch.optim.AdamW(p, 0.1, weight_decay=0.1)],
        "muon": lambda p: [Muon([q for q in p if q.ndim == 2], 0.1), torch.optim.AdamW([q for q in p if q.ndim < 2])],
        "sgd": lambda p: [torch.optim.SGD(p, 0.1, momentum=0.9)],
    }

    def steps(network, optimizers, seeds):
        for seed in seeds:
            for optimizer in optimizers:
                optimizer.zero_grad()
            torch.manual_seed(seed)
            network(torch.randn(5, 8)).square().sum().backward()
            for optimizer in optimizers:
                optimizer.step()

    torch.manual_seed(0)
    network = nn.Linear(8, 8)
    optimizers = makers[kind](list(network.parameters()))
    steps(network, optimizers, range(3))
    save_checkpoint(tmp_path / "a", {}, weights=network.state_dict(), optimizer=flatten_optimizers(optimizers))
    steps(network, optimizers, range(3, 6))

    other = nn.Linear(8, 8)
    others = makers[kind](list(other.parameters()))
    _, parts = load_checkpoint(tmp_path / "a")
    other.load_state_dict(parts["weights"])
    restore_optimizers(others, parts["optimizer"])
    steps(other, others, range(3, 6))
    assert torch.equal(other.weight, network.weight)
    assert torch.equal(other.bias, network.bias)
    mine, theirs = flatten_optimizers(others), flatten_optimizers(optimizers)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[key], theirs[key]) for key in mine)


# ------------------------------------------------------------------ as configurations


def test_state_is_plain_json(small):
    assert json.loads((small / "state.json").read_text()) == {"step": 1, "loss": 0.1}
    copy = small.with_name("copy")
    shutil.copytree(small, copy)
    assert load_checkpoint(copy)[0] == load_checkpoint(small)[0]  # a checkpoint can be moved and copied
