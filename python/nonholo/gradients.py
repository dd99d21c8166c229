"""gradient(): the derivative of one number by everything that a run depends on; and steps as a map with products of its derivative."""

from __future__ import annotations

import ctypes as C
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from . import _header as H
from ._library import call, create, lib, own, remarks, warn
from ._names import helpful
from ._values import whole
from ._work import guarded
from .fitting import _table
from .inputs import Inputs, functions
from .system import Projection, Setting, Start, System, _address, _text, as_system, start_options, vector
from .trajectory import fill_options, method_text

PROGRESS = dict(H.nh_gradient_options._fields_)["progress"]


class Gradient(dict):
    """The derivatives by name. ``method``, ``steps``, ``t`` (of the end) and ``memory`` (bytes of states) say how they were computed."""

    method: str
    steps: int
    t: float
    memory: int
    remarks: list[str]


def _gather(handle: int) -> tuple[float, Gradient]:
    variable = lambda i: C.cast(lib.nh_gradient_variable(handle, i), C.POINTER(H.nh_varied)).contents.name.decode()
    found = Gradient((variable(i), lib.nh_gradient_by(handle, i)) for i in range(lib.nh_gradient_variables(handle)))
    found.method = C.cast(lib.nh_gradient_plan(handle), C.POINTER(H.nh_plan)).contents.method.decode()
    found.steps, found.t = lib.nh_gradient_steps(handle), lib.nh_gradient_end(handle)
    found.memory = lib.nh_gradient_memory(handle)
    found.remarks = remarks(lib.nh_gradient_remarks, lib.nh_gradient_remark, handle)
    return lib.nh_gradient_value(handle), found


def _names(names: str | Sequence[str]) -> str:
    return names if isinstance(names, str) else ",".join(names)


@helpful
def gradient(
    model: Any,
    of: str | Sequence[str] | None = None,
    by: str | Sequence[str] = "all",
    method: str | None = None,
    *,
    at: Any = "end",
    weights: Any = None,
    memory: float = 100e6,
    step: float | None = None, steps: int | None = None, time: float | None = None,
    tolerance: float | None = None, absolute: float | None = None, until: str | Sequence[str] | None = None,
    start: Start = None, set: Setting | None = None, input: Inputs | None = None, input_period: float | None = None,
    q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto",
    **options: Any,
) -> tuple[float, Gradient]:
    """The value of a number and its derivatives by any number of variables, as a dictionary, computed backwards through the run. ``of`` is a
    coordinate, a velocity, an observable or ``"energy"``. With ``at="end"`` the number is its value at the end, with ``"integral"`` its
    integral over time; with data (as for :func:`fit`) it is the sum of the squared differences from their columns, or from those that ``of``
    names. ``by`` has names of parameters, start values (``"start x'"``) and inputs, with ``*`` for any letters, or ``"all"``. States are
    kept in ``memory`` bytes, and the others computed again. Other arguments are those of :func:`simulate`.

    >>> import nonholo
    >>> model = '''model spring
    ... parameter m = 2, k = 3
    ... coordinate x
    ... lagrangian m/2*x'^2 - k/2*x^2
    ... start x = 1
    ... '''
    >>> value, by = nonholo.gradient(model, "x", "m,k,start x", "gauss:stages=3", step=0.05, time=2)
    >>> from math import cos, sin, sqrt
    >>> w = sqrt(3/2)
    >>> abs(value - cos(2*w)) < 1e-10, abs(by["k"] + sin(2*w)*2/(2*2*w)) < 1e-9
    (True, True)
    """
    system = as_system(model, set, input, input_period)
    if functions(system._given):
        raise ValueError("an input that is a Python function cannot be differentiated; give it as an expression or a table")
    data = None if isinstance(at, str) and at in ("end", "integral") else _table(at, weights, 0)
    described, kept_columns = data.describe() if data else (None, None)
    begin, kept_start = start_options(system, start, q, v, t0, project)
    how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    text = method_text(method, options).encode() if method else None
    fill_options(how, text, step or 0.0, whole(C.c_int64, 0 if steps is None else steps, "steps"),  # type: ignore[arg-type]
                 compose, compensated, backend)
    how.tolerance, how.absolute, how.time, how.t0 = tolerance or 0.0, absolute or 0.0, time or 0.0, t0
    if step and not time and steps is None:
        how.steps = -1
    how.until = _names(until).encode() if until else None
    wanted = H.nh_gradient_options(
        size=C.sizeof(H.nh_gradient_options), of=_names(of).encode() if of is not None else None,
        at=H.NH_GRADIENT_DATA if data else H.NH_GRADIENT_INTEGRAL if at == "integral" else H.NH_GRADIENT_END,
        data=C.addressof(described) if data else None, by=_names(by).encode(), memory=int(memory), start=C.addressof(begin),
        run=C.addressof(how), progress=PROGRESS(guarded(lambda done, all: None)))
    handle = create(lib.nh_gradient_compute, system._handle, C.addressof(wanted))
    try:
        value, found = _gather(handle)
    finally:
        lib.nh_gradient_free(handle)
    warn(found.remarks)
    return value, found


class Derivative(NamedTuple):
    """Derivatives by the state, by the inputs and by the parameters of a map."""

    state: np.ndarray
    inputs: np.ndarray
    parameters: np.ndarray


class Map:
    """Steps as a function of the state ``z`` (coordinates, then velocities), the inputs and the time, made by :meth:`System.map`. A call
    returns the state after the steps and two functions: ``vjp(w)`` has the derivatives of ``w @ z1`` by state, inputs and
    ``parameters``, and ``jvp(dz, inputs, parameters)`` the change of ``z1``; its arguments may have rows, for many directions at once. A
    change of a rotation has three numbers, along its body axes, in place of its four coordinates. Both belong to the latest call."""

    def __init__(self, system: System, method: str, step: float, steps: int, parameters: Sequence[str], compose: str | None,
                 compensated: bool | None):
        how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
        fill_options(how, method.encode(), step, 0, compose, compensated, "tape")
        self.system, self.steps = system, steps
        names = ",".join(parameters).encode() if parameters else None
        self._handle = create(lib.nh_map_create, system._handle, C.byref(how), names)
        own(self, lib.nh_map_free, self._handle)
        self.parameters = [_text(lib.nh_map_parameter(self._handle, i)) for i in range(lib.nh_map_parameters(self._handle))]
        self._positions, self._velocities = lib.nh_system_directions(system._handle), len(system.velocities)
        self.size = self._positions + self._velocities  #: numbers of a change of the state
        self._calls = 0

    def _inputs(self, given: Any, rows: tuple[int, ...] = ()) -> np.ndarray:
        names = self.system.inputs
        values = np.zeros(rows + (len(names),))
        if isinstance(given, Mapping):
            for name, value in given.items():
                if name not in names:
                    raise ValueError(f"inputs: {name!r} is unknown; {self.system.name} has {', '.join(names) or 'no inputs'}")
                values[..., names.index(name)] = value
            return values
        return np.ascontiguousarray(np.broadcast_to(np.asarray(given, dtype=float), values.shape))

    def __call__(self, z: Any, inputs: Any = None, t: float = 0.0) -> tuple[np.ndarray, Callable[..., Derivative], Callable[..., np.ndarray]]:
        coordinates = len(self.system.coordinates)
        z = vector(z, coordinates + self._velocities, "z")
        z1 = np.zeros_like(z)
        u = None if inputs is None else self._inputs(inputs)
        call(lib.nh_map_apply, self._handle, t, _address(z), _address(z[coordinates:]), None if u is None else _address(u), self.steps,
             _address(z1), _address(z1[coordinates:]))
        self._calls += 1
        mine = self._calls

        def check() -> None:
            if mine != self._calls:
                raise ValueError("the map was called again since; these derivatives belong to an earlier state")

        def vjp(w: Any) -> Derivative:
            check()
            return self._backward(w)

        def jvp(dz: Any, inputs: Any = None, parameters: Any = None) -> np.ndarray:
            check()
            return self._forward(dz, inputs, parameters)

        return z1, vjp, jvp

    def _backward(self, w: Any) -> Derivative:
        n = self._positions
        w = vector(w, n + self._velocities, "w")
        out = Derivative(np.zeros_like(w), np.zeros(len(self.system.inputs)), np.zeros(len(self.parameters)))
        call(lib.nh_map_backward, self._handle, _address(w), _address(w[n:]), _address(out.state), _address(out.state[n:]),
             _address(out.inputs), _address(out.parameters))
        return out

    def _forward(self, dz: Any, inputs: Any, parameters: Any) -> np.ndarray:
        n, size = self._positions, self._positions + self._velocities
        dz = np.zeros(size) if dz is None else np.asarray(dz, dtype=float)
        rows = np.broadcast_shapes(dz.shape[:-1], np.shape(inputs)[:-1] if inputs is not None and not isinstance(inputs, Mapping) else (),
                                   np.shape(parameters)[:-1] if parameters is not None else ())
        if dz.shape[-1:] != (size,):
            raise ValueError(f"a change of the state needs {size} numbers in its last axis, not {dz.shape[-1] if dz.ndim else 'one number'}")
        count = int(np.prod(rows))
        dz = np.broadcast_to(dz, rows + (size,)).reshape(count, size)
        dq, dv = np.ascontiguousarray(dz[:, :n]), np.ascontiguousarray(dz[:, n:])
        du = None if inputs is None else self._inputs(inputs, rows)
        dp = None if parameters is None else np.ascontiguousarray(np.broadcast_to(np.asarray(parameters, dtype=float), rows + (len(self.parameters),)))
        q1, v1 = np.zeros_like(dq), np.zeros_like(dv)
        call(lib.nh_map_forward, self._handle, count, _address(dq), _address(dv), None if du is None else _address(du),
             None if dp is None else _address(dp), _address(q1), _address(v1))
        return np.concatenate([q1, v1], axis=1).reshape(rows + (size,))

    def __repr__(self) -> str:
        return f"<map of {self.system.name}: {self.steps} step{'s' if self.steps != 1 else ''}>"


__all__ = ["Derivative", "Gradient", "Map", "gradient"]
