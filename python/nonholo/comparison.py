"""compare() and order(): what methods preserve, what they cost, and how fast their errors decrease."""

from __future__ import annotations

import contextlib
import ctypes as C
import math
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import numpy as np

from . import _header as H
from ._library import Error, attempt, call, check, create, lib, own
from ._names import helpful
from ._plan import most_demanding, plan
from ._work import Work, guarded
from .notebook import facts_table, table
from .progress import Bar, Progress
from .system import Projection, Setting, Start, System, _address, _text, as_system
from .trajectory import Beginning, _Run, count_steps, fill_options, record_every

STOP = dict(H.nh_run_options._fields_)["stop"]
JUDGED_POINTS, SIZED_POINTS, SURFACE_POINTS = 20000, 64, 512  # used for a verdict, as on the command line

VERDICTS = {
    H.NH_ORDER_MEASURED: "measured",
    H.NH_ORDER_ROUGH: "rough",
    H.NH_ORDER_ROUND_OFF: "round-off",
    H.NH_ORDER_IRREGULAR: "irregular",
    H.NH_ORDER_FAILED: "failed",
}


@dataclass
class Comparison:
    """The result of :func:`compare` for one method: for each conserved quantity, for ``leapfrog_invariant`` where there is one, for ``constraints``, and for
    ``integrated constraints`` if they are holonomic, the largest error, the drift (the slope, without the effect of oscillations, and its standard deviation), and a
    verdict: "round-off", "bounded", "linear drift", "exponential growth", "random walk", "lost", "not finite" or "unclear".
    ``failure`` is the error that ended the run, or None."""

    method: str
    largest: dict[str, float]
    drift: dict[str, float]
    drift_error: dict[str, float]
    verdict: dict[str, str]
    steps: int
    seconds: float
    ns_per_step: float
    failure: Error | None = None

    def _repr_html_(self) -> str:
        rows = [[name, f"{self.largest[name]:.3g}", f"{self.drift.get(name, math.nan):.2g}", self.verdict.get(name, "")] for name in self.largest]
        return facts_table({"method": self.method, "steps": self.steps, "ns a step": f"{self.ns_per_step:.4g}"}) + table(
            ["", "largest error", "drift", "verdict"], rows)


@dataclass
class Order:
    """The result of :func:`order` for one method: the errors for the step sizes ``h`` and the order fitted to
    them. ``verdict`` is "measured", "rough", "round-off", "irregular" or "failed"."""

    method: str
    order: float
    uncertainty: float
    verdict: str
    h: list[float]
    errors: list[float]
    failures: list[str] = field(default_factory=list)

    def _repr_html_(self) -> str:
        rows = [[f"{h:g}", f"{error:.3g}"] for h, error in zip(self.h, self.errors)]
        return facts_table({"method": self.method, "order": f"{self.order:.2f}", "verdict": self.verdict}) + table(["step", "error"], rows)


class _State:
    """A state of a run in the form of nh_state, with angles that count revolutions and with wrapped angles."""

    def __init__(self, at: Beginning):
        self.q, self.wrapped_q, self.v = at.q.copy(), at.q.copy(), at.v.copy()
        self.view = H.nh_state(at.t0, _address(self.q), _address(self.wrapped_q), _address(self.v))

    def take(self, run: _Run) -> None:
        t = C.c_double()
        lib.nh_run_state(run.handle, 0, C.byref(t), _address(self.q), _address(self.v))
        lib.nh_run_wrapped_state(run.handle, 0, None, _address(self.wrapped_q), None)
        self.view.t = t.value


class _DiscreteEnergy:
    """The quantity that leapfrog preserves, a function of two successive states. A run is compared with its own first step."""

    def __init__(self, at: Beginning, run: _Run, step: float):
        self.system, self.step, self.size = at.system, step, C.c_double()
        self.before, self.now = _State(at), _State(at)
        with contextlib.suppress(Error):  # a step that fails will fail again
            run.advance(1)
        self.start = self._value(run) if lib.nh_run_steps(run.handle) else 0.0
        self.size.value = 0.0
        call(lib.nh_run_start, run.handle, 0, at.t0, _address(at.q), _address(at.v))

    def _value(self, run: _Run) -> float:
        value = C.c_double()
        self.now.take(run)
        states = C.byref(self.now.view), C.byref(self.before.view)
        call(lib.nh_leapfrog_invariant, self.system._handle, self.step, *states, C.byref(value), C.byref(self.size))
        return value.value

    def value(self, run: _Run) -> float:
        return self._value(run) if lib.nh_run_steps(run.handle) else self.start


class _Watcher:
    """Measures the errors of all quantities at the current state of a run."""

    def __init__(self, beginning: Beginning, run: _Run, step: float):
        system = self.system = beginning.system
        self.t0, self.stride = beginning.t0, 1
        self.q, self.v = beginning.q.copy(), beginning.v.copy()
        self.latitude = C.c_void_p()  # exists only for some systems and some of their start states
        self._make(lib.nh_latitude_create, self.latitude, _address(self.q), _address(self.v))
        own(self, lib.nh_latitude_free, self.latitude.value)
        self.discrete = _DiscreteEnergy(beginning, run, step) if lib.nh_system_facts(system._handle).contents.quadratic else None
        self.names = system.conserved + (["latitude"] if self.latitude else []) + (["leapfrog_invariant"] if self.discrete else [])
        self.values = np.zeros(len(self.names))
        self.names += ["constraints"] if system.constraints else []
        self.holonomic = C.c_void_p()  # exists if the constraints are known to be holonomic
        self._make(lib.nh_holonomic_create, self.holonomic, self.t0, _address(self.q))
        own(self, lib.nh_holonomic_free, self.holonomic.value)
        self.surface: list[tuple[float, float]] = []  # times and integrated constraints
        self.surface_stride, self.surface_size, self.surface_is_lost = 1, C.c_double(), False
        self.k = np.zeros(len(system.constraints))
        self.sizes = np.zeros(len(self.names))
        self.sized = 1  # the size of the terms is examined at every point with this spacing
        self.times: list[float] = []
        self.errors: list[list[float]] = []
        self.start = self._integrals(self.t0, run)

    def _make(self, create: Any, out: C.c_void_p, *state: Any) -> None:
        """Creates an object that only some systems and start states have; a lack of memory is still an error."""
        report = H.nh_report()
        if attempt(report, create, C.byref(out), self.system._handle, *state, C.byref(report)) == H.NH_NO_MEMORY:
            check(H.NH_NO_MEMORY, report)

    def _integrals(self, t: float, run: _Run) -> np.ndarray:
        call(lib.nh_system_integral_values, self.system._handle, t, _address(self.q), _address(self.v), _address(self.values))
        if self.latitude:
            self.values[len(self.system.conserved)] = lib.nh_latitude_value(self.latitude, _address(self.q), _address(self.v))
        if self.discrete:
            self.values[-1] = self.discrete.value(run)
        return self.values.copy()

    def advance(self, run: _Run, steps: int) -> None:
        """Stops one step earlier if a quantity of two successive states is measured."""
        if self.discrete and steps > 1:
            run.advance(steps - 1)
        if self.discrete:
            self.discrete.before.take(run)
        run.advance(1 if self.discrete else steps)

    def take(self, run: _Run) -> None:
        t = C.c_double()
        lib.nh_run_wrapped_state(run.handle, 0, C.byref(t), _address(self.q), _address(self.v))
        errors = (self._integrals(t.value, run) - self.start).tolist()
        if len(self.k):
            call(lib.nh_system_residual, self.system._handle, t.value, _address(self.q), _address(self.v), _address(self.k))
            errors.append(float(np.abs(self.k).max()))
        if len(self.times) % self.sized == 0:
            self._take_sizes(t.value)
        if self.holonomic and not self.surface_is_lost and len(self.times) % self.surface_stride == 0 and len(self.surface) < SURFACE_POINTS:
            self._follow_surface(run, t.value)
        self.times.append(t.value - self.t0)
        self.errors.append(errors)

    def _follow_surface(self, run: _Run, t: float) -> None:
        q, drift, report = np.zeros_like(self.q), C.c_double(), H.nh_report()
        lib.nh_run_state(run.handle, 0, None, _address(q), None)
        places = C.byref(drift), C.byref(self.surface_size), C.byref(report)
        if attempt(report, lib.nh_holonomic_follow, self.holonomic, t, _address(q), *places) == H.NH_OK:
            self.surface.append((t - self.t0, drift.value))
        else:  # it cannot be followed any further, so there is no verdict
            self.surface_is_lost = True

    def _take_sizes(self, t: float) -> None:
        self.k[:] = 0
        state = _address(self.q), _address(self.v)
        call(lib.nh_system_term_sizes, self.system._handle, t, *state, _address(self.sizes), _address(self.k))
        if len(self.k):
            self.sizes[-1] = max(self.sizes[-1], self.k.max())

    def verdicts(self, steps: int) -> dict[str, str]:
        """The verdict on each quantity; errors that are small relative to its terms count as round-off."""
        x = np.array(self.times[:: self.stride])
        starts, judged = [*self.start.tolist(), 0.0], {}
        for name, y, start, size in zip(self.names, np.array(self.errors[:: self.stride]).T.copy(), starts, self.sizes.tolist()):
            if name == "latitude":
                size = max(1.0, abs(start))
            elif name == "leapfrog_invariant" and self.discrete:
                size = self.discrete.size.value
            level = lib.nh_round_off_level(size, steps)
            verdict = lib.nh_judge_quantity(_address(x), _address(y), len(x), start, size, level).verdict
            judged[name] = _text(lib.nh_verdict_name(verdict))
        if self.surface:
            x, y, size = *np.array(self.surface).T.copy(), self.surface_size.value
            points = 0 if self.surface_is_lost else len(x)
            verdict = lib.nh_judge_quantity(_address(x), _address(y), points, 0.0, size, 1e-10 * size).verdict
            judged["integrated constraints"] = _text(lib.nh_verdict_name(verdict))
        return judged

    def result(self, run: _Run, failure: Error | None) -> Comparison:
        times, errors = np.array(self.times), np.array(self.errors).T.copy()
        series = [(name, times, error) for name, error in zip(self.names, errors)]
        if self.surface:
            series.append(("integrated constraints", *np.array(self.surface).T.copy()))
        lines = {name: lib.nh_fit_slope(_address(x), _address(y), len(x)) for name, x, y in series}
        steps, seconds = lib.nh_run_steps(run.handle), lib.nh_run_seconds(run.handle)
        return Comparison(
            method=run.method,
            largest={name: float(np.abs(y).max()) for name, x, y in series},
            drift={name: line.slope for name, line in lines.items()},
            drift_error={name: line.slope_error for name, line in lines.items()},
            verdict=self.verdicts(steps),
            steps=steps,
            seconds=seconds,
            ns_per_step=1e9 * seconds / steps if steps else math.nan,
            failure=failure,
        )


@helpful
def compare(
    model: Any,
    methods: Sequence[str] | None = None,
    *,
    step: float | None = None, steps: int | None = None, time: float | None = None, every: int | None = None,
    start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto", progress: Progress = None,
) -> list[Comparison]:
    """Runs several methods on one model; gives the same numbers as ``nonholo compare``, bit for bit.

    ``methods`` are written as on the command line (``"gauss:stages=3"``); without them, all methods that apply are
    compared; without ``step``, a suitable step is chosen; without ``steps`` and ``time``, the duration is the model's span. The other
    arguments are those of :func:`simulate`. If a method fails, the result contains the measurements up to then, and ``failure`` says why.

    >>> import nonholo
    >>> pair = nonholo.compare("pendulum-cvt", ["dla01", "rk4"], step=0.1, time=100)
    >>> [c.largest["constraints"] < 1e-12 for c in pair]
    [True, False]
    >>> [c.verdict["energy"] for c in pair]
    ['bounded', 'linear drift']
    """
    beginning = Beginning(as_system(model, set), t0, start, q, v, project)
    methods = _methods(methods, beginning.system)
    if step is not None and (steps is None) != (time is None):
        count = count_steps(step, steps, time)
    else:
        _, step, count = plan(beginning.system, most_demanding(methods), step, steps, time, t0, q=beginning.q, v=beginning.v)
    bar, results = Bar(progress), []
    with Work():
        for number, method in enumerate(methods):
            run = beginning.run(method, step, count, compose, compensated, backend)
            share = lambda done, number=number: bar.update((number + done / count) / len(methods))
            results.append(_watched(beginning, run, step, count, every, share))
    bar.end()
    return results


def _methods(given: Sequence[str] | None, system: System) -> Sequence[str]:
    return given if given is not None else [name for name in system.check().methods if name != "reference"]


def _watched(
    beginning: Beginning, run: _Run, step: float, count: int, every: int | None, progress: Callable[[int], None]
) -> Comparison:
    """Follows a run to its end, or to the step at which it fails."""
    watcher = _Watcher(beginning, run, step)
    spacing = record_every(every, count, len(watcher.names) + 1)
    watcher.stride = (count // spacing + 2) // JUDGED_POINTS + 1
    watcher.surface_stride = (count // spacing + 2) // SURFACE_POINTS + 1
    watcher.sized = (count // spacing + 2) // SIZED_POINTS + 1
    failure, done = None, 0
    try:
        watcher.take(run)
        while done < count:
            now = min(spacing, count - done)
            watcher.advance(run, now)
            done += now
            watcher.take(run)
            progress(done)
    except Error as error:
        failure = error
    return watcher.result(run, failure)


@helpful
def order(
    model: Any,
    methods: Sequence[str] | None = None,
    *,
    time: float = 1.0, step: float | None = None, halvings: int = 7, steps_list: Sequence[int] | None = None, tolerance: float = 1e-13,
    start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto", progress: Progress = None,
) -> list[Order]:
    """Measures the order of methods, as ``nonholo order`` does; without ``methods``, that of all methods that apply.

    The error is the largest difference from a reference solution at ``time``, where each component is divided by the
    range of its motion, for the step size ``step`` (by
    default a quarter of ``time``) and ``halvings`` halvings of it, or for the numbers of steps in ``steps_list``;
    ``tolerance`` is the relative tolerance of the reference solution. The other arguments are those of
    :func:`simulate`.

    >>> import nonholo
    >>> [f"{o.order:.1f}" for o in nonholo.order("pendulum-cvt", ["dla01", "gauss:stages=2"])]
    ['2.0', '4.0']
    """
    beginning = Beginning(as_system(model, set), t0, start, q, v, project)
    whole = max(1, count_steps(step or time / 4, None, time))
    counts = [int(n) for n in steps_list] if steps_list is not None else [whole << i for i in range(halvings + 1)]
    wanted = H.nh_convergence_options(
        size=C.sizeof(H.nh_convergence_options), t0=t0, time=time, q=_address(beginning.q), v=_address(beginning.v), tolerance=tolerance)
    reference = create(lib.nh_convergence_create, beginning.system._handle, C.byref(wanted))
    bar, results, done = Bar(progress), [], 0
    try:
        level = [lib.nh_convergence_level(reference, n) for n in counts]
        methods = _methods(methods, beginning.system)
        for method in methods:
            errors, failures = [], []
            for n in counts:
                error, failure = _end_error(reference, n, method, time / n, n, compose, compensated, backend)
                errors.append(error)
                failures.append(failure)
                done += n
                bar.update(done / (sum(counts) * len(methods)))
            results.append(_fit(method, [time / n for n in counts], errors, level, failures))
    finally:
        lib.nh_convergence_free(reference)
    bar.end()
    return results


def _end_error(reference: Any, steps: int, method: str, *how: Any) -> tuple[float, str]:
    """The largest difference from the reference, or NaN and the reason for the failure."""
    error, options = C.c_double(), H.nh_run_options(size=C.sizeof(H.nh_run_options), stop=STOP(guarded(lambda: None)))
    fill_options(options, method.encode(), *how)
    try:
        call(lib.nh_convergence_error, reference, C.byref(options), steps, C.byref(error), None)
    except Error as failure:
        return math.nan, str(failure)
    return error.value, ""


def _fit(method: str, h: list[float], errors: list[float], level: list[float], failures: list[str]) -> Order:
    count = len(h)
    numbers = C.c_double * count
    fit = lib.nh_fit_order(numbers(*h), numbers(*errors), numbers(*level), count, (C.c_int * count)())
    return Order(method, fit.order, fit.uncertainty, VERDICTS[fit.verdict], h, errors, [f for f in failures if f])


__all__ = ["Comparison", "Order", "compare", "order"]
