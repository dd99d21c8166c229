"""lyapunov(): the rates at which nearby motions separate."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _header as H
from ._library import create, lib, remarks, warn
from ._names import helpful
from ._work import guarded
from .inputs import Inputs
from .notebook import facts_table
from .progress import Bar, Progress
from .system import Projection, Setting, Start, _address, as_system
from .trajectory import Beginning, fill_options, method_text

PROGRESS = dict(H.nh_lyapunov_options._fields_)["progress"]


@dataclass
class Lyapunov:
    """The result of :func:`lyapunov`: the ``exponents``, largest first, their standard deviations ``bars``, and for each whether it has
    ``converged``. ``dimension`` is how many there are within the constraints, ``sum`` that of all of them (NaN if only some were
    computed), ``megno`` the mean exponential growth factor of nearby orbits (2 for regular motions). ``t`` and ``history``
    [time, exponent] are their values as time went on."""

    exponents: np.ndarray
    bars: np.ndarray
    converged: np.ndarray
    dimension: int
    sum: float
    megno: float
    t: np.ndarray
    history: np.ndarray
    method: str
    remarks: list[str]

    def __repr__(self) -> str:
        shown = ", ".join(f"{value:.4g} +- {bar:.1g}" for value, bar in zip(self.exponents, self.bars))
        return f"<Lyapunov exponents {shown}; {len(self.exponents)} of {self.dimension}>"

    def _repr_html_(self) -> str:
        return facts_table({f"exponent {i + 1}": f"{x:.6g} ± {b:.2g}" for i, (x, b) in enumerate(zip(self.exponents, self.bars))})


def _gather(handle: int) -> Lyapunov:
    count, intervals = lib.nh_lyapunov_count(handle), lib.nh_lyapunov_intervals(handle)
    found = [lib.nh_lyapunov_exponent(handle, i) for i in range(count)]
    some = np.unique(np.linspace(0, intervals - 1, min(intervals, 1000)).astype(int))
    t, history = C.c_double(), np.zeros((len(some), count))
    times = np.zeros(len(some))
    for row, at in enumerate(some.tolist()):
        for i in range(count):
            history[row, i] = lib.nh_lyapunov_so_far(handle, at, i, C.addressof(t))
        times[row] = t.value
    return Lyapunov(
        exponents=np.array([x.value for x in found]), bars=np.array([x.bar for x in found]), converged=np.array([x.converged for x in found]),
        dimension=lib.nh_lyapunov_dimension(handle), sum=lib.nh_lyapunov_sum(handle), megno=lib.nh_lyapunov_megno(handle),
        t=times, history=history, method=C.cast(lib.nh_lyapunov_plan(handle), C.POINTER(H.nh_plan)).contents.method.decode(),
        remarks=remarks(lib.nh_lyapunov_remarks, lib.nh_lyapunov_remark, handle),
    )


@helpful
def lyapunov(
    model: Any,
    method: str | None = None,
    *,
    time: float,
    count: int | None = None,
    step: float | None = None, tolerance: float | None = None, absolute: float | None = None,
    start: Start = None, set: Setting | None = None, input: Inputs | None = None, input_period: float | None = None,
    q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto", progress: Progress = None,
    **options: Any,
) -> Lyapunov:
    """The Lyapunov exponents of a motion: the mean rates at which perturbations within the constraints grow, from the last nine tenths of
    ``time``. ``count`` is how many, by default all but at most four, ``-1`` all. Other arguments are those of :func:`simulate`.

    >>> import nonholo
    >>> found = nonholo.lyapunov("pendulum-cvt", time=500, count=1)
    >>> bool(abs(found.exponents[0]) < 0.05), found.dimension
    (True, 5)
    """
    beginning = Beginning(as_system(model, set, input, input_period), t0, start, q, v, project)
    how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    text = method_text(method, options).encode() if method else None
    fill_options(how, text, step or 0.0, 0, compose, compensated, backend)  # type: ignore[arg-type]
    how.time, how.tolerance, how.absolute = time, tolerance or 0.0, absolute or 0.0
    how.t0, how.q, how.v = t0, _address(beginning.q), _address(beginning.v)
    how.inputs = beginning.system._inputs_callback
    bar = Bar(progress)
    show = PROGRESS(guarded(lambda done, every: bar.update(done / every)))
    wanted = H.nh_lyapunov_options(size=C.sizeof(H.nh_lyapunov_options), run=C.addressof(how), count=count or 0, progress=show)
    handle = create(lib.nh_lyapunov_compute, beginning.system._handle, C.addressof(wanted))
    try:
        bar.end()
        found = _gather(handle)
    finally:
        lib.nh_lyapunov_free(handle)
    warn(found.remarks)
    return found


__all__ = ["Lyapunov", "lyapunov"]
