"""What happens in Python while the library is at work: functions that it calls raise exceptions, signals arrive, the
interpreter ends. No exception may pass through C, where it would be lost. What a function raises is kept until the
library has returned. A handler of a signal, such as Ctrl-C's, may raise its exception at once only inside a user's
function, where it is caught; at other times the exception is kept, too. After that no function is called any more.

An exception that is raised here is freed when its handler ends, as a rule by no variable of a frame that its traceback
leads to. Otherwise the garbage collector frees it some time later, with all that these frames refer to: threads, for
example, whose end Python notes in a callback in which the next interrupt is lost."""

from __future__ import annotations

import _signal
import atexit
import signal
import threading
import time
from typing import Any, Callable

END_PATIENCE = 5.0  # seconds that the end of the interpreter waits for threads at work
STOP = -1
SIGNALS = [int(number) for number in signal.valid_signals()]


class _State(threading.local):
    """Of one thread."""

    def __init__(self) -> None:
        self.depth = 0  # of library calls, whose functions may call the library again
        self.inside = False  # a user's function, from which an exception is caught
        self.interrupt: BaseException | None = None  # raised by a handler of a signal
        self.exception: BaseException | None = None  # raised by a function
        self.handlers: dict[int, Any] = {}  # that are replaced for the time being

    def is_stopped(self) -> bool:
        """An error stops a run, but what it has computed by then is still measured."""
        return self.exception is not None and not isinstance(self.exception, Exception)


state = _State()
_at_work: set[int] = set()  # threads
_ending = False


def _handle(number: int, frame: Any) -> None:
    """Instead of the handlers of the program, while the library is at work. Signals reach the main thread only."""
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
        del frame  # or the traceback would lead to it


def _replace_handlers() -> None:
    if threading.get_ident() != threading.main_thread().ident:
        return
    for number in SIGNALS:
        handler = _signal.getsignal(number)
        if callable(handler):
            state.handlers[number] = handler
            _signal.signal(number, _handle)


def _restore_handlers() -> None:
    """All of them, also if one raises meanwhile."""
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
    """``with Work() as work``: the library is called in here."""

    def __enter__(self) -> Work:
        self.inside, state.inside = state.inside, False
        state.depth += 1
        try:  # at once: an interrupt in between would leave the depth as it is
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
        """The exception of a function, of which the library knows; raises what has nothing to do with it."""
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
    """A function for C: 0, or 1 where ``function`` refuses a state, or STOP. ``keep.exception`` holds what it raised."""

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
    """Calls a long function of the library in another thread, so that signals are heard at once: ``stop`` is called then,
    and must make the function return."""
    results: list[tuple[Any, BaseException | None]] = []

    def compute() -> None:
        try:
            results.append((function(), None))
        except BaseException as error:  # is raised where this was called
            results.append((None, error))

    thread = threading.Thread(target=compute)
    with Work() as work:
        try:
            thread.start()
        except RuntimeError:  # no thread is to be had
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
    """Threads that do not wait for the end of the interpreter stop their work before it."""
    global _ending
    _ending = True
    until = time.monotonic() + END_PATIENCE
    while _at_work - {threading.get_ident()} and time.monotonic() < until:
        time.sleep(0.001)
