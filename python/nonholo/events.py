"""Events of a run: a record of what happened, and user functions that are called."""

from __future__ import annotations

import ctypes as C
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Union

import numpy as np

from . import _header as H
from ._library import array_at
from ._work import guarded


class Event(NamedTuple):
    """An event during a run: its name, its time, and whether its function rose (1) or fell (-1)."""

    name: str
    t: float
    direction: int


#: functions of (t, q, v) by name; attributes ``direction`` and ``terminal`` as SciPy has them
Events = Mapping[str, Callable[[float, np.ndarray, np.ndarray], float]]
#: called with the event, the coordinates and the velocities after it; a true answer ends the run
OnEvent = Callable[[Event, np.ndarray, np.ndarray], Any]


def names_of(names: Union[str, Iterable[str], None]) -> bytes | None:
    """One name or several, in the form that the library reads.

    >>> names_of("floor"), names_of(["floor", "top"]), names_of(None)
    (b'floor', b'floor,top', None)
    """
    if names is None:
        return None
    return (names if isinstance(names, str) else ",".join(names)).encode()


def functions(system: Any, events: Events | None, want: Any) -> Any:
    """Puts the user's functions into the options of a simulation; returns the objects that must live as long as the simulation."""
    if events is None:
        return None
    if not isinstance(events, Mapping):
        raise ValueError('events needs a mapping such as {"top": lambda t, q, v: v[1]}, not ' + type(events).__name__)
    nq, nv = len(system.coordinates), len(system.velocities)
    kind = dict(H.nh_event_function._fields_)["value"]

    def value_of(function: Any) -> Any:
        def ask(t: float, q: int, v: int, out: int) -> None:
            array_at(out, 1)[0] = float(function(t, array_at(q, nq).copy(), array_at(v, nv).copy()))

        return kind(guarded(ask))

    listed = [(name, value, float(getattr(value, "direction", 0))) for name, value in events.items()]
    table = (H.nh_event_function * max(1, len(listed)))(
        *(H.nh_event_function(name=name.encode(), direction=(way > 0) - (way < 0), value=value_of(value))
          for name, value, way in listed))
    want.event_functions, want.event_function_count = C.addressof(table), len(listed)
    ends = [name for name, value, _ in listed if getattr(value, "terminal", False)]
    if ends:
        want.until = b",".join(filter(None, [want.until, *(name.encode() for name in ends)]))
    return table


def told(system: Any, function: OnEvent | None) -> Any:
    """A function for C that calls the user's function."""
    kind = dict(H.nh_run_options._fields_)["event"]
    if function is None:
        return C.cast(None, kind)
    nq, nv = len(system.coordinates), len(system.velocities)
    answer = [False]

    def tell(address: int) -> None:
        event = H.nh_event.from_address(address)
        state = array_at(event.q, nq).copy(), array_at(event.v_after, nv).copy()
        answer[0] = bool(function(Event(event.name.decode(), event.t, event.direction), *state))

    call = guarded(tell)

    def ask(user: Any, event: Any) -> int:
        answer[0] = False
        return call(user, C.cast(event, C.c_void_p).value) or int(answer[0])

    return kind(ask)
