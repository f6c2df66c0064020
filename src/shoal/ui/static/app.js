// The pages: a list of runs, one run, several runs side by side. The address after # says which.

import { book, bytes, el, number, percent, plotly, progress, share, spark, state, when } from "./parts.js";

const page = document.getElementById("page");
const runs = new Map(); // path -> entry
const chosen = new Set(); // paths ticked for a comparison
let filter = "", order = { by: "started", down: true };
let folder = ""; // the name of what is shown
let view = null; // what is on the page: { update(paths), end() }

// ---------------------------------------------------------------------------------------------------------------------
// What comes from the server

async function ask(address, parameters = []) {
  const answer = await fetch(`${address}?${new URLSearchParams(parameters)}`);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error ?? answer.statusText);
  return found;
}

function listen() {
  const link = document.getElementById("link");
  const stream = new EventSource("/api/events");
  stream.onopen = () => (link.textContent = "");
  stream.onerror = () => {
    link.textContent = "no connection; trying again";
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 10000); // refused: too many pages are open
  };
  stream.onmessage = (message) => {
    const news = JSON.parse(message.data);
    for (const path of news.gone) runs.delete(path), chosen.delete(path);
    for (const entry of news.changed) runs.set(entry.path, entry);
    view?.update(new Set([...news.gone, ...news.changed.map((entry) => entry.path)]));
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// The list

const called = (path) => (path === "." ? folder : path); // a folder that is one run has its own name

const COLUMNS = [
  ["run", (e) => e.path],
  ["started", (e) => e.started ?? -1],
  ["progress", (e) => e.round / Math.max(1, e.rounds)],
  ["accuracy %", (e) => e.accuracy ?? -1],
  ["best %", (e) => e.best ?? -1],
  ["worst tenth %", (e) => e.worst ?? -1],
  ["models", (e) => e.groups ?? -1],
  ["ARI", (e) => e.ari ?? -2],
  ["sent", (e) => e.bytes],
];

// Every word must fit: key=value the setting of that name, any other word the name, method, data, model or state.
function matches(entry, text) {
  const about = [entry.path, entry.algorithm, entry.state, entry.settings.data, entry.settings.model].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => {
    const [key, value] = word.split("=");
    if (value !== undefined && key in entry.settings) return entry.settings[key].toLowerCase().startsWith(value);
    return about.includes(word);
  });
}

function list() {
  const body = el("tbody"), heads = el("tr"), count = el("span", { className: "muted" });
  const button = (text, onclick) => el("button", { className: "plain", type: "button", onclick }, text);
  const box = el("input", {
    type: "search", id: "filter", placeholder: "filter: ifca seed=1 running", value: filter, ariaLabel: "filter runs",
    autocomplete: "off", spellcheck: false, oninput: () => ((filter = box.value), fill()),
  });
  const go = el("a", { className: "button", id: "compare" });
  const tray = el("div", { className: "tray" }, el("span", { className: "muted" }, "choose"),
    button("all shown", () => (shown().forEach((e) => chosen.add(e.path)), fill())), button("none", () => (chosen.clear(), fill())), go);
  const empty = el("p", { className: "empty muted" }, "There is no run in this folder yet. One that begins will appear here: shoal run.");

  function shown() {
    const [, by] = COLUMNS.find(([name]) => name === order.by);
    const up = (a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.path < b.path ? -1 : 1);
    const found = [...runs.values()].filter((entry) => matches(entry, filter));
    return found.sort((a, b) => (order.down ? up(b, a) : up(a, b)));
  }

  function head([name], i) {
    const turn = () => ((order = { by: name, down: order.by === name ? !order.down : true }), fill());
    const arrow = order.by === name ? (order.down ? " ↓" : " ↑") : "";
    return el("th", { className: i > 2 ? "number" : "" }, el("button", { className: "head", type: "button", onclick: turn }, name + arrow));
  }

  function row(entry) {
    const tick = el("input", {
      type: "checkbox", checked: chosen.has(entry.path), ariaLabel: `compare ${entry.path}`,
      onchange: () => (tick.checked ? chosen.add(entry.path) : chosen.delete(entry.path), fill()),
    });
    const about = [entry.algorithm, entry.settings.data, entry.settings.model, `seed ${entry.seed}`, entry.sites && entry.state !== "complete" && `${entry.sites} sites online`].filter(Boolean).join(" · ");
    const cells = [share(entry.best, entry.best_whom), percent(entry.worst), String(entry.groups ?? "–"), number(entry.ari), bytes(entry.bytes)];
    return el("tr", { "data-path": entry.path, className: entry.problem ? "broken" : "" },
      el("td", { className: "tick" }, tick),
      el("td", { className: "name" }, el("a", { href: `#/run/${encodeURIComponent(entry.path)}` }, called(entry.path)),
        el("div", { className: "muted" }, entry.problem || about)),
      el("td", { className: "when muted" }, when(entry.started)),
      el("td", { className: "far" }, el("div", {}, `${Math.max(0, entry.round)} / ${entry.rounds}`), progress(entry)),
      el("td", { className: "number accuracy" }, spark(entry.curve), share(entry.accuracy, entry.whom)),
      cells.map((cell) => el("td", { className: "number" }, cell)),
      el("td", { className: "how" }, state(entry)));
  }

  function fill() {
    const found = shown();
    heads.replaceChildren(el("th"), ...COLUMNS.map(head), el("th"));
    body.replaceChildren(...found.map(row));
    count.textContent = found.length === runs.size ? `${runs.size} runs` : `${found.length} of ${runs.size} runs`;
    go.textContent = chosen.size > 1 ? `compare ${chosen.size}` : "compare";
    go.href = `#/compare/${[...chosen].map(encodeURIComponent).join("/")}`;
    go.classList.toggle("off", chosen.size < 2);
    empty.hidden = runs.size > 0;
  }

  page.replaceChildren(
    el("div", { className: "tools" }, box, count, el("span", { className: "gap" }), tray),
    el("div", { className: "panel" }, el("table", { className: "runs" }, el("thead", {}, heads), body)), empty);
  fill();
  return { update: fill, end() {} };
}

// ---------------------------------------------------------------------------------------------------------------------
// One run, or several side by side: asked for again when their files change, one question at a time

function read(paths, title, head, parameters) {
  const problem = el("p", { className: "problem", role: "status" }), box = el("div");
  page.replaceChildren(el("p", { className: "muted back" }, el("a", { href: "#/" }, "all runs")), el("h1", {}, title), head, problem, box);
  const show = book(box);
  let busy = false, again = false, ended = false;

  async function go() {
    if (busy) return void (again = true);
    busy = true;
    do {
      again = false;
      let began = performance.now();
      try {
        await plotly();
        began = performance.now();
        const found = await ask("/api/page", [...paths.map((path) => ["path", path]), ...parameters()]);
        if (ended) return;
        problem.textContent = found.title ? "" : "No round is played yet.";
        problem.classList.toggle("muted", !found.title);
        if (found.title) await show(found);
      } catch (error) {
        problem.textContent = ended ? "" : error.message;
        problem.classList.remove("muted");
      }
      const rest = Math.min(3000, Math.max(500, performance.now() - began)); // leave the machine some room
      await new Promise((done) => setTimeout(done, rest));
    } while (again && !ended);
    busy = false;
  }
  go();
  return { go, end: () => (ended = true) };
}

function run(path) {
  const head = el("div", { className: "now" });
  const fill = () => {
    const entry = runs.get(path);
    if (entry) head.replaceChildren(state(entry), el("span", { id: "round" }, `round ${Math.max(0, entry.round)} of ${entry.rounds}`), progress(entry));
  };
  fill();
  const reading = read([path], called(path), head, () => []);
  return { update: (changed) => changed.has(path) && (fill(), reading.go()), end: reading.end };
}

function compare(paths) {
  const target = el("input", { type: "number", min: 1, max: 100, step: "any", placeholder: "80", id: "target", ariaLabel: "target accuracy in percent" });
  const head = el("label", { className: "muted" }, "target accuracy ", target, " %");
  const reading = read(paths, `${paths.length} runs side by side`, head, () => (target.value ? [["target", target.value / 100]] : []));
  target.addEventListener("change", reading.go);
  return { update: (changed) => paths.some((path) => changed.has(path)) && reading.go(), end: reading.end };
}

// ---------------------------------------------------------------------------------------------------------------------
// Which page, which theme

function route() {
  view?.end();
  const [kind, ...words] = location.hash.slice(2).split("/").map(decodeURIComponent);
  view = kind === "run" ? run(words[0] ?? "") : kind === "compare" ? compare(words.filter(Boolean)) : list();
  document.title = kind === "run" ? `${called(words[0])} – Shoal` : "Shoal";
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
  ShoalChart.restyle();
}

theme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
addEventListener("hashchange", route);
const first = await ask("/api/runs");
document.getElementById("folder").textContent = folder = first.folder;
for (const entry of first.runs) runs.set(entry.path, entry);
route();
listen();
