"""Robots from other descriptions."""

from __future__ import annotations

import ctypes as C
import os
from typing import Any, Sequence

from . import _header as H
from ._library import call, lib
from ._names import helpful


@helpful
def import_urdf(path: "str | os.PathLike[str]", *, wheels: Sequence[str] | str | None = None, base: str | None = None) -> str:
    """The robot that a URDF file describes, as the text of a model, for :func:`load` or for a file that you edit.

    ``wheels`` names links or joints that are wheels and roll on the plane z = 0, perhaps with a radius
    (``["left", "right=0.1"]``); without it these are cylinders on continuous joints that touch the ground. ``base`` is
    ``"fixed"``, ``"planar"`` or ``"floating"``: planar with wheels, otherwise fixed.

    >>> import nonholo, tempfile
    >>> file = tempfile.NamedTemporaryFile("w", suffix=".urdf")
    >>> _ = file.write('''<robot name="pendulum"><link name="base"/><link name="bob"><inertial><origin xyz="0 0 -1"/>
    ... <mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link><joint name="swing" type="continuous">
    ... <parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>''')
    >>> file.flush()
    >>> nonholo.load(nonholo.import_urdf(file.name)).system().coordinates
    ['swing']
    """
    options = H.nh_import_options(size=C.sizeof(H.nh_import_options))
    named = wheels if wheels is None or isinstance(wheels, str) else ",".join(wheels)
    kept: list[Any] = [None if text is None else text.encode() for text in (named, base)]
    options.wheels, options.base = kept
    text = C.c_void_p()
    call(lib.nh_import_urdf, C.byref(text), os.fspath(path).encode(), C.byref(options))
    try:
        return C.string_at(text.value or 0).decode()
    finally:
        lib.nh_bytes_free(text)


__all__ = ["import_urdf"]
