"""The certificate: maps between functions pass; what depends on grids, order or batch fails, on the right lines."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import iaenet
from iaenet import Discretization, Field, IAENet, InvalidInputError, load_dataset, write_dataset
from iaenet.cli.main import main
from iaenet.data.generate import generate
from iaenet.data.problems.burgers import Burgers
from iaenet.data.problems.problem import Channel
from iaenet.evaluation.certificate import Thresholds, fitted_order
from iaenet.evaluation.certify import certify
from iaenet.evaluation.resolution_study import study_cases
from iaenet.functions.resample import common_points, random_subset
from iaenet.reports.result_plots import draw_certificate
from tests.sizes import sizes
from tests.waves import Gridded, Ordered, Sociable, Turn, Unweighted, Waves

CHANNELS = {"inputs": [Channel("a")], "outputs": [Channel("u")]}


@pytest.fixture(scope="module")
def unseen(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "waves.h5"
    generate(Waves(), path, 12, [32, 64, 128, 256], splits=(2, 2, 8))
    return load_dataset(path, split="test")


@pytest.fixture(scope="module")
def burgers(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "burgers.h5"
    generate(Burgers(), path, 8, [64, 128, 256, 1024], splits=(2, 2, 4))
    return load_dataset(path, split="test")


def failed(certificate):
    """Which tests failed, on what."""
    return {(line.test, line.on) for line in certificate.lines if line.passed is False}


def small(d=1, periodic=True):
    torch.manual_seed(0)
    return IAENet(1, 1, d, periodic, **sizes(blocks=2, modes=6, post=4, dim=d))


# ------------------------------------------------------------------ verdicts


@pytest.mark.parametrize("resolution", [None, 64, 128])
def test_an_operator_passes(unseen, resolution):
    certificate = certify(Turn(0.95), unseen, training_resolution=resolution)
    assert certificate.passed, certificate.table()
    assert certificate.error == pytest.approx(0.05, rel=1e-3)
    assert certificate.reference == "256"
    assert {line.test for line in certificate.lines} == {
        "mismatch",
        "order",
        "error ratio",
        "refined half",
        "permuted points",
        "ragged batch",
    }


def test_sums_without_weights_fail_on_every_grid(unseen):
    certificate = certify(Unweighted(0.95), unseen, training_resolution=64)
    assert certificate.verdict == "failed"
    grids = {("mismatch", "64"), ("mismatch", "128"), ("error ratio", "128"), ("error ratio", "256")}
    assert grids < failed(certificate)
    ratio = {line.on: line.value for line in certificate.lines if line.test == "error ratio"}
    # 4 times too many points at 256: |0.95 * 4 - 1| = 2.8 instead of 0.05
    assert ratio["256"] == pytest.approx(2.8 / 0.05, rel=1e-3)
    assert certificate.worst.on == "256"


def test_a_model_that_counts_points_fails_where_they_are_no_grid(unseen):
    lines = failed(certify(Ordered(0.95), unseen, training_resolution=64))
    random = "64 random points"
    points = {("permuted points", "64, as points"), ("refined half", "64")}
    assert lines == {("mismatch", random), ("error ratio", random)} | points


def test_a_model_that_looks_at_batch_mates_fails_in_ragged_batches_only(unseen):
    lines = failed(certify(Sociable(0.95), unseen, training_resolution=64))
    assert {test for test, _ in lines} == {"ragged batch"}


def test_what_a_model_refuses_fails_with_the_reason(unseen):
    certificate = certify(Gridded(0.95), unseen, training_resolution=64)
    assert failed(certificate) == {("mismatch", "64 random points"), ("permuted points", "64, as points")}
    assert {line.note for line in certificate.lines if line.passed is False} == {"grids only, please"}
    assert certificate.worst.on == "64 random points"

    def only_64(field, at=None):
        if any(f.discretization.n != 64 for f in ([field] if isinstance(field, Field) else field)):
            raise InvalidInputError("64 sensors only")
        return Turn(0.95)(field, at)

    certificate = certify(only_64, unseen, training_resolution=64)
    assert {("mismatch", str(s)) for s in (32, 128, 256)} <= failed(certificate)
    assert "64 sensors only" in certificate.table()

    def nothing(field, at=None):
        raise InvalidInputError("not today")

    assert certify(nothing, unseen).verdict == "failed"
    json.loads(certify(nothing, unseen).to_json())
    assert draw_certificate(certify(nothing, unseen)).axes


def test_coarser_grids_than_the_training_grid_are_shown_only(unseen):
    def blind_below_64(field, at=None):
        fields = [field] if isinstance(field, Field) else list(field)
        found = Turn(0.95)(fields, None if at is None else [at] if isinstance(field, Field) else at)
        for one, f in zip(found, fields, strict=True):
            one.values = one.values * (0.1 if f.discretization.n < 64 else 1.0)
        return found[0] if isinstance(field, Field) else found

    known = certify(blind_below_64, unseen, training_resolution=64)
    assert known.passed, known.table()
    spared = {line.on: line.note for line in known.lines if line.passed is None}
    assert spared == {"32": "coarser than the training grid"}
    assert ("mismatch", "32") in failed(certify(blind_below_64, unseen))


def test_nothing_is_certified_that_was_not_seen(unseen):
    """Trained on a finer grid than any in the data: coarser ones are shown, and there is nothing to judge by."""
    certificate = certify(Turn(0.95), unseen, resolutions=[32, 64], training_resolution=512)
    assert (certificate.verdict, certificate.passed) == ("not shown", False)
    assert {line.test for line in certificate.lines if line.passed} == {
        "refined half",
        "permuted points",
        "ragged batch",
    }


def test_the_default_layers_pass_and_the_published_form_fails_on_the_same_data(burgers):
    """Untrained: invariance is a property of the layers."""
    for seed in range(2):
        torch.manual_seed(seed)
        ours = certify(IAENet.from_preset("small", in_channels=1, out_channels=1, periodic=True), burgers, **AT_128)
        assert ours.passed, ours.table()
        assert max(line.value for line in ours.lines if line.test == "mismatch" and not line.random) < 1e-3
        torch.manual_seed(seed)
        published = certify(IAENet.from_preset("published", in_channels=1, out_channels=1), burgers, **AT_128)
        assert not published.passed
        assert {("mismatch", "128"), ("mismatch", "256")} < failed(published)
        assert min(line.value for line in published.lines if line.test == "mismatch" and line.value) > 0.02


AT_128 = {"training_resolution": 128, "samples": 4}


@pytest.mark.slow
def test_the_same_after_training_on_one_grid(tmp_path):
    generate(Burgers(), tmp_path / "a.h5", 240, [64, 128, 256, 1024], splits=(200, 20, 20))
    unseen = load_dataset(tmp_path / "a.h5", split="test")
    verdicts = {}
    for name, epochs in (("iaenet", 15), ("published", 6)):
        model = iaenet.fit(name, tmp_path / "a.h5", resolution=128, epochs=epochs, threads=1)
        certificate = certify(model, unseen, training_resolution=128)
        print(certificate.table())
        verdicts[name] = certificate.verdict
        assert certificate.error < 0.5
    assert verdicts == {"iaenet": "passed", "published": "failed"}
    # Not only the points that it refuses. On uniform grids, where its plain means are the same, it may learn to agree.
    assert {("mismatch", "128 random points"), ("refined half", "128")} <= failed(certificate)


# ------------------------------------------------------------------ the resolutions


def test_one_resolution_is_halved_and_refined(tmp_path):
    generate(Waves(), tmp_path / "a.h5", 3, [64], splits=(0, 0, 3))
    certificate = certify(Turn(0.95), load_dataset(tmp_path / "a.h5"))
    assert [line.on for line in certificate.lines if line.test == "mismatch"] == [
        "32",
        "64",
        "128",
        "256",
        "64 random points",
    ]
    assert certificate.reference == "512"
    assert certificate.passed, certificate.table()
    assert ("mismatch", "64") in failed(certify(Unweighted(), load_dataset(tmp_path / "a.h5")))


def test_resolutions_of_ones_own(unseen):
    certificate = certify(Turn(0.95), unseen, resolutions=[128, 192, 512], training_resolution=128)
    assert [line.on for line in certificate.lines if line.test == "mismatch"][:2] == ["128", "192"]
    assert certificate.reference == "512"
    assert certificate.passed, certificate.table()


@pytest.mark.parametrize("periodic", [True, False])
def test_square(tmp_path, periodic):
    sizes = [32, 64, 128] if periodic else [33, 65, 129]
    generate(Waves(2, periodic), tmp_path / "a.h5", 4, sizes, splits=(0, 0, 4))
    unseen = load_dataset(tmp_path / "a.h5")
    certificate = certify(small(2, periodic), unseen, training_resolution=sizes[1])
    assert certificate.passed, certificate.table()
    assert certificate.order is None or certificate.order > 1
    assert draw_certificate(certificate).axes


def test_grids_of_a_closed_axis_agree(tmp_path):
    generate(Waves(periodic=False), tmp_path / "a.h5", 4, [65, 129, 257, 1025], splits=(0, 0, 4), precision="float64")
    certificate = certify(small(periodic=False).double(), load_dataset(tmp_path / "a.h5"))
    found = [line.value for line in certificate.lines if line.test == "mismatch" and line.on in ("65", "129", "257")]
    assert max(found) < 1e-5  # the projection's own error at the ends; there is no order in it


def test_grids_that_share_few_points_are_compared_where_both_are_asked(tmp_path):
    generate(Waves(), tmp_path / "a.h5", 3, [63, 101, 128], splits=(0, 0, 3))
    unseen = load_dataset(tmp_path / "a.h5")
    for model in (Turn(0.95), Gridded(0.95)):
        values = [
            line.value for line in certify(model, unseen).lines if line.test == "mismatch" and line.value is not None
        ]
        assert values[0] < 1e-3  # only the interpolation where a model has no other query points
        assert values[1] < 1e-3


def test_outputs_on_points_of_their_own(tmp_path):
    generate(Waves(query_points=True), tmp_path / "a.h5", 4, [32, 64, 128], splits=(0, 0, 4))
    certificate = certify(Turn(0.95), load_dataset(tmp_path / "a.h5"), training_resolution=64)
    assert certificate.passed, certificate.table()
    assert not certify(Unweighted(0.95), load_dataset(tmp_path / "a.h5"), training_resolution=64).passed


def test_points_that_are_no_grid(tmp_path):
    generate(Burgers(points="random"), tmp_path / "a.h5", 5, [64, 128, 512], splits=(0, 0, 5))
    certificate = certify(small(), load_dataset(tmp_path / "a.h5"), training_resolution=128)
    assert "9/10 of the points" in {line.on for line in certificate.lines}
    assert certificate.passed, certificate.table()
    # Each sample on its own points: nothing finer is known, so fewer points are shown, and one in ten left out judged.
    single = certify(small(), load_dataset(tmp_path / "a.h5", resolution=512))
    assert {line.passed for line in single.lines if "1/" in line.on} == {None}  # mismatch, error ratio and order
    assert single.passed, single.table()


def test_samples_on_different_grids(tmp_path):
    pairs = []
    for i, n in enumerate((64, 128, 64, 256)):
        at = Discretization.uniform(n, periodic=True)
        wave = torch.sin(2 * math.pi * at.points + i).float()
        pairs.append((Field(at, wave), Field(at, -torch.cos(2 * math.pi * at.points + i).float())))
    write_dataset(tmp_path / "a.h5", pairs, splits=["test"] * 4, **CHANNELS)
    certificate = certify(Turn(0.95), load_dataset(tmp_path / "a.h5"))
    assert certificate.home == "the given grids"
    assert certificate.passed, certificate.table()
    assert not certify(Unweighted(0.95), load_dataset(tmp_path / "a.h5")).passed


def test_mixed_splits_and_no_samples_are_refused(unseen):
    whole = load_dataset(unseen.path)
    with pytest.raises(InvalidInputError, match="one split at a time"):
        certify(Turn(), whole)
    with pytest.raises(InvalidInputError, match="samples must be at least 1"):
        certify(Turn(), unseen, samples=0)


def test_a_domain_that_is_no_box_keeps_its_size_when_points_are_left_out():
    corners = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]])
    triangle = Discretization.mesh(corners, [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])
    (some,) = random_subset([Field(triangle, triangle.points)], 4, torch.Generator().manual_seed(0))
    assert some.discretization.weights.sum().item() == pytest.approx(0.5)
    box = Discretization.points(np.random.default_rng(0).random((30, 2)))
    (some,) = random_subset([Field(box, box.points)], 10, torch.Generator().manual_seed(0))
    assert some.discretization.weights.sum().item() == pytest.approx(1.0)


def test_cases_are_the_same_functions(unseen):
    for resolutions in (None, [64, 512]):
        cases = study_cases(unseen, [0, 3], resolutions)
        finest = cases[-1]
        for case in cases:
            for one, fine in zip(case.given, finest.given, strict=True):
                here, there = common_points(one.discretization, fine.discretization)
                assert len(here) == one.discretization.n
                assert torch.allclose(one.values[here], fine.values[there], atol=1e-5)


# ------------------------------------------------------------------ numbers


@given(st.floats(0.3, 8.0), st.floats(1e-6, 10.0), st.integers(2, 5))
def test_the_order_is_found(p, C, count):
    sizes = [64 * 2**i for i in range(count)]
    finest = 2 * sizes[-1]
    found = fitted_order(sizes, [C * (s**-p - finest**-p) for s in sizes], finest)
    assert found == pytest.approx((p, C), rel=1e-3)


def test_limits_follow_the_error():
    limits = Thresholds()
    assert limits.mismatch_limit(0.01) == 0.005
    assert limits.mismatch_limit(1e-9) == limits.rounding
    assert limits.mismatch_limit(30.0) == limits.mismatch_limit(None) == 0.02
    assert limits.mismatch_limit(0.01, random=True) == 0.012
    # A mismatch at its limit that is independent of the error leads to an error ratio near its own limit.
    assert math.hypot(1, limits.mismatch_share) == pytest.approx(limits.error_ratio, rel=0.05)
    assert math.hypot(1, limits.random_share) == pytest.approx(limits.random_ratio, rel=0.05)


def test_own_limits(unseen):
    assert not certify(Turn(0.95), unseen, training_resolution=64, thresholds=Thresholds(random_mismatch=1e-3)).passed
    assert not certify(Turn(0.95), unseen, training_resolution=64, thresholds=Thresholds(rounding=1e-9)).passed


def test_the_same_text_twice(unseen):
    texts = [certify(Turn(0.95), unseen, training_resolution=64, seed=seed).to_json() for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    document = json.loads(texts[0])
    assert document["passed"] is True
    assert document["thresholds"]["error_ratio"] == 1.1
    assert {line["test"] for line in document["lines"]} >= {"mismatch", "order", "error ratio"}


# ------------------------------------------------------------------ the command


def test_the_command_writes_the_certificate(unseen, tmp_path, capsys):
    size = sizes(post=4)
    iaenet.fit({"name": "iaenet", **size}, unseen.path, tmp_path / "run", resolution=64, epochs=1, threads=1)
    assert main(["certify", str(tmp_path / "run"), "--samples", "3"]) == 0
    text = capsys.readouterr().out
    folder = tmp_path / "run" / "certificate"
    assert sorted(path.name for path in folder.iterdir()) == ["certificate.json", "certificate.png"]
    document = json.loads((folder / "certificate.json").read_text())
    assert document["samples"] == 3
    assert document["training"]["on"] == "64"
    assert [line["on"] for line in document["lines"] if line["passed"] is None] == ["32", "32"]
    assert document["verdict"].upper() in text
    assert "certificate.png" in text
    direct = certify(iaenet.load(tmp_path / "run"), unseen, training_resolution=64, samples=3)
    assert direct.to_json() == (folder / "certificate.json").read_text()
    assert direct.table() in text
    assert main(["certify", str(tmp_path / "run"), "--resolutions", "64,512", "--out", str(tmp_path / "other")]) == 0
    assert json.loads((tmp_path / "other" / "certificate.json").read_text())["reference"] == "512"


def test_the_command_certifies_somebody_elses_network(unseen, tmp_path, capsys, monkeypatch):
    (tmp_path / "theirs.py").write_text(
        "from tests.waves import Turn, Unweighted\n"
        "turn, sums, number = Turn(0.95), Unweighted(0.95), 3.0\n"
        "def single(field, at=None):\n    return turn(field, at) if hasattr(field, 'values') else None\n"
        "def broken(field, at=None):\n    raise RuntimeError('no such thing')\n"
    )
    monkeypatch.chdir(tmp_path)
    data = ["--data", str(unseen.path)]
    for name, verdict in (("turn", "passed"), ("single", "passed"), ("sums", "failed"), ("broken", "failed")):
        assert main(["certify", "--model", f"theirs:{name}", *data, "--out", name]) == 0
        document = json.loads((tmp_path / name / "certificate.json").read_text())
        assert document["verdict"] == verdict
    assert document["lines"][0]["note"] == "theirs:broken raised RuntimeError: no such thing"
    capsys.readouterr()
    mistakes = {
        "theirs:number": "not a callable",
        "theirs:nothing": "cannot be imported",
        "nowhere:a": "cannot be imported",
        "theirs": "module:callable",
    }
    for name, text in mistakes.items():
        assert main(["certify", "--model", name, *data]) == 2
        assert text in capsys.readouterr().err
    for arguments in ([], ["run", "--model", "theirs:turn"], ["--model", "theirs:turn"]):
        assert main(["certify", *arguments]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_old_name_of_an_option_is_answered_with_the_new_one(capsys, tmp_path):
    (tmp_path / "old.yaml").write_text("ladder: [64, 128]\n")
    for options in (["--ladder", "64,128"], ["--config", str(tmp_path / "old.yaml")]):
        assert main(["certify", "run", *options]) == 2
        assert "no option --ladder; it is called --resolutions" in capsys.readouterr().err
