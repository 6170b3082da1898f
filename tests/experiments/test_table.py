"""Descriptions of tables: what is refused, what is shared, and that those of this project are whole."""

import shutil

import pytest
import yaml

from iaenet.cli.main import main
from iaenet.errors import InvalidInputError
from iaenet.experiments.derived import IRREGULAR
from iaenet.experiments.plan import TEST_SEED, TRAINING_SEED, jobs
from iaenet.experiments.published_figures import published
from iaenet.experiments.run import chosen
from iaenet.experiments.table import PRESETS, TABLES, load_table, table_names
from iaenet.models.registry import model_class

DESCRIBED = [load_table(name) for name in table_names()]
MEASURED = [table for table in DESCRIBED if table.rows]
# As the paper names them; burgers1 and its kin are the tables behind the figure over viscosities.
EXPECTED = """burgersbenchmark burgersinviscid burgers001 burgers01 burgers1 burgers10 viscosity burgersnonuniform
darcybenchmark darcytriangular scatteringbenchmarkforward scatteringbenchmarkinverse scatteringmixed
scatteringda_forward scatteringda_inverse ellipsesbenchmark fecgsyndb numblocks burgersdeep burgersparallel
transformerarchitecture linear postpro modelevaluationtimes summary"""
# Tables that the paper does not have.
NAMES = ["geometry-plate", "geometry-airfoil", "geometry-bodies"]
OURS = [*NAMES, *(f"{name}-600" for name in NAMES), "aliasing", "aliasing-64"]
OURS += ["defaults-flow", "defaults-chaos", "defaults-heat", "parts-burgers", "parts-darcy", "parts-plate"]
OURS += ["defaults-allen-cahn", "defaults-advection-diffusion", "defaults-ground-state"]


@pytest.fixture
def folder(tmp_path):
    """A copy to spoil."""
    return shutil.copytree(TABLES, tmp_path / "tables")


def change(folder, name, edit):
    path = folder / f"{name}.yaml"
    content = yaml.safe_load(path.read_text())
    edit(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: t.update(colour="red"), "burgers1.yaml: no option 'colour'"),
        (lambda t: t["rows"]["FNO"].update(modle={}), "rows.FNO: no option 'modle'; did you mean model"),
        (lambda t: t.update(presets={"cpu": {"length": {"bugdet": 3.0}}}), "no option 'bugdet'; did you mean budget"),
        (lambda t: t.update(presets={"gpu": {}}), "presets: there is no key 'gpu'"),
        (lambda t: t.pop("title"), "the key 'title' is missing"),
        (lambda t: t["rows"]["FNO"].pop("model"), "the key 'model' is missing"),
        (lambda t: t.update(presets={"cpu": {"length": {"budget": "1e2"}}}), "budget must be a number"),
        (lambda t: t.update(presets={"cpu": {"samples": [10, 1]}}), "samples must be three"),
        (lambda t: t.update(presets={"cpu": {"home": 7}}), "home is 7"),
        (lambda t: t.update(kind="error"), "kind must be one of errors, times"),
        (lambda t: t.update(setting="burger"), "there is no .*burger.yaml"),
        (lambda t: t.update(rows=[]), "rows must be a mapping"),
    ],
)
def test_mistakes_are_named(folder, edit, message):
    change(folder, "burgers1", edit)
    with pytest.raises(InvalidInputError, match=message):
        load_table("burgers1", folder)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: t["rows"]["FNO"].update(config={"bacth": 3}), "bacth"),
        (lambda t: t["rows"]["FNO"].update(config={"optimizer": {"nmae": "adam"}}), "nmae"),
        (lambda t: t["rows"]["FNO"].update(model={"width": 3}), "row 'FNO': model needs a name"),
        (lambda t: t.update(parameters={"viscosty": 1.0}), "viscosty"),
        (lambda t: t.update(parameters={"viscosity": "1e-3"}), "problem burgers"),
        (lambda t: t.update(problem="burger"), "no problem 'burger'"),
        (lambda t: t["rows"]["FNO"].update(model={"name": "fno", "wdith": 3}), "wdith"),
        (lambda t: t["rows"]["FNO"].update(model={"name": "fnno"}), "no model 'fnno'"),
    ],
)
def test_mistakes_in_what_is_handed_on_are_named_by_the_command(folder, tmp_path, capsys, edit, message):
    change(folder, "burgers1", edit)
    code = main(["reproduce", "burgers1", "--preset", "smoke", "--folder", str(folder), "--out", str(tmp_path / "out")])
    words = capsys.readouterr().err
    (said,) = [line for line in words.splitlines() if line.startswith("iaenet: error: ")]  # beside lines of progress
    assert code == 2
    assert message in said


def test_unknown_tables_and_folders_are_named(folder, tmp_path, capsys):
    assert main(["reproduce", "burgers2", "--folder", str(folder)]) == 2
    assert "no table 'burgers2'; did you mean burgers1" in capsys.readouterr().err
    assert main(["reproduce", "heat"]) == 2
    assert "no table 'heat'; there are all, aliasing, aliasing-64, burgers001" in capsys.readouterr().err
    assert main(["reproduce"]) == 2
    assert "iaenet reproduce --list" in capsys.readouterr().err
    assert main(["reproduce", "all", "--folder", str(tmp_path / "nowhere")]) == 2
    assert "there is no table (NAME.yaml) in" in capsys.readouterr().err


def test_a_table_of_ones_own_needs_one_file(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "title: Mine\nsetting: burgers\nrows: {IAE-Net (ours): {model: {name: iaenet}}}\n"
        "presets: {smoke: {length: {epochs: 2}}}\n"
    )
    mine = load_table("mine", tmp_path)
    assert (mine.preset("smoke").length.epochs, mine.preset("smoke").samples) == (2, [8, 2, 2])
    assert published(mine, tmp_path).errors == {}
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "common.yaml").write_text("presets: {smoke: {samples: [5, 1, 1]}}\n")
    assert load_table("mine", tmp_path).preset("smoke").samples == [5, 1, 1]  # its own settings come first


# ------------------------------------------------------------------ the tables of the project


def test_every_published_table_is_described():
    assert {table.name for table in DESCRIBED} == {*EXPECTED.split(), *OURS}
    for table in DESCRIBED:
        known = published(table)
        if table.name in OURS:
            assert not known.errors
            assert table.reference in table.rows
            continue
        if table.kind in ("errors", "times"):
            assert known.note, f"{table.name} is not in published.toml"
            named = {row.published or name for name, row in table.rows.items()}
            assert set(known.errors) | set(known.times) <= named, f"{table.name} leaves published rows out"
            assert table.reference in table.rows


@pytest.mark.parametrize("table", MEASURED, ids=lambda table: table.name)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_plan(table, preset):
    if preset == "paper" and table.name in OURS:
        pytest.skip("the paper does not have it")
    planned = jobs(table, preset)
    sizes = table.preset(preset)
    for job in planned:
        job.test.source()
        model_class(job.training.model["name"])
        assert job.training.data == planned[0].training.data  # the same samples for every row
        share = 1 / 3 if job.row.endswith("a third of the seconds") else 1.0  # but for these, all rows have as many
        assert job.training.budget == pytest.approx(share * sizes.length.budget, abs=0.01)
        ours = job.training.model["name"] == "iaenet" and job.training.budget  # finds its own within the budget
        assert job.training.rates == ((0.0,) if ours else planned[0].training.rates)
        assert job.training.data.seed == TRAINING_SEED != TEST_SEED == job.test.seed
    assert sizes.changes, "what differs from the paper must be said"
    if preset == "cpu" and table.kind == "errors":
        assert len(next(job for job in planned if job.row == table.reference).seeds) >= 2
    if preset == "paper":
        known = published(table)
        config = planned[0].training.made(1e-3, epochs=500)
        assert (config.optimizer.name, config.schedule.name) == ("adam", "plateau")
        dimension = 2 if table.problem in ("darcy", "darcy-notch", "scattering", "ct-ellipses") else 1
        assert config.batch_size == (5 if dimension == 2 else 50)
        if table.name != "numblocks" and known.errors:
            assert str(table.trained) in map(str, known.columns)
            assert table.trained in sizes.resolutions


def test_cpu_preset_takes_at_most_eight_hours_of_two_cores():
    """With `--rows 2`: a row is trained on one."""
    seconds = {
        job.training.name: (job.weight, table.name in OURS)
        for table in MEASURED
        for job in jobs(table, "cpu")
        if table.kind == "errors"
    }
    assert all(job.training.config["threads"] == 1 for table in MEASURED for job in jobs(table, "cpu"))
    for ours in (False, True):
        assert sum(weight for weight, own in seconds.values() if own == ours) < 2 * 8 * 3600


def test_rows_that_tables_share_are_trained_once():
    def trainings(rows):
        return {
            next(job.training.name for job in jobs(load_table(table), "cpu") if job.row == row)
            for table, row in rows.items()
        }

    tables = ("burgersdeep", "burgersparallel", "linear", "postpro", "burgersbenchmark", "burgers1")
    published = trainings({**dict.fromkeys(tables, "IAE-Net"), "numblocks": "4 blocks"})
    ours = trainings(dict.fromkeys([*tables, "numblocks"], "IAE-Net (ours)"))
    assert len(published) == len(ours) == 1
    assert published != ours


def test_a_name_changes_with_anything_that_changes_the_training(folder):
    before = {job.row: job.training.name for job in jobs(load_table("burgers1", folder), "cpu")}
    change(folder, "burgers1", lambda t: t["rows"]["FNO"]["model"].update(width=8))
    after = {job.row: job.training.name for job in jobs(load_table("burgers1", folder), "cpu")}
    assert before["FNO"] != after["FNO"]
    assert before["GT"] == after["GT"]
    change(folder, "burgers1", lambda t: t.update(presets={"cpu": {"length": {"budget": 5.0}}}))
    assert jobs(load_table("burgers1", folder), "cpu")[1].training.name != after["GT"]


def test_parts_come_before_what_is_made_of_them():
    names = [table.name for table in chosen(["viscosity"])]
    assert set(names) == {"burgersinviscid", "burgers001", "burgers01", "burgers1", "burgers10", "viscosity"}
    assert names[-1] == "viscosity"
    rest = [table.name for table in chosen(["viscosity"], measured=lambda name: name != "burgers10")]
    assert rest == ["burgers10", "viscosity"]
    assert load_table("summary").made_of.parts[IRREGULAR] == "burgersnonuniform"
