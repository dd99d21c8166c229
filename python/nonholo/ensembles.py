"""Many trajectories at once: members over lanes, groups of members over threads."""

from __future__ import annotations

import ctypes as C
import os
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np

from . import _header as H
from ._library import Error, call, check, lib
from .progress import Bar, Progress
from .system import Setting, Start, System, _address, as_system, settle_start
from .trajectory import _Run, count_steps, method_text, raise_with_cause

LANES = 8  # members that go side by side; shares of a thread are whole multiples


@dataclass
class Ensemble:
    """What :func:`ensemble` gives back. ``q`` and ``v`` have the axes time, member, component; ``energy``
    time, member. ``parameters`` holds the swept values, one a member."""

    systems: list[System]
    method: str
    step: float
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    energy: np.ndarray
    parameters: dict[str, np.ndarray]
    seconds: float  # of stepping, added up over threads
    threads: int

    @property
    def members(self) -> int:
        return self.q.shape[1]

    @property
    def energy_error(self) -> np.ndarray:
        """E - E0 of each member, time by member."""
        return self.energy - self.energy[0]

    def __repr__(self) -> str:
        return (
            f"<ensemble of {self.systems[0].name}: {self.members} members, {self.method}, step {self.step:g}, "
            f"{len(self.t)} points, {self.threads} threads>"
        )


class _Share:
    """Members of one system that one thread follows."""

    def __init__(self, system: System, first: int, q: np.ndarray, v: np.ndarray):
        self.system, self.first, self.q, self.v = system, first, q, v
        self.seconds = 0.0

    def follow(self, out: Ensemble, pieces: list[int], settings: dict[str, Any], t0: float, tick: Any) -> None:
        run = _Run(self.system, out.method, out.step, sum(pieces), len(self.q), settings)
        call(lib.nh_run_start_all, run.handle, t0, _address(self.q), _address(self.v))
        self._record(out, run, 0)
        for point, steps in enumerate(pieces, 1):
            call(lib.nh_run_advance, run.handle, steps)
            self._record(out, run, point)
            tick(steps * len(self.q))
        self.seconds = lib.nh_run_seconds(run.handle)

    def _record(self, out: Ensemble, run: _Run, point: int) -> None:
        count, t, energy = len(self.q), C.c_double(), C.c_double()
        members = slice(self.first, self.first + count)
        q, v = np.empty_like(self.q), np.empty_like(self.v)
        lib.nh_run_states(run.handle, C.byref(t), _address(q), _address(v))
        out.q[point, members], out.v[point, members] = q, v
        if self.first == 0:
            out.t[point] = t.value
        q_place, v_place, q_size, v_size = _address(q), _address(v), q.shape[1] * 8, v.shape[1] * 8
        for i in range(count):
            status = lib.nh_system_energy(
                self.system._handle, t.value, q_place + i * q_size, v_place + i * v_size, C.byref(energy)
            )
            check(status, H.nh_report())
            out.energy[point, self.first + i] = energy.value


def _gather_starts(system: System, starts: Any, q: Any, v: Any, t0: float, project: bool) -> tuple[np.ndarray, np.ndarray]:
    """Arrays member by component, from a list of changes to the model's start or from whole arrays."""
    if starts is not None:
        states = [settle_start(system, t0, start, q, v, project) for start in starts]
    else:
        rows_q = np.atleast_2d(np.asarray(system.start()[0] if q is None else q, dtype=float))
        rows_v = np.atleast_2d(np.asarray(system.start()[1] if v is None else v, dtype=float))
        count = max(len(rows_q), len(rows_v))
        rows_q = np.broadcast_to(rows_q, (count, rows_q.shape[1]))
        rows_v = np.broadcast_to(rows_v, (count, rows_v.shape[1]))
        states = [settle_start(system, t0, None, a, b, project) for a, b in zip(rows_q, rows_v)]
    if not states:
        raise ValueError("an ensemble needs at least one member")
    return np.array([s[0] for s in states]), np.array([s[1] for s in states])


def _cut(system: System, q: np.ndarray, v: np.ndarray, threads: int) -> list[_Share]:
    groups = -(-len(q) // LANES)
    size = -(-groups // threads) * LANES
    return [_Share(system, i, q[i : i + size].copy(), v[i : i + size].copy()) for i in range(0, len(q), size)]


def _swept_shares(model: Any, set: Setting | None, sweep: Mapping[str, Any], start: dict[str, Any]) -> tuple[list[_Share], dict]:
    """A system for each combination of the swept values."""
    names = list(sweep)
    grid = np.meshgrid(*[np.asarray(sweep[n], dtype=float) for n in names], indexing="ij")
    values = {name: axis.ravel() for name, axis in zip(names, grid)}
    shares = []
    for i in range(len(values[names[0]])):
        system = as_system(model, {**(set or {}), **{n: float(values[n][i]) for n in names}})
        q, v = settle_start(system, **start)
        shares.append(_Share(system, i, q[None, :], v[None, :]))
    return shares, values


def _run_all(shares: list[_Share], out: Ensemble, pieces: list[int], settings: dict, t0: float, progress: Progress) -> None:
    bar, lock = Bar(progress), threading.Lock()
    total, done = sum(pieces) * out.members or 1, 0

    def tick(steps: int) -> None:
        nonlocal done
        with lock:
            done += steps
            bar.update(done / total)

    with ThreadPoolExecutor(out.threads) as pool:
        futures = {pool.submit(s.follow, out, pieces, settings, t0, tick): s for s in shares}
        finished, waiting = wait(futures, return_when=FIRST_EXCEPTION)
        for future in waiting:
            future.cancel()
    bar.end()
    for future, share in futures.items():
        if not future.cancelled() and isinstance(future.exception(), Error):
            raise_with_cause(share.system, future.exception(), None)
        if not future.cancelled():
            future.result()


def ensemble(
    model: Any,
    method: str = "gauss",
    *,
    step: float,
    steps: int | None = None,
    time: float | None = None,
    starts: Sequence[Start] | None = None,
    q: Any = None,
    v: Any = None,
    sweep: Mapping[str, Any] | None = None,
    start: Start = None,
    set: Setting | None = None,
    t0: float = 0.0,
    project: bool = False,
    every: int | None = None,
    threads: int | None = None,
    compose: str | None = None,
    compensated: bool | None = None,
    backend: str = "auto",
    progress: Progress = None,
    **options: Any,
) -> Ensemble:
    """Many trajectories: ``starts`` lists changes to the model's start state, ``q`` and ``v`` are arrays with a
    row a member, ``sweep`` gives values of parameters (all combinations). Threads work at once, since the
    library is called without Python's lock. Recorded are the start, each ``every``-th step, and the end.

    Each member has the bits that it has alone.

    >>> import nonholo
    >>> many = nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, time=100,
    ...                         starts=[{"x": 0.1 * i} for i in range(20)], project=True)
    >>> many.q.shape, many.energy_error.shape
    ((2, 20, 3), (2, 20))
    >>> swept = nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, time=10, sweep={"eps": [0, 0.1, 0.2]})
    >>> swept.parameters["eps"].tolist()
    [0.0, 0.1, 0.2]
    """
    if sweep is not None and (starts is not None or q is not None or v is not None):
        raise ValueError("a sweep takes one start for all: start=...")
    if start is not None and sweep is None:
        raise ValueError("starts=[...] lists the members' starts; start=... goes with a sweep")
    count = count_steps(step, steps, time)
    threads = threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads or os.cpu_count() or 1
    values: dict[str, np.ndarray] = {}
    if sweep is not None:
        shares, values = _swept_shares(model, set, sweep, dict(t0=t0, start=start, q=None, v=None, project=project))
    else:
        system = as_system(model, set)
        shares = _cut(system, *_gather_starts(system, starts, q, v, t0, project), threads)
    whole = every or count or 1
    pieces = [min(whole, count - i) for i in range(0, count, whole)]
    members, points = sum(len(s.q) for s in shares), len(pieces) + 1
    room = lambda *shape: np.empty((points, members, *shape))
    out = Ensemble(
        systems=[s.system for s in shares] if values else [shares[0].system],
        method=method_text(method, options),
        step=step,
        t=np.empty(points),
        q=room(shares[0].q.shape[1]),
        v=room(shares[0].v.shape[1]),
        energy=room(),
        parameters=values,
        seconds=0.0,
        threads=threads,
    )
    _run_all(shares, out, pieces, dict(compose=compose, compensated=compensated, backend=backend), t0, progress)
    out.seconds = sum(s.seconds for s in shares)
    return out


__all__ = ["Ensemble", "ensemble"]
