// Pictures as SVG: panels of curves, and the scene as it is drawn, as an embedded picture.
"use strict";

const svgNumber = (x) => String(Math.round(x * 100) / 100);
const svgText = (text) => String(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");

// What tracePath of page.js writes to.
class SvgPath {
    constructor() { this.text = ""; }
    moveTo(x, y) { this.text += "M" + svgNumber(x) + " " + svgNumber(y); }
    lineTo(x, y) { this.text += "L" + svgNumber(x) + " " + svgNumber(y); }
}

function svgOfScene(view, width, height) {
    const canvas = document.createElement("canvas"), still = Object.assign(Object.create(SceneView.prototype), { canvas, options: { width, height, ratio: 2, best: true }, state: view.state, camera: view.camera, kit: null });
    still.draw(view.time);
    still.forget();
    return '<image width="' + width + '" height="' + height + '" href="' + canvas.toDataURL("image/png") + '"/>';
}

// About `count` round numbers from low to high; powers of ten for a logarithmic axis.
function roundTicks(low, high, count, log) {
    if (log) {
        const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9), step = Math.max(1, Math.ceil((to - from) / count));
        return Array.from({ length: Math.max(0, Math.floor((to - from) / step) + 1) }, (x, i) => Math.pow(10, from + i * step));
    }
    const raw = (high - low) / count, power = Math.pow(10, Math.floor(Math.log10(raw))), step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) || 10);
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (x, i) => (first + i) * step);
}

// A panel {title, x, y, ylog, equal, curves} as in page.js, in a box of the given size.
function svgOfPanel(panel, width, height, ink) {
    const finite = (list, log) => list.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0));
    const range = (key, log) => {
        const all = finite(panel.curves.flatMap((c) => Array.from(c[key])), log), low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
        if (!(low <= high)) return log ? [0.1, 1] : [0, 1];
        return low < high ? [low, high] : log ? [low / 10, low * 10] : [low - 1, low + 1];
    };
    const box = { left: 70, top: 28, width: width - 86, height: height - 76 };
    let xr = range("xs", false), yr = range("ys", panel.ylog);
    if (panel.equal) {
        const unit = 1.08 * Math.max((xr[1] - xr[0]) / box.width, (yr[1] - yr[0]) / box.height), around = (r, size) => [(r[0] + r[1] - unit * size) / 2, (r[0] + r[1] + unit * size) / 2];
        [xr, yr] = [around(xr, box.width), around(yr, box.height)];
    }
    const up = (v) => (panel.ylog ? Math.log10(v / yr[0]) / Math.log10(yr[1] / yr[0]) : (v - yr[0]) / (yr[1] - yr[0]));
    const toX = (v) => box.left + ((v - xr[0]) / (xr[1] - xr[0])) * box.width, toY = (v) => box.top + (1 - up(v)) * box.height;
    const out = [], label = (x, y, text, anchor) => out.push('<text x="' + svgNumber(x) + '" y="' + svgNumber(y) + '" text-anchor="' + anchor + '" fill="' + ink + '">' + svgText(text) + "</text>");
    const grid = (a, b, c, d) => out.push('<path d="M' + [a, b].map(svgNumber).join(" ") + "L" + [c, d].map(svgNumber).join(" ") + '" stroke="#8886" fill="none"/>');
    for (const v of roundTicks(xr[0], xr[1], 6, false)) { grid(toX(v), box.top, toX(v), box.top + box.height); label(toX(v), box.top + box.height + 16, shortNumber(v), "middle"); }
    for (const v of roundTicks(yr[0], yr[1], 5, panel.ylog)) { grid(box.left, toY(v), box.left + box.width, toY(v)); label(box.left - 6, toY(v) + 4, shortNumber(v), "end"); }
    label(box.left + box.width / 2, 18, panel.title, "middle");
    let across = box.left;
    for (const c of panel.curves) {
        const line = tracePath(new SvgPath(), panel.path ? pathPixels(c, toX, toY) : pixelsOf(c, c.xs, c.ys, toX, toY)).text;
        const path = '<path d="' + line + '" fill="none" stroke="' + svgText(c.colour) + '" stroke-width="' + (c.cloud ? 2 : 1.3) + '" stroke-linecap="round" stroke-linejoin="round"/>';
        out.push(path, '<text x="' + svgNumber(across) + '" y="' + svgNumber(height - 12) + '" fill="' + svgText(c.colour) + '">' + svgText(c.name) + "</text>");
        across += 14 + 7 * c.name.length;
    }
    return out.join("\n");
}

// Pieces side by side, wrapped after `columns`.
function svgSheet(pieces, width, height, columns, ground) {
    const rows = Math.ceil(pieces.length / columns), size = [columns * width, rows * height];
    const body = pieces.map((piece, i) => '<svg x="' + (i % columns) * width + '" y="' + Math.floor(i / columns) * height + '" width="' + width + '" height="' + height + '">\n' + piece + "\n</svg>");
    return '<svg xmlns="http://www.w3.org/2000/svg" width="' + size[0] + '" height="' + size[1] + '" viewBox="0 0 ' + size.join(" ") + '" font-family="sans-serif" font-size="12">\n' +
        '<rect width="100%" height="100%" fill="' + ground + '"/>\n' + body.join("\n") + "\n</svg>\n";
}
