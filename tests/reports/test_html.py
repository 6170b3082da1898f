"""One page, complete in itself."""

import json
import re
import shutil

import pytest
import torch

import iaenet
from iaenet import Discretization, Field
from iaenet.cli.main import main
from iaenet.data.file_writer import write_dataset
from iaenet.data.problems.problem import Channel
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.reports.html import write_report
from iaenet.reports.result_plots import draw_comparison
from iaenet.training.run_folder import RunFolder
from tests.sizes import sizes

SMALL = sizes(post=4)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two trained runs, one of them evaluated and certified; the data have a name that HTML must not take for a tag."""
    folder = tmp_path_factory.mktemp("runs")
    generator = torch.Generator().manual_seed(0)
    pairs, splits = [], []
    for i in range(20):
        shift = torch.rand(1, generator=generator)
        for size in (32, 48):
            grid = Discretization.uniform(size, periodic=True)
            wave = torch.sin(2 * torch.pi * (grid.points + shift)).float()
            pairs.append((Field(grid, wave), Field(grid, wave**2)))
            splits.append("train" if i < 12 else "validation" if i < 16 else "test")
    data = folder / "a<b>.h5"
    write_dataset(data, pairs, splits=splits, inputs=[Channel("a")], outputs=[Channel("u")])
    for name, model in (("ours", {"name": "iaenet", **SMALL}), ("fno", {"name": "fno", "width": 8, "modes": 4})):
        iaenet.fit(model, data, folder / name, resolution=32, epochs=2, threads=1)
        assert main(["evaluate", str(folder / name), "--samples", "1"]) == 0
    assert main(["certify", str(folder / "ours"), "--samples", "2"]) == 0
    return folder


def test_page_is_complete_and_fetches_nothing(runs):
    write_report([runs / "ours", runs / "fno"], runs / "report.html", "Ours <and> others")
    text = (runs / "report.html").read_text()
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", text)
    assert "http" not in text
    assert text.count("data:image/png;base64,") == 2 + 2  # samples, worst
    assert text.count('<figure class="chart">') == 1 + 3 + 2  # all; errors and training, and a certificate
    assert "Ours &lt;and&gt; others" in text
    assert "a&lt;b&gt;.h5" in text
    assert "<b>.h5" not in text
    assert "Not certified yet" in text
    errors = re.findall(r"<b>([\d.e+-]+)</b>", text)
    assert errors, "the lowest error of each column is marked"


def test_no_column_is_cut_on_a_screen_of_1280_pixels(runs):
    write_report([runs / "ours", runs / "fno"], runs / "report.html")
    text = (runs / "report.html").read_text()
    assert text.count("<table") == text.count('<div class="scroll"><table')  # what is wider still can be scrolled to
    assert ".scroll { overflow-x: auto; }" in text
    assert int(re.search(r"body {[^}]*max-width: (\d+)px", text).group(1)) >= 1280


def test_all_runs_in_one_picture(runs):
    rows = {run: RunFolder(runs / run).read_json("evaluation/evaluation.json")["rows"] for run in ("ours", "fno")}
    ax = draw_comparison(rows, training=32).axes[0]
    for name, found in rows.items():
        line = next(line for line in ax.get_lines() if line.get_label() == name)
        grids = [row for row in found if row["resolution"] is not None]
        assert line.get_xdata().tolist() == [row["points"][1] for row in grids]
        assert line.get_ydata().tolist() == [row["relative_l2"]["mean"] for row in grids]
    assert "trained on 32" in [line.get_label() for line in ax.get_lines()]
    refusing = [{"on": "64", "resolution": 64, "points": [64, 64], "refused": "no"}, *rows["fno"]]
    assert draw_comparison({"ours": rows["ours"], "bound": refusing}) is not None
    assert draw_comparison({"one": rows["ours"][:1], "none": []}) is None


def test_figures_are_those_of_the_evaluation(runs):
    write_report([runs / "ours"], runs / "one.html")
    text = (runs / "one.html").read_text()
    rows = RunFolder(runs / "ours").read_json("evaluation/evaluation.json")["rows"]
    for row in rows:
        assert f"<td>{row['relative_l2']['mean']:.3g}</td>" in text


def test_command_names_the_page(runs, capsys):
    assert main(["report", str(runs / "ours")]) == 0
    assert str(runs / "ours" / "report.html") in capsys.readouterr().out
    assert (runs / "ours" / "report.html").is_file()


def test_no_run_is_one_clear_error(tmp_path, capsys):
    with pytest.raises(InvalidInputError, match="no training run"):
        write_report([tmp_path], tmp_path / "r.html")
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert not (tmp_path / "r.html").exists()
    assert "Traceback" not in capsys.readouterr().err


def test_symmetries_that_were_found(runs, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs / "ours", run)
    (run / "symmetries.json").write_text('{"ratios": {"reflect-x": [1.012, 0.02]}, "accepted": ["reflect-x"]}')
    write_report([run], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Symmetries of the problem: reflect-x" in page
    assert "<td>1.012</td>" in page
    (run / "symmetries.json").write_text('{"ratios": [], "accepted": 3}')
    with pytest.raises(CorruptFileError, match=r"symmetries\.json"):
        write_report([run], tmp_path / "again.html")


def test_what_was_chosen_within_a_budget(runs, tmp_path):
    iaenet.fit(
        {"name": "iaenet", **SMALL}, runs / "a<b>.h5", tmp_path / "chosen", resolution=32, budget="2s", threads=1
    )
    write_report([tmp_path / "chosen"], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    choice = json.loads((tmp_path / "chosen" / "choice.json").read_text())
    assert f"Chosen within the budget: {choice['chosen']}" in page
    assert f"<td>{choice['trials'][0]['steps']}</td>" in page
    (tmp_path / "chosen" / "choice.json").write_text('{"trials": [{"name": 3}]}')
    with pytest.raises(CorruptFileError, match=r"choice\.json"):
        write_report([tmp_path / "chosen"], tmp_path / "again.html")
