"""Names and units of derivatives, as they are written beside the functions that they are of."""

import re
from collections.abc import Mapping, Sequence

from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError

# By subscripts or, where these names are taken, by differentials.
NAMES = ({"gradient": "{u}_{x}", "laplacian": "{u}_laplacian"}, {"gradient": "d{u}_d{x}", "laplacian": "laplacian_{u}"})


def derivative_channels(
    channels: Sequence[Channel],
    coordinates: Sequence[str],
    which: Sequence[str],
    units: Mapping[str, str] | None = None,
    taken: Sequence[str] = (),
) -> tuple[Channel, ...]:
    """Channels for derivatives: `u_x`, `u_y` of the gradient, `u_laplacian`; those of `u[0]` are `u_x[0]`, ...

    Units are that of the channel over that of the coordinate, where `units` has the latter; otherwise there is none.

    >>> u = [Channel("u", "m/s")]
    >>> [(one.name, one.unit) for one in derivative_channels(u, ["x", "y"], ["gradient"], {"x": "m", "y": "m"})]
    [('u_x', '(m/s)/m'), ('u_y', '(m/s)/m')]
    >>> [(one.name, one.unit) for one in derivative_channels([Channel("T", "K")], ["x"], ["laplacian"], {"x": "m"})]
    [('T_laplacian', 'K/m^2')]
    """
    known = units or {}
    used = {*coordinates, *(channel.name for channel in channels), *taken}
    for pattern in NAMES:
        made = []
        for kind in which:
            for channel in channels:
                name, bracket, index = channel.name.partition("[")
                for x in coordinates if kind == "gradient" else [""]:
                    unit = _per(channel.unit, known.get(x)) if x else _per(channel.unit, _common(coordinates, known), 2)
                    made.append(Channel(f"{pattern[kind].format(u=name, x=x)}{bracket}{index}", unit))
        names = [channel.name for channel in made]
        if len({*names}) == len(names) and not used.intersection(names):
            return tuple(made)
    raise InvalidInputError(f"derivatives would have names that are taken: {', '.join(sorted(used))}; rename channels")


def check_coordinate_units(units: Mapping[str, str], coordinates: Sequence[str]) -> None:
    """Refuse a unit for something that is no coordinate."""
    for name in units:
        if name not in coordinates:
            raise InvalidInputError(f"units: {name!r} is not among the coordinates {', '.join(coordinates)}")


def _common(coordinates: Sequence[str], units: Mapping[str, str]) -> str | None:
    """The unit of all coordinates, if they have one and the same."""
    found = {units.get(x) for x in coordinates}
    return found.pop() if len(found) == 1 else None


def _per(unit: str, of: str | None, power: int = 1) -> str:
    """The unit of a derivative.

    >>> _per("K", "m"), _per("m/s", "m", 2), _per("1", "m/s"), _per("K", "1"), _per("K", None)
    ('K/m', '(m/s)/m^2', '1/(m/s)', 'K', '1')
    """
    if of in (None, "1"):
        return "1" if of is None else unit
    above, below = (word if re.fullmatch(r"[^\W\d_]+|1", word) else f"({word})" for word in (unit, str(of)))
    return f"{above}/{below}" if power == 1 else f"{above}/{below}^{power}"
