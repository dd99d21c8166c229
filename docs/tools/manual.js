/* The manual's script: colour scheme, search, copy buttons. Without it the pages can be read just as well. */
"use strict";

/* ---- Colour scheme: the system's, unless the reader has chosen one. Set before the page is drawn. ---- */

function remembered() {
    try { return localStorage.getItem("theme"); } catch { return null; }
}

function remember(theme) {
    try { localStorage.setItem("theme", theme); } catch { /* the choice then holds for this page only */ }
}

function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

if (remembered()) document.documentElement.dataset.theme = remembered();

function addThemeButton() {
    const button = document.getElementById("theme");
    const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => {
        const theme = isDark() ? "light" : "dark";
        document.documentElement.dataset.theme = theme;
        remember(theme);
        name();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
    name();
    button.hidden = false;
}

/* ---- Copy buttons: of a session, only what is typed is copied. ---- */

function codeOf(pre) {
    const typed = [...pre.querySelectorAll(".typed")];
    return typed.length ? typed.map(e => e.textContent).join("\n") : pre.textContent.replace(/\n$/, "");
}

async function copyText(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("the browser refused");
}

function addCopyButton(pre) {
    const box = document.createElement("div"), button = document.createElement("button");
    box.className = "code";
    pre.replaceWith(box);
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        let said = "Copied";
        try { await copyText(codeOf(pre)); } catch { said = "Failed"; }
        button.textContent = said;
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    box.append(pre, button);
}

/* What has to be scrolled can be reached by keyboard. */
function reachByKey(box) {
    new ResizeObserver(() => { if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; else box.removeAttribute("tabindex"); }).observe(box);
}

/* ---- Search: search.js, which the build writes, has the text of every section. ---- */

const SHOWN = 12;

/* Without accents and capitals; letters keep their places. */
function folded(text) {
    return [...text].map(letter => letter.normalize("NFD")[0].toLowerCase().padEnd(letter.length)).join("");
}

/* What singular and plural have in common. */
function stem(word) {
    if (word.length < 5 || /(ss|us|is)$/.test(word)) return word;
    return word.replace(/(ies|y|s)$/, "");
}

function loadIndex() {
    if (!loadIndex.promise)
        loadIndex.promise = new Promise((resolve, reject) => {
            const script = document.createElement("script");
            script.src = "search.js";
            script.onload = () => resolve(window.SEARCH.map(([page, address, heading, text]) => ({
                page, address, heading, text, title: folded(page + " " + heading), lower: folded(text),
            })));
            script.onerror = reject;
            document.head.append(script);
        });
    return loadIndex.promise;
}

/* All words must occur; words in titles, and at the beginning of words, count more. */
function score(entry, words) {
    let sum = 0;
    for (const word of words) {
        const inTitle = entry.title.indexOf(word), inText = entry.lower.indexOf(word);
        if (inTitle < 0 && inText < 0) return 0;
        if (inTitle >= 0) sum += inTitle === 0 || /\W/.test(entry.title[inTitle - 1]) ? 30 : 12;
        if (inText >= 0) {
            const count = entry.lower.split(word).length - 1;
            sum += Math.min(count, 5) + (inText === 0 || /\W/.test(entry.lower[inText - 1]) ? 3 : 0);
        }
    }
    sum -= Math.min(entry.text.length / 2000, 3);
    return entry.address.startsWith("index.html") ? sum / 2 : sum; /* the overview only names what other pages explain */
}

function marked(text, words) {
    const out = document.createDocumentFragment();
    const pattern = new RegExp(words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi");
    let last = 0;
    for (const match of folded(text).matchAll(pattern)) {
        const mark = document.createElement("mark");
        mark.textContent = text.slice(match.index, match.index + match[0].length);
        out.append(text.slice(last, match.index), mark);
        last = match.index + match[0].length;
    }
    out.append(text.slice(last));
    return out;
}

function excerpt(entry, words) {
    const place = Math.min(...words.map(w => entry.lower.indexOf(w)).filter(i => i >= 0), entry.text.length);
    const from = place === entry.text.length ? 0 : Math.max(0, place - 50);
    const piece = entry.text.slice(from, from + 150);
    return (from > 0 ? "…" : "") + piece + (from + 150 < entry.text.length ? "…" : "");
}

function resultOf(entry, words) {
    const link = document.createElement("a"), title = document.createElement("b"), text = document.createElement("span");
    link.href = entry.address;
    title.append(marked(entry.heading ? `${entry.page}: ${entry.heading}` : entry.page, words));
    text.append(marked(excerpt(entry, words), words));
    link.append(title, text);
    return link;
}

async function search(query, found) {
    const words = folded(query).split(/\s+/).filter(Boolean).map(stem);
    search.latest = query;
    if (!words.length) {
        found.hidden = true;
        return;
    }
    const index = await loadIndex();
    if (search.latest !== query) return;
    const hits = index.map(entry => [score(entry, words), entry]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0]);
    found.replaceChildren(...hits.slice(0, SHOWN).map(([, entry]) => resultOf(entry, words)));
    if (!hits.length) found.textContent = "Nothing found.";
    found.hidden = false;
}

function moveThroughResults(event, input, found) {
    const links = [input, ...found.querySelectorAll("a")];
    const here = links.indexOf(document.activeElement);
    if (here < 0 || found.hidden) return;
    const to = links[here + (event.key === "ArrowDown" ? 1 : -1)];
    if (to) {
        event.preventDefault();
        to.focus();
    }
}

function addSearch() {
    const form = document.getElementById("search"), input = document.getElementById("query"), found = document.getElementById("found");
    const close = () => { found.hidden = true; };
    form.hidden = false;
    input.addEventListener("input", () => search(input.value, found));
    input.addEventListener("focus", () => search(input.value, found));
    form.addEventListener("submit", event => {
        event.preventDefault();
        found.querySelector("a")?.click();
    });
    found.addEventListener("click", close);
    document.addEventListener("click", event => { if (!form.contains(event.target)) close(); });
    document.addEventListener("keydown", event => {
        if (event.key === "Escape") close();
        else if (event.key === "ArrowDown" || event.key === "ArrowUp") moveThroughResults(event, input, found);
        else if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
            event.preventDefault();
            input.focus();
        }
    });
    /* page.html?search=words shows what is found */
    const asked = new URLSearchParams(location.search).get("search");
    if (asked) {
        input.value = asked;
        search(asked, found);
    }
}

/* ---- The menu: the entry of this page is in view, and the menu closes when a section of this page was chosen. ---- */

function showPlaceInMenu() {
    const menu = document.querySelector("nav.pages"), here = menu.querySelector("a.here");
    if (here) menu.scrollTop = here.offsetTop - menu.offsetTop - menu.clientHeight / 3;
}

document.addEventListener("DOMContentLoaded", () => {
    addThemeButton();
    showPlaceInMenu();
    addSearch();
    document.querySelectorAll("main pre").forEach(addCopyButton);
    document.querySelectorAll('main pre, main p, .table, math[display="block"]').forEach(reachByKey);
    document.querySelectorAll("nav.pages a.part").forEach(a => a.addEventListener("click", () => { document.getElementById("menu").checked = false; }));
});
