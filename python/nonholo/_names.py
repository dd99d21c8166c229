"""Misspelt keyword arguments: the error names the one that was probably meant."""

from __future__ import annotations

import ctypes as C
import difflib
import functools
import inspect
from typing import Any, Callable, Iterable

from ._library import lib


#: the names that other programs use
HABITS = {
    "params": "set", "parameters": "set", "parameter": "set", "p": "set", "constants": "set", "settings": "set",
    "dt": "step", "h": "step", "step_size": "step", "stepsize": "step", "timestep": "step", "time_step": "step",
    "n_steps": "steps", "nsteps": "steps", "num_steps": "steps", "n": "steps",
    "t_end": "time", "tend": "time", "t_final": "time", "tf": "time", "t_max": "time", "tmax": "time", "T": "time",
    "duration": "time", "t_span": "time", "until": "time", "length": "time",
    "tspan": "time", "t_eval": "times", "teval": "times", "saveat": "times", "t_start": "t0", "tstart": "t0",
    "tol": "tolerance", "rtol": "tolerance", "reltol": "tolerance", "rel_tol": "tolerance", "atol": "absolute", "abstol": "absolute",
    "abs_tol": "absolute", "initial": "start", "initial_state": "start", "initial_conditions": "start", "ic": "start", "x0": "start",
    "y0": "start", "watch": "section", "state": "start", "q0": "q", "v0": "v", "qdot": "v", "qd": "v", "dq": "v",
    "inputs": "input", "u": "input", "control": "input", "controls": "input", "controller": "input", "forcing": "input",
    "period": "input_period", "sample_time": "input_period", "sampling_time": "input_period", "ts": "input_period",
    "integrator": "method", "solver": "method", "scheme": "method", "algorithm": "method", "record_every": "every",
    "save_every": "every", "stride": "every", "out": "output", "file": "output", "filename": "output", "path": "output",
    "verbose": "progress", "bar": "progress", "jit": "backend", "compile": "backend", "workers": "threads", "n_jobs": "threads",
    "processes": "threads", "random_state": "seed", "count": "members", "num_envs": "members", "batch": "members",
    "batch_size": "members", "size": "members",
}


@functools.lru_cache(maxsize=None)
def _method_options() -> frozenset[str]:
    """The options of all methods."""
    found, count = set(), C.c_int()
    for i in range(lib.nh_method_count()):
        options = lib.nh_method_options(lib.nh_method_at(i), C.byref(count))
        found.update(options[k].name.decode() for k in range(count.value))
    return frozenset(found)


def _meant(name: str, known: list[str], options: Iterable[str]) -> str | None:
    """The argument that was probably meant, "" if none is similar; None if an option of a method is more similar."""
    if name == "until" and "stop" in known and "time" in known:
        return "stop=EVENT or time"
    habit = HABITS.get(name, HABITS.get(name.lower()))
    if habit in known:
        return habit
    near = difflib.get_close_matches(name.lower(), [*options, *known], n=1, cutoff=0.7)
    return "" if not near else near[0] if near[0] in known else None


def helpful(function: Callable[..., Any]) -> Any:
    """Makes a function report unknown keyword arguments together with the name that was probably meant."""
    parameters = inspect.signature(function).parameters
    known = [n for n, p in parameters.items() if n != "self" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_options = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    names = frozenset(known)
    title = function.__qualname__.replace(".__init__", "")

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        for name in named:
            if name in names or (takes_options and name in _method_options()):
                continue
            meant = _meant(name, known, _method_options() if takes_options else ())
            if meant or not takes_options:  # otherwise the library checks the options of the method
                raise TypeError(f"{title}() has no argument '{name}'; "
                                + (f"did you mean {meant}=?" if meant else f"the arguments are {', '.join(known)}"))
        return function(*arguments, **named)

    return called
