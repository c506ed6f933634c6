// Pointing, zooming and searching in a flame graph. Without this script the
// file is the same picture, standing still.
//
// Names come from a recorded program and are never trusted: they are read from
// and written to `textContent` only.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const HTML = "http://www.w3.org/1999/xhtml";
  const MARGIN = 16, ROW = 20, PADDING = 5, NARROWEST = 24, TOOLS = 360;
  const TIP = 560, MOST_LINES = 8;
  const root = document.currentScript.ownerSVGElement;
  const alone = document.documentElement === root;
  const head = root.querySelector(".head");
  const headHeight = Number(root.dataset.head), deepest = Number(root.dataset.deepest);
  const height = Number(root.getAttribute("height"));
  let width = Number(root.getAttribute("width"));

  // The boxes, callers before what they called; the first is the whole.
  const boxes = [...root.querySelectorAll(".chart > svg")].map((element) => {
    const title = element.querySelector("title");
    const [name, place, total, own] = title.textContent.split("\n");
    title.remove(); // ours replaces the browser's own tooltip
    const file = place.includes(" · ") ? place.replace(/ · [^·]*$/, "").replace(/:\d+$/, "") : "";
    const { d, x, w } = element.dataset;
    return { element, name, place, total, own, file, d: Number(d), x: Number(x), w: Number(w),
      folded: element.classList.contains("f"), inside: true, shown: true, left: 0, wide: 0 };
  });
  if (!alone) {
    // Inside a page the title would be a tooltip over everything; it stays a name.
    const pageTitle = root.querySelector("title");
    root.setAttribute("aria-label", pageTitle.textContent);
    pageTitle.remove();
    root.style.overflow = "visible"; // a tooltip may be higher than the chart
  }
  if (boxes.length === 0) return;

  let zoomed = boxes[0], current = null, icicle = false, wanted = "";

  // ---- text

  function charWidth(letter) {
    if ("ijlftrI.,:;'|!()[] /".includes(letter)) return 4.2;
    if ("mwMW@%…".includes(letter)) return 10.6;
    if (/[A-Z<>+=~]/.test(letter)) return 8.2;
    const code = letter.codePointAt(0);
    return code < 0x80 ? 7 : code < 0x2e80 ? 8 : 12.5;
  }

  function textWidth(text) {
    let sum = 0;
    for (const letter of text) sum += charWidth(letter);
    return sum;
  }

  function shorten(text, room) {
    if (textWidth(text) <= room) return text;
    let used = charWidth("…"), short = "";
    for (const letter of text) {
      used += charWidth(letter);
      if (used > room) break;
      short += letter;
    }
    return [...short].length < 2 ? "" : short + "…";
  }

  /** `text` in lines that are at most `room` wide; only very long ones end in "…". */
  function wrap(text, room) {
    const lines = [""];
    let used = 0;
    for (const letter of text) {
      used += charWidth(letter);
      if (used > room) {
        if (lines.length === MOST_LINES) {
          lines[MOST_LINES - 1] += "…";
          break;
        }
        lines.push("");
        used = charWidth(letter);
      }
      lines[lines.length - 1] += letter;
    }
    return lines;
  }

  function amount(value) {
    const units = { ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]],
      B: [["GB", 1e9], ["MB", 1e6], ["KB", 1e3], ["B", 1]] }[root.dataset.unit];
    if (!units) return value.toLocaleString("en");
    const [unit, size] = units.find(([, size]) => value >= size) ?? units[units.length - 1];
    return `${Number((value / size).toPrecision(3))} ${unit}`;
  }

  const percent = (part, whole) => `${(100 * part / whole).toFixed(1)} %`;

  // ---- picture

  function make(tag, parent, attributes = {}) {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }

  function writeLabel(box) {
    let text = box.element.querySelector("text");
    const room = box.wide - 2 * PADDING;
    const name = box.wide < NARROWEST ? "" : shorten(box.name, room);
    if (!name) {
      text?.remove();
      return;
    }
    text ??= make("text", box.element, { x: PADDING, y: 14 });
    text.textContent = name;
    const rest = room - textWidth(box.name) - 8;
    const file = name === box.name && rest >= NARROWEST ? shorten(box.file, rest) : "";
    if (file) make("tspan", text, { dx: 8 }).textContent = file;
  }

  function draw() {
    const scale = (width - 2 * MARGIN) / zoomed.w;
    const end = zoomed.x + zoomed.w;
    for (const box of boxes) {
      const above = box.d < zoomed.d && box.x <= zoomed.x && box.x + box.w >= end;
      box.inside = box.d >= zoomed.d && box.x >= zoomed.x && box.x + box.w <= end;
      box.left = above ? MARGIN : MARGIN + (box.x - zoomed.x) * scale;
      box.wide = above ? width - 2 * MARGIN - 1 : Math.max(box.w * scale - 1, 0.3);
      box.shown = above || (box.inside && box.w * scale > 0.2);
      box.element.style.display = box.shown ? "" : "none";
      if (!box.shown) continue;
      box.element.classList.toggle("above", above);
      box.element.setAttribute("x", box.left.toFixed(2));
      box.element.setAttribute("y", headHeight + (icicle ? box.d : deepest - box.d) * ROW);
      box.element.setAttribute("width", box.wide.toFixed(2));
      writeLabel(box);
    }
    reset.disabled = zoomed === boxes[0] && !wanted;
    showMatches();
  }

  function zoom(box) {
    if (box.folded) return;
    zoomed = box;
    hideTip();
    draw();
  }

  // ---- search

  function showMatches() {
    root.classList.toggle("searching", wanted !== "");
    const found = [];
    for (const box of boxes) {
      const text = `${box.name}\n${box.place}`.toLowerCase();
      const hit = wanted !== "" && box.d > 0 && !box.folded && text.includes(wanted);
      box.element.classList.toggle("found", hit);
      if (hit && box.inside) found.push(box);
    }
    // A stack with several matches counts once: only outermost ones are added.
    found.sort((a, b) => a.x - b.x || a.d - b.d);
    let sum = 0, until = 0;
    for (const box of found) {
      if (box.x < until) continue;
      sum += box.w;
      until = box.x + box.w;
    }
    matched.textContent = wanted === "" ? "" : `matched ${amount(sum)} · ${percent(sum, zoomed.w)}`;
  }

  // ---- tooltip

  let tip = null;

  function hideTip() {
    tip?.remove();
    tip = null;
  }

  function showTip(box, x, y) {
    hideTip();
    tip = make("g", root, { class: "tip" });
    const back = make("rect", tip, { rx: 4 });
    const rows = [["name", box.name], ["", box.place], ["value", box.total], ["value", box.own]];
    if (zoomed !== boxes[0] && box.d >= zoomed.d) rows.push(["", `${percent(box.w, zoomed.w)} of the view`]);
    let wide = 0, line = 0;
    for (const [name, text] of rows.filter(([, text]) => text)) {
      for (const part of wrap(text, Math.min(TIP, width - 80))) {
        const row = make("text", tip, { x: 10, y: 19 + 17 * line++, class: name });
        row.textContent = part;
        wide = Math.max(wide, row.getComputedTextLength());
      }
    }
    const high = 17 * line + 12;
    back.setAttribute("width", wide + 20);
    back.setAttribute("height", high);
    const ceiling = alone ? window.scrollY : 0;
    const floor = alone ? window.scrollY + window.innerHeight : Infinity;
    const left = Math.max(4, Math.min(x + 14, width - wide - 26));
    const top = y + 18 + high > floor ? Math.max(ceiling + 4, y - high - 10) : y + 18;
    tip.setAttribute("transform", `translate(${left} ${top})`);
  }

  // ---- head

  const holder = make("foreignObject", head, { y: 38, width: TOOLS, height: 30 });
  const tools = document.createElementNS(HTML, "div");
  tools.className = "tools";
  holder.append(tools);
  const matched = make("text", head, { class: "matched", y: 82, role: "status" });

  function control(tag, text, title) {
    const element = document.createElementNS(HTML, tag);
    element.textContent = text;
    element.title = title;
    tools.append(element);
    return element;
  }

  const reset = control("button", "Reset", "Show everything (Esc)");
  const flip = control("button", "Icicle", "Root at the top (i)");
  const search = control("input", "", "Find function or file (Ctrl+F or /)");
  search.type = "search";
  search.placeholder = "Find function or file   /";
  search.setAttribute("aria-label", "Find function or file");

  function clear() {
    search.value = wanted = "";
    zoom(boxes[0]);
  }

  function turn() {
    icicle = !icicle;
    flip.textContent = icicle ? "Flame" : "Icicle";
    hideTip();
    draw();
  }

  reset.addEventListener("click", clear);
  flip.addEventListener("click", turn);
  search.addEventListener("input", () => {
    wanted = search.value.trim().toLowerCase();
    reset.disabled = zoomed === boxes[0] && !wanted;
    showMatches();
  });

  // ---- pointer

  const byElement = new Map(boxes.map((box) => [box.element, box]));
  const boxAt = (event) => byElement.get(event.target.closest?.(".chart > svg"));

  function place(event) {
    const frame = root.getBoundingClientRect();
    const scale = width / frame.width;
    return [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
  }

  root.addEventListener("click", (event) => {
    const box = boxAt(event);
    if (box) zoom(box);
  });
  root.addEventListener("pointermove", (event) => {
    const box = boxAt(event);
    if (box) showTip(box, ...place(event));
    else hideTip();
  });
  root.addEventListener("pointerleave", hideTip);

  // ---- keys

  function select(box) {
    if (!box) return;
    current?.element.classList.remove("current");
    current = box;
    box.element.classList.add("current");
    const y = Number(box.element.getAttribute("y"));
    if (alone) {
      const top = window.scrollY + headHeight, bottom = window.scrollY + window.innerHeight - 2 * ROW;
      if (y < top || y > bottom) window.scrollTo(0, y - window.innerHeight / 2);
    }
    showTip(box, box.left, y);
  }

  function step(key) {
    const from = current?.shown ? current : zoomed;
    const deeper = (key === "ArrowUp") !== icicle;
    const shown = boxes.filter((box) => box.shown);
    if (key === "ArrowUp" || key === "ArrowDown") {
      const d = from.d + (deeper ? 1 : -1);
      const center = from.x + from.w / 2;
      const row = shown.filter((box) => box.d === d);
      return deeper
        ? row.find((box) => box.x >= from.x && box.x + box.w <= from.x + from.w)
        : row.find((box) => box.x <= center && center <= box.x + box.w);
    }
    const row = shown.filter((box) => box.d === from.d).sort((a, b) => a.x - b.x);
    return row[row.indexOf(from) + (key === "ArrowRight" ? 1 : -1)];
  }

  function onKey(event) {
    const find = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f";
    const typing = document.activeElement === search;
    if (find || (event.key === "/" && !typing)) {
      search.focus();
      search.select();
    } else if (event.key === "Escape") {
      search.blur();
      if (wanted) {
        search.value = wanted = "";
        draw();
      } else clear();
    } else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key.startsWith("Arrow")) {
      select(step(event.key));
    } else if (event.key === "Enter" && current && document.activeElement?.localName !== "button") {
      zoom(current);
    } else if (event.key === "Backspace") {
      const d = zoomed.d - 1;
      const callers = boxes.filter((box) => box.d === d && box.x <= zoomed.x);
      zoom(callers.find((box) => box.x + box.w >= zoomed.x + zoomed.w) ?? boxes[0]);
    } else if (event.key === "i") {
      turn();
    } else return;
    event.preventDefault();
  }
  document.addEventListener("keydown", onKey);

  // ---- window

  function resize() {
    if (alone) {
      width = Math.max(480, document.documentElement.clientWidth || window.innerWidth);
      // Never lower than the window: a tooltip below a low chart would be cut off.
      const tall = Math.max(height, window.innerHeight);
      root.setAttribute("width", width);
      root.setAttribute("height", tall);
      root.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    }
    const legend = root.querySelector(".legend");
    const room = width - MARGIN - Number(legend.dataset.width) + 12;
    legend.setAttribute("transform", `translate(${room} 0)`);
    legend.style.display = width < 900 ? "none" : "";
    holder.setAttribute("x", width - MARGIN - TOOLS);
    matched.setAttribute("x", width - MARGIN);
    root.querySelector(".facts").setAttribute("width", width - MARGIN - TOOLS - 12);
    draw();
  }

  if (alone) {
    // The head stays in sight while the stacks scroll below it.
    window.addEventListener("scroll", () => {
      head.setAttribute("transform", `translate(0 ${window.scrollY})`);
    });
    window.addEventListener("resize", resize);
  }
  resize();
  if (alone && height > window.innerHeight) window.scrollTo(0, height);
})();
