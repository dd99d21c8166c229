"""One trajectory with numbers of 34 digits: precise() and its result."""

from __future__ import annotations

import ctypes as C
from decimal import Decimal
from typing import Any

from . import _header as H
from ._library import Immutable, call, create, lib
from ._names import helpful
from .system import Projection, Setting, Start, _text, as_system, start_options
from .trajectory import check_every, check_timing, fill_options, method_text

ROWS_USUAL = 10000


class PreciseTrajectory(Immutable):
    """The result of :func:`precise`: columns of ``decimal.Decimal``, by name or in ``rows``.

    >>> import nonholo
    >>> run = nonholo.precise("chaplygin-sleigh", "gauss", stages=8, step=0.1, time=1)
    >>> run.columns
    ['t', 'x1', 'x2', 'theta', "x1'", "x2'", "theta'", 'energy', 'forward']
    >>> len(run), run.steps, run["t"][-1], bool(run.constraint_max < 1e-30)
    (11, 10, Decimal('1'), True)
    """

    def __init__(self, handle: int, columns: list[str], rows: list[tuple[Decimal, ...]], counts: tuple[int, int, int]):
        plan = lib.nh_precise_run_plan(handle).contents
        self.columns, self.rows = columns, rows
        self.method = _text(plan.method)
        self.steps, self.accepted, self.rejected = counts  #: of the run; accepted and rejected by the method
        self.tolerance: float | None = plan.tolerance or None  #: None: the steps were given
        self.seconds: float = lib.nh_precise_run_seconds(handle)  #: of processor time spent stepping
        self.energy_error_max: float = lib.nh_precise_run_energy_error(handle)
        self.constraint_max: float = lib.nh_precise_run_constraint_max(handle)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[Decimal]:
        if name not in self.columns:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self.columns)}")
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def __repr__(self) -> str:
        return f"<PreciseTrajectory: {self.method}, {self.accepted} steps to t = {self.rows[-1][0]}>"


@helpful
def precise(
    model: Any,
    method: str | None = None,
    *,
    step: float | None = None, steps: int | None = None, time: float | None = None, every: int | None = None,
    tolerance: float | None = None, absolute: float | None = None,
    start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compensated: bool | None = None, **options: Any,
) -> PreciseTrajectory:
    """Computes one trajectory in quadruple precision, as ``nonholo run --precision quad``.

    The arguments are those of :func:`simulate`. A number stands for the decimal that Python prints: ``step=0.1`` is a
    tenth; values with more digits are given as texts (``set={"g": "9.80665"}``, ``start="x = 1/3"``). Without a step, the
    method is ``reference`` and the tolerance 1e-28.

    >>> import nonholo
    >>> pendulum = "model p\\ncoordinate x\\nlagrangian x'^2/2 + cos(x)\\nstart x = 1/3"
    >>> fine, finer = (nonholo.precise(pendulum, time=1, tolerance=e)["x"][-1] for e in (1e-25, 1e-30))
    >>> bool(abs(fine - finer) < 1e-24)
    True
    """
    system = as_system(model, set)
    wanted, _kept = start_options(system, start, q, v, t0, project)
    count = check_timing(step, steps, time)
    how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    text = method_text(method or "auto", options)
    fill_options(how, text.encode(), step or 0.0, count, None, compensated, "auto")
    how.time, how.tolerance, how.absolute, how.t0 = time or 0.0, tolerance or 0.0, absolute or 0.0, t0
    handle = create(lib.nh_precise_run_create, system._handle, C.byref(how), C.byref(wanted))
    try:
        columns = [_text(lib.nh_precise_run_column_name(handle, i)) for i in range(lib.nh_precise_run_columns(handle))]
        row = lambda: tuple(Decimal(_text(lib.nh_precise_run_text(handle, i))) for i in range(len(columns)))
        apart = check_every(every) or 1 + (lib.nh_precise_run_plan(handle).contents.steps - 1) // ROWS_USUAL
        rows, counts = [row()], (C.c_int64(), C.c_int64())
        done = 0
        while not lib.nh_precise_run_is_over(handle):
            call(lib.nh_precise_run_advance, handle, 1)
            done = lib.nh_precise_run_steps(handle, *map(C.byref, counts))
            if done % apart == 0 or lib.nh_precise_run_is_over(handle):
                rows.append(row())
        return PreciseTrajectory(handle, columns, rows, (done, counts[0].value, counts[1].value))
    finally:
        lib.nh_precise_run_free(handle)


__all__ = ["PreciseTrajectory", "precise"]
