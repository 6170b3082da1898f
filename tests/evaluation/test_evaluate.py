"""Errors discretization by discretization: the right samples, at the right points, for any model; and the command."""

import json
import os
import re
import struct
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

import iaenet
from iaenet import Discretization, Field, IAENet, InvalidInputError, Model, load_dataset, write_dataset
from iaenet.cli.evaluate_command import training_resolution
from iaenet.cli.main import main
from iaenet.data.generate import generate
from iaenet.data.problems.problem import Channel, Sample
from iaenet.evaluation.certify import certify
from iaenet.evaluation.evaluate import evaluate
from iaenet.functions.metrics import relative_l2
from iaenet.models.operator import describe
from iaenet.reports.result_plots import draw_certificate, draw_errors, draw_predictions
from tests.sizes import sizes
from tests.waves import Gridded, Turn, Waves


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "waves.h5"
    generate(Waves(), path, 12, [32, 64, 256], splits=(3, 2, 7))
    return load_dataset(path)


@pytest.fixture(scope="module")
def unseen(data):
    return data.select(split="test")


# ------------------------------------------------------------------ numbers


def test_a_row_for_each_resolution_with_the_errors_of_the_test_samples(unseen):
    rows = evaluate(Turn(0.9), unseen).rows
    assert [row.on for row in rows] == ["32", "64", "256"]
    for row in rows:
        assert row.samples == tuple(range(5, 12))  # the last seven of the file
        assert row.errors == pytest.approx([0.1] * 7, rel=1e-3)
        assert row.statistics == pytest.approx({"mean": 0.1, "median": 0.1, "worst": 0.1, "std": 0.0}, abs=1e-5)


def test_errors_are_those_of_the_pairs_one_by_one(unseen):
    torch.manual_seed(0)
    model = IAENet(1, 1, periodic=True, **sizes(post=4))
    rows = {row.resolution: row for row in evaluate(model, unseen, batch_size=3).rows}
    with torch.no_grad():
        for i, (given, wanted) in enumerate(unseen):
            entry = unseen.entry(i)
            row = rows[entry.resolution]
            error = float(relative_l2(model(given), wanted))
            assert row.errors[row.samples.index(entry.sample)] == pytest.approx(error, rel=1e-5)


def test_statistics_and_worst_cases(unseen):
    """A model that is exact but for two samples."""
    bad = {tuple(unseen[unseen.indices(i)[0]][0].values[0].tolist()): 1 + 0.1 * (i + 1) for i in (2, 4)}

    def model(field, at=None):
        found = Turn()(field, at)
        factors = [bad.get(tuple(one[0].tolist()), 1.0) for one in field.values]
        return Field(found.discretization, found.values * torch.tensor(factors)[:, None, None])

    (row,) = evaluate(model, unseen, resolutions=[32]).rows
    assert row.worst[0] == (9, pytest.approx(0.5, rel=1e-3))
    assert row.worst[1] == (7, pytest.approx(0.3, rel=1e-3))
    assert row.statistics["mean"] == pytest.approx(0.8 / 7, rel=1e-3)
    assert row.statistics["median"] < 1e-5
    assert row.statistics["worst"] == pytest.approx(0.5, rel=1e-3)
    assert row.statistics["std"] == pytest.approx(np.std([0.5, 0.3, 0, 0, 0, 0, 0]), rel=1e-3)
    document = json.loads(evaluate(model, unseen, resolutions=[32]).to_json())
    assert [case["sample"] for case in document["rows"][0]["worst"][:2]] == [9, 7]


def test_the_size_of_batches_does_not_matter(unseen):
    one, many = (evaluate(Turn(0.9), unseen, batch_size=batch).rows for batch in (1, 100))
    assert [row.errors for row in one] == [pytest.approx(row.errors, rel=1e-5) for row in many]
    with pytest.raises(InvalidInputError, match="batch"):
        evaluate(Turn(), unseen, batch_size=0)


def test_splits_are_never_mixed(data):
    with pytest.raises(InvalidInputError, match="one split at a time, not train and validation and test"):
        evaluate(Turn(), data)


def test_only_the_resolutions_asked_for(unseen):
    assert [row.on for row in evaluate(Turn(), unseen, resolutions=[256, 32]).rows] == ["256", "32"]
    with pytest.raises(InvalidInputError, match="resolution 100"):
        evaluate(Turn(), unseen, resolutions=[100])


def test_random_points_are_points_of_the_finest_grid(unseen):
    seen = []

    def model(field, at=None):
        seen.append(field.discretization)
        return Turn(0.9)(field, at)

    rows = evaluate(model, unseen, random_points=100, resolutions=[64, 256]).rows
    drawn = [at for at in seen if at.axes is None]
    assert rows[-1].on == "100 random points"
    assert rows[-1].samples == rows[0].samples
    assert all(at.n == 100 and torch.equal(at.points * 256, (at.points * 256).round()) for at in drawn)
    assert len({at.key for at in drawn}) == len(drawn) > 1
    assert rows[-1].statistics["mean"] == pytest.approx(0.1, rel=0.5)  # trapezoids on random points
    again = evaluate(Turn(0.9), unseen, random_points=100, resolutions=[64, 256])
    assert again.rows[-1].errors == rows[-1].errors
    assert evaluate(Turn(0.9), unseen, random_points=100, seed=1).rows[-1].errors != rows[-1].errors


def test_what_a_model_refuses_is_a_row_with_the_reason(unseen):
    evaluation = evaluate(Gridded(0.9), unseen, random_points=64)
    *grids, random = evaluation.rows
    assert all(not row.refused for row in grids)
    assert random.refused == "grids only, please"
    assert "64 random points: not taken: grids only, please" in evaluation.table()
    assert json.loads(evaluation.to_json())["rows"][-1]["refused"] == "grids only, please"


def test_numbers_that_are_none_are_a_reason_too(unseen):
    def model(field, at=None):
        return Field.unchecked(field.discretization, field.values * float("nan"))

    (row,) = evaluate(model, unseen, resolutions=[32]).rows
    assert "output: sample 0, channel 0, point 0 is nan" in row.refused
    assert len(evaluate(lambda field, at=None: field, unseen, resolutions=[32]).rows[0].errors) == 7


@dataclass(frozen=True)
class TwoChannels(Waves):
    """Channels of very different size."""

    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u", "m"), Channel("v", "Pa"))

    def record(self, rng, resolutions):
        return [
            {
                s: Sample(a.input, np.hstack([a.output, 1000 * a.output]), a.input_at, a.output_at)
                for s, a in one.items()
            }
            for one in super().record(rng, resolutions)
        ]


def test_channels_have_their_own_errors(tmp_path):
    generate(TwoChannels(), tmp_path / "a.h5", 3, [32], splits=(0, 0, 3))
    unseen = load_dataset(tmp_path / "a.h5")

    def model(field, at=None):
        u = Turn()(field, at).values
        return Field(field.discretization, torch.cat([0.5 * u, 1000 * 0.99 * u], dim=-1))

    evaluation = evaluate(model, unseen)
    (row,) = evaluation.rows
    assert row.channels == pytest.approx({"u": 0.5, "v": 0.01}, rel=1e-3)
    assert row.statistics["mean"] == pytest.approx(0.01, rel=0.01)
    assert row.rmse["v"] / row.rmse["u"] == pytest.approx(20, rel=1e-3)
    header, line = evaluation.table().splitlines()[1:]
    assert header.split()[-2:] == ["u", "v"]
    assert line.split()[-2:] == ["0.5", "0.01"]


def test_outputs_on_points_of_their_own(tmp_path):
    generate(Waves(query_points=True), tmp_path / "a.h5", 3, [32, 64], splits=(0, 0, 3))
    evaluation = evaluate(Turn(0.9), load_dataset(tmp_path / "a.h5"), random_points=32)
    assert [row.statistics["mean"] for row in evaluation.rows[:2]] == pytest.approx([0.1, 0.1], rel=1e-3)
    assert not evaluation.rows[2].refused


def test_many_point_sets_share_a_row(tmp_path):
    pairs = []
    for i in range(20):
        at = Discretization.points(np.random.default_rng(i).random((10 + i, 2)))
        pairs.append((Field(at, torch.ones(at.n, 1)), Field(at, torch.full((at.n, 1), 2.0))))
    write_dataset(tmp_path / "a.h5", pairs, inputs=[Channel("a")], outputs=[Channel("u")])
    unseen = load_dataset(tmp_path / "a.h5")
    (row,) = evaluate(lambda field, at=None: field, unseen).rows
    assert (row.on, row.points, row.resolution) == ("10 to 29", (10, 29), None)
    assert row.errors == pytest.approx([0.5] * 20)
    assert row.samples == tuple(range(20))
    assert draw_errors(evaluate(lambda field, at=None: field, unseen)).axes
    assert len(draw_predictions(lambda field, at=None: field, unseen, [0, 7]).axes) > 7


def test_pictures_of_any_kind_of_points(tmp_path):
    scattered = np.random.default_rng(0).random((40, 3))
    places = {
        "1-D points": Discretization.points(scattered[:, :1]),
        "2-D grid": Discretization.uniform((5, 7)),
        "2-D points": Discretization.points(scattered[:, :2]),
        "a vector": Discretization.points([[0.5]], weights=[1.0]),
        "3-D grid": Discretization.uniform((3, 4, 5)),
    }
    line = Discretization.uniform(9)
    for name, at in places.items():
        pair = Field(line, torch.randn(9, 1)), Field(at, torch.randn(at.n, 1))
        write_dataset(tmp_path / "a.h5", [pair], inputs=[Channel("a", "K")], outputs=[Channel("u", "m/s")])
        noise = lambda field, at=None: Field(at, torch.randn(at.n, 1))  # noqa: E731
        figure = draw_predictions(noise, load_dataset(tmp_path / "a.h5"), [0])
        figure.savefig(tmp_path / "a.png")
        titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
        maps = ["u (m/s), truth", "u (m/s), prediction"] if at.dim > 1 else ["u (m/s)"]
        assert titles == ["input a (K)", *maps, "u (m/s), difference"], name


def test_the_same_text_twice(unseen):
    texts = {evaluate(Turn(0.9), unseen, random_points=64).to_json() for _ in range(2)}
    assert len(texts) == 1
    assert "time" not in texts.pop()


def test_progress_ends_with_all_pairs(unseen):
    calls = []
    evaluate(Turn(), unseen, random_points=32, progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1] == (28, 28)


# ------------------------------------------------------------------ the command


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    """A short training on 64 points."""
    folder = tmp_path_factory.mktemp("run") / "run"
    size = sizes(post=4)
    iaenet.fit({"name": "iaenet", **size}, data, folder, resolution=64, epochs=2, threads=1)
    return folder


def png_size(path):
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def test_the_command_writes_numbers_and_pictures(run, unseen, capsys):
    assert main(["evaluate", str(run)]) == 0
    text = capsys.readouterr().out
    folder = run / "evaluation"
    assert sorted(os.listdir(folder)) == ["errors.png", "evaluation.json", "samples.png", "worst.png"]
    for name in os.listdir(folder):
        assert name in text
    assert str(folder) in text
    document = json.loads((folder / "evaluation.json").read_text())
    assert [row["on"] for row in document["rows"]] == ["32", "64", "256", "64 random points"]
    assert (document["split"], document["data"]) == ("test", unseen.content_hash)
    direct = evaluate(iaenet.load(run), unseen, random_points=64)
    assert (folder / "evaluation.json").read_text() == direct.to_json()
    mean = float(re.search(r"^64 +7 +(\S+)", text, re.M)[1])
    assert mean == pytest.approx(direct.rows[1].statistics["mean"], rel=1e-2)
    for name in ("errors.png", "samples.png", "worst.png"):
        width, height = png_size(folder / name)
        assert min(width, height) > 300


def test_the_command_takes_other_data_resolutions_and_folders(run, tmp_path, capsys):
    generate(Waves(), tmp_path / "b.h5", 3, [48, 96], splits=(0, 3, 0))
    options = ["--data", f"{tmp_path}/b.h5", "--split", "validation", "--resolutions", "96", "--random-points", "0"]
    assert main(["evaluate", str(run), *options, "--out", f"{tmp_path}/out/deep"]) == 0
    document = json.loads((tmp_path / "out" / "deep" / "evaluation.json").read_text())
    assert [row["on"] for row in document["rows"]] == ["96"]
    assert document["split"] == "validation"


def mistake(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    return err


@pytest.mark.parametrize("command", ["evaluate", "certify"])
def test_mistakes_are_one_line(command, run, data, tmp_path, capsys):
    generate(TwoChannels(), tmp_path / "two.h5", 3, [32], splits=(0, 0, 3))
    assert "outputs are u, v, but" in mistake(capsys, command, run, "--data", tmp_path / "two.h5")
    assert "no training run" in mistake(capsys, command, tmp_path)
    assert "none.h5" in mistake(capsys, command, run, "--data", tmp_path / "none.h5")
    generate(Waves(), tmp_path / "train.h5", 3, [32], splits=(3, 0, 0))
    assert "no pair of split test" in mistake(capsys, command, run, "--data", tmp_path / "train.h5")
    assert "--help" in mistake(capsys, command, run, "--colour", "red")
    assert "device 'abacus'" in mistake(capsys, command, run, "--device", "abacus")


@pytest.mark.parametrize("command", ["evaluate", "certify"])
def test_data_that_are_gone_or_changed(command, tmp_path, capsys):
    generate(Waves(), tmp_path / "a.h5", 8, [32], splits=(4, 2, 2))
    size = sizes(post=4)
    iaenet.fit({"name": "iaenet", **size}, tmp_path / "a.h5", tmp_path / "run", epochs=1, threads=1)
    (tmp_path / "a.h5").unlink()
    text = mistake(capsys, command, tmp_path / "run")
    assert f"{tmp_path / 'a.h5'}, the data that" in text
    assert "--data" in text
    generate(Waves(), tmp_path / "a.h5", 8, [32], splits=(4, 2, 2), seed=1)
    assert main([command, str(tmp_path / "run")]) == 0
    assert "is no longer what" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["evaluate", "certify"])
def test_a_moved_run_brings_its_data_along(command, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    generate(Waves(), tmp_path / "run" / "data.h5", 8, [32], splits=(4, 2, 2))
    network = {"name": "iaenet", **sizes(post=4)}
    iaenet.fit(network, tmp_path / "run" / "data.h5", tmp_path / "run", epochs=1, threads=1)
    moved = tmp_path / "moved"
    (tmp_path / "run").rename(moved)
    assert main([command, str(moved), "--samples", "1"]) == 0
    assert "note" not in capsys.readouterr().out
    (moved / "data.h5").unlink()
    generate(Waves(), moved / "data.h5", 8, [32], splits=(4, 2, 2), seed=1)
    assert "data.h5 holds others; name a file with --data" in mistake(capsys, command, moved)


# ------------------------------------------------------------------ each sample on points of its own


@pytest.fixture(scope="module")
def irregular(tmp_path_factory):
    """A run on samples that share no points, and a file of such samples; no size of the second is in the first."""
    folder = tmp_path_factory.mktemp("irregular")
    for name, first, splits in (("train", 40, ["train"] * 16 + ["validation"] * 4), ("test", 41, ["test"] * 5)):
        pairs = []
        for i in range(len(splits)):
            at = Discretization.points(np.random.default_rng(first + i).random((first + 2 * i, 2)))
            a = torch.sin(3 * at.points.sum(1, keepdim=True) + i).float()
            pairs.append((Field(at, a), Field(at, 2 * a)))
        write_dataset(folder / f"{name}.h5", pairs, splits=splits, inputs=[Channel("a")], outputs=[Channel("u")])
    network = {"name": "iaenet", **sizes(post=4, dim=2)}
    iaenet.fit(network, folder / "train.h5", folder / "run", epochs=1, threads=1)
    return folder


def test_samples_on_points_of_their_own_share_a_row_with_their_mean(irregular, capsys):
    assert main(["evaluate", str(irregular / "run"), "--data", str(irregular / "test.h5")]) == 0
    assert re.search(r"^41 to 49 +5 ", capsys.readouterr().out, re.M)
    (row,) = json.loads((irregular / "run" / "evaluation" / "evaluation.json").read_text())["rows"]
    assert (row["on"], row["resolution"], row["samples"], row["points"]) == ("41 to 49", None, 5, [41, 49])
    assert row["relative_l2"]["mean"] > 0


def test_no_size_is_called_that_of_the_training_which_is_none(irregular, data):
    metadata = iaenet.load(irregular / "run").metadata
    assert metadata["trained"]["points"] == [40, 70]
    assert training_resolution(metadata, load_dataset(irregular / "test.h5")) is None
    one = load_dataset(irregular / "test.h5", resolution=41)
    labels = (
        draw_errors(evaluate(Almost(), one), training_resolution(metadata, one)).axes[0].get_legend_handles_labels()
    )
    assert not [text for text in labels[1] if "trained" in text]
    several = {"trained": describe([Discretization.uniform(n, periodic=True) for n in (32, 256)])}
    assert training_resolution(several, data.select(resolution=64)) is None  # between the two, but none of them
    assert training_resolution(several, data) == 32


class Almost(Model):
    def transform(self, values, source, target):
        return 1.9 * values


def test_the_certificate_names_its_axis_for_what_it_is(irregular, unseen):
    scattered = draw_certificate(certify(Almost(), load_dataset(irregular / "test.h5"), samples=2)).axes[0]
    assert scattered.get_xlabel() == "$n^{1/d}$ for $n$ points in $d$ dimensions"
    grids = draw_certificate(certify(Turn(0.9), unseen, samples=2)).axes[0]
    assert grids.get_xlabel() == "points along an axis"


# ------------------------------------------------------------------ help


@pytest.mark.parametrize("command", ["evaluate", "certify"])
def test_help_is_light(command):
    code = (
        "import sys; from iaenet.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('imported', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, command, "--help"], capture_output=True, text=True, check=True)
    text, _, imported = done.stdout.rpartition("imported")
    assert f"usage: iaenet {command}" in text
    assert f"examples:\n  iaenet {command} " in text
    assert {name.partition(".")[0] for name in imported.split()} & {"torch", "numpy", "scipy", "matplotlib"} == set()
