// Plots of one or two simulations that grow while these run.
"use strict";

const PLOT_POINTS = 1500;

// Every n-th value; for errors, the largest since the previous one. Errors that are zero are gaps on a logarithmic axis.
function thinned(values, stride) {
    const out = [];
    for (let i = 0; i < values.length; i += stride) out.push(Number.isFinite(values[i]) ? values[i] : null);
    return out;
}

function peaks(values, stride) {
    const out = [];
    for (let i = 0; i < values.length; i += stride) {
        let most = 0;
        for (let k = Math.max(0, i - stride + 1); k <= i; k++) most = Math.max(most, Math.abs(values[k]));
        out.push(most > 0 && Number.isFinite(most) ? most : null);
    }
    return out;
}

// Panels in the form of page.js. A run has `names`, `kinds` and `columns`; the last column is the largest residual.
function panelsOf(system, runs) {
    const panels = [], several = runs.length > 1;
    const grids = runs.map((run) => Math.max(1, Math.ceil(run.columns[0].length / PLOT_POINTS)));
    const label = (name, run) => (several ? name + ", " + run.method : name);
    const over = (title, wanted, values, ylog) => {
        const curves = [];
        runs.forEach((run, r) => {
            const times = thinned(run.columns[0], grids[r]);
            run.kinds.forEach((kind, c) => {
                if (kind !== wanted) return;
                const i = curves.filter((one) => one.run === r).length;
                if (i < 12) curves.push({ run: r, name: r ? label(printed(run.names[c]), run) : printed(run.names[c]), xs: times, ys: values(run, c, grids[r]), colour: curveColours[i % 7], dash: r ? [7, 5] : i > 6 ? [2, 4] : undefined });
            });
        });
        const drawn = curves.filter((c) => c.ys.some((y) => y !== null));
        if (drawn.length) panels.push({ title, x: "t", y: "", xlog: false, ylog: Boolean(ylog), curves: drawn });
    };
    panels.push(...errorPanels(system, runs, grids, label));
    if (!system.keeps_energy) over("energy", "energy", (run, c, stride) => thinned(run.columns[c], stride));
    panels.push(...pathPanels(runs, grids, label));
    over("coordinates", "coordinate", (run, c, stride) => thinned(run.columns[c], stride));
    over("angles", "angle", (run, c, stride) => wrapped(thinned(run.columns[c], stride)));
    over("velocities", "velocity", (run, c, stride) => thinned(run.columns[c], stride));
    over("observables", "observable", (run, c, stride) => thinned(run.columns[c], stride));
    return panels;
}

function errorPanels(system, runs, grids, label) {
    const curves = [];
    runs.forEach((run, r) => {
        const xs = thinned(run.columns[0], grids[r]), energy = run.columns[run.kinds.indexOf("energy")], dash = r ? [7, 5] : undefined;
        const add = (name, values, colour) => curves.push({ name: label(name, run), xs, ys: peaks(values, grids[r]), colour, dash });
        if (system.keeps_energy && energy.length) add("|energy − start|", energy.map((e) => e - energy[0]), curveColours[0]);
        if (system.constraints.length) add("largest |constraint|", run.columns[run.columns.length - 1], curveColours[1]);
    });
    const drawn = curves.filter((c) => c.ys.some((y) => y !== null));
    return drawn.length ? [{ title: system.keeps_energy ? "errors" : "constraint errors", x: "t", y: "", xlog: false, ylog: true, curves: drawn }] : [];
}

function pathPanels(runs, grids, label) {
    const [a, b] = runs[0].kinds.map((kind, c) => (kind === "coordinate" ? c : -1)).filter((c) => c >= 0);
    if (b === undefined) return [];
    const curves = runs.map((run, r) => ({ name: label("path", run), xs: thinned(run.columns[a], grids[r]), ys: thinned(run.columns[b], grids[r]), colour: curveColours[r], dash: r ? [7, 5] : undefined }));
    return [{ title: "path", x: printed(runs[0].names[a]), y: printed(runs[0].names[b]), equal: true, curves }];
}

class LivePlots {
    constructor(place) {
        this.place = place;
        this.list = [];
        this.panels = [];
    }

    width() {
        const columns = Math.max(1, Math.floor((this.place.clientWidth + 12) / 352));
        return Math.max(240, Math.floor((this.place.clientWidth - 12 * (columns - 1)) / columns) - 4);
    }

    // Plots with the same curves get new data; others are created again.
    update(system, runs) {
        this.panels = panelsOf(system, runs);
        const key = (p) => JSON.stringify([p.title, p.x, p.y, p.ylog, p.curves.map((c) => [c.name, c.colour, c.dash])]);
        const keys = JSON.stringify([this.width(), this.panels.map(key)]);
        if (keys !== this.keys) this.rebuild();
        else this.panels.forEach((panel, i) => this.list[i].plot.setData(panel.equal ? [null].concat(panel.curves.map((c) => [c.xs, c.ys])) : uPlot.join(panel.curves.map((c) => [c.xs, c.ys]))));
        this.keys = keys;
    }

    rebuild() {
        for (const one of this.list) one.plot.destroy();
        this.place.textContent = "";
        this.list = this.panels.map((panel) => {
            const box = element("div", { className: "plot" }, this.place);
            const plot = (panel.equal ? drawPaths : drawFunctions)(panel, panel.curves, box, this.width());
            const cursor = panel.equal ? null : element("div", { className: "cursor" }, plot.over);
            return { plot, show: (t) => { if (cursor) cursor.style.left = plot.valToPos(t, "x") + "px"; } };
        });
        document.documentElement.dataset.plots = this.list.length;
    }

    show(t) {
        for (const one of this.list) one.show(t);
    }

    clear() {
        for (const one of this.list) one.plot.destroy();
        Object.assign(this, { list: [], panels: [], keys: "" });
        this.place.textContent = "";
    }
}
