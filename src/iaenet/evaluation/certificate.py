"""The certificate of invariance: what was measured, the limits, and the verdict."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from iaenet.data.text_columns import aligned


@dataclass(frozen=True)
class Thresholds:
    """What a model must keep to, as a map between functions that happens to see them on points.

    E is its error on the training grid. The mismatch of a grid is the difference between the outputs there and on the
    finest grid. A difference of E / 2 that has nothing to do with the error raises it to `E sqrt(1 + 1/4) = 1.12 E`, so
    the first two limits ask for about the same; the mismatch needs no known outputs.

    error_ratio: largest error on a grid at least as fine as the training grid, in units of E. Default 1.1.
    mismatch_share: largest mismatch of such a grid, in units of E. Default 0.5.
    mismatch: largest mismatch whatever E is, and the only limit where no outputs are known. Default 0.02: a model that
        is wrong by half is not invariant if its output changes by a quarter.
    refined: change of the output in one half of the domain that is allowed whatever E is when the other half is sampled
        four times denser; beyond it the limits of a mismatch count. Default 1e-3.
    random_ratio, random_share, random_mismatch: the same for as many random points as the training grid has, or for 9
        of 10 points where the data are no grids. Defaults 1.5, 1.2 (`sqrt(1 + 1.2^2) = 1.56`) and 0.05.
    order: least order p in `mismatch ~ s^-p` with s points along an axis, unless the mismatch is below a tenth of its
        limit everywhere. Default 0.5, that of Monte-Carlo sums: less is no convergence.
    rounding: largest effect of the order of points and of batch mates, and what is no longer told from zero. Default
        1e-5, for float32.
    """

    error_ratio: float = 1.1
    mismatch_share: float = 0.5
    mismatch: float = 0.02
    refined: float = 1e-3
    random_ratio: float = 1.5
    random_share: float = 1.2
    random_mismatch: float = 0.05
    order: float = 0.5
    rounding: float = 1e-5

    def mismatch_limit(self, error: float | None, random: bool = False) -> float:
        """`min(share E, limit)`, and not less than rounding; the limit alone if E is not known.

        >>> Thresholds().mismatch_limit(0.01), Thresholds().mismatch_limit(0.9), Thresholds().mismatch_limit(None)
        (0.005, 0.02, 0.02)
        """
        share, limit = (self.random_share, self.random_mismatch) if random else (self.mismatch_share, self.mismatch)
        return limit if error is None else max(self.rounding, min(share * error, limit))


@dataclass(frozen=True)
class Line:
    """One measurement and its limit. `passed` is None where it is only shown; `note` says why, or why it failed."""

    test: str  # mismatch, order, error ratio, refined half, permuted points, ragged batch
    on: str
    value: float | None
    limit: float | None
    passed: bool | None
    note: str = ""
    size: float | None = None  # points along an axis, `n^(1/d)` where they are no grid
    random: bool = False  # random points instead of a grid

    @property
    def strain(self) -> float:
        """How much of what is allowed it takes; infinite if the model refused.

        >>> round(Line("error ratio", "64", 1.05, 1.1, True).strain, 3)
        0.5
        """
        if self.value is None or self.limit is None:
            return math.inf if self.passed is False else 0.0
        least = 1.0 if self.test == "error ratio" else 0.0
        return (self.value - least) / (self.limit - least)

    @property
    def texts(self) -> tuple[str, str]:
        """Value and limit as text."""
        form = ".2e" if self.test not in ("error ratio", "order") else ".3f"
        value, limit = ("-" if number is None else f"{number:{form}}" for number in (self.value, self.limit))
        return value, limit


@dataclass(frozen=True)
class Certificate:
    """Lines, and what they were measured on; `print(certificate.table())`, and `to_json` for other programs.

    >>> lines = (Line("mismatch", "64", 0.01, 0.02, True), Line("ragged batch", "3 functions", 1e-3, 1e-5, False))
    >>> certificate = Certificate(lines, Thresholds(), "128", "64", 0.05, 16, "test", "")
    >>> certificate.passed, certificate.worst.on
    (False, '64')
    """

    lines: tuple[Line, ...]
    thresholds: Thresholds
    reference: str  # the finest grid
    home: str  # the training grid, or what stands for it
    error: float | None  # on it
    samples: int
    split: str
    content: str  # SHA-256 of the data
    grids: bool = True  # whether all inputs are given on grids

    @property
    def order(self) -> float | None:
        """Fitted order at which the mismatch falls; None if there are too few grids, or only rounding."""
        return next((line.value for line in self.lines if line.test == "order"), None)

    @property
    def verdict(self) -> str:
        """passed, failed, or not shown: nothing could be judged about other grids or points."""
        judged = [line for line in self.lines if line.passed is not None]
        if not all(line.passed for line in judged):
            return "failed"
        return "passed" if any(line.test in ON_POINTS for line in judged) else "not shown"

    @property
    def passed(self) -> bool:
        """Whether all that was judged passed, other grids or points included."""
        return self.verdict == "passed"

    @property
    def worst(self) -> Line | None:
        """The line of the discretization that comes nearest to its limit, or goes furthest beyond it."""
        judged = [line for line in self.lines if line.test in ON_POINTS and line.passed is not None]
        return max(judged, key=lambda line: line.strain, default=None)

    def table(self) -> str:
        """The lines as text, and the verdict."""
        rows = [("test", "on", "value", "limit", "verdict")]
        rows += [(one.test, one.on, *one.texts, VERDICTS[one.passed]) for one in self.lines]
        texts = aligned(rows, left=2)
        notes = ["", *(f"  {line.note}" if line.note else "" for line in self.lines)]
        return "\n".join([*(text + note for text, note in zip(texts, notes, strict=True)), "", self._summary()])

    def _summary(self) -> str:
        judged = [line for line in self.lines if line.passed is not None]
        count = f"{sum(bool(line.passed) for line in judged)} of {len(judged)} judged lines pass"
        parts = [f"{self.verdict.upper()}: {count}, {self.samples} {self.split} samples, mismatch to {self.reference}"]
        if self.error is not None:
            parts.append(f"relative L2 error {self.error:.3g} on {self.home}")
        if self.worst is not None:
            parts.append(f"worst discretization: {self.worst.on} ({self.worst.test})")
        return "; ".join(parts)

    def to_json(self) -> str:
        """All of it as text; the same model and data give the same text."""
        worst = self.worst
        content = {
            "verdict": self.verdict,
            "passed": self.passed,
            "worst": None if worst is None else {"on": worst.on, "test": worst.test},
            "reference": self.reference,
            "training": {"on": self.home, "relative_l2": self.error},
            "order": self.order,
            "samples": self.samples,
            "split": self.split,
            "data": self.content,
            "thresholds": asdict(self.thresholds),
            "lines": [asdict(line) for line in self.lines],
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"


VERDICTS = {True: "pass", False: "FAIL", None: "shown"}
ON_POINTS = ("mismatch", "error ratio")  # lines about one discretization


def fitted_order(sizes: Sequence[float], mismatches: Sequence[float], finest: float) -> tuple[float, float]:
    """p and C of `M(s) = C (s^-p - S^-p)`, the difference to the finest grid S of what converges like `s^-p`.

    Least squares in `log M`; p is sought between 0.01 and 30.

    >>> p, C = fitted_order([16, 32, 64], [3 * (s**-2 - 128**-2) for s in (16, 32, 64)], 128)
    >>> round(p, 3), round(C, 3)
    (2.0, 3.0)
    """
    s, logs = np.array(sizes, dtype=float), np.log(mismatches)

    def shape(p: float) -> np.ndarray:
        return -p * np.log(s) + np.log1p(-((s / finest) ** p))

    def misfit(p: float) -> float:
        return float(np.var(logs - shape(p)))

    p = float(minimize_scalar(misfit, bounds=(0.01, 30), method="bounded", options={"xatol": 1e-6}).x)
    return p, float(np.exp(np.mean(logs - shape(p))))
