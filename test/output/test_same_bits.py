#!/usr/bin/env python3
"""test_same_bits.py HOST [SOURCE BUILD]: the numbers, messages and files of the program HOST (host.c) do not depend on
the locale of the process, on the umask, or on the compiler that makes kernels. With SOURCE and BUILD, the library is
also built by gcc and clang with -O0 to -O3, in folders of BUILD that are kept ('make same-bits')."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

COMMA_LOCALES = ("de_DE", "fr_FR", "ru_RU", "pt_BR")


def digests(host, umask=-1, **environment):
    """The output of HOST on both channels, and the digests of its files."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        results, cache = os.path.join(folder, "results"), os.path.join(folder, "cache")
        os.mkdir(results)
        env = {**os.environ, "LC_ALL": "C", "XDG_CACHE_HOME": cache, **environment}
        done = subprocess.run([host, results], env=env, umask=umask, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{host} failed with {environment}, umask {umask:o}: {done.stderr}")
        files = {name: hashlib.sha256(open(os.path.join(results, name), "rb").read()).hexdigest()
                 for name in sorted(os.listdir(results))}
        return done.stderr.strip(), {"output": done.stdout, **files}


def comma_locale(host, folder):
    """The environment of a locale with a decimal comma, made here or installed; None if there is neither."""
    if shutil.which("localedef"):
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")], capture_output=True)
    trials = [{"LC_ALL": "de_DE.UTF-8", "LOCPATH": folder}, *({"LC_ALL": name + ".UTF-8"} for name in COMMA_LOCALES)]
    for trial in trials:
        done = subprocess.run([host, folder], env={**os.environ, **trial, "XDG_CACHE_HOME": folder}, capture_output=True, text=True)
        if done.stderr.startswith("0,5"):
            return trial
    return None


class Comparison:
    def __init__(self, host):
        self.expected, self.failed, self.compared = digests(host)[1], 0, 0

    def with_(self, what, host, **how):
        said, found = digests(host, **how)
        self.compared += 1
        for name in sorted({*self.expected, *found}):
            if self.expected.get(name) != found.get(name):
                self.failed += 1
                print(f"FAILED {what}: {name}\n  expected: {self.expected.get(name)}\n  found:    {found.get(name)}")
        return said


def surroundings(comparison, host):
    with tempfile.TemporaryDirectory() as folder:
        locale = comma_locale(host, folder)
        if locale:
            comparison.with_("locale " + locale["LC_ALL"], host, **locale)
        else:
            print("skipped: the locale (there is none with a decimal comma, and localedef makes none)")
    for umask in (0o000, 0o002, 0o022, 0o077):
        comparison.with_(f"umask {umask:03o}", host, umask=umask)
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler):
            comparison.with_("kernels by " + compiler, host, NONHOLO_CC=compiler)
        else:
            print(f"skipped: kernels by {compiler} (not installed)")


def libraries(comparison, source, build):
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            print(f"skipped: the library by {compiler} (not installed)")
            continue
        for level in "0123":
            folder = os.path.join(build, f"bits-{compiler}-{level}")
            if not os.path.exists(folder + "/build.ninja"):
                subprocess.run(["meson", "setup", folder, source, "-Dbuildtype=plain", "-Doptimization=" + level],
                               env={**os.environ, "CC": compiler}, stdout=subprocess.DEVNULL, check=True)
            subprocess.run(["ninja", "-C", folder, "test/output/host"], stdout=subprocess.DEVNULL, check=True)
            print(f"the library by {compiler} -O{level}", flush=True)
            comparison.with_(f"library by {compiler} -O{level}", folder + "/test/output/host")


def main(host, source=None, build=None):
    comparison = Comparison(host)
    surroundings(comparison, host)
    if build:
        libraries(comparison, source, build)
    print(f"{comparison.compared} compared, {comparison.failed} failed")
    return 1 if comparison.failed else 0


sys.exit(main(*sys.argv[1:]))
