"""export(): models for use in other programs."""

from __future__ import annotations

import ctypes as C
import os
import warnings
from typing import Any

from . import _header as H
from ._library import Remark, UsageError, call, create, lib
from ._names import helpful
from .inputs import Inputs, functions
from .system import Projection, Setting, Start, _address, as_system, choose_start
from .trajectory import SWITCH, Path, choose, method_text


@helpful
def export(
    model: Any,
    path: Path = None,
    format: str = "c",
    method: str | None = None,
    step: float | None = None,
    *,
    set: Setting | None = None,
    input: Inputs | None = None,
    input_period: float | None = None,
    start: Start = None,
    q: Any = None,
    v: Any = None,
    t0: float = 0.0,
    project: Projection = False,
    compose: str | None = None,
    compensated: bool | None = None,
    single: bool = False,
    name: str | None = None,
    excerpt: bool = False,
    fmi: int = 3,
    settable: bool = False,
    jacobian: bool = False,
    **options: Any,
) -> str | None:
    """Writes a model as a program or as equations: to a file, or without ``path`` as a text that is returned.

    ``format`` is as in ``nonholo export``. A C program computes the steps of ``method`` (with its options, as in
    :func:`simulate`) with the time step ``step``, bit for bit like :func:`simulate`; the file NAME.c is accompanied by NAME.h.
    An FMU (``format="fmu"``, of version ``fmi``) is a file; without a C compiler it is written without a binary,
    and a warning says so. ``single`` gives a C program single precision, ``settable`` parameters
    that can be set while it runs, ``jacobian`` the derivatives of its accelerations, and ``name`` is the prefix of public names.
    The formats ``python`` (numpy code), ``sympy``, ``casadi``, ``matlab``, ``modelica``, ``json`` and ``latex`` contain the
    equations with named parameters instead; ``excerpt`` leaves out the document around the LaTeX equations. ``set``, ``input``, ``input_period``,
    ``start``, ``q``, ``v``, ``t0``, ``project``, ``compose`` and ``compensated`` are as in :func:`simulate`;
    ``input={"u:held": None}`` leaves the input ``u`` open, to be set from outside.

    >>> import nonholo
    >>> text = nonholo.export("rolling-disk", format="c", method="leapfrog", step=0.1)
    >>> "rolling_disk_step(rolling_disk_model *s)" in text
    True
    >>> print(nonholo.export("knife-edge", format="latex", excerpt=True).splitlines()[2])
    \\mathcal{L} &= \\frac{\\dot{x}_{1}^{2} + \\dot{x}_{2}^{2} + \\dot{\\xi}^{2}}{2} + x_{1}
    """
    if functions(input):
        raise ValueError(f"an exported model cannot call Python; leave the input open, {{{next(iter(functions(input)))!r}: None}}")
    system = as_system(model, set, input, input_period)
    first, second = choose_start(system, t0, start, q, v, project)
    want = H.nh_export_options(size=C.sizeof(H.nh_export_options))
    want.format = format.encode()
    want.name = name.encode() if name else None
    run = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    run.method = method_text(method or "gauss", options).encode() if method or options else None
    run.compose = compose.encode() if compose else None
    run.step, run.t0 = step or 0.0, t0
    run.q, run.v = _address(first), _address(second)
    run.compensated = choose(SWITCH, compensated, "compensated")
    want.run = C.addressof(run)
    want.single, want.excerpt, want.fmi = single, excerpt, fmi
    want.settable, want.jacobian = settable, jacobian
    if path is not None:
        remark = call(lib.nh_export, system._handle, C.byref(want), os.fsencode(path))
        if remark:
            warnings.warn(remark, Remark, stacklevel=2)
        return None
    text = create(lib.nh_export_text, system._handle, C.byref(want))
    try:
        return C.string_at(text).decode()
    finally:
        lib.nh_bytes_free(text)


def equations(system: Any) -> str | None:
    """An excerpt in LaTeX, for notebooks; None if a system does not come from a model."""
    try:
        text = export(system, format="latex", excerpt=True)
    except UsageError:
        return None
    return "\n".join(line for line in (text or "").splitlines() if not line.startswith("%"))


__all__ = ["export"]
