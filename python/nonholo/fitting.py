"""fit(): parameters and start values that explain measured data."""

from __future__ import annotations

import ctypes as C
import csv
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np

from . import _header as H
from ._library import create, lib, remarks, warn
from ._names import helpful
from ._work import guarded
from .inputs import Inputs, functions
from .linearisation import _numbers
from .notebook import facts_table
from .system import Projection, Setting, Start, System, _address, _text, as_system, start_options
from .trajectory import fill_options, method_text

PROGRESS = dict(H.nh_fit_options._fields_)["progress"]


@dataclass
class Fit:
    """The result of :func:`fit`: the ``estimate`` by name with standard ``deviation`` (NaN at a bound), and as arrays in the order of
    ``names`` the estimates ``x``, their ``covariance`` and ``correlation``. ``residuals`` (data - model) and ``model`` have an array for each
    measured column; for several runs they are lists of such dictionaries. ``sum`` is the weighted sum of squares of ``values`` data,
    ``s`` the standard deviation of the residuals."""

    names: list[str]
    x: np.ndarray
    covariance: np.ndarray
    correlation: np.ndarray
    residuals: Any
    model: Any
    values: int
    sum: float
    iterations: int
    method: str
    remarks: list[str]

    @property
    def estimate(self) -> dict[str, float]:
        return dict(zip(self.names, self.x.tolist()))

    @property
    def deviation(self) -> dict[str, float]:
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist()))

    @property
    def s(self) -> float:
        return float(np.sqrt(self.sum / (self.values - np.isfinite(np.diag(self.covariance)).sum())))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} = {x:.6g} +- {self.deviation[name]:.2g}" for name, x in self.estimate.items())
        return f"<fit of {self.values} values: {shown}>"

    def _repr_html_(self) -> str:
        return facts_table({name: f"{x:.8g} ± {self.deviation[name]:.3g}" for name, x in self.estimate.items()})


@dataclass
class _Table:
    """Data of one run, as the library takes them."""

    name: str
    columns: list[str]
    t: np.ndarray
    value: np.ndarray
    weight: np.ndarray | None

    def describe(self) -> tuple[H.nh_fit_data, Any]:
        names = (C.c_char_p * len(self.columns))(*[name.encode() for name in self.columns])
        data = H.nh_fit_data(name=self.name.encode(), rows=len(self.t), columns=len(self.columns), column=C.addressof(names),
                             t=_address(self.t), value=_address(self.value),
                             weight=None if self.weight is None else _address(self.weight))
        return data, names


def _columns(data: Any) -> dict[str, np.ndarray]:
    """The columns of a file, a dictionary, a data frame, or an array with named fields."""
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        with open(data, newline="") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].lstrip().startswith("#")]
        names = [name.strip() for name in rows[0]]
        return {name: np.array([float(row[i]) if row[i].strip() else np.nan for row in rows[1:]]) for i, name in enumerate(names)}
    names = data.dtype.names if getattr(getattr(data, "dtype", None), "names", None) else list(data)
    return {str(name): np.asarray(data[name], dtype=float) for name in names}


def _table(data: Any, weights: Any, index: int) -> _Table:
    columns = _columns(data)
    if "t" not in columns:
        raise ValueError(f"the data need a column 't' with the times; there are {', '.join(columns)}")
    t = np.ascontiguousarray(columns.pop("t"))
    by_row = columns.pop(weights) if isinstance(weights, str) else None
    given = dict(weights) if isinstance(weights, Mapping) else {}
    of = {name: columns.pop(w) if isinstance(w, str) else w for name, w in given.items()}
    for name in of:
        if name not in columns:
            raise ValueError(f"weights: {name!r} is no column of the data; there are {', '.join(columns)}")
    value = np.ascontiguousarray(np.column_stack(list(columns.values())))
    weight = None
    if weights is not None:
        weight = np.ascontiguousarray(np.column_stack([np.broadcast_to(by_row if by_row is not None else of.get(name, 1.0), t.shape)
                                                       for name in columns]).astype(float))
    path = str(data) if isinstance(data, str) or hasattr(data, "__fspath__") else f"run {index + 1}"
    return _Table(path, list(columns), t, value, weight)


def _unknowns(wanted: Any) -> tuple[Any, list[bytes]]:
    """Names, or names with bounds (least, greatest), either of which may be None."""
    pairs = wanted.items() if isinstance(wanted, Mapping) else [(name, None) for name in ([wanted] if isinstance(wanted, str) else wanted)]
    names, unknowns = [], []
    for name, bounds in pairs:
        low, high = bounds or (None, None)
        names.append(str(name).strip().encode())
        unknowns.append((-np.inf if low is None else float(low), np.inf if high is None else float(high)))
    array = (H.nh_fit_unknown * max(1, len(names)))()
    for i, (low, high) in enumerate(unknowns):
        array[i] = H.nh_fit_unknown(name=names[i], guess=float("nan"), lower=low, upper=high)
    return array, names


def _gather(handle: int, tables: list[_Table], one: bool) -> Fit:
    n = lib.nh_fit_unknowns(handle)

    def of_runs(function: Any) -> Any:
        found = [dict(zip(t.columns, _numbers(function(handle, i), *t.value.shape).T)) for i, t in enumerate(tables)]
        return found[0] if one else found

    return Fit(
        names=[_text(lib.nh_fit_name(handle, i)) for i in range(n)], x=np.array([lib.nh_fit_value(handle, i) for i in range(n)]),
        covariance=_numbers(lib.nh_fit_covariance(handle), n, n), correlation=_numbers(lib.nh_fit_correlation(handle), n, n),
        residuals=of_runs(lib.nh_fit_residuals), model=of_runs(lib.nh_fit_model),
        values=lib.nh_fit_values(handle), sum=lib.nh_fit_sum(handle), iterations=lib.nh_fit_iterations(handle),
        method=C.cast(lib.nh_fit_plan(handle), C.POINTER(H.nh_plan)).contents.method.decode(),
        remarks=remarks(lib.nh_fit_remarks, lib.nh_fit_remark, handle),
    )


@helpful
def fit(
    model: Any,
    data: Any,
    unknowns: str | Sequence[str] | Mapping[str, Any],
    method: str | None = None,
    *,
    weights: Any = None,
    robust: bool = False,
    step: float | None = None, tolerance: float | None = None, absolute: float | None = None,
    start: Start = None, set: Setting | None = None, input: Inputs | None = None, input_period: float | None = None,
    q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None,
    **options: Any,
) -> Fit:
    """The parameters and start values for which the model comes closest to measured data. ``data`` is the path of a CSV file, a dictionary,
    a data frame or an array with named fields, with the times ``t`` and coordinates, velocities, observables or ``energy``; NaN is a missing
    value. A list of such tables is several runs, which share the parameters. ``unknowns`` names parameters and start values (``"start x"``),
    as a list, or as a dictionary with bounds ``{"J": (0.1, 10), "a": None}``; the search begins at their present values. ``weights`` is the
    name of a column with the weight of each row, or a dictionary with the weights of columns. ``robust``: large residuals count by their
    size, not by its square. Other arguments are those of :func:`simulate`.

    >>> import nonholo, numpy as np
    >>> pendulum = nonholo.load('''model pendulum
    ... parameter w = 2, c = 0.1
    ... coordinate a
    ... lagrangian a'^2/2 + w^2*cos(a)
    ... force a = -c*a'
    ... start a = 1
    ... ''')
    >>> seen = nonholo.simulate(pendulum, tolerance=1e-12, time=5, steps=50, set={"w": 2.3})
    >>> found = nonholo.fit(pendulum, {"t": seen.t, "a": seen["a"]}, ["w", "c"])
    >>> {name: round(x, 9) for name, x in found.estimate.items()}
    {'w': 2.3, 'c': 0.1}
    """
    system = as_system(model, set, input, input_period)
    if functions(system._given):
        raise ValueError("an input that is a Python function cannot be differentiated; give it as an expression or a table")
    one = not isinstance(data, (list, tuple))
    tables = [_table(table, weights, i) for i, table in enumerate([data] if one else data)]
    described = [table.describe() for table in tables]
    array = (H.nh_fit_data * max(1, len(tables)))(*[d for d, _ in described])
    names, kept_names = _unknowns(unknowns)
    begin, kept_start = start_options(system, start, q, v, t0, project)
    how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    text = method_text(method, options).encode() if method else None
    fill_options(how, text, step or 0.0, 0, compose, compensated, "auto")  # type: ignore[arg-type]
    how.tolerance, how.absolute = tolerance or 0.0, absolute or 0.0
    wanted = H.nh_fit_options(
        size=C.sizeof(H.nh_fit_options), unknown=C.addressof(names), unknowns=len(kept_names), data=C.addressof(array), runs=len(tables),
        start=C.addressof(begin), run=C.addressof(how), robust=robust, progress=PROGRESS(guarded(lambda iteration, total: None)))
    handle = create(lib.nh_fit_compute, system._handle, C.addressof(wanted))
    try:
        found = _gather(handle, tables, one)
    finally:
        lib.nh_fit_free(handle)
    warn(found.remarks)
    return found


__all__ = ["Fit", "fit"]
