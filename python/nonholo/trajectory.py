"""One trajectory: simulate() and its result."""

from __future__ import annotations

import ctypes as C
import math
import os
import time as clock
import weakref
from typing import Any

import numpy as np

from . import _header as H
from ._library import ComputationError, Error, array_at, call, create, lib
from .progress import Bar, Progress
from .system import Setting, Start, System, _address, _text, as_system, settle_start

POINTS = 10000  # recorded unless given, as on the command line
TABLE = 32 << 20  # numbers in a table; beyond this fewer points are recorded
PIECE = 0.1  # seconds between checks for Ctrl-C and updates of the bar

BACKENDS = {"auto": H.NH_BACKEND_AUTO, "tape": H.NH_BACKEND_TAPE, "compiled": H.NH_BACKEND_COMPILED}
COMPENSATED = {None: H.NH_AS_ADVISED, True: H.NH_ON, False: H.NH_OFF}


class Trajectory:
    """The result of :func:`simulate`: arrays whose first axis is time.

    ``t``, ``q``, ``v``, ``energy`` and ``residual`` refer to the library's memory; nothing is copied.
    ``trajectory["x1"]`` is a column by name.

    >>> import nonholo
    >>> run = nonholo.simulate("chaplygin-sleigh", method="gauss", step=0.1, steps=100)
    >>> run.q.shape, run.v.shape, run.multipliers.shape
    ((101, 3), (101, 3), (101, 1))
    >>> run.columns
    ['t', 'x1', 'x2', 'theta', "x1'", "x2'", "theta'", 'energy', 'forward']
    >>> bool(run.constraint_max < 1e-14)
    True
    """

    def __init__(self, system: System, run: _Run, record: _Record):
        self.system, self._record = system, record
        self.method = run.method
        self.step = run.step
        self.steps: int = lib.nh_run_steps(run.handle)
        self.seconds: float = lib.nh_run_seconds(run.handle)  #: spent stepping
        self.backend = "compiled" if lib.nh_run_backend(run.handle) == H.NH_BACKEND_COMPILED else "tape"
        self._table = record.table()
        self.columns: list[str] = record.columns()
        self._multipliers: np.ndarray | None = None

    # ---- columns ----

    def _columns(self, first: int, count: int) -> np.ndarray:
        return self._table[:, first : first + count]

    @property
    def t(self) -> np.ndarray:
        """The times."""
        return self._table[:, 0]

    @property
    def q(self) -> np.ndarray:
        """The coordinates, one column for each."""
        return self._columns(1, len(self.system.coordinates))

    @property
    def v(self) -> np.ndarray:
        """The velocities, one column for each."""
        return self._columns(1 + len(self.system.coordinates), len(self.system.velocities))

    @property
    def _energy_column(self) -> int:
        return 1 + len(self.system.coordinates) + len(self.system.velocities)

    @property
    def energy(self) -> np.ndarray:
        """The energy at each point."""
        return self._table[:, self._energy_column]

    @property
    def residual(self) -> np.ndarray:
        """The largest constraint residual at each point."""
        return self._table[:, -1]

    @property
    def observables(self) -> dict[str, np.ndarray]:
        """The observables by name."""
        return {name: self[name] for name in self.columns[self._energy_column + 1 :]}

    @property
    def multipliers(self) -> np.ndarray:
        """The multipliers of the continuous equations at each point, one column for each constraint."""
        if self._multipliers is None:
            values = np.zeros((len(self), len(self.system.constraints)))
            call(lib.nh_record_multipliers, self._record.handle, _address(values))
            self._multipliers = values
        return self._multipliers

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._table[:, self.columns.index(name)]
        except ValueError:
            raise KeyError(f"no column {name!r}; there are {', '.join(self.columns)}") from None

    def __len__(self) -> int:
        return len(self._table)

    # ---- measures ----

    @property
    def energy_error_max(self) -> float:
        """The largest difference of the energy from its start value."""
        return lib.nh_record_energy_error(self._record.handle)

    @property
    def constraint_max(self) -> float:
        """The largest constraint residual of all points."""
        return lib.nh_record_constraint_max(self._record.handle)

    # ---- elsewhere ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the points to a file; its extension selects the format, as for ``nonholo run -o``."""
        call(lib.nh_record_write, self._record.handle, os.fspath(path).encode())

    def plot(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Draws the points with gnuplot; the extension selects the format (.svg, .png, .pdf)."""
        title = title or f"{self.system.name}, {self.method}, step {self.step:g}"
        call(lib.nh_record_plot, self._record.handle, os.fspath(path).encode(), title.encode())

    def to_xarray(self) -> Any:
        """An ``xarray.Dataset`` with labelled axes (needs xarray)."""
        import xarray

        s = self.system
        data = {
            "q": (("t", "coordinate"), self.q),
            "v": (("t", "velocity"), self.v),
            "multiplier": (("t", "constraint"), self.multipliers),
            "energy": ("t", self.energy),
            "residual": ("t", self.residual),
        }
        data.update({name: ("t", values) for name, values in self.observables.items()})
        axes = {"t": self.t, "coordinate": s.coordinates, "velocity": s.velocities, "constraint": s.constraints}
        facts = {"model": s.name, "method": self.method, "step": self.step, **s.parameters}
        return xarray.Dataset(data, coords=axes, attrs=facts)

    def __repr__(self) -> str:
        return (
            f"<trajectory of {self.system.name}: {self.method}, {self.steps} steps of {self.step:g}, "
            f"{len(self)} points, energy error {self.energy_error_max:.3g}, constraints {self.constraint_max:.3g}>"
        )


class _Record:
    def __init__(self, system: System):
        self.system = system
        self.handle = create(lib.nh_record_create, system._handle)
        weakref.finalize(self, lib.nh_record_free, self.handle)

    def columns(self) -> list[str]:
        return [_text(lib.nh_record_column_name(self.handle, i)) for i in range(lib.nh_record_columns(self.handle))]

    def table(self) -> np.ndarray:
        """The rows, without a copy; the array keeps the record alive."""
        stride = C.c_int()
        rows = lib.nh_record_rows(self.handle)
        place = lib.nh_record_table(self.handle, C.byref(stride))
        table = array_at(place, rows, stride.value, owner=self)
        table.flags.writeable = False
        return table


def fill_options(
    options: H.nh_run_options, method: bytes, step: float, steps: int, compose: str | None, compensated: bool | None, backend: str
) -> None:
    options.method, options.step, options.steps = method, step, steps
    options.compose = compose.encode() if compose else None
    options.backend = choose(BACKENDS, backend, "backend")
    options.compensated = choose(COMPENSATED, compensated, "compensated")


class _Run:
    def __init__(self, system: System, method: str, step: float, options: H.nh_run_options):
        self.system, self.method, self.step = system, method, float(step)
        self.handle = create(lib.nh_run_create, system._handle, C.byref(options))
        weakref.finalize(self, lib.nh_run_free, self.handle)


class Beginning:
    """The starting point of runs: a system, a time and a state."""

    def __init__(self, system: System, t0: float, start: Start, q: Any, v: Any, project: bool):
        self.system, self.t0 = system, t0
        self.q, self.v = settle_start(system, t0, start, q, v, project)

    def run(self, method: str, step: float, steps: int, compose: str | None, compensated: bool | None, backend: str) -> _Run:
        """A run that starts here; an error if the state violates the constraints."""
        options = H.nh_run_options()
        fill_options(options, method.encode(), step, steps, compose, compensated, backend)
        run = _Run(self.system, method, step, options)
        call(lib.nh_run_start, run.handle, 0, self.t0, _address(self.q), _address(self.v))
        return run


def choose(choices: dict[Any, int], value: Any, what: str) -> int:
    if value not in choices:
        raise ValueError(f"{what} needs one of {', '.join(map(repr, choices))}, not {value!r}")
    return choices[value]


def method_text(method: str, options: dict[str, Any]) -> str:
    """``gauss`` and ``stages=3`` in the form that the library reads: ``gauss:stages=3``.

    >>> method_text("newmark:beta=.1", {"alpha": 0.5})
    'newmark:beta=.1,alpha=0.5'
    """
    if not options:
        return method
    pairs = ",".join(f"{key}={value if isinstance(value, (str, int)) else repr(float(value))}" for key, value in options.items())
    return f"{method}{',' if ':' in method else ':'}{pairs}"


def count_steps(step: float, steps: int | None, time: float | None) -> int:
    if (steps is None) == (time is None):
        raise ValueError("give either steps or time")
    if not step > 0:
        raise ValueError(f"the step must be a positive number, not {step!r}")
    if steps is not None:
        if steps != int(steps) or steps < 0:
            raise ValueError(f"steps must be a whole number, not {steps!r}")
        return int(steps)
    assert time is not None
    if not (time >= 0 and math.isfinite(time)):
        raise ValueError(f"time must be at least 0, not {time!r}")
    # halves are rounded away from zero, as by C's round()
    return math.floor(time / step + 0.5)


def record_every(every: int | None, steps: int, columns: int) -> int:
    """The number of steps between recorded points; a default if ``every`` is None."""
    if every is not None:
        if every != int(every) or every < 1:
            raise ValueError(f"every must be a whole number from 1 on, not {every!r}")
        return int(every)
    points = min(POINTS, max(100, TABLE / columns))
    return math.ceil(steps / points) if steps > points else 1


def _follow(run: _Run, record: _Record, steps: int, every: int, progress: Progress) -> None:
    """Advances in short pieces, so that Ctrl-C works and the bar is updated."""
    bar = Bar(progress)
    done, piece = 0, every
    try:
        while True:
            now = min(piece, steps - done)
            begun = clock.monotonic()
            call(lib.nh_record_follow, record.handle, run.handle, 0, now, every)
            done += now
            bar.update(done / steps if steps else 1.0)
            if done >= steps:
                return
            if clock.monotonic() - begun < PIECE / 2:
                piece *= 2
    finally:
        bar.end()


def simulate(
    model: Any,
    method: str = "gauss",
    *,
    step: float, steps: int | None = None, time: float | None = None, every: int | None = None,
    start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: bool = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto", progress: Progress = None,
    **options: Any,
) -> Trajectory:
    """Computes one trajectory; gives the same numbers as ``nonholo run``, bit for bit.

    ``model`` is a :class:`Model`, a :class:`System`, or anything that :func:`load` accepts; ``options`` are those of
    the method (``stages=3``). Give the step size ``step`` and either the number of ``steps`` or the length ``time``.

    ``set`` changes parameters. ``start`` changes parts of the start state, ``q`` and ``v`` replace all of it; ``t0`` is
    its time, and ``project`` projects the start velocities onto the constraints. Every ``every``-th step is recorded;
    unless given, about 10,000 points are. ``compose`` names a composition, ``compensated`` switches compensated sums
    on or off (None does what the method advises), and ``backend`` is "auto", "tape" or "compiled". ``progress`` is
    True, False, None (only in terminals and notebooks), or a function of the completed fraction.

    >>> import nonholo
    >>> run = nonholo.simulate("rolling-disk", "gauss", stages=3, step=0.1, time=50, start={"theta": 0.5}, project=True)
    >>> len(run.t), bool(run.energy_error_max < 1e-6)
    (501, True)
    """
    count = count_steps(step, steps, time)
    beginning = Beginning(as_system(model, set), t0, start, q, v, project)
    system = beginning.system
    run = beginning.run(method_text(method, options), step, count, compose, compensated, backend)
    record = _Record(system)
    spacing = record_every(every, count, lib.nh_record_columns(record.handle))
    try:
        _follow(run, record, count, spacing, progress)
    except Error as error:
        raise_with_cause(system, error, Trajectory(system, run, record) if lib.nh_record_rows(record.handle) else None)
    return Trajectory(system, run, record)


def raise_with_cause(system: System, error: Error, trajectory: Any) -> None:
    """Raises the failure of a run; if a Python function stopped it, its exception is the cause."""
    error.trajectory = trajectory
    cause = system._keep.take_exception() if system._keep else None
    if isinstance(error, ComputationError) and cause is not None:
        raise error from cause
    raise error


__all__ = ["Trajectory", "simulate"]
