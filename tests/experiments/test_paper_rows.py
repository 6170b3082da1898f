"""The rows of the preset `paper` against the paper: what each network has, and how it is trained."""

import pytest
import torch

from iaenet import Discretization, Field
from iaenet.experiments.plan import jobs
from iaenet.experiments.row import ideas_of
from iaenet.experiments.table import OURS, PUBLISHED, load_table, table_names
from iaenet.models.registry import build
from iaenet.nn.published_block import DenseSkips, NoSkips, ResidualSkips
from iaenet.nn.published_iae import FourierIAE, PublishedIAE

# Section training_details: L = 4 blocks, w = 64, m = 256 (64 x 64 in 2-D), two branches, dense skips, kernels that see
# the function, a pointwise MLP after each integral, phi_0 of two hidden layers and kernels of one, G, and
# augmentation by default.
FULL = {
    "skips": "dense",
    "branches": ("original", "fourier"),
    "blocks": 4,
    "G": True,
    "augmented": True,
    "nonlinear": True,
    "mlp": True,
    "hidden": (2, 1),
    "width": 64,
}
NO_SKIP, RESNET, NO_DA = {"skips": "none"}, {"skips": "residual"}, {"augmented": False}
VISCOSITIES = {f"burgers{name}": {"IAE-Net": {}} for name in ("001", "01", "1", "10")}
SKIPS = {"IAE-Net (No Skip)": NO_SKIP, "IAE-Net (ResNet)": RESNET, "IAE-Net": {}}
# What the paper says of each row of each table, beside the above. burgersnonuniform: "trained with randomly subsampled
# sorted points of sizes 256 .. 4096"; scatteringmixed: "training is done without resizing the data".
PAPER = {
    **VISCOSITIES,
    "burgersbenchmark": {"IAE-Net (No DA)": NO_DA, **SKIPS},
    "burgersinviscid": SKIPS,
    "burgersnonuniform": {"IAE-Net": NO_DA},
    "burgersdeep": {"IAE-Net (Deep)": {"blocks": 1, "hidden": (4, 4)}, "IAE-Net": {}},
    "burgersparallel": {
        "IAE-Net (Original)": {"branches": ("original",)},
        "IAE-Net (Fourier)": {"branches": ("fourier",)},
        "IAE-Net": {},
    },
    "transformerarchitecture": {"IAE-Net (No MLP)": {"mlp": False}, "IAE-Net": {}},
    "linear": {"IAE-Net (Linear)": {"nonlinear": False}, "IAE-Net": {}},
    "postpro": {"IAE-Net (w/o G)": {"G": False}, "IAE-Net": {}},
    "numblocks": {f"{n} block{'s' if n > 1 else ''}": {"blocks": n} for n in range(1, 6)},
    "darcybenchmark": SKIPS,
    "darcytriangular": {"IAE-Net": {}},
    "scatteringbenchmarkforward": SKIPS,
    "scatteringbenchmarkinverse": SKIPS,
    "scatteringda_forward": {"IAE-Net": {}},
    "scatteringda_inverse": {"IAE-Net": {}},
    "scatteringmixed": {"IAE-Net (Sequential)": NO_DA, **{row: {**has, **NO_DA} for row, has in SKIPS.items()}},
    "ellipsesbenchmark": {"IAE-Net": {}},
    "fecgsyndb": SKIPS,
    "modelevaluationtimes": {"IAE-Net (No DA)": NO_DA, **SKIPS},
}
PROBLEMS_2D = ("darcy", "darcy-notch", "scattering", "ct-ellipses")
KINDS = {"dense": DenseSkips, "residual": ResidualSkips, "none": NoSkips}
BRANCHES = {"original": PublishedIAE, "fourier": FourierIAE}


PAPERS_TABLES = [name for name in table_names() if name in PAPER]


def built(job, dim, device="meta"):
    grid = Discretization.uniform((8,) * dim)
    pair = Field(grid, torch.zeros(grid.n, 1)), Field(grid, torch.zeros(grid.n, 1))
    options = {key: value for key, value in job.training.model.items() if key != "name"}
    with torch.device(device):
        return build(job.training.model["name"], [pair], **options)


def hidden_layers(part):
    """Of an FNN, counted as matrices."""
    return sum(isinstance(layer, torch.nn.Linear) for layer in part.modules()) - 1


@pytest.mark.parametrize("name", PAPERS_TABLES)
def test_rows_of_the_paper_are_the_published_form_with_its_options(name):
    table = load_table(name)
    planned = {job.row: job for job in jobs(table, "paper")}
    rows = {row for row in planned if planned[row].training.model["name"] == "published"}
    assert rows == set(PAPER[name])
    assert planned[OURS].training.model["name"] == "iaenet"
    dim = 2 if table.problem in PROBLEMS_2D else 1
    for row, differs in PAPER[name].items():
        wanted = {**FULL, **differs}
        network, config = built(planned[row], dim), planned[row].training.made(1e-3, epochs=500)
        kinds = tuple(type(branch) for branch in network.blocks[0].branches)
        assert kinds == tuple(BRANCHES[one] for one in wanted["branches"]), row
        assert type(network.skips) is KINDS[wanted["skips"]], row
        assert len(network.blocks) == wanted["blocks"], row
        assert bool(len(network.post)) == wanted["G"], row
        assert network.lift.out_features == wanted["width"], row
        for branch in (branch for block in network.blocks for branch in block.branches):
            assert branch.latent == ((256,) if dim == 1 else (64, 64)), row
            assert (branch.encoded.mlp is not None) == (branch.decoded.mlp is not None) == wanted["mlp"], row
            kernels = {hidden_layers(part.kernel) for part in (*branch.encoders, *branch.decoders)}
            assert (hidden_layers(branch.phi_0), *kernels) == wanted["hidden"], row
        assert ideas_of(network, config) == {
            "data-driven kernels": True,
            "nonlinear kernels": wanted["nonlinear"],
            "original + Fourier channels": len(wanted["branches"]) == 2,
            "dense skips": wanted["skips"] == "dense",
            "post-processing G": wanted["G"],
            "augmentation": wanted["augmented"],
        }, row
        augment = config.augment
        assert (augment.weight, bool(augment.sizes)) == ((1.0, True) if wanted["augmented"] else (0.0, False)), row
        assert augment.draw == "all"
        assert (config.optimizer.name, config.schedule.name, config.schedule.patience) == ("adam", "plateau", 20)
        assert config.batch_size == (50 if dim == 1 else 5), row


def test_sequential_rows_take_ten_epochs_of_each_resolution():
    job = next(job for job in jobs(load_table("scatteringmixed"), "paper") if job.row == "IAE-Net (Sequential)")
    config = job.training.made(1e-3, epochs=500)
    assert (config.sampling, config.epochs_per_resolution) == ("sequential", 10)


@pytest.mark.parametrize("preset", ["smoke", "cpu"])
def test_every_table_has_the_published_form_and_ours_in_every_preset(preset):
    for table in map(load_table, PAPERS_TABLES):
        names = {job.row: job.training.model["name"] for job in jobs(table, preset)}
        assert names[OURS] == "iaenet"
        assert names[table.paper.reference] == "published"
        ours = {row for row, model in names.items() if model == "iaenet"}
        assert all(row.startswith(("IAE-Net (ours)", "IAE-Net (ours, ")) for row in ours)
        published = {row for row, model in names.items() if model == "published" and table.rows[row].steps_of is None}
        assert set(PAPER[table.name]) >= {row for row in published if not row.endswith(", Adam")}
        assert all(table.rows[row].trials == 0 for row in names)  # nothing was fitted by hand


def test_ours_has_no_settings():
    for table in (load_table(name) for name in table_names()):
        planned = {job.row: job.training for job in jobs(table, "cpu")} if table.rows else {}
        if OURS in planned:
            assert planned[OURS].model == {"name": "iaenet"}
            assert table.kind == "times" or planned[OURS].rates == (0.0,)


def test_augmentation_alone_differs_where_the_paper_has_both():
    for preset in ("cpu", "paper"):
        planned = {job.row: job.training for job in jobs(load_table("burgersbenchmark"), preset)}
        with_it, without = planned[PUBLISHED], planned["IAE-Net (No DA)"]
        assert with_it.model == without.model
        config = {key: value for key, value in with_it.config["augment"].items() if key not in ("weight", "sizes")}
        assert {**with_it.config, "augment": config} == {"augment": {}, **without.config}
        assert (with_it.data, with_it.budget, with_it.rates) == (without.data, without.budget, without.rates)


def test_all_rows_of_a_table_have_the_same_optimizer():
    for preset in ("smoke", "cpu", "paper"):
        for table in (load_table(name) for name in table_names()):
            if table.rows and (preset != "paper" or table.name in PAPER):
                says_so = [name for name, row in table.rows.items() if "optimizer" in row.config]
                found = {
                    job.training.made(1e-3, epochs=1).optimizer for job in jobs(table, preset) if job.row not in says_so
                }
                assert len(found) == 1
                assert next(iter(found)).convolutions
                assert all("Adam" in name or "Adam" in table.rows[name].note for name in says_so)


def test_fno_has_its_published_band_in_periods_and_a_wider_one():
    for table in map(load_table, PAPERS_TABLES):
        planned = {job.row: job.training.model for job in jobs(table, "cpu")} if table.kind == "errors" else {}
        if "FNO" not in planned:
            continue
        dim = 2 if table.problem in PROBLEMS_2D else 1
        periodic = table.problem == "burgers" or (table.problem == "scattering" and "closed" not in table.parameters)
        highest = {1: 15, 2: 11}[dim]  # k = 0 .. 15, and 0 .. 11 in 2-D
        options = planned["FNO"]
        assert options["preset"] == "paper"
        assert options.get("modes", highest) == highest * (1 if periodic else 2)
        assert planned["FNO, wide band"]["modes"] > options.get("modes", highest)
