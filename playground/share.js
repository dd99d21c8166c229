// The state of the page as the part of an address after "#": "model=NAME" for an unchanged shipped model,
// otherwise "m=" with everything as compressed JSON in base64. The content of an address is not trusted: it is
// checked here and used only as text and numbers.
"use strict";

const LINK_TEXT_MOST = 300000; // letters of a model in a link

async function through(stream, bytes, most) {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
    let size = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        size += value.length;
        if (size > most) throw new Error("too long");
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const shareable = {
    text: (x) => typeof x === "string" && x.length <= LINK_TEXT_MOST,
    name: (x) => typeof x === "string" && x.length <= 200,
    settings: (x) => isTable(x, "number"),
    start: (x) => isTable(x, "number"),
    method: (x) => isWord(x), options: (x) => isWord(x), other: (x) => isWord(x), otherOptions: (x) => isWord(x),
    control: (x) => ["", "step", "tolerance"].includes(x),
    amount: (x) => isWord(x), time: (x) => isWord(x),
    compare: (x) => typeof x === "boolean",
};

function isWord(x) {
    return typeof x === "string" && x.length <= 200;
}

function isTable(x, kind) {
    return x !== null && typeof x === "object" && !Array.isArray(x) && Object.keys(x).length <= 1000 &&
        Object.entries(x).every(([key, value]) => key.length <= 200 && typeof value === kind && Number.isFinite(value));
}

async function linkOf(content) {
    const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(content)), Infinity);
    let letters = "";
    for (const byte of bytes) letters += String.fromCharCode(byte);
    return "m=" + btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

// The content of a link: {model} or the shared state; null if the link is not valid.
async function contentOf(fragment) {
    try {
        const wish = new URLSearchParams(fragment);
        if (wish.has("model")) return { model: wish.get("model") };
        if (!wish.has("m")) return null;
        const letters = atob(wish.get("m").replace(/-/g, "+").replace(/_/g, "/"));
        const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(letters, (c) => c.charCodeAt(0)), 4 * LINK_TEXT_MOST);
        const content = JSON.parse(new TextDecoder().decode(bytes)), clean = {};
        for (const [key, fits] of Object.entries(shareable))
            if (Object.hasOwn(content, key) && fits(content[key])) clean[key] = content[key];
        return "text" in clean ? clean : null;
    } catch (error) {
        return null;
    }
}
