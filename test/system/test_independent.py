#!/usr/bin/env python3
"""test_independent.py STATES [COUNT [SEED]] [--print]

COUNT random models (100), every second one with a full mass matrix, are compared with the independent evaluator, and
the comparison notices if one of the two is given another model. STATES is the program of states.c. A model that fails is
printed. A coupled model without a well-conditioned state near its start is replaced by another."""

import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import comparison
import independent
from random_model import random_coupled_model, random_model

TOLERANCE = 1e-13  # relative; measured over 1000 models: 5.5e-15
COUPLED = 1e-12  # measured over 500 of them, with conditions up to 1e3: 4e-14


def compare(program, folder, text, other):
    """The library's model of a text with the evaluator's of another."""
    path = os.path.join(folder, "random.nh")
    with open(path, "w") as file:
        file.write(text)
    return comparison.compare(program, path, other)


def text_of(number, seed):
    """The text of a model, and its tolerance."""
    if number % 2 == 0:
        return random_model(random.Random(seed * 1000003 + number)), TOLERANCE
    for attempt in range(100):
        text = random_coupled_model(random.Random(f"{seed} {number} {attempt}"))
        try:
            states = comparison.state_list(independent.Model(text), 1)
            if min(independent.Model(text).least_pivot(*state) for state in states) > 1e-3:
                return text, COUPLED
        except (ValueError, ZeroDivisionError, OverflowError):
            pass
    raise AssertionError("no coupled model is well conditioned")


def notices(program, folder, text):
    """A model whose Lagrangian differs by a millionth is another one."""
    worst = compare(program, folder, text, text.replace("lagrangian (", "lagrangian (1e-6*x1'^2 + "))
    return max(worst["energy"], worst["solution"]) > 1e-10


def main():
    words = [w for w in sys.argv[1:] if w != "--print"]
    program, count, seed = words[0], int(words[1]) if len(words) > 1 else 100, int(words[2]) if len(words) > 2 else 1
    failed, largest = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            text, allowed = text_of(number, seed)
            kind = "coupled " if number % 2 else ""
            try:
                worst = compare(program, folder, text, text)
                wrong = [f"{key} differs by {value:.2g}" for key, value in worst.items() if not value <= allowed]
                if number % 10 == 0 and not notices(program, folder, text):
                    wrong.append("a changed Lagrangian was not noticed")
            except Exception as error:  # whatever it is, the model is shown
                worst, wrong = {}, [f"{type(error).__name__}: {error}"]
            if "--print" in sys.argv:
                print(number, {key: f"{value:.1e}" for key, value in worst.items()})
            for key, value in worst.items():
                largest[kind + key] = max(largest.get(kind + key, 0.0), value)
            if wrong:
                failed += 1
                print(f"FAILED number {number} of seed {seed}: {'; '.join(wrong)}\n{text}")
    print("largest relative difference:", ", ".join(f"{key} {value:.1e}" for key, value in largest.items()),
          f"(allowed {TOLERANCE:.0e}, of coupled ones {COUPLED:.0e})")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
