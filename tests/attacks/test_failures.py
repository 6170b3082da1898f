"""Every k-th write, fsync, rename and allocation fails: one line that names the path, exit code 2, nothing lost.

A few k of each by default, hundreds by `-m slow`. What can be resumed is not tidied up between two failures, so that
each goes on from what the one before has left.
"""

import io
import os
import shutil
from contextlib import redirect_stderr, redirect_stdout, suppress

import h5py
import numpy as np
import pytest
import torch

from iaenet import load_dataset
from iaenet.cli.main import main
from iaenet.data.streams import Disk
from iaenet.errors import CorruptFileError
from iaenet.training.checkpoint import load_checkpoint, save_checkpoint
from tests.attacks.base import contents
from tests.attacks.faults import kth_array, kth_call, kth_tensor, no_longer_than

PREDICT = "predict run --input waves.h5 --output"
COMMANDS = {
    "import": "import csv csv --coordinates x --inputs a --outputs u --out new.h5",
    "predict": f"{PREDICT} new.h5",
    "predict folder": "predict run --input csv --coordinates x --output new",
    "generate": "generate burgers --samples 4 --resolutions 16,32 --splits 2,1,1 --out new.h5",
    "train": "train --data waves.h5 --model.name fno --model.width 4 --model.modes 3 --model.layers 1 --epochs 2 "
    "--batch_size 4 --threads 1 --save_seconds 0 --run new",
    "report": "report run --out new.html",
}
SELDOM = {"picture": "inspect waves.h5 --picture new.png"}  # takes long
FORMATS = {suffix: f"{PREDICT} new.{suffix}" for suffix in ("npz", "mat", "pt", "nc", "zarr")}
FORMATS["hdf5"] = f"{PREDICT} new.h5 --output_format hdf5"
RESUMED = ("train", "generate")  # others begin anew
FEW = {kth_call: (1, 2, 3), no_longer_than: (0, 1000), kth_array: (5, 70), kth_tensor: (3, 90)}
FULL = (kth_call, no_longer_than)


def run(command):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(command.split())
    return code, "".join(line for line in err.getvalue().splitlines(True) if ", about " not in line)  # no progress


def whole_of(path):
    """What a command is for, whatever the times in it."""
    made = contents(path)
    if "new.h5" in made:
        with suppress(CorruptFileError):
            return load_dataset(path / "new.h5").content_hash
    return {name: made[name] for name in made if name in ("new/metrics.json", "new.npz", "new.nc") or "csv" in name}


def tidy(here, before):
    for name in {path.name for path in here.iterdir()} - {name.split("/")[0] for name in before}:
        shutil.rmtree(here / name) if (here / name).is_dir() else (here / name).unlink()


def attack(command, fault, k, here, before):
    """One try; whether it failed, as it should then."""
    with fault(k) as due:
        code, said = run(command)
    after = contents(here)
    assert {name: after.get(name) for name in before} == before
    assert not [name for name in after if name.endswith(".tmp")], (fault.__name__, k)
    if code == 0:
        assert fault is no_longer_than or not due.failed, (fault.__name__, k)
        return False
    assert code == 2, (fault.__name__, k, said)
    assert said.startswith("iaenet: error: "), (fault.__name__, k, said)
    assert said.count("\n") == 1, (fault.__name__, k, said)
    assert "new" in said, (fault.__name__, k, said)
    assert ("cannot be written" if fault in FULL else "not enough memory") in said, (fault.__name__, k, said)
    return True


def attacked(name, command, ks, here):
    before = contents(here)
    assert run(command)[0] == 0
    whole = whole_of(here)
    tidy(here, before)
    failures = 0
    for fault, numbers in ks.items():
        for k in numbers:
            failures += attack(command, fault, k, here, before)
            if name not in RESUMED or whole_of(here) == whole:
                tidy(here, before)
        assert run(command)[0] == 0
        assert whole_of(here) == whole
        tidy(here, before)
    return failures


@pytest.mark.parametrize("name", COMMANDS)
def test_a_few_failures(name, here):
    few = {no_longer_than: (3000,)} if name == "generate" else FEW  # its workers take long to start
    assert attacked(name, COMMANDS[name], few, here) >= len(few)


@pytest.mark.parametrize("name", FORMATS)
def test_a_disk_that_fills_under_any_writer(name, here):
    """HDF5 would end the process, PyTorch would not say which file."""
    assert attacked(name, FORMATS[name], {no_longer_than: (0, 1000)}, here) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [*COMMANDS, *FORMATS, *SELDOM])
@pytest.mark.parametrize("fault", FEW)
def test_every_failure(name, fault, here):
    command = (COMMANDS | FORMATS | SELDOM)[name]
    before = contents(here)
    with (fault if fault is not no_longer_than else kth_call)(10**9) as due:
        assert run(command)[0] == 0
    longest = max(len(content) for path, content in contents(here).items() if path not in before)
    tidy(here, before)
    last = longest - 1 if fault is no_longer_than else 10**9 - due.left
    most = 15 if name in ("generate", "picture") else 100  # they take long
    assert (
        attacked(name, command, {fault: sorted({*np.linspace(1, last, most).astype(int).tolist()})}, here) or not last
    )


def test_every_fsync_and_rename_of_a_checkpoint(tmp_path):
    save_checkpoint(tmp_path / "step-1", {"step": 1}, weights={"w": torch.ones(3)})
    k, failed = 0, True
    while failed:
        k += 1
        with kth_call(k) as due, suppress(OSError) as _:
            save_checkpoint(tmp_path / f"step-{k + 1}", {"step": 2}, weights={"w": torch.zeros(3)})
        failed = due.failed
        assert load_checkpoint(tmp_path / "step-1")[0] == {"step": 1}
        assert not list(tmp_path.glob(".*"))
        if (tmp_path / f"step-{k + 1}").exists():  # in full, or not at all
            assert load_checkpoint(tmp_path / f"step-{k + 1}")[0] == {"step": 2}
    assert k > 5


@pytest.mark.parametrize("size", [0, 1, 50, 300])
def test_every_write_of_a_checkpoint(tmp_path, size):
    save_checkpoint(tmp_path / "step-1", {"step": 1}, weights={"w": torch.ones(300)})
    with no_longer_than(size), pytest.raises(OSError, match=r"cannot be written.*step-2"):
        save_checkpoint(tmp_path / "step-2", {"step": 2}, weights={"w": torch.zeros(300)})
    assert [path.name for path in tmp_path.iterdir()] == ["step-1"]
    assert load_checkpoint(tmp_path / "step-1")[0] == {"step": 1}


def test_a_failure_waits_for_the_end(tmp_path):
    (tmp_path / "a").touch()
    disk = Disk(tmp_path / "a")
    with no_longer_than(3), disk:
        assert disk.write(b"1234") == 4
        assert disk.write(b"123") == 3
        with pytest.raises(OSError, match="File too large"):
            disk.check()
        disk.failure = None
    assert os.path.getsize(tmp_path / "a") == 3


def test_a_library_that_writes_after_the_end(tmp_path):
    """HDF5 would end the process: its file is collected only after an error has closed ours."""
    (tmp_path / "a").touch()
    disk = Disk(tmp_path / "a")
    file = h5py.File(disk, "w")
    file["a"] = np.ones(1000)
    disk.close()
    file["b"] = np.ones(1000)
    file.close()
