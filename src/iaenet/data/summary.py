"""What is in a data file, as text: its parts, its origin, and statistics of every channel."""

from collections.abc import Callable, Sequence

from iaenet.data.dataset import Dataset
from iaenet.data.problems.problem import Channel
from iaenet.data.text_columns import aligned
from iaenet.functions.discretization import Discretization
from iaenet.functions.normalizer import Moments
from iaenet.functions.sample import SCALARS

MOST_RESOLUTIONS = 12  # shown one by one; data with more, each sample on its own points, are shown together


def summary(dataset: Dataset, progress: Callable[[int, int], None] | None = None, statistics: bool = True) -> str:
    """A page about the data. The statistics read, and so check, every number in it.

    Mean and standard deviation are those of `iaenet.normalize.Moments`. `progress` is called with the numbers of pairs
    read and in all.

    >>> import tempfile, torch
    >>> from iaenet import Discretization, Field
    >>> from iaenet.data.dataset import load_dataset
    >>> from iaenet.data.file_writer import write_dataset
    >>> grid = Discretization.uniform(4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pair = Field(grid, torch.ones(4, 1)), Field(grid, torch.zeros(4, 1))
    ...     write_dataset(f"{folder}/a.h5", [pair], inputs=[Channel("a", "m")], outputs=[Channel("u")])
    ...     print(summary(load_dataset(f"{folder}/a.h5"), statistics=False))  # doctest: +ELLIPSIS
    file         ...a.h5
    samples      1: 1 train
    inputs       a (m)
    outputs      u
    resolutions  4
    points       input: tensor grid 4 in 1-D; output: the same
    values       float32
    origin       iaenet ...
    content      sha256 ...
    """
    origin = dataset.provenance
    facts = {
        "file": dataset.path,
        "problem": origin.pop("problem", None),
        "samples": f"{dataset.samples}: " + ", ".join(f"{count} {name}" for name, count in dataset.splits.items()),
        "inputs": ", ".join(map(label, dataset.inputs)),
        "outputs": ", ".join(map(label, dataset.outputs)),
        "resolutions": _span(dataset.resolutions),
        "points": _points(dataset),
        "values": str(dataset.precision).removeprefix("torch."),
        "parameters": ", ".join(f"{name} {_text(value)}" for name, value in dataset.parameters.items()),
        "origin": ", ".join(f"{name} {_text(origin[name])}" for name in sorted(origin) if name not in _SHOWN),
        "content": f"sha256 {dataset.content_hash}",
    }
    lines = [f"{name:<12} {text}" for name, text in facts.items() if text]
    if statistics:
        lines += ["", *_statistics(dataset, progress)]
    return "\n".join(lines)


# Parts of the origin that are said elsewhere.
_SHOWN = ("parameters", "samples", "splits", "resolutions", "precision")


def label(channel: Channel) -> str:
    """Name and unit of a channel.

    >>> label(Channel("u", "m/s")), label(Channel("a"))
    ('u (m/s)', 'a')
    >>> label(Channel("g", function="boundary"))
    'boundary g'
    """
    name = f"{channel.function} {channel.name}".lstrip()
    return name if channel.unit in ("", "1") else f"{name} ({channel.unit})"


def _points(dataset: Dataset) -> str:
    given, wanted = dataset[0]
    own = [
        f"{name or 'input'}: {_kind(part.discretization)}"
        for name, part in zip(dataset.functions or [""], given.parts, strict=True)
        if name != SCALARS
    ]
    same = len(given.parts) == 1 and given.parts[0].discretization is wanted.discretization
    text = "; ".join([*own, "output: " + ("the same" if same else _kind(wanted.discretization))])
    sets = len(dataset.groups)
    return text if sets <= len(dataset.resolutions) else f"{text}; {sets} sets of points, this is the first"


def _kind(at: Discretization) -> str:
    kind = "point set" if at.axes is None else "tensor grid"
    wraps = ", periodic" if all(at.periodic) else ", partly periodic" if any(at.periodic) else ""
    return f"{kind} {' x '.join(map(str, at.shape))} in {at.dim}-D{wraps}"


def _statistics(dataset: Dataset, progress: Callable[[int, int], None] | None) -> list[str]:
    one_by_one = len(dataset.resolutions) <= MOST_RESOLUTIONS
    found: dict[tuple[int, str, int], Moments] = {}
    for i, (given, wanted) in enumerate(dataset):
        resolution = dataset.entry(i).resolution if one_by_one else 0
        for number, part in enumerate(given.parts):
            found.setdefault((resolution, "input", number), Moments()).add(part)
        found.setdefault((resolution, "output", 0), Moments()).add(wanted)
        if progress is not None:
            progress(i + 1, len(dataset))
    rows: list[tuple[str, ...]] = [("resolution", "channel", "min", "mean", "std", "max")]
    functions = dataset.functions or ("",)
    for (resolution, side, number), moments in sorted(found.items()):
        of_input = [channel for channel in dataset.inputs if channel.function == functions[number]]
        channels = of_input if side == "input" else dataset.outputs
        for c, channel in enumerate(channels):
            numbers = (moments.low[c], moments.mean[c], moments.std[c], moments.high[c])
            name = f"{side} {label(channel)}"
            rows.append((str(resolution) if one_by_one else "all", name, *(f"{number:.4g}" for number in numbers)))
    return [*aligned(rows, left=2), f"all {len(dataset)} pairs match their hash"]


def _span(numbers: Sequence[int]) -> str:
    if len(numbers) <= MOST_RESOLUTIONS:
        return ", ".join(map(str, numbers))
    return f"{len(numbers)} from {min(numbers)} to {max(numbers)}"


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
