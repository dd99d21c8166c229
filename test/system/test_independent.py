#!/usr/bin/env python3
"""test_independent.py STATES [COUNT [SEED]] [--print]

COUNT random models (100) are compared with the independent evaluator, and the comparison notices when one of the two
got another model. STATES is the program of states.c. A model that fails is printed."""

import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import comparison
from random_model import random_model

TOLERANCE = 1e-13  # relative; measured over 1000 models: 5.5e-15


def compare(program, folder, text, other):
    """The library's model of a text with the evaluator's of another."""
    path = os.path.join(folder, "random.nh")
    with open(path, "w") as file:
        file.write(text)
    return comparison.compare(program, path, other)


def notices(program, folder, text):
    """A model whose Lagrangian differs by a millionth is another one."""
    worst = compare(program, folder, text, text.replace("lagrangian (", "lagrangian (1e-6*x1'^2 + "))
    return max(worst["energy"], worst["solution"]) > TOLERANCE


def main():
    words = [w for w in sys.argv[1:] if w != "--print"]
    program, count, seed = words[0], int(words[1]) if len(words) > 1 else 100, int(words[2]) if len(words) > 2 else 1
    failed, largest = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            text = random_model(random.Random(seed * 1000003 + number))
            try:
                worst = compare(program, folder, text, text)
                wrong = [f"{key} differs by {value:.2g}" for key, value in worst.items() if not value <= TOLERANCE]
                if number % 10 == 0 and not notices(program, folder, text):
                    wrong.append("a changed Lagrangian was not noticed")
            except Exception as error:  # whatever it is, the model is shown
                worst, wrong = {}, [f"{type(error).__name__}: {error}"]
            if "--print" in sys.argv:
                print(number, {key: f"{value:.1e}" for key, value in worst.items()})
            for key, value in worst.items():
                largest[key] = max(largest.get(key, 0.0), value)
            if wrong:
                failed += 1
                print(f"FAILED number {number} of seed {seed}: {'; '.join(wrong)}\n{text}")
    print("largest relative difference:", ", ".join(f"{key} {value:.1e}" for key, value in largest.items()),
          f"(allowed {TOLERANCE:.0e})")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
