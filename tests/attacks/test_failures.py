"""Every k-th write, fsync, rename and allocation fails: one line that names the path, exit code 2, nothing lost."""

import contextlib
import errno
import io
import os
import re

import numpy as np
import pytest
import torch

from iaenet.cli.main import main
from iaenet.training.checkpoint import load_checkpoint, save_checkpoint
from tests.attacks.base import contents

IMPORT = ["import", "csv", "csv", "--coordinates", "x", "--inputs", "a", "--outputs", "u", "--out", "new.h5"]
PREDICT = ["predict", "run", "--input", "waves.h5", "--output", "new.h5"]
FOLDER = ["predict", "run", "--input", "csv", "--coordinates", "x", "--output", "new"]
REPORT = ["report", "run", "--out", "new.html"]
COMMANDS = {"import": IMPORT, "predict": PREDICT, "predict folder": FOLDER, "report": REPORT}


class Failing:
    """The k-th call of any of some functions fails."""

    def __init__(self, monkeypatch, k, error):
        self.left, self.failed = k, False
        self.error = error
        for owner, name in ((os, "fsync"), (os, "replace"), (os, "rename")):
            monkeypatch.setattr(owner, name, self.wrapped(getattr(owner, name)))

    def wrapped(self, function):
        def call(*arguments, **options):
            self.left -= 1
            if self.left == 0:
                self.failed = True
                raise self.error()
            return function(*arguments, **options)

        return call


def full():
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_fsync_and_rename(name, here, capsys, monkeypatch):
    before, k = contents(here), 0
    while True:
        k += 1
        with monkeypatch.context() as patched:
            failing = Failing(patched, k, full)
            code = main(COMMANDS[name])
        said = capsys.readouterr().err
        if not failing.failed:
            assert code == 0
            break
        assert code == 2
        assert re.fullmatch(r"iaenet: error: \S*new\S*: .*No space left on device\n", said), said
        after = contents(here)
        assert {key: after.get(key) for key in before} == before
        for key in set(after) - set(before):  # in full: only the folder's entry was not on the disk yet
            os.unlink(here / key)
        if (here / "new").is_dir():
            (here / "new").rmdir()
    assert k > 2


def test_every_write_of_a_checkpoint(tmp_path, monkeypatch):
    save_checkpoint(tmp_path / "step-1", {"step": 1}, weights={"w": torch.ones(3)})
    for k in range(1, 12):
        with monkeypatch.context() as patched:
            failing = Failing(patched, k, full)
            patched.setattr("pathlib.Path.write_bytes", failing.wrapped(type(tmp_path).write_bytes))
            with contextlib.suppress(OSError) if k > 8 else pytest.raises(OSError, match=f"step-{k + 1}"):
                save_checkpoint(tmp_path / f"step-{k + 1}", {"step": 2}, weights={"w": torch.zeros(3)})
        assert load_checkpoint(tmp_path / "step-1")[0] == {"step": 1}
        assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", COMMANDS)
def test_allocations(name, here, capsys, monkeypatch):
    """Where numbers are read, computed or drawn."""
    before = contents(here)
    for owner, function in (
        (np, "concatenate"),
        (np, "stack"),
        (torch, "cat"),
        (io, "BytesIO"),
        (np, "ascontiguousarray"),
    ):
        with monkeypatch.context() as patched:

            def short(*_, **__):
                raise MemoryError("no memory left")

            patched.setattr(owner, function, short)
            code = main(COMMANDS[name])
        said = capsys.readouterr().err
        if code == 0:  # it had no need of it
            for key in set(contents(here)) - set(before):
                os.unlink(here / key)
            if (here / "new").is_dir():
                (here / "new").rmdir()
            continue
        assert code == 2, (owner, function, said)
        assert said.count("\n") == 1
        assert "memory" in said
        assert contents(here) == before
