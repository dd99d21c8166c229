// Live examples: beside each still picture a canvas on which the model's drawing moves, over and over, while it is in
// sight, with a button and a slider; and where the playground is beside the manual, a button that opens the model in it,
// in place (isDark is manual.js'). Without script, and on paper, the still pictures remain. Readers who want no motion
// see none until they press the button.
"use strict";

const LOOP = 9; // seconds

function liveElement(kind, attributes, parent) {
    const made = Object.assign(document.createElement(kind), attributes);
    return parent.appendChild(made);
}

class LiveExample {
    constructor(figure) {
        this.figure = figure;
        this.stage = document.createElement("div");
        this.stage.className = "stage";
        figure.prepend(this.stage);
        this.canvas = liveElement("canvas", {}, this.stage);
        this.canvas.setAttribute("role", "img");
        this.canvas.setAttribute("aria-label", figure.querySelector("img").alt + ", moving");
        const bar = liveElement("div", { className: "bar" }, this.stage);
        this.button = liveElement("button", { type: "button", onclick: () => this.toggle() }, bar);
        this.slider = liveElement("input", { type: "range", min: 0, max: 1, step: 0.001, value: 0, oninput: () => this.scrub(Number(this.slider.value)) }, bar);
        this.slider.setAttribute("aria-label", "time");
        if (figure.dataset.play) liveElement("button", { type: "button", textContent: "Change it", onclick: () => this.change() }, bar);
        this.part = 0; // of the loop
        this.playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
        this.visible = false;
        this.tick = this.tick.bind(this);
        this.name();
        new IntersectionObserver(([entry]) => this.seen(entry.isIntersecting)).observe(this.canvas);
        new ResizeObserver(() => this.draw()).observe(this.canvas);
        document.getElementById("theme").addEventListener("click", () => this.draw());
    }

    name() {
        this.button.textContent = this.playing ? "❚❚" : "▶";
        this.button.setAttribute("aria-label", this.playing ? "pause" : "play");
    }

    // The frames are a script of their own, which is loaded when they are needed: pages from disk may fetch nothing else.
    load() {
        const script = document.createElement("script"), model = this.figure.dataset.model;
        script.src = `gallery/${model}.js`;
        script.onload = () => {
            const live = window.liveScenes[model];
            this.length = live.times[live.times.length - 1];
            this.view = new SceneView(this.canvas, live.scene, { dark: isDark, embedded: true });
            this.view.setFrames(live.times, live.channels);
            this.draw();
            this.figure.dataset.frames = live.times.length;
        };
        document.head.append(script);
    }

    seen(visible) {
        const before = this.visible;
        this.visible = visible;
        if (visible && !this.asked) { this.asked = true; this.load(); }
        if (visible && !before) this.start();
    }

    start() {
        this.before = undefined;
        if (this.playing) requestAnimationFrame(this.tick);
    }

    tick(now) {
        if (!this.playing || !this.visible) return;
        if (this.view) {
            const passed = this.before === undefined ? 0 : Math.min(0.2, (now - this.before) / 1000);
            this.before = now;
            this.part = (this.part + passed / LOOP) % 1;
            this.slider.value = this.part;
            this.draw();
        }
        requestAnimationFrame(this.tick);
    }

    draw() {
        if (this.view) this.view.draw(this.part * this.length);
    }

    toggle() {
        this.playing = !this.playing;
        this.name();
        this.start();
    }

    scrub(part) {
        this.part = part;
        if (this.playing) this.toggle();
        this.draw();
    }

    change() {
        const frame = liveElement("iframe", { src: this.figure.dataset.play, title: "The playground" }, this.figure);
        this.playing = false;
        this.stage.remove();
        this.figure.classList.add("changed");
        frame.scrollIntoView({ block: "nearest" });
    }
}

document.addEventListener("DOMContentLoaded", () => {
    for (const figure of document.querySelectorAll("figure.live")) new LiveExample(figure);
});
