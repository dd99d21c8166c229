#!/usr/bin/env python3
"""decimals.py SOURCE: no number with a decimal point is read or printed through the process's locale. In src/ only
base/decimal.c does this: elsewhere strtod and similar functions do not occur, and printf and scanf are not
used with a conversion of a double or with a format that cannot be read here. The program never sets a locale."""
import glob
import os
import re
import sys

HOME = "src/base/decimal.c"
FORBIDDEN = re.compile(r"\b(strtod|strtof|strtold|atof|scanf|v\w*scanf|vf?printf|vs?n?printf|sprintf|dprintf|setlocale|localeconv)\s*\(")
FORMATTED = re.compile(r"\b(snprintf|fprintf|sscanf|fscanf)\s*\(")
DOUBLE = re.compile(r"%[-+ #0'0-9.*]*[lL]?[aAeEfFgG]")
FORMAT_AT = {"snprintf": 2, "fprintf": 1, "sscanf": 1, "fscanf": 1}  # which argument


def without_comments(text):
    """Replaces comments by blanks and keeps strings."""
    blank = lambda match: match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def arguments(text, at):
    """The arguments of the call whose parenthesis opens before `at`."""
    found, depth, begin, quoted = [], 0, at, ""
    while True:
        c = text[at]
        if quoted:
            at += c == "\\"
            quoted = "" if c == quoted else quoted
        elif c in "\"'":
            quoted = c
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif c in ",)" and not depth:
            found.append(text[begin:at].strip())
            begin = at + 1
            if c == ")":
                return found
        at += 1


def faults(path, name):
    text = without_comments(open(path).read())
    line = lambda match: f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
    for match in FORBIDDEN.finditer(text):
        yield f"{line(match)}: {match[1]}: base/decimal.h has what does not depend on a locale"
    for match in FORMATTED.finditer(text):
        form = arguments(text, match.end())[FORMAT_AT[match[1]]]
        if not form.startswith('"'):
            yield f"{line(match)}: {match[1]} with a format from elsewhere: use base/decimal.h"
        elif DOUBLE.search(form.replace("%%", "")):
            yield f"{line(match)}: {match[1]} of a double: use base/decimal.h"


def main(root):
    paths = [os.path.relpath(path, root) for path in sorted(glob.glob(root + "/src/*/*.[ch]"))]
    found = [fault for name in paths if name != HOME for fault in faults(f"{root}/{name}", name)]
    for path in glob.glob(root + "/cli/*.[ch]"):
        if re.search(r"\bsetlocale\s*\(", without_comments(open(path).read())):
            found.append(f"{os.path.relpath(path, root)}: the program sets no locale")
    print("\n".join(found))
    print(f"{len(paths)} files, {len(found)} failed")
    return bool(found) or not any(faults(f"{root}/{HOME}", HOME))


sys.exit(main(sys.argv[1]))
