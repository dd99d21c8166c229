#!/usr/bin/env python3
"""test_backend.py NONHOLO: the backends of a run as a user sees them: --backend auto changes no bits, accepts that
a compiler fails, and stops one that is no longer needed; the cache keeps kernels of different compilers apart."""

import os
import shutil
import signal
import subprocess
import sys
import time

from harness import PATIENCE, Program, cases_in_folders, check, run_all, same

# A second on the tape of a fast machine, so that any machine considers compiling.
LONG = ["run", "pendulum-cvt", "--method", "gauss:stages=4", "--step", "0.01", "--steps", "250000", "--quiet"]


def write_compiler(folder, text):
    """Writes a program to be used as the compiler."""
    path = os.path.join(folder, "compiler")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def wait_until(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < until, "waited in vain")
        time.sleep(0.01)


def has_ended(process):
    """Or is a zombie: the first process of a container may never wait for those that it inherits."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


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
    compiler = write_compiler(folder, "echo called >> %s/calls\nexit 1\n" % folder)
    note, steps = os.path.join(folder, "calls"), 250000
    while not os.path.exists(note) and steps < 1e8:  # until the run is long enough for compiling to pay off
        line = [*LONG[:-2], str(steps), "--quiet"]
        tape = program.json(*line, "--backend", "tape")
        found = program.json(*line, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler})
        same((state(found), found["backend"]), (state(tape), "tape"), "auto without a willing compiler")
        steps *= 4
    check(os.path.exists(note), "the compiler was not called")
    check(any("was not compiled" in text for text in found["remarks"]), "no remark on the compiler: %s" % found["remarks"])
    done = program(*LONG, "--backend", "compiled", env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler})
    same(done.returncode, 1, "exit code of compiled")
    check("could not compile the kernel" in done.stderr, done.stderr)


def auto_goes_back_to_a_faster_tape(program, folder):
    real = shutil.which("cc")
    if not real:
        print("skipped: no C compiler")
        return
    env = {"XDG_CACHE_HOME": folder, "NONHOLO_CC": write_compiler(folder, 'exec "%s" "$@" -finstrument-functions\n' % real)}
    slow = program.json(*LONG, "--backend", "compiled", env=env)
    found = program.json(*LONG, env=env)
    same((state(found), found["backend"]), (state(slow), "tape"), "auto with a compiler of slow kernels")


def auto_stops_a_compiler_that_comes_too_late(program, folder):
    compiler = write_compiler(folder, "echo $$ > %s/process\nexec sleep 1000\n" % folder)
    note, steps = os.path.join(folder, "process"), 250000
    while not os.path.exists(note) and steps < 1e8:  # until the run is long enough for the compiler to reach its first line
        line = [*LONG[:-2], str(steps), "--quiet"]
        tape = program.json(*line, "--backend", "tape")
        found = program.json(*line, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler})
        same((state(found), found["backend"]), (state(tape), "tape"), "auto with a slow compiler")
        steps *= 4
    process = int(open(note).read())
    try:
        os.kill(process, 0)
        check(False, "the compiler still runs")
    except ProcessLookupError:
        pass
    same(os.listdir(os.path.join(folder, "nonholo")), [], "left in the cache")


HANGING = "trap '' TERM\necho $$ > %s/process\nwhile true; do sleep 0.01; done\n"


def ended(folder):
    """Whether the compiler that wrote its process number has ended."""
    try:
        os.kill(int(open(os.path.join(folder, "process")).read()), 0)
        return False
    except ProcessLookupError:
        return True


def a_compiler_that_hangs_is_stopped(program, folder):
    compiler = write_compiler(folder, HANGING % folder)
    env = {"XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler, "NONHOLO_CC_SECONDS": "0.3"}
    done = program(*LONG, "--backend", "compiled", env=env)
    same(done.returncode, 1, "exit code")
    check("did not finish within 0.3 seconds" in done.stderr and "tape" in done.stderr, done.stderr)
    check(ended(folder), "the compiler still runs")


def signals_are_heard_while_the_compiler_works(program, folder):
    compiler = write_compiler(folder, HANGING % folder)
    env = {**os.environ, "LC_ALL": "C", "XDG_CACHE_HOME": folder, "NONHOLO_CC": compiler}
    ensemble = ["ensemble", "pendulum-cvt", "--members", "8", "--energy", "6", "--method", "gauss", "--step", "0.01", "--steps",
                "1000", "--threads", "2", "--quiet"]
    for line in (LONG + ["--checkpoint", "check"], ensemble):
        process = os.path.join(folder, "process")
        running = subprocess.Popen([program.path, *line, "--backend", "compiled"], env=env, cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
        while not os.path.exists(process):
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        _, told = running.communicate(timeout=PATIENCE)
        check(running.returncode not in (0, -signal.SIGTERM) and ("stopped" in told or "interrupted" in told), "%d: %s" % (running.returncode, told))
        check(ended(folder), "the compiler still runs")
        os.remove(process)


def the_cache_knows_the_compiler(program, folder):
    real = shutil.which("cc")
    if not real:
        print("skipped: no C compiler")
        return
    line = ["run", "pendulum-cvt", "--no-estimate", "--method", "rk4", "--step", "0.1", "--steps", "10", "--backend", "compiled"]
    compiler = write_compiler(folder, 'exec "%s" "$@"\n' % real)
    for steps, (name, time) in enumerate([(real, None), (compiler, 1000), (compiler, 1000), (compiler, 2000)]):
        if time:
            os.utime(compiler, (time, time))
        program.json(*line, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": name})
        same(len(kernels(folder)), [1, 2, 2, 3][steps], "kernels after call %d" % (steps + 1))


CACHED = ["run", "pendulum-cvt", "--no-estimate", "--step", "0.1", "--steps", "10", "--no-estimate", "--backend", "compiled", "--method"]


def the_cache_works_with_every_umask(program, folder):
    for umask in (0o000, 0o002, 0o022, 0o077):
        cache = os.path.join(folder, "%o" % umask)
        env = {"XDG_CACHE_HOME": cache}
        for _ in range(2):
            done = program(*CACHED, "rk4", env=env, umask=umask)
            same(done.returncode, 0, done.stderr)
        same(len(kernels(cache)), 1, "kernels with umask %o" % umask)
        looked = program.json("cache", env=env, umask=umask)
        same((looked["kernels"], looked["folder"]), (1, os.path.join(cache, "nonholo")), "what 'nonholo cache' says")
        check(os.stat(os.path.join(cache, "nonholo", kernels(cache)[0])).st_mode & 0o077 == 0, "open to others")


def the_cache_is_used_again(program, folder):
    counting = write_compiler(folder, 'echo called >> %s/calls\nexec "%s" "$@"\n' % (folder, shutil.which("cc")))
    env = {"XDG_CACHE_HOME": folder, "NONHOLO_CC": counting}
    for umask in (0o002, 0o022):
        same(program(*CACHED, "rk4", env=env, umask=umask).returncode, 0, "a run")
    same(open(os.path.join(folder, "calls")).read(), "called\n", "calls of the compiler")


def the_cache_has_a_limit(program, folder):
    env = {"XDG_CACHE_HOME": folder}
    for method in ("rk4", "leapfrog", "dla01"):
        program.json(*CACHED, method, env=env)
    cache = os.path.join(folder, "nonholo")
    oldest = sorted(os.listdir(cache), key=lambda n: os.stat(os.path.join(cache, n)).st_mtime_ns)
    program.json(*CACHED, "rk4", env=env)  # now it is the most recently used one
    for name in oldest[1:]:
        path, used = os.path.join(cache, name), os.stat(os.path.join(cache, name)).st_mtime
        os.truncate(path, 1000000)
        os.utime(path, (used, used))
    program.json(*CACHED, "newmark", env={**env, "NONHOLO_CACHE_MB": "2"})
    left = os.listdir(cache)
    check(oldest[0] in left, "the kernel used last was removed")
    check(oldest[1] not in left, "the kernel not used for longest is still there")
    cleared = program.json("cache", "--clear", env=env)
    same((cleared["removed"], os.listdir(cache)), (len(left), []), "after --clear")


def nothing_is_left_by_a_killed_process(program, folder):
    """Not even by SIGKILL: neither a working folder, nor the program that works in it."""
    work = os.path.join(folder, "work")
    for name in ("cc", "chromium", "ffmpeg"):
        os.rename(write_compiler(folder, f"echo $$ > {folder}/number\nexec sleep 600\n"), os.path.join(folder, name))
    env = {**os.environ, "XDG_CACHE_HOME": work, "TMPDIR": work, "PATH": folder + ":" + os.environ["PATH"]}
    for line in ([*CACHED, "rk4"], ["run", "rolling-disk", "--time", "1", "--plot", folder + "/film.mp4"],
                 ["export", "pendulum-cvt", "--format", "fmu", "-o", folder + "/pendulum.fmu"]):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            os.makedirs(work + "/nonholo")
            worker = subprocess.Popen([program.path, *line], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=env)
            wait_until(lambda: os.path.exists(folder + "/number") and open(folder + "/number").read())
            called = int(open(folder + "/number").read())
            worker.send_signal(number)
            worker.wait()
            wait_until(lambda: not os.listdir(work + "/nonholo") and os.listdir(work) == ["nonholo"])
            wait_until(lambda: has_ended(called))
            os.remove(folder + "/number")
            shutil.rmtree(work)
    same(sorted(os.listdir(folder)), ["cc", "chromium", "ffmpeg"], "left")


def strange_files_in_the_cache_are_passed_over(program, folder):
    env = {"XDG_CACHE_HOME": folder}
    expected = program.json(*CACHED, "rk4", env=env)
    cache = os.path.join(folder, "nonholo")
    for name in os.listdir(cache):
        os.remove(os.path.join(cache, name))
        os.mkfifo(os.path.join(cache, name))
    same(state(program.json(*CACHED, "rk4", env=env)), state(expected), "with FIFOs in the cache")


def main():
    return run_all(cases_in_folders(globals(), Program(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
