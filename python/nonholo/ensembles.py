"""Many trajectories at once: the library distributes them over the lanes of the processor and over threads."""

from __future__ import annotations

import ctypes as C
import math
import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

import numpy as np

from . import _header as H
from . import _pool
from ._library import Error, array_at, call, check, create, lib, own, remarks, warn
from ._names import helpful
from ._plan import plan
from ._values import texts
from ._work import beside, guarded
from .inputs import Inputs, functions
from .progress import Bar, Progress
from .system import Model, Projection, Setting, Start, System, _address, _text, load, choose_start, projection_names, setting_texts, start_text
from .trajectory import PAUSE, count_steps, fill_options, method_text

HOOKS: dict[str, Any] = dict(H.nh_ensemble_hooks._fields_)


@dataclass
class Ensemble:
    """The result of :func:`ensemble`. ``q``, ``v`` and ``multipliers`` have the axes member, time, component;
    ``columns`` maps ``energy``, ``energy_error``, ``constraint`` and the observables to arrays with the axes member,
    time; ``ensemble["energy"]`` is short for ``ensemble.columns["energy"]``. ``parameters`` holds the swept values,
    one per member. ``failures`` maps members that failed to the reason; their later rows are NaN."""

    model: str
    method: str
    step: float
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    multipliers: np.ndarray
    columns: dict[str, np.ndarray]
    parameters: dict[str, np.ndarray]
    failures: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0  # time spent on steps, summed over threads
    threads: int = 1
    remarks: list[str] = field(default_factory=list)  # doubts, each also issued as a warning
    names: dict[str, list[str]] = field(default_factory=dict)  # names of coordinates, velocities and constraints
    first: int = 0  # number of the first member; not 0 in a part
    _result: bytes = field(default=b"", repr=False)  # the result of a part, for the library

    @property
    def members(self) -> int:
        """The number of members."""
        return len(self.q)

    @property
    def energy(self) -> np.ndarray:
        """The energy, with the axes member, time."""
        return self.columns["energy"]

    @property
    def energy_error(self) -> np.ndarray:
        """The energy minus its start value, with the axes member, time."""
        return self.columns["energy_error"]

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.columns[name]
        except KeyError:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(self.columns)}") from None

    def to_xarray(self) -> Any:
        """An ``xarray.Dataset`` with the axes member, t, and the names of components (needs xarray)."""
        import xarray

        axes: dict[str, Any] = {"member": self.first + np.arange(self.members), "t": self.t, **self.names}
        # "constraint" is an axis here, so the largest residual has the same name as in a trajectory
        data: dict[str, Any] = {("residual" if n == "constraint" else n): (("member", "t"), a) for n, a in self.columns.items()}
        data.update({name: (("member",), values) for name, values in self.parameters.items()})
        for name, kind, values in (("q", "coordinate", self.q), ("v", "velocity", self.v), ("multiplier", "constraint", self.multipliers)):
            data[name] = (("member", "t", kind), values)
        return xarray.Dataset(data, coords=axes, attrs={"model": self.model, "method": self.method, "step": self.step})

    def __repr__(self) -> str:
        return (
            f"<ensemble of {self.model}: {self.members} members, {self.method}, step {self.step:g}, "
            f"{len(self.t)} points, {len(self.failures)} failed, {self.threads} threads>"
        )


def _block(address: int | None, *shape: int) -> np.ndarray | float:
    """An array at an address; NaN if there is none."""
    return array_at(address, *shape) if address else math.nan


class _Collector:
    """The hooks that the library calls during the run. Exceptions are kept until the library has returned."""

    def __init__(self, out: Ensemble, values: np.ndarray, progress: Progress):
        self.out, self.values, self.bar = out, values, Bar(progress)
        self.exception: BaseException | None = None

    def hooks(self) -> H.nh_ensemble_hooks:
        """The hooks for the library. They refer to this object, but it does not refer to them, so that both are freed at once."""
        return H.nh_ensemble_hooks(
            rows=HOOKS["rows"](guarded(self._rows, keep=self)), progress=HOOKS["progress"](guarded(self._progress, keep=self)))

    def stop(self, why: BaseException) -> None:
        self.exception = self.exception or why

    def is_stopped(self) -> bool:
        return self.exception is not None

    def tell(self) -> None:
        """Raises the exception if there is one, and forgets it."""
        exception, self.exception = self.exception, None
        try:
            if exception is not None:
                raise exception
        finally:
            del exception

    def _rows(self, address: int) -> None:
        rows, out = H.nh_rows.from_address(address), self.out
        place = (
            slice(rows.first_member - out.first, rows.first_member - out.first + rows.members),
            slice(rows.first_record, rows.first_record + rows.records),
        )
        shape = (rows.members, rows.records)
        out.q[place] = _block(rows.q, *shape, out.q.shape[2])
        out.v[place] = _block(rows.v, *shape, out.v.shape[2])
        out.multipliers[place] = _block(rows.multipliers, *shape, out.multipliers.shape[2])
        self.values[place] = _block(rows.value, *shape, rows.columns)

    def _progress(self, done: int, total: int) -> None:
        self.bar.update(done / total if total else 1.0)


def _list_starts(system: System, starts: Any, q: Any, v: Any, t0: float, project: Projection) -> tuple[np.ndarray, np.ndarray]:
    """Arrays with the axes member, component, from a list of changes to the model's start or from whole arrays."""
    if starts is not None:
        states = [choose_start(system, t0, start, q, v, project) for start in starts]
        if not states:
            raise ValueError("an ensemble needs at least one member")
        return np.array([s[0] for s in states]), np.array([s[1] for s in states])
    first_q, first_v = system.start()
    rows_q = np.atleast_2d(np.asarray(first_q if q is None else q, dtype=float))
    rows_v = np.atleast_2d(np.asarray(first_v if v is None else v, dtype=float))
    count = max(len(rows_q), len(rows_v))
    if rows_q.shape[1] != len(first_q) or rows_v.shape[1] != len(first_v) or count == 0:
        raise ValueError(f"q needs rows of {len(first_q)} numbers and v of {len(first_v)}")
    whole = lambda rows: np.ascontiguousarray(np.broadcast_to(rows, (count, rows.shape[1])))
    return whole(rows_q), whole(rows_v)


def _sweeps(sweep: Mapping[str, tuple[float, float, int]] | None) -> tuple[Any, list[str]]:
    names = list(sweep or {})
    array = (H.nh_sweep * len(names))()
    for place, name in zip(array, names):
        assert sweep is not None
        first, last, count = sweep[name]
        place.parameter = name.encode()
        setattr(place, "from", first)
        place.to, place.count = last, int(count)
    return array, names


def _threads(threads: int | None) -> int:
    if threads is not None:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _subject(options: H.nh_ensemble_options, model: Any, set: Setting | None, input: Inputs | None = None,
             period: float | None = None) -> tuple[System, Any]:
    """Fills in the model or the system; returns a system to inspect and the objects that must stay alive."""
    if isinstance(model, System):
        if set or input or period is not None:
            raise ValueError("a system's parameters and inputs cannot be changed; give `set` and `input` with a model")
        options.system = model._handle
        return model, model
    source = model if isinstance(model, Model) else load(model)
    settings = texts(setting_texts(set, input, period))
    options.model, options.settings, options.setting_count = source._handle, C.addressof(settings), len(settings)
    return source.system(set, input, period), (source, settings)


def _empty(handle: int, system: System, method: str, step: float, names: list[str], threads: int) -> tuple[Ensemble, np.ndarray]:
    first, members = lib.nh_ensemble_first_member(handle), lib.nh_ensemble_own_members(handle)
    records, combinations = lib.nh_ensemble_records(handle), lib.nh_ensemble_combinations(handle)
    each = lib.nh_ensemble_members(handle) // combinations
    columns = [_text(lib.nh_ensemble_column_name(handle, i)) for i in range(lib.nh_ensemble_columns(handle))]
    room = lambda *shape: np.full((members, records, *shape), math.nan)
    values = room(len(columns))
    swept = {
        name: np.repeat([lib.nh_ensemble_swept_value(handle, c, i) for c in range(combinations)], each)[first : first + members]
        for i, name in enumerate(names)
    }
    out = Ensemble(
        model=system.name,
        method=method,
        step=step,
        t=np.array([lib.nh_ensemble_time(handle, i) for i in range(records)]),
        q=room(len(system.coordinates)),
        v=room(len(system.velocities)),
        multipliers=room(len(system.constraints)),
        columns={name: values[:, :, i] for i, name in enumerate(columns)},
        parameters=swept,
        threads=threads,
        first=first,
        names={"coordinate": system.coordinates, "velocity": system.velocities, "constraint": system.constraints},
    )
    return out, values


def _failures(handle: int) -> dict[int, str]:
    found = {}
    for i in range(lib.nh_ensemble_failures(handle)):
        member = C.c_int64()
        report = lib.nh_ensemble_failure(handle, i, C.byref(member))
        if report:  # the first hundred have one
            found[member.value] = _text(report.contents.text)
    return found


def _run(handle: int, collector: _Collector, calls_python: bool) -> None:
    """Runs the ensemble to its end. Python functions are called in the caller's thread, where signals reach them."""
    hooks, report = C.byref(collector.hooks()), H.nh_report()
    try:
        if calls_python:
            call(lib.nh_ensemble_run, handle, hooks)
        else:
            check(beside(lambda: lib.nh_ensemble_run(handle, hooks, C.byref(report)), collector.stop, PAUSE), report)
    except Error:
        if collector.exception is None:
            raise
    except BaseException:
        collector.exception = None  # it is this exception, or it comes too late
        raise
    collector.tell()


def _result(handle: int) -> bytes:
    """Adds the failures and remarks of a part to those of the whole ensemble."""
    data, size = C.c_void_p(), C.c_size_t()
    call(lib.nh_ensemble_result, handle, C.byref(data), C.byref(size))
    try:
        return C.string_at(data, size.value)
    finally:
        lib.nh_bytes_free(data)


def _share(executor: Any, parts: int, given: dict[str, Any], handle: int, out: Ensemble, values: np.ndarray, bar: Bar) -> None:
    """Computes the members in tasks of an executor."""
    done = 0

    def take(part: Ensemble) -> None:
        nonlocal done
        place = slice(part.first, part.first + part.members)
        out.q[place], out.v[place], out.multipliers[place] = part.q, part.v, part.multipliers
        for i, column in enumerate(part.columns.values()):
            values[place, :, i] = column
        call(lib.nh_ensemble_join, handle, part._result, len(part._result))
        done += part.members
        bar.update(done / out.members)

    _pool.share(executor, min(parts, out.members), given, take)


@helpful
def ensemble(
    model: Any,
    method: str | None = None,
    *,
    step: float | None = None, steps: int | None = None, time: float | None = None,
    tolerance: float | None = None, absolute: float | None = None, every: int | None = None, threads: int | None = None,
    members: int | None = None, energy: float | None = None, seed: int = 0, around_start: bool = False,
    starts: Sequence[Start] | None = None, sweep: Mapping[str, tuple[float, float, int]] | None = None,
    start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto", progress: Progress = None,
    part: tuple[int, int] | None = None, executor: Any = None, parts: int = 64,
    input: Inputs | None = None, input_period: float | None = None, **options: Any,
) -> Ensemble:
    """Computes many trajectories, distributed over lanes and threads, with Python's lock released.

    The start states are ``members`` random states of equal ``energy`` that satisfy the constraints; or ``starts``, a
    list of changes to the model's start; or arrays ``q`` and ``v`` with one row per member. ``sweep`` maps
    parameters to (first, last, count); all combinations are computed. The start, every ``every``-th step and the
    end are recorded. Each member has the same bits as when it is computed alone. Without ``step`` each member
    chooses its own steps. The other arguments are those of :func:`simulate`.

    ``executor`` spreads the members over other processes, in ``parts`` tasks: any executor of concurrent.futures,
    mpi4py's ``MPIPoolExecutor``, or Dask's ``client.get_executor()``. A task whose worker was lost is retried.
    ``part=(k, n)`` computes only part k of n, counted from 1.

    >>> import nonholo
    >>> many = nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, time=100,
    ...                         starts=[{"x": 0.1 * i} for i in range(20)], project=True)
    >>> many.q.shape, many.energy_error.shape
    ((20, 2, 3), (20, 2))
    >>> chance = nonholo.ensemble("chaotic-particle", "dla01", step=0.1, time=10, members=50, energy=1.5, seed=1)
    >>> bool(abs(chance.energy[:, 0] - 1.5).max() < 1e-12)
    True
    >>> swept = nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, time=10, sweep={"eps": (0, 0.2, 3)})
    >>> swept.parameters["eps"].tolist()
    [0.0, 0.1, 0.2]
    """
    given = {**locals(), **options}
    if functions(input):
        raise ValueError("functions can give inputs to one trajectory only; for many, use Stepper(model, members=...)")
    for name in ("options", "executor", "parts", "part", "progress", "threads"):  # not for the tasks of an executor
        del given[name]
    listed = starts is not None or q is not None or v is not None
    if members is not None and (listed or start is not None):
        raise ValueError("members generates random starts and cannot be combined with starts, start, q or v")
    if members is None and (energy is not None or around_start):
        raise ValueError("energy and around_start apply only to random starts; give members=N")
    if starts is not None and start is not None:
        raise ValueError("give either starts (one for each member) or start (one for all)")
    want = H.nh_ensemble_options(size=C.sizeof(H.nh_ensemble_options))
    system, kept = _subject(want, model, set, input, input_period)
    text, sweeps = start_text(start), _sweeps(sweep)
    choice = None if method is None and not options else method_text(method or "auto", options)
    want.sweep, want.sweeps = C.addressof(sweeps[0]), len(sweeps[1])
    want.start, want.t0 = text, t0
    want.project, want.keep, want.solve = projection_names(project)
    want.starts = H.NH_STARTS_RANDOM if members is not None else H.NH_STARTS_LIST if listed else H.NH_STARTS_MODEL
    want.members = members if members is not None else 1
    want.fixed_energy = energy is not None
    want.energy = 0.0 if energy is None else energy
    want.seed, want.around_start = seed, around_start
    if listed:
        rows = _list_starts(system, starts, q, v, t0, project)
        want.q, want.v, want.members = _address(rows[0]), _address(rows[1]), len(rows[0])
    counted = step is not None and (steps is None) != (time is None)
    if not (choice and counted and tolerance is None):
        choice, step, want.steps = plan(system, choice, step, steps, time, t0, tolerance, absolute)
    if counted:
        want.steps = count_steps(step, steps, time)
    fill_options(want, choice.encode(), step, want.steps, compose, compensated, backend)
    want.every = every or max(1, want.steps)
    want.threads = 1 if system._keep else _threads(threads)  # Python runs one function at a time
    want.part, want.parts = part or (0, 0)
    handle = create(lib.nh_ensemble_create, C.byref(want))
    out, values = _empty(handle, system, choice, step, sweeps[1], want.threads)
    own(out, lib.nh_ensemble_free, handle)
    collector = _Collector(out, values, progress)
    try:
        if executor is not None:
            _share(executor, parts, given, handle, out, values, collector.bar)
        else:
            _run(handle, collector, calls_python=system._keep is not None)
    finally:
        collector.bar.end()
    out.failures, out.seconds = _failures(handle), lib.nh_ensemble_seconds(handle)
    out.remarks = remarks(lib.nh_ensemble_remarks, lib.nh_ensemble_remark, handle)
    if part:  # the caller joins the parts and issues the remarks of all
        out._result = _result(handle)
    else:
        warn(out.remarks)
    del kept  # from here on the library does not read the model
    return out


__all__ = ["Ensemble", "ensemble"]
