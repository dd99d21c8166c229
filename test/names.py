#!/usr/bin/env python3
"""names.py SOURCE: no file name, no nh_ type and no macro of a header means two things in src, cli and include."""
import collections
import glob
import os
import re
import sys

root = sys.argv[1]
paths = [p for pattern in ("src/**/*.[ch]", "src/**/*.def", "cli/*.[ch]", "cli/*.def", "include/*.h")
         for p in glob.glob(os.path.join(root, pattern), recursive=True)]
texts = {os.path.relpath(p, root): re.sub(r"/\*.*?\*/", " ", open(p).read(), flags=re.S) for p in sorted(paths)}
# Texts for exported programs, which are never compiled with the rest; they have names of their own for the kernel's words.
compiled = {path: text for path, text in texts.items() if not path.startswith("src/export/template/")}
commands = {"cli/%s.c" % name for name in re.findall(r"COMMAND\((\w+)\)", texts["cli/commands.def"])}

TYPE = re.compile(r"^(?:typedef )?(?:struct|union|enum) (nh_\w+) \{|^typedef (?!struct nh_\w+ nh_)[^;{]*?\b(nh_\w+);|"
                  r"^typedef [^;{]*?\(\*?(nh_\w+)\)\(|^typedef [^;{(]*?\b(nh_\w+)\(", re.M)
MACRO = re.compile(r"^[ \t]*#[ \t]*define (\w+)((?:\\\\\n|.)*)", re.M)


def places(found):
    """What occurs in more than one file."""
    where = collections.defaultdict(set)
    for name, path in found:
        where[name].add(path)
    return sorted((name, sorted(files)) for name, files in where.items() if len(files) > 1)


def lasting(path, text):
    """The macros that outlive a file, except those that it defines only if nobody has."""
    gone = set(re.findall(r"#[ \t]*undef (\w+)", text)) | set(re.findall(r"#[ \t]*ifndef (\w+)", text))
    return {name for name, _ in MACRO.findall(text) if name not in gone}


wrong = []
for name, files in places((os.path.basename(path), path) for path in texts):
    if not (len(files) == 2 and set(files) & commands):  # a command is named as users call it
        wrong.append("%s is the name of several files: %s" % (name, ", ".join(files)))
for name, files in places((next(filter(None, match)), path) for path, text in compiled.items() for match in TYPE.findall(text)):
    wrong.append("the type %s is defined in %s" % (name, ", ".join(files)))
# Entries of tables have a meaning wherever the table is read. The words of the kernel language have a form for each way to
# run (one lane, several, four points, recorded), and methods define those of their family: they are one vocabulary.
entries = set(re.findall(r"^(\w+)\(", "\n".join(text for path, text in compiled.items() if path.endswith(".def")), re.M))
in_headers = {name for path, text in compiled.items() if path.endswith(".h") for name in lasting(path, text)}
meanings = collections.defaultdict(set)
for path, text in compiled.items():
    for name, meaning in MACRO.findall(text) if not re.match(r"src/method/.*\.c$", path) else ():
        kernels = re.match(r"src/(kernel|method)/", path)
        meanings[name, "src/kernel, src/method" if kernels else path].add("" if kernels else " ".join(meaning.split()))
for name, files in places(meanings):
    if name in in_headers - entries and len({frozenset(meanings[name, path]) for path in files}) > 1:
        wrong.append("the macro %s of a header is also defined elsewhere: %s" % (name, ", ".join(files)))
print("\n".join(wrong))
print("%d passed, %d failed" % (len(texts), len(wrong)))
sys.exit(bool(wrong) or not texts)
