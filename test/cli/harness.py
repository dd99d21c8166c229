"""Shared by the command line tests: calling the program, counting, reporting failures."""

import concurrent.futures
import inspect
import json
import math
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import unittest


PATIENCE = 3600  # seconds; only for processes that would never end: no test depends on the speed of the machine


def processor_seconds(seconds):
    """Processor time for work that takes this long on a machine of 2020; more on a slower machine."""
    begun = time.process_time()
    sum(i * i for i in range(1000000))  # 0.07 seconds there
    return math.ceil(seconds * max(1, (time.process_time() - begun) / 0.07))


def limit_processor(seconds):
    """For preexec_fn: limits the processor time of the process that is started."""
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


class Skipped(Exception):
    """A test that cannot be run here; its text says why."""


class WithReasons(unittest.TextTestResult):
    """Tests of unittest that are skipped say why in the words of run_all."""

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped {test.id().split('.')[-1]}: {reason}")


def run_unittest():
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=WithReasons))


class Program:
    """The nonholo binary under test. Every call has a time limit, because a hang is also a failure."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *arguments, cwd=None, env=None, stdout=subprocess.PIPE, input=None, processor=None, umask=-1):
        environment = dict(os.environ, NO_COLOR="1", LC_ALL="C")
        environment.update(env or {})
        return subprocess.run(
            [self.path, *map(str, arguments)],
            **({"stdin": subprocess.DEVNULL} if input is None else {"input": input}),
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",  # messages may quote bytes that are not text
            cwd=cwd,
            env=environment,
            timeout=PATIENCE,
            preexec_fn=limit_processor(processor) if processor else None,
            umask=umask,
        )

    def json(self, *arguments, **keywords):
        """The object of a --json call that must succeed."""
        done = self(*arguments, "--json", **keywords)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def models_without_contacts(program):
    """The names of shipped models in which nothing slips or opens: those do not end other methods, and can be exported."""
    names = [model["name"] for model in program.json("models")["models"]]
    return [name for name in names if not re.search(r"^contact |\bgrip\b", program("models", name).stdout, re.M)]


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def like(found, expected, what=""):
    """Texts are the same, except that "..." in the expected one stands for anything within a line: for lists that grow."""
    pattern = ".*?".join(map(re.escape, expected.split("...")))
    check(re.fullmatch(pattern, found), f"{what}\n  expected: {expected!r}\n  found:    {found!r}")


def same(found, expected, what=""):
    check(found == expected, f"{what}\n  expected: {expected!r}\n  found:    {found!r}")


def terminal():
    """Both ends of a new pseudo-terminal."""
    try:
        return pty.openpty()
    except OSError as error:
        raise Skipped(f"there is no pseudo-terminal: {error}")


def cases_in_folders(functions, program):
    """(name, function) of every function in a module's globals() that takes a program and an empty folder."""
    cases = []
    for name, function in list(functions.items()):
        if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["program", "folder"]:

            def in_folder(function=function):
                with tempfile.TemporaryDirectory() as folder:
                    function(program, folder)

            cases.append((name, in_folder))
    return cases


def run_all(cases, workers=2):
    """Runs (name, function) pairs, a few at a time; prints failures and skipped tests; returns the exit code."""
    failures = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        futures = [(name, pool.submit(function)) for name, function in cases]
        for name, future in futures:
            try:
                future.result()
            except Skipped as reason:
                skipped += 1
                print(f"skipped {name}: {reason}")
            except AssertionError as error:
                failures += 1
                print(f"FAILED {name}: {error}")
            except Exception:  # a crash of the test itself: show where
                failures += 1
                print(f"FAILED {name}:")
                traceback.print_exc(file=sys.stdout)
    print(f"{len(futures) - failures - skipped} passed, {failures} failed, {skipped} skipped")
    return 1 if failures else 0
