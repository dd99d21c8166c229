// How the parts of a scene are coloured: bodies lit by the sky and a sun, and lines of constant width in pixels. The shaders
// are our own: those of three.js compute much that our scenes do not have, and a computer without a graphics processor runs
// them for every pixel.
"use strict";

// Colours are those of the screen. Light adds up, so they are turned into light and back, by formulas without powers which
// are off by less than a hundredth. `simple` bodies are lit at their corners only.
const bodyCode = {
    light: `uniform vec3 tint;
        vec3 lit(vec3 colour, vec3 n, vec3 eye) {
            const vec3 sun = vec3(0.194, -0.276, 0.941);
            n = faceforward(n, -eye, n);
            float facing = max(dot(n, sun), 0.0), gleam = 0.09 * facing * pow(max(dot(n, normalize(sun + eye)), 0.0), 40.0);
            vec3 light = colour * (0.573 * facing + mix(vec3(0.33, 0.36, 0.4), vec3(0.732), 0.5 + 0.5 * n.z)) + gleam, a = sqrt(light), b = sqrt(a);
            return clamp(0.585 * a + 0.783 * b - 0.368 * sqrt(b), 0.0, 1.0);
        }
        `,
    vertex: `varying vec3 shown, normal_, eye_;
        void main() {
            vec4 at = modelMatrix * vec4(position, 1.0), seen = viewMatrix * at;
            shown = tint;
            #ifdef USE_COLOR
            shown *= color;
            #endif
            #ifndef PLAIN
            shown *= shown * (0.305 * shown + 0.682) + 0.013;
            normal_ = normalize((vec4(normalMatrix * normal, 0.0) * viewMatrix).xyz);
            eye_ = isOrthographic ? vec3(viewMatrix[0].z, viewMatrix[1].z, viewMatrix[2].z) : cameraPosition - at.xyz;
            #ifdef SIMPLE
            shown = lit(shown, normal_, normalize(eye_));
            #endif
            #endif
            gl_Position = projectionMatrix * seen;
        }`,
    fragment: `uniform float opacity;
        varying vec3 shown, normal_, eye_;
        void main() {
            #if defined(PLAIN) || defined(SIMPLE)
            gl_FragColor = vec4(shown, opacity);
            #else
            gl_FragColor = vec4(lit(shown, normalize(normal_), normalize(eye_)), opacity);
            #endif
        }`,
};

const onScreen = (colour) => new THREE.Color(colour).convertLinearToSRGB();

// Of a body, with the kinds of materials of three.js as `more`; its colours are those of its corners if it is `painted`.
function bodyPaint(colour, { plain, simple, painted, opacity = 1, ...more }) {
    const defines = plain ? { PLAIN: 1 } : simple ? { SIMPLE: 1 } : {};
    return new THREE.ShaderMaterial({ defines, uniforms: { tint: { value: onScreen(colour) }, opacity: { value: opacity } }, vertexShader: bodyCode.light + bodyCode.vertex, fragmentShader: bodyCode.light + bodyCode.fragment,
        vertexColors: Boolean(painted), transparent: opacity < 1, side: THREE.DoubleSide, forceSinglePass: true, ...more });
}

// A grid of lines, every fifth of them strong; all of it is drawn again for every picture, so each operation counts. In the
// plane a pixel has a known size and nothing fades.
const gridCode = {
    vertex: `uniform vec2 centre;
        uniform float reach;
        varying vec2 place;
        void main() {
            place = centre + reach * position.xy;
            gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
        }`,
    fragment: `uniform vec3 ink, surface, far;
        uniform vec2 centre;
        uniform float reach, pixel;
        varying vec2 place;
        void main() {
            #ifdef FLAT
            vec2 one = vec2(pixel);
            #else
            vec2 one = max(fwidth(place), 1e-6);
            #endif
            vec2 many = 1.0 / one, thin = abs(fract(place - 0.5) - 0.5) * many, strong = abs(fract(0.2 * place - 0.5) - 0.5) * 5.0 * many;
            float dense = 3.0 * max(one.x, one.y), line = max(0.45 * max(1.0 - min(thin.x, thin.y), 0.0) * max(1.0 - dense, 0.0), max(1.0 - min(strong.x, strong.y), 0.0) * max(1.0 - 0.2 * dense, 0.0));
            vec3 colour = mix(surface, ink, line);
            #ifndef FLAT
            colour = mix(colour, far, smoothstep(0.3, 1.0, length(place - centre) / reach));
            #endif
            gl_FragColor = vec4(colour, 1.0);
        }`,
};

function gridPaint(flat, colours) {
    const uniforms = { centre: { value: new THREE.Vector2() }, reach: { value: 1 }, pixel: { value: 1 } };
    for (const [name, colour] of Object.entries(colours)) uniforms[name] = { value: onScreen(colour) };
    return new THREE.ShaderMaterial({ defines: flat ? { FLAT: 1 } : {}, uniforms, vertexShader: gridCode.vertex, fragmentShader: gridCode.fragment, depthWrite: false, depthTest: false, side: THREE.DoubleSide });
}

// Each piece of a line is a rectangle in the plane of the picture, somewhat longer than the piece, with soft edges. What lies
// behind the camera is cut off; `GAP` marks points that are none.
const GAP = 1e30;
const lineCode = {
    vertex: `attribute vec3 to;
        uniform vec2 resolution;
        uniform float width;
        varying vec2 across;
        void main() {
            gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
            if (max(position.x, to.x) > 1e29) return;
            vec4 a = modelViewMatrix * vec4(position, 1.0), b = modelViewMatrix * vec4(to, 1.0);
            if (!isOrthographic) {
                float near = projectionMatrix[3].z / (1.0 - projectionMatrix[2].z) * 1.001;
                if (a.z > near && b.z < near) a = mix(b, a, (near - b.z) / (a.z - b.z));
                else if (b.z > near && a.z < near) b = mix(a, b, (near - a.z) / (b.z - a.z));
            }
            a = projectionMatrix * a;
            b = projectionMatrix * b;
            vec2 along = (b.xy / b.w - a.xy / a.w) * resolution;
            along = dot(along, along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
            float reach = 0.5 * width + 0.5, end = (gl_VertexID & 1) == 0 ? -1.0 : 1.0, side = (gl_VertexID & 2) == 0 ? -reach : reach;
            vec4 at = end < 0.0 ? a : b;
            at.xy += (side * vec2(-along.y, along.x) + end * 0.5 * width * along) * 2.0 / resolution * at.w;
            across = vec2(side, 1.0) * at.w;
            gl_Position = at;
        }`,
    fragment: `uniform vec3 tint;
        uniform float opacity, width;
        varying vec2 across;
        void main() { gl_FragColor = vec4(tint, opacity * clamp(0.5 * width + 0.5 - abs(across.x / across.y), 0.0, 1.0)); }`,
};

function linePaint(colour, { opacity = 1, ...more }) {
    return new THREE.ShaderMaterial({ uniforms: { tint: { value: onScreen(colour) }, opacity: { value: opacity }, width: { value: 1 }, resolution: { value: new THREE.Vector2(1, 1) } },
        vertexShader: lineCode.vertex, fragmentShader: lineCode.fragment, side: THREE.DoubleSide, ...more });
}

// A line through any number of points.
class Stroke {
    constructor(kit, colour, width) {
        this.room = 0;
        this.material = linePaint(colour, { blending: THREE.CustomBlending, transparent: !kit.flat, depthTest: !kit.flat, depthWrite: false });
        this.object = new THREE.Mesh(new THREE.BufferGeometry(), this.material);
        this.object.frustumCulled = this.object.visible = false;
        this.width = width;
        kit.strokes.push(this);
        kit.add(this.object, kit.flat ? kit.order : LINES + kit.order);
    }

    set width(pixels) {
        this.material.uniforms.width.value = pixels;
    }

    // Points may be interrupted by null.
    set(points) {
        const pieces = points.length - 1;
        if (pieces > this.room) this.makeRoom(2 * pieces);
        this.show(pieces);
        if (!(pieces > 0)) return;
        const { data } = this.object.geometry.attributes.position, array = data.array;
        points.forEach((p, i) => {
            for (let k = 12 * i; k < 12 * i + 12; k++) array[k] = p ? p[k % 3] : GAP;
        });
        data.needsUpdate = true;
    }

    // Every point is there four times. The corners of a piece are those of the point where it begins; those of the next point,
    // in the same array, say where it ends. (Instances would be drawn one by one where there is no graphics processor.)
    makeRoom(pieces) {
        const geometry = new THREE.BufferGeometry(), data = new THREE.InterleavedBuffer(new Float32Array(12 * (pieces + 1)), 3);
        geometry.setIndex(Array.from({ length: 6 * pieces }, (x, i) => 4 * Math.floor(i / 6) + [0, 1, 2, 2, 1, 3][i % 6]));
        geometry.setAttribute("position", new THREE.InterleavedBufferAttribute(data, 3, 0));
        geometry.setAttribute("to", new THREE.InterleavedBufferAttribute(data, 3, 12));
        this.room = pieces;
        this.object.geometry.dispose();
        this.object.geometry = geometry;
    }

    // Only the first pieces of what was set.
    show(pieces) {
        this.object.visible = pieces > 0;
        this.object.geometry.setDrawRange(0, Math.max(0, 6 * pieces));
    }
}
