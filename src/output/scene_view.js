// Draws the scene of a model with three.js on a canvas, in the plane or in space.
//
//     const view = new SceneView(canvas, scene, {dark: () => false});
//     view.setFrames(times, channels);   // channels[c][frame]; or view.addFrame(t, numbers) one by one
//     view.draw(t);                      // frames in between are interpolated
//
// All views of a page share their renderers, whose picture is copied to their canvases, since browsers allow few contexts of
// WebGL; without WebGL a view says so and draws nothing else. A computer without a graphics processor draws rough pictures
// while something moves, without smooth edges, and a smooth one when it has come to rest.
"use strict";

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i, REST = 300; // milliseconds

const renderers = {
    made: {},
    slow: undefined,
    make(smooth) {
        const canvas = document.createElement("canvas"), context = canvas.getContext("webgl2", { antialias: smooth, alpha: false, stencil: true });
        if (!context) return null;
        const renderer = new THREE.WebGLRenderer({ canvas, context });
        renderer.debug.checkShaderErrors = false; // asking would wait for each of them
        return renderer;
    },
    // Whether pictures take long; asked of a context, which is then the one of rough pictures.
    areSlow() {
        if (this.slow !== undefined) return this.slow;
        const rough = this.made.rough = this.make(false), context = rough && rough.getContext(), known = context && context.getExtension("WEBGL_debug_renderer_info");
        this.slow = Boolean(known) && SOFTWARE.test(context.getParameter(known.UNMASKED_RENDERER_WEBGL));
        if (rough && !this.slow) { rough.forceContextLoss(); rough.dispose(); }
        return this.slow;
    },
    get(smooth) {
        const kind = smooth ? "smooth" : "rough";
        if (this.made[kind] === undefined) this.made[kind] = this.make(smooth);
        return this.made[kind];
    },
};

// ---- the camera ----

const ZOOM = [0.1, 30], LOWEST = 0.04; // angle above the ground

class SceneCamera {
    constructor(state) {
        this.watch(state);
        this.reset();
    }

    watch(state) {
        this.state = state;
        this.shape = state.scene.shapes.find((s) => s.shape === "camera") || {};
        this.above = state.scene.shapes.some((s) => s.shape === "ground");
    }

    reset() {
        this.zoom = 1;
        this.shift = [0, 0];
        const from = this.state.vector(this.shape.from, [0.55, -1, 0.6]);
        this.azimuth = Math.atan2(from[1], from[0]);
        this.height = Math.atan2(from[2], Math.hypot(from[0], from[1]));
        if (!this.given) return;
        [this.azimuth, this.height] = this.given.map((degrees) => (degrees * Math.PI) / 180);
        this.turn(0, 0);
        this.zoomBy(this.given[2]);
    }

    // A point of view in degrees: from x towards y, and above the ground. It is also that of `reset`.
    point(azimuth, altitude, zoom) {
        this.given = [azimuth, altitude, zoom];
        this.reset();
    }

    // Never below the ground, and not nearer or farther than something can be seen.
    turn(across, up) {
        this.azimuth -= across;
        this.height = Math.max(this.above ? LOWEST : -1.5, Math.min(1.57, this.height + up));
    }

    zoomBy(factor) {
        if (Number.isFinite(factor)) this.zoom = Math.max(ZOOM[0], Math.min(ZOOM[1], this.zoom * factor));
    }

    move(x, y) {
        this.shift = [this.shift[0] + x / this.zoom, this.shift[1] + y / this.zoom];
    }

    // The visible region: the one given by the model, or everything that is drawn at any time.
    fit() {
        const state = this.state, all = state.scene.shapes, stride = Math.max(1, Math.ceil(state.frames.length / 400));
        this.follows = this.shape.at !== undefined;
        const box = state.bounds(this.follows ? all.filter((s) => s.shape !== "trace") : all, this.follows ? Math.max(1, state.frames.length) : stride);
        this.target = [0, 1, 2].map((k) => (box.low[k] + box.high[k]) / 2);
        const seen = [0, 1, 2].map((k) => box.high[k] - box.low[k]), arrows = all.some((s) => s.vector && s.scale === undefined) ? 0.6 * Math.max(...seen) : 0;
        const extent = seen.map((x, k) => x + (state.flat && k === 2 ? 0 : arrows)); // the largest arrow is a quarter of what is seen
        this.extent = state.flat ? extent : null;
        this.width = (state.flat ? 1.15 : 1.1) * Math.max(...extent) || 2;
    }

    // Where it is, until the next `fit`.
    stay() {
        if (this.follows) this.target = this.state.vector(this.shape.at);
        this.follows = false;
    }

    look(width, height) {
        const state = this.state, target = this.follows ? state.vector(this.shape.at) : this.target, wanted = state.number(this.shape.width, 0), small = Math.min(width, height);
        let scale = small / (wanted || this.width);
        if (!wanted && this.extent && !this.shape.at)
            scale = Math.min(width / (1.12 * this.extent[0] + 1e-9 * this.width + 1e-300), height / (1.12 * this.extent[1] + 1e-9 * this.width + 1e-300), 1e9);
        const c = Math.cos(this.height), s = Math.sin(this.height), ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth), flat = state.flat;
        this.right = flat ? [1, 0, 0] : [-sa, ca, 0];
        this.toward = flat ? [0, 0, 1] : [c * ca, c * sa, s];
        this.up = vec.cross(this.toward, this.right);
        this.at = vec.add(target, vec.along([0, 0, 0], -this.shift[0] / scale, this.right, this.shift[1] / scale, this.up));
        this.scale = scale * this.zoom;
        this.span = (Math.max(width, height) / this.scale) * 1.2;
        this.distance = flat ? Infinity : (2.6 * small) / this.scale;
    }

    // A camera of three.js that sees the same.
    lens(width, height) {
        const far = this.distance === Infinity ? 1e3 * this.span : this.distance, [a, b] = [width / 2 / this.scale, height / 2 / this.scale];
        const lens = this.distance === Infinity ? new THREE.OrthographicCamera(-a, a, b, -b, 0, 2 * far) : new THREE.PerspectiveCamera((360 / Math.PI) * Math.atan(b / far), width / height, far / 60, far * 60);
        const eye = vec.add(this.at, vec.scale(far, this.toward));
        lens.up.set(...this.up);
        lens.position.set(...eye);
        lens.lookAt(...this.at);
        return lens;
    }
}

// ---- the view ----

class SceneView {
    constructor(canvas, scene, options) {
        this.canvas = canvas;
        this.options = options || {};
        this.state = new SceneState(scene);
        this.camera = new SceneCamera(this.state);
        this.time = 0;
        this.kit = null;
        if (!this.options.still) this.listen();
    }

    // Another scene, still without frames, with the same view as before: the same model with other parameters.
    setScene(scene) {
        this.state = new SceneState(scene);
        this.camera.watch(this.state);
        this.forget();
    }

    setFrames(times, channels) {
        this.state.setFrames(times, channels);
        this.state.moveTo(times[0] || 0);
        this.camera.fit();
    }

    addFrame(t, numbers) {
        this.state.addFrame(t, numbers);
    }

    fit() {
        this.camera.fit();
    }

    forget() {
        if (this.kit) this.kit.dispose();
        this.kit = null;
    }

    // The parts of the scene, made again when the colours change.
    parts(dark) {
        if (this.kit && this.kit.dark === dark) return this.kit;
        this.forget();
        const kit = this.kit = new SceneKit(this.state, dark, renderers.slow && !this.options.best);
        this.world = new THREE.Scene();
        this.world.matrixAutoUpdate = false;
        this.world.background = new THREE.Color(kit.background);
        this.world.add(kit.root);
        return kit;
    }

    draw(t) {
        const canvas = this.canvas, ratio = this.options.ratio || window.devicePixelRatio || 1, dark = this.options.dark ? Boolean(this.options.dark()) : false;
        const width = this.options.width || canvas.clientWidth, height = this.options.height || canvas.clientHeight;
        if (!(width > 0 && height > 0)) return;
        if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(height * ratio);
        }
        this.time = t;
        this.state.moveTo(t);
        this.camera.look(width, height);
        const renderer = renderers.get(this.isSmooth()), context = canvas.getContext("2d");
        if (!renderer) { this.apologise(context, width, height, ratio, dark); return; }
        const size = renderer.getSize(new THREE.Vector2());
        if (size.x !== canvas.width || size.y !== canvas.height) renderer.setSize(canvas.width, canvas.height, false);
        this.parts(dark).update(this.camera, width, height);
        const lens = this.camera.lens(width, height);
        renderer.render(this.world, lens);
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.drawImage(renderer.domElement, 0, 0);
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.on = this.projection(lens, width, height);
        if (this.pointer) this.tell(context, width, dark);
        if (this.options.above) this.options.above(context, dark);
    }

    // A rough picture is drawn once more when nothing has followed it for a moment; `best` pictures are kept.
    isSmooth() {
        if (!renderers.areSlow() || this.options.best) return true;
        clearTimeout(this.resting);
        this.resting = setTimeout(() => { this.atRest = true; this.again(); this.atRest = false; }, REST);
        if (this.atRest) clearTimeout(this.resting);
        return Boolean(this.atRest);
    }

    // Where points are on the canvas, in its pixels.
    projection(lens, width, height) {
        lens.updateMatrixWorld();
        return (p) => { const v = new THREE.Vector3(...p).project(lens); return [((1 + v.x) * width) / 2, ((1 - v.y) * height) / 2]; };
    }

    // The number of the arrow under the pointer.
    tell(context, width, dark) {
        const on = this.on, [x, y] = this.pointer;
        const near = this.kit.vectors.filter((one) => one.from).find((one) => {
            const [a, b] = [on(one.from), on(one.to)], [u, v] = [b[0] - a[0], b[1] - a[1]], part = Math.max(0, Math.min(1, ((x - a[0]) * u + (y - a[1]) * v) / (u * u + v * v || 1)));
            return Math.hypot(a[0] + part * u - x, a[1] + part * v - y) < 9;
        });
        this.told = near ? near.text : "";
        if (!near) return;
        context.font = "13px sans-serif";
        context.textAlign = "left";
        const room = context.measureText(near.text).width + 12, left = Math.max(0, Math.min(x + 12, width - room)), top = Math.max(0, y - 30);
        context.fillStyle = dark ? "#000000cc" : "#ffffffdd";
        context.fillRect(left, top, room, 22);
        context.fillStyle = dark ? "#ddd" : "#222";
        context.fillText(near.text, left + 6, top + 15);
    }

    apologise(context, width, height, ratio, dark) {
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        context.fillStyle = dark ? "#ddd" : "#222";
        context.font = "15px sans-serif";
        context.textAlign = "center";
        context.fillText("This browser has no WebGL, which the scene needs.", width / 2, height / 2, width - 20);
    }

    again() {
        this.draw(this.time);
    }

    // Drag to orbit (in the plane, to move), with Shift to move, wheel to zoom; two fingers do all of it, while one scrolls
    // the page. Arrow keys, + and -; Home or a double click to see everything again.
    listen() {
        const canvas = this.canvas, camera = this.camera;
        let held = null;
        canvas.tabIndex = 0;
        canvas.setAttribute("role", "img");
        if (!canvas.hasAttribute("aria-label")) canvas.setAttribute("aria-label", "The moving mechanism; arrow keys turn it, + and − zoom, Home resets the view");
        canvas.style.touchAction = "pan-x pan-y";
        canvas.addEventListener("pointerdown", (e) => {
            if (e.pointerType === "touch") return;
            canvas.setPointerCapture(e.pointerId);
            held = [e.clientX, e.clientY];
        });
        for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = null; });
        canvas.addEventListener("pointerleave", () => { this.pointer = null; });
        canvas.addEventListener("pointermove", (e) => {
            if (!held && e.pointerType !== "touch" && this.kit && this.kit.vectors.length) {
                const box = canvas.getBoundingClientRect();
                this.pointer = [e.clientX - box.left, e.clientY - box.top];
                this.again();
            }
            if (!held || e.pointerType === "touch") return;
            const [x, y] = [e.clientX - held[0], e.clientY - held[1]];
            held = [e.clientX, e.clientY];
            if (this.state.flat || e.shiftKey || e.buttons > 1) camera.move(x, y);
            else camera.turn(x / 150, y / 150);
            this.again();
        });
        canvas.addEventListener("dblclick", () => { camera.reset(); this.again(); });
        canvas.addEventListener("keydown", (e) => this.key(e));
        this.listenToFingers();
        if (this.options.embedded) return; // in a page that scrolls, the wheel belongs to the page
        canvas.addEventListener("wheel", (e) => { e.preventDefault(); camera.zoomBy(Math.exp(-e.deltaY / 600)); this.again(); }, { passive: false });
    }

    key(e) {
        const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        if (step && (this.state.flat || e.shiftKey)) this.camera.move(-30 * step[0], -30 * step[1]);
        else if (step) this.camera.turn(-0.1 * step[0], -0.1 * step[1]);
        else if (e.key === "+" || e.key === "=") this.camera.zoomBy(1.15);
        else if (e.key === "-") this.camera.zoomBy(1 / 1.15);
        else if (e.key === "Home") this.camera.reset();
        else return;
        e.preventDefault();
        e.stopPropagation();
        this.again();
    }

    listenToFingers() {
        let before = null;
        const seen = (e) => {
            const [a, b] = e.touches;
            return { gap: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2 };
        };
        this.canvas.addEventListener("touchstart", (e) => { before = e.touches.length === 2 ? seen(e) : null; }, { passive: true });
        for (const end of ["touchend", "touchcancel"]) this.canvas.addEventListener(end, () => { before = null; });
        this.canvas.addEventListener("touchmove", (e) => {
            if (!before || e.touches.length !== 2 || !e.cancelable) return; // not cancelable: the page is scrolling
            e.preventDefault();
            const now = seen(e);
            this.camera.zoomBy(now.gap / Math.max(1, before.gap));
            if (this.state.flat) this.camera.move(now.x - before.x, now.y - before.y);
            else this.camera.turn((now.x - before.x) / 150, (now.y - before.y) / 150);
            before = now;
            this.again();
        }, { passive: false });
    }
}
