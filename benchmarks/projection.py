"""The projection and what stands on it: accuracy, noise, seconds and memory, on one thread.

    python -m benchmarks.projection
    python -m benchmarks.projection --package ../other/src src      set-up and steps of several versions of iaenet

Errors are means over eight seeds. Seconds are CPU seconds of one thread, the best of several.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from iaenet import Discretization, Field, IAENet, Projection
from iaenet.functions.latent_grid import LatentGrid, unit

SEEDS = 8


def waves(d: int, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
    """Random waves of about 3.5 radians per unit."""
    k = 3.5 * torch.randn(40, d, generator=generator, dtype=torch.float64)
    phase = 2 * math.pi * torch.rand(40, generator=generator, dtype=torch.float64)
    a = torch.randn(40, generator=generator, dtype=torch.float64) / 40**0.5
    return lambda x: (torch.cos(x @ k.T + phase) @ a)[:, None]


REGIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "box": lambda x: x[:, 0] >= 0,
    "L-shape": lambda x: ~((x[:, 0] > 0.5) & (x[:, 1] > 0.5)),
    "hole": lambda x: ((x - 0.5) ** 2).sum(1) > 0.04,
}


def points(region: str, n: int, d: int, generator: torch.Generator) -> Tensor:
    x = torch.rand(4 * n + 100, d, generator=generator, dtype=torch.float64)
    return x[REGIONS[region](x)][:n]


def accuracy() -> None:
    print("points        n     coefficients  error    noise")
    for region, d, modes, n in [
        *[(region, 2, 6, n) for region in REGIONS for n in (500, 2000)],
        ("box", 3, 4, 2000),
        ("box", 3, 4, 8000),
        ("box", 1, 12, 64),
        ("box", 1, 12, 256),
    ]:
        projection = Projection([modes] * d, [False] * d)
        errors, noise = [], []
        for seed in range(SEEDS):
            generator = torch.Generator().manual_seed(seed)
            f, x, y = waves(d, generator), points(region, n, d, generator), points(region, 2000, d, generator)
            c = projection.coefficients(x, torch.ones(n), f(x)[None])
            errors.append(float((projection.evaluate(c, y)[0] - f(y)).norm() / f(y).norm()))
            c = projection.coefficients(x, torch.ones(n), torch.randn(1, n, 1, generator=generator))
            noise.append(float(projection.evaluate(c, y).square().mean().sqrt()))
        name = f"{region}, {d}-D"
        print(f"{name:12s}  {n:5d}  {projection.size:12d}  {sum(errors) / SEEDS:.1e}  {sum(noise) / SEEDS:.2f}")


def best(call: Callable[[], object], rounds: int = 5) -> float:
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def set_up() -> None:
    """From raw points to the latent grid: the domain and its weights, then E."""
    print("\nset-up, 2-D, 28 x 28: n, ms of the domain, ms of E, microseconds a point")
    grid = LatentGrid((28, 28), (False, False))
    for n in (500, 2000, 8000, 32000, 200_000, 1_000_000):
        x = torch.rand(n, 2, dtype=torch.float64)
        values = torch.rand(1, n, 1)
        rounds = 5 if n <= 8000 else 1
        domain = best(lambda x=x: Discretization.points(x), rounds)
        where = Discretization.points(x)
        projected = best(lambda where=where, values=values: grid.project(*unit(where, where), values), rounds)
        print(f"{n:8d}  {1e3 * domain:8.1f}  {1e3 * projected:8.1f}  {1e6 * (domain + projected) / n:6.2f}")


def inference() -> None:
    print("\ninference of the default on a line, batch 20: n, ms")
    network = IAENet.from_preset("small", in_channels=1, out_channels=1, periodic=True)
    for n in (256, 1024, 8192):
        field = Field(Discretization.uniform(n, periodic=True), torch.rand(20, n, 1))
        with torch.no_grad():
            print(f"{n:6d}  {1e3 * best(lambda field=field: network(field), 12):.1f}")


PEAK = """
import resource, time, torch
from iaenet import Discretization, Field, IAENet
torch.set_num_threads(1)
{body}
print(f"{{time.process_time() - begin:.1f}} s, {{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f}} GiB")
"""
MILLION = """
network = IAENet.from_preset("small", in_channels=1, out_channels=1, dim={d}{head})
x, values = torch.rand(10**6, {d}, dtype=torch.float64), torch.rand(10**6, 1)
begin = time.process_time()
with torch.no_grad():
    network(Field(Discretization.points(x), values))
"""
TRAINING = """
network = IAENet.from_preset("small", in_channels=1, out_channels=1, dim=2, head=32)
begin = time.process_time()
fields = [Field(Discretization.points(torch.rand(2000, 2)), torch.rand(2000, 1)) for _ in range(1000)]
for start in range(0, 1000, 20):
    network(fields[start:start + 20])[0].values.sum().backward()
"""


FROM_POINTS = """
import time, torch
from iaenet import Discretization, Field, IAENet
torch.set_num_threads(1)
network = IAENet.from_preset("small", in_channels=1, out_channels=1, dim=2)
def seconds(field):
    begin = time.process_time()
    with torch.no_grad():
        network(field)
    return time.process_time() - begin
found = []
for seed in range(9):
    x = torch.rand(2000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    begin = time.process_time()
    field = Field(Discretization.points(x), x[:, :1].float())
    made = time.process_time() - begin
    found.append(made + seconds(field) - min(seconds(field) for _ in range(3)))
print(f"{1e3 * min(found[1:]):.1f}")
"""


STEPS = """
import inspect, time, torch
from iaenet import Discretization, Field, IAENet, relative_l2
torch.set_num_threads(1)
for shape, count in ((128,), 20), ((256,), 20), ((43, 43), 10), ((12, 12, 12), 4):
    torch.manual_seed(0)
    grid = {"grid": list(shape)} if "grid" in inspect.signature(IAENet.from_preset).parameters else {}
    network = IAENet.from_preset("small", in_channels=1, out_channels=1, dim=len(shape), **grid)
    where = Discretization.uniform(shape)
    field, wanted = (Field(where, torch.randn(count, where.n, 1)) for _ in range(2))
    found = []
    for _ in range(25):
        begin = time.process_time()
        relative_l2(network(field), wanted).mean().backward()
        found.append(time.process_time() - begin)
    print(f"{1e3 * min(found):.1f}", end=" ")
"""


def versions(packages: list[str], rounds: int = 5) -> None:
    """Two measurements of each package in turn.

    Set-up of 2000 new points in a square, all that a second call does not do again; and steps without an optimizer.
    """
    for what, code in (
        ("set-up of 2000 random points, 2-D, network small: ms, best of 8 point sets, round by round", FROM_POINTS),
        ("a step of small, forward and back, on 20 x 128, 20 x 256, 10 x 43^2, 4 x 12^3 points: ms, best of 25", STEPS),
    ):
        print(what)
        for package in packages * rounds:
            made = subprocess.run(
                [sys.executable, "-c", code],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": package},
            )
            print(f"{package}  {made.stdout.strip()}", flush=True)


def memory() -> None:
    """Each in a process of its own, with all that a process needs."""
    print("\nseconds and peak memory")
    for name, body in (
        ("10^6 points, 2-D", MILLION.format(d=2, head="")),
        ("10^6 points, 2-D, with a head", MILLION.format(d=2, head=", head=32")),
        ("10^6 points, 3-D", MILLION.format(d=3, head="")),
        ("a step on each of 1000 samples of 2000 own points", TRAINING),
    ):
        out = subprocess.run(
            [sys.executable, "-c", PEAK.format(body=body)], check=True, capture_output=True, text=True
        ).stdout
        print(f"{name}: {out.strip()}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", nargs="+", help="folders that hold a package iaenet")
    if packages := parser.parse_args().package:
        versions(packages)
        sys.exit()
    accuracy()
    set_up()
    inference()
    memory()
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
