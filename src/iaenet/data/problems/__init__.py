"""Problems that data sets are generated from, by the names that the command line knows them by."""

from typing import TYPE_CHECKING

from iaenet.data.lazy_registry import LazyRegistry

if TYPE_CHECKING:
    from iaenet.data.problems.problem import Problem

PROBLEMS: "LazyRegistry[type[Problem]]" = LazyRegistry(
    __name__,
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
        "screened-poisson": (
            "screened_poisson:ScreenedPoisson",
            "screened Poisson's equation in a square: boundary values, source and coefficient -> solution",
        ),
        "navier-stokes": ("navier_stokes:NavierStokes", "flow in a periodic square: vorticity -> vorticity later"),
        "kuramoto-sivashinsky": (
            "kuramoto_sivashinsky:KuramotoSivashinsky",
            "chaos on a periodic line: state -> state a while later",
        ),
        "allen-cahn": ("allen_cahn:AllenCahn", "phases on a periodic line: state -> state a while later"),
        "advection-diffusion": (
            "advection_diffusion:AdvectionDiffusion",
            "a dye in a steady flow, periodic square: stream function and dye -> dye later",
        ),
        "heat": ("heat:Heat", "heat in an insulated cube (3-D): conductivity and heating -> temperature"),
        "ground-state": ("ground_state:GroundState", "a particle in a periodic cube (3-D): potential -> density"),
        "fetal-ecg": ("fetal_ecg:FetalECG", "electrocardiogram: mixture -> (maternal, fetal)"),
    },
)
