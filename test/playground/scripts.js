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
