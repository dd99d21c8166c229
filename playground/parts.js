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
    list.textContent = "";
    add("coordinates", system.coordinates.join(", "));
    add("constraints", system.constraints.join(", "));
    add("on positions", system.positions ? String(system.positions) : "");
    add("mass matrix", system.mass);
    add("energy", system.keeps_energy ? "conserved" : "changes");
    add("reversible", system.reversible ? "yes" : "not known to be");
    add("conserved", system.integrals.join(", "));
    add("surfaces", system.surfaces.map((text) => text + " = constant").join(", "));
    add("events", system.events.join(", "));
    add("inputs", system.inputs.join(", "));
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

function makeGallery(models, choose) {
    const dialog = part("gallery"), place = dialog.querySelector("div"), search = dialog.querySelector("input");
    place.textContent = "";
    const cards = models.map((model) => {
        const card = element("button", { className: "card", type: "button" }, place);
        element("b", { textContent: model.name }, card);
        element("span", { textContent: model.summary.replace(/^[^:]*: /, "") }, card);
        card.onclick = () => { dialog.close(); choose(model); };
        return { card, words: (model.name + " " + model.summary).toLowerCase() };
    });
    search.oninput = () => { for (const { card, words } of cards) card.hidden = !words.includes(search.value.trim().toLowerCase()); };
    part("gallery-open").onclick = () => { search.value = ""; search.oninput(); dialog.showModal(); };
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
