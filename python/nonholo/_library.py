"""Finds the shared library, loads it, and turns its reports into exceptions."""

from __future__ import annotations

import atexit
import ctypes as C
import os
import threading
import warnings
import weakref
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable

import numpy as np

from . import _header as H
from ._where import LIBRARY_FOLDERS
from ._work import Work

NAMES = ("libnonholo.so.0", "libnonholo.so", "libnonholo.0.dylib", "libnonholo.dylib")


def _advice(option: bytes | None) -> str:
    """The option that would help, as it is written in Python: "step" or "backend tape"."""
    if not option:
        return ""
    name, _, value = option.decode().partition(" ")
    return f' ({name}="{value}")' if value else f" ({name}=)"


class Error(Exception):
    """An error reported by the library. ``line`` and ``column`` give the position in a model's text, counted
    from 1; they are 0 if the error does not concern a position. ``step`` and ``time`` give the position in a run.

    >>> import nonholo
    >>> try:
    ...     nonholo.load("model m\\ncoordinate x\\nlagrangian x'^2/2 - y\\n")
    ... except nonholo.ModelError as error:
    ...     print(error.line, error.column)
    3 21
    """

    def __init__(self, report: H.nh_report):
        super().__init__(report.text.decode("utf-8", "replace") + _advice(report.option))
        self.status: str = lib.nh_status_name(report.status).decode()
        self.line: int = report.line
        self.column: int = report.column
        self.step: int = report.step
        self.time: float = report.time
        self.residual: float = report.residual
        self.trajectory: Any = None  #: if a run failed, the part computed up to then

    def __reduce__(self) -> Any:  # a trajectory is not pickled
        facts = {name: value for name, value in self.__dict__.items() if name != "trajectory"}
        return _error_again, (type(self), self.args, {**facts, "trajectory": None})


class Remark(UserWarning):
    """A doubt about a result that is returned nevertheless. It is issued once as a Python warning and is also in
    the list ``remarks`` of the result."""


def _error_again(kind: Any, arguments: Any, facts: dict[str, Any]) -> Error:
    error = kind.__new__(kind, *arguments)
    error.args, error.__dict__ = arguments, facts
    return error


class UsageError(Error, ValueError):
    """The request was wrong: for example a value, a name, a start state, or a method that does not apply."""


class ModelError(UsageError):
    """A model's text has an error; the message shows the line with a caret below the error."""


class ComputationError(Error, RuntimeError):
    """The computation failed; ``trajectory`` holds the part computed up to then."""


def _candidates() -> Iterable[str]:
    if "NONHOLO_LIBRARY" in os.environ:  # use no other
        return [os.environ["NONHOLO_LIBRARY"]]
    here = Path(__file__).resolve().parent
    folders = [here] + [(here / folder).resolve() for folder in LIBRARY_FOLDERS]
    found = [str(folder / name) for folder in folders for name in NAMES if (folder / name).exists()]
    return found + list(NAMES)


def _load() -> C.CDLL:
    problems = []
    for path in _candidates():
        try:
            library = C.CDLL(path)
            H.declare(library)
            return library
        except (OSError, AttributeError) as error:  # missing, or older than this module
            problems.append(str(error))
    raise ImportError("the nonholo library was not found: " + "; ".join(problems))


lib = _load()


def check(status: int, report: H.nh_report) -> None:
    """Raises the exception that the report describes, unless the status is NH_OK."""
    if status == H.NH_OK:
        return
    if report.status != status:  # the function has no report of its own
        report.status = status
        report.text = lib.nh_status_name(status)
    if status == H.NH_BAD_MODEL or report.line > 0:
        raise ModelError(report)
    raise (UsageError if lib.nh_status_is_usage(status) else ComputationError)(report)


def attempt(report: H.nh_report, function: Any, *arguments: Any) -> int:
    """Calls a library function that may call user functions; returns its status."""
    with Work() as work:
        try:
            status: int = function(*arguments)
        except C.ArgumentError as error:  # remove the words that ctypes puts around the message
            raise ValueError(str(error).partition("Error: ")[2] or str(error)) from None
        cause = work.take()
    if cause is not None:
        raise stopped(status, report) from cause
    return status


def call(function: Any, *arguments: Any) -> str:
    """Calls a function whose last parameter is the report; returns the remark that the report may contain."""
    report = H.nh_report()
    check(attempt(report, function, *arguments, C.byref(report)), report)
    return report.text.decode("utf-8", "replace")


def stopped(status: int, report: H.nh_report) -> ComputationError:
    """The error of a library call during which a user function raised an exception."""
    if status != H.NH_CALLBACK_STOPPED:  # it described another failure, or none
        report = H.nh_report(status=H.NH_CALLBACK_STOPPED, text=b"a user function asked to stop")
    return ComputationError(report)


class _Reference(weakref.ref):  # type: ignore[type-arg]
    """A reference to an owner. Its callback is pure C, because an interrupt that arrives in a callback written in Python is lost."""

    _as_parameter_ = None  # the callback also receives the reference, which C ignores


_references: list[_Reference] = []
_references_lock = threading.Lock()
_references_most = 64  # before references whose owners are gone are dropped
_free_type = C.CFUNCTYPE(None, C.c_void_p, C.c_void_p)
atexit.register(_references.clear)


def own(owner: Any, free: Any, handle: int | None) -> Callable[[], None]:
    """Frees a library object together with its owner, but not when the interpreter exits, because a thread may still be
    using it. Returns a function that frees it at once."""
    global _references_most
    held = C.c_void_p(handle)
    reference = _Reference(owner, partial(_free_type(C.cast(free, C.c_void_p).value), held))
    with _references_lock:
        _references.append(reference)
        if len(_references) > _references_most:
            _references[:] = [r for r in _references if r() is not None]
            _references_most = max(64, 2 * len(_references))

    def free_now() -> None:
        given, held.value = held.value, None
        free(given)

    return free_now


def create(function: Any, *arguments: Any) -> int:
    """Calls a function whose first parameter receives the address of a new object and whose last is the report."""
    out = C.c_void_p()
    call(function, C.byref(out), *arguments)
    assert out.value is not None
    return out.value


def remarks(count: Any, item: Any, handle: Any) -> list[str]:
    """The library's remarks about an object."""
    return [item(handle, i).decode("utf-8", "replace") for i in range(count(handle))]


def warn(texts: Iterable[str], level: int = 4) -> None:
    """Issues remarks as warnings that point at the caller's line, beyond the function that checks names (_names.py)."""
    for text in texts:
        warnings.warn(text, Remark, stacklevel=level)


class Immutable:
    """An object of the library that never changes: its copy is the object itself."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def array_at(address: int, *shape: int, owner: Any = None) -> np.ndarray:
    """An array that refers to memory of the library and keeps the owner of that memory alive."""
    size = int(np.prod(shape, dtype=int))
    if size == 0:
        return np.zeros(shape)
    memory: Any = (C.c_double * size).from_address(address)
    memory._owner = owner
    return np.frombuffer(memory, dtype=float).reshape(shape)


def number(value: Any) -> str:
    """A value as an expression of the model language; numbers are exact."""
    if isinstance(value, str):
        return value
    return repr(float(value)) if not isinstance(value, int) else repr(value)
