"""A stepper: a simulation inside the caller's own loop, for example a controller or a learning program."""

from __future__ import annotations

import ctypes as C
from time import monotonic
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _header as H
from ._library import array_at, call, check, create, lib, own
from ._names import helpful
from ._values import whole
from .inputs import Inputs, functions, members as members_of
from .system import Model, Projection, Setting, Start, System, _address, choose_start, load, vector
from .trajectory import PAUSE, fill_options, method_text

if TYPE_CHECKING:
    from .gradients import Map

#: the same function without checks of its arguments, which take longer than a step
_step = lib["nh_stepper_step"]
_step.argtypes = None
FAST = 100  # steps in one call; longer calls are divided into pieces, between which an interrupt is handled


_CLOSED = object()  # instead of a pointer


def _closed() -> ValueError:
    return ValueError("the stepper is closed")


class _Memory:
    """The library's stepper. The views of its arrays refer to this object, so that it is freed together with the last of them."""

    def __init__(self, handle: int):
        self.handle = handle
        own(self, lib.nh_stepper_free, handle)


class Stepper:
    """Advances a model step by step, with inputs that may change before every step.

    Every input of the model is an attribute that can be set; ``t``, ``q`` and ``v`` are the current state. The arrays are
    views: they show the new state after each step.

    >>> import nonholo
    >>> cart = '''
    ... model cart
    ... coordinate x
    ... input u = 0
    ... lagrangian x'^2/2
    ... force x = u
    ... '''
    >>> with nonholo.Stepper(cart, step=0.1, method="gauss") as s:
    ...     for _ in range(10):
    ...         s.u = 1 - s.q[0] - s.v[0]
    ...         s.step()
    ...     round(s.t, 12), bool(abs(s.q[0] - 0.3403) < 0.02)
    (1.0, True)

    With ``members``, that many trajectories are computed side by side: ``q`` and ``v`` have the axes member, component, and
    an input takes one number for all members or an array with one number for each.

    >>> with nonholo.Stepper(cart, step=0.1, method="gauss", members=3) as s:
    ...     s.u = [0, 1, 2]
    ...     s.step(10)
    ...     s.v[:, 0].round(12).tolist()
    [0.0, 1.0, 2.0]

    ``input`` gives some of the inputs by expressions, tables or functions, as in :func:`run`; these are
    then not set by hand. An input that is never set keeps its default at the start.
    """

    #: so that a misspelt input is an error
    __slots__ = ("model", "members", "system", "inputs", "names", "_many", "_method", "_options", "_parameters", "_given", "_period",
                 "_one", "_handle", "_memory", "_asks", "_q", "_v", "_map", "_single", "_time", "_pointer", "_report", "_report_pointer",
                 "__weakref__")

    @helpful
    def __init__(
        self, model: Any, method: str | None = None, *, step: float, members: int | None = None,
        start: Start = None, set: Setting | None = None, input: Inputs | None = None, input_period: float | None = None,
        q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
        compose: str | None = None, compensated: bool | None = None, backend: str = "auto", **options: Any,
    ):
        if isinstance(model, System):
            raise ValueError("a stepper needs a model, whose inputs it can leave open, not a system")
        if members is not None and not (members >= 1 and members == int(members)):
            raise ValueError(f"members must be a whole number of at least 1, not {members!r}")
        self.model: Model = model if isinstance(model, Model) else load(model)
        self.members = members
        self._many = 1 if members is None else int(members)
        self._method = method_text(method or "gauss", options) if method or options else "gauss"
        self._options = (float(step), compose, compensated, backend)
        self._parameters: dict[str, Any] = dict(set or {})
        self._given, self._period = dict(input or {}), input_period
        self._one = C.c_int64(1)
        self._build()
        self._define_inputs()
        self.reset(start=start, q=q, v=v, t0=t0, project=project)

    # ---- building ----

    def _build(self) -> None:
        standard = self.model.system(self._parameters)
        given = {name.partition(":")[0].partition("[")[0] for name in self._given}
        opened = {name.partition("[")[0]: None for name in standard.inputs}
        inputs = {**{f"{name}:held": None for name in opened if name not in given}, **self._given}
        self.system = self.model._build(self._parameters, inputs, self._period)
        want = H.nh_run_options(size=C.sizeof(H.nh_run_options))
        step, compose, compensated, backend = self._options
        fill_options(want, self._method.encode(), step, 0, compose, compensated, backend)
        want.members, want.inputs = self._many, self.system._inputs_callback
        self._handle: int | None = create(lib.nh_stepper_create, self.system._handle, C.byref(want))
        self._memory: _Memory | None = _Memory(self._handle)
        self._map: Map | None = None  # made when derivatives are wanted
        self._asks = bool(functions(self._given))
        memory = self._memory
        shape = lambda count: (count,) if self.members is None else (self._many, count)
        view = lambda place, count: array_at(place, *shape(count), owner=memory)
        nq, nv, nu = len(self.system.coordinates), len(self.system.velocities), len(self.system.inputs)
        #: coordinates and velocities, as views
        self._q, self._v = view(lib.nh_stepper_q(self._handle), nq), view(lib.nh_stepper_v(self._handle), nv)
        self._q.flags.writeable = self._v.flags.writeable = False
        #: all inputs, in the order of ``names``: a view that may be written to
        self.inputs = view(lib.nh_stepper_inputs(self._handle), nu)
        self.names = self.system.inputs
        self._single = (C.c_double * max(nu, 1)).from_address(lib.nh_stepper_inputs(self._handle)) if nu else None
        self._time = C.c_double.from_address(lib.nh_stepper_time(self._handle))
        self._pointer: Any = C.c_void_p(self._handle)
        self._report = H.nh_report()
        self._report_pointer = C.byref(self._report)

    def _define_inputs(self) -> None:
        """Makes inputs and (read-only) parameters attributes of a class of this stepper, unless an
        attribute of that name exists."""
        names = {name.partition("[")[0]: None for name in self.names}
        attributes = {name: _parameter(name) for name in self.system.parameters}
        attributes.update({name: _input(name, members_of(self.names, name), name in self.names, self.members is None) for name in names})
        free = {name: what for name, what in attributes.items() if not hasattr(type(self), name)}
        self.__class__ = type("Stepper", (type(self),), {"__slots__": (), **free})

    # ---- steps ----

    def step(self, steps: int = 1) -> None:
        """Advances by a step, or by several with the same inputs."""
        if steps != 1 or self._asks:
            self._advance(steps)
            return
        try:
            status = _step(self._pointer, self._one, self._report_pointer)
        except C.ArgumentError:  # the pointer is no longer valid
            raise _closed() from None
        if status:
            check(status, self._report)

    def _advance(self, steps: int) -> None:
        """Advances in short pieces, so that Ctrl-C is handled, and takes care of exceptions of functions."""
        left, piece = whole(C.c_int64, steps, "steps"), FAST
        while True:
            piece, begun = min(piece, left), monotonic()
            call(lib.nh_stepper_step, self._open(), piece)
            left -= piece
            if left <= 0:
                return
            piece = 2 * piece if monotonic() - begun < PAUSE else max(1, piece // 2)

    def _open(self) -> int:
        """The library's object, unless it was closed."""
        if self._handle is None:
            raise _closed()
        return self._handle

    @property
    def t(self) -> float:
        """The time."""
        return self._time.value

    @property
    def q(self) -> np.ndarray:
        """The coordinates: a view that shows the new ones after each step. Assigning to it sets them."""
        return self._q

    @q.setter
    def q(self, values: Any) -> None:
        self._start(None, self.t, values, None)

    @property
    def v(self) -> np.ndarray:
        """The velocities, likewise."""
        return self._v

    @v.setter
    def v(self, values: Any) -> None:
        self._start(None, self.t, None, values)

    def jacobian(self) -> tuple[np.ndarray, np.ndarray]:
        """``A`` and ``B`` of the next step from the present state with the present inputs: the derivatives of the state after it (coordinates,
        then velocities) by the state before it and by the inputs. With ``members``, the first axis is theirs. A rotation has three
        coordinates here, small turns about the axes of its body. Nothing moves.

        >>> import nonholo
        >>> with nonholo.Stepper('''model cart
        ... coordinate x
        ... input u = 0
        ... lagrangian x'^2/2
        ... force x = u
        ... ''', "gauss", step=0.1) as s:
        ...     A, B = s.jacobian()
        >>> A.round(12).tolist(), B.round(12).tolist()
        ([[1.0, 0.1], [0.0, 1.0]], [[0.005], [0.1]])
        """
        self._open()
        step, compose, compensated, _ = self._options
        if self._map is None:
            self._map = self.system.map(step, self._method, compose=compose, compensated=compensated)
        rows = [self._slopes(self._map, member) for member in range(self._many)]
        A, B = np.array([a for a, _ in rows]), np.array([b for _, b in rows])
        return (A[0], B[0]) if self.members is None else (A, B)

    def _slopes(self, step: Map, member: int) -> tuple[np.ndarray, np.ndarray]:
        row = lambda array: array.reshape(self._many, -1)[member]
        _, _, jvp = step(np.concatenate([row(self._q), row(self._v)]), row(self.inputs) if self.names else None, self.t)
        size, count = step.size, len(self.names)
        by_state = jvp(np.eye(size)).T
        return by_state, jvp(np.zeros((count, size)), np.eye(count)).T if count else np.zeros((size, 0))

    # ---- states ----

    def _start(self, which: Sequence[int] | None, t: float, q: Any, v: Any) -> None:
        """Sets the states of some or all members; None leaves a state unchanged."""
        chosen = range(self._many) if which is None else [int(i) for i in which]
        rows_q, rows_v = self._rows(self._q, q, len(chosen), "q"), self._rows(self._v, v, len(chosen), "v")
        kept = self.inputs.copy()
        for place, member in enumerate(chosen):
            here_q = rows_q[place] if q is not None else rows_q[member]
            here_v = rows_v[place] if v is not None else rows_v[member]
            call(lib.nh_stepper_start, self._open(), member, t, _address(here_q), _address(here_v))
        self.inputs[...] = kept

    def _rows(self, now: np.ndarray, values: Any, count: int, name: str) -> np.ndarray:
        """Rows of numbers, one for each of the members; the current values of all members if none are given."""
        width = now.shape[-1]
        if values is None:
            return now.copy().reshape(self._many, width)
        array = np.array(values, dtype=float)
        if array.ndim == 1:
            return np.tile(vector(array, width, name), (count, 1))
        if array.shape != (count, width):
            raise ValueError(f"{name} needs {width} numbers, or {count} rows of them, not an array of shape {array.shape}")
        return np.ascontiguousarray(array)

    def reset(self, members: Sequence[int] | None = None, *, start: Start = None, q: Any = None, v: Any = None,
              t0: float = 0.0, project: Projection = False) -> None:
        """Returns to the start state of the model or to the given one; ``members`` lists those that restart while the others continue."""
        many = any(value is not None and np.ndim(value) == 2 for value in (q, v))
        if many:
            first_q, first_v = choose_start(self.system, t0, start, None, None, project)
            given_q, given_v = first_q if q is None else q, first_v if v is None else v
        else:
            given_q, given_v = choose_start(self.system, t0, start, q, v, project)
        whole = members is None
        defaults = None if whole else self.inputs.copy()
        if whole:
            self.inputs[...] = 0
        self._start(members, t0, given_q, given_v)
        if whole:
            self._defaults()
        else:
            self.inputs[...] = defaults

    def _defaults(self) -> None:
        one = np.zeros(max(len(self.names), 1))
        run = lib.nh_stepper_run(self._open())
        for member in range(self._many if self.names else 0):
            call(lib.nh_run_get_inputs, run, member, _address(one))
            self.inputs.reshape(self._many, -1)[member] = one[: len(self.names)]

    def set(self, **parameters: Any) -> None:
        """Changes parameters and continues from the current state. The equations are derived again."""
        self._open()
        t, q, v, u = self.t, self._q.copy(), self._v.copy(), self.inputs.copy()
        before, self._parameters = self._parameters, {**self._parameters, **parameters}
        try:
            self._build()
        except Exception:
            self._parameters = before
            raise
        self._start(None, t, q, v)
        self.inputs[...] = u

    # ---- the rest ----

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters and their values."""
        return self.system.parameters

    @property
    def backend(self) -> str:
        """The backend that evaluates the equations: "tape" or "compiled"."""
        return "compiled" if lib.nh_run_backend(lib.nh_stepper_run(self._open())) == H.NH_BACKEND_COMPILED else "tape"

    def close(self) -> None:
        """Closes the stepper: the state and the inputs keep their values. The memory is freed when no view of it is left."""
        if self._handle is None:
            return
        self._q, self._v, self.inputs = self._q.copy(), self._v.copy(), self.inputs.copy()
        self._time = C.c_double(self._time.value)
        self._single = (C.c_double * len(self._single))(*self._single) if self._single is not None else None
        self._pointer = _CLOSED
        self._handle = self._memory = self._map = None

    def __enter__(self) -> Stepper:
        return self

    def __exit__(self, *what: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:  # nor copied
        raise TypeError("a stepper cannot be copied or pickled; create another one for its model and set q, v and the inputs")

    def __repr__(self) -> str:
        many = "" if self.members is None else f", {self.members} members"
        return f"<stepper of {self.model.name}: {self._method}, step {self._options[0]:g}, t = {self.t:g}{many}>"


def _parameter(name: str) -> property:
    """The read-only attribute of a parameter."""

    def get(self: Stepper) -> float:
        return self.system.parameters[name]

    def put(self: Stepper, value: Any) -> None:
        raise AttributeError(f"{name} is a parameter: set({name}={value!r}) changes it")

    return property(get, put, doc=f"The parameter {name}.")


def _input(name: str, places: list[int], alone: bool, single: bool) -> property:
    """The attribute of an input: a number, or an array for a family; with members, an array with one entry for each."""
    place: Any = places[0] if alone else slice(places[0], places[-1] + 1)

    def get(self: Stepper) -> Any:
        return self.inputs[..., place] if not (alone and single) else self._single[place]

    def put(self: Stepper, value: Any) -> None:
        self.inputs[..., place] = value

    def put_one(self: Stepper, value: Any) -> None:
        self._single[place] = value

    return property(get, put_one if alone and single else put, doc=f"The input {name}.")


__all__ = ["Stepper"]
