"""What came out of a table, in sentences: who is first, by how much, and whether the paper's order holds."""

import math
from collections.abc import Mapping
from itertools import combinations

from iaenet.experiments.result import Result

CLOSE = 1.02  # factor within which two errors count as equal
MOST_NAMED = 4  # pairs of rows that changed order
# Rows of the published form, with and without augmentation.
AUGMENTED = {
    "IAE-Net": "with it",
    "IAE-Net (No DA)": "without",
    "IAE-Net (No DA), steps of IAE-Net": "without and after as many steps",
}
THIRD = ", a third of the seconds"  # how the name of a row of such a training ends
WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def verdicts(result: Result) -> list[str]:
    """The sentences about a table."""
    makers = {"errors": _of_errors, "times": _of_times, "viscosity": _of_viscosity, "summary": _of_summary}
    return makers[result["kind"]](result)


def _of_errors(result: Result) -> list[str]:
    home, reference = result["home"], result["reference"]
    ours = {row["name"]: row["errors"][home] for row in result["rows"] if home in row["errors"]}
    trained = result["published"]["trained"]
    known = {row["name"]: row["published"][trained] for row in result["rows"] if trained in row["published"]}
    sentences = [first_place(ours, reference, _where(result)), *_published_form(ours, result)]
    if len(known) > 1:
        sentences.append(order_sentence(ours, known))
    sentences += [*_sooner(ours, result), *_resolutions(result), *_augmentation(result), *_seeds(result)]
    sentences += _diverged(result)
    return [sentence for sentence in sentences if sentence]


def _where(result: Result) -> str:
    return "" if result["axis"] == "blocks" else f" at {result['home']}"


def first_place(errors: Mapping[str, float], reference: str, where: str = "") -> str:
    """Whether the reference has the lowest error, and by what ratio it wins or loses.

    >>> first_place({"FNO": 0.02, "IAE-Net": 0.01}, "IAE-Net", " at 128")
    'IAE-Net comes first at 128: its error of 0.01 is 2.0 times lower than that of the next, FNO (0.02).'
    >>> first_place({"FNO": 0.01, "GT": 0.03, "IAE-Net": 0.02}, "IAE-Net")
    'IAE-Net comes second of 3: its error of 0.02 is 2.0 times that of the first, FNO (0.01).'
    >>> first_place({"FNO": 0.03, "IAE-Net": 0.02, "IAE-Net (ours)": 0.01}, "IAE-Net (ours)")[70:]
    'that of the next, IAE-Net (0.02), and 3.0 times lower than that of the best other method, FNO (0.03).'
    """
    if reference not in errors:
        return f"{reference} has no figure here."
    own = errors[reference]
    others = {name: error for name, error in errors.items() if name != reference}
    if not others:
        return f"{reference} has an error of {own:.3g}{where}."
    rank = 1 + sum(error < own for error in others.values())
    best = min(others, key=lambda name: others[name])
    if rank == 1:
        foreign = [name for name in others if not name.startswith(reference.partition(" (")[0])]
        also = ""
        if best not in foreign and foreign:
            name = min(foreign, key=lambda name: others[name])
            lead = ratio_text(others[name] / own)
            also = f", and {lead} times lower than that of the best other method, {name} ({others[name]:.3g})"
        return (
            f"{reference} comes first{where}: its error of {own:.3g} is {ratio_text(others[best] / own)} times lower "
            f"than that of the next, {best} ({others[best]:.3g}){also}."
        )
    ahead = sorted((name for name in others if others[name] < own), key=lambda name: others[name])
    also = f" Also ahead: {', '.join(f'{name} ({others[name]:.3g})' for name in ahead[1:])}." if ahead[1:] else ""
    return (
        f"{reference} comes {ordinal(rank)} of {len(errors)}{where}: its error of {own:.3g} is "
        f"{ratio_text(own / others[best])} times that of the first, {best} ({others[best]:.3g}).{also}"
    )


def order_sentence(ours: Mapping[str, float], known: Mapping[str, float]) -> str:
    """Whether the published order of the rows holds here, and which pairs changed order.

    >>> order_sentence({"A": 1.0, "B": 2.0, "C": 3.0}, {"A": 0.1, "B": 0.2, "C": 0.3})
    "The paper's ranking holds: A, B, C."
    >>> order_sentence({"A": 1.0, "B": 3.0, "C": 2.0}, {"A": 0.1, "B": 0.2, "C": 0.3})
    "The paper's ranking (A, B, C) holds for 2 of 3 pairs; C is now ahead of B."
    """
    names = sorted((name for name in known if name in ours), key=lambda name: known[name])
    pairs = [(a, b) for a, b in combinations(names, 2) if known[b] > known[a]]
    swapped = [(a, b) for a, b in pairs if ours[b] * CLOSE < ours[a]]
    listed = ", ".join(names)
    if not pairs:
        return ""
    if not swapped:
        near = any(ours[b] < ours[a] for a, b in pairs)
        return f"The paper's ranking holds{' within 2 %' if near else ''}: {listed}."
    changes = [f"{b} is now ahead of {a}" for a, b in swapped[:MOST_NAMED]]
    rest = len(swapped) - MOST_NAMED
    more = f", and {rest} {'pair' if rest == 1 else 'pairs'} more" if rest > 0 else ""
    return (
        f"The paper's ranking ({listed}) holds for {len(pairs) - len(swapped)} of {len(pairs)} pairs; "
        f"{', '.join(changes)}{more}."
    )


def _sooner(errors: Mapping[str, float], result: Result) -> list[str]:
    """What the reference has in a part of the seconds, beside what FNO has in all of them."""
    own, fno = errors.get(f"{result['reference']}{THIRD}"), errors.get("FNO")
    if own is None or fno is None:
        return []
    return [f"In a third of the seconds {result['reference']} has {own:.3g}; FNO has {fno:.3g} in all of them."]


def _resolutions(result: Result) -> list[str]:
    """Error of the reference on the farthest resolution and on the worst one, in units of that at home."""
    row = next((row for row in result["rows"] if row["name"] == result["reference"]), None)
    home, errors = result["home"], {} if row is None else row["errors"]
    others = [column for column in errors if column != home]
    if row is None or home not in errors or not others:
        return []
    far = max(others, key=lambda column: abs(math.log(int(column) / int(home))))
    worst = max(others, key=lambda column: errors[column])
    text = (
        f"Off resolution: the error of {row['name']} at {far}, the farthest resolution, is "
        f"{errors[far] / errors[home]:.2f} times that at {home}"
    )
    if worst != far:
        text += f"; the largest is {errors[worst] / errors[home]:.2f} times, at {worst}"
    trained, known = (
        result["published"]["trained"],
        result["published"]["errors"].get(result["published_reference"], {}),
    )
    if trained in known and len(known) > 1:
        highest = max(known, key=lambda column: known[column])
        text += f" (published, with augmentation: at most {known[highest] / known[trained]:.2f} times, at {highest})"
    return [f"{text}."]


def _published_form(errors: Mapping[str, float], result: Result) -> list[str]:
    """The error of the published form beside that of the reference."""
    name, own = result["published_reference"], errors.get(result["reference"])
    if name == result["reference"] or name not in errors or own is None:
        return []
    return [
        f"The published form, {name}, has {errors[name]:.3g}: {ratio_text(errors[name] / own)} times the error of "
        f"{result['reference']}."
    ]


def _augmentation(result: Result) -> list[str]:
    """The largest error of the published form on any resolution, with and without augmentation."""
    home, rows = result["home"], {row["name"]: row["errors"] for row in result["rows"]}
    texts = []
    for name, what in AUGMENTED.items():
        errors = rows.get(name, {})
        if home in errors and len(errors) > 1:
            worst = max(errors, key=lambda column: errors[column])
            texts.append(f"{what} {ratio_text(errors[worst] / errors[home])} times, at {worst}")
    if len(texts) < 2:
        return []
    listed = ", ".join(texts)
    return [f"Augmentation: the largest error of the published form, in units of that at {home}, is {listed}."]


def _seeds(result: Result) -> list[str]:
    home, texts = result["home"], []
    for row in result["rows"]:
        found = [seed["errors"][home] for seed in row["seeds"] if home in seed.get("errors", {})]
        if len(found) > 1:
            texts.append(f"{row['name']} {min(found):.3g} to {max(found):.3g}")
    return [f"Over seeds: {'; '.join(texts)}."] if texts else []


def _diverged(result: Result) -> list[str]:
    names = [row["name"] for row in result["rows"] if any("diverged" in seed for seed in row["seeds"])]
    return [f"Diverged, and so without a figure: {', '.join(names)}."] if names else []


def _of_times(result: Result) -> list[str]:
    rows = {row["name"]: row for row in result["rows"]}
    own, fno, sentences = rows.get(result["reference"]), rows.get("FNO"), []
    for what, key in (("A training epoch", "train"), ("Inference", "test")):
        if own is None or fno is None:
            continue
        rank = 1 + sum(row[key] < own[key] for row in rows.values())
        known = [row["published"][key] for row in (own, fno) if key in row["published"]]
        published = f" (published: {ratio_text(known[0] / known[1])} times)" if len(known) == 2 else ""
        sentences.append(
            f"{what} of {own['name']} takes {own[key]:.2g} s, {ordinal(rank)} of {len(rows)}: "
            f"{ratio_text(own[key] / fno[key])} times that of FNO{published}."
        )
        order = {name: row["published"][key] for name, row in rows.items() if key in row["published"]}
        if len(order) > 1:
            sentences.append(order_sentence({name: row[key] for name, row in rows.items()}, order))
    return sentences


def _of_viscosity(result: Result) -> list[str]:
    sentences = []
    for viscosity in result["columns"]:
        errors = {row["name"]: row["errors"][viscosity] for row in result["rows"] if viscosity in row["errors"]}
        known = {row["name"]: row["published"][viscosity] for row in result["rows"] if viscosity in row["published"]}
        sentences.append(first_place(errors, result["reference"], f" for viscosity {viscosity}"))
        if len(known) > 1:
            sentences.append(order_sentence(errors, known))
    return sentences


def _of_summary(result: Result) -> list[str]:
    same, other = 0, []
    for row in result["rows"]:
        for column, answer in row["answers"].items():
            if answer and column in row["published"]:
                same += answer == row["published"][column]
                if answer != row["published"][column]:
                    other.append(f"{row['name']}, {column}: {answer} (published {row['published'][column]})")
    text = f"{same} of {same + len(other)} measured answers are the paper's."
    own = next((row for row in result["rows"] if row["name"] == result["reference"]), None)
    sentences = []
    if own is not None:
        failures = [column for column, answer in own["answers"].items() if answer == "No"]
        sentences.append(
            f"{own['name']}: yes everywhere." if not failures else f"{own['name']}: no for {', '.join(failures)}."
        )
    return [*sentences, text + (f" Different: {'; '.join(other)}." if other else "")]


def ordinal(rank: int) -> str:
    """A rank in words.

    >>> ordinal(1), ordinal(3), ordinal(21)
    ('first', 'third', '21st')
    """
    if rank <= len(WORDS):
        return WORDS[rank - 1]
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"


def ratio_text(ratio: float) -> str:
    """A ratio with as many digits as are worth reading.

    >>> ratio_text(1.2345), ratio_text(3.21), ratio_text(126.4)
    ('1.23', '3.2', '126')
    """
    return f"{ratio:.2f}" if ratio < 2 - 5e-3 else f"{ratio:.1f}" if ratio < 20 else f"{ratio:.0f}"
