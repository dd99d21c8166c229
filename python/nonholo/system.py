"""Models and systems: the things that are simulated."""

from __future__ import annotations

import ctypes as C
import json
import os
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union

import numpy as np

from . import _header as H
from ._library import Error, Immutable, UsageError, call, create, lib, number, own, remarks
from ._names import helpful
from ._values import texts
from .dynamics import Dynamics, Jacobian
from .inputs import Inputs, callback, evaluate, functions, settings as input_settings
from .notebook import facts_table, text_block

if TYPE_CHECKING:
    from .gradients import Map

Values = Union[float, str, Sequence[float]]
Setting = Union[Mapping[str, Union[float, str]], str, "os.PathLike[str]"]  # or a file of lines NAME = VALUE
Start = Union[str, Mapping[str, Values], None]
Projection = Union[bool, str, Mapping[str, Union[str, Sequence[str]]]]


def _text(value: bytes | None) -> str:
    return value.decode() if value else ""


def _address(array: np.ndarray) -> int:
    return array.ctypes.data


def vector(values: Any, count: int, what: str) -> np.ndarray:
    """A copy that has the right number of components."""
    array = np.array(values, dtype=float, order="C")
    if array.shape != (count,):
        raise ValueError(f"{what} needs {count} numbers, not an array of shape {array.shape}")
    return array


def start_text(start: Start) -> bytes | None:
    """``{"x": 1, "y": (1, 2)}`` in the form that the library reads: ``x=1.0, y=(1.0, 2.0)``."""
    if start is None:
        return None
    if isinstance(start, str):
        return start.encode()
    items = []
    for name, value in start.items():
        if isinstance(value, str) or np.ndim(value) == 0:
            items.append(f"{name}={number(value)}")
        else:
            items.append(f"{name}=({', '.join(map(number, np.asarray(value).tolist()))})")
    return ", ".join(items).encode()


def projection_names(project: Projection) -> tuple[bool, bytes | None, bytes | None]:
    """Whether to project, and the names to keep and to solve for: ``{"keep": ["x'"]}`` or ``"keep=x'"``."""
    if isinstance(project, str):
        part, _, names = project.partition("=")
        project = {part: names}
    if not isinstance(project, Mapping):
        return bool(project), None, None
    lists = {part: names if isinstance(names, str) else ",".join(names) for part, names in project.items()}
    unknown = [part for part in lists if part not in ("keep", "solve")]
    if unknown or not lists or not all(lists.values()):
        raise ValueError(f"project takes keep=NAMES or solve=NAMES, not {project!r}")
    keep, solve = lists.get("keep"), lists.get("solve")
    return True, keep.encode() if keep else None, solve.encode() if solve else None


def _read_settings(path: Any) -> dict[str, str]:
    """A file of lines ``NAME = VALUE``, as for ``--set @FILE``: # begins a comment; headings and quotes of TOML are passed over."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for number_, line in enumerate(file, 1):
            text = line.split("#")[0].strip()
            name, equals, value = (part.strip() for part in text.partition("="))
            if not text or text.startswith("["):
                continue
            if not equals or not name:
                raise ValueError(f"{os.fspath(path)}:{number_}: expected NAME=VALUE, found {text!r}")
            quoted = len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]
            found[name] = value[1:-1] if quoted else value
    return found


def chosen(settings: Setting | None) -> Mapping[str, Union[float, str]]:
    """The settings as a mapping."""
    return _read_settings(settings) if isinstance(settings, (str, os.PathLike)) else settings or {}


def setting_texts(settings: Setting | None, inputs: Inputs | None, period: float | None) -> list[str]:
    """Parameters and inputs in the form that the library reads."""
    return [f"{name}={number(value)}" for name, value in chosen(settings).items()] + input_settings(inputs, period)


class Model(Immutable):
    """A model in the model language; created by :func:`load`. It never changes.

    >>> import nonholo
    >>> sleigh = nonholo.load("chaplygin-sleigh")
    >>> sleigh.name
    'chaplygin-sleigh'
    >>> sleigh.parameters
    {'J': 8.0, 'm': 1.0, 'a': 1.0, 'rho1': 0.001, 'rho2': -0.6}
    """

    def __init__(self, handle: int):
        self._handle = handle
        own(self, lib.nh_model_free, handle)

    def __reduce__(self) -> Any:  # pickled as its text
        return _model_of_text, (self.text, self.name)

    @property
    def name(self) -> str:
        """The name in the ``model`` statement."""
        return _text(lib.nh_model_name(self._handle))

    @property
    def text(self) -> str:
        """The text of the model."""
        return _text(lib.nh_model_text(self._handle))

    @property
    def expanded(self) -> str:
        """The text with ordinary statements in place of bodies, wheels, blades and springs: it gives the same results.

        >>> import nonholo
        >>> "lagrangian (rider.kinetic" in nonholo.load("benchmark-bicycle").expanded
        True
        """
        return _text(lib.nh_model_expanded(self._handle))

    @cached_property
    def _standard(self) -> System:
        return self._build({})

    def _build(self, settings: Setting, inputs: Inputs | None = None, period: float | None = None) -> System:
        array = texts(setting_texts(settings, inputs, period))
        system = System(create(lib.nh_system_build, self._handle, array, len(array)), model_text=self.text.encode())
        system._settings, system._given, system._period = dict(chosen(settings)), dict(inputs or {}), period
        system._inputs_callback = callback(system, functions(inputs))
        return system

    @helpful
    def system(self, set: Setting | None = None, input: Inputs | None = None, input_period: float | None = None) -> System:
        """The model with fixed parameters (``set`` changes some) and with its equations of motion derived. ``input``
        defines its inputs, as in :func:`run`."""
        return self._build(set or {}, input, input_period) if set or input or input_period is not None else self._standard

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters and their default values."""
        return self._standard.parameters

    @helpful
    def check(self, set: Setting | None = None) -> Facts:
        """Facts about the model: sizes, constraints, integrals, and the methods that apply.

        >>> import nonholo
        >>> facts = nonholo.load("pendulum-cvt").check()
        >>> facts.driver, facts.linear, facts.integrable
        ('xi', True, False)
        >>> facts.advised
        'discrete-gradient'
        >>> "leapfrog" in facts.methods
        True
        """
        return self.system(set).check()

    def __repr__(self) -> str:
        return f"<nonholo model {self.name}>"

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.name)}</b>{text_block(self.text)}"

    def _repr_latex_(self) -> str | None:
        return self._standard._repr_latex_()


class System(Immutable):
    """A model with fixed parameters, or a system of your own functions (:func:`from_functions`).

    States are arrays ``q`` (coordinates) and ``v`` (velocities).

    >>> import nonholo
    >>> disk = nonholo.load("rolling-disk").system({"r": 2})
    >>> disk.coordinates
    ['x1', 'x2', 'theta', 'phi']
    >>> q, v = disk.start({"theta": 0.5})
    >>> bool(abs(disk.residual(q, v)).max() < 1e-15)
    True
    """

    def __init__(self, handle: int, keep: Any = None, model_text: bytes | None = None):
        self._handle = handle
        self._model_text = model_text  # written to the files of its trajectories
        self._keep = keep  # callbacks must outlive the system
        self._settings: Setting = {}
        self._given: dict[str, Any] = {}
        self._period: float | None = None
        self._inputs_callback: Any = callback(self, {})
        own(self, lib.nh_system_free, handle)

    def __reduce__(self) -> Any:  # pickled as the text of its model and the parameters that were set
        if self._model_text is None:
            raise TypeError("a system of functions cannot be pickled; call from_functions where it is needed")
        return _system_of_text, (self._model_text.decode(), self.name, self._settings, self._given, self._period)

    def _names(self, count: Any, name: Any) -> list[str]:
        return [_text(name(self._handle, i)) for i in range(count(self._handle))]

    @property
    def name(self) -> str:
        """The name of the model."""
        return _text(lib.nh_system_name(self._handle))

    @cached_property
    def coordinates(self) -> list[str]:
        """The names of the coordinates, in the order of ``q``."""
        return self._names(lib.nh_system_coordinates, lib.nh_system_coordinate_name)

    @cached_property
    def velocities(self) -> list[str]:
        """The names of the velocities, in the order of ``v``."""
        return self._names(lib.nh_system_velocities, lib.nh_system_velocity_name)

    @cached_property
    def constraints(self) -> list[str]:
        """The names of the constraints, in the order of the multipliers."""
        return self._names(lib.nh_system_constraints, lib.nh_system_constraint_name)

    @cached_property
    def positions(self) -> list[str]:
        """The names of the constraints that are conditions on positions: the last ones of :attr:`constraints`."""
        count = lib.nh_system_positions(self._handle)
        return self.constraints[len(self.constraints) - count:]

    @cached_property
    def observables(self) -> list[str]:
        """The names of the observables."""
        return self._names(lib.nh_system_observables, lib.nh_system_observable_name)

    @property
    def quantities(self) -> list[str]:
        """The names of everything that ``observe`` can add to a trajectory as a column."""
        return self._names(lib.nh_system_quantities, lib.nh_system_quantity_name)

    @cached_property
    def contacts(self) -> list[str]:
        """The names of contacts, which can open. Trajectories have the columns ``NAME.mode`` and ``NAME.dissipated``."""
        return self._items(True)

    @cached_property
    def grips(self) -> list[str]:
        """The names of constraints with a ``grip``, which can slip."""
        return self._items(False)

    def _items(self, contacts: bool) -> list[str]:
        names = self._names(lib.nh_system_items, lib.nh_system_item_name)
        return [name for i, name in enumerate(names) if lib.nh_system_item_is_contact(self._handle, i) == contacts]

    @cached_property
    def inputs(self) -> list[str]:
        """The names of the inputs, which are among the columns of a trajectory."""
        return self._names(lib.nh_system_inputs, lib.nh_system_input_name)

    @cached_property
    def parameters(self) -> dict[str, float]:
        """The parameters and their values."""
        names = self._names(lib.nh_system_parameters, lib.nh_system_parameter_name)
        return {name: lib.nh_system_parameter_value(self._handle, i) for i, name in enumerate(names)}

    @cached_property
    def conserved(self) -> list[str]:
        """The conserved quantities that were found, e.g. ``energy``, ``momentum of x1``."""
        count = lib.nh_system_integrals(self._handle)
        return [_text(lib.nh_system_integral_name(self._handle, i)) for i in range(count)]

    @cached_property
    def remarks(self) -> list[str]:
        """Doubts about the model: what was seen, where, and what to try."""
        return remarks(lib.nh_system_remarks, lib.nh_system_remark, self._handle)

    # ---- states ----

    def start(self, start: Start = None) -> tuple[np.ndarray, np.ndarray]:
        """The start state (q, v) of the model; ``start`` changes parts of it before the rest is evaluated."""
        q, v = np.zeros(len(self.coordinates)), np.zeros(len(self.velocities))
        call(lib.nh_system_start, self._handle, start_text(start), _address(q), _address(v))
        return q, v

    def _state(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        return vector(q, len(self.coordinates), "q"), vector(v, len(self.velocities), "v")

    def _values(self, function: Any, count: int, t: float, q: Any, v: Any) -> np.ndarray:
        q, v = self._state(q, v)
        values = np.zeros(count)
        call(function, self._handle, t, _address(q), _address(v), _address(values))
        return values

    def energy(self, q: Any, v: Any, t: float = 0.0) -> float:
        """The energy of a state."""
        return float(self._values(lib.nh_system_energy, 1, t, q, v)[0])

    def residual(self, q: Any, v: Any, t: float = 0.0) -> np.ndarray:
        """The values k(t, q, v) of the constraints, zero for an admissible state."""
        return self._values(lib.nh_system_residual, len(self.constraints), t, q, v)

    def position_residual(self, q: Any, t: float = 0.0) -> np.ndarray:
        """The values g(t, q) of the conditions on positions, zero where they are satisfied."""
        q, _ = self._state(q, np.zeros(len(self.velocities)))
        g = np.zeros(len(self.positions))
        call(lib.nh_system_position_residual, self._handle, t, _address(q), _address(g))
        return g

    def observe(self, q: Any, v: Any, t: float = 0.0) -> dict[str, float]:
        """The values of the observables."""
        values = self._values(lib.nh_system_observe, len(self.observables), t, q, v)
        return dict(zip(self.observables, values.tolist()))

    @cached_property
    def scene(self) -> dict[str, Any] | None:
        """The drawing described by the model's ``draw`` statements, or None if there are none: ``dimensions``, ``shapes`` and the number
        of ``channels``. A number of a shape is a constant, or ``[channel]`` if it changes during the motion.

        >>> import nonholo
        >>> [shape["shape"] for shape in nonholo.load("rolling-disk").system().scene["shapes"]]
        ['ground', 'trace', 'wheel']
        """
        if lib.nh_system_drawn_numbers(self._handle) < 0:
            return None
        address = C.c_void_p()
        call(lib.nh_system_scene, self._handle, C.byref(address))
        text = C.string_at(address.value or 0)
        lib.nh_bytes_free(address)
        return dict(json.loads(text))

    def drawn(self, q: Any, v: Any, t: float = 0.0) -> np.ndarray:
        """The channels of the :attr:`scene` in a state."""
        return self._values(lib.nh_system_draw, max(lib.nh_system_drawn_numbers(self._handle), 0), t, q, v)

    def integrals(self, q: Any, v: Any, t: float = 0.0) -> dict[str, float]:
        """The values of the quantities in :attr:`conserved`."""
        values = self._values(lib.nh_system_integral_values, len(self.conserved), t, q, v)
        return dict(zip(self.conserved, values.tolist()))

    @cached_property
    def _dynamics(self) -> Dynamics:
        return Dynamics(self)

    def acceleration(self, q: Any, v: Any, t: Any = 0.0, inputs: Mapping[str, Any] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The acceleration v' and the multipliers of the continuous equations of motion. q and v may have many states (their last axis has
        the numbers of a state), t and the values of ``inputs``, such as ``{"push": 2.5}``, a number for each of them.

        >>> import nonholo
        >>> pendulum = nonholo.load('''model pendulum
        ... input push = 0
        ... coordinate a
        ... lagrangian a'^2/2 + 9.81*cos(a)
        ... force a = push
        ... ''').system()
        >>> pendulum.acceleration([[0], [0], [0]], [0], inputs={"push": [0, 1, 2]})[0].ravel().tolist()
        [0.0, 1.0, 2.0]
        """
        if inputs is None and np.ndim(q) == 1 and np.ndim(v) == 1 and np.ndim(t) == 0:
            q, v = self._state(q, v)
            a, multipliers = np.zeros(len(self.velocities)), np.zeros(len(self.constraints))
            call(lib.nh_system_acceleration, self._handle, t, _address(q), _address(v), _address(a), _address(multipliers))
            return a, multipliers
        sizes: list[tuple[int, ...]] = [(len(self.velocities),), (len(self.constraints),)]
        a, multipliers = self._dynamics.evaluate(lib.nh_dynamics_acceleration, sizes, q, v, t, inputs)
        return a, multipliers

    def map(self, step: float, method: str = "gauss", steps: int = 1, *, parameters: str | Sequence[str] = (), compose: str | None = None,
            compensated: bool | None = None, **options: Any) -> Map:
        """Steps of a run as a function that knows its derivatives: ``z1, vjp, jvp = map(z, inputs, t)``. ``parameters`` are those by
        which it is differentiated, too. With a negative ``step``, time goes backwards. See :class:`Map`.

        >>> import nonholo
        >>> cart = nonholo.load('''model cart
        ... parameter m = 2
        ... input push = 0
        ... coordinate x
        ... lagrangian m/2*x'^2
        ... force x = push
        ... ''').system(input={"push:held": None})
        >>> step = cart.map(0.1, parameters="m")
        >>> z1, vjp, jvp = step([0, 1], {"push": 3})
        >>> z1.round(6).tolist()
        [0.1075, 1.15]
        >>> [x.round(6).tolist() for x in vjp([1, 0])]
        [[1.0, 0.1], [0.0025], [-0.00375]]
        >>> jvp([0, 1], [0]).round(6).tolist()
        [0.1, 1.0]
        >>> cart.map(-0.1)(z1, {"push": 3})[0].round(12).tolist()
        [0.0, 1.0]
        """
        from .gradients import Map
        from .trajectory import method_text

        names = [name.strip() for name in parameters.split(",")] if isinstance(parameters, str) else list(parameters)
        return Map(self, method_text(method, options), float(step), int(steps), names, compose, compensated)

    def mass_matrix(self, q: Any, v: Any = None, t: Any = 0.0, inputs: Mapping[str, Any] | None = None) -> np.ndarray:
        """M of M v' = F + reactions, for one state or for many."""
        n = len(self.velocities)
        v = np.zeros(n) if v is None else v
        return self._dynamics.evaluate(lib.nh_dynamics_mass, [(n, n)], q, v, t, inputs)[0]

    def forces(self, q: Any, v: Any, t: Any = 0.0, inputs: Mapping[str, Any] | None = None) -> np.ndarray:
        """F of M v' = F + reactions: what accelerates a system without constraints, for one state or for many."""
        return self._dynamics.evaluate(lib.nh_dynamics_forces, [(len(self.velocities),)], q, v, t, inputs)[0]

    def jacobian(self, q: Any, v: Any, t: Any = 0.0, inputs: Mapping[str, Any] | None = None) -> Jacobian:
        """The derivatives of the acceleration by positions, velocities and inputs, within the constraints, for one state or for many.
        Inputs that are given do not follow the state.

        >>> import nonholo
        >>> J = nonholo.load("pendulum-cvt").system().jacobian([0, 0, 0], [0, 0, 0])
        >>> J.by_position.shape, J.by_velocity.shape, J.by_input.shape
        ((3, 3), (3, 3), (3, 0))
        """
        dynamics, n = self._dynamics, len(self.velocities)
        positions = lib.nh_dynamics_positions(dynamics._handle)
        return Jacobian(*dynamics.evaluate(lib.nh_dynamics_jacobian, [(n, positions), (n, n), (n, len(self.inputs))], q, v, t, inputs))

    def project(self, q: Any, v: Any, t: float = 0.0, *, keep: str | Sequence[str] | None = None,
                solve: str | Sequence[str] | None = None) -> np.ndarray:
        """The nearest velocities that satisfy the constraints, in the metric of the mass matrix.

        Velocities named by ``keep`` do not change, or only those named by ``solve`` change. Without either, those of
        the model's ``start solve`` change, or all if it has none.

        >>> import nonholo
        >>> disk = nonholo.load("rolling-disk").system()
        >>> disk.velocities
        ["x1'", "x2'", "theta'", "phi'"]
        >>> disk.project([0, 0, 0, 0], [0, 0, 1, 2], keep=["theta'", "phi'"]).tolist()
        [2.0, 0.0, 1.0, 2.0]
        """
        q, v = self._state(q, v)
        _, how_keep, how_solve = projection_names({k: n for k, n in (("keep", keep), ("solve", solve)) if n} or True)
        how = H.nh_projection(size=C.sizeof(H.nh_projection), keep=how_keep, solve=how_solve)
        call(lib.nh_system_project_by, self._handle, C.byref(how), t, _address(q), _address(v))
        return v

    def project_state(self, q: Any, v: Any, t: float = 0.0, *, keep: str | Sequence[str] | None = None,
                      solve: str | Sequence[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state that satisfies the constraints: positions first, where there are conditions on them, then
        velocities as in :meth:`System.project`. ``keep`` and ``solve`` may name coordinates too.

        >>> import nonholo
        >>> ring = nonholo.load('''
        ... model ring
        ... coordinate x, y
        ... lagrangian x'^2 + y'^2
        ... constraint ring: x^2 + y^2 = 25
        ... ''').system()
        >>> ring.positions
        ['ring']
        >>> q, v = ring.project_state([6, 8], [1, 1])
        >>> q.round(12).tolist(), ring.position_residual([6, 8]).tolist()
        ([3.0, 4.0], [75.0])
        """
        q, v = self._state(q, v)
        _, how_keep, how_solve = projection_names({k: n for k, n in (("keep", keep), ("solve", solve)) if n} or True)
        how = H.nh_projection(size=C.sizeof(H.nh_projection), keep=how_keep, solve=how_solve)
        call(lib.nh_system_project_state, self._handle, C.byref(how), t, _address(q), _address(v))
        return q, v

    def integrability(self, q: Any, v: Any, t: float = 0.0) -> dict[str, Any]:
        """Whether the constraints are integrable near a state: ``integrable`` (True, False or None), ``holonomic`` (how
        many conditions on positions they imply, or None) and ``growth`` (ranks of D, D + [D, D], ...; see
        ``nonholo check``)."""
        q, v = self._state(q, v)
        found = H.nh_integrability()
        call(lib.nh_system_integrability, self._handle, t, _address(q), _address(v), C.byref(found))
        return {"integrable": _ANSWER[found.integrable], "holonomic": found.holonomic if found.holonomic >= 0 else None,
                "growth": list(found.growth[:found.growths])}

    def volume(self, q: Any, v: Any, t: float = 0) -> dict[str, Any]:
        """Whether the motion near a state keeps the volume of positions and velocities (``kept``), whether there is likely
        an invariant density (``measure``; both True, False or None), why, and the ``divergence`` of the flow in the state.

        >>> import nonholo
        >>> sleigh = nonholo.load("chaplygin-sleigh").system()
        >>> sleigh.volume(*sleigh.start())["measure"]
        False
        """
        q, v = self._state(q, v)
        found = H.nh_volume()
        call(lib.nh_system_volume, self._handle, t, _address(q), _address(v), C.byref(found))
        return {"kept": _ANSWER[found.kept], "measure": _ANSWER[found.measure], "reason": _text(found.reason) or None,
                "divergence": found.divergence}

    @cached_property
    def surfaces(self) -> list[str]:
        """Conditions on positions that the constraints imply and that were found in closed form, as texts."""
        return [_text(lib.nh_system_surface(self._handle, i)) for i in range(lib.nh_system_surfaces(self._handle))]

    # ---- facts ----

    def check(self) -> Facts:
        """Facts about the system, as in :meth:`Model.check`."""
        return Facts(self)

    def _repr_html_(self) -> str:
        lists = {"coordinates": self.coordinates, "velocities": self.velocities, "constraints": self.constraints,
                 "inputs": self.inputs, "observables": self.observables, "conserved": self.conserved}
        facts = {name: ", ".join(items) for name, items in lists.items() if items}
        facts["parameters"] = ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())
        return f"<b>{escape(self.name)}</b>" + facts_table(facts)

    def _repr_latex_(self) -> str | None:
        """Lagrangian, constraints and equations of motion; None for systems that do not come from a model."""
        from .exports import equations
        return equations(self)

    def __repr__(self) -> str:
        return f"<nonholo system {self.name}: {len(self.coordinates)} coordinates, {len(self.constraints)} constraints>"


_ANSWER = {H.NH_NO: False, H.NH_YES: True, H.NH_UNKNOWN: None}
_KIND = {H.NH_LINEAR: "linear", H.NH_AFFINE: "affine", H.NH_NONLINEAR: "nonlinear"}


def start_options(system: System, start: Start, q: Any, v: Any, t0: float, project: Projection) -> tuple[H.nh_start_options, Any]:
    """How the start of a run is found, and what has to live as long as that."""
    kept = (None if q is None else vector(q, len(system.coordinates), "q"), None if v is None else vector(v, len(system.velocities), "v"))
    wanted = H.nh_start_options(size=C.sizeof(H.nh_start_options), t=t0, assignments=start_text(start))
    wanted.project, wanted.keep, wanted.solve = projection_names(project)
    wanted.q, wanted.v = (None if array is None else _address(array) for array in kept)
    return wanted, kept


class Facts:
    """Facts about a system. Every field of the C structure ``nh_facts`` is an attribute; answers are True, False or
    None (unknown), and ``driver`` is a name. ``fibration`` gives the group, the dimension of the fibre, and the numbers of
    integrals and angles of a coupled system with linear passengers (otherwise None). ``methods`` lists the methods that apply, ``not_applicable`` maps the
    others to the reason, and ``advised`` is the recommended method. ``volume_kept`` and ``invariant_measure`` are those of
    :meth:`System.volume` at the model's start."""

    def __init__(self, system: System):
        facts = lib.nh_system_facts(system._handle).contents
        for name, _ in H.nh_facts._fields_:
            setattr(self, name, getattr(facts, name))
        self.reversible = _ANSWER[facts.reversible]
        self.integrable = _ANSWER[facts.integrable]
        volume = system.volume(*system.start())
        self.volume_kept, self.invariant_measure = volume["kept"], volume["measure"]
        self.holonomic = facts.holonomic if facts.holonomic >= 0 else None
        self.driver = system.coordinates[facts.driver] if facts.coupled and facts.driver >= 0 else None
        over = H.nh_fibration()
        self.fibration = None
        if lib.nh_system_fibration(system._handle, C.byref(over)):
            self.fibration = {"group": _text(over.group), "fibre": over.fibre}
            if over.angles >= 0:
                self.fibration.update(integrals=over.integrals, angles=over.angles)
        self.name = system.name
        self.coordinates, self.velocities = system.coordinates, system.velocities
        self.parameters, self.observables = system.parameters, system.observables
        self.conserved = system.conserved
        self.constraints = {
            name: _KIND[lib.nh_system_constraint_kind(system._handle, i)]
            for i, name in enumerate(system.constraints)
        }
        self._find_methods(system)

    def _find_methods(self, system: System) -> None:
        self.methods: list[str] = []
        self.not_applicable: dict[str, str] = {}
        for i in range(lib.nh_method_count()):
            name = _text(lib.nh_method_name(lib.nh_method_at(i)))
            choice, report = H.nh_choice(), H.nh_report()
            call(lib.nh_choice_parse, C.byref(choice), name.encode())
            if lib.nh_choice_applies(C.byref(choice), system._handle, C.byref(report)) == H.NH_OK:
                self.methods.append(name)
            else:
                self.not_applicable[name] = _text(report.text)
        reason = C.c_char_p()
        self.advised = _text(lib.nh_advise(system._handle, C.byref(reason))) or None
        self.advised_because = _text(reason.value)
        self.advised_for_speed = _text(lib.nh_advise_fast(system._handle, C.byref(reason))) or None
        self.advised_for_speed_because = _text(reason.value) or None

    def __repr__(self) -> str:
        lines = [self.name]
        for name, value in vars(self).items():
            if name not in ("name", "not_applicable"):
                shown = ", ".join(map(str, value)) if isinstance(value, list) else value
                lines.append(f"  {name:22} {shown}")
        return "\n".join(lines)


@helpful
def load(model: str | os.PathLike[str], file: str = "text") -> Model:
    """Loads a shipped model by its name, a model file by its path, or a model from its text.

    A string with several lines is a text; messages then use ``file`` as its name.

    >>> import nonholo
    >>> spring = nonholo.load('''
    ... model spring
    ... coordinate x
    ... lagrangian x'^2/2 - x^2/2
    ... start x = 1
    ... ''')
    >>> spring.check().conserved
    ['energy']
    """
    if isinstance(model, str) and "\n" in model:
        data = model.encode()
        return Model(create(lib.nh_model_parse, file.encode(), data, len(data)))
    path = os.fspath(model)
    if not isinstance(model, str) and "/" not in path:  # a path is never a shipped name
        path = "./" + path
    return Model(create(lib.nh_model_open, path.encode()))


def _model_of_text(text: str, name: str) -> Model:
    data = text.encode()
    return Model(create(lib.nh_model_parse, name.encode(), data, len(data)))


def _system_of_text(text: str, name: str, settings: Setting, inputs: Any = None, period: float | None = None) -> System:
    return _model_of_text(text, name)._build(settings, inputs, period)


def models() -> dict[str, str]:
    """The shipped models, each with a one-line description.

    >>> import nonholo
    >>> "chaplygin-sleigh" in nonholo.models()
    True
    """
    count = lib.nh_shipped_model_count()
    return {_text(lib.nh_shipped_model_name(i)): _text(lib.nh_shipped_model_summary(i)) for i in range(count)}


def methods() -> dict[str, str]:
    """The integrators, each with a one-line description.

    >>> import nonholo
    >>> nonholo.methods()["dla01"] != ""
    True
    """
    every = map(lib.nh_method_at, range(lib.nh_method_count()))
    return {_text(lib.nh_method_name(m)): _text(lib.nh_method_summary(m)) for m in every}


def as_system(subject: Any, set: Setting | None, input: Inputs | None = None, period: float | None = None) -> System:
    """A system from anything that users may pass: a system, a model, a shipped name, a path or a text."""
    if isinstance(subject, System):
        if set or input or period is not None:
            raise ValueError("a system's parameters and inputs cannot be changed; give `set` and `input` with a model")
        return subject
    return (subject if isinstance(subject, Model) else load(subject)).system(set, input, period)


def choose_start(system: System, t0: float, start: Start, q: Any, v: Any, project: Projection) -> tuple[np.ndarray, np.ndarray]:
    """The start state: the model's start with changes, then whole vectors, then the projection or the model's solve."""
    wanted, kept = start_options(system, start, q, v, t0, project)
    first_q, first_v = np.zeros(len(system.coordinates)), np.zeros(len(system.velocities))
    begin = lambda: call(lib.nh_system_begin, system._handle, C.byref(wanted), _address(first_q), _address(first_v))
    given = functions(system._given)
    if not given:
        begin()
        return first_q, first_v
    # The start depends on the inputs, and functions of inputs may depend on the start.
    try:
        begin()
    except Error:  # with the defaults there is no start
        first_q[:] = first_v[:] = 0
    values, before = np.full(len(system.inputs), np.nan), None
    for _ in range(10):
        evaluate(given, list(system.inputs), values, t0, first_q, first_v)
        if before is not None and (values == before)[~np.isnan(values)].all():
            break
        before, wanted.inputs = values.copy(), _address(values)
        begin()
    return first_q, first_v


__all__ = ["Facts", "Model", "System", "UsageError", "load", "methods", "models"]
