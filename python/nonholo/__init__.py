"""nonholo: simulates mechanical systems with velocity constraints, with integrators made for them.

>>> import nonholo
>>> sleigh = nonholo.load("chaplygin-sleigh")
>>> run = nonholo.simulate(sleigh, method="gauss", stages=3, step=0.1, time=250)
>>> print(f"{run['forward'][0]:.4f} -> {run['forward'][-1]:.4f}")
-0.6000 -> 0.6000
"""

from ._library import ComputationError, Error, ModelError, Remark, UsageError, lib as _lib
from .chaos import Lyapunov, lyapunov
from .comparison import Comparison, Order, compare, order
from .drift import Drift, DriftLaw, drift
from .ensembles import Ensemble, ensemble
from .events import Event
from .exports import export
from .imports import import_urdf
from .functions import NotHere, from_functions
from .linearisation import Linearisation, Located, linearise
from .orbits import Orbit, Periodic, periodic
from .regulator import Regulator, control
from .stepper import Stepper
from .symbolic import from_mechanics, from_sympy
from .system import Facts, Model, System, load, methods, models
from .trajectory import Trajectory, run, simulate

__version__ = _lib.nh_version().decode()

__all__ = [
    "Comparison",
    "ComputationError",
    "Drift",
    "DriftLaw",
    "Ensemble",
    "Error",
    "Event",
    "Facts",
    "Linearisation",
    "Located",
    "Lyapunov",
    "Model",
    "ModelError",
    "NotHere",
    "Orbit",
    "Order",
    "Periodic",
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
    "from_functions",
    "from_mechanics",
    "from_sympy",
    "import_urdf",
    "linearise",
    "load",
    "lyapunov",
    "methods",
    "models",
    "order",
    "periodic",
    "run",
    "simulate",
]
