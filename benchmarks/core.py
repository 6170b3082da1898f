"""Cost of a training step and of inference: ours at several ranks, the dense published form, and FNO, in one run.

    python -m benchmarks.core                 tables on the terminal
    python -m benchmarks.core --json FILE     and as data

Times are the best of several rounds, models taking turns in one process; peak memory is measured in a process of its
own for each model, above what it holds before the step. One thread. Read ratios, not seconds: machines differ.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from iaenet import Discretization, Field, Fourier, IAENet, PointIAE, SpectralConv, SpectralIAE, relative_l2
from iaenet.models.published import PublishedIAENet
from iaenet.nn.published_iae import AxisEncoder, ProgramDecoder


class FNO(nn.Module):
    """FNO as its authors write it: torch.fft, complex weights, channels first (64 channels, 16 modes, 4 layers)."""

    def __init__(self, channels: int = 64, modes: int = 16, layers: int = 4) -> None:
        super().__init__()
        self.modes = modes
        self.lift = nn.Linear(2, channels)
        shape = (layers, channels, channels, modes)
        self.weight = nn.Parameter(torch.rand(*shape, dtype=torch.cfloat) / channels**2)
        self.pointwise = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(layers))
        self.project = nn.Sequential(nn.Linear(channels, 128), nn.GELU(), nn.Linear(128, 1))

    def forward(self, field: Field) -> Field:
        x = field.discretization.points.to(field.values).expand(len(field.values), -1, -1)
        a = self.lift(torch.cat([field.values, x], dim=-1)).transpose(1, 2)
        n = a.shape[-1]
        for i, layer in enumerate(self.pointwise):
            spectrum = torch.fft.rfft(a)
            out = torch.zeros_like(spectrum)
            out[..., : self.modes] = torch.einsum("bik,iok->bok", spectrum[..., : self.modes], self.weight[i])
            a = torch.fft.irfft(out, n=n) + layer(a)
            a = nn.functional.gelu(a) if i < len(self.pointwise) - 1 else a
        return Field.unchecked(field.discretization, self.project(a.transpose(1, 2)))


def preset(name: str) -> nn.Module:
    return IAENet.from_preset(name, in_channels=1, out_channels=1, periodic=True, grid=1024)


def dense() -> nn.Module:
    """The published form with kernel matrices assembled, as its authors write it."""

    def encode(part: AxisEncoder, a: Tensor, x: Tensor) -> Tensor:
        return part.kernel.last(part.kernel.features(x, a)).mT @ a / len(x)

    def decode(part: ProgramDecoder, u: Tensor, x: Tensor) -> Tensor:
        return part.kernel.last(part.kernel.features(x, part.seen(u))) @ u / u.shape[-2]

    model = PublishedIAENet(1, 1)
    for kind, form in ((AxisEncoder, encode), (ProgramDecoder, decode)):
        for part in model.modules():
            if isinstance(part, kind):
                part.forward = partial(form, part)  # type: ignore[method-assign]
    return model


def kernels(rank: int) -> nn.Module:
    branches = [PointIAE(256, rank), SpectralIAE(Fourier(24), 256), SpectralConv(24)]
    return IAENet(1, 1, periodic=True, grid=1024, width=64, branches=branches, post=16)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "dense published form": dense,
    "published form, factored": lambda: PublishedIAENet(1, 1),
    "ours, rank 256 (as published)": lambda: kernels(256),
    "ours, rank 128": lambda: kernels(128),
    "base": lambda: preset("base"),
    "small": lambda: preset("small"),
    "FNO": FNO,
}


def batch(points: int, count: int) -> Field:
    return Field(Discretization.uniform(points, periodic=True), torch.randn(count, points, 1))


def step(model: nn.Module, field: Field) -> None:
    target = Field.unchecked(field.discretization, field.values)
    loss: Tensor = relative_l2(model(field), target).mean()
    loss.backward()
    model.zero_grad(set_to_none=True)


def peak_mib() -> float:
    """Peak resident memory of this process so far. (`ru_maxrss` would count the parent's before `exec`.)"""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


def peak(name: str, points: int, count: int, train: bool) -> None:
    """Print the peak memory of one step (or one inference) in MiB, above what is held before it."""
    torch.set_num_threads(1)
    model, field = MODELS[name](), batch(points, count)
    held = peak_mib()
    if train:
        step(model, field)
    else:
        with torch.no_grad():
            model(field)
    print(peak_mib() - held)


def measured_peak(name: str, points: int, count: int, train: bool = True) -> float:
    command = [sys.executable, "-m", "benchmarks.core", "--peak", name, str(points), str(count), str(int(train))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def best_times(names: list[str], points: int, count: int, rounds: int, train: bool) -> dict[str, float]:
    models = {name: MODELS[name]() for name in names}
    field = batch(points, count)

    def once(model: nn.Module) -> float:
        start = time.perf_counter()
        if train:
            step(model, field)
        else:
            with torch.no_grad():
                model(field)
        return time.perf_counter() - start

    best = dict.fromkeys(names, float("inf"))
    for number in range(rounds + 1):
        for name, model in models.items():
            seconds = once(model)
            best[name] = min(best[name], seconds) if number else best[name]  # the first round warms up
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of timing (default 5)")
    parser.add_argument("--peak", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        name, *numbers = options.peak
        peak(name, *(int(n) for n in numbers))
        return
    torch.set_num_threads(1)
    results: dict[str, object] = {"machine": platform.processor() or platform.machine(), "torch": torch.__version__}
    names = list(MODELS)
    steps = best_times(names, 1024, 20, options.rounds, train=True)
    inference = best_times(names, 1024, 20, options.rounds, train=False)
    memory = {name: measured_peak(name, 1024, 20) for name in names}
    print("Training step and inference, s = 1024, batch 20, one thread\n")
    print(
        "| network | parameters | step ms | dense/this | this/FNO | inference ms | this/FNO | peak MiB | dense/this |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    rows = {}
    for name in names:
        parameters = sum(p.numel() for p in MODELS[name]().parameters())
        rows[name] = {
            "parameters": parameters,
            "step seconds": steps[name],
            "inference seconds": inference[name],
            "peak MiB": memory[name],
        }
        print(
            f"| {name} | {parameters / 1e6:.2f} M | {1e3 * steps[name]:.0f} | {steps[names[0]] / steps[name]:.1f} | "
            f"{steps[name] / steps['FNO']:.1f} | {1e3 * inference[name]:.0f} | "
            f"{inference[name] / inference['FNO']:.1f} | {memory[name]:.0f} | {memory[names[0]] / memory[name]:.1f} |"
        )
    results["s = 1024, batch 20"] = rows
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
