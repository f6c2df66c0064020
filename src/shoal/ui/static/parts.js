// Small parts of pages. Whatever comes from a run becomes text, never markup.

export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const nothing = (value) => value === null || value === undefined;
// A value of an entry's score: in percent, or with four digits.
export const valued = (entry, value) => (nothing(value) ? "–" : entry.percent ? (100 * value).toFixed(1) : String(Number(value.toPrecision(4))));
export const number = (value) => (nothing(value) ? "–" : value.toFixed(2));
export const bytes = (count) => (count >= 1e9 ? `${(count / 1e9).toFixed(1)} GB` : `${(count / 1e6).toFixed(1)} MB`);
// A score, and whom it is about where some clients have no model yet.
export const score = (entry, value, whom) => (whom ? [valued(entry, value), el("div", { className: "muted", title: "the others have no model yet" }, whom)] : valued(entry, value));

// Whatever is made anew, the keyboard stays where it was: elements that belong together have the same data-focus.
export function keepingFocus(root, change) {
  const key = root.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  change();
  const again = key === undefined ? null : root.querySelector(`[data-focus="${CSS.escape(key)}"]`);
  if (again !== document.activeElement) again?.focus({ preventScroll: true });
}
export const when = (seconds) => nothing(seconds) ? "–" :
  new Date(1000 * seconds).toLocaleString(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

// A small curve without axes, from its lowest to its highest value: the number stands beside it.
export function spark(values) {
  const make = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const svg = make("svg", { viewBox: "0 0 100 26", class: "spark", "aria-hidden": "true" });
  if (values.length > 1) {
    const low = Math.min(...values), span = Math.max(Math.max(...values) - low, 0.02 * Math.max(...values.map(Math.abs)), 1e-12);
    const points = values.map((v, i) => `${(100 * i) / (values.length - 1)},${23 - (20 * (v - low)) / span}`);
    svg.append(make("polyline", { points: points.join(" ") }));
  }
  return svg;
}

export function progress(entry) {
  const fill = el("span", { className: "fill" });
  fill.style.width = `${entry.rounds ? (100 * Math.max(0, entry.round)) / entry.rounds : 0}%`;
  return el("span", { className: `bar ${entry.state}` }, fill);
}

const STATES = {
  complete: "all rounds are played",
  running: "records are being written",
  silent: "not complete, and no new record for a while: interrupted, or on its way to the next round",
};
export const state = (entry) => el("span", { className: `state ${entry.state}`, title: STATES[entry.state] }, entry.state);

// ---------------------------------------------------------------------------------------------------------------------
// The page of a run or of a comparison, as the report has it

let loading = null;
export function plotly() {
  loading ??= new Promise((done, fail) => {
    document.head.append(el("script", { src: "/static/plotly.js", onload: done, onerror: () => fail(new Error("plotly.js did not come")) }));
  });
  return loading;
}

const cards = (found) =>
  el("dl", { className: "cards" }, found.map((card) =>
    el("div", { className: "card", "data-key": card.key },
      el("dt", {}, card.name), el("dd", { className: "value" }, card.value), el("dd", { className: "note" }, card.note))));

function figure(found) {
  const plot = el("div", { className: "plot", role: "img", ariaLabel: found.title });
  plot.style.height = `${found.height}px`;
  return el("figure", { className: found.wide ? "wide" : "half", id: `figure-${found.key}` },
    el("h3", {}, found.title), el("p", { className: "how" }, found.caption), el("div", { className: "choice", hidden: true }),
    el("div", { className: "legend" }), plot, el("details", { className: "data" }, el("summary", {}, "Data")));
}

const SHORT = 24; // characters of a cell that stays on one line, as in the report

function sheet(found) {
  const marked = new Set(found.marked.map(String));
  const look = (text, row, column) => [marked.has(`${row},${column}`) && "best", text.length <= SHORT && "short"].filter(Boolean).join(" ");
  const cell = (text, row, column) => el("td", { className: look(text, row, column) }, text);
  const body = [
    found.note ? el("p", { className: "how" }, found.note) : null,
    el("div", { className: "scroll" }, el("table", { className: "sheet" },
      el("thead", {}, el("tr", {}, found.columns.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, found.rows.map((row, r) => el("tr", {}, row.map((text, c) => cell(text, r, c))))))),
  ];
  return found.folded ? el("details", { className: "sheet" }, el("summary", { "data-focus": `sheet ${found.title}` }, found.title), body) : [el("h3", {}, found.title), ...body];
}

function words(section) {
  const gaps = section.missing.map((gap) => el("li", {}, el("b", {}, gap.title), ` is not shown: ${gap.reason}.`));
  return [
    section.commands.map(([said, command]) => [el("p", { className: "how" }, said), el("pre", { className: "command" }, command)]).flat(),
    section.sheets.map(sheet).flat(),
    gaps.length ? el("ul", { className: "missing" }, gaps) : null,
  ].flat();
}

// Shows a page and renews it in place: charts that are there are drawn again, what is unfolded stays so.
export function book(box) {
  let outline = "", charts = new Map();
  const head = el("div"), body = el("div");
  box.replaceChildren(head, body);

  return async (page) => {
    head.replaceChildren(
      el("p", { className: "subtitle" }, page.subtitle), el("p", { className: "verdict", id: "verdict" }, page.verdict),
      page.cards.length ? cards(page.cards) : "");
    const now = JSON.stringify(page.sections.map((section) => [section.title, section.figures.map((f) => f.key)]));
    if (now !== outline) {
      outline = now;
      body.replaceChildren(...page.sections.map((section) => el("section", {},
        el("h2", {}, section.title), el("div", { className: "grid" }, section.figures.map(figure)), el("div", { className: "words" }))));
      charts = new Map(page.sections.flatMap((section) => section.figures).map((found) =>
        [found.key, new ShoalChart.Chart(document.getElementById(`figure-${found.key}`), found.spec)]));
    } else {
      for (const found of page.sections.flatMap((section) => section.figures)) {
        charts.get(found.key).box.querySelector(".how").textContent = found.caption;
        await charts.get(found.key).update(found.spec);
      }
    }
    [...body.querySelectorAll(".words")].forEach((place, i) => keepingFocus(place, () => {
      const open = [...place.querySelectorAll("details")].map((one) => one.open);
      place.replaceChildren(...words(page.sections[i]).filter(Boolean));
      [...place.querySelectorAll("details")].forEach((one, k) => (one.open = open[k] ?? false));
    }));
  };
}
