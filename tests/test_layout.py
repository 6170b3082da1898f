"""What keeps the package easy to inherit: short files with names of their own, constructors with few arguments."""

import ast
from collections import Counter
from pathlib import Path

import iaenet

PACKAGE = Path(iaenet.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text()) for path in FILES}
DECORATED = ("dataclass", "NamedTuple", "TypedDict")


def test_files_are_about_one_idea():
    assert {path.name: lines for path in FILES if (lines := len(path.read_text().splitlines())) > 300} == {}


def test_no_file_name_occurs_twice():
    names = Counter(path.name for path in FILES if not path.name.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []
    assert len([path for path in PACKAGE.glob("*.py") if not path.name.startswith("__")]) <= 3


def arguments_of(made: ast.ClassDef) -> int:
    """Arguments of a class's own constructor: those of `__init__`, or the fields of a dataclass or a named tuple."""
    for part in made.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return len(part.args.posonlyargs + part.args.args + part.args.kwonlyargs) - 1
    marks = " ".join(ast.unparse(mark) for mark in (*made.decorator_list, *made.bases))
    if not any(mark in marks for mark in DECORATED):
        return 0
    fields = [part for part in made.body if isinstance(part, ast.AnnAssign)]
    return len([part for part in fields if "ClassVar" not in ast.unparse(part.annotation)])


def test_constructors_have_few_arguments():
    classes = {
        f"{path.name}: {made.name}": arguments_of(made)
        for path, tree in TREES.items()
        for made in ast.walk(tree)
        if isinstance(made, ast.ClassDef)
    }
    assert classes["iae_net.py: IAENet"] >= 10  # it is counted at all
    assert classes["config.py: TrainConfig"] >= 5
    assert {name: count for name, count in classes.items() if count > 14} == {}


def test_no_ladder_over_our_own_classes():
    """Dispatch belongs to the object: nowhere a chain of three questions which of our classes something is."""
    own = {made.name for tree in TREES.values() for made in ast.walk(tree) if isinstance(made, ast.ClassDef)}

    def asks(test: ast.expr) -> bool:
        calls = [part for part in ast.walk(test) if isinstance(part, ast.Call) and len(part.args) == 2]
        return any(
            isinstance(call.func, ast.Name)
            and call.func.id == "isinstance"
            and bool({part.id for part in ast.walk(call.args[1]) if isinstance(part, ast.Name)} & own)
            for call in calls
        )

    def length(branch: ast.If) -> int:
        rest = branch.orelse
        return asks(branch.test) + (length(rest[0]) if len(rest) == 1 and isinstance(rest[0], ast.If) else 0)

    ladders = {
        f"{path.name}:{branch.lineno}": length(branch)
        for path, tree in TREES.items()
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If)
    }
    assert {place: count for place, count in ladders.items() if count > 2} == {}
