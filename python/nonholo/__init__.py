"""nonholo: simulates mechanical systems with velocity constraints, with integrators made for them.

>>> import nonholo
>>> sleigh = nonholo.load("chaplygin-sleigh")
>>> run = nonholo.simulate(sleigh, method="gauss", stages=3, step=0.1, time=250)
>>> print(f"{run['forward'][0]:.4f} -> {run['forward'][-1]:.4f}")
-0.6000 -> 0.6000
"""

TYPE_CHECKING = False  # what type checkers take for true, without the time that `typing` takes
if TYPE_CHECKING:
    from ._library import ComputationError, Error, ModelError, Remark, UsageError
    from .chaos import Lyapunov, lyapunov
    from .comparison import Comparison, Order, compare, order
    from .drift import Drift, DriftLaw, drift
    from .ensembles import Ensemble, ensemble
    from .events import Event
    from .exports import export
    from .fitting import Fit, fit
    from .gradients import Gradient, Map, gradient
    from .optimisation import Optimum, optimise
    from .imports import import_urdf
    from .functions import NotHere, from_functions
    from .linearisation import Linearisation, Located, linearise
    from .orbits import Orbit, Periodic, periodic
    from .precise import PreciseTrajectory, precise
    from .regulator import Regulator, control
    from .stepper import Stepper
    from .symbolic import from_mechanics, from_sympy
    from .system import Facts, Model, System, load, methods, models
    from .trajectory import Trajectory, run, simulate

# Where names come from. Modules, the library and numpy are loaded when a name is first used: `import nonholo` takes no time
# that a program does not need.
_HOMES = {
    "_library": "ComputationError, Error, ModelError, Remark, UsageError",
    "chaos": "Lyapunov, lyapunov",
    "comparison": "Comparison, Order, compare, order",
    "drift": "Drift, DriftLaw, drift",
    "ensembles": "Ensemble, ensemble",
    "events": "Event",
    "exports": "export",
    "fitting": "Fit, fit",
    "gradients": "Gradient, Map, gradient",
    "optimisation": "Optimum, optimise",
    "imports": "import_urdf",
    "functions": "NotHere, from_functions",
    "linearisation": "Linearisation, Located, linearise",
    "orbits": "Orbit, Periodic, periodic",
    "precise": "PreciseTrajectory, precise",
    "regulator": "Regulator, control",
    "stepper": "Stepper",
    "symbolic": "from_mechanics, from_sympy",
    "system": "Facts, Model, System, load, methods, models",
    "trajectory": "Trajectory, run, simulate",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split(", ")}

__all__ = [
    "Comparison",
    "ComputationError",
    "Drift",
    "DriftLaw",
    "Ensemble",
    "Error",
    "Event",
    "Facts",
    "Fit",
    "Gradient",
    "Linearisation",
    "Located",
    "Lyapunov",
    "Map",
    "Model",
    "ModelError",
    "NotHere",
    "Optimum",
    "Orbit",
    "Order",
    "Periodic",
    "PreciseTrajectory",
    "Regulator",
    "Remark",
    "Stepper",
    "System",
    "Trajectory",
    "UsageError",
    "compare",
    "control",
    "drift",
    "ensemble",
    "export",
    "fit",
    "from_functions",
    "from_mechanics",
    "from_sympy",
    "gradient",
    "import_urdf",
    "linearise",
    "load",
    "lyapunov",
    "methods",
    "models",
    "optimise",
    "order",
    "periodic",
    "precise",
    "run",
    "simulate",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        globals()[name] = import_module("._library", __name__).lib.nh_version().decode()
    elif name in _HOME:
        home = import_module("." + _HOME[name], __name__)
        # all of its names: one of them may be that of the module, which has just become an attribute
        globals().update({other: getattr(home, other) for other in _HOMES[_HOME[name]].split(", ")})
    elif not name.startswith("__"):
        try:
            import_module("." + name, __name__)
        except ModuleNotFoundError:
            pass
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__) | {"__version__"})
