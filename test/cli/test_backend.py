#!/usr/bin/env python3
"""test_backend.py NONHOLO: the backends of a run as a user meets them: --backend auto changes no bits, is content with a
compiler that refuses and stops one that is not needed any more; the cache keeps kernels of different compilers apart."""

import inspect
import os
import shutil
import sys
import tempfile

from harness import Program, check, run_all, same

# A second on the tape of a fast machine, so that any machine considers compiling.
LONG = ["run", "pendulum-cvt", "--method", "gauss:stages=4", "--step", "0.01", "--steps", "250000", "--quiet"]


def write_compiler(folder, text):
    """A program to take for the compiler."""
    path = os.path.join(folder, "compiler")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def state(found):
    return found["q"], found["v"], found["energy_error_max"]


def kernels(folder):
    return [name for name in os.listdir(os.path.join(folder, "nonholo")) if name.endswith(".so")]


def auto_goes_on_with_the_kernel_in_the_cache(program, folder):
    env = {"XDG_CACHE_HOME": folder}
    compiled = program.json(*LONG, "--backend", "compiled", env=env)
    found = program.json(*LONG, env=env)
    same((compiled["backend"], found["backend"]), ("compiled", "compiled"), "backends")
    same(state(found), state(compiled), "auto against compiled")
    same(len(kernels(folder)), 1, "kernels in the cache")


def auto_goes_on_when_the_compiler_refuses(program, folder):
    tape = program.json(*LONG, "--backend", "tape")
    compiler = write_compiler(folder, "echo called >> %s/calls\nexit 1\n" % folder)
    found = program.json(*LONG, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler})
    same((state(found), found["backend"]), (state(tape), "tape"), "auto without a willing compiler")
    check(os.path.exists(os.path.join(folder, "calls")), "the compiler was not called")
    done = program(*LONG, "--backend", "compiled", env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler})
    same(done.returncode, 1, "exit code of compiled")
    check("could not make a kernel" in done.stderr, done.stderr)


def auto_stops_a_compiler_that_comes_too_late(program, folder):
    tape = program.json(*LONG, "--backend", "tape")
    compiler = write_compiler(folder, "echo $$ > %s/process\nexec sleep 1000\n" % folder)
    found = program.json(*LONG, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler})
    same((state(found), found["backend"]), (state(tape), "tape"), "auto with a slow compiler")
    process = int(open(os.path.join(folder, "process")).read())
    try:
        os.kill(process, 0)
        check(False, "the compiler still runs")
    except ProcessLookupError:
        pass
    same(os.listdir(os.path.join(folder, "nonholo")), [], "left in the cache")


def the_cache_knows_the_compiler(program, folder):
    real = shutil.which("cc")
    if not real:
        print("skipped: no C compiler")
        return
    line = ["run", "pendulum-cvt", "--method", "rk4", "--step", "0.1", "--steps", "10", "--backend", "compiled"]
    compiler = write_compiler(folder, 'exec "%s" "$@"\n' % real)
    for steps, (name, time) in enumerate([(real, None), (compiler, 1000), (compiler, 1000), (compiler, 2000)]):
        if time:
            os.utime(compiler, (time, time))
        program.json(*line, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": name})
        same(len(kernels(folder)), [1, 2, 2, 3][steps], "kernels after call %d" % (steps + 1))


def main():
    program = Program(sys.argv[1])
    cases = []
    for name, function in list(globals().items()):
        if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["program", "folder"]:

            def in_folder(function=function):
                with tempfile.TemporaryDirectory() as folder:
                    function(program, folder)

            cases.append((name, in_folder))
    return run_all(cases)


if __name__ == "__main__":
    sys.exit(main())
