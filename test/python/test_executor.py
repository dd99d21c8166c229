#!/usr/bin/env python3
"""test_executor.py [KILLS]: an ensemble over a pool of processes has the bits of one process, with every available executor,
even if a worker is killed in the middle."""

import glob
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import nonholo

ARGUMENTS = dict(model="chaotic-particle", method="dla01", step=0.1, steps=2000, every=500, members=100, energy=1.535, seed=4)
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 1  # times five workers
generator = random.Random(1)
failed = skipped = passed = 0


class Skip(Exception):
    pass


def pool_of(count=2, **how):
    """A pool of processes; Python's pool needs semaphores, which need shared memory, and not every container gives ordinary users access to that."""
    try:
        multiprocessing.Lock()
    except (ImportError, OSError) as missing:
        raise Skip(f"there are no semaphores between processes ({missing}; is /dev/shm writable?)") from None
    return ProcessPoolExecutor(count, **how)


def same_bits(found, whole):
    for name in ("q", "v", "multipliers", "t"):
        assert getattr(found, name).tobytes() == getattr(whole, name).tobytes(), name
    for name in whole.columns:
        assert found[name].tobytes() == whole[name].tobytes(), name
    assert {n: a.tolist() for n, a in found.parameters.items()} == {n: a.tolist() for n, a in whole.parameters.items()}
    assert found.failures == whole.failures and found.remarks == whole.remarks


def processes():
    whole = nonholo.ensemble(**ARGUMENTS)
    with pool_of() as pool:
        for parts in (1, 7, 64):
            same_bits(nonholo.ensemble(**ARGUMENTS, executor=pool, parts=parts), whole)
    part = nonholo.ensemble(**ARGUMENTS, part=(2, 3))
    assert (part.q == whole.q[part.first : part.first + part.members]).all() and 0 < part.first < 100


def sweep_and_failures():
    """Members that fail, and remarks, are those of the whole."""
    text = "model fall\nparameter k = 1\ncoordinate x\nlagrangian x'^2/2 + k*x^4\nstart x = 1\n"
    arguments = dict(model=nonholo.load(text), method="rk4", step=0.05, time=2.5, sweep={"k": (-1, 0.5, 13)})
    import warnings

    with warnings.catch_warnings(), pool_of() as pool:
        warnings.simplefilter("ignore")
        whole = nonholo.ensemble(**arguments)
        assert 0 < len(whole.failures) < 13
        same_bits(nonholo.ensemble(**arguments, executor=pool, parts=5), whole)


def killed_worker():
    """A process pool breaks when one of its workers dies; the parts are computed nevertheless, whatever the worker
    was doing: even while it returns a large result (concurrent.futures waits forever for the rest), and more
    often than a single part may be retried."""
    arguments = {**ARGUMENTS, "members": 400, "every": 1}
    whole = nonholo.ensemble(**arguments)
    for _ in range(KILLS):
        moments, seen = {3, 9, 15, 21, 27}, []  # five workers, at parts that come one after another

        def kill(share):
            seen.append(share)
            if len(seen) in moments:
                time.sleep(generator.random() * 0.02)
                children = multiprocessing.active_children()
                if children:
                    generator.choice(children).kill()

        with pool_of() as pool:
            same_bits(nonholo.ensemble(**arguments, executor=pool, parts=40, progress=kill), whole)
        assert len(seen) >= 27, seen
    assert not glob.glob(os.path.join(tempfile.gettempdir(), "nonholo-*", "arguments")), "files were left"


def deadly_part():
    """A worker that always dies: reported after three attempts, without computing forever."""
    with pool_of(2, initializer=os._exit, initargs=(9,)) as pool:
        try:
            nonholo.ensemble(**ARGUMENTS, executor=pool, parts=4)
        except RuntimeError as error:
            assert str(error) == "part 1 of 4 was lost 3 times", error
        else:
            raise AssertionError("no error")


def progress_that_fails():
    """An exception of the user's function is not taken for a lost worker."""

    def fail(share):
        raise OSError("enough")

    with pool_of() as pool:
        try:
            nonholo.ensemble(**ARGUMENTS, executor=pool, parts=4, progress=fail)
        except OSError as error:
            assert str(error) == "enough", error
        else:
            raise AssertionError("no error")


def error_names_its_part():
    with pool_of(1) as pool:
        try:
            nonholo.ensemble(**{**ARGUMENTS, "energy": -1e9}, executor=pool, parts=2)
        except nonholo.Error as error:
            assert str(error).startswith("part "), error
        else:
            raise AssertionError("no error")


def with_module(code, *command):
    """In a separate interpreter: these modules start threads and processes that stay."""
    script = ("import nonholo, numpy\narguments = %r\nif __name__ == '__main__':\n    whole = nonholo.ensemble(**arguments)\n" % ARGUMENTS)
    script += "".join("    " + line + "\n" for line in code.splitlines())
    script += "    assert found.q.tobytes() == whole.q.tobytes() and found['energy'].tobytes() == whole['energy'].tobytes()\n"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
        done = subprocess.run([*command, sys.executable, *(["-m", "mpi4py.futures"] if command else []), file.name],
                              capture_output=True, encoding="utf-8", env=environment, timeout=600)
    assert done.returncode == 0, done.stderr


def dask():
    import_or_skip("distributed")
    with_module("from distributed import Client, LocalCluster\n"
                "with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:\n"
                "    found = nonholo.ensemble(**arguments, executor=client.get_executor(), parts=9)")


def dask_killed():
    """Its nanny starts a new worker, and the scheduler gives it the tasks that were lost."""
    import_or_skip("distributed")
    with_module("import os, signal\nfrom distributed import Client, LocalCluster\nseen = []\n"
                "with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:\n"
                "    def kill(share):\n"
                "        seen.append(share)\n"
                "        if len(seen) == 3:\n"
                "            os.kill(list(cluster.workers.values())[0].pid, signal.SIGKILL)\n"
                "    found = nonholo.ensemble(**arguments, executor=client.get_executor(), parts=30, progress=kill)\n"
                "assert len(seen) >= 30, seen")


def mpi4py():
    import_or_skip("mpi4py")
    with_module("from mpi4py.futures import MPIPoolExecutor\n"
                "with MPIPoolExecutor() as pool:\n    found = nonholo.ensemble(**arguments, executor=pool, parts=9)", "mpiexec", "-n", "3")


def import_or_skip(name):
    if subprocess.run([sys.executable, "-c", "import " + name], capture_output=True).returncode:
        raise Skip(f"there is no {name}")


for test in (processes, sweep_and_failures, killed_worker, deadly_part, progress_that_fails, error_names_its_part, dask,
             dask_killed, mpi4py):
    try:
        test()
        passed += 1
    except Skip as reason:
        print(f"skipped {test.__name__}: {reason}")
        skipped += 1
    except Exception as error:
        import traceback

        traceback.print_exc()
        print(f"FAILED {test.__name__}: {error}")
        failed += 1
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
