"""What README and docs tell people to type works, in the order in which it stands there, at tiny sizes."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from iaenet import Discretization, Field
from iaenet.cli.main import main

ROOT = Path(__file__).parents[1]
TINY = "--epochs 1 --threads 1 --model.width 4"
# What is typed there, and what is run here instead: the same with fewer samples, points, epochs and weights.
SMALLER = {
    r"--samples \d+": "--samples 12",
    r"--splits [\d,]+": "--splits 8,2,2",
    r"--resolutions 128,1024,8192": "--resolutions 32,64,128",
    r"--resolutions 64,128[\d,]+": "--resolutions 32,64",
    r"--resolutions 256,1024 ": "--resolutions 32,64 ",
    r"--resolutions 64 ": "--resolutions 16 ",
    r"--resolutions 1024,8192": "--resolutions 32,64",
    r"--resolution (128|256|64)": "--resolution 32",
    r"resolution=(128|256)": "resolution=32",
    r"resolution: 256": "resolution: 32",
    r"sizes: \[128, 512\]": "sizes: [16, 24]",
    r"epochs=\d+": "epochs=1, threads=1",
    r"epochs: \d+": "epochs: 1",
    r"--epochs \d+": "",
    r"--threads \d+": "",
    r"--resolutions 1000": "--resolutions 250",
    r"--model\.(width|blocks) \d+": "",
    r"modes: \d+": "modes: 2",
    r"latent: \d+": "latent: 4",
    r"--model.(linear_start|modes) [1-9]\d*": r"--model.\1 2",
    r"range\(20\)": "range(5)",
    r"n = 256 \* 1": "n = 32 * 1",
    r"reshape\(256, 1\)": "reshape(32, 1)",
}
PAGES = ("README.md", "docs/training.md", "docs/data.md", "docs/evaluation.md", "docs/research.md", "docs/branches.md")


def blocks(page):
    """Language and text of the code blocks of a page that can be run, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
    return [
        (language, text)
        for language, text in found
        if (language == "" and text.startswith("iaenet "))
        or (language == "yaml" and "data:" in text)
        or (language == "python" and not text.startswith(" "))
    ]


def smaller(text):
    for pattern, replacement in SMALLER.items():
        text = re.sub(pattern, replacement, text)
    return text


def write_csv(path, columns, count=30):
    x, y = np.random.default_rng(len(path.name)).random((2, count))
    values = {"x": x, "y": y, "a": np.sin(3 * x), "u": np.cos(3 * x) + y}
    np.savetxt(
        path, np.stack([values[name] for name in columns], 1), delimiter=",", header=",".join(columns), comments=""
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with the files that a reader is taken to have."""
    monkeypatch.chdir(tmp_path)
    for folder in ("samples", "measurements"):
        (tmp_path / folder).mkdir()
        for i in range(12):
            write_csv(tmp_path / folder / f"sample{i:02}.csv", "xyau")
    write_csv(tmp_path / "new.csv", "xya")
    write_csv(tmp_path / "sensors.csv", "xy")
    return tmp_path


def prepare(page):
    """The data and the runs that a page of the docs begins with."""
    if page in ("docs/training.md", "docs/evaluation.md"):
        typed("iaenet generate burgers --samples 12 --resolutions 32,64 --out burgers.h5")
    if page == "docs/evaluation.md":
        typed("iaenet generate burgers --samples 12 --seed 1 --resolutions 32,64 --out finer.h5")
        for run in ("RUN", "OTHER"):
            typed(f"iaenet train --data burgers.h5 --run {run}")


def typed(line):
    words = shlex.split(smaller(line), comments=True)
    if words[1] == "train" and "--resume" not in words:
        words += [*TINY.split(), *([] if "--model.name" in words else ["--model.blocks", "1"])]
    assert main(words[1:]) == 0, line


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_can_be_typed(page, here, capsys):
    grid, sensors = Discretization.uniform(32, periodic=True), Discretization.points(torch.rand(9, 1), periodic=True)
    names = {"field": Field(grid, torch.sin(2 * torch.pi * grid.points).float()), "sensors": sensors}
    found = blocks(page)
    assert found
    prepare(page)
    for language, text in sorted(found, key=lambda block: block[0] != "yaml"):  # files first
        if language == "yaml":
            (here / f"{Path(yaml.safe_load(text)['data']).stem}.yaml").write_text(smaller(text))
        elif language == "python":
            exec(compile(smaller(text), page, "exec"), names)
        else:
            for line in text.replace("\\\n", " ").splitlines():
                typed(line)


def test_links_lead_somewhere():
    made = ("reference/", "changelog.md")  # with the site, which has a test of its own
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "experiments" / "README.md"]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            beside = page.parent / target
            known = beside.exists() or beside.with_suffix(".py").exists() or (ROOT / target).exists()
            assert known or target.startswith(("http", *made)), f"{page.name}: {target}"
