// compute.js MODULE-FOLDER WORKER < jobs.json: what the worker of the playground computes, in node, one JSON object a line.
// A job is {file, text, runs: [{method, step, tolerance, time}]}; the answer has errors, and of each run the end state.
"use strict";
const fs = require("fs"), path = require("path");
const [folder, worker] = process.argv.slice(2).map((name) => path.resolve(name));
const { Simulator } = require(worker);

function perform(simulator, answers, job) {
    answers.length = 0;
    simulator.open({ id: 1, file: job.file, text: job.text, settings: job.settings || [], start: job.start || "", project: false, runs: job.runs || [] });
    while (simulator.work());
    const ends = [], opened = answers.find((one) => one.kind === "opened");
    for (const one of answers)
        if (one.kind === "rows" && one.count) ends[one.which] = Array.from(one.rows.slice((one.count - 1) * one.width));
    const failed = answers.find((one) => one.error || (one.progress && one.progress.error) || (one.system && one.system.error));
    const error = failed && (failed.error || (failed.progress || failed.system).error);
    return { error: error || null, ends, methods: opened && opened.system.methods };
}

async function main() {
    const module = await require(path.join(folder, "nonholo.js"))({ wasmBinary: fs.readFileSync(path.join(folder, "nonholo.wasm")) });
    const answers = [], simulator = new Simulator(module, (one) => answers.push(one));
    const jobs = JSON.parse(fs.readFileSync(0, "utf8"));
    for (const job of jobs) {
        const text = job.model ? simulator.text(job.model).text : job.text;
        console.log(JSON.stringify(perform(simulator, answers, { ...job, text })));
    }
}
main();
