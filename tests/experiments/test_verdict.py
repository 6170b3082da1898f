"""Sentences about made-up results, and the pages that show them."""

import copy
from types import SimpleNamespace

import pytest

from iaenet.experiments.derived import derived
from iaenet.experiments.figure import draw
from iaenet.experiments.page import facts, notes_of, summary_line, tables, write_pages
from iaenet.experiments.published_figures import Published
from iaenet.experiments.result import timed
from iaenet.experiments.table import MadeOf, Preset, Row, Table
from iaenet.experiments.verdict import first_place, order_sentence, verdicts

MACHINE = {
    "processor": "Abacus",
    "cores": 2,
    "threads": 1,
    "torch": "2.13",
    "iaenet": "0.1",
    "system": "",
    "python": "",
}


def row(name, errors, published, seeds=None, **more):
    by = {str(column): error for column, error in errors.items()}
    return {
        "name": name,
        "model": {"name": "fno"},
        "at": None,
        "errors": by,
        "interpolated": {},
        "refused": {},
        "published": {str(column): error for column, error in published.items()},
        "parameters": 1_200_000,
        "rate": 0.003,
        "tried": {},
        "epochs": 40,
        "seeds": seeds or [{"seed": 0, "errors": by, "seconds": 100.0}],
        "note": "",
        "ratio": 1.0,
        "published_ratio": 1.0,
        **more,
    }


def result(*rows, **more):
    return {
        "table": "made_up",
        "title": "Errors & <figures>",
        "kind": "errors",
        "axis": "resolution",
        "reference": "IAE-Net (ours)",
        "published_reference": "IAE-Net",
        "preset": "cpu",
        "command": "iaenet reproduce made_up --preset cpu",
        "comment": "",
        "machine": MACHINE,
        "columns": ["64", "128", "1024"],
        "home": "128",
        "training": ["128"],
        "samples": {"training": 10, "validation": 2, "test": 3},
        "budget_seconds": 60.0,
        "published": {
            "table": "x",
            "note": "",
            "columns": ["512", "1024"],
            "trained": "1024",
            "errors": {r["name"]: r["published"] for r in rows if r["published"]},
        },
        "changes": ["fewer samples"],
        "rows": list(rows),
        **more,
    }


FNO = row("FNO", {64: 0.03, 128: 0.02, 1024: 0.021}, {512: 0.002, 1024: 0.002})
GT = row("GT", {64: 0.05, 128: 0.04, 1024: 0.05}, {512: 0.003, 1024: 0.004})
FORM = row("IAE-Net", {64: 0.016, 128: 0.015, 1024: 0.017}, {512: 0.0015, 1024: 0.001})
IAE = row("IAE-Net (ours)", {64: 0.011, 128: 0.01, 1024: 0.0104}, {})


# ------------------------------------------------------------------ sentences


def test_a_win_with_the_published_order():
    first, form, order, off, *rest = verdicts(result(FNO, GT, FORM, IAE))
    assert first == (
        "IAE-Net (ours) comes first at 128: its error of 0.01 is 1.50 times lower than that of the next, IAE-Net "
        "(0.015), and 2.0 times lower than that of the best other method, FNO (0.02)."
    )
    assert form == "The published form, IAE-Net, has 0.015: 1.50 times the error of IAE-Net (ours)."
    assert order == "The paper's ranking holds: IAE-Net, FNO, GT."  # of the published form, not of ours
    assert off == (
        "Off resolution: the error of IAE-Net (ours) at 1024, the farthest resolution, is 1.04 times that at 128; the "
        "largest is 1.10 times, at 64 (published, with augmentation: at most 1.50 times, at 512)."
    )
    assert rest == []


def test_a_loss_names_who_is_ahead():
    slow, form = row("IAE-Net (ours)", {128: 0.05}, {}), row("IAE-Net", {128: 0.045}, {1024: 0.001})
    first, _, order = verdicts(result(FNO, GT, form, slow))
    assert first == (
        "IAE-Net (ours) comes fourth of 4 at 128: its error of 0.05 is 2.5 times that of the first, FNO (0.02). "
        "Also ahead: GT (0.04), IAE-Net (0.045)."
    )
    assert order == (
        "The paper's ranking (IAE-Net, FNO, GT) holds for 1 of 3 pairs; FNO is now ahead of IAE-Net, GT is now ahead "
        "of IAE-Net."
    )


def test_rows_without_published_figures_are_ranked_but_not_compared():
    extra = row("Extra", {128: 0.001}, {})
    first, _, order, *_ = verdicts(result(extra, FNO, FORM, IAE))
    assert "second of 4" in first
    assert "Extra" in first
    assert order == "The paper's ranking holds: IAE-Net, FNO."


def test_what_augmentation_does_to_the_published_form_is_said():
    without = row("IAE-Net (No DA)", {64: 0.03, 128: 0.012, 1024: 0.048}, {})
    assert (
        "Augmentation: the largest error of the published form, in units of that at 128, is with it 1.13 times, at "
        "1024, without 4.0 times, at 1024."
    ) in verdicts(result(FNO, FORM, without, IAE))
    assert not [text for text in verdicts(result(FNO, FORM, IAE)) if text.startswith("Augmentation")]


def test_equal_within_two_percent_is_no_change_of_places():
    assert order_sentence({"A": 1.01, "B": 1.0}, {"A": 0.1, "B": 0.2}) == "The paper's ranking holds within 2 %: A, B."
    assert "ahead" in order_sentence({"A": 1.03, "B": 1.0}, {"A": 0.1, "B": 0.2})
    assert order_sentence({"A": 1.0, "B": 2.0}, {"A": 0.1, "B": 0.1}) == ""  # published as equal: nothing to hold


def test_many_changes_are_counted_not_listed():
    ours = {name: 1.0 - 0.1 * place for place, name in enumerate("ABCDE")}
    known = {name: 1.0 + place for place, name in enumerate("ABCDE")}
    sentence = order_sentence(ours, known)
    assert "holds for 0 of 10 pairs" in sentence
    assert sentence.count("is now ahead of") == 4
    assert sentence.endswith("and 6 pairs more.")


def test_a_reference_without_a_figure_is_said():
    broken = row("IAE-Net (ours)", {}, {}, seeds=[{"seed": 0, "diverged": "the loss is nan"}])
    found = verdicts(result(FNO, broken))
    assert found[0] == first_place({"FNO": 0.1}, "IAE-Net (ours)") == "IAE-Net (ours) has no figure here."
    assert found[-1] == "Diverged, and so without a figure: IAE-Net (ours)."


def test_the_spread_over_seeds_is_said():
    seeds = [{"seed": s, "errors": {"128": e}, "seconds": 1.0} for s, e in enumerate((0.009, 0.011))]
    several = {**copy.deepcopy(IAE), "seeds": seeds}
    assert "Over seeds: IAE-Net (ours) 0.009 to 0.011." in verdicts(result(FNO, several))


# ------------------------------------------------------------------ tables made of others


def test_a_third_of_the_seconds_is_set_beside_fno():
    third = {**IAE, "name": "IAE-Net (ours), a third of the seconds", "errors": {"128": 0.015}}
    found = verdicts(result(FNO, third, IAE))
    fno = FNO["errors"]["128"]
    assert f"In a third of the seconds IAE-Net (ours) has 0.015; FNO has {fno:.3g} in all of them." in found
    assert not [text for text in verdicts(result(FNO, IAE)) if text.startswith("In a third")]


def test_viscosity_gathers_errors_at_home_and_the_papers_ratio():
    table = Table("viscosity", "V", kind="viscosity", made_of=MadeOf({"0.1": "a", "1.0": "b"}))
    ours = row("IAE-Net (ours)", {128: 0.2}, {})
    other = result(row("FNO", {128: 0.1}, {1024: 0.5}), row("IAE-Net", {128: 0.3}, {1024: 0.1}), ours)
    found = derived(table, "cpu", {"0.1": result(FNO, GT, FORM, IAE), "1.0": other})
    assert [r["name"] for r in found["rows"]] == ["FNO", "IAE-Net", "IAE-Net (ours)"]  # rows that both have
    assert found["rows"][0]["errors"] == {"0.1": 0.02, "1.0": 0.1}
    assert found["rows"][0]["ratios"] == {"0.1": 1.0, "1.0": -0.5}  # (m - i) / i
    assert found["published"]["errors"]["FNO"] == {"0.1": 0.002, "1.0": 0.5}
    assert found["published"]["ratios"]["FNO"] == {"0.1": 1.0, "1.0": 4.0}
    sentences = verdicts(found)
    assert sentences[0].startswith("IAE-Net (ours) comes first for viscosity 0.1")
    assert sentences[2].startswith("IAE-Net (ours) comes second of 3 for viscosity 1.0")
    _, right = draw(found).axes
    assert {line.get_label() for line in right.get_lines()} >= {"FNO", "FNO, published", "IAE-Net"}
    assert right.get_yscale() == "symlog"  # a ratio may be negative
    assert [grid.title for grid in tables(found)] == ["Measured here", "Published"]


def test_the_summary_says_yes_below_the_limit():
    parts = {"Discretization Invariance": "a", "Irregular Grids": "b", "Prediction": "a"}
    well, badly = ["Yes", "Yes", "Yes"], ["Yes", "No", "Yes"]
    answers = {"FNO": badly, "GT": badly, "IAE-Net": well, "IAE-Net (ours)": []}
    table = Table("summary", "S", kind="summary", made_of=MadeOf(parts, 0.03, answers))
    regular, irregular = result(FNO, GT, FORM, IAE), result(copy.deepcopy(IAE))
    found = derived(
        table,
        "cpu",
        {"Discretization Invariance": regular, "Irregular Grids": irregular, "Prediction": regular},
    )
    by = {r["name"]: r["answers"] for r in found["rows"]}
    assert by["IAE-Net (ours)"] == {"Discretization Invariance": "Yes", "Irregular Grids": "Yes", "Prediction": "Yes"}
    assert by["IAE-Net"] == {"Discretization Invariance": "Yes", "Irregular Grids": "", "Prediction": "Yes"}
    assert by["FNO"] == {"Discretization Invariance": "No", "Irregular Grids": "", "Prediction": "Yes"}  # 1.5 at 64
    assert by["GT"]["Prediction"] == "No"  # 0.04 is not below 0.03
    first, second = verdicts(found)
    assert first == "IAE-Net (ours): yes everywhere."
    assert second.startswith("3 of 6 measured answers are the paper's. Different: FNO, Discretization Invariance: No")


def test_times_are_compared_as_ratios_to_fno():
    def job(row):
        return SimpleNamespace(row=row, training=SimpleNamespace(model={"name": "fno"}))

    table = Table(
        "times",
        "T",
        kind="times",
        rows={"FNO": Row({"name": "fno"}), "IAE-Net": Row({"name": "published"})},
        reference="IAE-Net",
        presets={"cpu": _sizes()},
    )
    known = Published(times={"FNO": {"parameters": 0.5, "train": 1.0, "test": 0.1},
                             "IAE-Net": {"parameters": 5.3, "train": 80.0, "test": 1.2}})  # fmt: skip
    outcomes = [
        (job("FNO"), {"parameters": 500_000, "train": 2.0, "test": 0.5, "machine": MACHINE}),
        (job("IAE-Net"), {"parameters": 900_000, "train": 6.0, "test": 2.0, "machine": MACHINE}),
    ]
    found = timed(table, "cpu", outcomes, known)
    assert verdicts(found)[0] == (
        "A training epoch of IAE-Net takes 6 s, second of 2: 3.0 times that of FNO (published: 80 times)."
    )
    (grid,) = tables(found)  # and no ideas, which these outcomes do not have
    assert grid.cells[2] == ["IAE-Net", "0.90 M", "5.3 M", "6", "3.0", "80", "2", "4.0", "12.0"]
    assert draw(found) is not None


def _sizes():
    return Preset(samples=[1, 1, 1], training=[8], columns=[])


# ------------------------------------------------------------------ pages


def test_pages_show_both_tables_and_escape_what_they_show(tmp_path):
    made = result(FNO, GT, FORM, IAE, comment="Because x < y.")
    write_pages(made, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"made_up.md", "made_up.html", "made_up.png"}
    text, html = (tmp_path / "made_up.md").read_text(), (tmp_path / "made_up.html").read_text()
    assert "| IAE-Net (ours) | **0.011** | **0.01** | **0.0104** |" in text
    assert "| IAE-Net | **0.0015** | **0.001** |" in text
    assert "![Error against resolution: measured here, and published](made_up.png)" in text
    assert "fewer samples" in text
    assert "Abacus" in text
    assert "Errors &amp; &lt;figures&gt;" in html
    assert "x &lt; y" in html
    assert "<td><b>0.0104</b></td>" in html
    assert '<div class="charts">' in html
    assert "http" not in html.replace("http-equiv", "")  # nothing is fetched


def test_a_table_of_rows_that_nobody_published_has_its_page(tmp_path):
    write_pages(result(row("IAE-Net (ours)", {64: 0.011, 128: 0.01}, {})), tmp_path)
    assert (tmp_path / "made_up.png").exists()


@pytest.mark.parametrize("kept", [("FNO",), ("FNO", "GT", "IAE-Net (ours)")])
def test_lowest_of_each_column_is_bold_where_there_is_a_choice(kept):
    made = result(*(r for r in (FNO, GT, IAE) if r["name"] in kept))
    grid = tables(made)[0]
    assert grid.bold == ({(3, 1), (3, 2), (3, 3)} if len(kept) == 3 else set())


def test_tables_of_blocks_have_a_curve_over_blocks():
    rows = [row(f"{n} blocks", {128: 0.1 / n}, {1024: 0.01 / n}, at=n) for n in (1, 2, 4)]
    made = result(*rows, IAE, axis="blocks", published_reference="4 blocks")
    made["published"]["errors"] = {"IAE-Net": {"1": 0.01, "2": 0.005, "5": 0.002}}
    ours, known = draw(made).axes[0].get_lines()
    assert (list(ours.get_xdata()), list(known.get_xdata())) == ([1, 2, 4], [1, 2, 5])  # rows with a place on the axis
    assert list(ours.get_ydata()) == [0.1, 0.05, 0.025]


def test_published_curves_are_drawn_whether_or_not_their_rows_were_measured():
    made = result(FNO, IAE)
    made["published"]["errors"]["GT"] = {"512": 0.003, "1024": 0.004}
    left, right = draw(made).axes
    assert [len(ax.get_lines()) for ax in (left, right)] == [3, 3]  # two rows each, and where the ranking is


def test_a_page_has_the_ideas_of_its_rows_the_trials_and_where_the_rates_end():
    has = {"data-driven kernels": True, "augmentation": False}
    tried = {"0.001": 0.3, "0.003": 0.1, "0.009": 0.2}
    made = result(
        {**FNO, "ideas": dict.fromkeys(has, False), "tried": {"0.001": 0.3, "0.003": 0.1}},
        {**IAE, "ideas": has, "trials": 20, "tried": tried},
    )
    grids = {grid.title: grid.cells for grid in tables(made)}
    assert grids["The paper's ideas"] == [
        ["", "data-driven kernels", "augmentation"],
        ["FNO", "-", "-"],
        ["IAE-Net (ours)", "yes", "-"],
    ]
    assert [cells[-2] for cells in grids["Beside each other, and what it took"]] == ["trials", "2", "20 + 3"]
    assert notes_of(made) == ["Of the learning rates that were tried, the highest was the best for FNO."]
    assert facts(made)[0].startswith("Measured with version 0.1,")


def test_the_list_of_tables_has_the_published_figure_its_form_here_and_ours():
    assert summary_line(result(FNO, FORM, IAE), "results/")[2:5] == ["0.001", "0.015", "0.01"]
    assert summary_line(result(row("FNO", {128: 0.02}, {}), IAE), "results/")[2:5] == ["-", "-", "0.01"]
