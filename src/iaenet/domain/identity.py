"""The original domain."""


class Identity:
    """The branch that integrates over the points themselves: `Phi_1(a)` (eq. multichannel)."""

    def __repr__(self) -> str:
        return "Identity()"
