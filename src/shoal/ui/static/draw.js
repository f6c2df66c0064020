// Small parts of pages. Whatever comes from a run becomes text, never markup.

export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : (100 * share).toFixed(digits));
export const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
export const bytes = (count) => (count >= 1e9 ? `${(count / 1e9).toFixed(1)} GB` : `${(count / 1e6).toFixed(1)} MB`);

export function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// A small curve of accuracy from 0 to 1, without axes: the number stands beside it.
export function spark(values) {
  const name = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(name, "svg");
  svg.setAttribute("viewBox", "0 0 100 26");
  svg.setAttribute("class", "spark");
  svg.setAttribute("aria-hidden", "true");
  if (values.length > 1) {
    const low = Math.min(...values), high = Math.max(...values), span = Math.max(high - low, 0.02);
    const points = values.map((v, i) => `${(100 * i / (values.length - 1)).toFixed(1)},${(23 - 20 * (v - low) / span).toFixed(1)}`);
    const line = document.createElementNS(name, "polyline");
    line.setAttribute("points", points.join(" "));
    svg.append(line);
  }
  return svg;
}

export function progress(entry) {
  const share = entry.rounds ? Math.max(0, entry.round) / entry.rounds : 0;
  const bar = el("span", { class: `bar ${entry.state}` }, el("span", { class: "fill" }));
  bar.firstChild.style.width = `${(100 * share).toFixed(1)}%`;
  return bar;
}

export const state = (entry) =>
  el("span", { class: `state ${entry.state}`, title: STATES[entry.state] }, entry.state);

const STATES = {
  complete: "all rounds are played",
  running: "records are being written",
  silent: "not complete, and no new record for a while: interrupted, or on its way to the next round",
};

export function table(heads, rows, numeric = 1) {
  const cells = (tag, row) => el("tr", {}, row.map((cell, i) => el(tag, { class: i >= numeric ? "number" : "" }, cell)));
  return el("div", { class: "scroll" },
    el("table", { class: "plain" }, el("thead", {}, cells("th", heads)), el("tbody", {}, rows.map((row) => cells("td", row)))));
}

// ---------------------------------------------------------------------------------------------------------------------
// Charts. Their colours are tokens, @g0 or @ink:soft, replaced by those of the theme.

const NARROW = 460; // pixels: below, the legend stands above the chart
const ABOVE = { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom" };
const TINTS = { faint: 0.18, soft: 0.42 };
let loading = null;

export function plotly() {
  loading ??= new Promise((done, fail) => {
    const script = el("script", { src: "/static/plotly.js", onload: () => done(globalThis.Plotly), onerror: fail });
    document.head.append(script);
  });
  return loading;
}

export function themed(value, style = getComputedStyle(document.documentElement)) {
  if (Array.isArray(value)) return value.map((v) => themed(v, style));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v, style)]));
  if (typeof value !== "string" || value[0] !== "@") return value;
  const [name, tint] = value.slice(1).split(":");
  const colour = style.getPropertyValue(`--${name}`).trim();
  if (!colour) return value;
  if (!tint) return colour;
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return `rgba(${red},${green},${blue},${TINTS[tint]})`;
}

export function drawn(figure, csv) {
  const chart = el("div", { class: "chart", role: "img", ariaLabel: `${figure.title}. ${figure.caption}` });
  const rows = el("details", { class: "rows", open: figure.table }, el("summary", {}, "the numbers"));
  const box = el("figure", { class: figure.wide ? "panel wide" : "panel", id: `figure-${figure.key}` },
    el("h3", {}, figure.title), el("div", { class: "scroll" }, chart), el("figcaption", {}, figure.caption), rows);
  const view = { box, key: figure.key };
  view.show = async (now) => {
    view.now = now;
    box.querySelector("figcaption").textContent = now.caption;
    const shown = now.rows.map((row) => row.map((cell) => (cell === null ? "–" : String(cell))));
    const more = now.more ? `and ${now.more} more` : "";
    const file = csv ? el("a", { href: csv(now.key), download: "" }, "CSV") : "";
    rows.replaceChildren(rows.firstChild, el("p", { class: "muted" }, file, " ", more), table(now.columns, shown));
    chart.classList.toggle("broad", now.spec.data[0]?.type === "sankey");
    const library = await plotly();
    const spec = themed(now.spec);
    const layout = { ...spec.layout, autosize: true, uirevision: "kept" };
    if (chart.clientWidth < NARROW) layout.legend = { ...layout.legend, ...ABOVE };
    await library.react(chart, spec.data, layout, { displayModeBar: false, responsive: true });
    chart.dataset.drawn = "yes";
  };
  return view;
}
