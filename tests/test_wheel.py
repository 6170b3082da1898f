"""The wheel, installed where the repository is out of sight: everything that the commands need is in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
COMMANDS = """
--help
generate burgers --samples 20 --resolutions 32,64 --out burgers.h5
train --data burgers.h5 --resolution 32 --epochs 1 --model.width 8 --model.blocks 1 --threads 1 --run run
evaluate run
report run
reproduce --list
reproduce burgers1 --preset smoke
"""


@pytest.mark.slow
def test_commands_of_the_wheel_in_an_empty_folder(tmp_path):
    source, installed, empty = (tmp_path / name for name in ("source", "installed", "empty"))
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("iaenet-*.whl")
    subprocess.run([*PIP, "install", "--no-deps", "--target", installed, wheel], check=True)
    empty.mkdir()

    def run(*arguments):
        command, environment = [sys.executable, *arguments], {**os.environ, "PYTHONPATH": str(installed)}
        done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    assert run("-c", "import iaenet; print(iaenet.__file__)").startswith(str(installed))
    for line in COMMANDS.strip().splitlines():
        assert run("-m", "iaenet", *line.split())
    for path in ("run/evaluation/errors.png", "run/report.html", "reproduced/results-smoke/burgers1.html"):
        assert (empty / path).is_file()
