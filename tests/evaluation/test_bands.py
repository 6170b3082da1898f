"""Bands: what conformal calibration promises, on any points, for single models and ensembles; by command, too."""

import csv
import json
import shutil

import numpy as np
import pytest
import torch

import iaenet
from iaenet import CorruptFileError, Discretization, Field, InvalidInputError, load_dataset
from iaenet.cli.main import main
from iaenet.data.generate import generate
from iaenet.data.problems.burgers import Burgers
from iaenet.evaluation.bands import BandMaker
from iaenet.evaluation.calibration import calibrate, load_calibration
from iaenet.evaluation.coverage import coverage
from iaenet.evaluation.local_scale import LocalScale
from iaenet.functions.normalizer import Normalizer
from iaenet.models.ensemble import Ensemble
from iaenet.models.inference import infer
from iaenet.models.operator import Operator, describe

SAME = Normalizer([0.0], [1.0])


class Offset(iaenet.Model):
    """`u = a + offset`: a model whose errors are known, with a term that depends on how many points there are."""

    def __init__(self, offset: float = 0.0, coarse: float = 0.0) -> None:
        super().__init__()
        self.offset = torch.nn.Parameter(torch.tensor(offset))
        self.coarse = coarse

    def transform(self, values, source, target):
        found = iaenet.interpolate(Field.unchecked(source, values), target).values
        return found + self.offset + self.coarse / source.n


def operator(offset=0.0, coarse=0.0):
    at = describe([Discretization.uniform(33)])
    return Operator(Offset(offset, coarse), SAME, SAME, {"trained": at, "targets": at})


def noisy(count, at, seed, scale=lambda x: 0.1 + x):
    """`a`, and `a` with an error of known size at each place: the same sign in all of a sample, as errors have."""
    chance = torch.Generator().manual_seed(seed)
    pairs = []
    for _ in range(count):
        a = torch.sin(6 * at.points[:, :1] + torch.rand(1, generator=chance))
        error = torch.randn(1, 1, generator=chance) * scale(at.points[:, :1])
        pairs.append((Field(at, a.float()), Field(at, (a + error).float())))
    return pairs


def shares(maker, pairs):
    """Share of each function inside its band, `(b, c)`; the pairs share their points."""
    at = pairs[0][0].discretization
    given, wanted = (Field(at, torch.stack([pair[side].values for pair in pairs])) for side in (0, 1))
    return maker.band(given, infer(maker.model, given, at)).covers(wanted)


# ------------------------------------------------------------------ what is promised


def test_coverage_is_what_was_asked_for_on_any_points():
    grid = Discretization.uniform(33)
    calibration = calibrate(operator(), noisy(600, grid, 1))
    cloud = Discretization.points(torch.rand(80, 1, generator=torch.Generator().manual_seed(3)))
    for at in (grid, Discretization.uniform(100), cloud):
        pairs = noisy(400, at, 2)
        for level in (0.5, 0.9):
            assert abs(float(shares(BandMaker(operator(), calibration, level), pairs).mean()) - level) < 0.06


def test_the_mean_over_calibrations_is_not_below_the_level():
    """The guarantee is one over calibration and test sample together, for few samples, too."""
    grid = Discretization.uniform(9)
    found = []
    for seed in range(25):
        maker = BandMaker(operator(), calibrate(operator(), noisy(30, grid, 100 + seed)), 0.8)
        found.append(float(shares(maker, noisy(20, grid, 1000 + seed)).mean()))
    assert 0.76 < np.mean(found) < 0.9


def test_whole_functions():
    grid = Discretization.uniform(33)
    calibration = calibrate(operator(), noisy(600, grid, 1))
    inside = shares(BandMaker(operator(), calibration, 0.9, "function"), noisy(500, grid, 2)) > 1 - 1e-9
    assert abs(float(inside.double().mean()) - 0.9) < 0.05


def test_the_band_varies_with_the_place_and_is_a_function():
    grid = Discretization.uniform(65)
    calibration = calibrate(operator(), noisy(300, grid, 1))
    maker = BandMaker(operator(), calibration, 0.9)
    a = noisy(1, grid, 2)[0][0]
    fine = Discretization.uniform(129)
    here, there = (maker.band(a, infer(maker.model, a, at)).half_width.values[:, 0] for at in (grid, fine))
    assert torch.allclose(here, there[::2], rtol=1e-4)
    assert here[-1] > 5 * here[0]
    x = grid.points[:, 0]
    shape = (0.1 + x) / (0.1 + x).mean()
    assert float((here / here.mean() - shape).abs().max()) < 0.15


def test_every_channel_has_its_own_factor():
    at = Discretization.uniform(9)
    chance = torch.Generator().manual_seed(0)
    pairs = []
    for _ in range(300):
        error = torch.cat([torch.randn(1, generator=chance), 100 * torch.rand(1, generator=chance)])
        pairs.append((Field(at, torch.zeros(9, 2)), Field(at, error.expand(9, 2).contiguous())))
    two = Operator(Offset(), Normalizer([0.0] * 2, [1.0] * 2), Normalizer([0.0] * 2, [1.0] * 2))
    calibration = calibrate(two, pairs)
    found = BandMaker(two, calibration, 0.9).band(pairs[0][0], pairs[0][0]).half_width.values[0]
    assert found[0] == pytest.approx(1.64, rel=0.25)
    assert found[1] == pytest.approx(90, rel=0.1)


# ------------------------------------------------------------------ discretization


def test_inputs_unlike_those_of_the_calibration_get_a_discretization_term():
    """The model is off by C / n; from half of the points the difference is C / n again: the estimate of the error."""
    grid = Discretization.uniform(65, periodic=True)
    model = operator(coarse=6.4)
    pairs = [(a, Field(a.discretization, u.values + 6.4 / 65)) for a, u in noisy(300, grid, 1, lambda x: 0.01 + 0 * x)]
    maker = BandMaker(model, calibrate(model, pairs), 0.9)
    coarse = Discretization.uniform(16, periodic=True)
    given = noisy(50, coarse, 2, lambda x: 0.01 + 0 * x)
    truth = [(a, Field(coarse, u.values + 6.4 / 65)) for a, u in given]
    assert maker.unlike(coarse)
    assert not maker.unlike(grid)
    assert maker.unlike(Discretization.uniform(128, periodic=True))
    assert maker.unlike(Discretization.points(grid.points[:40], periodic=True))
    assert shares(maker, truth).mean() > 0.9  # without the term the error of 0.3 is far outside of 0.016
    bare = maker.factor * maker._calibration.scale.at(coarse)
    assert float(bare.max()) < 0.05


def test_what_a_finer_grid_shows_is_in_the_band():
    """Jumps between the points of the calibration's grid: the model follows them, the truth does not."""
    coarse, fine = (Discretization.uniform(n, periodic=True) for n in (32, 64))
    model = operator()
    maker = BandMaker(model, calibrate(model, noisy(300, coarse, 1, lambda x: 0.01 + 0 * x)), 0.9)
    jumps = 0.3 * (torch.arange(64) % 2)[:, None].float()
    truth = [(Field(fine, a.values + jumps), u) for a, u in noisy(50, fine, 2, lambda x: 0.01 + 0 * x)]
    bare = maker.factor * maker._calibration.scale.at(fine)
    assert float(bare.max()) < 0.3
    assert shares(maker, truth).mean() > 0.88


def test_no_estimate_no_band():
    class Fixed(Offset):
        def transform(self, values, source, target):
            if source.n != 33:
                raise InvalidInputError("33 points only")
            return values

    grid = Discretization.uniform(33)
    model = Operator(Fixed(), SAME, SAME)
    calibration = calibrate(model, noisy(30, Discretization.tensor_grid(grid.points[:, 0]), 0))
    some = Field(Discretization.points(grid.points), torch.zeros(33, 1))
    with pytest.raises(InvalidInputError, match="cannot be given"):
        BandMaker(model, calibration, 0.8).band(some, some)


# ------------------------------------------------------------------ ensembles


def test_the_spread_of_an_ensemble_tells_hard_samples_from_easy_ones():
    class Tilted(Offset):
        def transform(self, values, source, target):
            hard = (values.amax(dim=(1, 2), keepdim=True) > 0.5).to(values)
            return 0 * values + self.offset * (1 + 20 * hard)

    members = [Operator(Tilted(offset), SAME, SAME) for offset in (0.05, -0.05, 0.02, -0.02)]
    model = Ensemble(members)
    grid, chance = Discretization.uniform(17), torch.Generator().manual_seed(0)

    def pair():
        hard = float(torch.rand(1, generator=chance) > 0.5)
        error = 0.05 * (1 + 20 * hard) * torch.randn(1, 1, generator=chance)
        return Field(grid, torch.full((17, 1), hard)), Field(grid, error.expand(17, 1).contiguous())

    calibration = calibrate(model, [pair() for _ in range(400)])
    maker = BandMaker(model, calibration, 0.9)
    pairs = [pair() for _ in range(300)]
    easy, hard = ([p for p in pairs if float(p[0].values[0]) == kind] for kind in (0.0, 1.0))
    assert shares(maker, pairs).mean() == pytest.approx(0.9, abs=0.05)
    widths = [float(maker.band(a, infer(maker.model, a)).half_width.values.mean()) for a in (easy[0][0], hard[0][0])]
    assert widths[1] > 1.3 * widths[0]
    found = iaenet.predict(model, easy[0][0], band=0.9, calibration=calibration)
    assert torch.allclose(found.fields[0].values, model.predict(easy[0][0]).values)
    assert found.bands[0].spread.values.shape == (17, 1)
    assert torch.allclose(
        found.bands[0].upper.values - found.bands[0].lower.values, 2 * found.bands[0].half_width.values
    )


# ------------------------------------------------------------------ files


def test_kept_and_refused(tmp_path):
    grid = Discretization.uniform(33)
    model = operator()
    calibration = calibrate(model, noisy(60, grid, 1))
    calibration.save(tmp_path)
    again = load_calibration(tmp_path)
    assert torch.equal(again.factor(0.9), calibration.factor(0.9))
    assert torch.equal(again.scale.at(grid), calibration.scale.at(grid))
    again.check(model)
    with pytest.raises(InvalidInputError, match="other weights"):
        BandMaker(operator(offset=1e-3), again, 0.9)
    with pytest.raises(InvalidInputError, match="needs 999 calibration samples, there are 40"):
        again.factor(0.999)
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        again.factor(90)
    with pytest.raises(InvalidInputError, match="too few to calibrate"):
        calibrate(model, noisy(3, grid, 1))
    with pytest.raises(InvalidInputError, match="needs a calibration"):
        iaenet.predict(model, noisy(1, grid, 1)[0][0], band=0.9)
    whole = (tmp_path / "calibration.json").read_text()
    document = json.loads(whole)
    for broken in (
        whole[:200],
        json.dumps({**document, "ratios": [[1.0]]}),
        json.dumps({**document, "scale": {}}),
        "[]",
    ):
        (tmp_path / "calibration.json").write_text(broken)
        with pytest.raises(CorruptFileError, match=r"calibration\.json"):
            load_calibration(tmp_path)


def test_the_scale_survives_exact_models_vectors_and_points_outside():
    one = Discretization.points([[0.5, 0.5]])
    vectors = LocalScale.fit([Field(one, torch.full((40, 1, 2), 3.0))])
    assert torch.allclose(vectors.at(one), torch.full((1, 2), 3.0, dtype=torch.float64))
    grid = Discretization.uniform(9)
    assert torch.isfinite(LocalScale.fit([Field(grid, torch.zeros(9, 1))]).at(grid)).all()
    rising = LocalScale.fit([Field(grid, 1 + grid.points)])
    outside = Discretization.points([[1.5]], bounds=[[0, 2]])
    assert 0.9 < float(rising.at(outside)) < 2.1


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short training on Burgers' equation at three resolutions, with a run folder."""
    folder = tmp_path_factory.mktemp("bands")
    generate(Burgers(viscosity=0.1), folder / "waves.h5", 190, [16, 32, 64], splits=(30, 100, 60))
    arguments = ["train", "--data", str(folder / "waves.h5"), "--resolution", "32", "--run", str(folder / "run")]
    small = ["--model.name", "fno", "--model.width", "8", "--model.modes", "6", "--epochs", "4", "--threads", "1"]
    assert main([*arguments, *small]) == 0
    return folder / "run"


def test_calibrate_and_predict_by_command(run, tmp_path, capsys):
    assert main(["predict", str(run), "--input", "a.csv", "--output", str(tmp_path / "u.csv"), "--band", "0.9"]) == 2
    assert "iaenet calibrate" in capsys.readouterr().err
    assert main(["calibrate", str(run), "--level", "0.8"]) == 0
    text = capsys.readouterr().out
    assert "never seen by the calibration" in text
    rows = json.loads((run / "calibration" / "coverage.json").read_text())["rows"]
    assert [row["on"] for row in rows] == ["16", "32", "64", "32 random points"]
    assert [row["seen"] for row in rows] == [False, True, False, False]
    assert all(0.65 < row["coverage"] < 0.97 for row in rows)
    for name in ("coverage.png", "bands.png"):
        assert (run / "calibration" / name).stat().st_size > 5_000
    data = load_dataset(run.parent / "waves.h5", split="test", resolution=32)
    given, _ = data[0]
    lines = torch.cat([given.discretization.points, given.values], dim=1).tolist()
    (tmp_path / "a.csv").write_text("\n".join(['x,"u(x, 0)"', *(f"{x},{a}" for x, a in lines)]) + "\n")
    command = [
        "predict",
        str(run),
        "--input",
        str(tmp_path / "a.csv"),
        "--output",
        str(tmp_path / "u.csv"),
        "--at",
        "50",
    ]
    assert main([*command, "--band", "0.8", "--picture", str(tmp_path / "u.png")]) == 0
    with open(tmp_path / "u.csv") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["x", "u(x, t)", "u(x, t)_lower", "u(x, t)_upper"]
    model = iaenet.load(run)
    found = iaenet.predict(model, given, at=50, band=0.8)
    assert float(table[7]["u(x, t)_upper"]) - float(table[7]["u(x, t)"]) == pytest.approx(
        float(found.bands[0].half_width.values[7]), rel=0.3
    )  # a file's points are a point set: with a discretization term
    assert main(["report", str(run)]) == 0
    assert "Bands at 80 %" in (run / "report.html").read_text()
    assert main([*command, "--band", "0.999"]) == 2
    assert "calibration samples" in capsys.readouterr().err


def test_a_model_trained_further_has_no_bands(run, tmp_path, capsys):
    other = tmp_path / "run"
    shutil.copytree(run, other)
    if not (other / "calibration.json").exists():
        assert main(["calibrate", str(other)]) == 0
    assert main(["train", "--resume", str(other), "--epochs", "6"]) == 0
    data = load_dataset(run.parent / "waves.h5", split="test", resolution=32)
    with pytest.raises(InvalidInputError, match="trained further"):
        iaenet.predict(iaenet.load(other), data[0][0], band=0.8)


def test_coverage_of_both_kinds(run):
    data = load_dataset(run.parent / "waves.h5")
    model = iaenet.load(run)
    calibration = calibrate(model, data.select(split="validation", resolution=32))
    held = data.select(split="test")
    points, function = (coverage(model, calibration, held, level=0.8, kind=kind) for kind in ("points", "function"))
    for narrow, wide in zip(points.rows, function.rows, strict=True):
        assert wide.half_width > narrow.half_width
        assert wide.functions > narrow.functions
        assert wide.functions > 0.6
