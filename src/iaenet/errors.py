"""The errors that a caller may want to catch by name."""

from collections.abc import Iterable
from difflib import get_close_matches


class InvalidInputError(ValueError):
    """A number, shape or option that cannot be used; the message says which one, where, and what to do."""


class CorruptFileError(Exception):
    """A file of ours whose content does not match its checksum, or that cannot be parsed; the message names it."""


class DivergedError(Exception):
    """A training whose loss is no longer a number; the message says at which step."""


class LostProcessError(Exception):
    """A process of a distributed training that is gone; the message says which."""


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that is none of those known: the one that looks like it, or all of them.

    >>> no_such("command", "trian", ["train", "predict"]), no_such("command", "fly", ["train", "predict"])
    ("no command 'trian'; did you mean train?", "no command 'fly'; there are train, predict")
    """
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"no {kind} {name!r}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}")


def short_of_memory(error: BaseException | None) -> BaseException | None:
    """The error by which it all began, if that was a lack of memory: what failed then may say anything.

    >>> short_of_memory(ValueError("3 is no shape")) is None, short_of_memory(MemoryError("1 GB"))
    (True, MemoryError('1 GB'))
    """
    while error is not None:
        said = str(error)  # as PyTorch says it
        if isinstance(error, MemoryError) or "allocate memory" in said or "out of memory" in said:
            return error
        error = error.__cause__ or error.__context__
    return None


def pass_on_lack_of_memory(error: BaseException) -> None:
    """Raise `MemoryError` if that is what an error comes from: a file is not damaged because there is no memory for it.

    >>> pass_on_lack_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    Traceback (most recent call last):
    ...
    MemoryError: DefaultCPUAllocator: can't allocate memory
    """
    short = short_of_memory(error)
    if short is not None:
        raise MemoryError(str(short)) from error
