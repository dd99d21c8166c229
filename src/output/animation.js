// The page of a trajectory: the moving mechanism with its controls, and plots that follow its time. The data is
// written by animation.c. On the root element, `data-plots` and `data-frames` say that the page is ready.
// The part of the address after # may be "t=3.5" (show that time, paused) or "film=COUNT,WIDTH,HEIGHT" (make
// pictures for a film and put them into the page).
"use strict";

// ---- plots ----

class Plots {
    constructor(data, place) {
        this.place = place;
        this.all = data.columns.map((c) => ({ name: printed(c.name), kind: c.kind, values: Array.from(unpack(c.values), (v) => (Number.isFinite(v) ? v : null)) }));
        this.times = this.all[0].values;
        this.list = [];
        const of = (kind) => this.all.filter((c) => c.kind === kind);
        const powers = (packed) => Array.from(unpack(packed), (v) => (Number.isFinite(v) ? Math.pow(10, v) : null));
        const errors = [];
        if (data.conserves && data.energy_error) errors.push({ name: "|energy − start|", values: powers(data.energy_error) });
        if (data.constraint) errors.push({ name: "largest |constraint|", values: powers(data.constraint) });
        this.over(data.conserves ? "errors" : "constraint errors", errors, true);
        if (!data.conserves) this.over("energy", of("energy"));
        this.path();
        this.over("coordinates", of("coordinate"));
        this.over("angles", of("angle").map((c) => ({ name: c.name, values: wrapped(c.values) })));
        this.over("observables", of("observable"));
        if (!of("coordinate").length && !of("angle").length) this.over("velocities", of("velocity"));
    }

    width() {
        return Math.max(260, Math.min(720, this.place.clientWidth || 400) - 4);
    }

    // Curves over time, at most as many as there are colours.
    over(title, columns, log) {
        const curves = columns.slice(0, 12).map((c, i) => ({ name: c.name, xs: this.times, ys: c.values, colour: curveColours[i % 7], dash: i > 6 ? [8, 5] : undefined }))
            .filter((c) => c.ys.some((y) => y !== null));
        if (!curves.length) return;
        const box = element("div", { className: "plot" }, this.place), panel = { title, x: "t", y: "", xlog: false, ylog: Boolean(log), curves };
        const plot = drawFunctions(panel, curves, box, this.width());
        const cursor = element("div", { className: "cursor" }, plot.over);
        this.list.push({ panel, plot, show: (t) => { cursor.style.left = plot.valToPos(t, "x") + "px"; } });
    }

    // One column against another.
    portrait(title, x, y, equal) {
        const curves = [{ name: title, xs: x.values, ys: y.values, colour: curveColours[0] }], box = element("div", { className: "plot" }, this.place);
        const plot = drawPaths({ title, x: x.name, y: y.name, curves, equal }, curves, box, this.width());
        const spot = element("div", { className: "spot" }, plot.over);
        const show = (t) => {
            const at = this.find(t), px = x.values[at], py = y.values[at];
            spot.hidden = px === null || py === null;
            if (spot.hidden) return;
            spot.style.left = plot.valToPos(px, "x") + "px";
            spot.style.top = plot.valToPos(py, "y") + "px";
        };
        this.list.push({ plot, show });
        return plot;
    }

    path() {
        const flat = this.all.filter((c) => c.kind === "coordinate");
        if (flat.length >= 2) this.portrait("path", flat[0], flat[1], true);
    }

    find(t) {
        let low = 0, high = this.times.length - 1;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (this.times[middle] <= t) low = middle;
            else high = middle;
        }
        return t - this.times[low] < this.times[high] - t ? low : high;
    }

    show(t) {
        for (const one of this.list) one.show(t);
    }

    resize() {
        for (const one of this.list) one.plot.setSize({ width: this.width(), height: Math.round(this.width() * 0.5) });
    }

    // Any two columns, on demand.
    chooser() {
        const bar = element("div", { className: "controls" }, this.place);
        element("span", { textContent: "phase portrait" }, bar);
        const select = (label, chosen) => {
            const box = element("select", { ariaLabel: label }, bar);
            this.all.forEach((c, i) => element("option", { value: i, textContent: c.name, selected: i === chosen }, box));
            return box;
        };
        const velocity = this.all.findIndex((c) => c.kind === "velocity");
        const x = select("across", Math.min(1, this.all.length - 1)), y = select("up", Math.max(velocity, 0));
        const button = element("button", { textContent: "draw" }, bar);
        button.onclick = () => {
            const a = this.all[x.value], b = this.all[y.value];
            this.portrait(b.name + " over " + a.name, a, b).root.scrollIntoView({ block: "nearest" });
            document.documentElement.dataset.plots = this.list.length;
        };
    }
}

// ---- the page ----

function makeFilm(data, wish) {
    const [count, width, height] = wish.split(",").map(Number), canvas = document.createElement("canvas");
    const view = new SceneView(canvas, data.scene, { still: true, width, height, ratio: 1 }), times = unpack(data.frames.t);
    view.setFrames(times, data.frames.channels.map(unpack));
    const film = element("pre", { id: "film" }, document.body), pictures = [];
    for (let i = 0; i < count; i++) {
        view.draw(times[0] + ((times[times.length - 1] - times[0]) * i) / count);
        pictures.push(canvas.toDataURL("image/png"));
    }
    film.textContent = pictures.join("\n");
    document.documentElement.dataset.film = count;
}

function begin() {
    const data = JSON.parse(document.getElementById("data").textContent), wish = new URLSearchParams(location.hash.slice(1));
    const root = document.documentElement.dataset, stage = document.getElementById("stage");
    if (wish.has("film")) { makeFilm(data, wish.get("film")); return; }
    const plots = new Plots(data, document.getElementById("plots"));
    plots.chooser();
    let view = null, times = plots.times;
    if (data.scene) {
        const canvas = element("canvas", { id: "scene" }, stage);
        view = new SceneView(canvas, data.scene, { dark: () => darkly.matches });
        times = unpack(data.frames.t);
        view.setFrames(times, data.frames.channels.map(unpack));
    }
    const player = new Player(times[0], times[times.length - 1], (t) => { if (view) view.draw(t); plots.show(t); });
    controls(player, stage);
    if (data.scene && data.scene.cut) element("p", { textContent: "Only the first thousand members of each family are drawn." }, stage);
    let resized = 0;
    const fresh = () => { clearTimeout(resized); resized = setTimeout(() => { plots.resize(); player.go(player.time); }, 100); };
    window.addEventListener("resize", fresh);
    darkly.addEventListener("change", () => { for (const one of plots.list) one.plot.redraw(); player.go(player.time); });
    player.go(wish.has("t") ? Number(wish.get("t")) : times[0]);
    if (view && !wish.has("t")) player.play();
    requestAnimationFrame(() => {
        player.go(player.time); // the scales of the plots are known only now
        root.frames = data.scene ? times.length : 0;
        root.plots = plots.list.length;
    });
}
begin();
