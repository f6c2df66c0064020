/* Draws the figures of a report: each when it comes into view, in the colours of the reader's theme. */
"use strict";
(() => {
  const book = JSON.parse(document.getElementById("shoal-data").textContent);
  const night = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
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
    const hex = book.themes[night.matches ? "dark" : "light"][name];
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
    constructor(plot) {
      this.plot = plot;
      this.box = plot.closest("figure");
      this.spec = book.figures[plot.dataset.figure];
      this.meta = this.spec.layout.meta;
      this.active = this.meta ? this.meta.active : 0;
      this.hidden = new Set();
      this.drawn = false;
    }

    shown(trace, i) {
      const here = !this.meta || this.meta.options[this.active].traces.includes(i);
      return here && !this.hidden.has(trace.name);
    }

    async draw() {
      this.drawn = true;
      const traces = this.spec.data.map((t, i) => ({ ...themed(t), visible: this.shown(t, i) }));
      const layout = themed({ ...this.spec.layout, showlegend: false, autosize: true });
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
      this.choices();
      this.legend();
      this.plot.dataset.drawn = "true";
    }

    choices() {
      const row = this.box.querySelector(".choice");
      if (!this.meta || this.meta.options.length < 2) return;
      row.hidden = false;
      row.replaceChildren();
      put(row, "span", {}, this.meta.choice);
      this.meta.options.forEach((option, i) => {
        const button = put(row, "button", { type: "button", "aria-pressed": String(i === this.active) }, option.label);
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
        const button = put(row, "button", { type: "button", "aria-pressed": String(!this.hidden.has(name)) });
        button.append(swatch(trace));
        put(button, "span", {}, plain(name));
        button.onclick = () => { this.hidden.delete(name) || this.hidden.add(name); this.draw(); };
      }
    }
  }

  function swatch(trace) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("width", "18");
    svg.setAttribute("height", "10");
    const solid = trace.type === "bar" || trace.mode === "markers" || trace.stackgroup;
    const shape = document.createElementNS("http://www.w3.org/2000/svg", solid ? "rect" : "line");
    const color = themed((trace.mode === "markers" || trace.type === "bar" ? trace.marker : trace.line).color);
    const ring = trace.marker && trace.marker.line && trace.marker.line.width > 1 ? themed(trace.marker.line.color) : null;
    const dashes = { dash: "5 3", dot: "2 2", dashdot: "6 2 2 2" };
    const look = solid
      ? { x: 4, y: 0, width: 10, height: 10, rx: ring || trace.mode === "markers" ? 5 : 2, fill: color, stroke: ring || "none", "stroke-width": 1.6 }
      : { x1: 0, x2: 18, y1: 5, y2: 5, stroke: color, "stroke-width": trace.line.width > 2.3 ? 3 : 2, "stroke-dasharray": dashes[trace.line.dash] || "none" };
    for (const [k, v] of Object.entries(look)) shape.setAttribute(k, v);
    svg.append(shape);
    return svg;
  }

  /* The table behind a figure: made when it is asked for. */
  function table(details, spec, key) {
    if (details.childElementCount > 1) return;
    const rows = cells(spec.csv);
    const save = put(details, "a", { href: URL.createObjectURL(new Blob([spec.csv], { type: "text/csv" })), download: `${key}.csv` }, "Save as CSV");
    save.style.marginRight = "1em";
    const most = 100;
    if (rows.length > most + 1) put(details, "span", {}, `the first ${most} of ${rows.length - 1} rows`);
    const scroll = put(details, "div", { class: "scroll" });
    const made = put(scroll, "table");
    rows.slice(0, most + 1).forEach((row, i) => {
      const line = put(made, "tr");
      row.slice(0, 60).forEach((cell) => put(line, i ? "td" : "th", {}, cell));
    });
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

  const charts = [...document.querySelectorAll(".plot")].map((plot) => new Chart(plot));
  const watch = new IntersectionObserver(
    (seen) => seen.forEach((s) => {
      const chart = charts.find((c) => c.plot === s.target);
      if (s.isIntersecting && !chart.drawn) { watch.unobserve(s.target); chart.draw(); }
    }),
    { rootMargin: "120px" },
  );
  charts.forEach((chart) => {
    watch.observe(chart.plot);
    const details = chart.box.querySelector("details.data");
    const fill = () => details.open && table(details, chart.spec, chart.plot.dataset.figure);
    details.addEventListener("toggle", fill);
    if (chart.spec.open) details.open = true;
  });
  night.addEventListener("change", () => charts.filter((c) => c.drawn).forEach((c) => c.draw()));
  addEventListener("beforeprint", () => charts.filter((c) => !c.drawn).forEach((c) => c.draw()));
  document.documentElement.dataset.ready = "true";
})();
