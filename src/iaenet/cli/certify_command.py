"""`iaenet certify RUN`: does a trained model give the same function on every discretization?"""

from collections.abc import Callable
from typing import Any

from iaenet.cli.evaluate_command import add_data_options, folder_for, opened, training_resolution
from iaenet.cli.options import new_parser, whole_numbers

EXAMPLES = """  iaenet certify burgers
  iaenet certify burgers --data finer.h5 --samples 32
  iaenet certify burgers --resolutions 64,128,256,512,1024 --out results"""

TEXT = """Measure the invariance of a trained model. On several resolutions: the mismatch between the output there
and on the finest grid, the order at which it falls, and the error in units of that on the training grid. Also on as
many random points, on points in another order, and in a batch with others. Every line has a limit; grids coarser than
the training grid are shown, not judged. Writes certificate.json and certificate.png."""


def certify_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, measure, write the certificate and its picture, and tell the verdict."""
    parser = new_parser("certify", TEXT, EXAMPLES, {"ladder": "resolutions"})
    add_data_options(parser, "certificate")
    parser.add_argument(
        "--resolutions",
        type=whole_numbers,
        default=None,
        help="Resolutions to compare; those not in the data are interpolated. Default: those in the data, or if there "
        "is one, half of it and up to 8 times more.",
    )
    parser.add_argument("--samples", type=int, default=16, help="How many samples to use. Default 16.")
    given = parser.parse_args(arguments)

    from iaenet.data.atomic import replacing
    from iaenet.evaluation.certify import certify
    from iaenet.reports.plots import save
    from iaenet.reports.result_plots import draw_certificate

    operator, dataset, note = opened(given.run, given.data, given.split, given.device)
    certificate = certify(
        operator,
        dataset,
        resolutions=given.resolutions,
        training_resolution=training_resolution(operator.metadata, dataset),
        samples=given.samples,
        seed=given.seed,
        progress=progress("certifying"),
    )
    folder = folder_for(given.run, given.out, "certificate")
    with replacing(folder / "certificate.json") as beside:
        beside.write_text(certificate.to_json())
    save(draw_certificate(certificate), folder / "certificate.png")
    return "\n".join([certificate.table(), *note, f"written to {folder}: certificate.json, certificate.png"])
