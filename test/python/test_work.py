"""test_work.py [INTERRUPTS]: Python while the library is running: interrupts at any moment, exceptions in
several threads, the end of the interpreter, values that do not fit, a locale with a decimal comma."""
import copy
import gc
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import PATIENCE, Skipped, check, same  # noqa: E402

import nonholo  # noqa: E402

INTERRUPTS = int(sys.argv[1]) if len(sys.argv) > 1 else 25  # at random moments
PATIENCE = 200  # operations after an interrupt, before it counts as lost
START = [0.1, 0.0, 1.0]


def skate(look=lambda: None):
    def constraint(q):
        look()
        return np.array([[-np.sin(q[2]), np.cos(q[2]), 0]])

    return nonholo.from_functions(3, 1, potential=lambda q: -q[0], constraint=constraint, constant_mass=True)


def simulated(system=None, steps=20):
    return nonholo.simulate(system or skate(), "gauss", step=0.05, steps=steps, v=START).q.tobytes()


def of_functions(steps=20):
    return nonholo.ensemble(skate(), "gauss", step=0.05, steps=steps, v=[START, [0.2, 0, 1]]).q.tobytes()


def of_models(steps=200000):
    many = nonholo.ensemble("pendulum-cvt", "dla01", step=0.01, steps=steps, starts=[{"x": 0.1 * i} for i in range(8)],
                            project=True, threads=2, backend="tape")
    return many.q.tobytes()


def ordered():
    return np.array(nonholo.order("pendulum-cvt", ["gauss"], time=10, halvings=5)[0].errors).tobytes()


def compared():
    found = nonholo.compare("pendulum-cvt", ["dla01"], step=0.01, steps=100000, backend="tape")[0]
    return np.array(list(found.largest.values())).tobytes()


OPERATIONS = [simulated, of_functions, of_models, ordered, compared]


def check_interrupts_at_random():
    """Every interrupt becomes a KeyboardInterrupt, and the results computed meanwhile are correct."""
    chance, finished, expected, seconds = random.Random(INTERRUPTS), 0, {}, {}
    for operation in OPERATIONS:
        begun = time.monotonic()
        expected[operation] = operation()
        seconds[operation] = time.monotonic() - begun
    for number in range(INTERRUPTS):
        operation = OPERATIONS[number % len(OPERATIONS)]
        timer = threading.Timer(chance.uniform(0, 2 * seconds[operation]), os.kill, (os.getpid(), signal.SIGINT))
        heard = False
        try:
            timer.start()
            after = 0
            while after < PATIENCE:
                after += not timer.is_alive()
                found = operation()
                check(found == expected[operation], f"interrupt {number}: other numbers of {operation.__name__}")
                finished += 1
        except KeyboardInterrupt:
            heard = True
        check(heard, f"interrupt {number} was lost")
        timer.join()
    print(f"{INTERRUPTS} interrupts, {finished} computations ended before them")


class Told(BaseException):
    """Raised by a handler of a signal; it can be watched."""


def check_interrupts_leave_nothing_behind():
    """An exception raised by a handler is freed once it is handled, not some time later by the garbage collector, which
    would also free everything in its traceback: threads for example, whose end runs Python's own code, where interrupts are lost."""
    watched = []

    def handler(number, frame):
        error = Told()
        watched.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error, frame

    before = signal.signal(signal.SIGINT, handler)
    try:
        for operation in (*OPERATIONS, of_models):
            operation()
            gc.collect()
            gc.disable()
            for delay in (0.01, 0.05, 0.15):
                timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
                try:
                    timer.start()
                    while True:
                        operation()
                except Told:
                    pass
                timer.join()
                check(watched.pop()() is None, f"{operation.__name__} keeps what it raised")
                known = [timer, *threading.enumerate()]
                left = [thread for thread in gc.get_objects() if isinstance(thread, threading.Thread) and thread not in known]
                same(left, [], f"threads left by {operation.__name__}")
            gc.enable()
    finally:
        gc.enable()
        signal.signal(signal.SIGINT, before)


def check_functions_are_called_at_work():
    """Wherever the library calls a user function, the handlers of signals are ours. Python itself calls those of inputs
    for a start, with the program's handlers, since no frame of C is in between."""
    from nonholo._work import state
    outside = []

    def look():
        by_library = all(frame.name != "choose_start" for frame in traceback.extract_stack())
        if state.depth == 0 and by_library and threading.current_thread() is threading.main_thread():
            outside.append("".join(traceback.format_stack(limit=8)))

    system = skate(look)
    run = nonholo.simulate(system, "gauss", step=0.05, steps=20, v=START)
    run(0.33)
    nonholo.ensemble(system, "gauss", step=0.05, steps=20, v=[START])
    nonholo.compare(system, ["gauss", "rk4"], step=0.05, steps=20, v=START)
    nonholo.order(system, ["gauss"], time=1, v=START)
    q, v = system.start()
    for ask in (system.energy, system.residual):
        ask(q, START)
    same(outside, [], "calls outside")
    with nonholo.Stepper(CART, step=0.1, input={"u": lambda t, q, v: look() or 0.0}) as stepper:
        stepper.step()
        stepper.step(5)
        stepper.reset()
    same(outside, [], "calls outside, of a stepper")


CART = "model cart\ncoordinate x\ninput u = 0\ninput w = 0\nlagrangian x'^2/2\nforce x = u + w\n"


def check_steppers():
    """Exceptions and interrupts in their functions, many steps, arrays that outlive them, use after the end, copies."""
    def fails(t, q, v):
        if t > 0.35:
            raise KeyError("mine")
        return 1.0

    stepper = nonholo.Stepper(CART, "rk4", step=0.1, input={"u": fails})
    try:
        for _ in range(10):
            stepper.step()
        check(False, "the error of a function was lost")
    except nonholo.ComputationError as error:
        check(isinstance(error.__cause__, KeyError), f"cause {error.__cause__!r}")
    refused(nonholo.ModelError, "", nonholo.load, "model m\ncoordinate x\nlagrangian y\n")  # with no cause of before

    def interrupts(t, q, v):
        signal.raise_signal(signal.SIGINT)
        return 1.0

    try:
        nonholo.Stepper(CART, step=0.1, input={"u": interrupts}).step()
        check(False, "the interrupt in a function was lost")
    except KeyboardInterrupt:
        pass
    one, many = nonholo.Stepper(CART, "rk4", step=1e-3), nonholo.Stepper(CART, "rk4", step=1e-3)
    one.u = many.u = 1.0
    for _ in range(1000):
        one.step()
    many.step(1000)
    same((one.q.tobytes(), one.t), (many.q.tobytes(), many.t), "many steps")
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        many.step(10**11)
    except KeyboardInterrupt:
        timer.join()
    for value in (2**63, 2**64 + 1, -(2**70)):
        refused(ValueError, "whole number", one.step, value)
    refused(TypeError, "", one.step, 1.5)
    q, u, state = one.q, one.inputs, one.q.tobytes()
    one.close()
    one.close()
    gc.collect()
    junk = [np.full(1000, 7.0) for _ in range(100)]
    same((q.tobytes(), one.q.tobytes(), u.tolist(), one.u), (state, state, [1.0, 0.0], 1.0), "after the end")
    del junk
    for use in (one.step, lambda: one.step(3), one.reset, lambda: setattr(one, "q", [1.0]), lambda: one.backend):
        refused(ValueError, "the stepper is closed", use)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        refused(TypeError, "cannot be copied", copied, many)


def check_interrupts_in_conversions():
    """An interrupt while an argument is converted is not an error of that argument."""
    heard = 0
    for at in range(1, 40):
        calls = 0

        def profile(frame, event, argument):
            nonlocal calls
            calls += event == "call"
            if calls == at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

        system = nonholo.load("pendulum-cvt").system()
        sys.setprofile(profile)
        try:
            system.coordinates, system.parameters, system.conserved, system.constraints, nonholo.methods()
        except KeyboardInterrupt:
            heard += 1
        finally:
            sys.setprofile(None)
    same(heard, 39, "interrupts heard")


def check_freeing_runs_no_python():
    """Python loses exceptions raised in the callback of a weak reference, so objects are freed without entering one."""
    entered = []

    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_name != "free_them":
            entered.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)

    model = nonholo.load("pendulum-cvt")
    objects = [model, model.system(), skate(), nonholo.simulate("pendulum-cvt", "dla01", step=0.1, steps=3),
               nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, steps=3, members=4)]
    del model

    def free_them():
        objects.clear()

    sys.setprofile(profile)
    try:
        free_them()
    finally:
        sys.setprofile(None)
    same(entered, [], "functions entered")


def check_interrupts_on_the_way_in_and_out():
    """An interrupt at any call that Python makes around a library call is handled and leaves nothing behind."""
    from nonholo._work import state
    before, reached, at = signal.getsignal(signal.SIGINT), True, 0
    while reached:
        at += 1
        calls, reached, heard = 0, False, False

        def profile(frame, event, argument):
            nonlocal calls, reached
            calls += os.path.basename(frame.f_code.co_filename) == "_work.py"
            if calls == at and not reached:
                reached = True
                signal.raise_signal(signal.SIGINT)

        sys.setprofile(profile)
        try:
            nonholo.models()
            nonholo.load("pendulum-cvt")
        except KeyboardInterrupt:
            heard = True
        finally:
            sys.setprofile(None)
        check(heard == reached, f"lost at event {at}")
        same(state.depth, 0, "depth")
        check(signal.getsignal(signal.SIGINT) is before, "the handler has changed")
    check(at > 20, f"only {at} events")


def interrupted_on_entry(operation, entry):
    """An interrupt exactly when a function is entered from C for the n-th time."""
    entered = 0

    def profile(frame, event, argument):
        nonlocal entered
        if event == "call" and frame.f_code.co_name == "called":
            entered += 1
            if entered == entry:
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(profile)
    try:
        operation()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return entered < entry


def check_interrupts_on_entry():
    for entry in (1, 2, 3, 5, 8, 13, 40, 100, 250):
        check(interrupted_on_entry(simulated, entry), f"lost on entry {entry} of a run")
        check(interrupted_on_entry(of_functions, entry), f"lost on entry {entry} of an ensemble")


def check_function_that_stops_is_not_called_again():
    """... after an interrupt inside it, in a run and in an ensemble; and the program's own handlers stay in place."""
    before = signal.getsignal(signal.SIGINT)
    for k in (1, 2, 7, 30, 100):
        calls = []

        def look():
            calls.append(1)
            if len(calls) == k:
                signal.raise_signal(signal.SIGINT)

        try:
            nonholo.ensemble(skate(look), "gauss", step=0.05, steps=20, v=[START])
            check(False, f"the interrupt in call {k} was lost")
        except KeyboardInterrupt:
            same(len(calls), k, "calls")
    check(signal.getsignal(signal.SIGINT) is before, "the handler has changed")


def check_errors_are_never_lost():
    """Whatever the library was doing when a function failed, its exception is the cause, and the run was stopped."""
    for method in ("dla01", "gauss", "rk4"):
        for k in (*range(1, 40, 3), 50, 80):
            calls = []

            def look():
                calls.append(1)
                if len(calls) == k:
                    raise KeyError(k)

            try:
                nonholo.simulate(skate(look), method, step=0.05, steps=20, v=START, estimate=False)
                check(len(calls) < k, f"{method}: the error in call {k} was lost")
            except nonholo.ComputationError as error:
                check(isinstance(error.__cause__, KeyError) and "stop" in str(error), f"{method}, call {k}: {error}")


def check_threads_keep_their_exceptions():
    """Two threads compute with one system, whose function raises what belongs to the thread."""
    def look():
        raise KeyError(threading.current_thread().name)

    system, causes = skate(look), {}

    def work():
        for _ in range(20):
            try:
                nonholo.simulate(system, "rk4", step=0.1, steps=1, v=START)
            except nonholo.ComputationError as error:
                causes.setdefault(threading.current_thread().name, set()).add(str(error.__cause__))

    threads = [threading.Thread(target=work, name=name) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(causes, {name: {f"'{name}'"} for name in ("a", "b", "c")}, "causes")


AT_THE_END = """
import sys, threading, time, warnings
warnings.simplefilter("ignore")
sys.path[:0] = %r
import test_work
def work():
    while True:
        getattr(test_work, %r)(%d)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


def check_daemons_at_the_end():
    here = os.path.dirname(os.path.abspath(__file__))
    for name, steps in (("of_functions", 2000), ("of_models", 10**8)):
        program = AT_THE_END % ([here], name, steps)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
        same((done.returncode, done.stderr), (0, ""), f"a daemon thread in {name} at the end")


def refused(kind, words, function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except kind as error:
        check(words in str(error), f"{error} does not say '{words}'")
        return
    raise AssertionError(f"{arguments} {keywords} was accepted")


def check_values_that_do_not_fit():
    run = dict(step=0.1, steps=3)
    for value in (2**31, 2**40, -(2**63) - 1):
        refused(ValueError, "threads must be a whole number from", nonholo.ensemble, "pendulum-cvt", threads=value, **run)
    refused(ValueError, "members must be", nonholo.ensemble, "pendulum-cvt", members=2**63, **run)
    refused(ValueError, "seed must be", nonholo.ensemble, "pendulum-cvt", members=2, seed=-1, **run)
    refused(ValueError, "steps must be", nonholo.simulate, "pendulum-cvt", step=0.1, steps=2**64 + 3)
    refused(ValueError, "every must be", nonholo.simulate, "pendulum-cvt", every=2**64 + 1, **run)
    refused(ValueError, "count must be", nonholo.ensemble, "pendulum-cvt", sweep={"eps": (0, 1, 2**64 + 2)}, **run)
    refused(ValueError, "coordinates must be", nonholo.from_functions, 2**32 + 1)
    refused((ValueError, TypeError), "whole number", nonholo.ensemble, "pendulum-cvt", members=2.5, **run)
    refused(ValueError, "NUL", nonholo.load, "pendulum\0-cvt")
    refused(ValueError, "NUL", nonholo.load("pendulum-cvt").system, {"eps\0": 1})
    refused(ValueError, "NUL", nonholo.simulate, "pendulum-cvt", "dla01\0x", **run)
    refused(ValueError, "NUL", nonholo.simulate, "pendulum-cvt", start="x=1\0, y=2", **run)
    refused(ValueError, "NUL", nonholo.simulate, "pendulum-cvt", output="a\0.csv", **run)
    refused(nonholo.ModelError, "text:", nonholo.load, "model m\ncoordinate x\0\nlagrangian x'^2\n")
    system = nonholo.load("pendulum-cvt").system()
    refused((ValueError, TypeError), "", system.energy, ["a"] * 3, [0] * 3)


IN_A_LOCALE = """
import locale, sys, warnings
warnings.simplefilter("ignore")
locale.setlocale(locale.LC_ALL, "")
import nonholo
many = nonholo.ensemble("pendulum-cvt", "newmark:beta=0.125", step=0.1, steps=5, sweep={"eps": (0.05, 0.35, 3)})
one = nonholo.simulate("chaplygin-sleigh", "gauss", step=0.1, steps=5, set={"a": 1.25}, start={"theta": 0.5}, project=True,
                       backend="compiled")
print(many.q.tobytes().hex(), one.q.tobytes().hex())
sys.stderr.write(locale.localeconv()["decimal_point"])
"""


def check_locale():
    if not shutil.which("localedef"):
        raise Skipped("localedef, which makes a locale, is not installed")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")], capture_output=True)
        told = {}
        for name in ("C", "de_DE.UTF-8"):
            env = {**os.environ, "LOCPATH": folder, "LC_ALL": name, "XDG_CACHE_HOME": os.path.join(folder, name)}
            done = subprocess.run([sys.executable, "-c", IN_A_LOCALE], env=env, capture_output=True, text=True, timeout=PATIENCE)
            if name != "C" and "unsupported locale" in done.stderr:
                raise Skipped("localedef made no de_DE.UTF-8")
            told[name] = done.stdout, done.returncode
            check(done.stderr == (".", ",")[name != "C"], done.stderr)
        same(told["de_DE.UTF-8"], told["C"], "numbers")


def check_that_an_import_is_short():
    """Modules, library and numpy are loaded with the first name that is used; type checkers read the same names."""
    look = "import sys, nonholo; print([m for m in ('numpy', 'ctypes', 'nonholo._library') if m in sys.modules]); nonholo.load"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True)
    same(done.stdout, "[]\n", done.stderr)
    with open(nonholo.__file__) as file:
        block = re.findall(r"^    from \.(\w+) import (.+)$", file.read(), re.M)
    same(dict(block), nonholo._HOMES, "the names for type checkers")
    same(sorted(nonholo._HOME), sorted(nonholo.__all__), "__all__")
    for name in nonholo.__all__:
        check(callable(getattr(nonholo, name)), name)


def run_one(name, case):
    """In the main thread, which is the one that signals reach. Returns how many failed."""
    try:
        case()
    except Skipped as reason:
        print(f"skipped {name}: {reason}")
    except AssertionError as error:
        print(f"FAILED {name}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it
    failed = 0
    for name, case in [(name, case) for name, case in list(globals().items()) if name.startswith("check_")]:
        failed += run_one(name, case)
    sys.exit(failed > 0)
