// A small editor for models: a text field over a coloured copy of its text, an error under its line, and
// completion. Everything that comes from the text is inserted as text, never as HTML.
"use strict";

// Pieces [kind, text] of a line, as in docs/tools/nh.xml; `words` are its lists.
function colouredPieces(line, words) {
    const pieces = [], pattern = /#.*|\.\.|[A-Za-z_][A-Za-z_0-9]*|(?:\d+(?=\.\.)|(?:\d+\.?(?!\.)\d*|\.\d+)(?:[eE][-+]?\d+)?)|\s+|./gu;
    let first = true;
    for (const [piece] of line.matchAll(pattern)) {
        let kind = "";
        if (piece[0] === "#") kind = "comment";
        else if (/^[A-Za-z_]/.test(piece)) {
            if (first && words.statements.includes(piece)) kind = "statement";
            else kind = ["words", "functions", "constants"].find((list) => words[list].includes(piece)) || "";
            first = false;
        } else if (/^\.?\d/.test(piece)) kind = "number";
        pieces.push([kind, piece]);
    }
    return pieces;
}

// Possible completions of the word that ends at the cursor.
function completions(text, at, words) {
    const before = text.slice(0, at), line = before.slice(before.lastIndexOf("\n") + 1);
    const word = (/[A-Za-z_][A-Za-z_0-9]*$/.exec(line) || [""])[0];
    if (word.length < 1 || line.includes("#")) return { word, offers: [] };
    const others = text.slice(0, at - word.length) + " " + text.slice(at).replace(/^[A-Za-z_0-9]*/, "");
    const names = others.replace(/#.*/g, "").match(/[A-Za-z_][A-Za-z_0-9]*/g) || [];
    let lists;
    if (/^\s*[A-Za-z_]*$/.test(line)) lists = [words.statements];
    else if (/^\s*draw\s+[A-Za-z]*$/.test(line)) lists = [words.shapes];
    else if (/\bcolor\s+[A-Za-z]*$/.test(line)) lists = [words.colours];
    else lists = [names.filter((n) => !words.statements.includes(n)), words.functions, words.words, /^\s*draw\s/.test(line) ? words.keys : [], words.constants];
    const offers = [...new Set(lists.flat())].filter((one) => one.startsWith(word) && one !== word);
    return { word, offers: offers.slice(0, 8) };
}

class Editor {
    constructor(place, words, changed) {
        Object.assign(this, { place, words, changed });
        this.field = element("textarea", { spellcheck: false, ariaLabel: "model", wrap: "off" }, place);
        for (const name of ["autocomplete", "autocorrect", "autocapitalize"]) this.field.setAttribute(name, "off");
        this.paper = place.insertBefore(document.createElement("pre"), this.field);
        this.paper.setAttribute("aria-hidden", "true");
        this.complaint = element("div", { className: "complaint", hidden: true }, place);
        this.list = element("ul", { className: "offers", hidden: true }, place);
        this.field.addEventListener("input", () => this.typed());
        this.field.addEventListener("scroll", () => this.scrolled());
        this.field.addEventListener("keydown", (e) => this.key(e));
        this.field.addEventListener("blur", () => { this.list.hidden = true; });
        this.complaint.addEventListener("click", () => { this.complaint.hidden = true; });
    }

    get text() {
        return this.field.value;
    }

    set text(value) {
        this.field.value = value;
        this.field.scrollTop = this.field.scrollLeft = 0;
        this.list.hidden = true;
        this.forgive();
    }

    typed() {
        this.forgive();
        this.offer();
        this.changed();
    }

    colour() {
        this.paper.textContent = "";
        this.text.split("\n").forEach((line, i) => {
            const row = element("div", { className: this.wrong && this.wrong.line === i + 1 ? "line wrong" : "line" }, this.paper);
            let at = 1;
            for (const [kind, piece] of colouredPieces(line, this.words)) {
                const span = element("span", { className: kind, textContent: piece }, row), end = at + piece.length;
                if (this.wrong && this.wrong.line === i + 1 && this.wrong.column >= at && this.wrong.column < end) span.className += " here";
                at = end;
            }
            row.appendChild(document.createTextNode("\n"));
        });
        this.scrolled();
    }

    forgive() {
        this.wrong = null;
        this.complaint.hidden = true;
        this.colour();
    }

    // The first line of a message, without its position: the other lines repeat the line of the model.
    complain(error) {
        this.wrong = error;
        this.complaint.textContent = error.text.split("\n")[0].replace(/^[^\n]*?:\d+:\d+: /, "");
        this.complaint.hidden = !error.line;
        this.colour();
    }

    // The size of a letter, measured on a line of letters.
    measure() {
        const probe = element("span", { className: "probe", textContent: "x".repeat(100) }, this.paper), box = probe.getBoundingClientRect();
        probe.remove();
        return { width: box.width / 100, height: parseFloat(getComputedStyle(this.field).lineHeight), pad: parseFloat(getComputedStyle(this.field).paddingTop) };
    }

    put(box, line, column) {
        const letter = this.measure();
        box.style.top = letter.pad + line * letter.height - this.field.scrollTop + "px";
        box.style.left = Math.max(0, letter.pad + column * letter.width - this.field.scrollLeft) + "px";
    }

    scrolled() {
        this.paper.scrollTop = this.field.scrollTop;
        this.paper.scrollLeft = this.field.scrollLeft;
        if (this.wrong && this.wrong.line) this.put(this.complaint, this.wrong.line, 0);
        if (!this.list.hidden) this.put(this.list, ...this.offered);
    }

    // ---- completion ----

    offer() {
        const at = this.field.selectionStart, { word, offers } = completions(this.text, at, this.words);
        this.list.textContent = "";
        this.list.hidden = offers.length === 0;
        if (!offers.length) return;
        this.prefix = word;
        this.chosen = 0;
        for (const one of offers) {
            const item = element("li", { textContent: one }, this.list);
            item.onpointerdown = (e) => { e.preventDefault(); this.insert(one); };
        }
        this.list.children[0].className = "chosen";
        const before = this.text.slice(0, at).split("\n");
        this.offered = [before.length, before[before.length - 1].length - word.length];
        this.put(this.list, ...this.offered);
    }

    insert(whole) {
        this.list.hidden = true;
        this.write(whole.slice(this.prefix.length));
        this.list.hidden = true;
    }

    // Inserted as if typed, so that it can be undone.
    write(text) {
        this.field.focus();
        if (document.execCommand && document.execCommand("insertText", false, text)) return;
        this.field.setRangeText(text, this.field.selectionStart, this.field.selectionEnd, "end");
        this.typed();
    }

    key(e) {
        if (this.list.hidden) return;
        const items = this.list.children, move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
        if (e.key === "Escape") this.list.hidden = true;
        else if (e.key === "Tab" || (e.key === "Enter" && this.moved)) this.insert(items[this.chosen].textContent);
        else if (move) {
            items[this.chosen].className = "";
            this.chosen = (this.chosen + move + items.length) % items.length;
            items[this.chosen].className = "chosen";
        } else { this.moved = false; return; }
        this.moved = Boolean(move);
        e.preventDefault();
    }
}

if (typeof module !== "undefined") module.exports = { colouredPieces, completions };
