// Draws the scene of a model (nh_system_scene) on a canvas, in the plane or in space.
//
//     const view = new SceneView(canvas, scene, {dark: () => false});
//     view.setFrames(times, channels);   // channels[c][frame]; or view.addFrame(t, numbers) one by one
//     view.draw(t);                      // frames in between are interpolated
//
// A number of the scene is a number or [channel]. Drawing in space is done in software: shapes are sorted
// by their distance and painted from back to front. Nothing here depends on the page around it.
"use strict";

// Whole numbers as text: base64 of seven-bit bytes, low bits first; each number is the deviation of a
// value from the linear extrapolation of the two before it, in steps. 0 stands for a value that is not a number.
function unpack(packed) {
    const text = atob(packed.data), values = new Float64Array(packed.count);
    let at = 0, last = 0, change = 0;
    for (let i = 0; i < packed.count; i++) {
        let code = 0, weight = 1, byte;
        do {
            byte = text.charCodeAt(at++);
            code += (byte & 127) * weight;
            weight *= 128;
        } while (byte > 127);
        if (code === 0) { values[i] = NaN; continue; }
        const half = Math.floor((code - 1) / 2), surprise = (code - 1) % 2 ? -half - 1 : half;
        change += surprise;
        last += change;
        values[i] = packed.from + last * packed.step;
    }
    return values;
}

// ---- vectors and attitudes ----

const vec = {
    add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
    sub: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
    scale: (c, a) => [c * a[0], c * a[1], c * a[2]],
    dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
    cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
    unit: (a) => {
        const size = Math.hypot(a[0], a[1], a[2]);
        return size > 0 ? [a[0] / size, a[1] / size, a[2] / size] : [0, 0, 1];
    },
    along: (o, a, u, b, v) => [o[0] + a * u[0] + b * v[0], o[1] + a * u[1] + b * v[1], o[2] + a * u[2] + b * v[2]],
};

// Columns of the matrix of a unit quaternion.
function columnsOf(q) {
    const n = Math.hypot(...q) || 1, [w, x, y, z] = q.map((c) => c / n);
    return [[1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
        [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
        [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]];
}

function quaternionProduct(a, b) {
    return [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]];
}

function turnBy(w) {
    const angle = Math.hypot(w[0], w[1], w[2]), s = angle > 1e-12 ? Math.sin(angle / 2) / angle : 0.5;
    return [Math.cos(angle / 2), s * w[0], s * w[1], s * w[2]];
}

// The direction perpendicular to an axis from which angles are counted: as low as possible; along x in the plane.
function lowest(axis) {
    const down = [axis[0] * axis[2], axis[1] * axis[2], axis[2] * axis[2] - 1];
    return Math.hypot(...down) > 1e-6 ? vec.unit(down) : vec.unit([1 - axis[0] * axis[0], -axis[0] * axis[1], -axis[0] * axis[2]]);
}

// ---- the scene in a state ----

class SceneState {
    constructor(scene) {
        this.scene = scene;
        this.flat = scene.dimensions === 2;
        this.times = [];
        this.frames = []; // each an array of numbers
        this.spinning = scene.shapes.filter((s) => s.spin || s.bodyspin || s.rate !== undefined);
        this.turned = this.spinning.map(() => []); // the quaternion or angle of each, frame by frame
        this.now = new Float64Array(scene.channels);
    }

    clear() {
        this.times = [];
        this.frames = [];
        this.turned = this.spinning.map(() => []);
    }

    addFrame(t, numbers) {
        const before = this.frames.length - 1;
        this.times.push(t);
        this.frames.push(numbers);
        this.spinning.forEach((shape, i) => this.turned[i].push(this.turnedAt(shape, this.turned[i], before)));
    }

    // The attitude or angle of a body after the frame `before`, from its angular velocity in that frame and the next.
    turnedAt(shape, list, before) {
        const key = shape.spin || shape.bodyspin || [shape.rate], vector = shape.rate === undefined;
        if (before < 0) return vector ? [1, 0, 0, 0] : [0];
        const rate = (f, k) => (typeof key[k] === "number" ? key[k] : this.frames[f][key[k][0]]);
        const half = (this.times[before + 1] - this.times[before]) / 2;
        const by = key.map((x, k) => half * (rate(before, k) + rate(before + 1, k)));
        if (!vector) return [list[before][0] + by[0]];
        return shape.spin ? quaternionProduct(turnBy(by), list[before]) : quaternionProduct(list[before], turnBy(by));
    }

    setFrames(times, channels) {
        this.clear();
        for (let f = 0; f < times.length; f++) this.addFrame(times[f], channels.map((c) => c[f]));
    }

    // The frame before t, and the fraction of the way from it to the next frame.
    find(t) {
        let low = 0, high = this.times.length - 1;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (this.times[middle] <= t) low = middle;
            else high = middle;
        }
        const length = this.times[high] - this.times[low];
        const part = length > 0 ? Math.min(1, Math.max(0, (t - this.times[low]) / length)) : 0;
        return [low, high, part];
    }

    moveTo(t) {
        const [low, high, part] = this.find(t), a = this.frames[low] || [], b = this.frames[high] || a;
        for (let c = 0; c < this.now.length; c++) this.now[c] = a[c] + part * (b[c] - a[c]);
        this.frame = low;
        this.time = t;
        this.turns = this.turned.map((list) => list.length && list[low].map((x, k) => x + part * (list[high][k] - x)));
    }

    number(value, otherwise) {
        return value === undefined ? otherwise : typeof value === "number" ? value : this.now[value[0]];
    }

    vector(value, otherwise) {
        if (!value) return otherwise;
        const v = value.map((x) => this.number(x));
        return v.length === 2 ? [v[0], v[1], 0] : v;
    }

    // Unit vectors of a body: two perpendicular to its axis, and the axis.
    body(shape) {
        const axis = this.vector(shape.axis, [0, 0, 1]);
        let columns = null;
        if (shape.attitude && shape.attitude.length === 4) columns = columnsOf(shape.attitude.map((x) => this.number(x)));
        else if (shape.attitude) {
            const m = shape.attitude.map((x) => this.number(x));
            columns = [0, 1, 2].map((k) => [m[k], m[3 + k], m[6 + k]]);
        } else if (shape.spin || shape.bodyspin) columns = columnsOf(this.turns[this.spinning.indexOf(shape)] || [1, 0, 0, 0]);
        if (columns) {
            if (!shape.axis) return columns;
            const own = vec.unit(axis), first = lowest(own), second = vec.cross(own, first);
            return [first, second, own].map((u) => [0, 1, 2].map((k) => columns[0][k] * u[0] + columns[1][k] * u[1] + columns[2][k] * u[2]));
        }
        const own = vec.unit(axis), from = shape.axis ? lowest(own) : [1, 0, 0], to = vec.cross(own, from);
        const a = shape.rate === undefined ? this.number(shape.angle, 0) : this.turns[this.spinning.indexOf(shape)][0], c = Math.cos(a), s = Math.sin(a);
        return [vec.along([0, 0, 0], c, from, s, to), vec.along([0, 0, 0], -s, from, c, to), own];
    }

    // The region that a shape occupies, as points with a radius; grounds and cameras occupy nothing.
    extent(shape) {
        const size = shape.size && this.vector(shape.size, [0, 0, 0]);
        if (shape.points) return shape.points.map((p) => [this.vector(p), 0]);
        if (shape.shape === "camera" || shape.shape === "ground") return [];
        const at = this.vector(shape.at, [0, 0, 0]), radius = Math.abs(this.number(shape.radius, 0));
        if (shape.shape === "cone") return [[at, 0], [vec.add(at, this.flat ? [0, this.number(shape.height), 0] : [0, 0, this.number(shape.height)]), radius]];
        if (shape.shape === "bowl") return [[vec.sub(at, this.flat ? [0, radius / 2, 0] : [0, 0, radius / 2]), 0.9 * radius]];
        return [[at, size ? Math.hypot(...size) / 2 : radius]];
    }

    // The box around shapes in the frames first, first + stride, ...
    bounds(shapes, stride) {
        const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
        for (let f = 0; f < Math.max(1, this.frames.length); f += stride) {
            this.moveTo(this.times[f] || 0);
            for (const shape of shapes)
                for (const [p, r] of this.extent(shape))
                    for (let k = 0; k < 3; k++) {
                        if (!Number.isFinite(p[k])) continue;
                        low[k] = Math.min(low[k], p[k] - r);
                        high[k] = Math.max(high[k], p[k] + r);
                    }
        }
        return low[0] <= high[0] ? { low, high } : { low: [-1, -1, 0], high: [1, 1, 0] };
    }
}

// ---- the camera ----

const NEAREST = 0.92; // of the distance to the viewer; nearer things are not drawn

class SceneCamera {
    constructor(state) {
        this.watch(state);
        this.reset();
    }

    watch(state) {
        this.state = state;
        this.shape = state.scene.shapes.find((s) => s.shape === "camera") || {};
    }

    reset() {
        this.zoom = 1;
        this.shift = [0, 0];
        const from = this.state.vector(this.shape.from, [0.55, -1, 0.6]);
        this.azimuth = Math.atan2(from[1], from[0]);
        this.height = Math.atan2(from[2], Math.hypot(from[0], from[1]));
    }

    // The visible region: the one given by the model, or everything that is drawn at any time.
    fit() {
        const state = this.state, shapes = state.scene.shapes, stride = Math.max(1, Math.ceil(state.frames.length / 400));
        const bodies = shapes.filter((s) => s.shape !== "trace");
        this.follows = this.shape.at !== undefined;
        const all = state.bounds(this.follows ? bodies : shapes, this.follows ? Math.max(1, state.frames.length) : stride);
        const mid = [0, 1, 2].map((k) => (all.low[k] + all.high[k]) / 2);
        const extent = [0, 1, 2].map((k) => all.high[k] - all.low[k]);
        this.target = mid;
        this.extent = state.flat ? extent : null;
        this.width = 1.15 * Math.max(...extent) || 2;
        if (!this.state.flat) this.width *= 0.95;
    }

    look(width, height) {
        const state = this.state, own = this.shape;
        const target = this.follows ? state.vector(own.at) : this.target;
        const wanted = state.number(own.width, 0);
        let scale = Math.min(width, height) / (wanted || this.width);
        if (!wanted && this.extent && !this.follows)
            scale = Math.min(width / (1.12 * this.extent[0] + 1e-9 * this.width + 1e-300), height / (1.12 * this.extent[1] + 1e-9 * this.width + 1e-300), 1e9);
        scale *= this.zoom;
        this.scale = scale;
        this.centre = [width / 2 + this.shift[0], height / 2 + this.shift[1]];
        this.at = target;
        this.span = (Math.max(width, height) / scale) * 1.2;
        if (state.flat) {
            this.right = [1, 0, 0];
            this.up = [0, 1, 0];
            this.toward = [0, 0, 1];
            this.distance = Infinity;
        } else {
            const c = Math.cos(this.height), s = Math.sin(this.height), ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth);
            this.toward = [c * ca, c * sa, s];
            this.right = [-sa, ca, 0];
            this.up = vec.cross(this.toward, this.right);
            this.distance = (2.6 * Math.min(width, height)) / scale;
        }
    }

    // How near a point is to the viewer, and whether it can be drawn, that is, is not too near or behind.
    nearness(p) {
        return vec.dot(vec.sub(p, this.at), this.toward);
    }

    sees(p) {
        return this.nearness(p) < NEAREST * this.distance;
    }

    seesAll(points) {
        return this.distance === Infinity || points.every((p) => p && this.sees(p));
    }

    // The point where a line from a to b leaves the visible part; null if it does not.
    crossing(a, b) {
        const from = this.nearness(a) - NEAREST * this.distance, to = this.nearness(b) - NEAREST * this.distance;
        return from < 0 === to < 0 ? null : vec.add(a, vec.scale(from / (from - to), vec.sub(b, a)));
    }

    // [x, y, how near, scale there], or null behind the viewer.
    project(p) {
        const near = this.nearness(p);
        if (!(near < this.distance)) return null;
        const d = vec.sub(p, this.at), s = this.distance === Infinity ? this.scale : (this.scale * this.distance) / (this.distance - near);
        return [this.centre[0] + s * vec.dot(d, this.right), this.centre[1] - s * vec.dot(d, this.up), near, s];
    }

    // From a point of the scene to the viewer.
    ray(p) {
        return this.distance === Infinity ? this.toward : vec.unit(vec.sub(vec.add(this.at, vec.scale(this.distance, this.toward)), p));
    }
}

// ---- the view ----

const behind = { ground: 0, bowl: 1, cone: 1, trace: 2 }; // painted before everything else

class SceneView {
    constructor(canvas, scene, options) {
        this.canvas = canvas;
        this.options = options || {};
        this.state = new SceneState(scene);
        this.camera = new SceneCamera(this.state);
        this.time = 0;
        if (!this.options.still) this.listen();
    }

    // Another scene, still without frames, with the same view as before: the same model with other parameters.
    setScene(scene) {
        this.state = new SceneState(scene);
        this.camera.watch(this.state);
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

    draw(t) {
        const canvas = this.canvas, ratio = this.options.ratio || window.devicePixelRatio || 1, dark = this.options.dark ? this.options.dark() : false;
        const width = this.options.width || canvas.clientWidth, height = this.options.height || canvas.clientHeight;
        if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(height * ratio);
        }
        const c = canvas.getContext("2d");
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.paintOn(c, t, width, height, dark);
    }

    // Draws on the context of a canvas or on an equivalent (svg.js of the playground).
    paintOn(c, t, width, height, dark) {
        this.time = t;
        this.state.moveTo(t);
        this.camera.look(width, height);
        const p = new ScenePainter(c, this.state, this.camera, dark);
        c.fillStyle = p.ground;
        c.fillRect(0, 0, width, height);
        c.lineJoin = c.lineCap = "round";
        for (const shape of this.sorted()) paint[shape.shape](p, shape);
    }

    // From back to front; in the plane, in the order of the model.
    sorted() {
        const carries = (s) => s.shape === "disk" && !this.state.flat && this.sideOf(s) < 0; // also the traces on it
        const rank = (s) => (carries(s) ? 1 : behind[s.shape] === undefined ? 3 : behind[s.shape]);
        const list = this.state.scene.shapes.map((s, i) => ({ s, i, rank: rank(s), near: this.state.flat ? 0 : this.nearness(s) }));
        list.sort((a, b) => a.rank - b.rank || a.near - b.near || a.i - b.i);
        return list.map((x) => x.s);
    }

    nearness(shape) {
        const parts = this.state.extent(shape);
        if (!parts.length) return 0;
        if (shape.shape === "disk") {
            const side = this.sideOf(shape);
            if (side) return side * Infinity;
        }
        return parts.reduce((sum, [p]) => sum + vec.dot(vec.sub(p, this.camera.at), this.camera.toward), 0) / parts.length;
    }

    // A disk on which things roll is larger than they are: -1 if all of them are on the viewer's side of its plane, 1 if
    // all are on the other side, otherwise 0.
    sideOf(disk) {
        const at = this.state.vector(disk.at), axis = this.state.body(disk)[2], facing = vec.dot(axis, this.camera.toward) < 0 ? -1 : 1;
        let sides = 0, bodies = 0;
        for (const shape of this.state.scene.shapes)
            if (shape !== disk && behind[shape.shape] === undefined)
                for (const [p] of this.state.extent(shape)) {
                    bodies++;
                    sides += Math.sign(facing * vec.dot(vec.sub(p, at), axis));
                }
        return bodies && Math.abs(sides) === bodies ? -Math.sign(sides) : 0;
    }

    // Drag to orbit (in the plane, to move), wheel or two fingers to zoom, double-click to see everything again.
    listen() {
        const canvas = this.canvas, camera = this.camera, held = new Map(), again = () => this.draw(this.time);
        canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); held.set(e.pointerId, [e.clientX, e.clientY]); });
        for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => held.delete(e.pointerId));
        canvas.addEventListener("pointermove", (e) => {
            const from = held.get(e.pointerId), to = [e.clientX, e.clientY];
            if (!from) return;
            const others = [...held].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
            if (others.length) {
                const gap = (a) => Math.hypot(a[0] - others[0][0], a[1] - others[0][1]);
                camera.zoom *= gap(to) / Math.max(1, gap(from));
            } else if (this.state.flat || e.shiftKey) {
                camera.shift = [camera.shift[0] + to[0] - from[0], camera.shift[1] + to[1] - from[1]];
            } else {
                camera.azimuth -= (to[0] - from[0]) / 150;
                camera.height = Math.max(-0.2, Math.min(1.57, camera.height + (to[1] - from[1]) / 150));
            }
            held.set(e.pointerId, to);
            again();
        });
        canvas.addEventListener("dblclick", () => { camera.reset(); again(); });
        if (this.options.embedded) { // in a page that scrolls, the wheel and vertical finger movements belong to the page
            canvas.style.touchAction = "pan-y";
            return;
        }
        canvas.addEventListener("wheel", (e) => { e.preventDefault(); camera.zoom *= Math.exp(-e.deltaY / 600); again(); }, { passive: false });
    }
}
