"""What a report reads from a run folder; what else the files say is passed over."""

from dataclasses import dataclass, field

from iaenet.evaluation.certificate import Line
from iaenet.models.operator_document import OperatorDocument


@dataclass
class StateDocument:
    """state.json of a checkpoint."""

    operator: OperatorDocument


@dataclass
class LogLine:
    """A line of log.jsonl."""

    seconds: float


@dataclass
class BestDocument:
    """The epoch with the lowest validation error."""

    epoch: int
    validation: float


@dataclass
class EpochDocument:
    """What came out of an epoch."""

    epoch: int
    loss: float
    validation: float


@dataclass
class MetricsDocument:
    """metrics.json."""

    epochs: list[EpochDocument] = field(default_factory=list)
    best: BestDocument | None = None


@dataclass
class TrialDocument:
    """A network that was tried before the training, and its validation error, if it did not diverge."""

    name: str
    because: str
    share: float
    steps: int
    seconds: float
    error: float | None = None


@dataclass
class ChoiceDocument:
    """choice.json: the networks that were tried within a budget, and which was chosen, once it was."""

    trials: list[TrialDocument]
    chosen: str = ""
    why: str = ""
    lr: float = 0.0


@dataclass
class SymmetriesDocument:
    """symmetries.json: ratios of errors on moved samples and their standard errors, and which count as symmetries."""

    ratios: dict[str, tuple[float, float]]
    accepted: list[str]


@dataclass
class ErrorsDocument:
    """Statistics of errors."""

    mean: float
    median: float
    worst: float


@dataclass
class RefusedDocument:
    """A discretization that the model refused."""

    on: str
    resolution: int | None
    points: tuple[int, int]
    refused: str


@dataclass
class RowDocument:
    """Errors on one discretization."""

    on: str
    resolution: int | None
    points: tuple[int, int]
    relative_l2: ErrorsDocument


@dataclass
class EvaluationDocument:
    """evaluation.json."""

    rows: list[RefusedDocument | RowDocument]


@dataclass
class CertificateDocument:
    """certificate.json."""

    verdict: str
    passed: bool
    lines: list[Line]
