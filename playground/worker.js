// Owns the module: opens models and simulates them in short pieces, so that it receives changes in between.
//
//     {kind: "begin", wasm}                                        the compressed module, as base64
//     {kind: "open", id, file, text, settings, start, project, neighbours, runs: [{which, method, step, tolerance, time, section}, ...]}
//     {kind: "estimate", id, which}                                the error at the end, and remarks about it
//     {kind: "text", name}                                         the text of a shipped model
//     {kind: "write", id, which, ending}                           the recorded data, as a file
//
// Answers: "library", "text", "opened", "planned", "rows" (a transferred array and how far the run is), "estimated", "written", and
// "failed" with an error of the library. A new "open" ends the current computation. Node also loads this file, for tests.
"use strict";

const PIECE = 0.03; // seconds of computation between two checks for messages

class Simulator {
    constructor(module, post) {
        this.module = module;
        this.post = post;
        const text = (name, types) => {
            const call = module.cwrap(name, "string", types);
            return (...values) => JSON.parse(call(...values) || "null");
        };
        this.library = text("pg_library", []);
        this.text = text("pg_text", ["string"]);
        this.openModel = text("pg_open", ["string", "string", "string", "string", "boolean"]);
        this.startModel = text("pg_start", ["string", "boolean"]);
        this.scene = text("pg_scene", []);
        this.neighbours = text("pg_neighbours", ["number"]);
        this.run = text("pg_run", ["number", "string", "number", "number", "number", "number", "string"]);
        this.estimate = text("pg_estimate", ["number"]);
        this.advance = text("pg_advance", ["number"]);
        this.write = text("pg_write", ["number", "string"]);
        this.width = module.cwrap("pg_width", "number", ["number"]);
        this.take = module.cwrap("pg_take", "number", ["number"]);
        this.rows = module.cwrap("pg_rows", "number", ["number"]);
        this.active = [];
    }

    // The model is read again only if it has changed.
    open(wish) {
        const what = JSON.stringify([wish.file, wish.text, wish.settings]);
        this.active = [];
        this.id = wish.id;
        let system;
        if (what === this.opened) system = this.startModel(wish.start, wish.project);
        else {
            this.opened = null;
            system = this.openModel(wish.file, wish.text, wish.settings.join("\n"), wish.start, wish.project);
            if (system.methods) { this.opened = what; system.scene = this.scene(); }
        }
        if (!this.opened) { this.post({ kind: "failed", id: wish.id, error: system.error, where: "model" }); return; }
        if (wish.neighbours && !system.error) system.neighbours = this.neighbours(1e-5);
        this.post({ kind: "opened", id: wish.id, system });
        if (system.error) return;
        wish.runs.forEach((one, i) => this.begin(one, one.which === undefined ? i : one.which));
    }

    begin(wish, which) {
        const plan = this.run(which, wish.method, wish.step, wish.tolerance, wish.time, PIECE, wish.section || "");
        if (plan.error) { this.post({ kind: "failed", id: this.id, which, error: plan.error, where: "run" }); return; }
        this.post({ kind: "planned", id: this.id, which, plan });
        this.active.push(which);
    }

    // Computes a piece of each simulation; returns whether there is more to do.
    work() {
        for (const which of this.active.slice()) {
            const progress = this.advance(which), count = this.take(which), width = this.width(which), at = this.rows(which) / 8;
            const rows = this.module.HEAPF64.slice(at, at + count * width);
            this.post({ kind: "rows", id: this.id, which, count, width, rows, progress }, [rows.buffer]);
            if (progress.done) this.active = this.active.filter((one) => one !== which);
        }
        return this.active.length > 0;
    }

    file(which, ending) {
        const path = "/record." + ending, answer = this.write(which, path);
        if (answer.error) return answer;
        const bytes = this.module.FS.readFile(path);
        this.module.FS.unlink(path);
        return { bytes };
    }
}

async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function serve() {
    const channel = new MessageChannel();
    let simulator = null, waiting = false;
    const again = () => { if (!waiting) { waiting = true; channel.port2.postMessage(0); } };
    channel.port1.onmessage = () => { waiting = false; if (simulator.work()) again(); };
    const receive = {
        async begin(wish) {
            const module = await nonholoModule({ wasmBinary: await unpacked(wish.wasm) });
            simulator = new Simulator(module, (answer, moved) => postMessage(answer, moved || []));
            postMessage({ kind: "library", library: simulator.library() });
        },
        open(wish) { simulator.open(wish); again(); },
        text(wish) { postMessage({ kind: "text", name: wish.name, ...simulator.text(wish.name) }); },
        estimate(wish) {
            if (wish.id === simulator.id) postMessage({ kind: "estimated", id: wish.id, which: wish.which, ...simulator.estimate(wish.which) });
        },
        write(wish) {
            const made = simulator.file(wish.which, wish.ending);
            postMessage({ kind: "written", id: wish.id, which: wish.which, ...made }, made.bytes ? [made.bytes.buffer] : []);
        },
    };
    self.onmessage = (event) => receive[event.data.kind](event.data);
}

if (typeof module !== "undefined") module.exports = { Simulator };
else serve();
