#!/usr/bin/env python3
"""embed.py models OUT.c FILE.nh...        the shipped models as a table of texts
embed.py figures OUT.c FILE.fig...       the shipped figures likewise
embed.py pages OUT.c FILE...             what goes into pages for a browser
embed.py no-pages OUT.c FILE...          the same names without texts, where no pages are written
embed.py templates OUT.c FILE...         what exported programs are made of
embed.py kernels OUT.c SRC METHODS.def   every method's source, its own includes inlined, as texts
embed.py calls OUT.c SRC METHODS.def     only what they call, where nothing is compiled at run time
embed.py items OUT.c SRC METHODS.def     what exported programs select from: the items of these sources and of templates
embed.py no-items OUT.c SRC METHODS.def  nothing, where no programs are exported

Run by the build; the results are C files with nothing but string tables."""
import base64
import hashlib
import os
import re
import sys

import c_items


def literal(text):
    """A C string literal, one line per line, in pieces that every compiler accepts."""
    lines = text.splitlines(keepends=True) or [""]
    escaped = (l.replace("\\", "\\\\").replace('"', '\\"').replace("\1", "\\001").replace("\2", "\\002").replace("\n", "\\n").replace("\t", "\\t") for l in lines)
    return "\n".join('    "%s"' % l.replace("??", '?""?') for l in escaped)


def inline(src, name, seen):
    """The file with its quoted includes replaced by their text, each once. What only describes a
    method (behind NH_DESCRIBE) stays out."""
    if name in seen:
        return ""
    seen.add(name)
    out, skipping = [], False
    for line in open(os.path.join(src, name)):
        if line.startswith("#ifdef NH_DESCRIBE"):
            skipping = True
        if not skipping:
            match = re.match(r'#include "([^"]+)"', line)
            keep = match is None and not line.startswith("#include <")
            out.append(line if keep else inline(src, match[1], seen) if match else "")
        if skipping and line.startswith("#endif"):
            skipping = False
    return "".join(out)


def kernel_text(src, file):
    """The text of an emitted kernel begins after real.h and trig.h: the emitter puts those, and the
    system's functions, in front. What general kernels alone have stays out."""
    return inline(src, "method/" + file,
                  {"mechanics/mechanics.h", "base/dense.h", "method/method.h", "kernel/general.h", "method/spark_fused.h",
                   "method/spark_traced.h"})


def calls(text, macro=r"CALL\w*"):
    """The functions of the system that a kernel's source calls, as a C expression."""
    names = sorted(set(re.findall(r"\b%s\((\w+)," % macro, text)) - {"FN"})
    return " | ".join("NH_FN_BIT(%s)" % name for name in names) or "0"


def texts(out, files, table, total):
    """A table of named texts: models, figures."""
    names = sorted((os.path.splitext(os.path.basename(f))[0], f) for f in files)
    with open(out, "w") as o:
        o.write('#include "base/shipped.h"\n\nconst nh_shipped %s[] = {\n' % table)
        for name, file in names:
            text = open(file).read()
            o.write('    {"%s",\n%s,\n     %d},\n' % (name, literal(text), len(text.encode())))
        o.write("    {0, 0, 0}};\nconst int %s = %d;\n" % (total, len(names)))


# Templates that are divided into items.
DIVIDED = ("program_arithmetic.h", "fast.c", "with_care.c", "program.c", "exchange.c", "jacobian.c")


def templates(out, files):
    """Texts by the names of their files."""
    files = [file for file in files if os.path.basename(file) not in DIVIDED]
    with open(out, "w") as o:
        o.write('#include "export/export.h"\n\n#include <string.h>\n\nconst char *nh_template(const char *name)\n{\n')
        for file in sorted(files):
            o.write('    if (strcmp(name, "%s") == 0)\n        return\n%s;\n' % (os.path.basename(file), literal(open(file).read())))
        o.write("    return NULL;\n}\n")


def page_parts(out, files, empty=False):
    """Scripts and styles, each with the digest that identifies it in a content security policy."""
    special = {"uPlot.iife.min.js": "uplot_script", "uPlot.min.css": "uplot_style", "three.min.js": "three_script"}
    with open(out, "w") as o:
        o.write('#include "output/page.h"\n\n')
        for file in files:
            base = os.path.basename(file)
            licence = os.path.basename(os.path.dirname(file)) + "_licence" if base == "LICENSE" else None
            name = licence or special.get(base) or base.replace(".js", "_script").replace(".css", "_style")
            text = "" if empty else open(file, encoding="utf-8").read()
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            o.write('const nh_page_part nh_%s = {\n%s,\n    "sha256-%s"};\n' % (name, literal(text), digest))


def method_files(definitions):
    return list(dict.fromkeys(re.findall(r'METHOD\(\w+, "([^"]+)"\)', open(definitions).read())))


def dense_text(src):
    """Dense algebra as a part of a program."""
    return re.sub(r"^(bool|void|int) nh_", r"static \1 nh_", inline(src, "base/dense.c", {"base/dense.h"}), flags=re.M)


def items(out, src, definitions, with_items):
    """Every item once, and for each source the places of its items."""
    def written(name):
        return os.path.join(src, name)
    texts = {file: kernel_text(src, file) for file in method_files(definitions)}
    texts["dense.c"] = dense_text(src)
    for file in DIVIDED:
        texts[file] = open(written("export/template/" + file)).read()
    facts = c_items.Facts([written(f) for f in ("code/emit.c", "export/c.c", "export/template/single.h")])
    stock, conditions, lists = {}, {1: 0}, {}
    for file, text in texts.items() if with_items else ():
        try:
            parts = c_items.items(text, facts)
        except ValueError as error:
            sys.exit("embed.py: %s: %s" % (file, error))
        for part in parts:
            places = [stock.setdefault(item, len(stock)) for item in part]
            lists.setdefault(file, []).extend(places + [-1])

    def number(condition):
        return conditions.setdefault(condition, len(conditions))
    with open(out, "w") as o:
        o.write('#include "export/items.h"\n\n#include <string.h>\n\nconst nh_prepared_item nh_prepared_items[] = {\n')
        for item in stock:
            text = c_items.map_conditions(item.text, number)
            o.write('    {%d, "%s",\n%s},\n' % (number(item.condition), "".join(n + "\\0" for n in item.names), literal(text)))
        o.write("    {0, 0, 0}};\nconst char *const nh_definition_names[] = {%s0};\n" % "".join('"%s", ' % n for n in facts.place))
        o.write("_Static_assert(sizeof nh_definition_names / sizeof *nh_definition_names <= NH_DEFINITIONS_MAX, \"too many\");\n")
        o.write("\nbool nh_condition_holds(int condition, const nh_definition *definition)\n{\n    (void)definition;\n    switch (condition) {\n")
        for condition, place in conditions.items():
            o.write("    case %d:\n        return %s;\n" % (place, condition))
        o.write("    }\n    return false;\n}\n\nconst short *nh_prepared_list(const char *file)\n{\n")
        for file, places in lists.items():
            o.write('    static const short of_%s[] = {%s};\n' % (re.sub(r"\W", "_", file), ", ".join(map(str, places))))
        for file in lists:
            o.write('    if (strcmp(file, "%s") == 0)\n        return of_%s;\n' % (file, re.sub(r"\W", "_", file)))
        o.write("    (void)file;\n    return NULL;\n}\n")


def kernels(out, src, definitions, with_texts):
    files = method_files(definitions)
    with open(out, "w") as o:
        o.write('#include "method/embedded.h"\n\n#include <string.h>\n\n')
        o.write("static const struct {\n    const char *file;\n    nh_fn_set calls, point_calls;\n    const char *text;\n} sources[] = {\n")
        for file in files:
            text = kernel_text(src, file)
            o.write('    {"%s",\n     %s,\n     %s,\n%s},\n' % (file, calls(text), calls(text, "CALL_POINTS"), literal(text if with_texts else "")))
        callbacks = inline(src, "system/callbacks.h", set())
        quads = [("quad%s.h" % end, inline(src, "kernel/quads%s.h" % end, set())) for end in ("", "_end")]
        for file, text in (("callbacks.h", callbacks), *quads):
            o.write('    {"%s", 0, 0,\n%s},\n' % (file, literal(text if with_texts else "")))
        o.write("};\n")
        for kind, field in (("const char *nh_embedded_kernel", "text"), ("nh_fn_set nh_embedded_calls", "calls"),
                            ("nh_fn_set nh_embedded_point_calls", "point_calls")):
            o.write("\n%s(const char *file)\n{\n" % kind)
            o.write("    for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++)\n")
            o.write("        if (strcmp(sources[i].file, file) == 0)\n            return sources[i].%s;\n" % field)
            o.write("    return 0;\n}\n")


if sys.argv[1] == "models":
    texts(sys.argv[2], sys.argv[3:], "nh_shipped_models", "nh_shipped_model_total")
elif sys.argv[1] in ("pages", "no-pages"):
    page_parts(sys.argv[2], sys.argv[3:], empty=sys.argv[1] == "no-pages")
elif sys.argv[1] == "templates":
    templates(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "figures":
    texts(sys.argv[2], sys.argv[3:], "nh_shipped_figures", "nh_shipped_figure_total")
elif sys.argv[1].endswith("items"):
    items(*sys.argv[2:5], with_items=sys.argv[1] == "items")
else:
    kernels(*sys.argv[2:5], with_texts=sys.argv[1] == "kernels")
