"""Problems that data sets are generated from, by the names that the command line knows them by."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iaenet.data.problems.problem import Problem


class _Problems(Mapping[str, "type[Problem]"]):
    """Problem classes by name; a solver is imported when it is asked for, since together they take seconds."""

    def __init__(self, places: dict[str, tuple[str, str]]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> "type[Problem]":
        module, _, attribute = self._places[name][0].partition(":")
        problem: type[Problem] = getattr(import_module(f"{__name__}.{module}"), attribute)
        return problem

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def meaning(self, name: str) -> str:
        """What a problem is, in one line.

        >>> PROBLEMS.meaning("darcy")
        'flow through a two-phase medium in a square: permeability -> pressure'
        """
        return self._places[name][1]


PROBLEMS = _Problems(
    {
        "burgers": ("burgers:Burgers", "Burgers' equation, periodic: initial condition -> solution at a later time"),
        "darcy": ("darcy:Darcy", "flow through a two-phase medium in a square: permeability -> pressure"),
        "darcy-notch": ("darcy_notch:DarcyNotch", "flow in a triangle with a notch: boundary values -> pressure"),
        "scattering": ("scattering:Scattering", "waves on scatterers: medium -> far field, or back"),
        "ct-ellipses": ("ct_ellipses:CTEllipses", "tomography: filtered back-projection -> image of ellipses"),
        "plate": ("plate:Plate", "plane stress around an elliptic hole: domain -> von Mises stress"),
        "airfoil": ("airfoil:Airfoil", "flow around a Joukowsky profile: domain and angle -> pressure and velocity"),
        "bodies": ("bodies:Bodies", "flow around an ellipsoid in space: surface -> pressure on it, or flow around it"),
        "laplace-ring": ("laplace_ring:LaplaceRing", "Laplace's equation in a ring: boundary values -> solution"),
        "fetal-ecg": ("fetal_ecg:FetalECG", "electrocardiogram: mixture -> (maternal, fetal)"),
    }
)
