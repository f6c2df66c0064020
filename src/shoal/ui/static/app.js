// The pages: a list of runs, one run, several runs side by side. The address after # says which.

import { bytes, drawn, duration, el, number, percent, progress, spark, state, table } from "./draw.js";

const page = document.getElementById("page");
const runs = new Map(); // path -> entry
const chosen = new Set(); // paths ticked for a comparison
let filter = "", order = { by: "started", down: true };
let view = null; // what is on the page: { update(paths), restyle() }

// ---------------------------------------------------------------------------------------------------------------------
// What comes from the server

async function ask(address, parameters = []) {
  const answer = await fetch(`${address}?${new URLSearchParams(parameters)}`);
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.error ?? answer.statusText);
  return document;
}

function listen() {
  const link = document.getElementById("link");
  const stream = new EventSource("/api/events");
  stream.onopen = () => (link.textContent = "");
  stream.onerror = () => (link.textContent = "no connection; trying again");
  stream.onmessage = (message) => {
    const news = JSON.parse(message.data);
    for (const path of news.gone) runs.delete(path), chosen.delete(path);
    for (const entry of news.changed) runs.set(entry.path, entry);
    view?.update(new Set([...news.gone, ...news.changed.map((entry) => entry.path)]));
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// The list

const COLUMNS = [
  ["run", (e) => e.path],
  ["started", (e) => e.started],
  ["progress", (e) => e.round / Math.max(1, e.rounds)],
  ["accuracy %", (e) => e.accuracy ?? -1],
  ["best %", (e) => e.best ?? -1],
  ["worst tenth %", (e) => e.worst ?? -1],
  ["models", (e) => e.groups ?? -1],
  ["ARI", (e) => e.ari ?? -2],
  ["sent", (e) => e.bytes],
];

export function matches(entry, text) {
  const about = [entry.path, entry.algorithm, entry.state, entry.settings.data, entry.settings.model].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => {
    const [key, value] = word.split("=");
    if (value !== undefined && key in entry.settings) return entry.settings[key].toLowerCase().startsWith(value);
    return about.includes(word);
  });
}

function list() {
  const body = el("tbody");
  const heads = el("tr");
  const count = el("span", { class: "muted" });
  const box = el("input", {
    type: "search", id: "filter", placeholder: "filter: ifca seed=1 running", value: filter, ariaLabel: "filter runs",
    autocomplete: "off", spellcheck: false, oninput: () => ((filter = box.value), fill()),
  });
  const go = el("a", { class: "button", id: "compare" });
  const none = el("button", { class: "plain", type: "button", onclick: () => (chosen.clear(), fill()) }, "none");
  const all = el("button", { class: "plain", type: "button", onclick: () => (shown().forEach((e) => chosen.add(e.path)), fill()) }, "all shown");
  const tray = el("div", { class: "tray" }, el("span", { class: "muted" }, "choose"), all, none, go);

  const shown = () => {
    const [, by] = COLUMNS.find(([name]) => name === order.by);
    const found = [...runs.values()].filter((entry) => matches(entry, filter));
    const up = (a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.path < b.path ? -1 : 1);
    return found.sort((a, b) => (order.down ? up(b, a) : up(a, b)));
  };

  function fill() {
    const found = shown();
    heads.replaceChildren(el("th"), ...COLUMNS.map(([name], i) => {
      const turn = () => ((order = { by: name, down: order.by === name ? !order.down : true }), fill());
      const arrow = order.by === name ? (order.down ? " ↓" : " ↑") : "";
      return el("th", { class: i > 2 ? "number" : "" }, el("button", { class: "head", type: "button", onclick: turn }, name + arrow));
    }), el("th", {}, ""));
    body.replaceChildren(...found.map(row));
    count.textContent = found.length === runs.size ? `${runs.size} runs` : `${found.length} of ${runs.size} runs`;
    go.textContent = chosen.size > 1 ? `compare ${chosen.size}` : "compare";
    go.href = `#/compare/${[...chosen].map(encodeURIComponent).join("/")}`;
    go.classList.toggle("off", chosen.size < 2);
    empty.hidden = runs.size > 0;
  }

  function row(entry) {
    const tick = el("input", {
      type: "checkbox", checked: chosen.has(entry.path), ariaLabel: `compare ${entry.path}`,
      onchange: () => (tick.checked ? chosen.add(entry.path) : chosen.delete(entry.path), fill()),
    });
    const about = entry.problem || [entry.algorithm, entry.settings.data, entry.settings.model, `seed ${entry.seed}`].filter(Boolean).join(" · ");
    const cells = [
      percent(entry.accuracy), percent(entry.best), percent(entry.worst), entry.groups ?? "–", number(entry.ari), bytes(entry.bytes),
    ];
    return el("tr", { "data-path": entry.path, class: entry.problem ? "broken" : "" },
      el("td", { class: "tick" }, tick),
      el("td", { class: "name" }, el("a", { href: `#/run/${encodeURIComponent(entry.path)}` }, entry.path), el("div", { class: "muted" }, about)),
      el("td", { class: "when muted" }, when(entry.started)),
      el("td", { class: "far" }, el("div", {}, `${Math.max(0, entry.round)} / ${entry.rounds}`), progress(entry)),
      ...cells.map((text, i) => el("td", { class: i ? "number" : "number accuracy" }, i === 0 ? spark(entry.curve) : null, String(text))),
      el("td", { class: "how" }, state(entry)));
  }

  const empty = el("p", { class: "empty muted" }, "There is no run in this folder yet. One that begins will appear here: shoal run.");
  page.replaceChildren(
    el("div", { class: "tools" }, box, count, el("span", { class: "gap" }), tray),
    el("div", { class: "panel flush" }, el("table", { class: "runs" }, el("thead", {}, heads), body)), empty);
  fill();
  return { update: fill, restyle() {} };
}

const when = (seconds) =>
  new Date(1000 * seconds).toLocaleString(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

// ---------------------------------------------------------------------------------------------------------------------
// Figures in sections; those that are there already are drawn again in place, so that nothing jumps

function gallery(csv) {
  const box = el("div");
  let charts = new Map(), outline = "";

  async function show(sections) {
    const filled = sections.filter((section) => section.figures.length || section.missing.length);
    const now = JSON.stringify(filled.map((s) => [s.title, s.figures.map((f) => f.key), s.missing.map((f) => f.key)]));
    if (now !== outline) {
      outline = now;
      charts = new Map();
      box.replaceChildren(...filled.map((section) => {
        const views = section.figures.map((figure) => drawn(figure, csv));
        const narrow = views.filter((one) => !one.box.classList.contains("wide"));
        if (narrow.length % 2) narrow.at(-1).box.classList.add("wide");
        views.forEach((one) => charts.set(one.key, one));
        const missing = section.missing.map((gap) => `${gap.title}: ${gap.reason}`).join(" · ");
        return el("section", {},
          section.title ? el("h2", {}, section.title) : null,
          el("div", { class: "grid" }, views.map((one) => one.box)),
          missing ? el("p", { class: "missing muted" }, missing) : null);
      }));
    }
    for (const figure of sections.flatMap((section) => section.figures)) await charts.get(figure.key).show(figure);
  }
  return { box, show, restyle: () => [...charts.values()].forEach((one) => one.now && one.show(one.now)) };
}

// Asks again when something is new, one question at a time.
function asking(question, show, problem) {
  let busy = false, again = false, ended = false;
  async function go() {
    if (busy) return void (again = true);
    busy = true;
    do {
      again = false;
      try {
        const answer = await question();
        if (!ended) (problem.textContent = ""), await show(answer);
      } catch (error) {
        if (!ended) problem.textContent = error.message;
      }
    } while (again && !ended);
    busy = false;
  }
  return { go, end: () => (ended = true) };
}

const tile = (name, value, note = "") =>
  el("div", { class: "tile" }, el("div", { class: "muted" }, name), el("div", { class: "value" }, value), el("div", { class: "muted" }, note));

const pairs = (title, values) =>
  el("details", { class: "panel" }, el("summary", {}, title), table(["", ""], Object.entries(values), 2));

// ---------------------------------------------------------------------------------------------------------------------
// One run

function run(path) {
  const figures = gallery((key) => `/api/figure.csv?${new URLSearchParams({ path, key })}`);
  const head = el("div", { class: "head" }), tiles = el("div", { class: "tiles", id: "tiles" });
  const problem = el("p", { class: "problem", role: "status" }), foot = el("div", { class: "foot" });
  page.replaceChildren(head, problem, tiles, figures.box, foot);

  const show = async ({ entry, figures: found, sections, settings, environment }) => {
    const beside = Object.entries(found.beside).map(([name, best]) => `${name} ${percent(best)}`).join(", ");
    head.replaceChildren(
      el("p", { class: "muted" }, el("a", { href: "#/" }, "all runs")),
      el("h1", {}, entry.path),
      el("p", {}, state(entry), ` ${[entry.algorithm, settings.data, settings.partition, settings.model].filter(Boolean).join(" · ")} · seed ${entry.seed}`),
      el("div", { class: "far" }, el("span", { id: "round" }, `round ${Math.max(0, entry.round)} of ${entry.rounds}`), progress(entry)));
    tiles.replaceChildren(
      tile("accuracy", `${percent(found.last_accuracy)} %`, "last tested round"),
      tile("best", `${percent(found.best_accuracy)} %`, found.best_round === null ? "no round counts yet" : `round ${found.best_round}${beside ? `; ${beside}` : ""}`),
      tile("worst tenth", `${percent(found.last_worst)} %`, "of the clients"),
      tile("models", String(found.groups ?? "–"), found.ari === undefined ? "in use" : `ARI ${number(found.ari)} against the truth`),
      tile("sent", bytes(found.bytes), "without evaluation"),
      tile("time", duration(found.seconds), "of all rounds"));
    const keep = [...foot.children].map((one) => one.open);
    foot.replaceChildren(pairs("Settings", settings), pairs("Environment", environment));
    [...foot.children].forEach((one, i) => (one.open = keep[i] ?? false));
    await figures.show(sections);
    page.dataset.round = entry.round;
  };
  const question = asking(() => ask("/api/run", { path }), show, problem);
  question.go();
  return { update: (paths) => paths.has(path) && question.go(), restyle: figures.restyle, end: question.end };
}

// ---------------------------------------------------------------------------------------------------------------------
// Several runs

const HEADS = {
  best_accuracy: "best %", last_three_accuracy: "last three %", last_f1: "F1 %", last_worst: "worst tenth %", ari: "ARI", groups: "models",
  rounds_to_target: "rounds to target", megabytes_to_target: "MB to target", megabytes: "MB", seconds: "time s",
};
const SHARES = ["best_accuracy", "last_three_accuracy", "last_f1", "last_worst"];

export function spread(key, found) {
  if (!found) return "–";
  const scale = SHARES.includes(key) ? 100 : 1, digits = key === "ari" ? 2 : key === "groups" && !found.std ? 0 : 1;
  return (scale * found.mean).toFixed(digits) + (found.std ? ` ± ${(scale * found.std).toFixed(digits)}` : "");
}

function compare(paths) {
  const figures = gallery(null);
  const problem = el("p", { class: "problem", role: "status" });
  const lines = el("div", { class: "panel", id: "lines" }), sure = el("div", { class: "panel", id: "differences" });
  const target = el("input", {
    type: "number", min: 1, max: 100, step: "any", placeholder: "80", id: "target", ariaLabel: "target accuracy in percent", onchange: () => question.go(),
  });
  page.replaceChildren(
    el("div", { class: "head" }, el("p", { class: "muted" }, el("a", { href: "#/" }, "all runs")), el("h1", {}, `${paths.length} runs side by side`),
      el("label", { class: "muted" }, "target accuracy ", target, " %")),
    problem, lines, sure, figures.box);

  const show = async (found) => {
    const keys = Object.keys(HEADS).filter((key) => found.lines.some((line) => line.figures[key]));
    lines.replaceChildren(
      table(["setting", "runs", ...keys.map((key) => HEADS[key])], found.lines.map((line, k) => [
        el("span", { class: "setting" }, el("i", { class: `dot c${k % 10}` }), line.name + (line.complete ? "" : " *")), String(line.runs), ...keys.map((key) => spread(key, line.figures[key])),
      ])),
      el("p", { class: "muted note" }, "Mean ± standard deviation over seeds." + (found.lines.every((line) => line.complete) ? "" : " * not complete yet.")));
    sure.hidden = !found.differences.length;
    sure.replaceChildren(...differences(found.differences));
    await figures.show(found.sections);
  };
  const parameters = () => [...paths.map((path) => ["path", path]), ...(target.value ? [["target", target.value / 100]] : [])];
  const question = asking(() => ask("/api/compare", parameters()), show, problem);
  question.go();
  return { update: (changed) => paths.some((path) => changed.has(path)) && question.go(), restyle: figures.restyle, end: question.end };
}

function differences(found) {
  if (!found.length) return [];
  const small = (value) => (value === null ? "–" : String(Number(value.toPrecision(2))));
  const range = (d) => (d.low === null ? "–" : `${percent(d.low)} to ${percent(d.high)}`);
  const rows = found.map((d) => [
    d.setting, `${d.mean > 0 ? "+" : ""}${percent(d.mean)}`, range(d), small(d.effect), small(d.p), small(d.p_holm),
    d.test === "Welch" ? d.n.join(" and ") : String(d.n[0]), d.test ?? "one run: none",
  ]);
  const flips = found.find((d) => d.least_p !== null);
  const least = flips ? ` With ${flips.n[0]} pairs of seeds p cannot be below ${small(flips.least_p)}, however clear the case.` : "";
  return [
    el("h3", {}, `Best accuracy against ${found[0].against}`),
    table(["setting", "points", "95 % interval", "effect d", "p", "p (Holm)", "n", "test"], rows),
    el("p", { class: "muted note" }, `Runs with the same seed are pairs.${least}`),
  ];
}

// ---------------------------------------------------------------------------------------------------------------------
// Which page, which theme

function route() {
  view?.end?.();
  delete page.dataset.round;
  const [kind, ...words] = location.hash.slice(2).split("/").map(decodeURIComponent);
  view = kind === "run" ? run(words[0] ?? "") : kind === "compare" ? compare(words.filter(Boolean)) : list();
  document.title = kind === "run" ? `${words[0]} – Shoal` : "Shoal";
  scrollTo(0, 0);
}

const THEMES = ["auto", "light", "dark"];
function theme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
  const button = document.getElementById("theme");
  button.textContent = `theme: ${name}`;
  button.onclick = () => theme(THEMES[(THEMES.indexOf(name) + 1) % THEMES.length]);
  view?.restyle();
}

theme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view?.restyle());
addEventListener("hashchange", route);
const first = await ask("/api/runs");
document.getElementById("folder").textContent = first.folder;
for (const entry of first.runs) runs.set(entry.path, entry);
route();
listen();
