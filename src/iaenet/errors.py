"""The errors that a caller may want to catch by name."""


class InvalidInputError(ValueError):
    """A number, shape or option that cannot be used; the message says which one, where, and what to do."""


class CorruptFileError(Exception):
    """A file of ours whose content does not match its checksum, or that cannot be parsed; the message names it."""
