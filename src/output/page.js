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

// Marks of an axis, with as many digits as they need to differ; where these are too many, those after the first say by how
// much they are larger.
function markTexts(splits) {
    const known = splits.filter((v) => v !== null && v !== undefined), step = known.length > 1 ? Math.abs(known[1] - known[0]) : 0;
    const digits = step > 0 ? Math.ceil(Math.log10(Math.max(...known.map(Math.abs)) / step)) + 1 : 0;
    if (!(digits > 6)) return splits.map(shortNumber);
    const first = known[0];
    return splits.map((v) => (v === null || v === undefined ? "" : v === first || digits <= 8 ? String(Number(v.toPrecision(Math.min(digits, 15)))) : "+" + shortNumber(Number((v - first).toPrecision(3)))));
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

// What is drawn of a function where it has more points than a picture has pixels: of each column of pixels, the first and
// the last point and those with the least and the greatest value, so that what is drawn covers what was computed. `points`
// are [x, y] in pixels, null at a gap; joined(i) says whether the line from point i - 1 to point i is drawn. Of the pieces
// into which gaps divide a column, those in between are one stroke. The answer is a list of points, with null at gaps.
function seenPoints(points, joined) {
    const out = [];
    let pieces = [], column = NaN, open = false;
    const put = (i) => { if (i === null ? out.length && out[out.length - 1] !== null : out[out.length - 1] !== i) out.push(i); };
    const take = (piece, i) => {
        if (points[i][1] < points[piece.low][1]) piece.low = i;
        if (points[i][1] > points[piece.high][1]) piece.high = i;
    };
    const flush = () => {
        pieces.forEach((piece, k) => {
            if (k) put(null);
            const some = k === 1 && pieces.length === 3 ? [piece.low, piece.high] : [piece.first, piece.low, piece.high, piece.last];
            some.sort((a, b) => a - b).forEach(put);
        });
        pieces = [];
    };
    points.forEach((p, i) => {
        if (p === null) { open = false; return; }
        const at = Math.floor(p[0]), goes = open && joined(i);
        if (at !== column) flush();
        if (at === column && goes) {
            const piece = pieces[pieces.length - 1];
            piece.last = i;
            take(piece, i);
            return;
        }
        if (at !== column && !goes) put(null);
        if (pieces.length === 3) {
            take(pieces[1], pieces[2].low);
            take(pieces[1], pieces[2].high);
            pieces.pop();
        }
        pieces.push({ first: i, low: i, high: i, last: i });
        [column, open] = [at, true];
    });
    flush();
    return out.map((i) => (i === null ? null : points[i]));
}

// The greatest value of each column of pixels: for errors on a logarithmic scale, which have no lower end where they change
// their sign.
function greatestPoints(points) {
    const out = [];
    for (const p of points) {
        const last = out[out.length - 1];
        if (p === null) continue;
        if (!last || Math.floor(last[0]) !== Math.floor(p[0])) out.push(p);
        else if (p[1] < last[1]) last[1] = p[1];
    }
    return out;
}

// A curve in pixels; values that are undefined are those of other curves.
function pixelsOf(curve, xs, ys, toX, toY) {
    const points = [], values = [];
    for (let i = 0; i < xs.length; i++) {
        if (ys[i] === undefined) continue;
        points.push(ys[i] === null ? null : [toX(xs[i]), toY(ys[i])]);
        values.push(ys[i]);
    }
    return curve.greatest ? greatestPoints(points) : seenPoints(points, (i) => !(curve.turns && Math.abs(values[i] - values[i - 1]) > Math.PI));
}

// A path in pixels: points of a cloud are strokes of no length.
function pathPixels(curve, toX, toY) {
    const turned = (key, list, i) => curve.turns && curve.turns[key] && Math.abs(list[i] - list[i - 1]) > Math.PI;
    return Array.from(curve.xs).flatMap((x, i) => {
        const y = curve.ys[i];
        if (x === null || y === null) return [null];
        const p = [toX(x), toY(y)];
        if (curve.cloud) return [null, p, p];
        return i && (turned("x", curve.xs, i) || turned("y", curve.ys, i)) ? [null, p] : [p];
    });
}

function tracePath(path, points) {
    let down = false;
    for (const p of points) {
        if (p) path[down ? "lineTo" : "moveTo"](p[0], p[1]);
        down = p !== null;
    }
    return path;
}

// As uPlot wants its paths.
function pathOf(u, index, first, last) {
    const curve = u.series[index].curve, [xs, ys] = [u.data[0], u.data[index]];
    let from = Math.max(0, first - 1), to = Math.min(xs.length, last + 2);
    while (from > 0 && ys[from] === undefined) from--; // the line goes on to points that are not in sight
    while (to < xs.length && ys[to - 1] === undefined) to++;
    const points = pixelsOf(curve, xs.slice(from, to), ys.slice(from, to), (x) => u.valToPos(x, "x", true), (y) => u.valToPos(y, "y", true));
    return { stroke: tracePath(new Path2D(), points), fill: null, clip: null, band: null, gaps: null, flags: 0 };
}

function drawPath(u, index) {
    uPlot.orient(u, index, (series, xs, ys, scaleX, scaleY, toX, toY, left, top, width, height) => {
        const [x, y] = u.data[index];
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
        const points = pathPixels({ ...series.curve, xs: x, ys: y }, (v) => toX(v, scaleX, width, left), (v) => toY(v, scaleY, height, top));
        const path = tracePath(new Path2D(), points);
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
    const one = { label: label, labelSize: 20, values: (u, splits) => (isLog ? splits.map(shortNumber) : markTexts(splits)), size: size,
        stroke: () => (dark() ? "#ddd" : "#222"), grid: { stroke: () => (dark() ? "#3a3d42" : "#e4e4e4") } };
    if (isLog) {
        one.splits = (u, index, low, high) => (low > 0 && high < Infinity ? logTicks(low, high) : []);
        one.filter = (u, splits) => splits;
        one.grid.filter = one.filter;
        one.ticks = { filter: one.filter };
    }
    return one;
}

// With some room at both ends, except at zero. A constant is a flat line, whatever its errors are: `still` is how large they
// may be, as a part of it.
function roomyRange(low, high, still) {
    if (low === null) return [null, null];
    const size = Math.max(Math.abs(low), Math.abs(high)), room = high - low > still * size ? 0.08 * (high - low) : 0.1 * size || 1;
    return [low >= 0 && low < room ? 0 : low - room, high <= 0 && high > -room ? 0 : high + room];
}

function scale(isLog, range, isY, still = 1e-9) {
    const one = { time: false };
    if (isLog) { one.distr = 3; one.log = 10; }
    if (range && range[0] > range[1]) one.dir = -1;
    if (isY && !isLog) one.range = (u, low, high) => roomyRange(low, high, still);
    if (range) one.range = [Math.min(...range), Math.max(...range)];
    return one;
}

function seriesOf(curve) {
    return {
        label: curve.name || " ", stroke: curve.colour, colour: curve.colour, cloud: curve.cloud, turns: curve.turns, curve,
        width: curve.upper || curve.dots ? 0 : curve.guide || curve.faint ? 0.7 : 1.4,
        dash: curve.guide ? [4, 4] : curve.dash,
        spanGaps: true, points: { show: curve.marked, size: curve.dots ? 9 : 5 },
        value: (u, v, index, at) => {
            const list = u.data[index];
            while (list && at > 0 && list[at] === undefined) at--; // a row of another run
            v = list && at !== null ? list[at] : v;
            return v === null || v === undefined ? "–" : shortNumber(v);
        },
    };
}

function options(panel, width, drawn) {
    return {
        hooks: drawn ? { draw: [drawn] } : {},
        title: panel.title, width: width, height: Math.round(width * 0.62),
        axes: [axis(panel.x, panel.xlog, 32), axis(panel.y, panel.ylog, (u, texts) => Math.max(64, 18 + 7 * Math.max(...(texts || [""]).map((text) => (text || "").length))))],
        scales: { x: scale(panel.xlog, panel.xrange), y: scale(panel.ylog, panel.yrange, true, panel.still) },
        cursor: { sync: { key: panel.x + panel.xlog }, drag: { x: true, y: true, uni: 30 } },
    };
}

function dataOf(panel) {
    const columns = panel.curves.map((c) => [c.xs, c.ys]);
    return panel.path ? [null].concat(columns) : uPlot.join(columns);
}

// `drawn` is called whenever the plot was drawn, that is, when its scales are known.
function drawFunctions(panel, curves, place, width, drawn) {
    const edges = curves.flatMap((c) => (c.upper ? [c, { ...c, name: c.name + ", upper edge", ys: c.upper }] : [c]));
    const data = uPlot.join(edges.map((c) => [c.xs, c.ys]));
    const all = options(panel, width, drawn), banded = edges.length > curves.length;
    all.series = [{ label: panel.x, value: (u, v) => shortNumber(v) }].concat(edges.map((c) => (
        c.bars ? { ...seriesOf(c), fill: c.colour + "b0", paths: uPlot.paths.bars({ size: [0.95, Infinity] }) } : banded ? seriesOf(c) : { ...seriesOf(c), paths: pathOf })));
    all.bands = edges.flatMap((c, i) => (c.upper && c.ys !== c.upper ? [{ series: [i + 2, i + 1], fill: c.colour + "30" }] : []));
    return new uPlot(all, data, place);
}

// Ranges in which a unit has the same length in both directions.
function equalRanges(curves, width, height) {
    const range = (key) => {
        const values = curves.flatMap((c) => c[key]).filter((v) => v !== null);
        return values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
    };
    const x = range("xs"), y = range("ys"), unit = 1.08 * Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height) || 1;
    const around = (r, pixels) => [(r[0] + r[1] - unit * pixels) / 2, (r[0] + r[1] + unit * pixels) / 2];
    return { x: around(x, width), y: around(y, height) };
}

function drawPaths(panel, curves, place, width, drawn) {
    const all = options(panel, width, drawn);
    if (panel.equal) {
        const ranges = (u) => equalRanges((u.data || []).slice(1).map(([xs, ys]) => ({ xs, ys })), u.bbox.width / devicePixelRatio || u.width - 100, u.bbox.height / devicePixelRatio || u.height - 70);
        all.hooks.ready = [(u) => u.setData(u.data)]; // only now the size inside the axes is known
        let zoomed = false; // from the selection of a part until a double click
        for (const axis of ["x", "y"]) all.scales[axis].range = (u, low, high) => (zoomed ? [low, high] : ranges(u)[axis]);
        all.hooks.setSelect = [(u) => { zoomed = zoomed || u.select.width > 0; }];
        place.addEventListener("dblclick", () => { zoomed = false; }, true);
    }
    all.mode = 2;
    all.cursor = { drag: { x: true, y: true, uni: 30 } };
    all.legend = { live: false };
    const facets = [{ scale: "x", auto: true }, { scale: "y", auto: true }];
    all.series = [null].concat(curves.map((c) => ({ ...seriesOf(c), facets: facets, paths: drawPath })));
    return new uPlot(all, [null].concat(curves.map((c) => [c.xs, c.ys])), place);
}
