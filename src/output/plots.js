// Plots of one or more runs that follow a time: panels from the columns of the runs, a cursor, values in the legend, and
// clicks that set the time. Pages and the playground use them alike.
//
// A run has `method`, `names`, `kinds` and `columns` (the first is the time), `errors` [{name, values}], and `part` if its
// rows are only those that a plot over time shows. A fact sheet has `conserves`.
"use strict";

const FLAT = 20, SIZES_MOST = 4, CURVES_MOST = 14, STILL = 1e-7; // as in sheet.c, which has room for fewer sizes
const dashes = [undefined, [8, 4], [2, 3], [12, 3, 2, 3], [5, 2], [1, 2], [14, 4]];

function extentOf(values) {
    let low = Infinity, high = -Infinity;
    for (const v of values) {
        if (v === null || !Number.isFinite(v)) continue;
        if (v < low) low = v;
        if (v > high) high = v;
    }
    return [low, high];
}

// Lists of curves that can share an axis: none of them would be a flat line on it.
function groupsBySize(curves) {
    const groups = [];
    for (const curve of curves) {
        const own = extentOf(curve.ys), fits = (group) => {
            const all = [...group.map((one) => extentOf(one.ys)), own], lengths = all.map(([a, b]) => (b - a > STILL * Math.max(Math.abs(a), Math.abs(b)) ? b - a : Infinity));
            return !(Math.max(...all.map(([, b]) => b)) - Math.min(...all.map(([a]) => a)) > FLAT * Math.min(...lengths));
        };
        const group = groups.length === SIZES_MOST ? groups.find(fits) || groups[SIZES_MOST - 1] : groups.find(fits);
        if (group) group.push(curve);
        else groups.push([curve]);
    }
    return groups;
}

const finiteOnly = (values) => Array.from(values, (v) => (Number.isFinite(v) ? v : null));

function valuesOf(run, c) {
    return run.kinds[c] === "angle" ? Array.from(run.columns[c], wrapped) : finiteOnly(run.columns[c]);
}

// With several runs, a colour is a run and a dash a column; otherwise a colour is a column.
function styleOf(runs, r, i) {
    return runs.length > 1 ? { colour: curveColours[r], dash: dashes[i % 7] } : { colour: curveColours[i % 7], dash: dashes[Math.floor(i / 7)] };
}

function nameIn(runs, run, name) {
    return runs.length > 1 ? name + ", " + run.method : name;
}

const isMode = (name) => name.endsWith(".mode"); // of a contact or a grip: 1 holds, 0 is open or slips, -1 is without load

function panelsOver(runs, title, kind, wanted = () => true) {
    const names = runs[0].names.filter((name, c) => runs[0].kinds[c] === kind && wanted(name)), shown = names.slice(0, CURVES_MOST);
    const curves = shown.map((name, i) => runs.map((run, r) => {
        const c = run.names.indexOf(name);
        return { name: nameIn(runs, run, printed(name)), xs: run.columns[0], ys: valuesOf(run, c), turns: kind === "angle", run: r, column: i };
    }));
    const drawn = curves.map((both) => ({ both, ys: both.flatMap((one) => one.ys) })).filter((one) => one.ys.some((y) => y !== null));
    const more = names.length > shown.length ? " (" + shown.length + " of " + names.length + ")" : "";
    return groupsBySize(drawn).map((group) => ({ title: title + more, x: "t", y: "", xlog: false, ylog: false, still: STILL,
        curves: group.flatMap(({ both }, i) => both.map((one) => ({ ...one, ...styleOf(runs, one.run, i) }))) }));
}

function panelOfErrors(facts, runs) {
    const curves = runs.flatMap((run, r) => run.errors.map((one, i) => ({ ...one, ...styleOf(runs, r, i), name: nameIn(runs, run, one.name), xs: run.columns[0],
        ys: Array.from(one.values, (v) => (v > 0 && Number.isFinite(v) ? v : null)), greatest: true })));
    const drawn = curves.filter((c) => c.ys.some((y) => y !== null));
    return drawn.length ? [{ title: facts.conserves ? "errors" : "constraint errors", x: "t", y: "", xlog: false, ylog: true, curves: drawn }] : [];
}

// One column over another, by their names. States are only joined if none was left out between them.
function panelOfPath(runs, title, x, y, equal) {
    const curves = runs.flatMap((run, r) => {
        const [a, b] = [x, y].map((name) => run.names.indexOf(name));
        if (a < 0 || b < 0) return [];
        return [{ name: nameIn(runs, run, title), xs: valuesOf(run, a), ys: valuesOf(run, b), times: run.columns[0], colour: curveColours[r], cloud: Boolean(run.part || run.scattered),
            turns: { x: run.kinds[a] === "angle", y: run.kinds[b] === "angle" } }];
    });
    return curves.length ? [{ title, x: printed(x), y: printed(y), equal, path: true, curves }] : [];
}

function velocityOf(run, name) {
    const c = run.names.indexOf(name + "'");
    return c >= 0 && run.kinds[c] === "velocity" ? name + "'" : null;
}

// Where things go: the first two lengths; without them, a coordinate and its velocity.
function panelOfMotion(runs) {
    const named = (kind) => runs[0].names.filter((name, c) => runs[0].kinds[c] === kind), [a, b] = named("coordinate").filter((name) => !/\.\d$/.test(name)); // no numbers of rotations
    if (b !== undefined) return panelOfPath(runs, "path", a, b, true);
    const one = [...named("coordinate"), ...named("angle")].find((name) => velocityOf(runs[0], name));
    return one ? panelOfPath(runs, "phase portrait", one, velocityOf(runs[0], one), false) : [];
}

// First what a person wants to see; errors last. `chosen` are pairs of names, `sections` runs of states at events.
function panelsOf(facts, runs, chosen, sections) {
    const over = (title, kind, wanted) => panelsOver(runs, title, kind, wanted);
    return [...panelOfMotion(runs), ...chosen.flatMap(([x, y]) => panelOfPath(runs, printed(y) + " over " + printed(x), x, y, false)),
        ...(sections || []).flatMap((one) => panelOfPath([one.run], one.title, one.x, one.y, false)),
        ...over("observables", "observable", (name) => !isMode(name)), ...over("modes: 1 holds, 0 open or slipping, −1 no load", "observable", isMode), ...over("coordinates", "coordinate"), ...over("angles", "angle"), ...over("velocities", "velocity"),
        ...(facts.conserves ? [] : over("energy", "energy")), ...panelOfErrors(facts, runs)];
}

class Plots {
    // `seek` is called with the time that a click in a plot asks for; `columns` says how many plots are side by side.
    constructor(place, seek, columns) {
        Object.assign(this, { place, seek, columns, list: [], panels: [], chosen: [], sections: [], time: 0, legendAt: 0 });
        this.bar = element("div", { className: "controls chooser" }, place);
        this.grid = element("div", { className: "grid" }, place);
    }

    width() {
        const width = this.grid.clientWidth || 400, columns = this.columns(width);
        return Math.max(240, Math.floor((width - 12 * (columns - 1)) / columns) - 4);
    }

    // Plots with the same curves get new data; others are created again.
    update(facts, runs) {
        Object.assign(this, { facts, runs, panels: panelsOf(facts, runs, this.chosen, this.sections) });
        this.fillChooser();
        const key = (p) => JSON.stringify([p.title, p.x, p.y, p.ylog, p.curves.map((c) => [c.name, c.colour, c.dash, c.cloud])]);
        const keys = JSON.stringify([this.width(), this.panels.map(key)]);
        if (keys !== this.keys) this.rebuild();
        else this.panels.forEach((panel, i) => { this.list[i].panel = panel; this.list[i].plot.setData(dataOf(panel)); });
        this.keys = keys;
    }

    rebuild() {
        const scrolled = window.scrollY;
        this.clear();
        this.list = this.panels.map((panel) => this.make(panel));
        document.documentElement.dataset.plots = this.list.length;
        if (window.scrollY !== scrolled) window.scrollTo(0, scrolled);
    }

    clear() {
        for (const one of this.list) one.plot.destroy();
        this.grid.textContent = "";
        Object.assign(this, { list: [], keys: "" });
    }

    make(panel) {
        const box = element("div", { className: "plot" }, this.grid), one = { panel };
        one.plot = (panel.path ? drawPaths : drawFunctions)(panel, panel.curves, box, this.width(), () => this.mark(one));
        one.marks = panel.path ? panel.curves.map((c) => element("div", { className: "spot" }, one.plot.over)) : [element("div", { className: "cursor" }, one.plot.over)];
        one.marks.forEach((spot, r) => { if (panel.path) spot.style.background = panel.curves[r].colour; });
        this.listen(one);
        return one;
    }

    // A click, which is no selection, sets the time.
    listen(one) {
        const over = one.plot.over;
        let from = null;
        over.addEventListener("pointerdown", (e) => { from = [e.clientX, e.clientY]; });
        over.addEventListener("click", (e) => {
            if (!from || Math.hypot(e.clientX - from[0], e.clientY - from[1]) > 4) return;
            const box = over.getBoundingClientRect(), at = [e.clientX - box.left, e.clientY - box.top];
            this.seek(one.panel.path ? nearestTime(one, at) : one.plot.posToVal(at[0], "x"));
        });
        over.addEventListener("mouseleave", () => this.readLegend(one));
    }

    mark(one) {
        const { plot, panel, marks } = one;
        if (!marks) return;
        if (!panel.path) { marks[0].style.left = plot.valToPos(this.time, "x") + "px"; return; }
        panel.curves.forEach((curve, r) => {
            const at = curve.cloud ? null : stateAt(curve, this.time);
            marks[r].hidden = !at;
            if (!at) return;
            marks[r].style.left = plot.valToPos(at[0], "x") + "px";
            marks[r].style.top = plot.valToPos(at[1], "y") + "px";
        });
    }

    // The values at the displayed time, unless the pointer shows others.
    readLegend(one) {
        if (one.panel.path || one.plot.cursor.left >= 0) return;
        one.plot.setLegend({ idx: nearestIndex(one.plot.data[0], this.time) });
    }

    show(t) {
        this.time = t;
        for (const one of this.list) this.mark(one);
        clearTimeout(this.legendLater);
        const read = () => { this.legendAt = performance.now(); this.list.forEach((one) => this.readLegend(one)); };
        if (performance.now() - this.legendAt > 150) read();
        else this.legendLater = setTimeout(read, 150);
    }

    resize() {
        if (this.runs) this.update(this.facts, this.runs);
    }

    redraw() {
        for (const one of this.list) one.plot.redraw();
    }

    // Any two columns over each other, on demand.
    fillChooser() {
        const names = JSON.stringify(this.runs[0].names);
        if (names === this.offered) return;
        this.offered = names;
        this.chosen = this.chosen.filter((pair) => pair.every((name) => this.runs[0].names.includes(name)));
        this.bar.textContent = "";
        element("span", { textContent: "phase portrait" }, this.bar);
        const select = (label, chosen) => {
            const box = element("select", { ariaLabel: label }, this.bar);
            this.runs[0].names.forEach((name) => element("option", { value: name, textContent: printed(name), selected: name === chosen }, box));
            return box;
        };
        const first = this.runs[0].names[Math.min(1, this.runs[0].names.length - 1)], x = select("across", first), y = select("up", velocityOf(this.runs[0], first) || first);
        const draw = element("button", { type: "button", textContent: "draw" }, this.bar), clear = element("button", { type: "button", textContent: "remove", hidden: !this.chosen.length }, this.bar);
        const change = () => { clear.hidden = !this.chosen.length; this.update(this.facts, this.runs); this.show(this.time); };
        draw.onclick = () => {
            if (!this.chosen.some(([a, b]) => a === x.value && b === y.value)) this.chosen.push([x.value, y.value]);
            change();
        };
        clear.onclick = () => { this.chosen.pop(); change(); };
    }
}

function nearestIndex(sorted, t) {
    let low = 0, high = sorted.length - 1;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (sorted[middle] <= t) low = middle;
        else high = middle;
    }
    return t - sorted[low] < sorted[high] - t ? low : high;
}

// Where a path is at a time: between two states, except across a wrap.
function stateAt(curve, t) {
    const times = curve.times, near = nearestIndex(times, Math.min(t, times[times.length - 1])), low = times[near] <= t || near === 0 ? near : near - 1, high = Math.min(low + 1, times.length - 1);
    const part = times[high] > times[low] ? Math.max(0, Math.min(1, (t - times[low]) / (times[high] - times[low]))) : 0;
    const at = ["x", "y"].map((key) => {
        const list = curve[key + "s"], a = list[low], b = list[high];
        if (a === null || b === null || (curve.turns && curve.turns[key] && Math.abs(b - a) > Math.PI)) return list[near];
        return a + part * (b - a);
    });
    return at.includes(null) ? null : at;
}

// The time at which a path was nearest to a point of its plot.
function nearestTime(one, at) {
    let best = Infinity, time = 0;
    for (const curve of one.panel.curves)
        for (let i = 0; i < curve.xs.length; i++) {
            if (curve.xs[i] === null || curve.ys[i] === null) continue;
            const gap = Math.hypot(one.plot.valToPos(curve.xs[i], "x") - at[0], one.plot.valToPos(curve.ys[i], "y") - at[1]);
            if (gap < best) [best, time] = [gap, curve.times[i]];
        }
    return time;
}
