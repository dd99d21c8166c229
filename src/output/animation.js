// The page of a trajectory: the moving mechanism with its controls, and plots that follow its time. The data is
// written by animation.c. On the root element, `data-plots` and `data-frames` say that the page is ready.
// The part of the address after # may be "t=3.5" (show that time, paused) or "film=COUNT,WIDTH,HEIGHT" (make
// pictures for a film and put them into the page).
"use strict";

// The recorded rows as plots.js wants them; errors are stored as logarithms.
function runOf(data) {
    const powers = (packed) => Array.from(unpack(packed), (v) => (Number.isFinite(v) ? Math.pow(10, v) : 0)), errors = [];
    if (data.conserves && data.energy_error) errors.push({ name: "|energy − start|", values: powers(data.energy_error) });
    if (data.constraint) errors.push({ name: "largest |constraint|", values: powers(data.constraint) });
    return { method: "", names: data.columns.map((c) => c.name), kinds: data.columns.map((c) => c.kind), columns: data.columns.map((c) => unpack(c.values)), errors, part: !data.whole };
}

// ---- the page ----

// Below the middle, on a pale ground, so that it can be read on any scene.
function writeCaption(canvas, text) {
    const pen = canvas.getContext("2d"), size = Math.max(12, canvas.height / 22), y = canvas.height - size;
    pen.font = size + "px sans-serif";
    const width = Math.min(pen.measureText(text).width + size, canvas.width);
    pen.fillStyle = "rgba(255, 255, 255, 0.75)";
    pen.fillRect((canvas.width - width) / 2, y - size, width, 1.5 * size);
    pen.fillStyle = "#222";
    pen.textAlign = "center";
    pen.fillText(text, canvas.width / 2, y + size * 0.1, canvas.width - size);
}

function makeFilm(data, wish) {
    const [count, width, height] = wish.split(",").map(Number), canvas = document.createElement("canvas");
    const view = new SceneView(canvas, data.scene, { still: true, best: true, width, height, ratio: 1 }), times = unpack(data.frames.t);
    view.setFrames(times, data.frames.channels.map(unpack));
    if (data.camera) view.camera.point(...data.camera);
    const film = element("pre", { id: "film" }, document.body), pictures = [];
    for (let i = 0; i < count; i++) {
        const t = times[0] + ((times[times.length - 1] - times[0]) * i) / count;
        view.draw(t);
        if (data.caption) writeCaption(canvas, data.caption.replaceAll("{t}", t.toFixed(2)));
        pictures.push(canvas.toDataURL("image/png"));
    }
    film.textContent = pictures.join("\n");
    document.documentElement.dataset.film = count;
}

function begin() {
    const data = JSON.parse(document.getElementById("data").textContent), wish = new URLSearchParams(location.hash.slice(1));
    const root = document.documentElement.dataset, stage = document.getElementById("stage");
    if (wish.has("film")) { makeFilm(data, wish.get("film")); return; }
    const run = runOf(data), plots = new Plots(document.getElementById("plots"), (t) => { player.pause(); player.go(t); }, () => 1);
    let view = null, times = run.columns[0];
    if (data.scene) {
        const canvas = element("canvas", { id: "scene" }, stage);
        view = new SceneView(canvas, data.scene, { dark: () => darkly.matches });
        times = unpack(data.frames.t);
        view.setFrames(times, data.frames.channels.map(unpack));
        if (data.camera) view.camera.point(...data.camera);
    }
    const player = new Player(times[0], times[times.length - 1], (t) => { if (view) view.draw(t); plots.show(t); });
    if (data.speed) player.speed = data.speed;
    controls(player, stage, view && (() => view.canvas));
    plots.update(data, [run]);
    if (data.scene && data.scene.cut) element("p", { textContent: "Only the first thousand members of each family are drawn." }, stage);
    let resized = 0;
    const fresh = () => { clearTimeout(resized); resized = setTimeout(() => { plots.resize(); player.go(player.time); }, 100); };
    window.addEventListener("resize", fresh);
    darkly.addEventListener("change", () => { plots.redraw(); player.go(player.time); });
    player.go(wish.has("t") ? Number(wish.get("t")) : times[0]);
    if (view && !wish.has("t") && !player.held) player.play();
    requestAnimationFrame(() => {
        player.go(player.time); // the scales of the plots are known only now
        root.frames = data.scene ? times.length : 0;
        root.plots = plots.list.length;
    });
}
begin();
