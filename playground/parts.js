// Smaller parts of the page: lists of methods, facts, results, the gallery, links and files.
"use strict";

// A method that is requested before the methods that apply to the model are known.
function wishMethod(select, name) {
    if (![...select.options].some((one) => one.value === name)) element("option", { value: name, textContent: name }, select);
    select.value = name;
}

function fillMethods(select, system) {
    const chosen = select.value;
    select.textContent = "";
    element("option", { value: "", textContent: "automatic" }, select);
    for (const one of system.methods)
        element("option", { value: one.name, textContent: one.name, title: one.applies ? one.summary : one.reason, disabled: !one.applies }, select);
    select.value = system.methods.some((one) => one.name === chosen && one.applies) ? chosen : "";
}

// States can be recorded at the events of a model.
function fillSections(select, events) {
    const chosen = select.value;
    select.textContent = "";
    element("option", { value: "", textContent: "no event" }, select);
    for (const name of events) element("option", { value: name, textContent: name }, select);
    select.value = events.includes(chosen) ? chosen : "";
    part("at-events").hidden = !events.length;
}

function showFacts(list, system) {
    const add = (term, text) => { if (text) { element("dt", { textContent: term }, list); element("dd", { textContent: text }, list); } };
    const typeset = (texts) => texts.map((text) => text.replace(/[A-Za-z_]\w*(\.\w+)*'*/g, printed));
    list.textContent = "";
    add("coordinates", typeset(system.coordinates).join(", "));
    add("constraints", typeset(system.constraints).join(", "));
    add("on positions", system.positions ? String(system.positions) : "");
    add("mass matrix", system.mass);
    add("energy", system.keeps_energy ? "conserved" : "changes");
    add("reversible", system.reversible ? "yes" : "not known to be");
    add("conserved", typeset(system.integrals).join(", "));
    add("surfaces", typeset(system.surfaces).map((text) => text + " = constant").join(", "));
    add("events", typeset(system.events).join(", "));
    add("inputs", typeset(system.inputs).join(", "));
    if (system.advice) add("advice", system.advice.method + ": " + system.advice.reason);
    if (system.fast) add("faster", system.fast.method + ": " + system.fast.reason);
}

function showResults(body, runs, system) {
    body.textContent = "";
    const row = (cells, kind) => { const line = element("tr", {}, body); for (const text of cells) element(kind, { textContent: text }, line); };
    row(["method", "steps", system.keeps_energy ? "energy error" : "energy change", "constraint error", "µs a step"], "th");
    for (const one of runs) {
        const p = one.progress, steps = p.own_steps || p.steps, tail = one.plan.tolerance ? ", tolerance " + shortNumber(one.plan.tolerance) : ", step " + shortNumber(one.plan.step);
        row([one.method + (/tolerance/.test(one.method) ? "" : tail), String(steps), (p.verdict && p.verdict !== "round-off" ? p.verdict + ", " : p.verdict ? "round-off, " : "") + shortNumber(p.energy_error), system.constraints.length ? shortNumber(p.constraint_max) : "none",
            steps ? ((p.seconds / steps) * 1e6).toPrecision(3) : "-"], "td");
    }
}

// The gallery in groups; models that no list names come last.
const GROUPS = {
    "Things that roll": ["rolling-coin", "rattleback", "rolling-disk", "rolling-coin-rotation", "rattleback-rotation", "chaplygin-ball", "chaplygin-sphere", "routh-sphere", "ball-in-bowl", "ball-in-cone", "turntable-ball", "spherical-robot", "disk-chain"],
    "Skates and sleighs": ["chaplygin-sleigh", "driven-sleigh", "knife-edge", "inclined-skate", "dry-skate"],
    "Vehicles": ["benchmark-bicycle", "bicycle", "snakeboard", "roller-racer", "tractor-trailers", "two-wheeled-robot"],
    "Slipping, hopping, rocking": ["hopping-hoop", "sphere-on-sphere", "bowling-ball", "billiard-ball", "slipping-sleigh", "braking-robot", "falling-rod", "rocking-block"],
    "Gearboxes that vary": ["pendulum-cvt", "asymmetric-gearbox", "harmonic-cvt", "quartic-cvt", "three-shaft-cvt", "one-spring-cvt", "reduced-cvt"],
    "Linkages and chains": ["closed-chain", "fourbar-skate"],
    "Tops and rigid bodies": ["heavy-top", "tippe-top", "suslov", "veselova"],
};

function groupOf(model) {
    return Object.keys(GROUPS).find((group) => GROUPS[group].includes(model.name)) || "From papers";
}

// Moving pictures of the models that can be seen in the gallery, computed by a second worker, one model after another.
class Thumbnails {
    constructor() {
        Object.assign(this, { waiting: [], known: new Map(), id: 0 });
        this.seen = new IntersectionObserver((entries) => { for (const one of entries) this.see(one.target, one.isIntersecting); });
        this.tick = this.tick.bind(this);
    }

    watch(canvas, name) {
        canvas.dataset.model = name;
        this.seen.observe(canvas);
    }

    see(canvas, visible) {
        const name = canvas.dataset.model, one = this.known.get(name);
        if (one) { one.visible = visible; return; }
        if (!visible || this.failed) return;
        this.known.set(name, { canvas, visible, times: [] });
        this.waiting.push(name);
        this.next();
    }

    open() {
        this.isOpen = true;
        if (!this.engine) this.engine = new Engine((message) => { if (this["on_" + message.kind]) this["on_" + message.kind](message); });
        requestAnimationFrame(this.tick);
    }

    // What is computed is kept, but not the worker.
    close() {
        this.isOpen = false;
        if (!this.engine) return;
        this.engine.worker.terminate();
        this.engine = this.ready = null;
        if (this.busy) { this.known.delete(this.busy); this.busy = null; }
        for (const name of this.waiting.splice(0)) this.known.delete(name);
    }

    next() {
        if (!this.ready || this.busy || !this.waiting.length) return;
        this.busy = this.waiting.shift();
        this.engine.send({ kind: "text", name: this.busy });
    }

    on_library() {
        this.ready = true;
        this.next();
    }

    on_text(message) {
        this.engine.send({ kind: "open", id: ++this.id, file: message.name + ".nh", text: message.text, settings: [], start: "", project: false, runs: [{ which: 0, method: "", step: 0, tolerance: 0, time: 0 }] });
    }

    on_failed() {
        this.busy = null;
        this.next();
    }

    on_opened(message) {
        const one = this.known.get(this.busy);
        if (message.id !== this.id) return;
        if (!one || !message.system.scene || message.system.error) { this.on_failed(); return; }
        one.view = new SceneView(one.canvas, message.system.scene, { dark: () => darkly.matches, still: true, width: 230, height: 130, ratio: 1 });
        one.columns = null;
    }

    on_planned(message) {
        const one = this.known.get(this.busy);
        if (message.id === this.id && one) Object.assign(one, { columns: message.plan.columns.length + 1, time: message.plan.time });
    }

    // Enough states for a small picture.
    on_rows(message) {
        const one = this.known.get(this.busy);
        if (message.id !== this.id || !one || !one.view) return;
        for (let r = 0; r < message.count; r++) {
            const at = r * message.width, t = message.rows[at];
            if (one.times.length && t < one.times[one.times.length - 1] + one.time / 600) continue;
            one.times.push(t);
            one.view.addFrame(t, message.rows.slice(at + one.columns, at + message.width));
        }
        if (!message.progress.done) return;
        one.view.fit();
        one.ready = one.times.length > 0;
        if (one.ready) one.view.draw(one.times[Math.floor(one.times.length / 3)]);
        document.documentElement.dataset.thumbnails = Number(document.documentElement.dataset.thumbnails || 0) + 1;
        this.on_failed();
    }

    // A dozen pictures a second, each motion in eight seconds.
    tick(now) {
        if (!this.isOpen) return;
        requestAnimationFrame(this.tick);
        if (calmly.matches || now - (this.drawn || 0) < 80) return;
        this.drawn = now;
        for (const one of this.known.values())
            if (one.ready && one.visible) one.view.draw(one.times[0] + (((now / 8000) % 1) * (one.times[one.times.length - 1] - one.times[0])));
    }
}

function makeGallery(models, choose) {
    const dialog = part("gallery"), place = dialog.querySelector("div"), search = dialog.querySelector("input"), thumbnails = new Thumbnails(), groups = [...Object.keys(GROUPS), "From papers"];
    place.textContent = "";
    const sections = groups.map((title) => {
        const section = element("section", {}, place), order = GROUPS[title] || [], of = models.filter((model) => groupOf(model) === title).sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
        element("h2", { textContent: title }, section);
        const list = element("div", {}, section), cards = of.map((model) => {
            const card = element("button", { className: "card", type: "button" }, list), picture = element("canvas", { width: 230, height: 130, ariaHidden: "true" }, card);
            thumbnails.watch(picture, model.name);
            element("b", { textContent: model.name }, card);
            element("span", { textContent: model.summary.replace(/^[^:]*: /, "") }, card);
            card.onclick = () => { dialog.close(); choose(model); };
            return { card, words: (model.name + " " + model.summary).toLowerCase() };
        });
        section.hidden = !of.length;
        return { section, cards };
    });
    search.oninput = () => {
        for (const { section, cards } of sections) {
            for (const { card, words } of cards) card.hidden = !words.includes(search.value.trim().toLowerCase());
            section.hidden = cards.every(({ card }) => card.hidden);
        }
    };
    dialog.addEventListener("close", () => thumbnails.close());
    part("gallery-open").onclick = () => { search.value = ""; search.oninput(); dialog.showModal(); thumbnails.open(); };
}

// What a reader may try with any model: each is a change of the settings that is visible, and can be taken back.
function makeTrials(playground) {
    const place = part("trials").querySelector("span"), velocities = () => playground.system.velocities.map((name, i) => [name, playground.system.v[i]]).filter(([, v]) => Number.isFinite(v) && v !== 0);
    const trial = (text, act) => element("button", { type: "button", textContent: text, onclick: () => { if (playground.system) { act(); playground.chosen(); } } }, place);
    place.textContent = "";
    element("span", { textContent: "Try this" }, place);
    trial("the other way round", () => { for (const [name, v] of velocities()) playground.start.set(name, -v); });
    trial("a nudge", () => { const [first] = velocities(); if (first) playground.start.set(first[0], Number((1.1 * first[1]).toPrecision(6))); });
    trial("tolerance 1e-2", () => { part("control").value = "tolerance"; part("amount").value = "1e-2"; });
    trial("compare with rk4", () => { part("control").value = ""; part("compare").checked = true; wishMethod(part("other"), "rk4"); });
}

function download(name, type, content) {
    const link = document.createElement("a"), address = URL.createObjectURL(new Blob([content], { type }));
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// The mechanism at the displayed time, and the plots.
function pictureOf(playground) {
    const pieces = playground.views.map((view) => svgOfScene(view, 480, 300));
    for (const panel of playground.plots.panels) pieces.push(svgOfPanel(panel, 480, 300, "#222"));
    return svgSheet(pieces, 480, 300, 2, "#fff");
}

function listenToExports(playground) {
    const done = () => { part("export").open = false; };
    part("export-nh").onclick = () => { download(playground.file(), "text/plain", playground.editor.text); done(); };
    part("export-csv").onclick = () => { if (playground.trajectories.length) playground.engine.send({ kind: "write", id: playground.id, which: 0, ending: "csv" }); done(); };
    part("export-svg").onclick = () => { download(playground.file().replace(/nh$/, "svg"), "image/svg+xml", pictureOf(playground)); done(); };
    part("share").onclick = async () => {
        const link = part("link"), field = link.querySelector("input");
        field.value = location.href.replace(/#.*/, "") + "#" + await linkOf(playground.content());
        link.hidden = false;
        field.select();
        if (navigator.clipboard) navigator.clipboard.writeText(field.value).then(() => playground.say("link copied"), () => {});
    };
    part("link").querySelector("button").onclick = () => { part("link").hidden = true; };
}

const playground = new Playground();
listenToExports(playground);
