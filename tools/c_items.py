"""C source as a list of top-level items, for exported programs, which contain only the items that they use.

The text of a kernel serves many purposes at once and is full of preprocessor conditions. Those that have the same
value in all exported programs are decided here; the others become functions of facts: of what the export defines (N, M,
options) before it selects items. embed.py writes the result as C."""
import re

# What every exported program defines, and what emit.c defines for others only.
DEFINED = {"NH_EMITTED": "1", "NH_EXPORTED": "1", "LANES": "1"}
UNDEFINED = {"NH_CALLBACKS", "NH_OPERATIONS", "NH_QUADS"}

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|\.?\d(?:(?<=[eEpP])[+-]|[\w.])*|\w+|\n|[ \t]+|.', re.S)
MARK = "/* NH_FUNCTIONS_HERE */"
NAME = re.compile(r"[A-Za-z_]\w*$")


def is_name(token):
    return NAME.match(token) is not None


def is_filler(token):
    return token[0] in " \t\n" or token.startswith("/*")


class Facts:
    """What the export defines: the names after #define in its own sources."""

    def __init__(self, sources):
        known = set(re.findall(r"#define (\w+)", "".join(open(f).read() for f in sources))) - set(DEFINED) - UNDEFINED
        self.known = re.compile("(%s)$" % "|".join(re.sub(r"_$", r"_\\d+", name) for name in sorted(known)))
        self.place = {}  # of those that some condition asks for

    def ask(self, name, field):
        if not self.known.match(name):
            return 0
        return "definition[%d].%s" % (self.place.setdefault(name, len(self.place)), field)


class Condition:
    """A condition as a number or as text in C. The texts of operands are in parentheses."""

    def __init__(self, facts):
        self.facts = facts
        self.macros = {}  # names -> [(condition under which this counts, parameters, tokens or None)], the last counts most

    def is_defined(self, name):
        value = self.facts.ask(name, "defined")
        for when, _, body in self.macros.get(name, ()):
            value = choose(when, int(body is not None), value)
        return value

    def value(self, tokens):
        self.rest = [t for t in tokens if not is_filler(t) and t != "\\"]
        if not self.rest:  # a macro that is defined as nothing
            return 0
        value = self.binary(0)
        if self.rest:
            raise ValueError("this condition is not understood: " + "".join(tokens).strip())
        return value

    LEVELS = (("||",), ("&&",), ("==", "!=", "<=", ">=", "<", ">"), ("+", "-"), ("*",))

    def takes(self, sign):
        if "".join(self.rest[:len(sign)]) == sign:
            del self.rest[:len(sign)]
            return True
        return False

    def binary(self, level):
        if level == len(self.LEVELS):
            return self.primary()
        value = self.binary(level + 1)
        while True:
            sign = next((s for s in self.LEVELS[level] if self.takes(s)), None)
            if sign is None:
                break
            value = combine(sign, value, self.binary(level + 1))
        if level == 0 and self.takes("?"):
            yes = self.binary(0)
            if not self.takes(":"):
                raise ValueError("a colon is missing")
            value = choose(value, yes, self.binary(0))
        return value

    def primary(self):
        if self.takes("!"):
            return negate(self.primary())
        if self.takes("-"):
            return combine("-", 0, self.primary())
        if self.takes("("):
            value = self.binary(0)
            if not self.takes(")"):
                raise ValueError("a parenthesis is missing")
            return value
        token = self.rest.pop(0)
        if token[0].isdigit():
            return int(token.rstrip("uUlL"), 0)
        if not is_name(token):
            raise ValueError("not understood: " + token)
        if token != "defined":
            return self.macro(token)
        opened = self.takes("(")
        value = self.is_defined(self.rest.pop(0))
        if opened:
            self.takes(")")
        return value

    def macro(self, name):
        given = self.arguments() if any(p is not None for _, p, _ in self.macros.get(name, ())) or name == "OPTION_INT" else []
        if name == "OPTION_INT" and name not in self.macros:  # of emitted text: pastes its argument
            return self.facts.ask("NH_OPTION_INT_" + "".join(given[0]), "value")
        value = self.facts.ask(name, "value")
        for when, parameters, body in self.macros.get(name, ()):
            replaced = []
            for token in body or ["0"]:
                replaced += given[parameters.index(token)] if parameters and token in parameters else [token]
            rest, found = self.rest, self.value(replaced)
            self.rest = rest
            value = choose(when, found, value)
        return value

    def arguments(self):
        """The arguments of a macro, each as tokens."""
        self.takes("(")
        found, depth = [[]], 0
        while depth > 0 or self.rest[0] != ")":
            token = self.rest.pop(0)
            depth += (token == "(") - (token == ")")
            if token == "," and depth == 0:
                found.append([])
            else:
                found[-1].append(token)
        self.rest.pop(0)
        return found


def combine(sign, a, b):
    """`a sign b`, evaluated as far as it is known."""
    if sign in ("&&", "||"):
        absorbing = int(sign == "||")
        if absorbing in (truth(a), truth(b)):
            return absorbing
        if isinstance(a, int):
            return truth(b)
        if isinstance(b, int):
            return truth(a)
    elif isinstance(a, int) and isinstance(b, int):
        return int(eval("%d %s %d" % (a, sign, b)))
    return "(%s %s %s)" % (a, sign, b)


def truth(a):
    return int(a != 0) if isinstance(a, int) else a


def negate(a):
    return int(a == 0) if isinstance(a, int) else "!" + a


def choose(when, yes, no):
    if isinstance(when, int):
        return yes if when else no
    if yes == no:
        return yes
    if (yes, no) == (1, 0):
        return when
    return "(%s ? %s : %s)" % (when, yes, no)


# ---- lines ----

class Line:
    def __init__(self, tokens, branches, condition):
        self.tokens, self.branches, self.condition = tokens, branches, condition

    def may_follow(self, other):
        """Whether both can be in one program: they are not in different branches of one condition."""
        return all(self.branches.get(group, branch) == branch for group, branch in other.branches.items())


def logical_lines(text):
    line = []
    for token in TOKEN.findall(text):
        line.append(token)
        if token == "\n" and line[-2:-1] != ["\\"]:
            yield line
            line = []
    if line:
        yield line


def decide(text, facts):
    """The lines that can be in a program, each with its condition; without the directives that decide."""
    reader, open_ones, out, groups = Condition(facts), [], [], 0
    for name, value in DEFINED.items():
        reader.macros[name] = [(1, None, [value])]
    for tokens in logical_lines(text):
        words = [t for t in tokens if not is_filler(t)]
        condition, branches = 1, {}
        for group, branch, holds, _ in open_ones:
            condition = combine("&&", condition, holds)
            branches[group] = branch
        if words[:1] != ["#"]:
            if condition != 0:
                out.append(Line(tokens, branches, condition))
            continue
        word, rest = words[1], tokens[tokens.index(words[1], tokens.index("#") + 1) + 1:]
        if word in ("if", "ifdef", "ifndef"):
            holds = 0 if condition == 0 else reader.value(rest) if word == "if" else reader.is_defined(words[2])
            holds = negate(holds) if word == "ifndef" else holds
            open_ones.append((groups, 0, truth(holds), truth(holds)))
            groups += 1
        elif word in ("elif", "else"):
            group, branch, _, before = open_ones.pop()
            outside = 1
            for _, _, holds, _ in open_ones:
                outside = combine("&&", outside, holds)
            asks = word == "elif" and before != 1 and outside != 0
            own = truth(reader.value(rest)) if asks else int(word == "else")
            open_ones.append((group, branch + 1, combine("&&", negate(before), own), combine("||", before, own)))
        elif word == "endif":
            open_ones.pop()
        elif word in ("define", "undef") and condition != 0:
            note_macro(reader, condition, word, rest)
            out.append(Line(tokens, branches, condition))
    if open_ones:
        raise ValueError("#endif is missing")
    return out


def note_macro(reader, condition, word, rest):
    rest = "".join(rest).strip()
    match = re.match(r"(\w+)(\(([^)]*)\))?(.*)", rest, re.S)
    parameters = [p.strip() for p in match[3].split(",")] if match[2] else None
    body = TOKEN.findall(match[4].strip()) if word == "define" else None
    before = reader.macros.get(match[1], []) if condition != 1 else []
    reader.macros[match[1]] = before + [(condition, parameters, body)]


# ---- items ----

class Item:
    def __init__(self, condition, names, text):
        self.condition, self.names, self.text = condition, names, text  # in the text: "\1condition\1" before what depends on it

    def __eq__(self, other):
        return (self.condition, self.text) == (other.condition, other.text)

    def __hash__(self):
        return hash((self.condition, self.text))


def map_conditions(text, number):
    """The text of an item with the numbers of conditions for these."""
    parts = text.split("\1")
    return "\1".join(str(number(1 if part == "1" else part)) if i % 2 else part for i, part in enumerate(parts))


class Reader:
    """Divides lines into items: macros, types, data and functions, each with the comment directly before it."""

    def __init__(self, lines):
        self.tokens = [(token, line) for line in lines for token in line.tokens]
        self.at = 0
        self.comments = []  # their places; one before a condition belongs to the first item of each branch

    def find(self):
        """Where the next item begins: (its comment or None, itself)."""
        while self.at < len(self.tokens):
            token, line = self.tokens[self.at]
            if token.startswith("/*"):
                self.comments.append(self.at)
            elif token[0] not in " \t\n;":
                return next((c for c in reversed(self.comments[-3:]) if self.belongs(c)), None), self.at
            self.at += 1
        return None, None

    def belongs(self, comment):
        """Whether at most one line ends between a comment and the item, in some programs that contain the item."""
        between, own = self.between(comment, self.at), self.tokens[self.at][1].branches
        return self.tokens[comment][1].branches.items() <= own.items() and between.count("\n") <= 1 and \
            all(t[0] in " \t\n;" for t in between)

    def between(self, comment, item):
        """The tokens behind a comment that every program with the item has."""
        own = self.tokens[item][1].branches
        return [t for t, line in self.tokens[comment + 1:item] if line.branches.items() <= own.items()]

    def absence(self, comment, item):
        """The condition under which a program has nothing else between them."""
        own, condition = self.tokens[item][1], 1
        for token, line in self.tokens[comment + 1:item]:
            if token[0] not in " \t\n" and line.may_follow(own) and not line.branches.items() <= own.branches.items():
                condition = combine("&&", condition, negate(line.condition)) if condition != negate(line.condition) else condition
        return condition

    def rest_of_line(self):
        line = self.tokens[self.at][1]
        while self.at < len(self.tokens) and self.tokens[self.at][1] is line and self.tokens[self.at][0] != "\n" or \
                self.tokens[self.at - 1][0] == "\\":
            self.at += 1

    def declaration(self):
        """Passes a declaration or definition. What it defines: for a function, the name before the first parenthesis; for
        data, the name before the bracket or equals sign; for a typedef, the last name; a tag; constants of an enumeration."""
        names, last, depth, braces = [], "", 0, 0
        function = enumeration = typedef = at_constant = named = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at][0]
            if token == "#":
                self.rest_of_line()
                continue
            self.at += 1
            outermost = depth == 0 and braces == 0
            if is_name(token):
                if outermost:
                    enumeration |= token == "enum"
                    typedef |= token == "typedef"
                    if last in ("struct", "union"):
                        names.append(token)
                    last = token
                elif enumeration and braces == 1 and at_constant:
                    names.append(token)
                    at_constant = False
                continue
            if outermost and token in "([=" and not named and not typedef:
                names.append(last)
                named = True
                function = token == "("
            depth += (token in "([") - (token in ")]")
            braces += (token == "{") - (token == "}")
            if token in "{,":
                at_constant = braces == 1 and depth == 0
            if token == ";" and depth == 0 and braces == 0:
                if not named and last not in ("", "enum"):
                    names.append(last)
                break
            if token == "}" and depth == 0 and braces == 0 and function:
                break
        return names

    def item(self, comment, begin):
        if self.tokens[begin][0] == "#":
            self.rest_of_line()
            words = [t for t, _ in self.tokens[begin:self.at] if is_name(t)]
            names = words[1:2]
        else:
            names = self.declaration()
        own = self.tokens[begin][1]
        parts, condition = [], own.condition
        marked = mark_fields(self.tokens[begin:self.at])
        if comment is not None:
            alone = self.absence(comment, begin)
            text = self.tokens[comment][0] + "".join(self.between(comment, begin))
            parts.append(text if alone == 1 else "\1%s\1%s\1%s\1" % (alone, text, 1))
        for token, line in marked:
            if line.condition != condition:
                condition = line.condition
                parts.append("\1%s\1" % (condition if condition != own.condition else 1))
            parts.append(token)
        return Item(own.condition, names, "".join(parts))


def mark_fields(tokens):
    """The names of fields, which belong only to their struct, get a mark: names that follow a point or an arrow and, in a
    struct, those that are followed by a comma, a semicolon or a bracket."""
    words = [t for t, _ in tokens if not is_filler(t) and t != "typedef"]
    in_struct, behind_point, depth, braces, out = words[0] in ("struct", "union"), False, 0, 0, []
    for i, (token, line) in enumerate(tokens):
        if is_name(token):
            ahead = next((t for t, _ in tokens[i + 1:] if not is_filler(t)), "")
            if behind_point or (in_struct and braces > 0 and depth == 0 and ahead in (",", ";", "[")):
                token = "\2" + token
            behind_point = False
        elif not is_filler(token):
            depth += (token in ("(", "[")) - (token in (")", "]"))
            braces += (token == "{") - (token == "}")
            arrow = token == ">" and tokens[i - 1][0] == "-"
            behind_point = token == "." or arrow
        out.append((token, line))
    return out


def items(text, facts):
    """The items of a text, in as many lists as the mark of the system's functions leaves parts."""
    lines, parts = decide(text, facts), [[]]
    for line in lines:
        if any(MARK in token for token in line.tokens):
            parts.append([])
        else:
            parts[-1].append(line)
    return [divided(part) for part in parts]


def divided(lines):
    reader, out = Reader(lines), []
    while True:
        comment, begin = reader.find()
        if begin is None:
            return out
        out.append(reader.item(comment, begin))
