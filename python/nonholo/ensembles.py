"""Many trajectories at once: the library distributes them over the lanes of the processor and over threads."""

from __future__ import annotations

import csv
import ctypes as C
import math
import os
import re
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

import numpy as np

from . import _header as H
from . import _pool
from ._library import Error, array_at, call, check, create, lib, own, remarks, warn
from ._names import helpful
from ._plan import describe, plan
from ._values import texts
from ._work import beside, guarded
from .inputs import Inputs, functions
from .progress import Bar, Progress
from .system import Model, Projection, Setting, Start, System, _address, _text, load, choose_start, projection_names, setting_texts, start_text
from .trajectory import PAUSE, Path, count_steps, fill_options, keep_files, method_text

PROGRESS = dict(H.nh_simulation_options._fields_)["progress"]
STOPS = dict(H.nh_run_options._fields_)["stop"]


@dataclass
class Ensemble:
    """The result of :func:`ensemble`. ``q``, ``v`` and ``multipliers`` have the axes member, time, component;
    ``columns`` maps ``energy``, ``energy_error``, ``constraint`` and the observables to arrays with the axes member,
    time; ``ensemble["energy"]`` is short for ``ensemble.columns["energy"]``. ``parameters`` holds the swept values,
    one per member. ``failures`` maps members that failed to the reason; their later rows are NaN. If the rows were
    written to a file, the arrays contain only the last time, and ``output`` is the path of the file."""

    model: str
    method: str
    step: float | None  # None if each member chose its own steps
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
    output: str | None = None  # the file with all rows
    #: with ``section``: ``member``, ``t``, coordinates, velocities and observables at the events, sorted by member
    section: dict[str, np.ndarray] = field(default_factory=dict)
    _described: str = ""
    _lengths: dict[str, Any] = field(default_factory=dict)
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
        return xarray.Dataset(data, coords=axes, attrs={"model": self.model, "method": self.method, **self._lengths})

    def __repr__(self) -> str:
        return (
            f"<ensemble of {self.model}: {self.members} members, {self._described}, "
            f"{len(self.t)} points, {len(self.failures)} failed, {self.threads} threads>"
        )


class _Collector:
    """What the library calls during the run. Exceptions are kept until the library has returned."""

    def __init__(self, progress: Progress):
        self.bar = Bar(progress)
        self.exception: BaseException | None = None

    def hooks(self, how: H.nh_run_options, want: H.nh_simulation_options) -> None:
        """Puts the hooks into the options. They refer to this object, but it does not refer to them, so that both are freed at once."""
        how.stop = STOPS(guarded(lambda: None, keep=self))
        want.progress = PROGRESS(guarded(self._progress, keep=self))

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


def _ranges(sweep: Mapping[str, Any]) -> Any:
    array = (H.nh_sweep * len(sweep))()
    for place, (name, (first, last, count)) in zip(array, sweep.items()):
        place.parameter = name.encode()
        setattr(place, "from", first)
        place.to, place.count = last, int(count)
    return array


def _read_members(path: Any) -> dict[str, np.ndarray]:
    """The columns of a file of comma-separated values."""
    with open(path, newline="", encoding="utf-8-sig") as file:  # spreadsheets begin it with a byte-order mark
        lines = [line for line in csv.reader(file, skipinitialspace=True) if line]
    try:
        names, table = [name.strip() for name in lines[0]], np.array(lines[1:], dtype=float)
    except (IndexError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)}: expected a line of names and lines of as many numbers ({error})") from None
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(f"{os.fspath(path)}: expected a line of names and lines of as many numbers")
    return {name: table[:, i] for i, name in enumerate(names) if name != "member"}


def _distributions(random: Mapping[str, str] | str | None) -> dict[str, str]:
    """By name, also of a text as on the command line: ``"m=normal(1, 0.1), x=uniform(-1, 1)"``."""
    if not isinstance(random, str):
        return dict(random or {})
    items = [item.partition("=") for item in re.split(r",(?=[^,()=]+=)", random)]
    if not all(equals for _, equals, _ in items):
        raise ValueError(f"random is written {{'m': 'normal(1, 0.1)'}} or 'm=normal(1, 0.1)', not {random!r}")
    return {name.strip(): distribution.strip() for name, _, distribution in items}


class _Variations:
    """What differs between the members, as the library takes it."""

    def __init__(self, sweep: Mapping[str, Any] | None, members: Any, random: Mapping[str, str] | str | None):
        sweep, listed, random = dict(sweep or {}), {}, _distributions(random)
        self.count: int | None = None  # of members; None: not given
        if isinstance(members, Mapping):
            listed = {name: np.array(values, dtype=float, ndmin=1) for name, values in members.items()}
        elif isinstance(members, (str, os.PathLike)):
            listed = _read_members(members)
        elif members is not None:
            if members != int(members):
                raise ValueError(f"members must be a whole number, not {members!r}")
            self.count = int(members)
        lengths = {len(values) for values in listed.values()}
        if len(lengths) > 1:
            raise ValueError("the columns of members have different lengths: " + ", ".join(f"{n}: {len(v)}" for n, v in listed.items()))
        self.count = lengths.pop() if lengths else self.count
        if self.count is not None and self.count < 1:
            raise ValueError("there are no members; give at least one")
        if not all(isinstance(values, tuple) and len(values) == 3 for values in sweep.values()):
            if listed:
                raise ValueError("members and arrays in sweep cannot be combined; put all columns into members")
            listed, sweep = self._grid(sweep), {}
        self.sweeps, self.names = _ranges(sweep), [*sweep, *listed, *random]
        self.array = (H.nh_variation * (len(listed) + len(random)))()
        self.kept: list[Any] = []
        for place, (name, values) in zip(self.array, listed.items()):
            values, text = np.ascontiguousarray(values), name.encode()
            place.name, place.distribution, place.values = text, H.NH_LISTED, values.ctypes.data
            self.kept += [values, text]
        for i, (name, distribution) in enumerate(random.items()):
            room = C.create_string_buffer(200)
            call(lib.nh_variation_read, C.byref(self.array, (len(listed) + i) * C.sizeof(H.nh_variation)), room, C.sizeof(room),
                 f"{name}={distribution}".encode())
            self.kept.append(room)

    def _grid(self, sweep: dict[str, Any]) -> dict[str, np.ndarray]:
        """All combinations, of which the first name varies slowest; each with as many members as are given."""
        axes = [np.linspace(*v[:2], int(v[2])) if isinstance(v, tuple) and len(v) == 3 else np.array(v, dtype=float, ndmin=1) for v in sweep.values()]
        each = self.count or 1
        grid = np.meshgrid(*axes, np.zeros(each), indexing="ij")[:-1]
        self.count = grid[0].size
        if self.count == 0:
            raise ValueError(f"sweep has no values of {', '.join(n for n, a in zip(sweep, axes) if a.size == 0)}")
        return {name: values.ravel() for name, values in zip(sweep, grid)}


def _threads(threads: int | None) -> int:
    if threads is not None:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _subject(options: H.nh_simulation_options, model: Any, set: Setting | None, input: Inputs | None = None,
             period: float | None = None) -> tuple[System, Any]:
    """Fills in the model or the system; returns a system to inspect and the objects that must stay alive."""
    if isinstance(model, System):
        if set or input or period is not None:
            raise ValueError("a system's parameters and inputs cannot be changed; give `set` and `input` with a model")
        options.model_text = model._model_text
        return model, model
    source = model if isinstance(model, Model) else load(model)
    settings = texts(setting_texts(set, input, period))
    options.model, options.settings, options.setting_count = source._handle, C.addressof(settings), len(settings)
    return source.system(set, input, period), (source, settings)


class _Handle:
    """Keeps the library's simulation, whose memory arrays refer to."""

    def __init__(self, system: System, want: H.nh_simulation_options, kept: Any):
        self.kept = (system, want, kept)
        self.address = create(lib.nh_simulation_create, system._handle, C.byref(want))
        own(self, lib.nh_simulation_free, self.address)

    def __reduce__(self) -> Any:
        return object, ()


def _empty(held: _Handle, system: System, names: list[str]) -> tuple[Ensemble, np.ndarray]:
    """The result, whose arrays refer to the rows that the library keeps."""
    handle = held.address
    members: H.nh_members = lib.nh_simulation_members(handle)
    rows: H.nh_rows = lib.nh_simulation_rows(handle).contents
    plan: H.nh_plan = lib.nh_simulation_plan(handle).contents
    described = describe(plan.method.decode(), plan)
    place = slice(members.first, members.first + members.own)
    block = lambda address, width: array_at(address, rows.members, rows.records, width, owner=held)
    values = block(rows.value, rows.columns)
    out = Ensemble(
        model=system.name,
        method=plan.method.decode(),
        step=described[1].get("step"),
        _described=described[0],
        _lengths=described[1],
        t=np.array([lib.nh_simulation_time(handle, rows.first_record + i) for i in range(rows.records)]),
        q=block(rows.q, len(system.coordinates)),
        v=block(rows.v, len(system.velocities)),
        multipliers=block(rows.multipliers, len(system.constraints)),
        columns={_text(lib.nh_simulation_column_name(handle, i)): values[:, :, i] for i in range(rows.columns)},
        parameters={
            name: np.array([lib.nh_simulation_value(handle, m, i) for m in range(place.start, place.stop)]) for i, name in enumerate(names)
        },
        threads=members.threads,
        first=members.first,
        names={"coordinate": system.coordinates, "velocity": system.velocities, "constraint": system.constraints},
    )
    return out, values


def _failures(handle: int) -> dict[int, str]:
    found = {}
    for i in range(lib.nh_simulation_failures(handle)):
        member = C.c_int64()
        report = lib.nh_simulation_failure(handle, i, C.byref(member))
        if report:  # the first hundred have one
            found[member.value] = _text(report.contents.text)
    return found


def _run(handle: int, collector: _Collector, calls_python: bool) -> None:
    """Runs the ensemble to its end. Python functions are called in the caller's thread, where signals reach them."""
    report = H.nh_report()
    try:
        if calls_python:
            call(lib.nh_simulation_advance, handle)
        else:
            check(beside(lambda: lib.nh_simulation_advance(handle, C.byref(report)), collector.stop, PAUSE), report)
    except Error:
        if collector.exception is None:
            raise
    except BaseException:
        collector.exception = None  # it is this exception, or it comes too late
        raise
    collector.tell()


def _complete(handle: int, collector: _Collector, calls_python: bool) -> None:
    """... and closes its file. If it was interrupted, that writes its checkpoint; a complete one removes its checkpoints."""
    try:
        _run(handle, collector, calls_python)
    except BaseException:
        lib.nh_simulation_finish(handle, None)  # only the first failure is reported
        raise
    call(lib.nh_simulation_finish, handle)
    lib.nh_simulation_remove_checkpoints(handle)


def _result(handle: int) -> bytes:
    """Adds the failures and remarks of a part to those of the whole ensemble."""
    data, size = C.c_void_p(), C.c_size_t()
    call(lib.nh_simulation_result, handle, C.byref(data), C.byref(size))
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
        call(lib.nh_simulation_join, handle, part._result, len(part._result))
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
    members: int | Mapping[str, Any] | Path = None, random: Mapping[str, str] | str | None = None,
    energy: float | None = None, seed: int = 0, around_start: bool = False,
    starts: Sequence[Start] | None = None, sweep: Mapping[str, Any] | None = None,
    start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto", progress: Progress = None,
    part: tuple[int, int] | None = None, executor: Any = None, parts: int = 64,
    output: Path = None, checkpoint: Path = None, checkpoint_every: int | str | None = None, resume: Path = None,
    input: Inputs | None = None, input_period: float | None = None,
    stop: str | None = None, section: str | None = None, after: float | None = None, **options: Any,
) -> Ensemble:
    """Computes many trajectories, distributed over lanes and threads, with Python's lock released.

    The start states are ``members`` random states of equal ``energy`` that satisfy the constraints; or ``starts``, a
    list of changes to the model's start; or arrays ``q`` and ``v`` with one row per member. ``sweep`` maps
    parameters or start values to (first, last, count) or to arrays of values; all combinations are computed.
    ``members`` may also be a mapping of parameters and start values to arrays with one number per member, or a CSV
    file with these columns. ``random`` maps them to distributions, ``"normal(mean, deviation)"``, ``"uniform(from, to)"`` or
    ``"loguniform(from, to)"``, or is a text such as ``"m=normal(1, 0.1), x=uniform(-1, 1)"``;
    what a member draws depends only on ``seed``, the name and the member's number. Starts
    that are then off the constraints are projected onto them. The start, every ``every``-th step and the
    end are recorded. Each member has the same bits as when it is computed alone. Without ``step`` each member
    chooses its own steps. The other arguments are those of :func:`simulate`.

    Members end at the first event of ``stop``, in whose state their later rows stay. With ``section="EVENT"`` the states
    at that event, from the time ``after``, are in ``ensemble.section``: over a swept parameter, a bifurcation diagram.

    ``executor`` spreads the members over other processes, in ``parts`` tasks: any executor of concurrent.futures,
    mpi4py's ``MPIPoolExecutor``, or Dask's ``client.get_executor()``. A task whose worker was lost is retried.
    ``part=(k, n)`` computes only part k of n, counted from 1.

    ``output`` is an HDF5 file (.h5, .nc) to which all rows are written while they are computed, with the same bytes as
    ``nonholo ensemble -o``; the arrays then contain only the last time. ``checkpoint``, ``checkpoint_every`` and ``resume``
    are as in :func:`simulate`, and need ``output``: an interrupted ensemble continues to the same bytes, here or by ``nonholo ensemble``.

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
    >>> machines = nonholo.ensemble("bicycle", members=100, random={"m": "normal(1, 0.1)", "lean": "uniform(-0.1, 0.1)"}, time=1)
    >>> bool(abs(machines.parameters["m"].mean() - 1) < 0.03)
    True
    >>> grid = nonholo.ensemble("bicycle", sweep={"m": [1, 1.2, 1.5], "lean": (0, 0.1, 2)}, time=0.1)
    >>> grid.parameters["m"].tolist(), grid.q[:, 0, 3].tolist()
    ([1.0, 1.0, 1.2, 1.2, 1.5, 1.5], [0.0, 0.1, 0.0, 0.1, 0.0, 0.1])
    >>> nonholo.ensemble("bicycle", members={"m": [1, 2], "lean": [0.1, 0.2]}, time=0.1).q[:, 0, 3].tolist()
    [0.1, 0.2]
    """
    given = {**locals(), **options}
    files = output, checkpoint, checkpoint_every, resume
    if functions(input):
        raise ValueError("functions can give inputs to one trajectory only; for many, use Stepper(model, members=...)")
    for name in ("options", "executor", "parts", "part", "progress", "threads", "output", "checkpoint", "checkpoint_every", "resume"):  # not for the tasks of an executor
        del given[name]
    listed = starts is not None or q is not None or v is not None
    varied = _Variations(sweep, members, random)
    chance = members is not None and not listed and (energy is not None or around_start or not (random or isinstance(members, (Mapping, str, os.PathLike))))
    if members is not None and listed:
        raise ValueError("members and starts, q or v cannot be combined: both say how many members there are")
    if chance and start is not None:
        raise ValueError("members generates random starts and cannot be combined with start")
    if random and varied.count is None and not listed:
        raise ValueError("random says what differs between members; members=N says how many there are")
    if not chance and (energy is not None or around_start):
        raise ValueError("energy and around_start apply only to random starts; give members=N")
    if starts is not None and start is not None:
        raise ValueError("give either starts (one for each member) or start (one for all)")
    if executor is not None and any(file is not None for file in files):
        raise ValueError("tasks of an executor do not write to one file; give a `part` and its own `output` to each, and join them with 'nonholo join'")
    if output is None and (checkpoint is not None or resume is not None):
        raise ValueError("a checkpoint of an ensemble needs output=FILE.h5, which has the rows of members that were complete before")
    want, how = H.nh_simulation_options(size=C.sizeof(H.nh_simulation_options)), H.nh_run_options(size=C.sizeof(H.nh_run_options))
    system, kept = _subject(want, model, set, input, input_period)
    text = start_text(start)
    choice = None if method is None and not options else method_text(method or "auto", options)
    if choice is None and compose and lib.nh_composition_is_list(compose.encode()):
        choice = compose  # a composition of different methods takes the place of the method
    want.sweep, want.sweeps = C.addressof(varied.sweeps), len(varied.sweeps)
    want.variation, want.variations = C.addressof(varied.array), len(varied.array)
    want.start, how.t0 = text, t0
    want.project, want.fixed, want.solve = projection_names(project)
    want.starts = H.NH_STARTS_RANDOM if chance else H.NH_STARTS_LIST if listed else H.NH_STARTS_MODEL
    want.members = varied.count if varied.count is not None else 1
    want.fixed_energy = energy is not None
    want.energy = 0.0 if energy is None else energy
    want.seed, want.around_start = seed, around_start
    rows: Any = None
    if listed:
        rows = _list_starts(system, starts, q, v, t0, project)
        how.q, how.v, want.members = _address(rows[0]), _address(rows[1]), len(rows[0])
    counted = step is not None and (steps is None) != (time is None)
    count = 0
    if not (choice and counted and tolerance is None):
        choice, step, count = plan(system, choice, step, steps, time, t0, tolerance, absolute)
    if counted:
        count = count_steps(step, steps, time)
    fill_options(how, choice.encode(), step, count, compose, compensated, backend)
    how.every = every or max(1, count)
    texts_of_events = [None if text is None else text.encode() for text in (stop, section)]
    how.until, want.section = texts_of_events
    want.section_after = -math.inf if after is None else after
    want.threads = 1 if system._keep else _threads(threads)  # Python runs one function at a time
    want.part, want.parts = part or (0, 0)
    want.run, want.keep = C.addressof(how), H.NH_KEEP_ROWS if output is None else H.NH_KEEP_LAST_ROW
    keep_files(want, *files, members=2)
    collector = _Collector(progress)
    collector.hooks(how, want)
    held = _Handle(system, want, (how, kept, varied, rows, text))
    out, values = _empty(held, system, varied.names)
    handle = held.address
    try:
        if executor is not None:
            _share(executor, parts, given, handle, out, values, collector.bar)
        else:
            _complete(handle, collector, calls_python=system._keep is not None)
    finally:
        collector.bar.end()
    out.failures, out.seconds = _failures(handle), lib.nh_simulation_seconds(handle)
    out.remarks = remarks(lib.nh_simulation_remarks, lib.nh_simulation_remark, handle)
    if section is not None:
        width, points = lib.nh_simulation_section_columns(handle), lib.nh_simulation_section_points(handle)
        table = array_at(lib.nh_simulation_section_point(handle, 0), points, width, owner=held) if points else np.zeros((0, width))
        out.section = {_text(lib.nh_simulation_section_column_name(handle, i)): table[:, i] for i in range(width)}
        out.section["member"] = out.section["member"].astype(int)
    out.output = None if output is None else os.fspath(output)
    if part:  # the caller joins the parts and issues the remarks of all
        out._result = _result(handle)
    else:
        warn(out.remarks)
    return out


__all__ = ["Ensemble", "ensemble"]
