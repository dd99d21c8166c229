// Draws the panels contained in the page. `data-plots` on the root element says that it is done.
"use strict";
function addNote(box, text) {
    const note = box.appendChild(document.createElement("p"));
    note.textContent = text;
}
function drawAll(panels) {
    const place = document.getElementById("plots");
    const wanted = Math.ceil(Math.sqrt(panels.length)), fitting = Math.floor(innerWidth / 430);
    const columns = Math.max(1, Math.min(wanted, 3, fitting));
    const width = Math.max(320, Math.floor((Math.min(innerWidth, columns * 620) - 40) / columns) - 16);
    let count = 0;
    for (const panel of panels) {
        const curves = panel.curves.filter((c) => c.xs.length > 0);
        if (curves.length === 0) continue;
        const box = place.appendChild(document.createElement("div"));
        (curves.every(rises) ? drawFunctions : drawPaths)(panel, curves, box, width);
        if (panel.note) addNote(box, panel.note);
        count++;
    }
    requestAnimationFrame(() => { document.documentElement.dataset.plots = count; });
}
drawAll(JSON.parse(document.getElementById("panels").textContent));
