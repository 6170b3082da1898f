"""The wheel, installed where the repository is out of sight: everything that the commands need is in it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMANDS = """
--help
generate burgers --samples 20 --resolutions 32,64 --out burgers.h5
train --data burgers.h5 --resolution 32 --epochs 1 --model.width 8 --model.blocks 1 --threads 1 --run run
evaluate run
predict run --input burgers.h5 --output predicted.h5 --at 48
report run
export run
play run
reproduce --list
reproduce burgers1 --preset smoke
"""


@pytest.mark.slow
def test_commands_of_the_wheel_in_an_empty_folder(tmp_path):
    """Sdist, wheel from it, an environment with the wheel alone; the packages that it needs are those of the tests."""
    source, dist, clean, empty = (tmp_path / name for name in ("source", "dist", "clean", "empty"))
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, source], check=True)
    (wheel,), (_,) = dist.glob("iaenet-*.whl"), dist.glob("iaenet-*.tar.gz")
    venv.create(clean, with_pip=False, symlinks=os.name != "nt")
    bin = clean / ("Scripts" if os.name == "nt" else "bin")
    install = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", bin / "python"]
    subprocess.run([*install, "install", "--no-deps", "--no-index", wheel], check=True)
    (installed,) = clean.glob("**/site-packages")
    (installed / "needed.pth").write_text(sysconfig.get_path("purelib"))
    empty.mkdir()

    def run(*arguments):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(arguments, cwd=empty, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    assert run(bin / "python", "-c", "import iaenet; print(iaenet.__file__)").startswith(str(installed))
    assert (installed / "iaenet" / "py.typed").is_file()
    for line in COMMANDS.strip().splitlines():
        assert run(bin / "iaenet", *line.split())
    for path in (
        "run/evaluation/errors.png",
        "run/report.html",
        "run/model.onnx",
        "run/playground.html",
        "predicted.h5",
        "reproduced/results-smoke/burgers1.html",
    ):
        assert (empty / path).is_file()
