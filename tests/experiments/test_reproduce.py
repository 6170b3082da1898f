"""`iaenet reproduce`: every table from nothing to pages, and on again after it was stopped."""

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
import yaml

from iaenet.cli.main import main
from iaenet.errors import InvalidInputError
from iaenet.experiments import check
from iaenet.experiments.page import write_pages
from iaenet.experiments.plan import jobs
from iaenet.experiments.readme import write_readme
from iaenet.experiments.run import Folders, reproduce
from iaenet.experiments.step_time import Enough
from iaenet.experiments.table import TABLES, load_table, table_names
from iaenet.training import curves
from iaenet.training.fit import fit
from tests.trainings import finish, run_command, start

NAMES = table_names()
# One or two of each problem, and the yes and no that is made of others; the rest, measured times too, are slow tests.
QUICK = {"burgers1", "darcytriangular", "defaults-heat", "geometry-plate", "postpro", "summary"}
QUICK |= set(load_table("summary").made_of.parts.values())
COMMITTED = Path(__file__).parents[2] / "experiments"


def read(path):
    return json.loads(path.read_text())


def reproduced(folder, *names):
    """The folder after `reproduce --preset smoke`; learning curves, which take half of the time, are not drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "draw_curves", lambda history, path: None)
        assert main([*command(*names), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    return reproduced(tmp_path_factory.mktemp("some"), *sorted(QUICK))


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return reproduced(tmp_path_factory.mktemp("everything"), "all")


def command(*names):
    return ["reproduce", *names, "--preset", "smoke"]


@pytest.mark.parametrize("name", sorted(QUICK))
def test_a_table_has_its_document_and_pages(some, name):
    check_table(some / "results-smoke", name)


@pytest.mark.slow
def test_all_tables_have_their_documents_and_pages(everything):
    for name in NAMES:
        check_table(everything / "results-smoke", name)
    text = (everything / "results-smoke" / "README.md").read_text()
    for name in NAMES:
        assert f"| [{name}]({name}.md) | {load_table(name).title} |" in text


def check_table(out, name):
    result, table = read(out / f"{name}.json"), load_table(name)
    assert result["command"] == f"iaenet reproduce {name} --preset smoke"
    assert result["machine"]["torch"]
    assert (out / f"{name}.md").read_text().startswith(f"# {table.title}\n\n- ")
    html = (out / f"{name}.html").read_text()
    pictures = html.count("data:image/png;base64,")  # samples of the reference row, and figures that are no charts
    assert pictures >= (table.kind == "errors")
    assert bool(pictures or '<div class="charts">' in html) == (table.kind != "summary")
    if table.kind != "errors":
        return
    sizes = table.preset("smoke")
    rows = {row["name"]: row for row in result["rows"]}
    plans = {job.row: job.training.config.get("augment", {}) for job in jobs(table, "smoke")}
    assert "### The paper's ideas" in (out / f"{name}.md").read_text()
    assert set(rows) == set(table.rows_of("smoke"))
    assert rows[table.reference]["ratio"] == 1.0
    for row in rows.values():
        assert {*row["errors"], *row["refused"]} == {str(r) for r in sizes.resolutions}
        assert all(0 < error < 100 for error in row["errors"].values())
        assert row["ratio"] == row["errors"][result["home"]] / rows[table.reference]["errors"][result["home"]]
        assert (row["epochs"], row["rate"]) == (1, 0.003)
        assert row["parameters"] > 0
        assert [seed["seed"] for seed in row["seeds"]] == [0]
        model, augmented = table.rows[row["name"]].model["name"], "weight" in str(plans[row["name"]])
        assert row["ideas"]["augmentation"] == augmented
        assert row["ideas"]["data-driven kernels"] == (model in ("published", "iaenet"))
        above = [r for r in sizes.resolutions if r > sizes.at] if "interpolated" in table.also else []
        finer = [str(r) for r in above if str(r) in row["errors"]]
        assert sorted(row["interpolated"], key=int) == finer


def test_fixed_grids_are_refused_elsewhere_and_said_so(some):
    row = next(row for row in read(some / "results-smoke" / "fecgsyndb.json")["rows"] if row["name"] == "Unet")
    assert set(row["errors"]) == {"64"}
    assert set(row["refused"]) == {"32", "128"}
    assert "Unet takes no input at 32, 128" in (some / "results-smoke" / "fecgsyndb.md").read_text()


def test_the_list_of_tables_has_a_line_for_each(some):
    text = (some / "results-smoke" / "README.md").read_text()
    for name in QUICK:
        assert f"| [{name}]({name}.md) | {load_table(name).title} |" in text


def test_what_is_finished_is_not_done_again(some, capsys):
    before = {path: path.stat().st_mtime_ns for path in some.rglob("seed-*.json")}
    logs = {path: path.stat().st_mtime_ns for path in some.rglob("log.jsonl")}
    documents = {name: read(some / "results-smoke" / f"{name}.json") for name in ("burgers1", "postpro")}
    assert main([*command("burgers1", "postpro"), "--out", str(some)]) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert {path: path.stat().st_mtime_ns for path in logs} == logs
    assert {name: read(some / "results-smoke" / f"{name}.json") for name in documents} == documents
    assert "postpro: IAE-Net" in capsys.readouterr().out


# ------------------------------------------------------------------ stopped and continued


@pytest.fixture
def small(tmp_path):
    """A folder with one table of three rows, each with two seeds; its settings are those of the package."""
    folder = tmp_path / "tables"
    folder.mkdir()
    table = yaml.safe_load((TABLES / "burgers1.yaml").read_text())
    table["rows"] = {name: table["rows"][name] for name in ("FNO", "GT", "IAE-Net (ours)")}
    table["presets"] = {
        "smoke": {
            "length": {"epochs": 3},
            "search": {"rates": [0.001, 0.003], "share": 0.4},
            "repeats": {"seeds": [0, 1]},
        }
    }
    write_table(folder, table)
    return folder


def write_table(folder, table):
    (folder / "burgers1.yaml").write_text(yaml.safe_dump(table, sort_keys=False))


def rows_done(work):
    return sorted(path.name for path in (work / "smoke" / "burgers1").glob("*.json"))


def figures(result):
    """A document without times."""
    text = json.dumps(result)
    return re.sub(r'"seconds": [\d.e-]+', "", text)


def test_killed_and_continued_is_as_never_stopped(small, tmp_path):
    table = yaml.safe_load((small / "burgers1.yaml").read_text())
    del table["rows"]["GT"]
    table["presets"]["smoke"] |= {
        "length": {"epochs": 6},
        "search": {"rates": [0.003]},
        "config": {"save_seconds": 0.0},
    }
    write_table(small, table)
    calm = tmp_path / "calm"
    whole = reproduce(["burgers1"], "smoke", Folders.of(calm, "smoke", tables=small))[0]
    work, words = tmp_path / "work", tmp_path / "words.txt"
    shutil.copytree(calm / "work" / "smoke" / "data", work / "smoke" / "data")
    again = [*command("burgers1"), "--folder", small, "--out", tmp_path, "--work", work]
    stops = 0
    for wanted in (0, 1):  # in the first row, and after it
        process = start(run_command, again, words)
        until = time.monotonic() + 120
        runs = work / "smoke" / "runs"
        while process.is_alive() and time.monotonic() < until:
            if len(rows_done(work)) >= wanted and len(list(runs.glob("*/*/checkpoints/step-*"))) > 0:
                break
            time.sleep(0.01)
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            stops += 1
        finish(process)
        kept = {path: path.stat().st_mtime_ns for path in (work / "smoke" / "burgers1").glob("*.json")}
    assert stops == 2
    assert finish(start(run_command, again, words)) == 0, words.read_text()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # finished rows were left alone
    assert rows_done(work) == ["fno-seed-0.json", "iae-net-ours-seed-0.json"]
    assert figures(read(tmp_path / "results-smoke" / "burgers1.json")) == figures(whole)


@pytest.mark.slow
def test_rows_side_by_side_are_as_one_after_the_other(small, tmp_path):
    table = yaml.safe_load((small / "burgers1.yaml").read_text())
    write_table(small, table | {"presets": {"smoke": {"length": {"epochs": 1}}}})
    after, beside = tmp_path / "after", tmp_path / "beside"
    shown = []
    one = reproduce(["burgers1"], "smoke", Folders.of(after, "smoke", tables=small))[0]
    folders = Folders.of(beside, "smoke", tables=small)
    two = reproduce(["burgers1"], "smoke", folders, 1, lambda *where: shown.append(where), rows_at_once=2)[0]
    assert figures(two) == figures(one)
    assert (beside / "results-smoke" / "burgers1-samples.png").exists()
    assert any("burgers1, FNO" in note for _, _, note in shown)
    assert max(done for done, _, note in shown if not note.startswith("generating")) > 0


@pytest.mark.slow
def test_an_error_in_a_row_beside_others_is_said(small, tmp_path, capsys):
    table = yaml.safe_load((small / "burgers1.yaml").read_text())
    table["rows"]["IAE-Net (ours)"]["model"]["skips"] = "some"
    write_table(small, table)
    folders = ["--folder", str(small), "--out", str(tmp_path)]
    assert main([*command("burgers1"), *folders, "--rows", "2"]) == 2
    assert "skips must be one of dense, residual, none, got 'some'" in capsys.readouterr().err
    assert main([*command("burgers1"), *folders, "--rows", "0"]) == 2
    assert "at least one row is trained at a time, got 0" in capsys.readouterr().err


def test_a_plan_is_kept_and_gone_on_with(small, tmp_path):
    folders = Folders.of(tmp_path, "smoke", tables=small)
    first = reproduce(["burgers1"], "smoke", folders)[0]
    row = next(row for row in first["rows"] if row["name"] == "GT")
    assert list(row["tried"])[:2] == ["0.001", "0.003"]
    assert row["tried"][f"{row['rate']:g}"] == min(row["tried"].values())
    plans = list((tmp_path / "work" / "smoke" / "runs").glob("galerkin-*/plan.json"))
    assert len(plans) == 1
    assert not list(plans[0].parent.glob("rate-*"))  # trials are forgotten
    plan = {**read(plans[0]), "rate": 0.002}
    plans[0].write_text(json.dumps(plan))
    for path in [*(tmp_path / "work" / "smoke" / "burgers1").glob("gt-*.json")]:
        path.unlink()
    for path in plans[0].parent.glob("seed-*"):
        shutil.rmtree(path)
    changed = next(row for row in reproduce(["burgers1"], "smoke", folders)[0]["rows"] if row["name"] == "GT")
    assert changed["rate"] == 0.002


def test_a_row_may_have_the_steps_of_another(small, tmp_path):
    table = yaml.safe_load((small / "burgers1.yaml").read_text())
    del table["rows"]["GT"]
    table["rows"]["slow"] = {"model": {"name": "galerkin"}, "steps_of": "FNO"}
    table["presets"] = {"smoke": {"length": {"budget": 0.5}, "repeats": {"headline": [0]}}}
    write_table(small, table)
    folders = Folders.of(tmp_path, "smoke", tables=small)
    rows = {one["name"]: one for one in reproduce(["burgers1"], "smoke", folders)[0]["rows"]}
    assert rows["slow"]["epochs"] == round(rows["FNO"]["epochs"]) > 1
    assert rows["IAE-Net (ours)"]["choice"]["chosen"] == "spectral"
    table["rows"]["slow"]["steps_of"] = "FN0"
    write_table(small, table)
    with pytest.raises(InvalidInputError, match="row 'slow': steps_of: there is no row 'FN0'"):
        jobs(load_table("burgers1", small), "smoke")


def test_a_row_that_diverges_has_no_figure_and_stops_nobody(small, tmp_path):
    table = yaml.safe_load((small / "burgers1.yaml").read_text())
    table["presets"]["smoke"] = {"length": {"epochs": 2}}
    table["rows"]["GT"]["config"] = {"optimizer": {"name": "adamw", "weight_decay": 1.0e30, "clip": 0.0}}
    write_table(small, table)
    found = reproduce(["burgers1"], "smoke", Folders.of(tmp_path, "smoke", tables=small))[0]
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["GT"]["errors"] == {}
    assert "diverged" in rows["GT"]["seeds"][0]
    assert rows["IAE-Net (ours)"]["errors"]
    assert "Diverged, and so without a figure: GT." in (tmp_path / "results-smoke" / "burgers1.md").read_text()


def test_only_cpu_results_are_listed_beside_the_folder():
    for preset, name in (("cpu", "results"), ("smoke", "results-smoke"), ("paper", "results-paper")):
        folders = Folders.of(COMMITTED, preset)
        assert folders.results == COMMITTED / name
        assert folders.readme == (COMMITTED / "README.md" if preset == "cpu" else COMMITTED / name / "README.md")


def test_the_committed_list_is_what_the_command_writes(tmp_path):
    folders = Folders.of(COMMITTED, "cpu")
    write_readme(folders.tables, folders.results, tmp_path / "README.md")
    assert (tmp_path / "README.md").read_text() == folders.readme.read_text()


@pytest.mark.parametrize("name", sorted(path.stem for path in (COMMITTED / "results").glob("*.json")))
def test_committed_pages_are_what_the_command_writes_and_say_what_measured_them(name, tmp_path):
    result = read(COMMITTED / "results" / f"{name}.json")
    write_pages(result, tmp_path, COMMITTED / "results" / f"{name}-samples.png")
    text = (tmp_path / f"{name}.md").read_text()
    assert text == (COMMITTED / "results" / f"{name}.md").read_text()
    assert f"Measured with version {result['machine']['iaenet']}" in text
    for row in result["rows"]:
        if row.get("model", {}).get("name") == "iaenet":
            assert "ours" in row["name"]


def test_tables_come_with_the_package_and_results_stay_in_the_working_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == NAMES
    line = next(line for line in listed if line.split()[0] == "burgers1")
    assert line.endswith("Burgers' equation, viscosity 0.1, 1000 training samples")
    assert list(tmp_path.iterdir()) == []
    assert main([*command("burgers1")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["reproduced"]
    assert {path.name for path in (tmp_path / "reproduced").iterdir()} == {"results-smoke", "work"}
    assert (tmp_path / "reproduced" / "results-smoke" / "burgers1.html").is_file()


# ------------------------------------------------------------------ the paper's sizes start


def test_check_takes_a_step_of_each_row(small, tmp_path, capsys):
    arguments = ["reproduce", "burgers1", "--preset", "paper", "--check", "--folder", str(small)]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "burgers1: 3 rows start\n"
    assert not (tmp_path / "work" / "paper" / "runs").exists()


def test_one_huge_network_takes_a_step_and_the_others_are_built(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "HUGE", 1000)  # parameters; the published form has more, here, too
    taken, stopped = [], []

    def spy(model, data, **more):
        taken.append((model, more))
        try:
            fit(model, data, **more)
        except Enough:
            stopped.append(model)
            raise

    monkeypatch.setattr(check, "fit", spy)
    folders = TABLES, tmp_path
    (line,) = check.check(["burgersbenchmark"], "smoke", *folders)
    assert re.search(
        r"^burgersbenchmark: 13 rows start, with a step of \d,\d+ parameters on 16 points along each axis, 3 of", line
    )
    ((_, more),) = [(model, more) for model, more in taken if model["name"] == "published"]
    assert (more["config"].batch_size, more["config"].augment.weight, more["config"].augment.sizes) == (1, 1.0, [8])
    assert [model["name"] for model in stopped] == ["published"]  # after the step, before anything is validated or kept
    monkeypatch.setattr(check, "memory", lambda: 2.0**30)
    (line,) = check.check(["burgersbenchmark"], "smoke", *folders)
    assert line.startswith("burgersbenchmark: 13 rows start, 4 of over")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if load_table(name).rows])
def test_paper_preset_starts(name, tmp_path, capsys):
    arguments = ["reproduce", name, "--preset", "paper", "--check", "--work", str(tmp_path)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert f"{name}: " in said
    if name == "darcybenchmark":
        assert "with a step of 408,753,873 parameters" in said
