// The scene of a model (nh_system_scene) at any time, from the frames of a motion. A number of the scene is a number or
// [channel]. scene_view.js draws it; nothing here depends on a page.
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
        if (shape.vector) return [[this.vector(shape.at), 0]];
        const at = this.vector(shape.at, [0, 0, 0]), radius = Math.abs(this.number(shape.radius, 0));
        if (shape.shape === "cone") return [[at, 0], [vec.add(at, this.flat ? [0, this.number(shape.height), 0] : [0, 0, this.number(shape.height)]), radius]];
        if (shape.shape === "bowl") return [[vec.sub(at, this.flat ? [0, radius / 2, 0] : [0, 0, radius / 2]), 0.9 * radius]];
        return [[at, size ? Math.hypot(...size) / 2 : radius]];
    }

    // The largest of all forces, or of all velocities: their arrows are drawn to the same scale.
    largestVector(velocities) {
        const known = this.largest || (this.largest = {}), count = Math.max(1, this.frames.length);
        if (known[velocities] && count < 2 * known[velocities].count) return known[velocities].size;
        const time = this.time, alike = this.scene.shapes.filter((s) => s.vector && (s.shape === "velocity") === velocities);
        let size = 0;
        for (let f = 0; f < count; f += Math.ceil(count / 400)) {
            this.moveTo(this.times[f] || 0);
            for (const shape of alike) {
                const length = Math.hypot(...this.vector(shape.vector));
                if (length > size && Number.isFinite(length)) size = length;
            }
        }
        this.moveTo(time);
        known[velocities] = { count, size };
        return size;
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
