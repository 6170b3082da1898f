"""`iaenet certify RUN`: does a trained model give the same function on every discretization?"""

from collections.abc import Callable
from typing import Any

from iaenet.cli.evaluate_command import add_data_options, folder_for, opened, training_resolution
from iaenet.cli.options import new_parser, whole_numbers
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet certify burgers
  iaenet certify burgers --data finer.h5 --samples 32
  iaenet certify burgers --resolutions 64,128,256,512,1024 --out results
  iaenet certify --model mynetworks:operator --data burgers.h5 --out results"""

TEXT = """Measure the invariance of a trained model, or of any callable in Python. On several resolutions: the mismatch
between the output there and on the finest grid, the order at which it falls, and the error in units of that on the
training grid. Also on as many random points, with one half of the domain sampled four times denser, on points in
another order, and in a batch with others. Every line has a limit; grids coarser than the training grid are shown, not
judged. Writes certificate.json and certificate.png."""


def certify_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, measure, write the certificate and its picture, and tell the verdict."""
    parser = new_parser("certify", TEXT, EXAMPLES, {"ladder": "resolutions"})
    add_data_options(parser, "certificate", optional=True)
    parser.add_argument(
        "--resolutions",
        type=whole_numbers,
        default=None,
        help="Resolutions to compare; those not in the data are interpolated. Default: those in the data, or if there "
        "is one, half of it and up to 8 times more.",
    )
    parser.add_argument(
        "--model",
        type=str | None,
        default=None,
        help="Instead of RUN: module:callable, somebody else's network as `model(field, at=None) -> field`. The module "
        "is imported, so its code runs: name only what you trust. Needs --data.",
    )
    parser.add_argument("--samples", type=int, default=16, help="How many samples to use. Default 16.")
    given = parser.parse_args(arguments)
    if (given.run is None) == (given.model is None):
        raise InvalidInputError("certify takes the folder of a training run, or --model module:callable")
    if given.model is not None and given.data is None:
        raise InvalidInputError(f"--model {given.model}: name the data to certify it on with --data")

    from iaenet.data.atomic import replacing
    from iaenet.data.dataset import load_dataset
    from iaenet.evaluation.certify import certify
    from iaenet.evaluation.named_model import NamedModel
    from iaenet.reports.plots import save
    from iaenet.reports.result_plots import draw_certificate

    model: Any
    note: list[str] = []
    if given.model is not None:
        model, dataset, trained = NamedModel(given.model), load_dataset(given.data, split=given.split), None
    else:
        model, dataset, note = opened(given.run, given.data, given.split, given.device)
        trained = training_resolution(model.metadata, dataset)
    certificate = certify(
        model,
        dataset,
        resolutions=given.resolutions,
        training_resolution=trained,
        samples=given.samples,
        seed=given.seed,
        progress=progress("certifying"),
    )
    folder = folder_for(given.run or ".", given.out, "certificate")
    with replacing(folder / "certificate.json") as beside:
        beside.write_text(certificate.to_json())
    save(draw_certificate(certificate), folder / "certificate.png")
    return "\n".join([certificate.table(), *note, f"written to {folder}: certificate.json, certificate.png"])
