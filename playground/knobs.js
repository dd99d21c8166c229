// Parameters as sliders, and the start as numbers that can be dragged.
"use strict";

const asTyped = (value) => String(Number(value.toPrecision(12)));

// Where a slider begins and ends: around the value of the model, on its side of zero.
function sliderRange(value) {
    if (value === 0) return [-1, 1];
    return value > 0 ? [0, 3 * value] : [3 * value, 0];
}

class Knobs {
    // `changed` is called without arguments; values that differ from the model's are in the Map `own`.
    constructor(place, changed) {
        Object.assign(this, { place, changed, own: new Map(), shown: "", rows: new Map() });
    }

    clear() {
        this.own.clear();
        this.shown = "";
    }

    get empty() {
        return this.rows.size === 0;
    }

    set(name, value) {
        if (!Number.isFinite(value)) return;
        this.own.set(name, value);
        this.mark(name);
        this.changed();
    }

    mark(name) {
        const row = this.rows.get(name);
        if (row) row.box.classList.toggle("own", this.own.has(name));
    }

    // Rows for these names; existing rows stay, so that a slider does not disappear while it is being dragged.
    show(items, make) {
        const names = JSON.stringify(items.map((one) => one.name));
        if (names !== this.shown) {
            this.place.textContent = "";
            this.rows.clear();
            for (const one of items) this.rows.set(one.name, make(one));
            this.shown = names;
        }
        for (const one of items) {
            const row = this.rows.get(one.name);
            if (document.activeElement !== row.number) row.number.value = asTyped(this.own.has(one.name) ? this.own.get(one.name) : Number(one.value.toPrecision(7)));
            if (row.slider && document.activeElement !== row.slider) row.slider.value = one.value;
            this.mark(one.name);
        }
    }
}

// Assignments as `nonholo run --start` wants them. The numbers of a rotation, which get length 1, and those of its body rate are
// given together; `values` has those that nobody has set.
function assignments(own, values) {
    const whole = new Map(), number = (name) => (own.has(name) ? own.get(name) : values.has(name) ? values.get(name) : Number(name.endsWith(".0")));
    for (const [name, value] of own) {
        const [, rotation, rate] = /^(.*)\.(w?)\d$/.exec(name) || [];
        if (rotation === undefined) whole.set(name, value);
        else {
            const list = (rate ? ["w1", "w2", "w3"] : [0, 1, 2, 3]).map((k) => number(rotation + "." + k)), length = rate ? 1 : Math.hypot(...list) || 1;
            whole.set(rate ? "body(" + rotation + ")" : rotation, "(" + list.map((x) => x / length).join(", ") + ")");
        }
    }
    return [...whole].map(([name, value]) => name + "=" + value);
}

function knobRow(knobs, one, plain) {
    const box = element("div", { className: plain ? "knob plain" : "knob" }, knobs.place);
    const label = element("label", { textContent: printed(one.name), title: one.name }, box);
    const slider = plain ? null : element("input", { type: "range" }, box);
    const number = element("input", { inputMode: "decimal", ariaLabel: one.name }, box);
    number.dataset.name = one.name;
    number.onchange = () => {
        const value = Number(number.value);
        if (number.value.trim() !== "" && Number.isFinite(value)) knobs.set(one.name, value);
        if (slider) slider.value = number.value;
    };
    return { box, label, slider, number };
}

// Parameters: `whole` says which of them are whole numbers.
function showParameters(knobs, parameters, whole) {
    knobs.show(parameters, (one) => {
        const row = knobRow(knobs, one, false), [low, high] = sliderRange(one.value), integer = whole(one.name);
        Object.assign(row.slider, { min: low, max: integer ? Math.max(high, one.value + 10) : high, step: integer ? 1 : (high - low) / 300, ariaLabel: one.name });
        row.slider.dataset.name = one.name;
        row.slider.setAttribute("aria-label", one.name);
        row.slider.value = one.value;
        row.slider.oninput = () => {
            row.number.value = asTyped(Number(row.slider.value));
            knobs.set(one.name, Number(row.slider.value));
        };
        return row;
    });
}

function showStart(knobs, names, values) {
    knobs.show(names.map((name, i) => ({ name, value: values[i] === null ? 0 : values[i] })), (one) => {
        const row = knobRow(knobs, one, true);
        let held = null;
        row.label.onpointerdown = (e) => {
            held = { x: e.clientX, value: Number(row.number.value) || 0 };
            row.label.setPointerCapture(e.pointerId);
            e.preventDefault();
        };
        row.label.onpointermove = (e) => {
            if (!held) return;
            const size = Math.max(0.1, Math.abs(held.value)), value = held.value + ((e.clientX - held.x) / 200) * size;
            row.number.value = asTyped(Number(value.toPrecision(4)));
            knobs.set(one.name, Number(row.number.value));
        };
        row.label.onpointerup = row.label.onpointercancel = () => { held = null; };
        return row;
    });
}

if (typeof module !== "undefined") module.exports = { assignments };
