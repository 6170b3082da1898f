"""The paper's table of speed: every model in one run, as ratios to FNO, beside the published ratios.

    python -m benchmarks.models                   table on the terminal
    python -m benchmarks.models --json FILE       and as data
    python -m benchmarks.models --only fno unet   some models; FNO is always among them

Burgers' equation at s = 1024. An epoch is 1000 samples in batches of 50: each turn measures one step of Adam on one
batch, and the best turn counts twenty times. Inference is on 100 samples at once. Models take turns in one process, one
thread. Read ratios, not seconds: machines differ. The published figures are seconds on one GPU, where small networks
wait for the launch of their operations; here arithmetic decides.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from iaenet import Discretization, Field, IAENet, relative_l2
from iaenet.models.published import PublishedIAENet
from iaenet.models.registry import (
    BASELINES,
    FNO,
    DeepONet,
    FourierTransformer,
    GalerkinTransformer,
    InterpolatedResNet,
    UNet,
)

POINTS, BATCH, EPOCH, SHOWN = 1024, 50, 1000, 100

# Parameters in millions; seconds for an epoch without augmentation and for 100 samples: table modelevaluationtimes of
# arXiv 2203.05142 (one Quadro RTX 8000).
PUBLISHED: dict[type[nn.Module], tuple[float, float, float]] = {
    FNO: (0.5, 0.6946, 0.02333),
    FourierTransformer: (0.5, 9.311, 0.1757),
    GalerkinTransformer: (0.5, 8.631, 0.1687),
    DeepONet: (4.8, 21.53, 2.109),
    UNet: (9.2, 6.741, 0.424),
    InterpolatedResNet: (5.3, 6.576, 0.05865),
    PublishedIAENet: (5.3, 5.837, 0.2725),
}


def samples(count: int) -> Field:
    return Field(Discretization.uniform(POINTS, periodic=True), torch.randn(count, POINTS, 1))


def makers() -> dict[str, Callable[[], nn.Module]]:
    """Baselines of the paper's sizes, and IAE-Net of each of its own."""
    some = samples(BATCH)
    found: dict[str, Callable[[], nn.Module]] = {
        name: partial(kind.for_data, [(some, some)], preset="paper") for name, kind in BASELINES.items()
    }
    for size in ("small", "base", "published"):
        found[f"iaenet {size}"] = partial(
            IAENet.from_preset, size, in_channels=1, out_channels=1, periodic=True, grid=POINTS
        )
    return found


class Contestant:
    """A model with its optimizer, and its best times so far."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.parameters = sum(p.numel() for p in model.parameters())
        self.step = self.inference = float("inf")

    def train(self, field: Field) -> float:
        start = time.perf_counter()
        loss = relative_l2(self.model(field), field).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return time.perf_counter() - start

    def show(self, field: Field) -> float:
        start = time.perf_counter()
        with torch.no_grad():
            self.model(field)
        return time.perf_counter() - start


def measure(names: list[str], rounds: int) -> dict[str, Contestant]:
    contestants = {name: Contestant(maker()) for name, maker in makers().items() if name in names}
    batch, shown = samples(BATCH), samples(SHOWN)
    for number in range(rounds + 1):
        for one in contestants.values():
            step, inference = one.train(batch), one.show(shown)
            if number:  # the first round warms up
                one.step, one.inference = min(one.step, step), min(one.inference, inference)
    return contestants


def short(number: float) -> str:
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of timing (default 3)")
    parser.add_argument("--only", nargs="+", choices=list(makers()), help="models to measure (default all)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = list(makers()) if options.only is None else ["fno", *options.only]
    found = measure(names, options.rounds)
    reference = found["fno"]
    print(f"One epoch of {EPOCH} samples and inference on {SHOWN}, s = {POINTS}, batch {BATCH}, one thread\n")
    print("| network | parameters | published | epoch s | this/FNO | published | inference s | this/FNO | published |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = {}
    for name, one in found.items():
        epoch = EPOCH // BATCH * one.step
        rows[name] = {"parameters": one.parameters, "epoch seconds": epoch, "inference seconds": one.inference}
        size, *times = PUBLISHED.get(type(one.model), (None, None, None))
        published = [
            "" if seconds is None else short(seconds / of)
            for seconds, of in zip(times, PUBLISHED[FNO][1:], strict=True)
        ]
        print(
            f"| {name} | {one.parameters / 1e6:.2f} M | {'' if size is None else f'{size} M'} | {short(epoch)} | "
            f"{short(one.step / reference.step)} | {published[0]} | {short(one.inference)} | "
            f"{short(one.inference / reference.inference)} | {published[1]} |"
        )
    if options.json:
        results = {"machine": platform.processor() or platform.machine(), "torch": torch.__version__, "models": rows}
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
