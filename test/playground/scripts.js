// scripts.js PLAYGROUND WORDS.json: the parts of the editor that need no browser.
"use strict";
const assert = require("assert"), path = require("path"), fs = require("fs");
const { colouredPieces, completions } = require(path.resolve(process.argv[2], "editor.js"));
const words = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));

const kinds = (line) => colouredPieces(line, words).filter(([kind]) => kind).map(([kind, text]) => kind + ":" + text);
assert.deepStrictEqual(kinds("constraint c: x' = 1.5e-3*sin(theta) # why"), ["statement:constraint", "number:1.5e-3", "functions:sin", "comment:# why"]);
assert.deepStrictEqual(kinds("let start = x[1..3]"), ["statement:let", "number:1", "number:3"]);
for (const line of ["", "  ", "a#b", "x''", "\t§ü漢", "<b>", "1..", ".5.", "'\"`$"])
    assert.strictEqual(colouredPieces(line, words).map(([, text]) => text).join(""), line);

const offers = (text) => completions(text, text.length, words).offers;
assert.deepStrictEqual(offers("lagr"), ["lagrangian"]);
assert.deepStrictEqual(offers("coordinate theta\nlagrangian th"), ["theta"]);
assert.deepStrictEqual(offers("draw whe"), ["wheel"]);
assert.deepStrictEqual(offers("draw wheel at (0, 0) rad"), ["radius"]);
assert.deepStrictEqual(offers("draw wheel color gre"), ["grey", "green"]);
assert.deepStrictEqual(offers("# lagr"), []);
assert.deepStrictEqual(offers("let x = "), []);

// Numbers of a rotation are assigned together.
const { assignments } = require(path.resolve(process.argv[2], "knobs.js"));
assert.deepStrictEqual(assignments(new Map([["x", 1], ["R.1", 3], ["R.2", 0], ["x'", 2], ["S[2].w3", 7]]), new Map([["R.0", 4], ["R.3", 0], ["S[2].w1", 3]])),
    ["x=1", "R=(0.8, 0.6, 0, 0)", "x'=2", "body(S[2])=(3, 0, 7)"]);

// Ticks of logarithmic axes: some, not many, within the axis, also far below what round-off is.
const page = fs.readFileSync(path.resolve(process.argv[2], "../src/output/page.js"), "utf8");
const logTicks = new Function("window", page + "; return logTicks;")({});
for (let low = -308; low < 300; low += 7)
    for (const decades of [0.01, 0.3, 0.9, 1, 2, 3, 8, 9, 10, 30, 300]) {
        const from = Math.pow(10, low), to = Math.pow(10, Math.min(307, low + decades)), ticks = logTicks(from, to);
        assert(ticks.length >= 2 && ticks.length <= 10, `${ticks.length} ticks from ${from} to ${to}`);
        assert(ticks.every((v, i) => v >= from * 0.99999 && v <= to * 1.00001 && (i === 0 || v > ticks[i - 1])), `ticks from ${from} to ${to}`);
    }
assert.deepStrictEqual(logTicks(2e-17, 3e-15), [1e-16, 1e-15]);
assert.deepStrictEqual(logTicks(1e-23, 1e-15), [1e-23, 1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15]);

// What is drawn of a function covers what was computed: in every column of pixels the strokes reach from the least to the
// greatest value, and no stroke goes from one column to another across a gap. So in C (test_thin.c).
const { seenPoints, greatestPoints } = new Function("window", page + "; return { seenPoints, greatestPoints };")({});
const wrapOf = (v) => v - 2 * Math.PI * Math.round(v / (2 * Math.PI));
const curves = { slow: (i) => wrapOf(1e-3 * i), turning: (i) => wrapOf(0.01 * i), fast: (i) => wrapOf(0.3 * i + Math.sin(1e-3 * i)), stroboscopic: (i) => wrapOf((2 * Math.PI - 1e-4) * i), noise: (i) => 3 * Math.sin(1e4 * Math.sin(i)) };
for (const [name, value] of Object.entries(curves)) {
    const columns = 300, rows = 20000, points = Array.from({ length: rows }, (x, i) => [(i * columns) / rows, value(i)]), joined = (i) => name === "noise" || Math.abs(points[i][1] - points[i - 1][1]) <= Math.PI;
    const seen = seenPoints(points, joined), ends = (list) => {
        const found = Array.from({ length: columns }, () => [Infinity, -Infinity]);
        for (const p of list) if (p) { const one = found[Math.floor(p[0])]; one[0] = Math.min(one[0], p[1]); one[1] = Math.max(one[1], p[1]); }
        return found;
    };
    assert.deepStrictEqual(ends(seen), ends(points), name);
    assert(seen.length <= 14 * columns, `${name}: ${seen.length} points`);
    seen.forEach((p, k) => { const q = seen[k - 1]; if (name !== "noise" && p && q && Math.floor(p[0]) !== Math.floor(q[0])) assert(Math.abs(p[1] - q[1]) <= Math.PI, `${name}: a stroke across a wrap`); });
    if (name === "turning") assert.strictEqual(seen.filter((p) => p === null).length, 32, "a gap at each wrap"); // 200 radians
    const peaks = greatestPoints(points.map((p) => [...p]));
    assert.strictEqual(peaks.length, columns);
    peaks.forEach((p, c) => assert.strictEqual(p[1], ends(points)[c][0])); // upwards is less in pixels
}

// Columns of different size are in different panels; a constant with its round-off is no motion.
const plots = fs.readFileSync(path.resolve(process.argv[2], "../src/output/plots.js"), "utf8");
const wrappedOf = (v) => (Number.isFinite(v) ? wrapOf(v) : null);
const { groupsBySize, panelsOver, panelOfMotion } = new Function("wrapped", "printed", "curveColours", plots + "; return { groupsBySize, panelsOver, panelOfMotion };")(wrappedOf, (name) => name, ["a", "b"]);
const together = (...extents) => groupsBySize(extents.map(([a, b], i) => ({ i, ys: [a, null, b] }))).map((group) => group.map((one) => one.i));
assert.deepStrictEqual(together([-0.3, 0.3], [0, 5], [0, 1700]), [[0, 1], [2]]);
assert.deepStrictEqual(together([0, 1], [7, 7 + 1e-14], [0, 2]), [[0, 1, 2]]);
assert.deepStrictEqual(together([5, 5 + 9e-9], [1, 1 + 4e-9], [0.9, 0.9 + 2e-9]), [[0, 1, 2]]); // as dop853 keeps what is conserved
assert.deepStrictEqual(together([0, 1], [0, 100], [0, 1e4], [0, 1e6], [0, 1e8], [0, 2]), [[0, 5], [1], [2], [3, 4]]);

// The columns of pages are typed arrays, those of the playground plain ones: angles that are no numbers are gaps in both, and a
// lean of a hundredth is not drawn beside a turning wheel. The numbers of a rotation are no path.
for (const of of [Array.from, (list) => Float64Array.from(list)]) {
    const run = { names: ["t", "R.0", "R.1", "lean", "wheel"], kinds: ["time", "coordinate", "coordinate", "angle", "angle"], columns: [[0, 1, 2], [1, 0, 1], [0, 1, 0], [0, 0.01, NaN], [0, 3, 6]].map((list) => of(list)) };
    const panels = panelsOver([run], "angles", "angle");
    assert.deepStrictEqual(panels.map((p) => p.curves.map((c) => c.name)), [["lean"], ["wheel"]]);
    assert.deepStrictEqual(panels[0].curves[0].ys, [0, 0.01, null]);
    assert.deepStrictEqual(panelOfMotion([run]), []);
}

// The gallery names models that exist, each once.
const parts = fs.readFileSync(path.resolve(process.argv[2], "parts.js"), "utf8"), groups = new Function(/const GROUPS = \{[^]*?\n\};/.exec(parts)[0] + " return GROUPS;")(), grouped = Object.values(groups).flat();
const shipped = fs.readdirSync(path.resolve(process.argv[2], "../models")).map((name) => name.replace(/\.nh$/, ""));
assert.deepStrictEqual(grouped.filter((name) => !shipped.includes(name)), []);
assert.strictEqual(new Set(grouped).size, grouped.length);
