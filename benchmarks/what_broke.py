"""`python -m benchmarks.what_broke --package OLD/src src`: attacks that a version withstands, and those it does not.

Each attack is a function that uses nothing but what every version has, run in a process of its own with limits of time
and memory. It returns whether the attack was withstood; an exception, a signal or the limits count as not. One that
needs a library which is not installed, such as joblib for `generate` of 0.1, is not tried.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
from importlib import import_module

from benchmarks.attack_tools import ATTACKS, Attack

SECONDS = 40  # of the processor, for each
MEMORY = 5 * 2**30


def withstood(function: Attack) -> tuple[bool, str]:
    """Whether an attack was withstood, in a process of its own; and if not, how it ended."""
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
            signal.alarm(10 * SECONDS)  # what waits needs no processor
            try:
                said = "" if function() else "no"
            except BaseException as error:
                said = f"{type(error).__name__}: {str(error)[:80]}"
            os.write(writing, " ".join(said.split()).encode() or b"yes")
            os._exit(0)
        os.close(writing)
        said = os.read(reading, 1000).decode()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(reading)
    return said == "yes", said or f"ended by signal {-code}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", nargs="+", default=["src"], help="Source folders, of one version each.")
    parser.add_argument("--only", default="", help="Attacks whose names have this in them.")
    given = parser.parse_args()
    if len(given.package) > 1:
        for package in given.package:
            command = [sys.executable, "-m", "benchmarks.what_broke", "--package", package, "--only", given.only]
            path = os.pathsep.join([os.path.abspath(package), os.getcwd(), os.environ.get("PYTHONPATH", "")])
            subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False)
        return 0
    import torch

    import iaenet

    for module in ("attacks_on_answers", "attacks_on_limits"):  # they register theirs
        import_module(f"benchmarks.{module}")
    torch.set_num_threads(1)
    print(f"iaenet {iaenet.__version__}")
    results = {}
    for name, function in ATTACKS.items():
        if given.only in name:
            results[name], said = withstood(function)
            if said.startswith("ModuleNotFoundError"):
                print(f"| {name} | not tried: {results.pop(name) or said} |", flush=True)
                continue
            print(f"| {name} | {'withstood' if results[name] else f'not withstood: {said}'} |", flush=True)
    print(f"{sum(results.values())} of {len(results)} withstood")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
