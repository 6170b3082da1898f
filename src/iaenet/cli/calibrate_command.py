"""`iaenet calibrate RUN`: how wide bands around the predictions of a model must be."""

from collections.abc import Callable
from typing import Any, Literal

from iaenet.cli.evaluate_command import (
    add_device_option,
    check_run,
    folder_for,
    opened,
    training_points,
    training_resolution,
)
from iaenet.cli.options import new_parser
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet calibrate burgers
  iaenet calibrate burgers --data more.h5 --split validation --level 0.95
  iaenet calibrate burgers --kind function
  iaenet predict burgers --input new.npz --output new_u.npz --band 0.9"""

TEXT = """Calibrate the bands of a trained model on samples that it was not trained on (split conformal prediction), and
measure on test samples how much of the truth they hold: on the calibration's points, on every other resolution in the
data, and on random points. Writes RUN/calibration.json, which `iaenet predict --band` needs and which serves any level,
and in RUN/calibration coverage.json, coverage.png and bands.png. A model that is trained further must be calibrated
again."""


def calibrate_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, calibrate, measure, write, and tell the coverage."""
    parser = new_parser("calibrate", TEXT, EXAMPLES)
    parser.add_argument("run", type=str, help="Folder of a training run.")
    parser.add_argument("--data", type=str | None, default=None, help="Data file. Default: that of the training.")
    parser.add_argument(
        "--split",
        type=Literal["validation", "test"],
        default="validation",
        help="Samples to calibrate on; coverage is then measured on the others. Default validation.",
    )
    parser.add_argument(
        "--resolution", type=int | None, default=None, help="Resolution to calibrate on. Default: that of the training."
    )
    parser.add_argument("--level", type=float, default=0.9, help="Level of the bands that are measured. Default 0.9.")
    parser.add_argument(
        "--kind",
        type=Literal["points", "function"],
        default="points",
        help="What the bands that are measured are to hold, see `iaenet predict --help`. Default points.",
    )
    parser.add_argument(
        "--random_points",
        type=int | None,
        default=None,
        help="How many random points to measure on, too; 0 for none. Default: as many as the training grid has.",
    )
    parser.add_argument("--samples", type=int, default=3, help="How many samples to draw. Default 3.")
    parser.add_argument("--seed", type=int, default=0, help="Of random choices. Default 0.")
    add_device_option(parser)
    given = parser.parse_args(arguments)
    check_run(given.run)
    if not 0 < given.level < 1:
        raise InvalidInputError(f"--level {given.level}: give a number between 0 and 1, such as 0.9")

    from iaenet.data.atomic import replacing
    from iaenet.evaluation.bands import BandMaker
    from iaenet.evaluation.calibration import calibrate
    from iaenet.evaluation.coverage import coverage
    from iaenet.reports.band_plots import draw_bands, draw_coverage
    from iaenet.reports.plots import save

    operator, dataset, note = opened(given.run, given.data, given.split, given.device)
    training = training_resolution(operator.metadata, dataset) if given.resolution is None else given.resolution
    chosen = dataset if training is None else dataset.select(resolution=training)
    calibration = calibrate(operator, chosen, seed=given.seed)
    maker = BandMaker(operator, calibration, given.level, given.kind)  # refuses a level that needs more samples
    path = calibration.save(given.run)
    other = "test" if given.split == "validation" else "validation"
    try:
        _, tested, _ = opened(given.run, given.data, other, given.device)
    except InvalidInputError as error:
        return "\n".join([f"{path}: {calibration.samples} samples; not measured: {error}", *note])
    count = training_points(tested, training) if given.random_points is None else given.random_points or None
    show = progress("measuring coverage")
    options = {"level": given.level, "kind": given.kind, "random_points": count, "seed": given.seed, "progress": show}
    found = coverage(operator, calibration, tested, **options)
    folder = folder_for(given.run, None, "calibration")
    with replacing(folder / "coverage.json") as beside:
        beside.write_text(found.to_json())
    save(draw_coverage(found), folder / "coverage.png")
    shown = tested if training is None else tested.select(resolution=training)
    drawn = min(given.samples, len(shown))
    few = sorted({round(i * (len(shown) - 1) / max(1, drawn - 1)) for i in range(drawn)})
    if few:
        save(draw_bands(maker, shown, few), folder / "bands.png")
    return "\n".join([found.table(), *note, f"written: {path}; in {folder}: coverage.json, coverage.png, bands.png"])
