"""The folder of a training run: configuration, checkpoints, log, metrics, and a lock.

config.yaml        the configuration, as resolved
pace.json          of a training with a budget: how many steps there was still time for
choice.json        of a training with a budget: the networks that were tried, and which was chosen
trials/            a run folder for the trial that goes on
log.jsonl          a line for each epoch, with times
metrics.json       the same without times: equal for equal seeds
curves.png         loss and validation error
checkpoints/       step-... (the two newest) and best-... (by validation error)
lock               the process that trains here, or trained here last; .lock keeps others out
member-0/ ...      instead of checkpoints, of a run with several members: a run each
calibration.json   of `iaenet calibrate`: how wide bands must be
"""

import json
import logging
import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from iaenet.data.atomic import naming_target, replacing, unfinished
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.outside import document, own_file, read_json
from iaenet.training.checkpoint import Tensors, load_checkpoint, save_checkpoint

log = logging.getLogger("iaenet")
KEPT = {"step": 2, "best": 1}  # one to resume from, and one in case that is damaged
FILES = (
    "config.yaml",
    "pace.json",
    "choice.json",
    "symmetries.json",
    "log.jsonl",
    "metrics.json",
    "curves.png",
    "lock",
)

Loaded = tuple[dict[str, Any], dict[str, dict[str, Any]]]


class RunFolder:
    """The files of one training run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as at, RunFolder(f"{at}/run").locked() as run:
    ...     run.save("step", 7, {"step": 7})
    ...     run.newest("step")[0]
    {'step': 7}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.chosen = self.path / "choice.json"
        self._lock: BaseFileLock | None = None
        self._held = self._folder = -1  # which file the lock is on, and which folder this was
        self.config: dict[str, Any] = {}  # of the training, kept in every checkpoint

    @property
    def members(self) -> list[Path]:
        """The folders of the members of an ensemble; none for a single run."""
        found = (path for path in self.path.glob("member-*") if re.fullmatch(r"member-[0-9]+", path.name))
        return sorted(found, key=lambda path: int(path.name.partition("-")[2]))

    @contextmanager
    def locked(self) -> Iterator["RunFolder"]:
        """Keep other trainers out as long as the block lasts; the system lifts the lock when a process ends.

        A folder that the block made and in which it then failed before the first checkpoint is removed.
        """
        new = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        try:
            try:
                self.checkpoints.mkdir(parents=True, exist_ok=True)
                self._acquire()
                self._tidy()
                yield self
            except BaseException:
                if self._lock is not None and new[:1] == [self.path] and not self.begun:
                    shutil.rmtree(self.path, ignore_errors=True)
                    with suppress(OSError):  # another run is there by now
                        for folder in new[1:]:
                            folder.rmdir()
                raise
        finally:
            lock, self._lock = self._lock, None
            if lock is not None:
                lock.release()

    def _acquire(self) -> None:
        holder = self.path / "lock"
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise InvalidInputError(f"{self.path}: {_text(holder) or 'another process'} is training here") from None
        self._lock, self._held = lock, os.stat(self.path / ".lock").st_ino
        self._folder = self.path.stat().st_ino
        with replacing(holder, own=True) as beside:  # a link there is replaced, not followed
            beside.write_text(f"process {os.getpid()} on {socket.gethostname()}")

    def check(self) -> None:
        """See before anything is written that the folder is there, and ours.

        A lock whose file was deleted keeps nobody out: it is taken anew, or another process has it by now.
        """
        if self._lock is None:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            return
        if not self.checkpoints.is_dir() or self.path.stat().st_ino != self._folder:
            raise InvalidInputError(f"{self.path}: the run folder is gone; the training stops, and nothing is written")
        try:
            there = os.stat(self.path / ".lock").st_ino
        except FileNotFoundError:
            there = -1
        if there != self._held:
            before = self._lock
            self._acquire()
            before.release()

    @property
    def begun(self) -> bool:
        """Whether there is anything that a training can go on from: a checkpoint, or trials."""
        return self.has("step") or self.has("best") or (self.path / "trials").exists() or self.chosen.exists()

    def _tidy(self) -> None:
        """Remove what a process left that was killed as it wrote."""
        for name in FILES:
            for leftover in self.path.glob(f"{unfinished(Path(name))}*.tmp"):
                leftover.unlink()
        for leftover in self.checkpoints.glob(".*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)

    # ------------------------------------------------------------------ checkpoints

    def save(self, kind: str, step: int, state: Mapping[str, Any], **parts: Tensors) -> None:
        """Write a checkpoint of a kind ("step", "best") and drop those that are no longer needed.

        None is ever overwritten. Later ones than this are damaged, or will be made again: they go too.
        """
        self.check()
        again = [self._number(path)[1] for path in self._found(kind) if self._number(path)[0] == step]
        new = self.checkpoints / f"{kind}-{step:09d}{f'.{max(again) + 1}' if again else ''}"
        save_checkpoint(new, {**state, "config": self.config} if self.config else state, **parts)
        found = self._found(kind)
        here = found.index(new) + 1
        for path in found[: max(0, here - KEPT[kind])] + found[here:]:
            shutil.rmtree(path, ignore_errors=True)

    def newest(self, kind: str) -> Loaded:
        """The newest sound checkpoint of a kind; damaged ones are named and passed over."""
        found = self._found(kind)
        for folder in reversed(found):
            try:
                return load_checkpoint(folder)
            except CorruptFileError as error:
                log.warning("%s; going back to the one before", error)
        if found:
            raise CorruptFileError(f"{self.checkpoints}: every {kind} checkpoint is damaged")
        raise InvalidInputError(f"{self.path}: there is no {kind} checkpoint")

    def has(self, kind: str) -> bool:
        """Whether there is a checkpoint of a kind."""
        return bool(self._found(kind))

    def _found(self, kind: str) -> list[Path]:
        named = re.compile(rf"{kind}-\d+(\.\d+)?")
        return sorted((p for p in self.checkpoints.glob(f"{kind}-*") if named.fullmatch(p.name)), key=self._number)

    @staticmethod
    def _number(path: Path) -> tuple[int, int]:
        """Step, and how many of this step there were before."""
        step, _, again = path.name.partition("-")[2].partition(".")
        return int(step), int(again or 0)

    # ------------------------------------------------------------------ what is written for people

    def write_json(self, name: str, content: object) -> None:
        """A JSON file, in full or not at all."""
        self.check()
        with replacing(self.path / name, own=True) as beside:
            beside.write_text(json.dumps(content, indent=1) + "\n")

    def read_json(self, name: str, kind: Any = Any) -> Any:
        """What `write_json` wrote, or None; refused if it is not as the type `kind` describes it."""
        file = own_file(self.path, name)
        if file is None:
            return None
        found = read_json(file)
        document(kind, found, file)
        return found

    def read_pace(self) -> dict[int, int]:
        """Steps that were left at some steps of a training with a budget, see `horizon.py`."""
        found = self.read_json("pace.json", dict[str, int]) or {}
        if not all(step.isdecimal() for step in found):
            raise CorruptFileError(f"{self.path / 'pace.json'} is damaged: its keys are no steps")
        return {int(step): left for step, left in found.items()}

    def append_log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        self.check()
        log = self.path / "log.jsonl"
        if os.path.lexists(log) and own_file(self.path, log.name) is None:
            raise InvalidInputError(f"{log}: is no regular file")
        with naming_target(log, log), open(log, "a") as file:
            file.write(json.dumps(entry) + "\n")

    def rewind(self, epochs: int) -> None:
        """Drop the log of epochs that will be trained again; at the very start, what an earlier try found best."""
        for path in self._found("best") if epochs == 0 else ():
            shutil.rmtree(path, ignore_errors=True)
        log = own_file(self.path, "log.jsonl")
        if log is not None:
            lines = log.read_text(errors="replace").splitlines()[:epochs]
            with replacing(log, own=True) as beside:
                beside.write_text("".join(f"{line}\n" for line in lines))


def _text(path: Path) -> str:
    try:
        return path.read_text()[:200] if path.is_file() else ""
    except (OSError, UnicodeError):  # not written yet
        return ""
