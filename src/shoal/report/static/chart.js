/* Draws the figures of a report and of the live pages, in the colours of the theme. Texts of a run stay texts. */
"use strict";
const ShoalChart = (() => {
  const touch = matchMedia("(pointer: coarse)").matches;
  const style = getComputedStyle(document.documentElement);
  const TINTS = { faint: 0.18, soft: 0.42 };
  const config = {
    displaylogo: false,
    responsive: true,
    displayModeBar: touch ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
  };

  /* Colour tokens such as "@g0" or "@g0:soft" become colours of the theme. */
  function themed(value) {
    if (Array.isArray(value)) return value.every((v) => typeof v === "number") ? value : value.map(themed);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v)]));
    }
    if (typeof value !== "string" || value[0] !== "@") return value;
    const [name, tint] = value.slice(1).split(":");
    const hex = style.getPropertyValue(`--${name}`).trim();
    if (!hex) return value;
    if (!tint) return hex;
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    return `rgba(${r},${g},${b},${TINTS[tint]})`;
  }

  /* Names are escaped for plotly; here they are text again. */
  const plain = (text) =>
    text.replaceAll("&#64;", "@").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

  function put(parent, tag, attributes = {}, text = "") {
    const made = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) made.setAttribute(k, v);
    made.textContent = text;
    parent.append(made);
    return made;
  }

  class Chart {
    /* A figure element with places for choices, a legend, the plot and its data; drawn when it comes into view. */
    constructor(box, spec) {
      this.box = box;
      this.plot = box.querySelector(".plot");
      this.hidden = new Set();
      this.drawn = false;
      this.take(spec);
      this.active = this.meta ? this.meta.active : 0;
      const details = box.querySelector("details.data");
      details.addEventListener("toggle", () => details.open && this.table());
      details.open = Boolean(spec.open);
      seen.set(this.plot, this);
      watch.observe(this.plot);
    }

    take(spec) {
      this.spec = spec;
      this.meta = spec.layout.meta;
      this.data = this.box.querySelector("details.data");
      this.data.replaceChildren(this.data.firstElementChild);
    }

    /* The same figure with newer numbers; the newest choice stays the chosen one. */
    async update(spec) {
      const newest = this.meta && this.active === this.meta.options.length - 1;
      this.take(spec);
      this.active = this.meta ? Math.min(newest ? Infinity : this.active, this.meta.options.length - 1) : 0;
      if (this.data.open) this.table();
      if (this.drawn) await this.draw();
    }

    shown(trace, i) {
      const here = !this.meta || this.meta.options[this.active].traces.includes(i);
      return here && !this.hidden.has(trace.name);
    }

    async draw() {
      this.drawn = true;
      const traces = this.spec.data.map((t, i) => ({ ...themed(t), visible: this.shown(t, i) }));
      const layout = themed({ ...this.spec.layout, showlegend: false, autosize: true, uirevision: "kept" });
      if (this.meta) {
        for (const [path, value] of Object.entries(this.meta.options[this.active].layout)) {
          const keys = path.split(".");
          const last = keys.pop();
          keys.reduce((at, key) => at[key], layout)[last] = themed(value);
        }
      }
      delete layout.meta;
      if (touch) layout.dragmode = false;
      await Plotly.react(this.plot, traces, layout, config);
      const held = this.box.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
      this.choices();
      this.legend();
      if (held !== undefined) [...this.box.querySelectorAll("[data-focus]")].find((one) => one.dataset.focus === held)?.focus({ preventScroll: true });
      this.plot.dataset.drawn = "true";
    }

    choices() {
      const row = this.box.querySelector(".choice");
      if (!this.meta || this.meta.options.length < 2) return;
      row.hidden = false;
      row.replaceChildren();
      put(row, "span", {}, this.meta.choice);
      this.meta.options.forEach((option, i) => {
        const button = put(row, "button", { type: "button", "aria-pressed": String(i === this.active), "data-focus": `choice ${option.label}` }, option.label);
        button.onclick = () => { this.active = i; this.draw(); };
      });
    }

    legend() {
      const row = this.box.querySelector(".legend");
      const names = new Map();
      this.spec.data.forEach((t, i) => {
        const here = !this.meta || this.meta.options[this.active].traces.includes(i);
        if (here && t.name && t.showlegend !== false && ["scatter", "bar"].includes(t.type) && !names.has(t.name)) names.set(t.name, t);
      });
      row.replaceChildren();
      if (names.size < 2) return;
      for (const [name, trace] of names) {
        const button = put(row, "button", { type: "button", "aria-pressed": String(!this.hidden.has(name)), "data-focus": `legend ${name}` });
        button.append(swatch(trace));
        put(button, "span", {}, plain(name));
        button.onclick = () => { this.hidden.delete(name) || this.hidden.add(name); this.draw(); };
      }
    }

    /* The table behind the figure: made when it is asked for. */
    table() {
      const details = this.data;
      if (details.childElementCount > 1) return;
      const rows = cells(this.spec.csv);
      const file = URL.createObjectURL(new Blob([this.spec.csv], { type: "text/csv" }));
      const save = put(details, "a", { href: file, download: `${this.box.id.replace("figure-", "")}.csv` }, "Save as CSV");
      save.style.marginRight = "1em";
      const most = 100;
      if (rows.length > most + 1) put(details, "span", {}, `the first ${most} of ${rows.length - 1} rows`);
      const made = put(put(details, "div", { class: "scroll" }), "table");
      rows.slice(0, most + 1).forEach((row, i) => {
        const line = put(made, "tr");
        row.slice(0, 60).forEach((cell) => put(line, i ? "td" : "th", {}, cell));
      });
    }
  }

  /* Markers as a legend shows them, in a box of 26 by 10; all others are discs. */
  const MARKERS = {
    square: "M8.5 .5h9v9h-9z",
    diamond: "M13 0l5 5l-5 5l-5-5z",
    "triangle-up": "M13 0l5.5 10h-11z",
    "triangle-down": "M7.5 0h11l-5.5 10z",
    cross: "M11.5 0h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    x: "M10 0l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3l-3-3z",
    star: "M13 0l1.3 3.6h3.8l-3 2.3l1.1 3.7l-3.2-2.2l-3.2 2.2l1.1-3.7l-3-2.3h3.8z",
    hexagon: "M13 0l4.3 2.5v5l-4.3 2.5l-4.3-2.5v-5z",
    pentagon: "M13 0l5 3.8l-1.9 6.2h-6.2l-1.9-6.2z",
  };

  function swatch(trace) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("width", "26");
    svg.setAttribute("height", "10");
    const solid = trace.type === "bar" || trace.mode === "markers" || trace.stackgroup;
    const path = trace.mode === "markers" ? MARKERS[trace.marker.symbol] : undefined;
    const shape = document.createElementNS("http://www.w3.org/2000/svg", path ? "path" : solid ? "rect" : "line");
    const color = themed((trace.mode === "markers" || trace.type === "bar" ? trace.marker : trace.line).color);
    const ring = trace.marker && trace.marker.line && trace.marker.line.width > 1 ? themed(trace.marker.line.color) : null;
    const dashes = { dash: "5 3", dot: "2 2", dashdot: "6 2 2 2", longdash: "9 3", longdashdot: "9 2 2 2" };
    const look = path
      ? { d: path, fill: color, stroke: ring || "none", "stroke-width": 1.6 }
      : solid
      ? { x: 8, y: 0, width: 10, height: 10, rx: ring || trace.mode === "markers" ? 5 : 2, fill: color, stroke: ring || "none", "stroke-width": 1.6 }
      : { x1: 0, x2: 26, y1: 5, y2: 5, stroke: color, "stroke-width": trace.line.width > 2.3 ? 3 : 2, "stroke-dasharray": dashes[trace.line.dash] || "none" };
    for (const [k, v] of Object.entries(look)) shape.setAttribute(k, v);
    svg.append(shape);
    return svg;
  }

  /* Rows of a CSV text, with quoted cells. */
  function cells(text) {
    const rows = [[]];
    for (const [, quoted, open, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/g)) {
      rows.at(-1).push(quoted === undefined ? open : quoted.replaceAll('""', '"'));
      if (end === "\n") rows.push([]);
      if (end === "") break;
    }
    return rows.filter((row) => row.length > 1 || row[0]);
  }

  const seen = new Map(); // plot -> chart
  const watch = new IntersectionObserver(
    (news) => news.filter((one) => one.isIntersecting).forEach(({ target }) => {
      watch.unobserve(target);
      if (!seen.get(target).drawn) seen.get(target).draw();
    }),
    { rootMargin: "120px" },
  );

  /* Draw again what is drawn, in another theme. */
  const restyle = () => seen.forEach((chart, plot) => plot.isConnected ? chart.drawn && chart.draw() : seen.delete(plot));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  addEventListener("beforeprint", () => seen.forEach((chart, plot) => plot.isConnected && !chart.drawn && chart.draw()));

  return { Chart, put, restyle };
})();
