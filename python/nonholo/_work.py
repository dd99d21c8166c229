"""What happens in Python while the library is running: functions that it calls raise exceptions, signals arrive, the
interpreter exits. No exception may pass through C, where it would be lost, so an exception raised by a function is kept until
the library has returned. A handler of a signal, such as Ctrl-C's, may raise its exception at once only inside a user's
function, where it is caught; at other times the exception is kept as well. After that, no function is called any more.

An exception that is raised here should be freed when its handler ends, so no variable of a frame in its traceback may refer
to it. Otherwise the garbage collector frees it some time later, together with everything that these frames refer to, for
example threads, whose end Python notes in a callback in which the next interrupt is lost."""

from __future__ import annotations

import _signal
import atexit
import signal
import threading
import time
from typing import Any, Callable

END_PATIENCE = 5.0  # seconds that the exiting interpreter waits for working threads
STOP = -1
SIGNALS = [int(number) for number in signal.valid_signals()]


class _State(threading.local):
    """The state of one thread."""

    def __init__(self) -> None:
        self.depth = 0  # depth of library calls; their functions may call the library again
        self.inside = False  # a user's function, from which an exception is caught
        self.interrupt: BaseException | None = None  # raised by a handler of a signal
        self.exception: BaseException | None = None  # raised by a function
        self.handlers: dict[int, Any] = {}  # handlers that are currently replaced

    def is_stopped(self) -> bool:
        """An error stops a run, but the part computed by then is still measured."""
        return self.exception is not None and not isinstance(self.exception, Exception)


state = _State()
_at_work: set[int] = set()  # threads
_ending = False


def _handle(number: int, frame: Any) -> None:
    """Replaces the program's signal handlers while the library is running. Signals reach only the main thread."""
    inside, state.inside = state.inside, False
    try:
        state.handlers[number](number, frame)
    except BaseException as error:
        if inside:
            raise
        state.interrupt = state.interrupt or error.with_traceback(None)
    else:
        state.inside = inside
    finally:
        del frame  # otherwise the traceback would refer to it


def _replace_handlers() -> None:
    if threading.get_ident() != threading.main_thread().ident:
        return
    for number in SIGNALS:
        handler = _signal.getsignal(number)
        if callable(handler):
            state.handlers[number] = handler
            _signal.signal(number, _handle)


def _restore_handlers() -> None:
    """Restores all handlers, even if one of them raises an exception meanwhile."""
    try:
        while state.handlers:
            number, handler = next(iter(state.handlers.items()))
            if _signal.getsignal(number) is _handle:
                _signal.signal(number, handler)
            del state.handlers[number]
    finally:
        if state.handlers:
            _restore_handlers()


class Work:
    """``with Work() as work``: the context in which the library is called."""

    def __enter__(self) -> Work:
        self.inside, state.inside = state.inside, False
        state.depth += 1
        try:  # in one statement: an interrupt in between would leave the depth unchanged
            if state.depth == 1:
                _at_work.add(threading.get_ident())
                _replace_handlers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, kind: Any = None, value: Any = None, trace: Any = None) -> None:
        state.depth -= 1
        state.inside = self.inside
        if state.depth == 0:
            _at_work.discard(threading.get_ident())
            _restore_handlers()
            interrupt, state.interrupt, state.exception = state.interrupt, None, None
            if interrupt is not None and (value is None or isinstance(value, Exception)):
                try:
                    raise interrupt
                finally:
                    del interrupt

    def take(self) -> Exception | None:
        """Returns the exception of a function that the library reported; raises any unrelated exception."""
        interrupt, state.interrupt = state.interrupt, None
        exception, state.exception = state.exception, None
        try:
            if interrupt is not None:
                raise interrupt
            if exception is not None and not isinstance(exception, Exception):
                raise exception
            if _ending and threading.get_ident() != threading.main_thread().ident:
                raise SystemExit
            return exception
        finally:
            del interrupt, exception


def guarded(function: Callable[..., None], keep: Any = state, refusals: tuple[type[BaseException], ...] = ()) -> Callable[..., int]:
    """A function for C that returns 0, or 1 if ``function`` refuses a state, or STOP. ``keep.exception`` holds the exception."""

    def called(user: Any, *arguments: Any) -> int:
        if keep.is_stopped() or state.interrupt is not None or _ending:
            return STOP
        try:
            try:
                state.inside = True
                function(*arguments)
            finally:
                state.inside = False
            return 0
        except refusals:
            return 1
        except BaseException as error:
            keep.exception = keep.exception or error
            return STOP

    return called


def beside(function: Callable[[], Any], stop: Callable[[BaseException], None], pause: float) -> Any:
    """Calls a long-running library function in another thread, so that signals are handled at once: ``stop`` is then
    called and must make the function return."""
    results: list[tuple[Any, BaseException | None]] = []

    def compute() -> None:
        try:
            results.append((function(), None))
        except BaseException as error:  # raised again by the caller
            results.append((None, error))

    thread = threading.Thread(target=compute)
    with Work() as work:
        try:
            thread.start()
        except RuntimeError:  # no thread can be started
            compute()
        while not results:
            thread.join(pause)
            if state.interrupt is not None:
                stop(state.interrupt)
        del thread  # threads are removed from a list by Python's own code, where an interrupt would be lost later
        work.take()
    result, error = results.pop()
    try:
        if error is not None:
            raise error
        return result
    finally:
        del error


@atexit.register
def _end() -> None:
    """Stops the work of daemon threads before the interpreter exits."""
    global _ending
    _ending = True
    until = time.monotonic() + END_PATIENCE
    while _at_work - {threading.get_ident()} and time.monotonic() < until:
        time.sleep(0.001)
