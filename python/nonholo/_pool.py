"""An ensemble over a pool of processes: any executor of concurrent.futures, mpi4py's, or Dask's. Each task computes a
part of the members and sends back plain arrays."""

from __future__ import annotations

from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, as_completed
from typing import Any, Callable

from ._library import Error

ATTEMPTS = 3  # for a part whose worker was lost
OURS = (Error, ValueError, TypeError)  # the same wherever it is tried again


def compute_part(arguments: dict[str, Any], part: int, parts: int) -> Any:
    """What a worker does."""
    from .ensembles import ensemble

    return ensemble(**arguments, threads=1, part=(part, parts))


def _named(error: BaseException, part: int, parts: int) -> BaseException:
    """The same exception, which says where it happened."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"part {part} of {parts}: {error.args[0]}", *error.args[1:])
    return error


class _Pool:
    """The executor, or a new one of the same kind after it broke."""

    def __init__(self, executor: Executor):
        self.executor, self.own = executor, False

    def submit(self, *task: Any) -> Any:
        try:
            return self.executor.submit(*task)
        except RuntimeError:  # broken: a process pool does not survive the loss of a worker
            if not isinstance(self.executor, ProcessPoolExecutor):
                raise
            lost: Any = self.executor
            self.executor = ProcessPoolExecutor(lost._max_workers, mp_context=lost._mp_context)
            self.own = True
            return self.executor.submit(*task)

    def close(self) -> None:
        if self.own:
            self.executor.shutdown(cancel_futures=True)


def share(executor: Executor, parts: int, arguments: dict[str, Any], take: Callable[[Any], None]) -> None:
    """Computes all parts, and gives each to ``take`` as it comes. A part that was lost is tried again."""
    pool = _Pool(executor)
    waiting: dict[Any, tuple[int, int]] = {}  # part and attempt
    try:
        for part in range(1, parts + 1):
            waiting[pool.submit(compute_part, arguments, part, parts)] = (part, 1)
        while waiting:
            lost = []
            for future in as_completed(list(waiting)):
                part, attempt = waiting.pop(future)
                try:
                    take(future.result())
                except OURS as error:
                    raise _named(error, part, parts)
                except (Exception, CancelledError) as error:
                    if attempt == ATTEMPTS:
                        raise RuntimeError(f"part {part} of {parts} was lost {ATTEMPTS} times") from error
                    lost.append((part, attempt + 1))
            for part, attempt in lost:
                waiting[pool.submit(compute_part, arguments, part, parts)] = (part, attempt)
    finally:
        for future in waiting:
            future.cancel()
        pool.close()
