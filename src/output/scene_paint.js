// The painter of scene.js: one function for each shape of the model language. It receives the state of a scene
// (SceneState) and a camera (SceneCamera) and paints on the context of a canvas.
"use strict";

function mix(colour, other, part) {
    const channel = (c, k) => parseInt(c.slice(1 + 2 * k, 3 + 2 * k), 16);
    return "#" + [0, 1, 2].map((k) => Math.round(channel(colour, k) * (1 - part) + channel(other, k) * part).toString(16).padStart(2, "0")).join("");
}

class ScenePainter {
    constructor(context, state, camera, dark) {
        Object.assign(this, { c: context, state, camera, dark });
        this.ground = dark ? "#1b1d21" : "#ffffff";
    }

    colour(shape, otherwise) {
        const pair = this.state.scene.colors[shape.color || otherwise];
        return pair ? pair[this.dark ? 1 : 0] : "#888888";
    }

    // Points of a line without the parts that are too near to the viewer or behind; null where it is interrupted.
    cutLine(points) {
        const out = [], camera = this.camera;
        points.forEach((p, i) => {
            const before = i && points[i - 1];
            if (before && p) {
                const crossing = camera.crossing(before, p);
                if (crossing) out.push(...(camera.sees(p) ? [null, crossing] : [crossing, null]));
            }
            out.push(p && camera.sees(p) ? p : null);
        });
        return out;
    }

    // The part of a polygon that is far enough from the viewer.
    cutPolygon(points) {
        const camera = this.camera, all = points.filter((p) => p);
        return all.flatMap((p, i) => {
            const crossing = camera.crossing(all[(i || all.length) - 1], p);
            return (crossing ? [crossing] : []).concat(camera.sees(p) ? [p] : []);
        });
    }

    path(points, closed) {
        const c = this.c;
        let down = false;
        c.beginPath();
        for (const p of points) {
            const s = p && this.camera.project(p);
            if (!s) { down = false; continue; }
            if (down) c.lineTo(s[0], s[1]);
            else c.moveTo(s[0], s[1]);
            down = true;
        }
        if (closed) c.closePath();
    }

    stroke(points, colour, width, closed) {
        const whole = this.camera.seesAll(points);
        this.path(whole ? points : this.cutLine(closed ? points.concat([points[0]]) : points), closed && whole);
        this.c.strokeStyle = colour;
        this.c.lineWidth = width;
        this.c.stroke();
    }

    fill(points, colour) {
        this.path(this.camera.seesAll(points) ? points : this.cutPolygon(points), true);
        this.c.fillStyle = colour;
        this.c.fill();
    }

    ring(at, radius, u, v, count) {
        return Array.from({ length: count }, (x, i) => vec.along(at, radius * Math.cos((2 * Math.PI * i) / count), u, radius * Math.sin((2 * Math.PI * i) / count), v));
    }

    // The brightness of a face with normal n.
    shade(colour, n) {
        const light = vec.unit([-0.4, -0.5, 1]), bright = vec.dot(vec.unit(n), light);
        return bright > 0 ? mix(colour, "#ffffff", 0.35 * bright) : mix(colour, "#000000", -0.45 * bright);
    }
}

// One function for each shape; those for solids return nothing and paint with p, the painter.
const paint = {
    point(p, s) {
        const at = p.camera.project(p.state.vector(s.points[0]));
        if (!at) return;
        p.c.beginPath();
        p.c.arc(at[0], at[1], p.state.number(s.width, 9) / 2, 0, 2 * Math.PI);
        p.c.fillStyle = p.colour(s, "ink");
        p.c.fill();
    },
    line(p, s) {
        p.stroke(s.points.map((x) => p.state.vector(x)), p.colour(s, "ink"), p.state.number(s.width, 2));
    },
    polygon(p, s) {
        const points = s.points.map((x) => p.state.vector(x)), colour = p.colour(s, "blue");
        p.fill(points, mix(colour, p.ground, 0.35));
        p.stroke(points, colour, p.state.number(s.width, 1.5), true);
    },
    arrow(p, s) {
        const [a, b] = s.points.map((x) => p.camera.project(p.state.vector(x)));
        const width = p.state.number(s.width, 2), colour = p.colour(s, "red");
        if (!a || !b) return;
        const length = Math.hypot(b[0] - a[0], b[1] - a[1]), head = Math.min(4 * width + 3, length);
        if (!(length > 0)) return;
        const ux = (b[0] - a[0]) / length, uy = (b[1] - a[1]) / length;
        p.c.beginPath();
        p.c.moveTo(a[0], a[1]);
        p.c.lineTo(b[0] - head * ux, b[1] - head * uy);
        p.c.strokeStyle = p.c.fillStyle = colour;
        p.c.lineWidth = width;
        p.c.stroke();
        p.c.beginPath();
        p.c.moveTo(b[0], b[1]);
        p.c.lineTo(b[0] - head * ux - 0.45 * head * uy, b[1] - head * uy + 0.45 * head * ux);
        p.c.lineTo(b[0] - head * ux + 0.45 * head * uy, b[1] - head * uy - 0.45 * head * ux);
        p.c.fill();
    },
    spring(p, s) {
        const [a, b] = s.points.map((x) => p.state.vector(x)), turns = Math.max(1, Math.round(p.state.number(s.turns, 8)));
        const along = vec.sub(b, a), length = Math.hypot(...along), axis = vec.unit(along);
        const across = p.state.flat ? [-axis[1], axis[0], 0] : lowest(axis), third = vec.cross(axis, across);
        const radius = p.state.number(s.radius, 0.02 * p.camera.span), points = [a];
        const steps = p.state.flat ? 2 * turns : 12 * turns;
        for (let i = 0; i <= steps; i++) {
            const part = 0.1 + (0.8 * i) / steps, on = vec.add(a, vec.scale(part * length, axis));
            const angle = (2 * Math.PI * turns * i) / steps;
            points.push(p.state.flat ? vec.add(on, vec.scale(i === 0 || i === steps ? 0 : i % 2 ? radius : -radius, across))
                : vec.along(on, radius * Math.cos(angle), across, radius * Math.sin(angle), third));
        }
        p.stroke(points.concat([b]), p.colour(s, "grey"), p.state.number(s.width, 1.5));
    },
    trace(p, s) {
        const state = p.state, key = s.points[0], last = state.number(s.last, Infinity), points = [];
        const of = (frame, x) => (typeof x === "number" ? x : state.frames[frame][x[0]]);
        for (let f = 0; f <= state.frame && f < state.frames.length; f++)
            if (state.times[f] >= state.time - last && state.times[f] <= state.time)
                points.push([of(f, key[0]), of(f, key[1]), key.length > 2 ? of(f, key[2]) : 0]);
        points.push(state.vector(key));
        p.stroke(points, p.colour(s, "orange"), state.number(s.width, 1.5));
    },
    circle(p, s) {
        const [u, v] = p.state.body({ axis: s.axis });
        p.stroke(p.ring(p.state.vector(s.at), p.state.number(s.radius), u, v, 64), p.colour(s, "ink"), p.state.number(s.width, 2), true);
    },
    disk(p, s) {
        const [u, v, n] = p.state.body(s), at = p.state.vector(s.at), radius = p.state.number(s.radius), colour = p.colour(s, "blue");
        const rim = p.ring(at, radius, u, v, 64);
        p.fill(rim, p.state.flat ? mix(colour, p.ground, 0.45) : p.shade(colour, vec.dot(n, p.camera.toward) < 0 ? vec.scale(-1, n) : n));
        p.stroke(rim, colour, 2, true);
        if (s.angle !== undefined || s.rate !== undefined || s.attitude || s.spin || s.bodyspin) {
            const mark = p.dark ? "#f4f4f4" : "#222222";
            p.stroke([at, vec.add(at, vec.scale(radius, u))], mark, 2);
            p.fill(p.ring(vec.add(at, vec.scale(0.72 * radius, u)), 0.11 * radius, u, v, 16), mark);
        }
    },
    wheel(p, s) {
        const [u, v] = p.state.body(s), at = p.state.vector(s.at), radius = Math.abs(p.state.number(s.radius)), colour = p.colour(s, "blue");
        const seen = p.camera.project(at), size = seen ? seen[3] * radius : 0, width = p.state.number(s.width, Math.max(2, Math.min(6, 0.09 * size)));
        const rim = p.ring(at, radius, u, v, 64);
        p.c.globalAlpha = 0.22;
        p.fill(rim, colour);
        p.c.globalAlpha = 1;
        for (let i = 0; i < 6; i++) {
            const a = (i * Math.PI) / 3;
            p.stroke([at, vec.along(at, radius * Math.cos(a), u, radius * Math.sin(a), v)], i ? mix(colour, p.ground, 0.3) : p.colour({ color: "red" }), i ? Math.max(1, width / 3) : width / 1.6);
        }
        p.stroke(rim, colour, width, true);
        p.fill(p.ring(vec.along(at, radius, u, 0, v), 0.09 * radius, u, v, 12), p.colour({ color: "red" }));
    },
    box(p, s) {
        const [u, v, w] = p.state.body(s), at = p.state.vector(s.at), size = p.state.vector(s.size), colour = p.colour(s, "green");
        const corner = (i, j, k) => vec.add(vec.along(at, (i * size[0]) / 2, u, (j * size[1]) / 2, v), vec.scale((k * size[2]) / 2, w));
        if (p.state.flat) {
            const face = [corner(1, 1, 0), corner(-1, 1, 0), corner(-1, -1, 0), corner(1, -1, 0)];
            p.fill(face, mix(colour, p.ground, 0.4));
            p.stroke(face, colour, 1.5, true);
            return;
        }
        const faces = [[u, (a, b) => corner(1, a, b)], [v, (a, b) => corner(b, 1, a)], [w, (a, b) => corner(a, b, 1)],
            [vec.scale(-1, u), (a, b) => corner(-1, a, b)], [vec.scale(-1, v), (a, b) => corner(b, -1, a)], [vec.scale(-1, w), (a, b) => corner(a, b, -1)]];
        for (const [n, at4] of faces) {
            const face = [at4(1, 1), at4(-1, 1), at4(-1, -1), at4(1, -1)];
            if (vec.dot(n, p.camera.ray(face[0])) <= 0) continue;
            p.fill(face, p.shade(colour, n));
            p.stroke(face, mix(colour, "#000000", 0.35), 1, true);
        }
    },
    ball(p, s) {
        const at = p.state.vector(s.at), radius = Math.abs(p.state.number(s.radius)), seen = p.camera.project(at), colour = p.colour(s, "blue");
        if (!seen) return;
        const r = radius * seen[3], body = p.state.body(s), view = p.camera.ray(at);
        const light = p.c.createRadialGradient(seen[0] - 0.35 * r, seen[1] - 0.4 * r, 0.1 * r, seen[0], seen[1], r);
        light.addColorStop(0, mix(colour, "#ffffff", 0.45));
        light.addColorStop(1, mix(colour, "#000000", 0.25));
        p.c.beginPath();
        p.c.arc(seen[0], seen[1], r, 0, 2 * Math.PI);
        p.c.fillStyle = light;
        p.c.fill();
        if (p.state.flat) {
            p.stroke([at, vec.add(at, vec.scale(radius, body[0]))], "#ffffff", 2);
            return;
        }
        paintPattern(p, at, radius, body, view);
        p.c.beginPath();
        p.c.arc(seen[0], seen[1], r, 0, 2 * Math.PI);
        p.c.strokeStyle = mix(colour, "#000000", 0.45);
        p.c.lineWidth = 1.2;
        p.c.stroke();
    },
    ellipsoid(p, s) {
        const body = p.state.body(s), at = p.state.vector(s.at), half = vec.scale(0.5, p.state.vector(s.size)), colour = p.colour(s, "orange");
        if (p.state.flat) {
            const rim = p.ring(at, 1, vec.scale(half[0], body[0]), vec.scale(half[1], body[1]), 64);
            p.fill(rim, mix(colour, p.ground, 0.4));
            p.stroke(rim, colour, 2, true);
            return;
        }
        paintMesh(p, at, body, half, colour);
    },
    bowl(p, s) {
        const at = p.state.vector(s.at), radius = p.state.number(s.radius), height = p.state.number(s.height, radius), colour = p.colour(s, "grey");
        const rim = Math.acos(1 - height / radius), thin = mix(colour, p.ground, 0.45), down = p.state.flat ? [0, -1, 0] : [0, 0, -1];
        const out = (a) => (p.state.flat ? [Math.cos(a) < 0 ? -1 : 1, 0, 0] : [Math.cos(a), Math.sin(a), 0]);
        const on = (a, b) => vec.along(at, radius * Math.cos(b), down, radius * Math.sin(b), out(a));
        if (!p.state.flat)
            for (let k = 1; k <= 5; k++) p.stroke(Array.from({ length: 61 }, (x, i) => on((i * Math.PI) / 30, (rim * k) / 5)), k === 5 ? colour : thin, k === 5 ? 2 : 0.8);
        for (let k = 0; k < (p.state.flat ? 2 : 16); k++) {
            const a = (k * Math.PI) / (p.state.flat ? 1 : 8);
            p.stroke(Array.from({ length: 17 }, (x, i) => on(a, (rim * i) / 16)), p.state.flat ? colour : thin, p.state.flat ? 2 : 0.8);
        }
    },
    cone(p, s) {
        const tip = p.state.vector(s.at), radius = p.state.number(s.radius), height = p.state.number(s.height), colour = p.colour(s, "grey");
        const up = p.state.flat ? [0, 1, 0] : [0, 0, 1], thin = mix(colour, p.ground, 0.45);
        const on = (a, part) => vec.along(tip, height * part, up, radius * part, [Math.cos(a), p.state.flat ? 0 : Math.sin(a), 0]);
        if (!p.state.flat)
            for (let k = 1; k <= 5; k++) p.stroke(Array.from({ length: 61 }, (x, i) => on((i * Math.PI) / 30, k / 5)), k === 5 ? colour : thin, k === 5 ? 2 : 0.8);
        for (let k = 0; k < (p.state.flat ? 2 : 16); k++) p.stroke([tip, on((k * Math.PI) / (p.state.flat ? 1 : 8), 1)], p.state.flat ? colour : thin, p.state.flat ? 2 : 0.8);
    },
    ground(p, s) {
        const line = mix(p.colour(s, "grey"), p.ground, 0.62);
        if (p.state.flat && s.normal) paintSlope(p, s);
        else paintGrid(p, s, line);
    },
    camera() {},
};

// Caps around the ends of a ball's axes, and a belt, which make every rotation visible.
function paintPattern(p, at, radius, body, view) {
    const visible = (u) => {
        const d = vec.dot(u, view);
        return d >= 0 ? u : vec.unit(vec.sub(u, vec.scale(d, view)));
    };
    const tints = ["#ffffff", "#ffd24a", "#222222"];
    body.forEach((axis, k) => [1, -1].forEach((sign) => {
        const pole = vec.scale(sign, axis), u = body[(k + 1) % 3], v = body[(k + 2) % 3], wide = 0.42;
        if (vec.dot(pole, view) < -Math.sin(wide)) return;
        const cap = p.ring(vec.scale(Math.cos(wide), pole), Math.sin(wide), u, v, 24).map((d) => vec.add(at, vec.scale(radius, visible(d))));
        p.c.globalAlpha = 0.85;
        p.fill(cap, tints[k]);
        p.c.globalAlpha = 1;
    }));
    const belt = p.ring([0, 0, 0], 1, body[0], body[1], 73).map((d) => (vec.dot(d, view) > 0.02 ? vec.add(at, vec.scale(radius, d)) : null));
    p.stroke(belt.concat([belt[0]]), "#ffffff", 1.2);
}

function paintMesh(p, at, body, half, colour) {
    const rows = 12, columns = 24, other = mix(colour, "#ffffff", 0.55);
    const on = (i, j) => {
        const a = (i * Math.PI) / rows, b = (2 * j * Math.PI) / columns;
        return [half[0] * Math.cos(a), half[1] * Math.sin(a) * Math.cos(b), half[2] * Math.sin(a) * Math.sin(b)];
    };
    const space = (x) => vec.add(vec.along(at, x[0], body[0], x[1], body[1]), vec.scale(x[2], body[2]));
    for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++) {
            const middle = on(i + 0.5, j + 0.5), steep = middle.map((x, k) => x / (half[k] * half[k]));
            const n = vec.sub(space(steep), at);
            if (vec.dot(n, p.camera.ray(space(middle))) <= 0) continue;
            const quad = [on(i, j), on(i + 1, j), on(i + 1, j + 1), on(i, j + 1)].map(space);
            const tint = p.shade((i < rows / 2) === (j % 12 < 6) ? colour : other, n);
            p.fill(quad, tint);
            p.stroke(quad, tint, 0.7, true);
        }
}

// The plane seen from above: a grid; in space, also a pale surface.
function paintGrid(p, s, line) {
    const camera = p.camera, normal = vec.unit(p.state.vector(s.normal, [0, 0, 1])), point = p.state.vector(s.at, [0, 0, 0]);
    const u = p.state.flat || Math.abs(normal[2]) > 0.999 ? [1, 0, 0] : vec.unit(vec.cross([0, 0, 1], normal)), v = vec.cross(normal, u);
    const reach = p.state.number(s.width, 0) / 2 || camera.span * (p.state.flat ? 0.75 : 1.1), unit = Math.pow(10, Math.floor(Math.log10(reach)));
    const step = reach / unit > 5 ? unit : reach / unit > 2 ? unit / 2 : unit / 5;
    const d = vec.sub(camera.at, point), fixed = s.width !== undefined;
    const centre = [fixed ? 0 : Math.round(vec.dot(d, u) / step), fixed ? 0 : Math.round(vec.dot(d, v) / step)], count = Math.round(reach / step);
    const on = (i, j) => vec.along(point, (centre[0] + i) * step, u, (centre[1] + j) * step, v);
    if (!p.state.flat) p.fill([on(-count, -count), on(count, -count), on(count, count), on(-count, count)], mix(line, p.ground, 0.75));
    for (let i = -count; i <= count; i++) {
        p.stroke([on(i, -count), on(i, count)], line, 0.8);
        p.stroke([on(-count, i), on(count, i)], line, 0.8);
    }
}

// In the plane, with a normal: a line with hatching below it.
function paintSlope(p, s) {
    const n = vec.unit(p.state.vector(s.normal)), u = [n[1], -n[0], 0], at = p.state.vector(s.at, [0, 0, 0]), camera = p.camera;
    const reach = camera.span, step = reach / 30, colour = p.colour(s, "grey"), middle = Math.round(vec.dot(vec.sub(camera.at, at), u) / step);
    p.stroke([vec.along(at, middle * step - reach, u, 0, n), vec.along(at, middle * step + reach, u, 0, n)], colour, 2);
    for (let i = -30; i <= 30; i++) {
        const from = vec.along(at, (middle + i) * step, u, 0, n);
        p.stroke([from, vec.along(from, -0.7 * step, u, -0.7 * step, n)], mix(colour, p.ground, 0.4), 1);
    }
}
