"""A progress bar for terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Union

Progress = Union[bool, None, Callable[[float], object]]
PAUSE = 0.1  # seconds between updates
WIDTH = 30


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _shell() -> Any:
    """The IPython shell in a notebook; None elsewhere."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None and _in_notebook() else None


class _Line:
    """A line of text for a notebook; an empty line takes no space."""

    def __init__(self, text: str):
        self.text = text

    def _repr_html_(self) -> str:
        return f"<pre>{self.text}</pre>" if self.text else ""

    def __repr__(self) -> str:
        return self.text


class Bar:
    """Shows the completed fraction: if ``wanted`` is None, only in a terminal or notebook; if it is a function,
    by calling it with the fraction."""

    def __init__(self, wanted: Progress):
        self.call = wanted if callable(wanted) else None
        looked_at = sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())
        self.shown = not self.call and (looked_at if wanted is None else bool(wanted))
        self.begun = self.last = time.monotonic()
        self.drawn = False
        self.place: Any = None  # the display of the bar in a notebook

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
        self._show(f"[{bar}] {100 * share:3.0f}%  {left:.0f} s left ")

    def _show(self, text: str) -> None:
        """Shows a separate output that can be cleared in a notebook, or a line in a terminal."""
        if self.place is None and _shell() is not None:
            from IPython.display import display

            self.place = display(_Line(text), display_id=True)
        elif self.place is not None:
            self.place.update(_Line(text))
        else:
            sys.stderr.write("\r" + text)
            sys.stderr.flush()

    def end(self) -> None:
        """Removes the bar."""
        if self.drawn and self.place is not None:
            self.place.update(_Line(""))
        elif self.drawn:
            sys.stderr.write("\r" + " " * (WIDTH + 24) + "\r")
            sys.stderr.flush()
