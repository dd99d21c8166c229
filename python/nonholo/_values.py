"""The ctypes types used by the declarations in ``_header``. Integers that do not fit and texts that contain a NUL byte,
which ctypes would silently truncate, are refused."""

from __future__ import annotations

import ctypes as C
import operator
from typing import Any, Iterable


def whole(kind: Any, value: Any, name: str) -> int:
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


WHOLE = (C.c_int, C.c_uint, C.c_int64, C.c_uint64, C.c_uint32, C.c_size_t)


def declare(function: Any, result: Any, *kinds: Any) -> Any:
    """Declares the types of the result and of the parameters of a library function, which then checks the numbers
    and texts passed to it. (ctypes would do that in a type's ``from_param``, and turn an interrupt there into another error.)
    A text is followed by its length where it may contain anything."""
    function.restype, function.argtypes = result, kinds
    numbers = [(place, kind) for place, kind in enumerate(kinds) if kind in WHOLE]
    texts = [place for place, kind in enumerate(kinds) if kind is C.c_char_p and kinds[place + 1 : place + 2] != (C.c_size_t,)]
    if not numbers and not texts:
        return function

    def checked(*arguments: Any) -> Any:
        given = list(arguments)
        for place, kind in numbers:
            given[place] = whole(kind, given[place], "the number")
        for place in texts:
            _text(given[place], "the text")
        return function(*given)

    return checked


class Structure(C.Structure):
    """A structure whose fields are checked when they are set."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._kinds().get(name)
        if kind in WHOLE:
            value = whole(kind, value, name)
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
