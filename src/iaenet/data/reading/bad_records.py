"""Files, records and samples that cannot be used: the first one is an error, or all are left out and listed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iaenet.errors import InvalidInputError

SHOWN = 20  # reasons that are listed one by one


class BadRecords:
    """What was left out, and why.

    >>> bad = BadRecords(skip=True)
    >>> for name in ("s1.csv", "s2.csv"):
    ...     with bad.passed_over():
    ...         raise InvalidInputError(f"{name}: the file is empty")
    >>> bad.reasons
    ['s1.csv: the file is empty', 's2.csv: the file is empty']
    """

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.reasons: list[str] = []

    @contextmanager
    def passed_over(self) -> Iterator[None]:
        """What is refused inside is taken note of, and the block ends; or it stays an error."""
        try:
            yield
        except InvalidInputError as error:
            if not self.skip:
                raise
            self.reasons.append(str(error))

    def check(self, left: Sequence[object], what: str) -> None:
        """Refuse to go on without any that can be used."""
        if not left:
            raise InvalidInputError(f"none of {len(self.reasons)} {what} can be used; the first: {self.reasons[0]}")


def told(reasons: Sequence[str]) -> list[str]:
    """The lines at the end of a command about what was left out.

    >>> told(["s3.csv: the file is empty"])
    ['skipped: 1', '  s3.csv: the file is empty']
    """
    if not reasons:
        return []
    more = [f"  and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else []
    return [f"skipped: {len(reasons)}", *(f"  {reason}" for reason in reasons[:SHOWN]), *more]
