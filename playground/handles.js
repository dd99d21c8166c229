// Rings on the bodies of a scene at its start, and arrows with their velocities: dragging a ring moves the body, dragging
// the tip of an arrow changes its velocity. How both depend on the start follows from neighbours of the start that satisfy
// the constraints (pg_neighbours): a drag is the smallest combination of their differences that brings the ring or the tip
// to the pointer. The library moves the result onto the constraints, and answers with the neighbours of the new start.
"use strict";

const HANDLES_MOST = 24, STATES_MOST = 80; // with more numbers in a state, neighbours take too long
const NEAR = 14, OFFSET = [13, -13]; // pixels; a velocity of zero has its tip beside the ring
const DRAGGED_SHAPES = ["point", "line", "spring"]; // by their points; others by where they are

const combine = (factors, vectors) => [0, 1, 2].map((k) => vectors.reduce((sum, one, i) => sum + factors[i] * one[k], 0));

// Rates of the coordinates for velocities: x' is that of x; others are body rates of rotations, three for each quaternion.
function ratesOf(system, q, v) {
    const rates = q.map((x, i) => v[system.velocities.indexOf(system.coordinates[i] + "'")]);
    const numbers = q.flatMap((x, i) => (rates[i] === undefined ? [i] : [])), body = v.filter((x, j) => !system.coordinates.includes(system.velocities[j].replace(/'$/, "")));
    for (let k = 0; 4 * k + 3 < numbers.length && 3 * k + 2 < body.length; k++)
        quaternionProduct(numbers.slice(4 * k, 4 * k + 4).map((i) => q[i]), [0, ...body.slice(3 * k, 3 * k + 3)]).forEach((x, c) => { rates[numbers[4 * k + c]] = x / 2; });
    return rates.map((x) => x || 0);
}

// The smallest factors with which the columns (in pixels) add up to what is wanted, nearly: not along what is hardly seen.
function smallest(columns, [x, y]) {
    let a = 0, b = 0, c = 0;
    for (const [u, v] of columns) { a += u * u; b += u * v; c += v * v; }
    const soft = 0.01 * (a + c) + 1e-300, size = (a + soft) * (c + soft) - b * b, p = ((c + soft) * x - b * y) / size, r = ((a + soft) * y - b * x) / size;
    return columns.map(([u, v]) => u * p + v * r);
}

class StartHandles {
    // `player` and `start` (Knobs) are those of the page; `changed` is called when the state to be asked for has changed.
    constructor(button, player, start, changed) {
        Object.assign(this, { button, player, start, changed, active: false, held: null, list: [] });
        button.setAttribute("aria-pressed", "false");
        button.onclick = () => this.toggle(!this.active);
    }

    toggle(active) {
        this.active = active;
        this.button.setAttribute("aria-pressed", String(active));
        if (active) { this.player.pause(); this.player.time = this.player.first; }
        if (this.view) this.view.canvas.style.touchAction = active ? "none" : "pan-x pan-y";
        if (active && !this.list.length) this.changed();
        this.player.go(this.player.time);
    }

    get shown() {
        return this.active && this.view && this.view.on && this.player.time === this.player.first;
    }

    // The view whose canvas has the handles.
    attach(view) {
        this.view = view;
        const on = (kind, act) => view.canvas.addEventListener(kind, (e) => { if (act(e)) { e.preventDefault(); e.stopImmediatePropagation(); } }, true);
        const at = (e) => { const box = view.canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
        on("pointerdown", (e) => {
            if (!this.shown || !this.take(at(e))) return false;
            view.canvas.setPointerCapture(e.pointerId);
            return true;
        });
        on("pointermove", (e) => {
            if (!this.held) return false;
            this.held.pointer = at(e);
            this.held.tries = 0;
            this.pull();
            return true;
        });
        for (const end of ["pointerup", "pointercancel"]) on(end, () => this.drop());
    }

    drop() {
        const held = this.held;
        this.held = null;
        if (held) { this.view.fit(); this.changed(); }
        return Boolean(held);
    }

    // A start with its neighbours, of which some may be missing.
    receive(system) {
        const known = system.neighbours, n = system.coordinates.length, m = system.velocities.length;
        this.list = [];
        if (!known || !system.scene) return;
        const [base, ...others] = known.rows, by = known.by, change = (row) => row.map((x, i) => (x - base[i]) / by);
        this.system = system;
        this.base = base;
        this.moves = others.slice(0, n).map(change);
        this.pushes = others.slice(n).map(change);
        const rates = [base.slice(n, n + m), ...this.pushes.map((one) => one.slice(n, n + m))].map((v) => ratesOf(system, base.slice(0, n), v));
        const kept = this.held && this.held.names;
        for (const point of this.points(system.scene)) if (!kept || kept.includes(JSON.stringify(point))) this.add(point, n + m, rates);
        if (!this.held || this.held.what === "velocity") return;
        this.held.handle = this.list.find((one) => one.name === this.held.handle.name) || this.held.handle;
        this.pull();
    }

    // First those of bodies.
    points(scene) {
        const bodies = scene.shapes.filter((s) => s.at && !s.vector && !["camera", "ground", "bowl", "cone"].includes(s.shape)).map((s) => s.at);
        return [...bodies, ...scene.shapes.filter((s) => DRAGGED_SHAPES.includes(s.shape)).flatMap((s) => s.points)];
    }

    // Not beside another one, unless both were there when something was taken hold of.
    add(point, from, rates) {
        const name = JSON.stringify(point), beside = this.held || !this.view ? 0 : 1.5 * NEAR / this.view.camera.scale;
        const of = (row, otherwise) => { const p = point.map((x) => (typeof x === "number" ? otherwise * x : row[from + x[0]])); return p.length === 2 ? [...p, 0] : p; };
        const place = of(this.base, 1), moves = this.moves.map((row) => of(row, 0)), [velocity, ...pushes] = rates.map((one) => combine(one, moves));
        const counts = (list) => list.some((p) => Math.hypot(...p) > 1e-6);
        if (this.list.length === HANDLES_MOST || !counts(moves) || this.list.some((one) => one.name === name || Math.hypot(...vec.sub(one.place, place)) < beside)) return;
        this.list.push({ name, place, moves, velocity, pushes, pushed: counts(pushes) });
    }

    // The longest arrow is a fifth of what is seen; while one is dragged, all keep their scale.
    scale() {
        const most = Math.max(...this.list.map((one) => Math.hypot(...one.velocity)));
        if (!this.held) this.unit = (0.17 * this.view.camera.span) / (most > 0 ? most : 1);
        return this.unit;
    }

    // A short vector at a place, in pixels. Arrows are drawn without perspective, so that velocities follow the pointer evenly.
    across(place, vector) {
        const size = Math.hypot(...vector), short = 1e-4 * this.view.camera.span;
        if (!(size > 0)) return [0, 0];
        const [a, b] = [place, vec.add(place, vec.scale(short / size, vector))].map(this.view.on);
        return [0, 1].map((k) => ((b[k] - a[k]) * size) / short);
    }

    // Where the ring and the tip are, in pixels.
    seen(handle) {
        const ring = this.view.on(handle.place), arrow = this.across(handle.place, vec.scale(this.scale(), handle.velocity)), end = [0, 1].map((k) => ring[k] + arrow[k]);
        const far = Math.hypot(end[0] - ring[0], end[1] - ring[1]) > 1.5 * NEAR;
        return { ring, end, tip: far ? end : [ring[0] + OFFSET[0], ring[1] + OFFSET[1]] };
    }

    take([x, y]) {
        let best = NEAR;
        for (const handle of this.list) {
            const { ring, tip } = this.seen(handle);
            for (const [what, p] of [["velocity", handle.pushed ? tip : null], ["place", ring]]) {
                const gap = p ? Math.hypot(p[0] - x, p[1] - y) : Infinity;
                if (gap >= best) continue;
                best = gap;
                this.held = { handle, what, names: this.list.map((one) => one.name), base: this.base, rows: this.pushes, first: [x, y], pointer: [x, y], offset: [ring[0] - x, ring[1] - y], tries: 0 };
            }
        }
        if (this.held) this.view.camera.stay();
        return Boolean(this.held);
    }

    // Velocities follow the pointer at once; for places it is one step, and the answer of the library is followed by another.
    pull() {
        const { handle, what, pointer, first, offset } = this.held, ring = this.view.on(handle.place), pixels = (list, unit) => list.map((one) => this.across(handle.place, vec.scale(unit, one)));
        if (what === "velocity") { this.push(smallest(pixels(handle.pushes, this.unit), [0, 1].map((k) => pointer[k] - first[k]))); return; }
        const wanted = [0, 1].map((k) => pointer[k] + offset[k] - ring[k]);
        if (Math.hypot(...wanted) >= 1 && this.held.tries++ <= 5) this.move(smallest(pixels(handle.moves, 1), wanted));
    }

    // Angles by steps of less than half a radian.
    move(factors) {
        const { coordinates, angles } = this.system, part = 1 / Math.max(1, ...factors.map((x, i) => (angles[i] ? Math.abs(x) / 0.4 : 0)));
        const by = coordinates.map((name, i) => this.moves.reduce((sum, row, k) => sum + part * factors[k] * row[i], 0)), least = 1e-9 * Math.max(...by.map(Math.abs));
        coordinates.forEach((name, i) => { if (Math.abs(by[i]) > least) this.start.own.set(name, Number((this.base[i] + by[i]).toPrecision(7))); });
        this.changed();
    }

    push(factors) {
        const { base, rows } = this.held, n = this.system.coordinates.length, list = this.system.velocities.map((name, j) => base[n + j] + rows.reduce((sum, row, k) => sum + factors[k] * row[n + j], 0));
        const least = 1e-9 * Math.max(...list.map(Math.abs));
        this.system.velocities.forEach((name, j) => this.start.own.set(name, Math.abs(list[j]) > least ? Number(list[j].toPrecision(7)) : 0));
        this.changed();
    }

    draw(context, dark) {
        if (!this.shown) return;
        const colour = dark ? "#ffffff" : "#111111", paper = dark ? "#000000b0" : "#ffffffd0";
        const disk = (p, radius, fill) => { context.beginPath(); context.arc(p[0], p[1], radius, 0, 2 * Math.PI); context.fillStyle = fill; context.fill(); context.stroke(); };
        context.strokeStyle = colour;
        context.lineWidth = 1.5;
        for (const handle of this.list) {
            const { ring, tip } = this.seen(handle);
            if (handle.pushed) {
                context.beginPath();
                context.moveTo(...ring);
                context.lineTo(...tip);
                context.stroke();
                disk(tip, 5, colour);
            }
            disk(ring, 7, paper);
        }
    }
}
