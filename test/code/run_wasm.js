// run_wasm.js: reads the lines of dump_wasm and runs their modules; prints what differs, then how many ran.
"use strict";
const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
const view = new DataView(new ArrayBuffer(8));
const numberOf = bits => (view.setBigUint64(0, BigInt("0x" + bits)), view.getFloat64(0));
const bitsOf = x => (view.setFloat64(0, x), view.getBigUint64(0).toString(16).padStart(16, "0"));

// Functions that know the results of the calls that the tape makes, and no others.
function functionsOf(calls, memory) {
    const known = {}, functions = {};
    for (const [op, operands, results] of calls)
        (known[op] = known[op] || new Map()).set(operands.join(), results);
    for (const op in known)
        functions[op] = (...operands) => {
            const results = known[op].values().next().value;
            const address = results.length > 1 ? operands.pop() : 0;
            const found = known[op].get(operands.map(bitsOf).join());
            if (!found)
                throw new Error("operation " + op + " of other operands: " + operands);
            if (found.length > 1)
                new DataView(memory.buffer).setFloat64(address, numberOf(found[1]), true);
            return numberOf(found[0]);
        };
    return functions;
}

function fill(memory, tape) {
    const numbers = new DataView(memory.buffer);
    const put = (at, x) => numbers.setFloat64(tape.first + 8 * at, x, true);
    for (let i = 0; i < 4 * tape.array; i++)
        put(i, 0.1 + 0.8 * (i * 7919 % 1009) / 1009);
    for (let i = 0; i < tape.array; i++)
        put(4 * tape.array + i, NaN);
    for (let i = 0; i < tape.slots; i++)
        put(5 * tape.array + i, i < tape.constants.length ? numberOf(tape.constants[i]) : NaN);
}

function run(tape) {
    const bytes = Buffer.from(tape.module, "hex");
    if (!WebAssembly.validate(bytes))
        return "is not valid";
    const pages = Math.ceil((tape.first + 8 * (5 * tape.array + tape.slots)) / 65536);
    const memory = new WebAssembly.Memory({initial: pages});
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes),
        {env: {memory}, op: functionsOf(tape.calls, memory)});
    fill(memory, tape);
    const [q, v, x, u, out] = [0, 1, 2, 3, 4].map(i => tape.first + 8 * i * tape.array);
    if (instance.exports[1](0, 1, tape.t, q, v, x, out, u) !== 0)
        return "does not return 0";
    const found = new DataView(memory.buffer);
    for (let i = 0; i < tape.expected.length; i++) {
        const bits = found.getBigUint64(out + 8 * i, true).toString(16).padStart(16, "0");
        if (bits !== tape.expected[i])
            return "result " + i + " is " + bits + ", not " + tape.expected[i];
    }
    return "";
}

let wrong = 0;
for (const tape of lines.map(JSON.parse)) {
    let message;
    try {
        message = run(tape);
    } catch (error) {
        message = String(error);
    }
    if (message) {
        console.log(tape.name, tape.function, tape.loops ? "in a loop" : "in straight code", message);
        wrong++;
    }
}
console.log(lines.length + " tapes, " + wrong + " wrong");
process.exit(wrong ? 1 : 0);
