"""Time from end to end: import of trajectories, splits, training several steps ahead, roll-outs, their errors."""

import json
from itertools import pairwise

import h5py
import numpy as np
import pytest
import torch
import xarray
import yaml

from iaenet import Discretization, Field, Sample, fit, load, load_dataset, write_dataset
from iaenet.cli.main import main
from iaenet.data.generate import generate
from iaenet.data.import_files import import_data
from iaenet.data.problems.kuramoto_sivashinsky import KuramotoSivashinsky
from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError
from iaenet.evaluation.rollout_errors import evaluate_rollout
from iaenet.functions.metrics import relative_l2
from iaenet.functions.resample import random_indices, restrict
from iaenet.models.base import Model
from iaenet.models.iae_net import IAENet
from iaenet.models.rollout import rollout
from iaenet.training.batches import Samples
from iaenet.training.config import TrainConfig
from iaenet.training.losses import losses_of
from iaenet.training.unrolled import unrolled

DECAY = 0.9
GRID = Discretization.uniform(16, periodic=True)
CHANNELS = {"inputs": [Channel("u")], "outputs": [Channel("u")]}


class Scale(Model):
    """`u -> factor u`, the exact step of the trajectories below for a factor of 0.9."""

    def __init__(self, factor: float = DECAY) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(factor))

    def transform(self, values, source, target):
        return self.factor * values[..., :1]


def states(runs=6, times=9):
    """`u_j(x, i) = 0.9^i sin(2 pi x + j)`: an array (runs, times, points)."""
    x = np.arange(16) / 16
    first = np.sin(2 * np.pi * x + np.arange(runs)[:, None])
    return DECAY ** np.arange(times)[None, :, None] * first[:, None]


def write(path, **more):
    """The trajectories as a data file: four to train, one to validate, one to test."""
    runs = [[Field(GRID, torch.tensor(u)[:, None].float()) for u in run] for run in states()]
    pairs = [(a, u) for run in runs for a, u in pairwise(run)]
    splits = [name for name in ["train"] * 4 + ["validation", "test"] for _ in range(8)]
    records = [j for j in range(6) for _ in range(8)]
    write_dataset(path, pairs, splits=splits, records=records, parameters={"time_step": 0.5}, **CHANNELS, **more)


@pytest.fixture
def file(tmp_path):
    write(tmp_path / "decay.h5")
    return tmp_path / "decay.h5"


# ------------------------------------------------------------------ import


def stored(folder, kind, u, t):
    path = folder / f"runs.{kind}"
    if kind == "npz":
        np.savez(path, u=u, t=t)
    elif kind == "h5":
        with h5py.File(path, "w") as opened:
            opened["u"], opened["t"] = u, t
    else:
        dims = ("run", "t", "x")[-u.ndim :]
        xarray.Dataset({"u": (dims, u)}, {"t": t, "x": np.arange(16) / 16}).to_netcdf(path, engine="h5netcdf")
    return path


FORMATS = {"npz": ("npz", {}), "h5": ("hdf5", {}), "nc": ("netcdf", {"coordinates": "x", "sample": "run"})}


@pytest.mark.parametrize("kind", FORMATS)
def test_an_axis_of_time_becomes_consecutive_pairs(tmp_path, kind):
    name, options = FORMATS[kind]
    source = stored(tmp_path, kind, states(), 0.5 * np.arange(9))
    given = {"inputs": "u", "outputs": "u", "time": "t", "periodic": True, "bounds": [[0, 1]], **options}
    import_data(name, str(source), str(tmp_path / "a.h5"), train=4, validation=1, test=1, precision="float64", **given)
    data = load_dataset(tmp_path / "a.h5")
    assert (data.samples, data.parameters["time_step"]) == (48, 0.5)
    assert data.splits == {"train": 32, "validation": 8, "test": 8}
    assert [len(one) for one in data.trajectories] == [8] * 6
    for run, chain in enumerate(data.trajectories):
        assert len({data.entry(i).split for i in chain}) == 1
        for step, i in enumerate(chain):
            given, wanted = data[i]
            np.testing.assert_allclose(given.values[:, 0], states()[run, step], atol=1e-14)
            np.testing.assert_allclose(wanted.values[:, 0], states()[run, step + 1], atol=1e-14)


def test_the_axis_may_be_anywhere_and_be_given_by_number(tmp_path):
    np.savez(tmp_path / "runs.npz", u=np.moveaxis(states(), 1, 2))  # (runs, points, times)
    options = {"inputs": "u", "outputs": "u", "time": "2", "periodic": True, "precision": "float64", "seed": None}
    import_data("npz", str(tmp_path / "runs.npz"), str(tmp_path / "a.h5"), **options)
    data = load_dataset(tmp_path / "a.h5")
    np.testing.assert_allclose(data[9][1].values[:, 0], states()[1, 2], atol=1e-14)


@pytest.mark.parametrize("kind", FORMATS)
def test_one_trajectory_is_cut_so_that_no_state_is_in_two_splits(tmp_path, kind):
    name, options = FORMATS[kind]
    source = stored(tmp_path, kind, states(1, 100)[0], np.arange(100.0))
    options = {key: value for key, value in options.items() if key != "sample"}
    given = {"inputs": "u", "outputs": "u", "time": "t", "periodic": True, **options}
    import_data(name, str(source), str(tmp_path / "a.h5"), precision="float64", **given)
    data = load_dataset(tmp_path / "a.h5")
    lengths = [len(one) for one in data.trajectories]
    assert lengths[:-1] == [9] * (len(lengths) - 1)
    assert set(data.splits) == {"train", "validation", "test"}
    homes = {}
    for i in range(len(data)):
        for field in data[i]:
            homes.setdefault(field.values.numpy().tobytes(), set()).add(data.entry(i).record)
    assert all(len(records) == 1 for records in homes.values())
    import_data(name, str(source), str(tmp_path / "b.h5"), segment=4, **given)
    assert {len(one) for one in load_dataset(tmp_path / "b.h5").trajectories} == {4}


def test_a_folder_of_trajectories_with_a_coefficient(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    x = np.arange(16) / 16
    for j, run in enumerate(states(5, 3 + 2)):
        variables = {"u": (("t", "x"), run), "a": (("x",), np.full(16, float(j)))}
        xarray.Dataset(variables, {"t": np.arange(5), "x": x}).to_netcdf(folder / f"{j}.nc", engine="h5netcdf")
    options = {"inputs": "u,a", "outputs": "u", "coordinates": "x", "time": "t", "periodic": True, "seed": None}
    import_data("netcdf", str(folder), str(tmp_path / "a.h5"), precision="float64", **options)
    data = load_dataset(tmp_path / "a.h5")
    assert [len(one) for one in data.trajectories] == [4] * 5
    given, wanted = data[5]  # run 1, second step
    np.testing.assert_allclose(given.values[:, 0], states(5, 5)[1, 1], atol=1e-14)
    assert given.values[:, 1].tolist() == [1.0] * 16
    assert wanted.channels == 1
    row = evaluate_rollout(Scale().double(), data.select(split="test"))[0]
    assert np.array(row.errors).max() < 1e-6  # the coefficient stays as it is


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": "s"}, "no array 's'"),
        ({"time": "7"}, "no axis 7 of time"),
        ({"time": "uneven"}, "equal steps"),
        ({"time": "short"}, "give the number"),
        ({"time": "t", "segment": 0}, "segment must be at least 1"),
    ],
)
def test_times_that_cannot_be(tmp_path, change, message):
    times = {"t": np.arange(9.0), "uneven": np.arange(9.0) ** 2, "short": np.arange(4.0)}
    np.savez(tmp_path / "runs.npz", u=states(), **times)
    with pytest.raises(InvalidInputError, match=message):
        import_data("npz", str(tmp_path / "runs.npz"), str(tmp_path / "a.h5"), inputs="u", outputs="u", **change)


def test_generated_trajectories_stay_in_one_split(tmp_path):
    problem = KuramotoSivashinsky(steps=5, start=5.0, length=22.0, fine=48)
    generate(problem, tmp_path / "a.h5", 30, [16, 32], splits=(20, 5, 5))
    data = load_dataset(tmp_path / "a.h5")
    assert [len(one) for one in data.trajectories] == [5] * 12  # six records at two resolutions
    assert all(len({data.entry(i).split for i in one}) == 1 for one in data.trajectories)
    assert not load_dataset(tmp_path / "a.h5")[:1].trajectories[0][1:]


# ------------------------------------------------------------------ roll-outs


def test_a_roll_out_is_the_model_applied_again_and_again():
    field = Field(GRID, torch.rand(3, 16, 2))
    found = rollout(Scale(0.5), field, 4)
    assert len(found) == 4
    for k, state in enumerate(found):
        torch.testing.assert_close(state.values, 0.5 ** (k + 1) * field.values[..., :1])
    several = rollout(Scale(0.5), [field, Field(Discretization.uniform(5), torch.ones(5, 1))], 2)
    assert [tuple(state.values.shape) for state in several[1]] == [(3, 16, 1), (5, 1)]
    with pytest.raises(InvalidInputError, match="at least 1 step"):
        rollout(Scale(), field, 0)
    with pytest.raises(InvalidInputError, match="step 2 of the roll-out: the model's output"):
        rollout(Scale(1e30), Field(GRID, torch.full((16, 1), 1e8)), 3)


def test_a_state_that_is_no_next_input_is_refused():
    class Twice(Model):
        def transform(self, values, source, target):
            return torch.cat([values, values], dim=-1)

    with pytest.raises(InvalidInputError, match="is no next input"):
        rollout(Twice(), Field(GRID, torch.ones(16, 1)), 2)


@pytest.mark.parametrize(("dim", "sizes", "bound"), [(1, 64, 1e-4), (2, 24, 3e-3)])
def test_a_roll_out_on_random_points_agrees_with_that_on_a_grid(dim, sizes, bound):
    """Smooth functions of few harmonics, a network of any weights, and two thirds of the points."""
    torch.manual_seed(1)
    grid = Discretization.uniform((sizes,) * dim, periodic=True)
    model = IAENet(1, 1, dim, periodic=True, grid=12, width=8, blocks=1).eval()
    start = Field(grid, torch.sin(2 * torch.pi * grid.points).sum(1, keepdim=True).float())
    indices = random_indices(grid, 2 * grid.n // 3, torch.Generator().manual_seed(0))
    scattered = restrict(start, indices)
    for on_grid, on_points in zip(rollout(model, start, 5), rollout(model, scattered, 5), strict=True):
        assert float(relative_l2(on_points, restrict(on_grid, indices, scattered.discretization))) < bound


def test_errors_along_trajectories(file):
    test = load_dataset(file, split="test")
    exact, wrong = (evaluate_rollout(Scale(factor), test, random_points=8) for factor in (DECAY, 0.8))
    assert [row.on for row in exact] == ["16", "8 random points"]
    for row in exact:
        assert np.array(row.errors).max() < 1e-6
    for row in wrong:
        expected = np.abs(1 - (0.8 / DECAY) ** np.arange(1, 9))
        np.testing.assert_allclose(row.mean, expected, rtol=1e-5)
        np.testing.assert_allclose(row.still, DECAY ** -np.arange(1.0, 9.0) - 1, rtol=1e-5)
    assert len(evaluate_rollout(Scale(), test, 3)[0].errors) == 3
    with pytest.raises(InvalidInputError, match="have 8"):
        evaluate_rollout(Scale(), test, 9)


def test_samples_that_do_not_follow_one_another_are_refused(tmp_path):
    pairs = [(Field(GRID, torch.rand(16, 1)), Field(GRID, torch.rand(16, 1))) for _ in range(4)]
    write_dataset(tmp_path / "a.h5", pairs, records=[0] * 4, parameters={"time_step": 1.0}, **CHANNELS)
    with pytest.raises(InvalidInputError, match="do not follow one another"):
        evaluate_rollout(Scale(), load_dataset(tmp_path / "a.h5"))
    write_dataset(tmp_path / "b.h5", pairs, **CHANNELS)
    with pytest.raises(InvalidInputError, match="no trajectories"):
        evaluate_rollout(Scale(), load_dataset(tmp_path / "b.h5"))


# ------------------------------------------------------------------ training


def test_losses_along_a_trajectory(file):
    """`L(Psi^k u, u_k) = |1 - (f / 0.9)^k|`, and the gradient that each kind lets through."""
    samples = Samples(load_dataset(file, split="train"))
    chains = samples.chains([0, 6, 7], 3)
    assert sorted((len(given.values), len(wanted)) for given, wanted in chains) == [(1, 1), (1, 2), (1, 3)]
    ratio = 0.8 / DECAY
    errors = [1 - ratio, 1 - ratio**2, 1 - ratio**3]
    model = Scale(0.8)
    for push, wanted in (
        (False, [errors[0], sum(errors[:2]) / 2, sum(errors) / 3]),
        (True, [errors[0], sum(errors[:2]) / 2, (errors[0] + errors[2]) / 2]),
    ):
        config = TrainConfig().but(augment={"steps": 3, "push_forward": push})
        found = unrolled(model, chains, config, torch.Generator())
        assert sorted(found.tolist()) == pytest.approx(sorted(wanted), rel=1e-5)
        (gradient,) = torch.autograd.grad(found.max(), model.factor)
        # d/df of (e_1 + e_2 + e_3) / 3, or of (e_1 + e_3) / 2 with the input of the third step held
        full = -(1 + 2 * ratio + 3 * ratio**2) / DECAY / 3
        held = -(1 + ratio**2) / DECAY / 2
        assert float(gradient) == pytest.approx(held if push else full, rel=1e-4)


def test_one_step_is_the_plain_loss(file):
    samples = Samples(load_dataset(file, split="train"))
    plain = losses_of(Scale(0.8), samples, [0, 5], TrainConfig(), torch.Generator())
    chained = unrolled(Scale(0.8), samples.chains([0, 5], 1), TrainConfig(), torch.Generator())
    torch.testing.assert_close(plain, chained)
    noisy = losses_of(Scale(0.8), samples, [0, 5], TrainConfig().but(augment={"noise": 0.1}), torch.Generator())
    assert not torch.allclose(plain, noisy)


@pytest.mark.parametrize("augment", [{"steps": 3}, {"steps": 3, "push_forward": True, "noise": 0.01}])
def test_training_several_steps_ahead_learns_the_step(file, augment):
    model = fit(Scale(0.7), file, epochs=10, batch_size=4, augment=augment, optimizer={"lr": 0.05}, threads=1)
    start = load_dataset(file, split="test")[0][0]
    truth = [Field(GRID, DECAY ** (k + 1) * start.values) for k in range(8)]
    assert float(relative_l2(model.rollout(start, 8)[-1], truth[-1])) < 0.1


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        ({"steps": 0}, "augment.steps must be positive"),
        ({"push_forward": True}, "augment.steps of 2 or more"),
        ({"steps": 2, "symmetries": ["shift"]}, "noise alone"),
        ({"noise": -1.0}, "augment.noise must not be negative"),
    ],
)
def test_options_that_cannot_be(augment, message):
    with pytest.raises(InvalidInputError, match=message):
        TrainConfig().but(augment=augment)


def test_steps_need_trajectories():
    pairs = [(Field(GRID, torch.rand(16, 1)),) * 2 for _ in range(12)]
    with pytest.raises(InvalidInputError, match="no sample follows another"):
        fit("fno", pairs, augment={"steps": 2}, epochs=1)


# ------------------------------------------------------------------ the command line


def test_train_evaluate_predict_report(tmp_path, monkeypatch, capsys, file):
    monkeypatch.chdir(tmp_path)
    network = {"name": "fno", "width": 4, "modes": 4, "layers": 1}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({"model": network, "epochs": 2, "augment": {"steps": 2}}))
    assert main(["train", "--config", "run.yaml", "--data", str(file), "--run", "run", "--threads", "1"]) == 0
    assert main(["evaluate", "run", "--samples", "0"]) == 0
    assert "mean of 1 trajectories" in capsys.readouterr().out
    found = json.loads((tmp_path / "run/evaluation/evaluation.json").read_text())["rollout"][0]
    assert (found["on"], len(found["mean"]), found["time_step"]) == ("16", 8, 0.5)
    assert (tmp_path / "run/evaluation/rollout.png").is_file()
    assert main(["evaluate", "run", "--steps", "0", "--samples", "0", "--out", "other"]) == 0
    assert "rollout" not in json.loads((tmp_path / "other/evaluation.json").read_text())
    assert main(["report", "run"]) == 0
    assert "Errors of the roll-out" in next(tmp_path.glob("**/*.html")).read_text()
    np.savez(tmp_path / "state.npz", u=states(2, 1)[:, 0].astype("float32"))
    assert main(["predict", "run", "--input", "state.npz", "--output", "later.npz", "--steps", "3"]) == 0
    assert np.load(tmp_path / "later.npz")["u"].shape == (6, 16)
    assert main(["predict", "run", "--input", "state.npz", "--output", "states", "--steps", "3"]) == 0
    assert len(list((tmp_path / "states").iterdir())) == 6
    assert main(["predict", "run", "--input", "state.npz", "--output", "b.npz", "--steps", "0"]) == 2
    assert "at least 1 step" in capsys.readouterr().err


def test_the_length_of_a_step_as_a_number(tmp_path, monkeypatch):
    """`u(t + T) = exp(-T) u(t)` for any T, a scalar of the sample: by command, and in roll-outs, where T stays."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    before = np.sin(2 * np.pi * np.arange(16) / 16 + rng.uniform(0, 6, size=(60, 1)))
    dt = rng.uniform(0.1, 1.5, size=60)
    np.savez("steps.npz", u=before, dt=dt, later=np.exp(-dt)[:, None] * before)
    reading = ["--import.inputs", "{state: u}", "--import.scalars", "dt", "--import.outputs", "later"]
    network = ["--model.width", "16", "--model.blocks", "1", "--epochs", "25", "--batch_size", "5", "--threads", "1"]
    train = ["train", "--data", "steps.npz", *reading, "--import.periodic", "true", "--run", "run"]
    assert main([*train, *network]) == 0
    np.savez("new.npz", u=before[[0, 0]], dt=[0.2, 1.0])
    files = ["--input", "new.npz", "--output", "after.npz"]
    assert main(["predict", "run", *files, "--steps", "3", "--derivatives", "gradient"]) == 0
    found = np.load("after.npz")
    assert found["later"].shape == found["later_x"].shape == (6, 16)
    model = load("run")
    for row, length in enumerate((0.2, 1.0)):
        state = Field(GRID, torch.from_numpy(before[0])[:, None].float())
        for step in range(3):
            state = model.predict(Sample({"state": state}, {"dt": length}))
            assert np.allclose(found["later"][3 * row + step], state.numpy()[:, 0], atol=1e-5)
    short, long = (np.linalg.norm(found["later"][k]) / np.linalg.norm(before[0]) for k in (2, 5))
    assert abs(short - np.exp(-0.6)) < 0.1
    assert abs(long - np.exp(-3.0)) < 0.1
