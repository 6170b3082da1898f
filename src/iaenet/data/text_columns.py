"""Text in columns."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A line for each row: the first `left` columns begin, and the others end, in the same column of every line.

    >>> for line in aligned([("grid", "error"), ("64", "0.1"), ("1024", "0.125")]):
    ...     print(line)
    grid  error
    64      0.1
    1024  0.125
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
