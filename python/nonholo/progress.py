"""A progress bar for terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Callable, Union

Progress = Union[bool, None, Callable[[float], object]]
PAUSE = 0.1  # seconds between updates
WIDTH = 30


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


class Bar:
    """Shows the completed fraction: if ``wanted`` is None, only in a terminal or notebook; if it is a function,
    by calling it with the fraction."""

    def __init__(self, wanted: Progress):
        self.call = wanted if callable(wanted) else None
        looked_at = sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())
        self.shown = not self.call and (looked_at if wanted is None else bool(wanted))
        self.begun = self.last = time.monotonic()
        self.drawn = False

    def update(self, share: float) -> None:
        if self.call:
            self.call(share)
        now = time.monotonic()
        if not self.shown or share <= 0 or now - self.last < PAUSE:
            return
        self.last, self.drawn = now, True
        full = int(share * WIDTH)
        left = (now - self.begun) * (1 - share) / share
        bar = "#" * full + "." * (WIDTH - full)
        sys.stderr.write(f"\r[{bar}] {100 * share:3.0f}%  {left:.0f} s left ")
        sys.stderr.flush()

    def end(self) -> None:
        if self.drawn:
            sys.stderr.write("\r" + " " * (WIDTH + 24) + "\r")
            sys.stderr.flush()
