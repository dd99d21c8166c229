"""Tables of models with known end states, as test_cases.py describes them: read, and written with a case in each line."""

import json


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, table):
    rest = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in table.items() if key != "cases")
    lines = ",\n".join(" " + json.dumps(case) for case in table["cases"])
    with open(path, "w", encoding="utf-8") as file:
        file.write("{" + rest + '"cases": [\n' + lines + "\n]}\n")


def update(path, cases):
    """New numbers for the cases of the same model and parameters; what else is said of a case stays."""
    table = read(path)
    old = table["cases"]
    for case in cases:
        same = [other for other in old if (other["model"], other["set"]) == (case["model"], case["set"])]
        table["cases"] = [other for other in table["cases"] if other not in same] + [{**(same[0] if same else {}), **case}]
    write(path, table)
