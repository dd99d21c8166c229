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
