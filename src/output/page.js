// Draws panels {title, x, y, xlog, ylog, equal, curves: [{name, xs, ys, upper, colour, dash, marked, dots, guide, faint,
// cloud, bars}]} with uPlot. Functions of x are drawn by uPlot itself and share their cursor; paths (x goes back and forth) by
// our own function. `data-error` on the root element says what went wrong.
"use strict";
window.onerror = (message) => { document.documentElement.dataset.error = message; };

function shortNumber(v) {
    if (v === null || v === undefined) return "";
    if (v === 0) return "0";
    const size = Math.abs(v);
    if (size >= 1e5 || size < 1e-3) return v.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
    return String(Number(v.toPrecision(6)));
}

// Ticks of a logarithmic axis: powers of ten, every second or third if there are many, and values between them if
// there are few. uPlot's own ticks never end if round-off errors lie below 1e-22.
function logTicks(low, high) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), step = Math.ceil((last - first + 1) / 9);
    const ticks = [], parts = last > first ? [1] : [1, 2, 5];
    for (let e = first - 1; e <= last; e++)
        for (const part of parts)
            if (part > 1 || e % step === 0) ticks.push(Number(part + "e" + e));
    const inside = ticks.filter((v) => v >= low * 0.999999 && v <= high * 1.000001);
    return inside.length > 1 ? inside : [low, high];
}

function rises(curve) {
    if (curve.cloud) return false;
    for (let i = 1; i < curve.xs.length; i++)
        if (curve.xs[i] === null || curve.xs[i - 1] === null || curve.xs[i] < curve.xs[i - 1]) return false;
    return true;
}

function drawPath(u, index) {
    uPlot.orient(u, index, (series, xs, ys, scaleX, scaleY, toX, toY, left, top, width, height, moveTo, lineTo) => {
        const [x, y] = u.data[index], path = new Path2D();
        let down = false;
        if (series.cloud) {
            u.ctx.save();
            u.ctx.fillStyle = series.colour;
            const size = 2 * devicePixelRatio;
            for (let i = 0; i < x.length; i++)
                if (x[i] !== null && y[i] !== null)
                    u.ctx.fillRect(toX(x[i], scaleX, width, left) - size / 2, toY(y[i], scaleY, height, top) - size / 2, size, size);
            u.ctx.restore();
            return;
        }
        for (let i = 0; i < x.length; i++) {
            if (x[i] === null || y[i] === null) { down = false; continue; }
            (down ? lineTo : moveTo)(path, toX(x[i], scaleX, width, left), toY(y[i], scaleY, height, top));
            down = true;
        }
        u.ctx.save();
        u.ctx.beginPath();
        u.ctx.rect(left, top, width, height);
        u.ctx.clip();
        u.ctx.strokeStyle = series.colour;
        u.ctx.lineWidth = series.width * devicePixelRatio;
        u.ctx.setLineDash(series.dash || []);
        u.ctx.stroke(path);
        u.ctx.restore();
    });
    return null;
}

function axis(label, isLog, size) {
    const dark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;
    const one = { label: label, labelSize: 20, values: (u, splits) => splits.map(shortNumber), size: size,
        stroke: () => (dark() ? "#ddd" : "#222"), grid: { stroke: () => (dark() ? "#3a3d42" : "#e4e4e4") } };
    if (isLog) {
        one.splits = (u, index, low, high) => (low > 0 && high < Infinity ? logTicks(low, high) : []);
        one.filter = (u, splits) => splits;
        one.grid.filter = one.filter;
        one.ticks = { filter: one.filter };
    }
    return one;
}

function scale(isLog, range) {
    const one = { time: false };
    if (isLog) { one.distr = 3; one.log = 10; }
    if (range && range[0] > range[1]) one.dir = -1;
    if (range) one.range = [Math.min(...range), Math.max(...range)];
    return one;
}

function seriesOf(curve) {
    return {
        label: curve.name || " ", stroke: curve.colour, colour: curve.colour, cloud: curve.cloud,
        width: curve.upper || curve.dots ? 0 : curve.guide || curve.faint ? 0.7 : 1.4,
        dash: curve.guide ? [4, 4] : curve.dash, spanGaps: true, points: { show: curve.marked, size: curve.dots ? 9 : 5 },
        value: (u, v) => (v === null || v === undefined ? "-" : shortNumber(v)),
    };
}

function options(panel, width) {
    return {
        title: panel.title, width: width, height: Math.round(width * 0.62),
        axes: [axis(panel.x, panel.xlog, 32), axis(panel.y, panel.ylog, 64)],
        scales: { x: scale(panel.xlog, panel.xrange), y: scale(panel.ylog, panel.yrange) },
        cursor: { sync: { key: panel.x + panel.xlog }, drag: { x: true, y: true, uni: 30 } },
    };
}

function drawFunctions(panel, curves, place, width) {
    const edges = curves.flatMap((c) => (c.upper ? [c, { ...c, name: c.name + ", upper edge", ys: c.upper }] : [c]));
    const data = uPlot.join(edges.map((c) => [c.xs, c.ys]));
    const all = options(panel, width);
    all.series = [{ label: panel.x, value: (u, v) => shortNumber(v) }].concat(edges.map((c) => (
        c.bars ? { ...seriesOf(c), fill: c.colour + "b0", paths: uPlot.paths.bars({ size: [0.95, Infinity] }) } : seriesOf(c))));
    all.bands = edges.flatMap((c, i) => (c.upper && c.ys !== c.upper ? [{ series: [i + 2, i + 1], fill: c.colour + "30" }] : []));
    return new uPlot(all, data, place);
}

// Ranges in which a unit has the same length in both directions.
function equalRanges(curves, width, height) {
    const range = (key) => {
        const values = curves.flatMap((c) => c[key]).filter((v) => v !== null);
        return values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
    };
    const x = range("xs"), y = range("ys"), unit = 1.08 * Math.max((x[1] - x[0]) / (width - 100), (y[1] - y[0]) / (height - 90)) || 1;
    const around = (r, pixels) => [(r[0] + r[1] - unit * pixels) / 2, (r[0] + r[1] + unit * pixels) / 2];
    return { x: around(x, width - 100), y: around(y, height - 90) };
}

function drawPaths(panel, curves, place, width) {
    const all = options(panel, width);
    if (panel.equal) {
        const ranges = (u) => equalRanges((u.data || []).slice(1).map(([xs, ys]) => ({ xs, ys })), u.width, u.height);
        let zoomed = false; // from the selection of a part until a double click
        for (const axis of ["x", "y"]) all.scales[axis].range = (u, low, high) => (zoomed ? [low, high] : ranges(u)[axis]);
        all.hooks = { setSelect: [(u) => { zoomed = zoomed || u.select.width > 0; }] };
        place.addEventListener("dblclick", () => { zoomed = false; }, true);
    }
    all.mode = 2;
    all.cursor = { drag: { x: true, y: true, uni: 30 } };
    all.legend = { live: false };
    const facets = [{ scale: "x", auto: true }, { scale: "y", auto: true }];
    all.series = [null].concat(curves.map((c) => ({ ...seriesOf(c), facets: facets, paths: drawPath })));
    return new uPlot(all, [null].concat(curves.map((c) => [c.xs, c.ys])), place);
}
