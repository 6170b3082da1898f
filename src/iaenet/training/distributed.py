"""One training in several processes: who takes which samples, and what they tell each other."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import Tensor

from iaenet.errors import LostProcessError


@dataclass(frozen=True)
class Share:
    """One process's part of a batch, and the factor that makes the mean over processes the sum over samples."""

    places: list[int]
    scale: float

    def scale_of(self, losses: Tensor) -> float:
        """The sum of these losses; nothing for a part that only stands in."""
        return float(losses.detach().sum()) if self.scale else 0.0


class Distributed:
    """The processes of a training, started by torchrun or `accelerate launch`; or this one alone."""

    def __init__(self) -> None:
        self.engine = Accelerator(mixed_precision="no", cpu=not torch.cuda.is_available())
        self.rank, self.size = self.engine.process_index, self.engine.num_processes
        self.is_main = self.engine.is_main_process
        self.device = self.engine.device
        self._members: list[tuple[str, int]] = []  # host and process of each rank
        if self.size > 1:
            members: list[tuple[str, int] | None] = [None] * self.size
            torch.distributed.all_gather_object(members, (socket.gethostname(), os.getpid()))
            self._members = [member for member in members if member is not None]

    def share(self, places: list[int]) -> Share:
        """This process's samples of a batch. One without any computes the first with weight 0: all must take part."""
        mine = places[self.rank :: self.size]
        return Share(mine, float(self.size)) if mine else Share(places[:1], 0.0)

    def total(self, loss: float, signal: int) -> tuple[float, int]:
        """The sum of the processes' losses, and a signal that any of them got: then all stop at the same step."""
        every = self._gather(loss, float(signal))
        return sum(one[0] for one in every), int(max(one[1] for one in every))

    def mean(self, total: float, count: int) -> float:
        """The mean over all processes of numbers given by their sum and count."""
        every = self._gather(total, float(count))
        return sum(one[0] for one in every) / sum(one[1] for one in every)

    def _gather(self, *numbers: float) -> list[list[float]]:
        """What each process gave, in their order, so that sums are the same everywhere and every time."""
        if self.size == 1:
            return [list(numbers)]
        own = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        every = [torch.empty_like(own) for _ in range(self.size)]
        torch.distributed.all_gather(every, own)
        return [one.tolist() for one in every]

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.engine.wait_for_everyone()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Say which process is gone when talking to the others fails."""
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or not _is_about_talking(error):
                raise
            raise LostProcessError(
                f"rank {self.rank} stops, because {self._missing()}; start the training again and it goes on from "
                "the last checkpoint"
            ) from error

    def _missing(self) -> str:
        here = socket.gethostname()
        for _ in range(50):  # its connections are closed a moment before it counts as gone
            gone = [rank for rank, (host, process) in enumerate(self._members) if host == here and not _alive(process)]
            if gone:
                return f"rank {', '.join(map(str, gone))} is gone"
            time.sleep(0.1)
        return "another rank no longer answers"


def _is_about_talking(error: RuntimeError) -> bool:
    words = ("gloo", "nccl", "connection", "peer", "timed out", "timeout", "socket", "process group")
    return any(word in str(error).lower() for word in words)


def _alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"  # ended, but not yet waited for
    except (FileNotFoundError, ProcessLookupError):
        return not os.path.isdir("/proc") and _answers(process)


def _answers(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
