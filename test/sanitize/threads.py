"""threads.py: Python threads that share a model and compute side by side, with functions of Python, ensembles with their
own threads, files, checkpoints and exceptions. Run by test_threads.sh with a library built with the thread sanitizer; it checks
itself that every thread computed the same numbers."""
import os
import tempfile
import threading
import warnings

import numpy as np

import nonholo

THREADS = 6


def skate(constraint=lambda q: np.array([[-np.sin(q[2]), np.cos(q[2]), 0]])):
    return nonholo.from_functions(3, 1, potential=lambda q: -q[0], constraint=constraint, constant_mass=True)


def mistake(_):
    raise ValueError("a mistake")


def work(folder, i):
    at = os.path.join(folder, str(i))
    common = {"step": 0.05, "backend": "tape"}
    found = [nonholo.simulate("pendulum-cvt", "gauss", steps=100, **common),
             nonholo.ensemble(skate(), "gauss", step=0.05, steps=10, v=[[0.1, 0, 1], [0.2, 0, 1]]),
             nonholo.ensemble("pendulum-cvt", "dla01", steps=100, starts=[{"x": 0.1 * k} for k in range(8)], project=True, threads=3, **common),
             nonholo.simulate("pendulum-cvt", "dla01", steps=200, output=at + ".npz", checkpoint=at + ".check", **common)]
    try:
        nonholo.simulate(skate(mistake), "gauss", step=0.1, steps=3, v=[0.1, 0, 1])
        return b"no exception"
    except (nonholo.Error, ValueError):
        return b"".join(f.q.tobytes() for f in found)


def main():
    warnings.simplefilter("ignore")
    results = [b""] * THREADS

    def keep(i):
        results[i] = work(folder, i)

    with tempfile.TemporaryDirectory() as folder:
        threads = [threading.Thread(target=keep, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(r == work(folder, THREADS) for r in results), "threads disturb each other"


if __name__ == "__main__":
    main()
