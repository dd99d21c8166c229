#!/usr/bin/env python3
"""test_machine.py DUMP: machine code against a disassembler.

objdump reads the code of the tapes that DUMP (dump_machine.c) prints. The disassembled instructions are executed with
formulas instead of numbers, and so is the tape: every result must be the same formula. The comparison thus
concerns mnemonics and operands as another program decodes them, not their encoding. Registers that a call may
change are invalidated, and the stack is checked where the code calls and returns."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

CALLER_SAVED = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
ARITHMETIC = {"vadd": "ADD", "vsub": "SUB", "vmul": "MUL", "vdiv": "DIV"}
SIGN_BIT = 1 << 63


class Wrong(Exception):
    pass


class Formulas:
    """Numbers formulas: equal formulas have the same number."""

    def __init__(self, operations):
        self.operations, self.known = operations, {}

    def __call__(self, *parts):
        return self.known.setdefault(parts, len(self.known))

    def operation(self, name, operands, result=0):
        if self.operations[name]["commutes"]:
            operands = sorted(operands[:2]) + list(operands[2:])
        if name == "COPY":
            return operands[0]
        return self(name, result, *operands)


def run_tape(tape, formulas):
    """The contents of the tape's arrays at the end."""
    held = {}

    def read(place, i):
        key = ("t", 0) if place[0] == "t" else (place[0], place[1] + place[2] * i)
        return held.get(key, formulas(*key))

    for iterations, lines in tape["stretches"]:
        for i in range(iterations):
            for name, places in lines:
                facts = formulas.operations[name]
                operands = [read(places[1 + o], i) for o in range(facts["operands"])]
                for r, place in enumerate((places[0], places[3])[:facts["results"]]):
                    held[place[0], place[1] + place[2] * i] = formulas.operation(name, operands, r)
    return {key: value for key, value in held.items() if key[0] == "out"}


class Machine:
    """Executes lines of objdump."""

    def __init__(self, tape, functions, formulas, seen):
        self.tape, self.functions, self.formulas, self.seen = tape, functions, formulas, seen
        self.lanes = tape["lanes"]
        self.general = {name: ("initial", name) for name in SAVED}
        self.general.update(rdx=("q", 0), rcx=("v", 0), r8=("x", 0), r9=("out", 0))
        self.vector = {0: formulas("t", 0)}
        self.memory, self.stack, self.misaligned, self.equal = {}, [], 8, None

    # ---- operands ----

    def number_of(self, register):
        kind, number = re.fullmatch(r"([xy])mm(\d+)", register).groups()
        if (kind == "y") != (self.lanes > 1):
            raise Wrong("%s with %d lanes" % (register, self.lanes))
        return int(number)

    def address(self, text):
        """(array, index) of [base+counter*scale+displacement]."""
        inside = re.search(r"\[(.*)\]", text)[1]
        array, offset = None, 0
        for part in inside.replace("-", "+-").split("+"):
            register, _, scale = part.partition("*")
            value = self.general.get(register) if re.match(r"r\w+$", register) else int(part, 16)
            if isinstance(value, tuple) and not scale:
                array, offset = value[0], offset + value[1]
            elif isinstance(value, int):
                offset += value * int(scale or "1")
                if scale:
                    self.seen.add("index * %s" % scale)
            else:
                raise Wrong("no address in %s" % text)
        if array is None or array == "initial" or offset % (8 * self.lanes) or offset < 0:
            raise Wrong("no place at %s" % text)
        return array, offset // (8 * self.lanes)

    def value(self, operand):
        if "[" in operand:
            size = "YMMWORD" if self.lanes > 1 else "QWORD"
            if not operand.startswith(size + " PTR"):
                raise Wrong("not %s: %s" % (size, operand))
            place = self.address(operand)
            return self.memory.get(place, self.formulas(*place))
        found = self.vector.get(self.number_of(operand))
        if found is None:
            raise Wrong("%s holds nothing" % operand)
        return found

    # ---- instructions ----

    def step(self, name, operands):
        """Executes one instruction; returns the address of the next one, "return", or None for the following one."""
        vector = re.fullmatch(r"(v\w+?)([sp]d)?", name)
        if name in ("vzeroupper", "nop"):
            if name == "vzeroupper":
                self.vector = {}
        elif name.startswith("v"):
            if name.endswith(("sd", "pd")) and name not in ("vbroadcastsd", "vmovapd", "vxorpd", "vmovupd"):
                if name.endswith("sd") != (self.lanes == 1):
                    raise Wrong("%s with %d lanes" % (name, self.lanes))
            self.vector_step(vector[1], name, operands)
        else:
            return self.general_step(name, operands)
        return None

    def vector_step(self, stem, name, operands):
        formulas, memory = self.formulas, "[" in operands[-1]
        if name in ("vmovsd", "vmovupd") and "[" in operands[0]:
            self.memory[self.address(operands[0])] = self.value(operands[1])
            return
        if name == "vmovq":
            if operands != ["xmm15", "rax"] or self.general["rax"] != SIGN_BIT:
                raise Wrong("vmovq is for signs")
            self.vector[15] = formulas("sign")
            return
        if name == "vbroadcastsd":
            source = int(operands[1][3:])
            if self.vector.get(source) not in (formulas("sign"), formulas("t", 0)):
                raise Wrong("vbroadcastsd is for signs and time")
            self.vector[self.number_of(operands[0])] = self.vector[source]
            return
        to = self.number_of(operands[0])
        values = [self.value(o) for o in operands[1:]]
        self.seen.add(name + (" memory" if memory else ""))
        fused = re.fullmatch(r"vf(n?)madd(213|231)[sp]d", name)
        if name in ("vmovsd", "vmovupd", "vmovapd") and len(values) == 1:
            made = values[0]
        elif stem in ARITHMETIC and len(values) == 2:
            made = formulas.operation(ARITHMETIC[stem], values)
        elif stem == "vsqrt" and len(set(values)) == 1:
            made = formulas.operation("SQRT", values[:1])
        elif name == "vxorpd" and values[1] == formulas("sign"):
            made = formulas.operation("NEG", values[:1])
        elif fused and len(values) == 2:
            old = self.value(operands[0])
            parts = [old, values[0], values[1]] if fused[2] == "213" else [values[0], values[1], old]
            made = formulas.operation("FNMA" if fused[1] else "FMA", parts)
        else:
            raise Wrong("unknown vector instruction")
        self.vector[to] = made

    def general_step(self, name, operands):
        general = self.general
        if name in ("movabs", "mov"):
            source = operands[1]
            number = int(source, 16) if source.startswith("0x") else None
            if source == "QWORD PTR [rsp+0x8]" and not self.stack:  # the one argument on the stack
                general[operands[0]] = ("u", 0)
                return None
            general[operands[0]] = general[source] if number is None else (
                ("slot", 0) if number == self.tape["slots"] else number)
        elif name == "push":
            self.stack.append((operands[0], general[operands[0]]))
            self.misaligned ^= 8
        elif name == "pop":
            register, general[operands[0]] = self.stack.pop()
            self.misaligned ^= 8
            if register != operands[0]:
                raise Wrong("pop of what %s was" % register)
        elif name in ("add", "sub") and operands == ["rsp", "0x8"]:
            self.misaligned ^= 8
        elif name == "and":
            general[operands[0]] = 0 if operands[1] == "0x0" else None
        elif name == "add":
            general[operands[0]] += int(operands[1], 16)
        elif name == "cmp":
            self.equal = general[operands[0]] == int(operands[1], 16)
        elif name == "imul":
            factor = int(operands[2], 16)
            factor -= (1 << 64) if factor >= SIGN_BIT else 0
            general[operands[0]] = general[operands[1]] * factor
            self.seen.add("imul")
        elif name == "lea":
            array, index = self.address(operands[1])
            general[operands[0]] = (array, 8 * self.lanes * index)
        elif name == "xor" and operands == ["eax", "eax"]:
            general["rax"] = 0
        elif name == "call":
            self.call()
        elif name == "jne":
            return None if self.equal else int(operands[0], 16)
        elif name == "ret":
            return "return"
        else:
            raise Wrong("unknown instruction")
        return None

    def call(self):
        operation = self.functions.get(self.general["rax"])
        if operation is None or self.misaligned:
            raise Wrong("call of no operation" if operation is None else "call with a misaligned stack")
        facts = self.formulas.operations[operation]
        operands = [self.vector[i] for i in range(facts["operands"])]
        self.seen.add("call " + operation)
        if facts["results"] > 1:
            array, offset = self.general["rdi"]
            self.memory[array, offset // (8 * self.lanes)] = self.formulas.operation(operation, operands, 1)
        self.vector = {0: self.formulas.operation(operation, operands)}
        for name in CALLER_SAVED:
            self.general[name] = None

    def run(self, lines):
        places = {address: i for i, (address, _, _) in enumerate(lines)}
        at = 0
        while True:
            address, name, operands = lines[at]
            try:
                goal = self.step(name, operands)
            except (Wrong, KeyError, TypeError, AttributeError) as problem:
                raise Wrong("%x: %s %s: %s" % (address, name, ",".join(operands), problem)) from problem
            if goal == "return":
                break
            at = at + 1 if goal is None else places[goal]
        if self.stack or self.misaligned != 8 or self.general["rax"] != 0 or any(
                self.general[name] != ("initial", name) for name in SAVED):
            raise Wrong("registers or stack are not as they were")
        return {key: value for key, value in self.memory.items() if key[0] == "out"}


def disassemble(objdump, code, folder):
    file = os.path.join(folder, "code.bin")
    open(file, "wb").write(code)
    text = subprocess.run([objdump, "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", file],
                          capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    found = re.findall(r"^\s*([0-9a-f]+):\s+(\w+)[ \t]*([^\n#<]*)", text, re.M)
    return [(int(address, 16), name, [o.strip() for o in rest.split(",")] if rest.strip() else [])
            for address, name, rest in found]


def read_dump(text):
    functions, operations, tapes = {}, {}, []
    for line in text.splitlines():
        word, *rest = line.split()
        if word == "function":
            functions[int(rest[0])] = rest[1]
        elif word == "operation":
            operations[rest[0]] = {"operands": int(rest[1]), "results": int(rest[2]), "commutes": rest[3] == "1"}
        elif word == "tape":
            tapes.append({"name": rest[0], "stretches": []})
        elif word == "lanes":
            tapes[-1]["lanes"] = int(rest[0])
        elif word == "slots":
            tapes[-1]["slots"] = int(rest[0])
        elif word == "stretch":
            tapes[-1]["stretches"].append((int(rest[0]), []))
        elif word == "line":
            places = [(rest[i], int(rest[i + 1]), int(rest[i + 2])) for i in range(1, 13, 3)]
            tapes[-1]["stretches"][-1][1].append((rest[0], places))
        elif word == "code":
            tapes[-1]["code"] = bytes.fromhex(rest[0])
    return functions, operations, tapes


def expected_forms(operations):
    """The instructions that must have occurred: each for one lane and for several, with registers and from memory."""
    forms = {"index * %d" % scale for scale in (1, 2, 4, 8)} | {"imul"}
    for size in ("sd", "pd"):
        for stem in ("vadd", "vsub", "vmul", "vdiv", "vfmadd213", "vfmadd231", "vfnmadd213", "vfnmadd231"):
            forms |= {stem + size, stem + size + " memory"}
        forms.add("vsqrt" + size)
    made = {"ADD", "SUB", "MUL", "DIV", "NEG", "SQRT", "FMA", "FNMA", "COPY"}
    return forms | {"vxorpd"} | {"call " + name for name in operations if name not in made}


def main():
    objdump = shutil.which("objdump")
    if not objdump:
        print("skipped: there is no objdump, which comes with binutils")
        sys.exit(77)
    text = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
    functions, operations, tapes = read_dump(text)
    if not tapes:
        print("skipped: this machine makes no machine code (another processor than x86-64 with AVX2 and FMA)")
        sys.exit(77)
    wrong, seen = [], set()
    with tempfile.TemporaryDirectory() as folder:
        for tape in tapes:
            formulas = Formulas(operations)
            try:
                found = Machine(tape, functions, formulas, seen).run(disassemble(objdump, tape["code"], folder))
                if found != run_tape(tape, formulas):
                    raise Wrong("results are not those of the tape")
            except Wrong as problem:
                wrong.append("%s, %d lanes: %s" % (tape["name"], tape["lanes"], problem))
    missing = sorted(expected_forms(operations) - seen)
    wrong += ["never seen: " + ", ".join(missing)] if missing else []
    print("\n".join(wrong[:20]))
    print("%d tapes, %d forms of instructions; %d failed" % (len(tapes), len(seen), len(wrong)))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
