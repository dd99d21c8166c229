"""An ensemble over a pool of processes: any executor of concurrent.futures, mpi4py's, or Dask's. Each task computes a
part of the members and sends back plain arrays.

A pool of processes of this machine reads results from a pipe, and a worker that is killed in the middle of a large one
leaves the pool waiting for the rest forever; the same happens if it is killed while it reads large arguments. Therefore
arguments and results are passed through files in a temporary folder, and messages are short enough for the system to write them completely
or not at all."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import traceback
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, as_completed
from typing import Any, Callable

from ._library import Error

ATTEMPTS = 3  # successive rounds in which every part was lost
OURS = (Error, ValueError, TypeError)  # retrying would give the same result


class _Remote(Exception):
    """The traceback of a worker."""


def compute_part(arguments: dict[str, Any], part: int, parts: int) -> Any:
    """The task of a worker."""
    from .ensembles import ensemble

    return ensemble(**arguments, threads=1, part=(part, parts))


def _write(path: str, value: Any) -> None:
    """Writes a file completely or not at all."""
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
        pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
    os.replace(file.name, path)


def _read(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


def _compute_in_folder(folder: str, part: int, parts: int) -> None:
    """The task of a worker on this machine; an exception may be long as well."""
    try:
        outcome = compute_part(_read(os.path.join(folder, "arguments")), part, parts), None, ""
    except Exception as error:
        outcome = None, error, traceback.format_exc()
    _write(os.path.join(folder, str(part)), outcome)


class _Pool:
    """The executor, or a new one of the same kind if it broke, and the parts that it delivers."""

    def __init__(self, executor: Executor, arguments: dict[str, Any], parts: int):
        self.executor, self.own, self.arguments, self.parts = executor, False, arguments, parts
        self.folder = ""
        if isinstance(executor, ProcessPoolExecutor):
            self.folder = tempfile.mkdtemp(prefix="nonholo-")
            _write(os.path.join(self.folder, "arguments"), arguments)

    def submit(self, part: int) -> Any:
        task = (_compute_in_folder, self.folder) if self.folder else (compute_part, self.arguments)
        try:
            return self.executor.submit(*task, part, self.parts)
        except RuntimeError:  # broken: a process pool does not survive the loss of a worker
            if not isinstance(self.executor, ProcessPoolExecutor):
                raise
            lost: Any = self.executor
            self.close_own()
            self.executor = ProcessPoolExecutor(lost._max_workers, lost._mp_context, lost._initializer, lost._initargs)
            self.own = True
            return self.executor.submit(*task, part, self.parts)

    def result(self, future: Any, part: int) -> Any:
        found = future.result()
        if not self.folder:
            return found
        path = os.path.join(self.folder, str(part))
        found, error, text = _read(path)
        os.remove(path)
        if error is not None:
            raise error from _Remote(text)
        return found

    def close_own(self) -> None:
        if self.own:
            self.executor.shutdown(cancel_futures=True)

    def close(self) -> None:
        self.close_own()
        if self.folder:  # a worker may still be writing to it
            shutil.rmtree(self.folder, ignore_errors=True)


def _named(error: BaseException, part: int, parts: int) -> BaseException:
    """The same exception with a note on where it happened."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"part {part} of {parts}: {error.args[0]}", *error.args[1:])
    return error


def share(executor: Executor, parts: int, arguments: dict[str, Any], take: Callable[[Any], None]) -> None:
    """Computes all parts and passes each to ``take`` when it arrives. Lost parts are retried as long as others arrive;
    a pool that breaks also loses the parts that had not started."""
    pool = _Pool(executor, arguments, parts)
    waiting: dict[Any, int] = {}  # part
    lost, vain = list(range(1, parts + 1)), 0  # vain: attempts that returned nothing
    try:
        while lost:
            for part in lost:
                waiting[pool.submit(part)] = part
            before, lost = len(waiting), []
            for future in as_completed(list(waiting)):
                part = waiting.pop(future)
                try:
                    found = pool.result(future, part)
                except OURS as error:
                    raise _named(error, part, parts)
                except (Exception, CancelledError) as error:
                    lost.append(part)
                    cause = error
                else:
                    take(found)
            vain = vain + 1 if len(lost) == before else 0
            if vain == ATTEMPTS:
                raise RuntimeError(f"part {min(lost)} of {parts} was lost {ATTEMPTS} times") from cause
    finally:
        for future in waiting:
            future.cancel()
        pool.close()
