"""ctypes' types as the declarations in ``_header`` use them: integers that do not fit and texts with a NUL inside,
which ctypes would cut off silently, are refused."""

from __future__ import annotations

import ctypes as C
import operator
from typing import Any, Iterable


def _whole(kind: Any, value: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if kind(number).value != number:
        bits = 8 * C.sizeof(kind)
        least, greatest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind(-1).value < 0 else (0, (1 << bits) - 1)
        raise ValueError(f"{name} must be a whole number from {least} to {greatest}, not {number}")
    return number


def _text(value: Any, name: str) -> Any:
    if isinstance(value, bytes) and b"\0" in value:
        raise ValueError(f"{name} contains a NUL character")
    return value


def _checked(kind: Any) -> Any:
    """The type of an argument: converts what a call gives."""

    class Checked(kind):  # type: ignore
        @classmethod
        def from_param(cls, value: Any) -> Any:
            return kind.from_param(_text(value, "the text") if kind is C.c_char_p else _whole(kind, value, "the number"))

    return Checked


WHOLE = (C.c_int, C.c_uint, C.c_int64, C.c_uint64, C.c_uint32, C.c_size_t)
ARGUMENT: dict[Any, Any] = {kind: _checked(kind) for kind in {*WHOLE, C.c_char_p}}


def arguments(*kinds: Any) -> list[Any]:
    """The types of a function's parameters. A text is followed by its length where it may contain anything."""
    raw = [kind is C.c_char_p and following is C.c_size_t for kind, following in zip(kinds, (*kinds[1:], None))]
    return [kind if any_bytes else ARGUMENT.get(kind, kind) for kind, any_bytes in zip(kinds, raw)]


class Structure(C.Structure):
    """A structure whose fields are checked when they are set."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._kinds().get(name)
        if kind in WHOLE:
            value = _whole(kind, value, name)
        elif kind is C.c_char_p:
            value = _text(value, name)
        super().__setattr__(name, value)

    @classmethod
    def _kinds(cls) -> dict[str, Any]:
        if "_by_name" not in cls.__dict__:
            cls._by_name = dict(cls._fields_)  # type: ignore
        return cls._by_name


def texts(items: Iterable[str]) -> Any:
    """An array of texts."""
    encoded = [_text(item.encode(), repr(item)) for item in items]
    return (C.c_char_p * len(encoded))(*encoded)
