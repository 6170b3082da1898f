"""One training in several processes: who takes which samples, and what they tell each other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.distributed import DistError, TCPStore  # type: ignore[attr-defined]

from iaenet.errors import LostProcessError
from iaenet.models.inference import use_device

ROLL_CALL = timedelta(seconds=10)  # for the processes that are left to say so


@dataclass(frozen=True)
class Share:
    """One process's part of a batch, and the factor that makes the mean over processes the sum over samples."""

    indices: list[int]
    scale: float

    def scale_of(self, losses: Tensor) -> float:
        """The sum of these losses; nothing for a part that only stands in."""
        return float(losses.detach().sum()) if self.scale else 0.0


class Distributed:
    """The processes of a training, started by torchrun or `accelerate launch`; or this one alone.

    device: where this process computes, see `use_device`; of several on GPUs, each has its own. Default auto.
    compile: whether the network is compiled. Default false.
    """

    def __init__(self, device: str = "auto", compile: bool = False) -> None:
        chosen = use_device(device)
        self.compile = compile
        several = int(os.environ.get("WORLD_SIZE", "1")) > 1
        cpu = not torch.cuda.is_available() or (several and chosen.type == "cpu")
        self.engine = Accelerator(mixed_precision="no", cpu=cpu, device_placement=False)
        self.rank, self.size = self.engine.process_index, self.engine.num_processes
        self.is_main = self.engine.is_main_process
        self.device = self.engine.device if self.size > 1 else chosen

    def share(self, indices: list[int]) -> Share:
        """This process's samples of a batch. One without any computes the first with weight 0: all must take part."""
        mine = indices[self.rank :: self.size]
        return Share(mine, float(self.size)) if mine else Share(indices[:1], 0.0)

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
    def naming_the_lost(self) -> Iterator[None]:
        """Say which process is gone when communication with the others fails."""
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or not _is_about_communication(error):
                raise
            raise LostProcessError(
                f"rank {self.rank} stops, because {self._missing()}; start the training again and it resumes from "
                "the last checkpoint"
            ) from error

    def _missing(self) -> str:
        """Who is gone: torchrun tells; else who does not answer a roll call at the store of rank 0."""
        if torch.distributed.is_torchelastic_launched():
            return "another rank is gone, which torchrun names"
        names = [f"iaenet/{rank}" for rank in range(self.size)]
        gone = []
        try:
            store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), timeout=ROLL_CALL)
            store.set(names[self.rank], "here")
            for rank, name in enumerate(names):
                try:
                    store.wait([name], ROLL_CALL)
                except DistError:
                    gone.append(str(rank))
        except DistError:
            gone = ["0"]
        return f"rank {', '.join(gone)} is gone" if gone else "another rank does not answer"


def _is_about_communication(error: RuntimeError) -> bool:
    words = ("gloo", "nccl", "connection", "peer", "timed out", "timeout", "socket", "process group")
    return any(word in str(error).lower() for word in words)
