"""Reads the headers in include/: the one place where the interface is written down. What it finds feeds the
Python module's declarations (tools/bindings.py) and the reference of the manual (docs/tools/reference.py)."""

import re
from dataclasses import dataclass, field


@dataclass
class Item:
    kind: str  # "function", "struct", "enum", "opaque", "section" or "text"
    name: str
    code: str  # as it stands in the header, without NH_API
    comment: str = ""
    result: str = ""  # of a function
    parameters: list = field(default_factory=list)  # (type, name)
    members: list = field(default_factory=list)  # of a struct (type, name); of an enum (name, value)


def uncomment(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def comment_text(block):
    inside = block.strip().removeprefix("/*").removesuffix("*/")
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() for line in inside.splitlines()).strip()


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def split_declaration(text):
    """'const double *q' -> ('const double *', 'q'); a function pointer keeps its whole text as type."""
    pointer = re.fullmatch(r"(.+?)\(\*(\w+)\)\s*\((.*)\)", text.strip(), flags=re.S)
    if pointer:
        return squeeze(f"{pointer[1]}(*)({pointer[3]})"), pointer[2]
    array = re.fullmatch(r"(.*?)(\w+)\s*\[(\w+)\]", text.strip(), flags=re.S)
    if array:
        return f"{squeeze(array[1])}[{array[3]}]", array[2]
    found = re.fullmatch(r"(.*?)(\w+)", text.strip(), flags=re.S)
    return squeeze(found[1]), found[2]


def split_outside(text, separator=","):
    """Splits where no parenthesis is open."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == separator and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    return [p for p in parts + [text[last:]] if p.strip()]


def struct_members(body):
    members = []
    for statement in split_outside(uncomment(body), ";"):
        first, *others = split_outside(statement)
        kind, name = split_declaration(first)
        members.append((kind, name))
        plain = kind.split("[")[0].rstrip("* ")
        for other in others:  # "int line, column"; each has its own stars
            members.append(split_declaration(plain + " " + other))
    return members


def enum_members(body):
    members, value = [], -1
    for part in split_outside(uncomment(body)):
        name, _, given = part.partition("=")
        value = eval(given, {"__builtins__": {}}) if given.strip() else value + 1
        members.append((name.strip(), value))
    return members


PATTERNS = [
    ("section", r"/\* ---- (?P<name>[^-\n]+?) -+ \*/"),
    ("comment", r"/\*(?P<name>).*?\*/"),
    ("enum", r"(?:typedef )?enum ?(?P<name>\w*)\s*\{(?P<body>[^}]*)\}[^;]*;"),
    ("struct", r"typedef struct (?P<name>\w+)\s*\{(?P<body>.*?)\n\}[^;]*;"),
    ("opaque", r"typedef struct (?P<name>\w+) \w+;"),
    ("function", r"NH_API (?P<result>[^;(]*?)(?P<name>nh_\w+)\((?P<body>[^;]*)\);(?P<beside>[ ]*/\*.*?\*/)?"),
    ("other", r"#(?:[^\n]*\\\n)*[^\n]*|NH_OPTIONS_DEFAULT\(\w+\)|extern \"C\" \{|\}"),
]
SCANNER = re.compile("|".join(f"(?P<{k}_all>{re.sub('P<(?=[a-z])', f'P<{k}_', p)})" for k, p in PATTERNS), re.S)


def describe(kind, part, code):
    item = Item(kind, part("name"), re.sub(r"\bNH_API ", "", code))
    if kind == "function":
        item.result = squeeze(part("result"))
        parameters = split_outside(part("body"))
        item.parameters = [] if squeeze(part("body")) == "void" else list(map(split_declaration, parameters))
        item.comment = comment_text(part("beside") or "")
        item.code = item.code.split("/*")[0].strip()
    if kind == "struct":
        item.members = struct_members(part("body"))
    if kind == "enum":
        item.members = enum_members(part("body"))
    return item


def read(path):
    """The items in the order of the header. A comment belongs to the item that follows it."""
    with open(path) as file:
        text = file.read()
    items, waiting, end = [], "", 0
    for match in SCANNER.finditer(text):
        between = text[end : match.start()]
        if between.strip():
            raise SystemExit(f"{path}: not understood: {between.strip()[:80]!r}")
        end = match.end()
        kind = next(k for k, _ in PATTERNS if match[f"{k}_all"] is not None)
        if kind == "comment":
            if waiting:
                items.append(Item("text", "", "", waiting))
            waiting = comment_text(match[0])
        elif kind != "other":
            names = match.groupdict()
            item = describe(kind, lambda name, k=kind: names.get(f"{k}_{name}"), match[0])
            if waiting and kind == "section":
                items.append(Item("text", "", "", waiting))
            elif waiting:
                item.comment = waiting + ("\n" + item.comment if item.comment else "")
            waiting = ""
            items.append(item)
    return items
