#!/usr/bin/env python3
"""execute.py [--write] NONHOLO PAGE.md...: runs the commands that a page shows and compares their output.

    ```console    lines after "$ " are run by sh; the lines below are the output
    ```python     the blocks of a page are run one after the other in one Python; a following ```text block is the output
    ```           after a paragraph that ends with "save this as `NAME`:" a file is written; also ```nh

"..." matches anything within a line, a line "..." any number of lines. --write puts the output into the page (without times
and round-off) instead of comparing. PYTHONPATH must lead to the module."""

import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SAVED = re.compile(r"[Ss]ave\s+this\s+as\s+`([\w./-]+)`[^`]*$")
MASKS = [
    (r"(?m)^(  methods +\w[\w-]*, \w[\w-]*, ).*$", r"\1..."),  # the list grows
    (r"[\d.]+ [num]?s per step, [\d.]+ [num]?s, \w+", "... per step, ..., ..."),
    (r"-?\d(\.\d+)?e-(1[3-9]|[2-9]\d)\b", "..."),
    (r"(?m)(e-\d\d|\.\.\.)( +)[\d.]+ [num]?s$", r"\1\2..."),  # the last column of a table: the time of a step
]


def matches(expected, printed):
    """Whether the lines fit; "..." is a wildcard."""
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            parts = (re.escape(p) for p in re.split(r"\.\.\.", re.sub(r"\s+", " ", line.rstrip())))
            pattern += ".*?".join(parts).replace(r"\ ", r"\s+") + r"[ \t]*\n"
    text = "\n".join(re.sub(r"[ \t]+", " ", line.rstrip()) for line in printed.rstrip("\n").split("\n")) + "\n"
    return re.fullmatch(pattern, text) is not None


def mask(printed):
    for pattern, blank in MASKS:
        printed = re.sub(pattern, blank, printed)
    return "\n".join(line.rstrip() for line in printed.split("\n"))


# what a page calls examples/
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


class Page:
    def __init__(self, path, program, write):
        with open(path) as file:
            self.path, self.text = path, file.read()
        self.program, self.write = os.path.abspath(program), write
        self.failures, self.tried, self.out, self.last = [], 0, [], 0

    def shell(self, command, folder):
        environment = dict(os.environ, PATH=os.path.dirname(self.program) + os.pathsep + os.environ["PATH"], NO_COLOR="1")
        done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    def compare(self, what, expected, printed):
        self.tried += 1
        if not matches(expected, printed):
            self.failures.append(f"{self.path}: {what}\n--- shown\n{expected}\n--- printed\n{printed}")

    def console(self, body, folder):
        shown = []
        for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
            lines = part.split("\n")
            size = 1
            while lines[size - 1].endswith("\\"):
                size += 1
            command, expected = "\n".join(lines[:size]), "\n".join(lines[size:])
            printed = self.shell(command, folder)
            if self.write:
                kept = "...\n" if expected.strip() == "..." else mask(printed)
                shown.append(f"$ {command}\n{kept}")
            else:
                self.compare(command, expected, printed)
        return "".join(shown) if self.write else body

    def python_outputs(self, folder):
        """What each block prints, in one interpreter."""
        blocks = [m[2] for m in FENCE.finditer(self.text) if m[1] == "python"]
        if not blocks:
            return []
        script = "\nprint(end='\\0', flush=True)\n".join(blocks)
        path = os.pathsep.join(map(os.path.abspath, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))))
        environment = dict(os.environ, PYTHONPATH=path)
        done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode or done.stderr:
            self.failures.append(f"{self.path}: Python failed\n{done.stderr}")
        return (done.stdout.split("\0") + [""] * len(blocks))[: len(blocks)]

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(EXAMPLES, os.path.join(folder, "examples"))
            self.save_files(folder)
            printed = self.python_outputs(folder)
            waiting = None
            for match in FENCE.finditer(self.text):
                body = match[2]
                if match[1] == "console":
                    body = self.console(body, folder)
                elif match[1] == "python":
                    waiting = printed.pop(0) if printed else ""
                elif match[1] == "text" and waiting is not None:
                    if self.write:
                        body = mask(waiting)
                    else:
                        self.compare("Python's output", body, waiting)
                    waiting = None
                self.out.append(self.text[self.last : match.start()] + f"```{match[1]}\n{body}```")
                self.last = match.end()
        if self.write:
            with open(self.path, "w") as file:
                file.write("".join(self.out) + self.text[self.last :])

    def save_files(self, folder):
        for match in FENCE.finditer(self.text):
            named = SAVED.search(self.text[: match.start()].rstrip().rsplit("\n\n", 1)[-1])
            if named and match[1] in ("", "nh"):
                with open(os.path.join(folder, named[1]), "w") as file:
                    file.write(match[2])


def main():
    words = [w for w in sys.argv[1:] if w != "--write"]
    pages = [Page(path, words[0], "--write" in sys.argv) for path in words[1:]]
    for page in pages:
        page.run()
    failures = [f for page in pages for f in page.failures]
    print("\n\n".join(failures))
    tried = sum(page.tried for page in pages)
    print(f"{tried - len(failures)} passed, {len(failures)} failed")
    return bool(failures) or (tried == 0 and "--write" not in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
