"""Samples per second of every generator, on one core.

    python -m benchmarks.generators                a Markdown table
    python -m benchmarks.generators --seconds 10   measure each case longer (default 3)

Each case runs in a process of one thread and includes what `iaenet generate` does with a record: drawing it, solving,
conversion to float32, hashes. "first" is the time of the first record, which also builds what all records share
(meshes, factorisations, projectors). Run it on an idle machine.
"""

import argparse
import time
import warnings
from functools import partial
from typing import Any

from iaenet.data.pool import pool
from iaenet.data.problems import PROBLEMS
from iaenet.data.records import encoded_record

CASES: list[tuple[str, dict[str, Any], int]] = [
    ("burgers", {}, 256),
    ("burgers", {}, 1024),
    ("burgers", {}, 8192),
    ("burgers", {"viscosity": 1e-2}, 1024),
    ("burgers", {"viscosity": 1e-3}, 1024),
    ("burgers", {"viscosity": 1e-4}, 1024),
    ("burgers", {"viscosity": 1e-4}, 8192),
    ("burgers", {"points": "random"}, 1024),
    ("darcy", {}, 85),
    ("darcy", {}, 141),
    ("darcy", {}, 421),
    ("darcy", {"label": "solve"}, 85),
    ("darcy-notch", {}, 64),
    ("darcy-notch", {"layout": "square"}, 101),
    ("scattering", {}, 81),
    ("scattering", {}, 108),
    ("scattering", {}, 162),
    ("ct-ellipses", {}, 64),
    ("ct-ellipses", {}, 128),
    ("ct-ellipses", {}, 256),
    ("plate", {}, 900),
    ("airfoil", {}, 800),
    ("airfoil", {"at": "surface"}, 200),
    ("bodies", {}, 642),
    ("bodies", {"at": "volume"}, 2000),
    ("laplace-ring", {}, 500),
    ("navier-stokes", {}, 64),
    ("navier-stokes", {"time_step": 0.1, "steps": 50}, 64),
    ("kuramoto-sivashinsky", {}, 256),
    ("kuramoto-sivashinsky", {"steps": 50}, 256),
    ("allen-cahn", {}, 256),
    ("advection-diffusion", {}, 64),
    ("heat", {}, 17),
    ("heat", {}, 33),
    ("ground-state", {}, 24),
    ("fetal-ecg", {}, 250),
    ("fetal-ecg", {}, 2000),
]


def measure(seconds: float, case: int) -> tuple[int, float, float]:
    """Case, time of the first record, and samples per second after it."""
    name, options, resolution = CASES[case]
    problem = PROBLEMS[name](**options)
    begin = time.perf_counter()
    encoded_record(problem, [resolution], 0, "float32", 0)
    first = time.perf_counter() - begin
    begin, records = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds or records < 2:
        records += 1
        encoded_record(problem, [resolution], 0, "float32", records)
    return case, first, records * problem.windows / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    seconds = parser.parse_args().seconds
    # The worker grows from case to case by what it keeps of each, and is replaced at some size.
    warnings.filterwarnings("ignore", message="A worker stopped")
    print("| problem | options | resolution | samples per second | first |")
    print("|---|---|---|---|---|")
    for case, first, rate in pool(1)(partial(measure, seconds), range(len(CASES))):
        name, options, resolution = CASES[case]
        shown = f"{rate:.0f}" if rate >= 100 else f"{rate:.2g}"
        given = " ".join(f"--{key} {value}" for key, value in options.items())
        print(f"| {name} | {given} | {resolution} | {shown} | {first:.2g} s |", flush=True)


if __name__ == "__main__":
    main()
