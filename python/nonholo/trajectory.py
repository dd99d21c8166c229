"""One trajectory: simulate() and its result."""

from __future__ import annotations

import contextlib
import ctypes as C
import math
import os
from time import monotonic
from typing import Any, Iterable, Sequence, Union

import numpy as np

from . import _header as H
from ._plan import describe
from ._library import ComputationError, Error, Immutable, array_at, call, create, lib, own, remarks, warn
from ._names import helpful
from ._work import Work
from .events import Event, Events, OnEvent, functions, names_of, told
from .inputs import Inputs
from .notebook import Frame, Picture, curves, drawn, facts_table, remark_list, size_of, table, written
from .progress import Bar, Progress
from .recording import record_at
from .system import Projection, Setting, Start, System, _address, _text, as_system, choose_start, start_options

PAUSE = 0.1  # seconds between two checks of the keyboard and updates of the bar
FIRST_PIECE = 1000  # steps per piece, for a run that is advanced in pieces

Path = Union[str, "os.PathLike[str]", None]

BACKENDS = {"auto": H.NH_BACKEND_AUTO, "tape": H.NH_BACKEND_TAPE, "compiled": H.NH_BACKEND_COMPILED}
SWITCH = {None: H.NH_AS_ADVISED, True: H.NH_ON, False: H.NH_OFF}


class Trajectory(Immutable):
    """The result of :func:`simulate`: arrays whose first axis is time.

    ``t``, ``q``, ``v``, ``energy``, ``residual`` (the largest constraint residual at each point) refer to the
    library's memory; nothing is copied. ``trajectory["x1"]`` is a column by name. If the points
    were written to a file or a checkpoint was requested, the arrays contain only the last point, and ``output``
    is the path of the file; ``energy_error_max`` and ``constraint_max`` always refer to all points.

    >>> import nonholo
    >>> run = nonholo.simulate("chaplygin-sleigh", method="gauss", step=0.1, steps=100)
    >>> run.q.shape, run.v.shape, run.multipliers.shape
    ((101, 3), (101, 3), (101, 1))
    >>> run.columns
    ['t', 'x1', 'x2', 'theta', "x1'", "x2'", "theta'", 'energy', 'forward']
    >>> bool(run.constraint_max < 1e-14)
    True
    """

    def __init__(self, simulation: _Simulation):
        self.system, self._record = simulation.system, simulation.record
        self.method = simulation.method
        self._described, self._lengths = describe(simulation.method, simulation.plan)
        #: the step; None if the method chose its own steps
        self.step: float | None = self._lengths.get("step")
        self.seconds: float = lib.nh_run_seconds(simulation.run)  #: time spent stepping
        self.tolerance: float | None = simulation.plan.tolerance or None  #: None: the steps were given
        #: steps that the method accepted, and attempts that it rejected; without a tolerance, the steps of the run
        self.accepted, self.rejected = own_steps(simulation.run)
        self.steps: int = self.accepted
        self.backend = "compiled" if lib.nh_run_backend(simulation.run) == H.NH_BACKEND_COMPILED else "tape"
        output = lib.nh_simulation_output(simulation.handle)
        self.output: str | None = os.fsdecode(output) if output else None  #: the file with all points
        #: doubts about the model and about the motion; each was also issued as a warning (:class:`Remark`)
        self.remarks: list[str] = [*self.system.remarks, *remarks(lib.nh_run_remarks, lib.nh_run_remark, simulation.run)]
        estimate = simulation.estimate
        #: the estimated error of the end state, relative to the size of the motion; None without an estimate
        self.estimate: float | None = estimate.error if estimate is not None and math.isfinite(estimate.error) else None
        #: the same for each coordinate and each velocity, in their own units
        self.estimate_q: np.ndarray | None = None
        self.estimate_v: np.ndarray | None = None
        if estimate is not None and self.estimate is not None:
            self.estimate_q = array_at(estimate.q, 1, len(self.system.coordinates), owner=simulation)[0].copy()
            self.estimate_v = array_at(estimate.v, 1, len(self.system.velocities), owner=simulation)[0].copy()
        #: the events that happened, in order of time: (name, t, direction); at most the first million
        self.events: list[Event] = simulation.events()
        ended = lib.nh_run_ended(simulation.run, 0, None)
        self.event: str | None = simulation.event_name(ended) if ended >= 0 else None  #: the event that ended the run
        #: what each contact and grip does at the end: "closed" or "open"; "held", "slipping" or "free"
        self.modes: dict[str, str] = simulation.modes()
        #: how often each contact was open or each grip slipped, and for how long
        self.away: dict[str, tuple[int, float]] = simulation.away()
        self._simulation = simulation  # for states between the points
        self._table = simulation.table()
        self.columns: list[str] = simulation.columns()
        self._multipliers: np.ndarray | None = None

    def __reduce__(self) -> Any:
        raise TypeError("a trajectory cannot be pickled, but its arrays can; save() and to_xarray() keep all of it")

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
        return {name: self[name] for name in self.columns[self._energy_column + 1 : self._derivatives]}

    @property
    def _derivatives(self) -> int:
        """The first column that is a derivative, or the number of columns."""
        shape = self._simulation.sensitive
        return len(self.columns) - (len(shape[0]) * len(shape[1]) if shape else 0)

    @property
    def sensitivity(self) -> Sensitivity:
        """The derivatives that ``sensitivity`` has asked for: an array with the axes time, output, variable, whose ``by`` and ``outputs``
        are their names."""
        if self._simulation.sensitive is None:
            raise ValueError("the run was made without derivatives: simulate(..., sensitivity=NAMES)")
        outputs, by = self._simulation.sensitive
        rows = self._columns(self._derivatives, len(outputs) * len(by)).reshape(-1, len(outputs), len(by)).view(Sensitivity)
        rows.outputs, rows.by = outputs, by
        return rows

    @property
    def multipliers(self) -> np.ndarray:
        """The multipliers of the continuous equations at each point, one column for each constraint."""
        if self._multipliers is None:
            values = np.zeros((len(self), len(self.system.constraints)))
            call(lib.nh_record_multipliers, self._record, _address(values))
            self._multipliers = values
        return self._multipliers

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._table[:, self.columns.index(name)]
        except ValueError:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(self.columns)}") from None

    def __len__(self) -> int:
        return len(self._table)

    # ---- between the points ----

    def __call__(self, t: Any) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates and velocities at time ``t``, a number or an array of times in any order.

        They are as accurate as the points of the trajectory and satisfy the constraints equally well: the steps
        of the run are repeated from the last stored state, and one of them ends at ``t`` (methods that choose their own
        steps interpolate). Where velocities jump, they are those after the jump.

        >>> import nonholo
        >>> run = nonholo.run("rolling-coin", time=10)
        >>> q, v = run(2.5)
        >>> q.shape, run([9.99, 0.125, 3])[1].shape, bool((run(run.t[7])[0] == run.q[7]).all())
        ((5,), (3, 5), True)
        """
        times = np.array(t, dtype=float)
        count = times.size
        q, v = np.empty((count, len(self.system.coordinates))), np.empty((count, len(self.system.velocities)))
        solution = lib.nh_simulation_solution(self._simulation.handle)
        call(lib.nh_solution_states, solution, count, _address(times), _address(q), _address(v))
        return q.reshape((*times.shape, -1)), v.reshape((*times.shape, -1))

    # ---- measures ----

    @property
    def energy_error_max(self) -> float:
        """The largest difference of the energy from its start value."""
        return lib.nh_record_energy_error(self._record)

    @property
    def constraint_max(self) -> float:
        """The largest constraint residual of all points."""
        return lib.nh_record_constraint_max(self._record)

    # ---- elsewhere ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the points to a file; its extension selects the format, as for ``nonholo run -o``."""
        call(lib.nh_record_write, self._record, os.fspath(path).encode())

    def plot(self, path: str | os.PathLike[str] | None = None, title: str | None = None, *, size: str | None = None, font: float | None = None,
             fps: float | None = None, speed: float | None = None, camera: Sequence[float] | None = None,
             caption: str | None = None) -> Picture | None:
        """Draws the points; the extension selects the format: .svg, .png, .pdf, .eps, .tex (for pgfplots), .html, and of
        models that can be drawn the films .gif, .mp4 and .webm. Without a path, the picture is returned, and a notebook
        shows it.

        ``title=""`` draws none. ``size`` is "800x450" (pixels) or "85mm", and ``font`` the height of letters in points.
        Of films, ``fps`` are the pictures per second, ``speed`` the units of time per second, ``camera`` the azimuth and the
        altitude in degrees (and the zoom), and ``caption`` a text in which {t} stands for the time.

        >>> import nonholo
        >>> run = nonholo.run("rolling-coin", time=1)
        >>> run.plot(title="", size="60mm").svg[:4]
        '<svg'
        """
        how = H.nh_picture(size=C.sizeof(H.nh_picture), caption=caption.encode() if caption is not None else None)
        how.title = (f"{self.system.name}, {self._described}" if title is None else title).encode()
        how.width, how.height, how.millimetres = size_of(size)
        how.font, how.rate, how.speed = font or 0.0, fps or 0.0, speed or 0.0
        if camera is not None:
            how.azimuth, how.altitude, how.zoom, how.looks = *camera[:2], camera[2] if len(camera) > 2 else 1.0, True
        draw = lambda file: call(lib.nh_record_draw, self._record, os.fspath(file).encode(), C.byref(how))
        return drawn(draw) if path is None else draw(path)

    def animation(self, height: int = 640, **how: Any) -> Frame:
        """The moving mechanism with its controls and plots: the page of ``plot("run.html")``, as a frame in a notebook.
        It takes the arguments of :meth:`Trajectory.plot` that pages have.

        >>> import nonholo
        >>> nonholo.run("rolling-coin", time=1).animation(camera=(30, 20)).html[:15]
        '<!DOCTYPE html>'
        """
        return Frame(written(lambda file: self.plot(file, **how), "page.html"), height)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the times as index and a column for each coordinate, velocity and observable (needs
        pandas)."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.columns[1:]}, index=pandas.Index(self.t, name="t"))

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
        facts = {"model": s.name, "method": self.method, **self._lengths, "steps": self.steps, **s.parameters}
        return xarray.Dataset(data, coords=axes, attrs=facts)

    def __repr__(self) -> str:
        return (
            f"<trajectory of {self.system.name}: {self.method}, {self.steps} steps of {self.step:g}, " if self.step is not None else
            f"<trajectory of {self.system.name}: {self._described}, {self.steps} steps, "
        ) + (
            f"{len(self)} points, energy error {self.energy_error_max:.3g}, constraints {self.constraint_max:.3g}>"
        )


    def _repr_html_(self) -> str:
        facts = {"model": self.system.name, "method": self.method, **{name: f"{value:g}" for name, value in self._lengths.items()}, "steps": self.steps,
                 "points": len(self), "to t": f"{self.t[-1]:g}",
                 "energy error" if lib.nh_system_facts(self.system._handle).contents.keeps_energy else "energy change": f"{self.energy_error_max:.3g}",
                 "constraints": f"{self.constraint_max:.3g}"}
        ends = [[name, f"{self[name][0]:.6g}", f"{self[name][-1]:.6g}"] for name in self.columns[1:]]
        picture = curves(self.t, {name: self[name] for name in self.columns[1:]})
        return facts_table(facts) + table(["", "start", "end"], ends) + picture + remark_list(self.remarks)


class Sensitivity(np.ndarray):
    """Derivatives of a run, see :attr:`Trajectory.sensitivity`."""

    by: list[str]
    outputs: list[str]

    def __array_finalize__(self, of: Any) -> None:
        self.by, self.outputs = getattr(of, "by", []), getattr(of, "outputs", [])


class _Variables:
    """What a run is differentiated by."""

    def __init__(self, system: System, names: str | Iterable[str], begin: Any):
        wanted, self._kept = begin
        text = names if isinstance(names, str) else ",".join(names)
        self.handle = create(lib.nh_sensitivity_create, system._handle, text.encode(), C.addressof(wanted))
        own(self, lib.nh_sensitivity_free, self.handle)
        outputs, variables = lib.nh_sensitivity_outputs(self.handle), lib.nh_sensitivity_variables(self.handle)
        variable = lambda i: C.cast(lib.nh_sensitivity_variable(self.handle, i), C.POINTER(H.nh_varied)).contents.name.decode()
        self.names = ([_text(lib.nh_sensitivity_output_name(self.handle, i)) for i in range(outputs)], [variable(i) for i in range(variables)])


class _Simulation(Immutable):
    """The library's simulation, with the record and the run that belong to it."""

    def __init__(self, system: System, options: H.nh_simulation_options, kept: Any = None, variables: _Variables | None = None):
        self.system, self._kept = system, (options, kept, variables)  # keeps alive the functions that the library calls
        self.sensitive = variables.names if variables else None
        self.handle = create(lib.nh_simulation_create, system._handle, C.byref(options))
        own(self, lib.nh_simulation_free, self.handle)
        self.plan: H.nh_plan = lib.nh_simulation_plan(self.handle).contents
        self.method, self.step = self.plan.method.decode(), self.plan.step
        self.run: int = lib.nh_simulation_run(self.handle)
        self.record: int = lib.nh_simulation_record(self.handle)
        self.estimate: H.nh_estimate | None = None

    def columns(self) -> list[str]:
        return [_text(lib.nh_record_column_name(self.record, i)) for i in range(lib.nh_record_columns(self.record))]

    def event_name(self, index: int) -> str:
        return _text(lib.nh_run_event_name(self.run, index))

    def events(self) -> list[Event]:
        places = (lib.nh_simulation_event(self.handle, i).contents for i in range(lib.nh_simulation_events(self.handle)))
        return [Event(self.event_name(place.event), place.t, place.direction) for place in places]

    def modes(self) -> dict[str, str]:
        system = self.system._handle
        mode = {i: lib.nh_run_mode(self.run, 0, i) for i in range(lib.nh_system_items(system))}
        return {_text(lib.nh_system_item_name(system, i)): _text(lib.nh_system_mode_name(system, i, at)) for i, at in mode.items()}

    def away(self) -> dict[str, tuple[int, float]]:
        system, time, found = self.system._handle, C.c_double(), {}
        for i in range(lib.nh_system_items(system)):
            times = lib.nh_run_away(self.run, 0, i, C.byref(time))
            found[_text(lib.nh_system_item_name(system, i))] = times, time.value
        return found

    def arrived(self) -> bool:
        return lib.nh_run_steps(self.run) == self.plan.steps or lib.nh_run_ended(self.run, 0, None) >= 0

    def table(self) -> np.ndarray:
        """The rows, without a copy; the array keeps the simulation alive."""
        stride = C.c_int()
        place = lib.nh_record_table(self.record, C.byref(stride))
        table = array_at(place, lib.nh_record_kept(self.record), stride.value, owner=self)
        table.flags.writeable = False
        return table

    def advance(self, progress: Progress) -> None:
        """Advances to the end. The library returns frequently, so that Ctrl-C is handled and the bar is drawn."""
        bar, steps, started = Bar(progress), self.plan.steps, False
        try:
            while True:
                done = lib.nh_run_steps(self.run)
                bar.update(done / steps if steps else 1.0)
                if self.arrived() and started:
                    return
                call(lib.nh_simulation_advance, self.handle)
                started = True
        finally:
            bar.end()

    def finish(self) -> None:
        """Closes the file. An interrupted run writes its checkpoint; the checkpoint of a complete run is removed."""
        call(lib.nh_simulation_finish, self.handle)
        if self.arrived():
            lib.nh_simulation_remove_checkpoints(self.handle)

    def estimate_error(self, wanted: int) -> None:
        """Estimates the error of the end state. An exception of the user's functions at other steps is not a failure of this run."""
        self.estimate = H.nh_estimate(error=math.nan)
        try:
            call(lib.nh_simulation_estimate, self.handle, wanted, C.byref(self.estimate))
        except ComputationError as error:
            if error.__cause__ is None:
                raise
            self.estimate.error = math.nan


def fill_options(
    options: H.nh_run_options, method: bytes, step: float, steps: int, compose: str | None, compensated: bool | None, backend: str
) -> None:
    options.method, options.step, options.steps = method, step, steps
    options.compose = compose.encode() if compose else None
    options.backend = choose(BACKENDS, backend, "backend")
    options.compensated = choose(SWITCH, compensated, "compensated")


class _Run:
    def __init__(self, system: System, method: str, step: float, options: H.nh_run_options):
        self.system, self.method, self.step = system, method, float(step)
        self.handle = create(lib.nh_run_create, system._handle, C.byref(options))
        own(self, lib.nh_run_free, self.handle)

    def advance(self, steps: int) -> None:
        """Advances in short pieces, so that Ctrl-C is handled."""
        piece = FIRST_PIECE
        while steps > 0:
            piece, begun = min(piece, steps), monotonic()
            call(lib.nh_run_advance, self.handle, piece)
            steps -= piece
            piece = 2 * piece if monotonic() - begun < PAUSE else max(1, piece // 2)


class Beginning:
    """The starting point of runs: a system, a time and a state."""

    def __init__(self, system: System, t0: float, start: Start, q: Any, v: Any, project: Projection):
        self.system, self.t0 = system, t0
        self.q, self.v = choose_start(system, t0, start, q, v, project)

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


def own_steps(run: int) -> tuple[int, int]:
    accepted, rejected = C.c_int64(), C.c_int64()
    lib.nh_run_own_steps(run, 0, C.byref(accepted), C.byref(rejected))
    return accepted.value, rejected.value


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


def check_timing(step: float | None, steps: int | None, time: float | None) -> int:
    """The requested number of steps, or of states if there is no step; 0 leaves it open or to the time, and -1 requests
    as many steps as suit the motion."""
    if step is not None and steps is not None and time is not None:
        raise ValueError("give either steps or time")
    if step is not None and steps is None and time is None:
        return -1
    if step is None and (time == 0 or steps == 0):
        raise ValueError("a run without a step needs a time greater than 0 and at least one state")
    if step is not None or steps is not None:
        count = count_steps(1.0 if step is None else step, steps, time if steps is None else None)
        return count if steps is not None else 0
    return 0


def check_every(every: int | None) -> int | None:
    """The number of steps between recorded points, if the user gives it."""
    if every is not None and (every != int(every) or every < 1):
        raise ValueError(f"every must be a whole number of at least 1, not {every!r}")
    return None if every is None else int(every)


def record_every(every: int | None, steps: int, columns: int) -> int:
    """... and the library's recommendation otherwise."""
    return check_every(every) or lib.nh_record_spacing(steps, columns)


def _path(path: str | os.PathLike[str] | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def keep_files(
    options: H.nh_simulation_options, output: Path, checkpoint: Path, checkpoint_every: int | str | None, resume: Path, members: int = 1
) -> None:
    """The options that concern files."""
    options.output, options.checkpoint, options.resume = _path(output), _path(checkpoint), _path(resume)
    if output is not None:
        call(lib.nh_archive_can_write, options.output, members)
    if checkpoint_every is None:
        return
    if checkpoint is None:
        raise ValueError("checkpoint_every needs checkpoint=FILE")
    seconds, steps, report = C.c_double(), C.c_int64(), H.nh_report()
    if lib.nh_interval_parse(str(checkpoint_every).encode(), C.byref(seconds), C.byref(steps), C.byref(report)):
        raise ValueError(f"checkpoint_every {_text(report.text)}")
    options.checkpoint_seconds, options.checkpoint_steps = seconds.value, steps.value


@helpful
def simulate(
    model: Any,
    method: str | None = None,
    *,
    step: float | None = None, steps: int | None = None, time: float | None = None, every: int | None = None,
    tolerance: float | None = None, absolute: float | None = None,
    start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto", progress: Progress = None,
    output: Path = None, checkpoint: Path = None, checkpoint_every: int | str | None = None, resume: Path = None,
    estimate: bool | None = None, input: Inputs | None = None, input_period: float | None = None,
    times: Any = None, every_time: float | None = None,
    stop: str | Iterable[str] | None = None, section: str | None = None, on_event: OnEvent | None = None,
    events: Events | None = None, observe: str | Iterable[str] | None = None,
    sensitivity: str | Iterable[str] | None = None, **options: Any,
) -> Trajectory:
    """Computes one trajectory; gives the same numbers as ``nonholo run``, bit for bit.

    ``model`` is a :class:`Model`, a :class:`System`, or anything that :func:`load` accepts; ``options`` are those of
    the method (``stages=3``). Give the step size ``step`` and either the number of ``steps`` or the length ``time``
    (a shorter last step ends there); the default method is then the advised one, as on the command line. Without a step, the method chooses its own steps
    according to ``tolerance`` (1e-9) and ``absolute``, the tolerance near zero; the default is then dop853, and
    ``steps`` states are recorded at equal intervals (1000). A model alone is enough:

    >>> import nonholo
    >>> run = nonholo.run("rolling-coin", time=10)
    >>> run.method, len(run.t), run.accepted < 100, bool(run.energy_error_max < 1e-13)
    ('dop853:tolerance=1e-09', 1001, True, True)

    ``set`` changes parameters. ``start`` changes parts of the start state, ``q`` and ``v`` replace all of it; ``t0`` is
    its time, and ``project`` moves the start velocities to the nearest ones that satisfy the constraints: all of them
    (``True``), all but some (``"keep=x',y'"`` or ``{"keep": ["x'", "y'"]}``) or only some (``solve``). Every ``every``-th step is recorded;
    by default, about 10,000 points are. ``compose`` names a composition of the method, or is one of different methods,
    ``"dla:1/4, gauss:1/2, dla:1/4"``, which takes its place (it may also be given as ``method``); ``compensated`` switches compensated sums
    on or off (None follows the method's recommendation), and ``backend`` is "auto", "tape" or "compiled". ``progress`` is
    True, False, None (only in terminals and notebooks), or a function of the completed fraction. ``estimate`` says
    whether the error of the end state is estimated from runs with other steps (``trajectory.estimate``); None estimates
    it if that takes less than a second.

    >>> import nonholo
    >>> run = nonholo.simulate("rolling-disk", "gauss", stages=3, step=0.1, time=50, start={"theta": 0.5}, project=True)
    >>> len(run.t), bool(run.energy_error_max < 1e-6)
    (501, True)

    ``input`` defines the inputs of the model by numbers, expressions of t, parameters and (in forces) the state, tables
    (a file, or ``(times, values)``; ``"u:held"`` or ``"u:spline"`` instead of linear interpolation), or functions of (t, q,
    v) that are called at every step. With ``input_period``, expressions and functions are evaluated at its multiples and
    held in between. Each input is a column of the trajectory.

    >>> cart = "model cart\\ncoordinate x\\ninput u = 0\\nlagrangian x'^2/2\\nforce x = u\\n"
    >>> run = nonholo.run(cart, "gauss", step=0.01, time=1, input={"u": lambda t, q, v: 1.0 if t < 0.495 else 0.0})
    >>> float(run["x'"][-1].round(12)), run["u"][[0, 49, 50]].tolist()
    (0.5, [1.0, 1.0, 0.0])

    ``every_time`` is the time between recorded states, and ``times`` gives equally spaced times at which to record,
    as ``"a:b:n"`` or as an array; ``run(t)`` gives the state of a trajectory at any other time.

    >>> run = nonholo.run("rolling-coin", times="2:8:4")
    >>> run.t.tolist()
    [2.0, 4.0, 6.0, 8.0]

    ``stop`` names events of the model; the run ends at the first of them (``trajectory.event``). ``section`` names an event at
    which states are recorded, and only there. ``on_event`` is called at every event with the :class:`Event`, the coordinates and the
    velocities after it; the run ends there if it returns a true value. ``trajectory.events`` lists all events. ``events``
    adds functions of (t, q, v) whose changes of sign are located as well; those with attributes ``direction`` (1 or -1)
    and ``terminal`` (the run ends there) are read as in SciPy.

    >>> ball = "model ball\\ncoordinate y\\nlagrangian y'^2/2 - y\\nstart y = 0.5\\nevent floor: y\\nwhen floor: y' = -y'\\n"
    >>> run = nonholo.run(ball, time=10, on_event=lambda event, q, v: event.t > 4)
    >>> [(event.name, round(event.t, 12)) for event in run.events], run.event, round(float(run.t[-1]), 12)
    ([('floor', 1.0), ('floor', 3.0), ('floor', 5.0)], 'floor', 5.0)

    >>> run = nonholo.run(ball, time=4, events={"low": lambda t, q, v: q[0] - 0.375})
    >>> [(event.name, round(event.t, 12)) for event in run.events]
    [('low', 0.5), ('floor', 1.0), ('low', 1.5), ('low', 2.5), ('floor', 3.0), ('low', 3.5)]

    ``observe`` names quantities that become additional columns (see nonholo-figure(5)): the invariant that leapfrog preserves exactly,
    the ``power`` of forces, one constraint (``"constraint:NAME"``), ... A quantity of two successive states is NaN in the first row.

    >>> run = nonholo.run("knife-edge", "leapfrog", step=0.1, time=100, set={"eps": 0.1}, observe="leapfrog_invariant")
    >>> kept = run["leapfrog_invariant"][1:]
    >>> bool(abs(kept - kept[0]).max() < 1e-12), bool(run.energy_error_max > 0.03)
    (True, True)

    ``output`` is a file (.h5, .nc, .csv, .npy, .npz) to which points are written while they are computed, with
    the same bytes as ``nonholo run -o``; they are not kept in memory, and the trajectory contains only the
    last one. ``checkpoint`` is a file from which an interrupted run continues with the same bits: repeat the call
    with ``resume`` set to it. It is written every minute, or at the interval ``checkpoint_every`` (``"30s"``, ``"10m"``,
    ``"2h"``, or a number of steps), and at Ctrl-C, and is removed when the run is complete.

    ``sensitivity`` names parameters, start values (``"start x'"``) and inputs that are tables by which the run is differentiated; ``"all"``
    means all of them. The derivatives are :attr:`Trajectory.sensitivity`.

    >>> run = nonholo.simulate("chaplygin-sleigh", "gauss", step=0.1, time=5, sensitivity="J,a")
    >>> run.sensitivity.shape, run.sensitivity.by, run.sensitivity.outputs[:3]
    ((51, 8, 2), ['J', 'a'], ['x1', 'x2', 'theta'])

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.npz")
    ...     run = nonholo.simulate("rolling-disk", "gauss", step=0.1, steps=1000, every=10, output=path)
    ...     import numpy
    ...     numpy.load(path)["q"].shape, bool((numpy.load(path)["q"][-1] == run.q[-1]).all())
    ((101, 4), True)
    """
    lead, apart = 0.0, None
    if times is not None or every_time is not None:
        chooses = step is None
        lead, step, steps, time, apart = record_at(times, every_time, t0, step, steps, time, every)
        if chooses and tolerance is None and "tolerance" not in options and "tolerance=" not in (method or ""):
            tolerance = 1e-9
    count = check_timing(step, steps, time)
    beginning = Beginning(as_system(model, set, input, input_period), t0, start, q, v, project)
    text = method_text(method or "auto", options)
    how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    fill_options(how, text.encode(), step or 0.0, count, compose, compensated, backend)
    how.time, how.tolerance, how.absolute = time or 0.0, tolerance or 0.0, absolute or 0.0
    how.t0, how.q, how.v = t0, _address(beginning.q), _address(beginning.v)
    how.every = apart or check_every(every) or 0
    how.until, how.event = names_of(stop), told(beginning.system, on_event)
    how.inputs = beginning.system._inputs_callback
    kept = functions(beginning.system, events, how)
    want = H.nh_simulation_options(size=C.sizeof(H.nh_simulation_options), run=C.addressof(how), pause=PAUSE, lead=lead, solution=True)
    want.section, want.observe, want.model_text = names_of(section), names_of(observe), beginning.system._model_text
    keep_files(want, output, checkpoint, checkpoint_every, resume)
    wanted = choose(SWITCH, estimate, "estimate")
    variables = None
    if sensitivity is not None:
        variables = _Variables(beginning.system, sensitivity, start_options(beginning.system, start, q, v, t0, project))
        want.sensitivity = variables.handle
    trajectory = _carry_out(_Simulation(beginning.system, want, (how, kept), variables), progress, wanted)
    warn(trajectory.remarks)
    return trajectory


def _carry_out(simulation: _Simulation, progress: Progress, estimate: int) -> Trajectory:
    with Work():
        try:
            simulation.advance(progress)
        except Error as error:
            with contextlib.suppress(Error):  # only the first failure is reported
                simulation.finish()
            error.trajectory = Trajectory(simulation) if lib.nh_record_rows(simulation.record) else None
            raise
        except BaseException:  # Ctrl-C, or what `progress` raised
            simulation.finish()
            raise
        simulation.finish()
        simulation.estimate_error(estimate)
        return Trajectory(simulation)


run = simulate

__all__ = ["Event", "Trajectory", "run", "simulate"]
