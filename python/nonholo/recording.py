"""The times at which states are recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def record_at(
    times: Any, every_time: float | None, t0: float, step: float | None, steps: int | None, time: float | None, every: int | None
) -> tuple[float, float, int | None, float | None, int]:
    """Where states are recorded: the time until the first one, the step, their number or the total time, and the number of steps
    between them, which is 1 if no step is given and the method chooses its own."""
    if steps is not None or every is not None:
        raise ValueError("times and every_time cannot be combined with steps or every")
    if times is None:
        lead, apart, count = 0.0, every_time, None
    elif every_time is not None or time is not None:
        raise ValueError("times cannot be combined with time or every_time")
    else:
        first, apart, count = spaced(times)
        lead = first - t0
        if lead < 0:
            raise ValueError(f"times begins at {first:g}, before the start at {t0:g}")
    if apart is None or not (apart > 0 and math.isfinite(apart)):
        raise ValueError(f"every_time must be a positive number, not {every_time!r}")
    pieces = 1 if step is None else max(1, math.ceil(apart / step - 1e-9))
    return lead, apart / pieces, None if count is None else count * pieces, time, pieces


def spaced(times: Any) -> tuple[float, float, int]:
    """The first time, the interval and the number of intervals of ``"a:b:n"`` or of an array.

    >>> spaced("0:10:5"), spaced([1, 2, 3])
    ((0.0, 2.5, 4), (1.0, 1.0, 2))
    """
    wrong = ValueError(f'times needs "a:b:n", at least 2 states from t = a to a later t = b, or an array, not {times!r}')
    try:
        if isinstance(times, str):
            first, last, number = times.split(":")
            array = np.linspace(float(first), float(last), int(number))
        else:
            array = np.asarray(times, dtype=float)
    except (TypeError, ValueError):
        raise wrong from None
    if array.ndim != 1 or len(array) < 2 or not (np.isfinite(array).all() and array[-1] > array[0]):
        raise wrong
    apart = float(array[-1] - array[0]) / (len(array) - 1)
    if np.abs(np.diff(array) - apart).max() > 1e-9 * max(apart, abs(array[-1]) * 1e-3):
        raise ValueError("times needs equal intervals; run(t) gives the state of a trajectory at any other time")
    return float(array[0]), apart, len(array) - 1
