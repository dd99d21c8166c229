// The moving pictures of the gallery: below each still picture a canvas on which the model's drawing moves, over and
// over, while it is in sight (isDark is manual.js'). Without script, or for readers who want no motion, the still pictures remain.
"use strict";

function showMoving(image, scene) {
    const canvas = document.createElement("canvas"), length = scene.times[scene.times.length - 1];
    canvas.className = "moving";
    canvas.style.width = "340px";
    canvas.style.maxWidth = "100%";
    canvas.style.height = "255px";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", image.alt + ", moving");
    image.insertAdjacentElement("afterend", canvas);
    const view = new SceneView(canvas, scene.scene, { dark: isDark, still: true });
    view.setFrames(scene.times, scene.channels);
    let visible = false;
    const tick = (now) => {
        if (!visible) return;
        view.draw((((now / 1000) % 9) / 9) * length);
        requestAnimationFrame(tick);
    };
    new IntersectionObserver(([entry]) => {
        const before = visible;
        visible = entry.isIntersecting;
        if (visible && !before) requestAnimationFrame(tick);
    }).observe(canvas);
    view.draw(0);
}

if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches)
    for (const image of document.querySelectorAll(".models img")) {
        const name = image.getAttribute("src").replace(/^.*\/|\.svg$/g, "");
        if (galleryScenes[name]) showMoving(image, galleryScenes[name]);
    }
