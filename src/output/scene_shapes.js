// What the shapes of the model language look like: one function for each, which makes its parts of three.js once and
// returns a function that puts them where they are in the state of a scene (scene.js). In the plane everything is flat and
// drawn in the order of the model; in space, bodies are lit and cast shadows on the ground.
"use strict";

const TINTS = { tyre: ["#3a3f45", "#54595f"], mark: ["#222222", "#f4f4f4"] }; // in the light and in the dark

function mix(colour, other, part) {
    const channel = (c, k) => parseInt(c.slice(1 + 2 * k, 3 + 2 * k), 16);
    return "#" + [0, 1, 2].map((k) => Math.round(channel(colour, k) * (1 - part) + channel(other, k) * part).toString(16).padStart(2, "0")).join("");
}

class SceneKit {
    constructor(state, dark, simple) {
        Object.assign(this, { state, dark, simple, flat: state.flat, root: new THREE.Group(), strokes: [], shadows: [], vectors: [], order: 0 });
        this.background = dark ? "#1b1d21" : "#ffffff";
        this.floor = this.flat ? null : state.scene.shapes.find((s) => s.shape === "ground");
        this.updates = state.scene.shapes.map((shape) => {
            this.order++;
            return shapes[shape.shape](this, shape) || (() => {});
        });
    }

    colour(shape, otherwise) {
        const pair = this.state.scene.colors[shape.color || otherwise];
        return pair ? pair[this.dark ? 1 : 0] : "#888888";
    }

    tint(name) {
        return TINTS[name][this.dark ? 1 : 0];
    }

    add(object, order) {
        object.matrixAutoUpdate = false;
        object.renderOrder = order === undefined ? this.order : order;
        this.root.add(object);
        return object;
    }

    // A body. In the plane its colour is as given, in space it is lit. `shadow` is a body whose shadow is as good.
    mesh(geometry, colour, { plain, painted, shadow, casts = true, opacity = 1 } = {}) {
        const mesh = this.add(new THREE.Mesh(geometry, bodyPaint(colour, { plain: this.flat || plain, simple: this.simple, painted, opacity, depthWrite: opacity > 0.5, depthTest: !this.flat,
            polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 })));
        mesh.frustumCulled = false;
        if (this.floor && casts) this.cast(mesh, shadow || null, bodyPaint("#000000", { plain: true, ...this.shade() }));
        return mesh;
    }

    // Bodies of one colour each as one body: the fewer there are, the faster they are drawn.
    paint(bodies, shadow) {
        return this.mesh(painted(bodies), "#ffffff", { painted: true, shadow });
    }

    // The shadow of a body or a line: flattened onto the ground along the light; each pixel is darkened once.
    cast(object, geometry, material) {
        const shadow = this.add(new THREE.Mesh(geometry || object.geometry, material), -5);
        shadow.frustumCulled = false;
        this.shadows.push([object, shadow, geometry]);
    }

    // Not `transparent`: these are drawn after all bodies, and shadows belong below them.
    shade() {
        return { opacity: this.dark ? 0.5 : 0.26, transparent: false, blending: THREE.CustomBlending, blendSrc: THREE.ZeroFactor, blendDst: THREE.OneMinusSrcAlphaFactor, depthTest: false, depthWrite: false,
            stencilWrite: true, stencilRef: 0, stencilFunc: THREE.EqualStencilFunc, stencilZPass: THREE.IncrementStencilOp };
    }

    castLine(stroke) {
        const material = linePaint("#000000", this.shade());
        material.uniforms.width = stroke.material.uniforms.width;
        material.uniforms.resolution = stroke.material.uniforms.resolution;
        this.cast(stroke.object, null, material);
    }

    // Objects with the axes u, v, w of a body, stretched along them.
    place(objects, at, [u, v, w], a, b, c) {
        for (const object of [objects].flat()) object.matrix.set(a * u[0], b * v[0], c * w[0], at[0], a * u[1], b * v[1], c * w[1], at[1], a * u[2], b * v[2], c * w[2], at[2], 0, 0, 0, 1);
    }

    // The length that a pixel shows at a point.
    perPixel(at) {
        const camera = this.camera, near = vec.dot(vec.sub(at, camera.at), camera.toward);
        return camera.distance === Infinity ? 1 / camera.scale : Math.max(0.05, (camera.distance - near) / camera.distance) / camera.scale;
    }

    update(camera, width, height) {
        this.camera = camera;
        for (const stroke of this.strokes) stroke.material.uniforms.resolution.value.set(width, height);
        for (const update of this.updates) update(this.state);
        if (this.floor) this.castAll();
    }

    castAll() {
        const n = vec.unit(this.state.vector(this.floor.normal, [0, 0, 1])), d = vec.dot(n, this.state.vector(this.floor.at, [0, 0, 0]));
        const slope = [0.35, -0.5, 1.7], light = vec.dot(n, slope) > 0.3 ? slope : n, k = 1 / vec.dot(n, light), flatten = new THREE.Matrix4();
        flatten.set(1 - k * light[0] * n[0], -k * light[0] * n[1], -k * light[0] * n[2], k * d * light[0], -k * light[1] * n[0], 1 - k * light[1] * n[1], -k * light[1] * n[2], k * d * light[1],
            -k * light[2] * n[0], -k * light[2] * n[1], 1 - k * light[2] * n[2], k * d * light[2], 0, 0, 0, 1);
        for (const [object, shadow, geometry] of this.shadows) {
            shadow.matrix.multiplyMatrices(flatten, object.matrix);
            shadow.visible = object.visible;
            shadow.geometry = geometry || object.geometry;
        }
    }

    dispose() {
        this.root.traverse((object) => {
            if (object.geometry) object.geometry.dispose();
            if (object.material) object.material.dispose();
        });
    }
}

const ROUND = () => new THREE.SphereGeometry(1, 24, 12), LINES = 1000; // what a round shadow is made of; lines come after bodies
const AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
const turned = (geometry) => geometry.rotateX(Math.PI / 2); // cylinders of three.js are along y
const ringOf = (at, radius, u, v, count) => Array.from({ length: count + 1 }, (x, i) => vec.along(at, radius * Math.cos((2 * Math.PI * i) / count), u, radius * Math.sin((2 * Math.PI * i) / count), v));
const spins = (s) => s.angle !== undefined || s.rate !== undefined || s.attitude || s.spin || s.bodyspin;

const shapes = {
    point(kit, s) {
        const mesh = kit.mesh(kit.flat ? new THREE.CircleGeometry(1, 24) : new THREE.SphereGeometry(1, 16, 12), kit.colour(s, "ink"), { plain: true });
        return (state) => {
            const at = state.vector(s.points[0]), r = (state.number(s.width, 9) / 2) * kit.perPixel(at);
            kit.place(mesh, at, AXES, r, r, r);
        };
    },
    line(kit, s) {
        const stroke = new Stroke(kit, kit.colour(s, "ink"), 2);
        if (kit.floor) kit.castLine(stroke);
        return (state) => {
            stroke.width = state.number(s.width, 2);
            stroke.set(s.points.map((x) => state.vector(x)));
        };
    },
    polygon(kit, s) {
        const colour = kit.colour(s, "blue"), count = s.points.length, geometry = new THREE.BufferGeometry();
        geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * count), 3));
        geometry.setAttribute("normal", new THREE.BufferAttribute(new Float32Array(3 * count), 3));
        const mesh = kit.mesh(geometry, kit.flat ? mix(colour, kit.background, 0.35) : colour, { opacity: kit.flat ? 1 : 0.85 }), rim = new Stroke(kit, colour, 1.5);
        kit.place(mesh, [0, 0, 0], AXES, 1, 1, 1);
        return (state) => {
            const points = s.points.map((x) => state.vector(x)), n = normalOf(points), u = lowest(n), v = vec.cross(n, u);
            geometry.setIndex(THREE.ShapeUtils.triangulateShape(points.map((p) => new THREE.Vector2(vec.dot(p, u), vec.dot(p, v))), []).flat());
            points.forEach((p, i) => { geometry.attributes.position.array.set(p, 3 * i); geometry.attributes.normal.array.set(n, 3 * i); });
            geometry.attributes.position.needsUpdate = geometry.attributes.normal.needsUpdate = true;
            rim.width = state.number(s.width, 1.5);
            rim.set([...points, points[0]]);
        };
    },
    arrow(kit, s) {
        const arrow = arrowOf(kit, s, "red");
        return (state) => arrow(state, ...s.points.map((x) => state.vector(x)));
    },
    reaction(kit, s) {
        return vectorOf(kit, s, "red");
    },
    force(kit, s) {
        return vectorOf(kit, s, "orange");
    },
    velocity(kit, s) {
        return vectorOf(kit, s, "green");
    },
    spring(kit, s) {
        const stroke = new Stroke(kit, kit.colour(s, "grey"), 2);
        return (state) => {
            const [a, b] = s.points.map((x) => state.vector(x)), turns = Math.max(1, Math.round(state.number(s.turns, 8)));
            const along = vec.sub(b, a), length = Math.hypot(...along), axis = vec.unit(along), across = kit.flat ? [-axis[1], axis[0], 0] : lowest(axis), third = vec.cross(axis, across);
            const radius = state.number(s.radius, 0.02 * kit.camera.span), points = [a], steps = kit.flat ? 2 * turns : 16 * turns;
            for (let i = 0; i <= steps; i++) {
                const on = vec.add(a, vec.scale((0.1 + (0.8 * i) / steps) * length, axis)), angle = (2 * Math.PI * turns * i) / steps;
                points.push(kit.flat ? vec.add(on, vec.scale(i === 0 || i === steps ? 0 : i % 2 ? radius : -radius, across)) : vec.along(on, radius * Math.cos(angle), across, radius * Math.sin(angle), third));
            }
            stroke.width = state.number(s.width, kit.flat ? 1.5 : 2.5);
            stroke.set([...points, b]);
        };
    },
    // The whole trace is uploaded once; what is shown of it grows.
    trace(kit, s) {
        const colour = kit.colour(s, "orange"), past = new Stroke(kit, colour, 1.5), end = new Stroke(kit, colour, 1.5), key = s.points[0];
        let uploaded = -1, window_ = null;
        const of = (state, f) => [0, 1, 2].map((k) => (key[k] === undefined ? 0 : typeof key[k] === "number" ? key[k] : state.frames[f][key[k][0]]));
        const point = (state, f) => { const p = of(state, f); return p.every(Number.isFinite) ? p : null; };
        return (state) => {
            const last = state.number(s.last, Infinity), frame = Math.min(state.frame, state.frames.length - 1), now = state.vector(key);
            past.width = end.width = state.number(s.width, 2);
            if (frame < 0) return;
            if (last < Infinity) {
                window_ = [];
                for (let f = frame; f >= 0 && state.times[f] >= state.time - last; f--) window_.unshift(point(state, f));
                past.set([...window_, now]);
                return;
            }
            if (frame > uploaded || uploaded > state.frames.length - 1) {
                uploaded = state.frames.length - 1;
                past.set(state.frames.map((x, f) => point(state, f)));
            }
            past.show(frame);
            end.set([point(state, frame), now]);
        };
    },
    circle(kit, s) {
        const stroke = new Stroke(kit, kit.colour(s, "ink"), 2);
        return (state) => {
            const [u, v] = state.body({ axis: s.axis });
            stroke.width = state.number(s.width, 2);
            stroke.set(ringOf(state.vector(s.at), state.number(s.radius), u, v, 72));
        };
    },
    disk(kit, s) {
        const colour = kit.colour(s, "blue"), plate = kit.flat ? new THREE.CircleGeometry(1, 72) : turned(new THREE.CylinderGeometry(1, 1, 1, 72)), rims = [];
        const all = [[plate, kit.flat ? mix(colour, kit.background, 0.45) : colour]];
        if (kit.flat) rims.push(new Stroke(kit, colour, 2));
        if (spins(s))
            for (const side of kit.flat ? [1] : [1, -1]) all.push([new THREE.PlaneGeometry(0.86, 0.045).translate(0.45, 0, side * 0.52), kit.tint("mark")], [new THREE.CircleGeometry(0.11, 24).translate(0.72, 0, side * 0.53), kit.tint("mark")]);
        const mesh = kit.paint(all, plate);
        return (state) => {
            const axes = state.body(s), at = state.vector(s.at), r = state.number(s.radius), thick = kit.flat ? 1e-9 : kit.thickness(s, r);
            kit.place(mesh, at, axes, r, r, thick);
            for (const rim of rims) rim.set(ringOf(at, r, axes[0], axes[1], 72));
        };
    },
    // A tyre, a rim, spokes, one of which is red, and a hub.
    wheel(kit, s) {
        const colour = kit.colour(s, "blue"), red = kit.colour({ color: "red" }), all = [], spokes = [];
        for (let i = 5; i >= 0; i--) {
            const spoke = kit.flat ? new THREE.PlaneGeometry(1, i ? 0.02 : 0.035).translate(0.5, 0, 0) : new THREE.CylinderGeometry(i ? 0.016 : 0.026, i ? 0.016 : 0.026, 0.85, 6).rotateZ(-Math.PI / 2).translate(0.425, 0, 0);
            spokes.push([spoke.rotateZ((i * Math.PI) / 3), i ? (kit.flat ? mix(colour, kit.background, 0.3) : mix(colour, "#ffffff", 0.25)) : red]);
        }
        if (kit.flat) all.push([new THREE.CircleGeometry(1, 72), mix(colour, kit.background, 0.78)], ...spokes, [new THREE.RingGeometry(0.93, 1.01, 72), colour], [new THREE.CircleGeometry(0.09, 24).translate(0.97, 0, 0), red]);
        else all.push([new THREE.TorusGeometry(0.93, 0.07, 10, 48), kit.tint("tyre")], [new THREE.TorusGeometry(0.855, 0.035, 6, 48), colour], [turned(new THREE.CylinderGeometry(0.085, 0.085, 0.2, 16)), colour], [new THREE.SphereGeometry(0.06, 12, 8).translate(0.86, 0, 0), red], ...spokes);
        const mesh = kit.paint(all, kit.floor && painted([[new THREE.TorusGeometry(0.91, 0.09, 6, 36), red], ...spokes]));
        return (state) => {
            const r = Math.abs(state.number(s.radius));
            kit.place(mesh, state.vector(s.at), state.body(s), r, r, kit.flat ? 1e-9 : r);
        };
    },
    box(kit, s) {
        const colour = kit.colour(s, "green");
        if (kit.flat) {
            const mesh = kit.mesh(new THREE.PlaneGeometry(1, 1), mix(colour, kit.background, 0.4)), rim = new Stroke(kit, colour, 1.5);
            return (state) => {
                const [u, v, w] = state.body(s), at = state.vector(s.at), size = state.vector(s.size), corner = (i, j) => vec.along(at, (i * size[0]) / 2, u, (j * size[1]) / 2, v);
                kit.place(mesh, at, [u, v, w], size[0], size[1], 1);
                rim.set([corner(1, 1), corner(-1, 1), corner(-1, -1), corner(1, -1), corner(1, 1)]);
            };
        }
        const mesh = kit.mesh(new THREE.BoxGeometry(1, 1, 1), colour), edges = new Stroke(kit, mix(colour, "#000000", 0.45), 1), half = [-0.5, 0.5];
        edges.set(half.flatMap((a) => half.flatMap((b) => [[a, b, -0.5], [a, b, 0.5], null, [a, -0.5, b], [a, 0.5, b], null, [-0.5, a, b], [0.5, a, b], null])));
        return (state) => kit.place([mesh, edges.object], state.vector(s.at), state.body(s), ...state.vector(s.size));
    },
    // A pattern of caps and a belt makes every rotation visible.
    ball(kit, s) {
        const colour = kit.colour(s, "blue"), turns = [(g) => g.rotateZ(-Math.PI / 2), (g) => g, (g) => g.rotateX(Math.PI / 2)];
        if (kit.flat) {
            const mesh = kit.paint([[new THREE.CircleGeometry(1, 72), mix(colour, kit.background, 0.2)], [new THREE.PlaneGeometry(1, 0.05).translate(0.5, 0, 0), kit.background]]), rim = new Stroke(kit, colour, 2);
            return (state) => {
                const axes = state.body(s), at = state.vector(s.at), r = Math.abs(state.number(s.radius));
                kit.place(mesh, at, axes, r, r, 1);
                rim.set(ringOf(at, r, axes[0], axes[1], 72));
            };
        }
        const all = [[new THREE.SphereGeometry(1, 40, 24), colour], [new THREE.TorusGeometry(1, 0.012, 4, 48), "#ffffff"]];
        ["#d3dae2", "#ffd24a", "#454c55"].forEach((tint, k) => {
            for (const side of [0, Math.PI]) all.push([turns[k](new THREE.SphereGeometry(1.008, 24, 4, 0, 2 * Math.PI, 0, 0.42).rotateX(side)), tint]);
        });
        const mesh = kit.paint(all, ROUND());
        return (state) => {
            const r = Math.abs(state.number(s.radius));
            kit.place(mesh, state.vector(s.at), state.body(s), r, r, r);
        };
    },
    ellipsoid(kit, s) {
        const colour = kit.colour(s, "orange");
        if (kit.flat) {
            const mesh = kit.mesh(new THREE.CircleGeometry(1, 72), mix(colour, kit.background, 0.4)), rim = new Stroke(kit, colour, 2);
            return (state) => {
                const [u, v, w] = state.body(s), at = state.vector(s.at), half = vec.scale(0.5, state.vector(s.size));
                kit.place(mesh, at, [u, v, w], half[0], half[1], 1);
                rim.set(ringOf(at, 1, vec.scale(half[0], u), vec.scale(half[1], v), 72));
            };
        }
        const mesh = kit.mesh(quartered(new THREE.SphereGeometry(1, 40, 24), colour, mix(colour, "#ffffff", 0.55)), "#ffffff", { painted: true, shadow: ROUND() });
        return (state) => kit.place(mesh, state.vector(s.at), state.body(s), ...vec.scale(0.5, state.vector(s.size)));
    },
    bowl(kit, s) {
        const colour = kit.colour(s, "grey"), make = (radius, height) => {
            const rim = Math.acos(Math.max(-1, 1 - height / radius));
            return Array.from({ length: 33 }, (x, i) => [Math.sin((rim * i) / 32), -Math.cos((rim * i) / 32)]);
        };
        return surface(kit, colour, (state) => {
            const radius = state.number(s.radius), height = state.number(s.height, radius);
            return { profile: make(radius, height).map(([a, b]) => [radius * a, radius * b]), at: state.vector(s.at) };
        });
    },
    cone(kit, s) {
        const colour = kit.colour(s, "grey");
        return surface(kit, colour, (state) => {
            const radius = state.number(s.radius), height = state.number(s.height);
            return { profile: Array.from({ length: 9 }, (x, i) => [(radius * i) / 8, (height * i) / 8]), at: state.vector(s.at) };
        });
    },
    ground(kit, s) {
        return kit.flat && s.normal ? slope(kit, s) : plane(kit, s);
    },
    camera() {},
};

// A disk on which things roll is thin, a coin is not.
SceneKit.prototype.thickness = function (s, radius) {
    const widest = this.widest === undefined ? (this.widest = Math.max(...this.state.scene.shapes.filter((one) => one.shape === "disk").map((one) => Math.abs(this.state.number(one.radius))))) : this.widest;
    const others = this.state.scene.shapes.some((one) => ["ball", "disk", "wheel", "box", "ellipsoid"].includes(one.shape) && one !== s);
    return (others && radius >= widest ? 0.01 : 0.07) * radius;
};

function arrowOf(kit, s, colourName) {
    const colour = kit.colour(s, colourName), stroke = new Stroke(kit, colour, 2), head = kit.mesh(turned(new THREE.ConeGeometry(0.45, 1, 20)).translate(0, 0, -0.5), colour, { plain: true });
    return (state, a, b) => {
        const along = vec.sub(b, a), length = Math.hypot(...along), width = state.number(s.width, 2), w = vec.unit(along);
        stroke.object.visible = head.visible = length > 0;
        if (!(length > 0)) return;
        const size = Math.min((4 * width + 4) * kit.perPixel(b), length), u = lowest(w);
        stroke.width = width;
        stroke.set([a, vec.sub(b, vec.scale(0.9 * size, w))]);
        kit.place(head, b, [u, vec.cross(w, u), w], size, size, size);
    };
}

// A force or a velocity: the largest of the motion is a quarter of what is seen, unless the model has a scale.
function vectorOf(kit, s, colourName) {
    const arrow = arrowOf(kit, { width: 3, ...s }, colourName), velocities = s.shape === "velocity", shown = { text: "", from: null, to: null };
    kit.vectors.push(shown);
    return (state) => {
        const at = state.vector(s.at), vector = state.vector(s.vector), size = Math.hypot(...vector), most = state.largestVector(velocities);
        const scale = s.scale === undefined ? (most > 0 ? (0.25 * kit.camera.span) / 1.2 / most : 0) : state.number(s.scale);
        const to = vec.add(at, vec.scale(scale, vector));
        arrow(state, at, Number.isFinite(size) ? to : at);
        Object.assign(shown, { from: at, to, text: (s.name || s.shape) + ": " + Number(size.toPrecision(4)) });
    };
}

function normalOf(points) {
    let n = [0, 0, 0];
    points.forEach((p, i) => { n = vec.add(n, vec.cross(p, points[(i + 1) % points.length])); });
    return vec.unit(n);
}

function painted(bodies) {
    const parts = bodies.map(([geometry, colour]) => [geometry, onScreen(colour)]), whole = new THREE.BufferGeometry(), corners = [];
    let before = 0;
    for (const [one] of parts) {
        const count = one.attributes.position.count;
        corners.push(...Array.from(one.index ? one.index.array : { length: count }, (corner, i) => before + (one.index ? corner : i)));
        before += count;
    }
    whole.setIndex(corners);
    for (const name of ["position", "normal"]) whole.setAttribute(name, new THREE.BufferAttribute(Float32Array.from(parts.flatMap(([one]) => Array.from(one.attributes[name].array))), 3));
    whole.setAttribute("color", new THREE.BufferAttribute(Float32Array.from(parts.flatMap(([one, colour]) => Array.from({ length: one.attributes.position.count }, () => colour.toArray()).flat())), 3));
    return whole;
}

// A body of two colours, which change at the planes of its axes.
function quartered(geometry, one, other) {
    const whole = painted([[geometry.toNonIndexed(), one]]), at = whole.attributes.position, tint = onScreen(other);
    for (let face = 0; face < at.count; face += 3) {
        const middle = (k) => at.getComponent(face, k) + at.getComponent(face + 1, k) + at.getComponent(face + 2, k);
        for (let i = 0; i < 3 && middle(0) > 0 === middle(2) > 0; i++) tint.toArray(whole.attributes.color.array, 3 * (face + i));
    }
    return whole;
}

// A surface of revolution about the vertical, which one can look through; in the plane, its section.
function surface(kit, colour, profileOf) {
    const lines = [], count = kit.flat ? 1 : 14;
    let mesh = null, made = "";
    for (let i = 0; i < count; i++) lines.push(new Stroke(kit, i ? mix(colour, kit.background, 0.35) : colour, i ? 1 : 2));
    return (state) => {
        const { profile, at } = profileOf(state), key = JSON.stringify([profile, at]);
        const up = kit.flat ? [0, 1, 0] : [0, 0, 1], on = (a, [r, h]) => vec.along(at, h, up, r, kit.flat ? [a ? -1 : 1, 0, 0] : [Math.cos(a), Math.sin(a), 0]);
        if (kit.flat) {
            lines[0].set([...profile.map((p) => on(Math.PI, p)).reverse(), ...profile.map((p) => on(0, p))]);
            return;
        }
        if (key === made) return;
        if (mesh) { kit.root.remove(mesh); mesh.geometry.dispose(); }
        mesh = kit.mesh(turned(new THREE.LatheGeometry(profile.map(([r, h]) => new THREE.Vector2(r, h)), 64)), colour, { opacity: 0.22, casts: false });
        made = key;
        kit.place(mesh, at, AXES, 1, 1, 1);
        const edge = profile.length - 1;
        lines.forEach((line, i) => {
            if (i < 4) line.set(Array.from({ length: 73 }, (x, k) => on((k * Math.PI) / 36, profile[Math.round((edge * (4 - i)) / 4)])));
            else line.set(profile.map((p) => on(((i - 4) * 2 * Math.PI) / (count - 4), p)));
        });
    };
}

// The ground: a grid that fades into the background. In the plane, lines only.
function plane(kit, s) {
    const tone = kit.colour(s, "grey"), fixed = s.width !== undefined, unit_ = (raw) => { const power = Math.pow(10, Math.floor(Math.log10(raw))); return (raw / power > 5 ? 5 : raw / power > 2 ? 2 : 1) * power; };
    const material = gridPaint(kit.flat, { ink: mix(tone, kit.background, kit.flat ? 0.68 : 0.45), surface: kit.flat ? kit.background : mix(tone, kit.background, kit.dark ? 0.86 : 0.84), far: kit.background });
    const mesh = kit.add(new THREE.Mesh(new THREE.PlaneGeometry(2, 2), material), -10), { centre, reach, pixel } = material.uniforms;
    mesh.frustumCulled = false;
    return (state) => {
        const camera = kit.camera, n = vec.unit(state.vector(s.normal, [0, 0, 1])), point = state.vector(s.at, [0, 0, 0]);
        const u = kit.flat || Math.abs(n[2]) > 0.999 ? [1, 0, 0] : vec.unit(vec.cross([0, 0, 1], n)), v = vec.cross(n, u);
        const far = fixed ? state.number(s.width) / 2 : camera.span * (kit.flat ? 1 : 2.2), unit = unit_((fixed ? far : camera.span * 0.75) / 8);
        const off = vec.sub(camera.at, point), middle = fixed ? point : vec.sub(camera.at, vec.scale(vec.dot(off, n), n)), from = vec.sub(middle, point);
        centre.value.set(vec.dot(from, u) / unit, vec.dot(from, v) / unit);
        reach.value = far / unit;
        pixel.value = 1 / (camera.scale * unit);
        kit.place(mesh, middle, [u, v, n], far, far, 1);
    };
}

// In the plane, with a normal: a line with hatching below it.
function slope(kit, s) {
    const colour = kit.colour(s, "grey"), line = new Stroke(kit, colour, 2), hatch = new Stroke(kit, mix(colour, kit.background, 0.4), 1);
    return (state) => {
        const n = vec.unit(state.vector(s.normal)), u = [n[1], -n[0], 0], at = state.vector(s.at, [0, 0, 0]), reach = kit.camera.span, step = reach / 30;
        const middle = Math.round(vec.dot(vec.sub(kit.camera.at, at), u) / step), on = (k) => vec.along(at, (middle + k) * step, u, 0, n), all = [];
        line.set([on(-30), on(30)]);
        for (let k = -30; k <= 30; k++) all.push(on(k), vec.along(on(k), -0.7 * step, u, -0.7 * step, n), null);
        hatch.set(all);
    };
}
