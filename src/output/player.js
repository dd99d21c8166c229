// Parts shared by pages with a moving mechanism: typeset names, curves of angles, the player and its
// controls. `data-time` on the root element is the displayed time.
"use strict";

const darkly = window.matchMedia("(prefers-color-scheme: dark)");
const calmly = window.matchMedia("(prefers-reduced-motion: reduce)");
const ink = () => (darkly.matches ? "#ddd" : "#222");
const curveColours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7f7f7f"];

function element(kind, attributes, parent) {
    const made = document.createElement(kind);
    Object.assign(made, attributes);
    return parent.appendChild(made);
}

// ---- typeset names: theta becomes a Greek letter, an apostrophe a prime ----

const greek = { alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", eps: "ε", zeta: "ζ", eta: "η", theta: "θ", kappa: "κ",
    lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", rho: "ρ", sigma: "σ", tau: "τ", phi: "φ", chi: "χ", psi: "ψ", omega: "ω", Omega: "Ω", Phi: "Φ", Psi: "Ψ", Theta: "Θ" };
const lowDigits = "₀₁₂₃₄₅₆₇₈₉";

function printed(name) {
    return name.replace(/^([A-Za-z]+)(\d*)(?=$|['.[])/, (all, word, digits) =>
        (greek[word] || word) + (word.length === 1 || greek[word] ? digits.replace(/\d/g, (d) => lowDigits[d]) : digits)).replace(/'/g, "′");
}

// An angle between -pi and pi; what is no number is a gap.
const wrapped = (v) => (Number.isFinite(v) ? v - 2 * Math.PI * Math.round(v / (2 * Math.PI)) : null);

// ---- the player ----

class Player {
    constructor(first, last, show) {
        Object.assign(this, { first, last, show, time: first, playing: false, growing: false, held: calmly.matches }); // held: wait for the reader
        this.pace(last - first);
        this.tick = this.tick.bind(this);
    }

    // The speed that shows this much time in half a minute or less.
    pace(time) {
        const natural = time / 30;
        this.speed = natural <= 1 ? 1 : Math.pow(2, Math.ceil(Math.log2(natural)));
    }

    go(t) {
        this.time = Math.min(this.last, Math.max(this.first, t));
        this.show(this.time);
        if (this.changed) this.changed();
    }

    play() {
        if (this.playing || !(this.last > this.first)) return;
        this.playing = true;
        this.held = false;
        this.before = undefined;
        if (this.time >= this.last) this.time = this.first;
        requestAnimationFrame(this.tick);
        if (this.changed) this.changed();
    }

    pause() {
        this.playing = false;
        this.held = true;
        if (this.changed) this.changed();
    }

    tick(now) {
        if (!this.playing) return;
        const passed = this.before === undefined ? 0 : Math.min(0.2, (now - this.before) / 1000);
        this.before = now;
        let t = this.time + passed * this.speed;
        if (t > this.last) t = this.growing ? this.last : this.first; // it waits for more frames, or begins again
        this.go(t);
        requestAnimationFrame(this.tick);
    }
}

// Records a canvas as a film while the motion is shown once, from its beginning.
function recorder(player, canvas, button) {
    const kind = ["video/webm;codecs=vp9", "video/webm", "video/mp4"].find((one) => MediaRecorder.isTypeSupported(one)), pieces = [];
    const film = new MediaRecorder(canvas.captureStream(30), { mimeType: kind, videoBitsPerSecond: 6e6 }), show = player.show;
    let before = -Infinity;
    const end = () => { if (film.state !== "inactive") film.stop(); };
    film.ondataavailable = (event) => pieces.push(event.data);
    film.onstop = () => {
        player.show = show;
        button.textContent = "● Record";
        button.onclick = button.begin;
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob(pieces, { type: kind }));
        link.download = (document.title.split(/[ ,]/)[0] || "nonholo") + "." + kind.slice(6, 10).replace(";", "");
        document.documentElement.dataset.recorded = pieces.reduce((sum, one) => sum + one.size, 0);
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    };
    player.show = (t) => {
        show(t);
        if (t < before || t >= player.last) end(); // it begins again
        before = t;
    };
    button.textContent = "■ Stop";
    button.onclick = end;
    player.pause();
    player.go(player.first);
    film.start();
    player.play();
}

// `canvasOf` returns the canvas that can be recorded.
function recordButton(player, bar, canvasOf) {
    if (typeof MediaRecorder === "undefined" || !HTMLCanvasElement.prototype.captureStream) return;
    const button = element("button", { type: "button", textContent: "● Record", title: "save the moving picture as a film" }, bar);
    button.className = "record";
    button.begin = () => { const canvas = canvasOf(); if (canvas) recorder(player, canvas, button); };
    button.onclick = button.begin;
}

function controls(player, place, canvasOf) {
    const bar = element("div", { className: "controls" }, place);
    const button = element("button", {}, bar), slider = element("input", { type: "range", min: 0, max: 10000, step: 1 }, bar);
    const clock = element("span", { className: "clock" }, bar), speed = element("select", { ariaLabel: "speed" }, bar);
    slider.setAttribute("aria-label", "time");
    for (let power = -4; power <= 10; power++) {
        const value = Math.pow(2, power);
        element("option", { value: value, textContent: "speed " + (power < 0 ? "1/" + 1 / value : value), selected: value === player.speed }, speed);
    }
    if (!Number.isInteger(Math.log2(player.speed))) element("option", { value: player.speed, textContent: "speed " + player.speed, selected: true }, speed);
    if (canvasOf) recordButton(player, bar, canvasOf);
    speed.onchange = () => { player.speed = Number(speed.value); };
    button.onclick = () => (player.playing ? player.pause() : player.play());
    const length = () => player.last - player.first;
    slider.oninput = () => {
        const wanted = slider.value; // pausing sets it back where a slider that is dragged has no focus
        player.pause();
        player.go(player.first + (wanted / 10000) * length());
    };
    player.changed = () => {
        button.textContent = player.playing ? "❚❚" : "▶";
        button.setAttribute("aria-label", player.playing ? "pause" : "play");
        clock.textContent = "t = " + player.time.toPrecision(4);
        if (document.activeElement !== slider || player.playing) slider.value = length() > 0 ? ((player.time - player.first) / length()) * 10000 : 0;
        if (document.activeElement !== speed) speed.value = player.speed;
        document.documentElement.dataset.time = player.time;
    };
    document.addEventListener("keydown", (e) => {
        if (/^(SELECT|INPUT|BUTTON|TEXTAREA)$/.test(e.target.tagName)) return;
        if (e.key === " ") { e.preventDefault(); button.onclick(); }
        if (e.key === "ArrowRight" || e.key === "ArrowLeft") { player.pause(); player.go(player.time + (e.key === "ArrowRight" ? 0.01 : -0.01) * length()); }
    });
    player.changed();
}
