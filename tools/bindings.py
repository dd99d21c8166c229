#!/usr/bin/env python3
"""bindings.py OUT.py HEADER...: the declarations of the Python module, generated from the headers. Run by the build."""

import re
import sys

import header

PLAIN = {
    "void": "None",
    "bool": "C.c_bool",
    "int": "C.c_int",
    "unsigned": "C.c_uint",
    "double": "C.c_double",
    "char": "C.c_char",
    "int64_t": "C.c_int64",
    "uint64_t": "C.c_uint64",
    "uint32_t": "C.c_uint32",
    "size_t": "C.c_size_t",
}


class Types:
    def __init__(self, items):
        self.enums = {i.name for i in items if i.kind == "enum"}
        self.structs = {i.name for i in items if i.kind == "struct"}
        self.constants = {n: v for i in items if i.kind == "enum" for n, v in i.members}

    def python(self, text, result=False):
        """ctypes' name of a C type. Pointers are addresses, so that arrays are passed quickly."""
        array = re.fullmatch(r"(.*)\[(\w+)\]", text)
        if array:
            count = self.constants.get(array[2], array[2])
            return f"{self.python(array[1])} * {count}"
        pointer = re.fullmatch(r"(.*?)\(\*\)\((.*)\)", text)
        if pointer:
            types = [self.python(header.split_declaration(p)[0]) for p in header.split_outside(pointer[2])]
            return f"C.CFUNCTYPE({', '.join([self.python(pointer[1].strip())] + types)})"
        base = header.squeeze(re.sub(r"\bconst\b|\bstruct\b", "", text))
        if base == "char *":
            return "C.c_char_p"
        if base.endswith("*"):
            pointed = base[:-1].strip()
            return f"C.POINTER({pointed})" if result and pointed in self.structs else "C.c_void_p"
        if base in self.enums:
            return "C.c_int"
        if base in PLAIN:
            return PLAIN[base]
        if base in self.structs:
            return base
        raise SystemExit(f"bindings.py: unknown type '{text}'")


def write(items, out):
    types = Types(items)
    out.write('"""Made from the C headers by tools/bindings.py."""\n\nimport ctypes as C\n\nfrom ._values import Structure, declare as function\n\n')
    for item in items:
        if item.kind == "enum":
            out.write("".join(f"{name} = {value}\n" for name, value in item.members))
        if item.kind == "struct":
            out.write(f"\n\nclass {item.name}(Structure):\n    _fields_ = [\n")
            for kind, name in item.members:
                out.write(f'        ("{name}", {types.python(kind)}),\n')
            out.write("    ]\n\n")
    out.write("\n\ndef declare(library):\n")
    for item in items:
        if item.kind == "function":
            kinds = [types.python(item.result, result=True)] + [types.python(kind) for kind, _ in item.parameters]
            out.write(f"    library.{item.name} = function(library.{item.name}, {', '.join(kinds)})\n")


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        write([item for path in sys.argv[2:] for item in header.read(path)], file)
