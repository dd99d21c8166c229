"""What the command line tests share: calling the program, counting, telling what failed."""

import concurrent.futures
import json
import os
import subprocess
import sys
import traceback


class Program:
    """The nonholo binary under test. Every call has a time limit: a hang is a failure too."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *arguments, cwd=None, env=None, stdout=subprocess.PIPE, timeout=120):
        environment = dict(os.environ, NO_COLOR="1", LC_ALL="C")
        environment.update(env or {})
        return subprocess.run(
            [self.path, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",  # messages may quote bytes that are no text
            cwd=cwd,
            env=environment,
            timeout=timeout,
        )

    def json(self, *arguments, **keywords):
        """The object of a --json call that must succeed."""
        done = self(*arguments, "--json", **keywords)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def same(found, expected, what=""):
    check(found == expected, f"{what}\n  expected: {expected!r}\n  found:    {found!r}")


def run_all(cases, workers=2):
    """Runs (name, function) pairs, a few at once; prints failures; returns the exit code."""
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        futures = [(name, pool.submit(function)) for name, function in cases]
        for name, future in futures:
            try:
                future.result()
            except AssertionError as error:
                failures += 1
                print(f"FAILED {name}: {error}")
            except Exception:  # a crash of the test itself: show where
                failures += 1
                print(f"FAILED {name}:")
                traceback.print_exc(file=sys.stdout)
    print(f"{len(futures) - failures} passed, {failures} failed")
    return 1 if failures else 0
