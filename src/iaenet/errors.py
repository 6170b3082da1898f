"""The errors that a caller may want to catch by name."""


class InvalidInputError(ValueError):
    """A number, shape or option that cannot be used; the message says which one, where, and what to do."""


class CorruptFileError(Exception):
    """A file of ours whose content does not match its checksum, or that cannot be parsed; the message names it."""


class DivergedError(Exception):
    """A training whose loss is no longer a number; the message says at which step."""


class LostProcessError(Exception):
    """A process of a distributed training that is gone; the message says which."""
