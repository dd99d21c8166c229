// The playground: an editor, knobs and plots around a worker that computes. On the root element, `data-ready` says
// that the library is loaded, `data-motion` after how many milliseconds something first moved, `data-done`
// how many simulations were completed, `data-failed` the last error of the library.
"use strict";

const part = (id) => document.getElementById(id);
const root = document.documentElement.dataset;
const KEPT = "nonholo-playground"; // the name under which the browser stores the last state
const SECTION = 2; // the simulation whose states at events are recorded
const FIRST_MODEL = "rolling-coin";

// ---- the worker ----

class Engine {
    constructor(receive) {
        this.receive = receive;
        const code = new Blob([part("worker-code").textContent], { type: "text/javascript" });
        this.address = URL.createObjectURL(code);
        this.begin();
    }

    begin() {
        this.worker = new Worker(this.address);
        this.worker.onmessage = (event) => this.receive(event.data);
        this.worker.onerror = (event) => this.receive({ kind: "broken", text: event.message });
        this.worker.postMessage({ kind: "begin", wasm: part("wasm").textContent.trim() });
    }

    send(wish) {
        this.worker.postMessage(wish);
    }

    // A worker that is busy with a long computation receives no messages, so another one replaces it.
    replace() {
        this.worker.terminate();
        this.begin();
    }
}

// ---- one simulation, as far as it is computed ----

// A last step that is shorter than the others, where a step was given.
function restOf(plan) {
    const asked = !plan.step_advised && plan.rest > 0 && plan.rest < plan.step * (1 - 1e-9);
    return asked ? ["time " + shortNumber(plan.time) + " is not a whole number of steps of " + shortNumber(plan.step) + "; the last step is " + shortNumber(plan.rest)] : [];
}

class Trajectory {
    constructor(plan, system, scene) {
        Object.assign(this, { plan, scene, method: plan.method, names: plan.columns, count: 0, progress: null, shown: false });
        const n = system.coordinates.length, m = system.velocities.length;
        this.kinds = plan.columns.map((name, c) => (c === 0 ? "time" : c <= n ? (system.angles[c - 1] ? "angle" : "coordinate") : c <= n + m ? "velocity" : name === "energy" && c === n + m + 1 ? "energy" : "observable"));
        this.columns = [...plan.columns, "residual"].map(() => []);
        this.frames = [];
        this.conserves = system.keeps_energy;
        this.constrained = system.constraints.length > 0;
    }

    // As plots.js wants them.
    get errors() {
        const list = [], energy = this.columns[this.kinds.indexOf("energy")];
        if (this.conserves && energy) list.push({ name: "|energy − start|", values: energy.map((e) => Math.abs(e - energy[0])) });
        if (this.constrained) list.push({ name: "largest |constraint|", values: this.columns[this.columns.length - 1] });
        return list;
    }

    add(message) {
        const { rows, width, count } = message, columns = this.columns.length;
        for (let r = 0; r < count; r++) {
            for (let c = 0; c < columns; c++) this.columns[c].push(rows[r * width + c]);
            this.frames.push(rows.subarray(r * width + columns, (r + 1) * width));
        }
        this.count += count;
        this.progress = message.progress;
    }

    get last() {
        return this.columns[0][this.count - 1];
    }
}

// ---- the page ----

class Playground {
    constructor() {
        this.id = 0;
        this.trajectories = [];
        this.views = [];
        this.editor = new Editor(part("editor"), JSON.parse(part("words").textContent), () => this.later(300));
        this.parameters = new Knobs(part("parameters").querySelector("div"), () => this.later(0));
        this.start = new Knobs(part("start").querySelector("div"), () => this.later(0));
        this.plots = new Plots(part("plots"), (t) => { this.player.pause(); this.player.go(t); }, (width) => Math.max(1, Math.floor((width + 12) / 352)));
        this.player = new Player(0, 0, (t) => this.show(t));
        controls(this.player, part("player"), () => this.views.length && this.views[0].canvas);
        this.handles = new StartHandles(part("handles"), this.player, this.start, () => this.later(0));
        this.listen();
        this.engine = new Engine((message) => this["on_" + message.kind](message));
    }

    listen() {
        for (const id of ["method", "options", "control", "amount", "time", "compare", "other", "other-options", "section"]) part(id).onchange = () => this.chosen();
        part("start").querySelector("button").onclick = () => { this.start.clear(); this.later(0); };
        part("stop").onclick = () => this.stop();
        let resized = 0;
        const fresh = () => { clearTimeout(resized); resized = setTimeout(() => this.redraw(), 120); };
        window.addEventListener("resize", fresh);
        darkly.addEventListener("change", () => { this.plots.redraw(); this.player.go(this.player.time); });
        window.addEventListener("hashchange", () => this.fromLink());
    }

    chosen() {
        part("amount").hidden = part("control").value === "";
        this.later(0);
    }

    // ---- asking ----

    // A change is sent if no other followed for a while and the previous one was answered.
    later(milliseconds) {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.ask(), milliseconds);
    }

    method(id, options) {
        const name = part(id).value, more = part(options).value.trim();
        return name && more ? name + ":" + more : name;
    }

    ask() {
        if (!this.library) return;
        if (this.asked) { this.waiting = true; return; }
        this.waiting = false;
        const number = (id) => Number(part(id).value.trim() || 0), control = part("control").value;
        const common = { time: number("time"), step: control === "step" ? number("amount") : 0, tolerance: control === "tolerance" ? number("amount") : 0 };
        for (const key of ["time", "step", "tolerance"])
            if (!(common[key] >= 0 && common[key] < Infinity)) { this.complain(key + ": expected a positive number such as 0.01"); return; }
        const runs = [{ which: 0, method: this.method("method", "options"), ...common }], section = part("section").value;
        if (part("compare").checked) runs.push({ which: 1, method: this.method("other", "other-options"), ...common });
        const known = this.system ? [...this.system.coordinates, ...this.system.velocities].map((name, i) => [name, [...this.system.q, ...this.system.v][i]]) : [];
        this.asked = Date.now();
        this.timer = 0;
        this.keep();
        this.watch();
        this.id++;
        this.runs = runs.length;
        if (section) runs.push({ ...runs[0], which: SECTION, section });
        this.plots.sections = [];
        clearTimeout(this.judging);
        this.engine.send({ kind: "open", id: this.id, file: this.file(), text: this.editor.text, settings: assignments(this.parameters.own, new Map()),
            start: assignments(this.start.own, new Map(known)).join(", "), project: this.start.own.size > 0,
            neighbours: this.handles.active && this.system && this.system.coordinates.length + this.system.velocities.length <= STATES_MOST, runs });
    }

    file() {
        const name = /^\s*model\s+([A-Za-z_][\w.-]*)/m.exec(this.editor.text);
        return (name ? name[1] : "model") + ".nh";
    }

    watch() {
        clearTimeout(this.patience);
        this.patience = setTimeout(() => { if (this.asked) { this.say("still reading the model"); part("stop").hidden = false; } }, 1500);
    }

    stop() {
        part("stop").hidden = true;
        this.asked = 0;
        this.library = null;
        this.say("stopped");
        this.stopped = true;
        this.player.growing = false;
        this.engine.replace();
    }

    // ---- answers of the worker ----

    async on_library(message) {
        this.library = message.library;
        root.ready = Math.round(performance.now());
        if (this.stopped) { this.stopped = false; return; }
        makeTrials(this);
        await this.fromLink();
        setTimeout(() => makeGallery(this.library.models, (model) => this.choose(model.name)), 0);
    }

    on_text(message) {
        if (!message.text) return;
        this.origin = { name: message.name, text: message.text };
        this.load({ text: message.text });
    }

    on_broken(message) {
        this.complain("The computation stopped:  " + message.text);
        this.stop();
    }

    answered(message) {
        if (message.id !== this.id) return false;
        this.asked = 0;
        clearTimeout(this.patience);
        if (this.waiting) this.later(0);
        return true;
    }

    on_failed(message) {
        if (!this.answered(message)) return;
        root.failed = message.error.text;
        const model = message.where === "model", whose = this.runs > 1 && message.which < 2 ? this.method(...(message.which ? ["other", "other-options"] : ["method", "options"])) || "the advised method" : "";
        this.say(model ? "the model has an error" : (whose || "the model") + " was not simulated");
        this.complain((whose ? whose + ": " : "") + message.error.text);
        if (model && message.error.line) this.editor.complain(message.error);
        part("stop").hidden = true;
    }

    on_opened(message) {
        if (!this.answered(message)) return;
        const system = message.system;
        this.editor.forgive();
        this.complain("");
        if (system.methods) this.opened(system);
        Object.assign(this.system, { q: system.q, v: system.v, energy: system.energy });
        showStart(this.start, [...this.system.coordinates, ...this.system.velocities], [...system.q, ...system.v]);
        this.handles.receive({ ...this.system, neighbours: system.neighbours });
        if (!system.error) return;
        root.failed = system.error.text;
        this.say("not simulated: the start");
        this.complain(system.error.text);
    }

    opened(system) {
        this.system = system;
        const counts = this.editor.text.replace(/#.*/g, "");
        showParameters(this.parameters, system.parameters, (name) => new RegExp("\\.\\.[^,:)\\]]*\\b" + name.replace(/\W/g, "\\$&") + "\\b").test(counts));
        part("parameters").hidden = system.parameters.length === 0;
        fillMethods(part("method"), system);
        fillMethods(part("other"), system);
        fillSections(part("section"), system.events);
        part("time").placeholder = system.span ? shortNumber(system.span) : "as advised";
        showFacts(part("facts").querySelector("dl"), system);
    }

    on_planned(message) {
        if (message.id !== this.id) return;
        if (message.which === 0) this.coming = [];
        this.coming[message.which] = new Trajectory(message.plan, this.system, this.system.scene);
    }

    on_rows(message) {
        if (message.id !== this.id || !this.coming || !this.coming[message.which]) return;
        const one = this.coming[message.which];
        one.add(message);
        if (message.which === SECTION) { if (one.progress.done) this.drawSection(one); return; }
        if (this.trajectories[message.which] !== one) this.replaceBy(one, message.which);
        else this.extend(one, message.which, one.count - message.count);
        this.advanced();
    }

    // The displayed simulation is replaced when the first states of the next one arrive.
    replaceBy(one, which) {
        this.trajectories.length = Math.min(this.trajectories.length, this.runs);
        this.trajectories[which] = one;
        const another = !this.playedModel || this.playedModel !== this.system.name;
        this.playedModel = this.system.name;
        this.stage(which, one);
        this.extend(one, which, 0);
        if (which === 0) this.player.first = one.columns[0][0];
        if (another || !this.moving) {
            this.moving = true;
            this.player.pace(one.plan.time);
            this.player.time = this.player.first;
            this.player.last = one.last;
            if (calmly.matches || (this.player.held && !another)) this.player.go(this.player.first);
            else this.player.play();
        }
    }

    // Velocities over their coordinates, except those that stay constant: often one of them defines the section.
    drawSection(run) {
        run.scattered = true;
        const length = (name) => { const [low, high] = extentOf(run.columns[run.names.indexOf(name)]); return high - low; };
        const positions = run.names.filter((name, c) => ["coordinate", "angle"].includes(run.kinds[c])), widest = Math.max(...positions.map(length));
        const drawn = run.count ? positions.filter((name) => velocityOf(run, name) && length(name) >= 1e-9 * widest).slice(0, 3) : [];
        this.plots.sections = drawn.map((x) => ({ run, x, y: velocityOf(run, x), title: "section at " + part("section").value + ", " + run.count + " states" }));
        if (!run.count) this.complain("section: no event " + part("section").value + " occurred by this time");
        this.redraw();
    }

    stage(which, one) {
        const place = part("stage");
        while (place.children.length > this.runs || (place.children.length && place.firstChild.tagName === "P")) place.lastChild.remove();
        this.views.length = Math.min(this.views.length, place.children.length);
        if (!one.scene) {
            place.textContent = "";
            this.views = [];
            element("p", { textContent: "This model has no drawing. Statements such as “draw trace (x, y)” add one." }, place);
            return;
        }
        if (!this.views[which]) {
            const figure = element("figure", {}, place);
            this.views[which] = new SceneView(element("canvas", {}, figure), one.scene, { dark: () => darkly.matches, above: which ? null : (context, dark) => this.handles.draw(context, dark) });
            if (which === 0) this.handles.attach(this.views[0]);
            this.views[which].caption = element("figcaption", {}, figure);
        } else this.views[which].setScene(one.scene);
        this.caption(which, one);
        if (this.views[which].model !== this.system.name) this.views[which].camera.reset();
        this.views[which].model = this.system.name;
    }

    caption(which, one) {
        const place = this.views[which] && this.views[which].caption, error = one.progress && one.progress.error;
        if (!place) return;
        place.textContent = "";
        if (this.runs > 1) element("b", {}, place).style.background = curveColours[which];
        place.append(one.method);
        if (one.progress && one.progress.done && (error || one.progress.ended)) element("em", { textContent: " ended at t = " + shortNumber(one.last) + (error ? "" : ": " + one.progress.ended) }, place);
    }

    extend(one, which, from) {
        const view = this.views[which];
        if (!view) return;
        for (let i = from; i < one.count; i++) view.addFrame(one.columns[0][i], one.frames[i]);
        one.fitted = one.fitted || 0;
        if (one.count > 1.5 * one.fitted || one.progress.done) {
            if (!this.handles.held) view.fit();
            one.fitted = one.count;
        }
    }

    advanced() {
        const known = this.trajectories.filter(Boolean), done = known.length === this.runs && known.every((one) => one.progress.done);
        this.player.growing = !done;
        this.player.last = Math.max(...known.map((one) => one.last));
        const now = performance.now();
        if (done || !this.drawn || now - this.drawn > 500) {
            this.drawn = done ? 0 : now;
            this.plots.update({ conserves: this.system.keeps_energy }, known);
            showResults(part("results").tBodies[0], known, this.system);
            this.player.go(this.player.time);
        }
        part("stop").hidden = done;
        if (!done) { this.say("computing, t = " + shortNumber(this.player.last)); return; }
        this.finish(known);
    }

    finish(known) {
        const failed = known.filter((one) => one.progress.error), named = (one) => (known.length > 1 ? one.method + ": " : "");
        known.forEach((one, which) => this.caption(which, one));
        this.remark();
        this.say(failed.length ? failed.map((one) => named(one) + "ended at t = " + shortNumber(one.last)).join("; ") : "simulated to t = " + shortNumber(this.player.last));
        if (failed.length) { root.failed = failed[0].progress.error.text; this.complain(failed.map((one) => named(one) + one.progress.error.text).join("\n")); }
        this.judging = setTimeout(() => known.forEach((one, which) => { if (!one.progress.error) this.engine.send({ kind: "estimate", id: this.id, which }); }), 700);
        if (!this.player.playing && !this.player.held) this.player.play();
        root.done = Number(root.done || 0) + 1;
        this.finished = this.id;
    }

    remark() {
        const known = this.trajectories.filter(Boolean), list = part("remarks"), of = (one) => [...restOf(one.plan), ...(one.progress.remarks || [])].map((text) => (known.length > 1 ? one.method + ": " : "") + text);
        list.textContent = "";
        for (const text of new Set([...this.system.remarks, ...known.flatMap(of)])) element("li", { textContent: text }, list);
    }

    on_estimated(message) {
        const one = this.trajectories[message.which];
        if (message.id !== this.id || !one) return;
        one.progress.remarks = message.remarks;
        this.remark();
        root.estimated = message.id;
    }

    on_written(message) {
        if (message.error) this.complain(message.error.text);
        else download(this.file().replace(/nh$/, "csv"), "text/csv", message.bytes);
    }

    // ---- showing ----

    show(t) {
        this.trajectories.forEach((one, which) => { if (one && this.views[which] && one.count) this.views[which].draw(Math.min(t, one.last)); });
        this.plots.show(t);
        if (!root.motion && this.trajectories[0] && t > this.player.first) root.motion = Math.round(performance.now());
    }

    redraw() {
        const known = this.trajectories.filter(Boolean);
        if (this.system && known.length && known[0].count) this.plots.update({ conserves: this.system.keeps_energy }, known);
        this.player.go(this.player.time);
    }

    say(text) {
        part("status").textContent = text;
    }

    complain(text) {
        const [first, ...rest] = text.split("\n"), place = part("message");
        place.textContent = "";
        element("div", { textContent: first }, place);
        if (rest.length) element("pre", { textContent: rest.join("\n") }, place);
        place.hidden = !text;
    }

    // ---- models and links ----

    load(content) {
        if (this.library.models.some((one) => one.name === content.model)) { this.engine.send({ kind: "text", name: content.model }); return; }
        this.parameters.clear();
        this.start.clear();
        for (const id of ["method", "other", "options", "other-options", "amount", "time", "control"]) part(id).value = "";
        part("compare").checked = false;
        part("amount").hidden = true;
        this.editor.text = content.text || "";
        this.restore(content);
        root.failed = "";
        this.later(0);
    }

    restore(content) {
        for (const [name, value] of Object.entries(content.settings || {})) this.parameters.own.set(name, value);
        for (const [name, value] of Object.entries(content.start || {})) this.start.own.set(name, value);
        for (const id of ["control", "amount", "time", "options"]) if (id in content) part(id).value = content[id];
        if ("otherOptions" in content) part("other-options").value = content.otherOptions;
        part("compare").checked = content.compare === true;
        part("amount").hidden = part("control").value === "";
        for (const [id, key] of [["method", "method"], ["other", "other"]]) wishMethod(part(id), content[key] || "");
    }

    content() {
        const value = (id) => part(id).value;
        return { text: this.editor.text, settings: Object.fromEntries(this.parameters.own), start: Object.fromEntries(this.start.own), method: value("method"), options: value("options"),
            other: value("other"), otherOptions: value("other-options"), control: value("control"), amount: value("amount"), time: value("time"), compare: part("compare").checked };
    }

    // From the gallery: the address of what was there stays in the history, so Back returns to it.
    async choose(name) {
        const before = this.content(), changed = !this.isOrigin(before);
        await this.keepNow();
        history.pushState(null, "", "#model=" + encodeURIComponent(name));
        this.load({ model: name });
        this.notice(changed ? "Your changes are one step back:" : "", "Undo", () => history.back());
    }

    // ---- work is not lost: it is in the address and in the storage of the browser ----

    isOrigin(content) {
        const plain = { ...content, text: "", settings: 0, start: 0, compare: 0 };
        return Boolean(this.origin) && content.text === this.origin.text && !content.compare && !Object.keys(content.settings).length && !Object.keys(content.start).length && Object.values(plain).every((x) => !x);
    }

    keep() {
        clearTimeout(this.keeping);
        this.keeping = setTimeout(() => this.keepNow(), 400);
    }

    async keepNow() {
        clearTimeout(this.keeping);
        const content = this.content(), same = this.isOrigin(content), link = same ? "model=" + encodeURIComponent(this.origin.name) : await linkOf(content);
        try {
            localStorage.setItem(KEPT, link);
        } catch (error) {
            root.unkept = error.name; // no storage, or none for pages from disk: the address remains
        }
        if ("#" + link !== location.hash) history.replaceState(null, "", "#" + link);
    }

    kept() {
        try {
            return localStorage.getItem(KEPT) || "";
        } catch (error) {
            return "";
        }
    }

    async fromLink() {
        clearTimeout(this.keeping);
        const asked = location.hash.slice(1), content = await contentOf(asked || this.kept());
        const known = content && (content.text !== undefined || this.library.models.some((one) => one.name === content.model));
        this.notice(!asked || known ? "" : content && content.model !== undefined ? "There is no model “" + content.model.slice(0, 60) + "”; the gallery lists those that there are." : "The link is damaged or incomplete, so it cannot be opened.");
        if (known) this.load(content);
        else if (asked && this.editor.text && this.playedModel) this.keep();
        else this.load({ model: FIRST_MODEL });
    }

    // A line above everything else, which stays until it is closed.
    notice(text, label, action) {
        const place = part("notice");
        place.textContent = "";
        place.hidden = !text;
        if (!text) return;
        element("span", { textContent: text }, place);
        if (action) element("button", { type: "button", textContent: label, onclick: () => { this.notice(""); action(); } }, place);
        element("button", { type: "button", textContent: "Close", onclick: () => this.notice("") }, place);
    }
}
