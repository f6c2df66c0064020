// The pages: a list of runs, one run, several runs side by side. The address after # says which.

import { book, bytes, el, keepingFocus, number, plotly, progress, score, spark, state, valued, when } from "./parts.js";

const page = document.getElementById("page");
const runs = new Map(); // path -> entry
const chosen = new Set(); // paths ticked for a comparison
const folded = new Map(); // sweep -> whether a reader folded it
let filter = "", order = { by: "started", down: true };
let folder = ""; // the name of what is shown
const LOADING = "loading …";
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

const FEW = 8; // runs of a sweep that is unfolded unless a reader folds it
const good = (entry, value) => (value === null ? -Infinity : entry.better === "lower" ? -value : value);
const compareLink = (paths) => `#/compare/${paths.map(encodeURIComponent).join("/")}`;
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

const COLUMNS = [
  ["run", (e) => e.path],
  ["started", (e) => e.started ?? -1],
  ["progress", (e) => e.round / Math.max(1, e.rounds)],
  ["score", (e) => good(e, e.score)],
  ["best", (e) => good(e, e.best)],
  ["worst tenth", (e) => good(e, e.worst)],
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

  // Where all runs shown have one score, heads say which; else every row does.
  const metrics = () => new Set([...runs.values()].filter((e) => !e.problem).map((e) => `${e.metric}${e.percent ? " %" : ""}`));
  function title(name) {
    const [only, ...more] = metrics();
    if (!["score", "best", "worst tenth"].includes(name)) return name;
    if (!only || more.length) return name;
    return only === "accuracy %" && name !== "score" ? `${name} %` : name === "score" ? only : `${name} ${only}`;
  }

  function head([name], i) {
    const turn = () => ((order = { by: name, down: order.by === name ? !order.down : true }), fill());
    const arrow = order.by === name ? (order.down ? " ↓" : " ↑") : "";
    const sort = order.by === name ? (order.down ? "descending" : "ascending") : "none";
    return el("th", { className: i > 2 ? "number" : "", ariaSort: sort },
      el("button", { className: "head", type: "button", onclick: turn, "data-focus": `head ${name}` }, title(name) + arrow));
  }

  function row(entry) {
    const tick = el("input", {
      type: "checkbox", checked: chosen.has(entry.path), ariaLabel: `compare ${entry.path}`, "data-focus": `tick ${entry.path}`,
      onchange: () => (tick.checked ? chosen.add(entry.path) : chosen.delete(entry.path), fill()),
    });
    const about = [entry.algorithm, entry.settings.data, entry.settings.model, `seed ${entry.seed}`, entry.sites && entry.state !== "complete" && `${entry.sites} sites online`].filter(Boolean).join(" · ");
    const cells = [score(entry, entry.best, entry.best_whom), valued(entry, entry.worst), String(entry.groups ?? "–"), number(entry.ari), bytes(entry.bytes)];
    const name = entry.sweep ? entry.path.slice(entry.sweep.length + 1) : called(entry.path);
    const mixed = metrics().size > 1;
    const metric = mixed ? el("div", { className: "muted" }, entry.metric + (entry.percent ? " %" : "")) : null;
    return el("tr", { "data-path": entry.path, className: [entry.problem && "broken", entry.sweep && "inner"].filter(Boolean).join(" ") },
      el("td", { className: "tick" }, tick),
      el("td", { className: "name" }, el("a", { href: `#/run/${encodeURIComponent(entry.path)}`, "data-focus": `run ${entry.path}` }, name),
        el("div", { className: "muted" }, entry.problem || about)),
      el("td", { className: "when muted" }, when(entry.started)),
      el("td", { className: "far" }, el("div", {}, `${Math.max(0, entry.round)} / ${entry.rounds}`), progress(entry)),
      el("td", { className: `number score${entry.percent && !mixed ? " percent" : ""}` }, spark(entry.curve), score(entry, entry.score, entry.whom), metric),
      cells.map((cell) => el("td", { className: "number" }, cell)),
      el("td", { className: "how" }, state(entry)));
  }

  // A sweep: one line for its runs, which it shows or hides.
  const isFolded = (sweep, members) => !filter.trim() && (folded.get(sweep) ?? members.length > FEW);
  function sweepRow(sweep, members) {
    const all = members.every((e) => chosen.has(e.path)), some = members.some((e) => chosen.has(e.path));
    const tick = el("input", {
      type: "checkbox", checked: all, indeterminate: some && !all, ariaLabel: `compare all of ${sweep}`, "data-focus": `all ${sweep}`,
      onchange: () => (members.forEach((e) => (tick.checked ? chosen.add(e.path) : chosen.delete(e.path))), fill()),
    });
    const closed = isFolded(sweep, members);
    const turn = el("button", {
      className: "fold", type: "button", ariaExpanded: String(!closed), "data-focus": `fold ${sweep}`, onclick: () => (folded.set(sweep, !closed), fill()),
    }, closed ? "▸ " : "▾ ", sweep);
    const methods = [...new Set(members.map((e) => e.algorithm))].sort(), done = members.filter((e) => e.state === "complete").length;
    const best = members.toSorted((a, b) => good(b, b.best) - good(a, a.best))[0];
    const sum = (of) => members.reduce((total, e) => total + of(e), 0);
    const played = { rounds: sum((e) => e.rounds), round: sum((e) => Math.max(0, e.round)), state: done === members.length ? "complete" : members.some((e) => e.state === "running") ? "running" : "silent" };
    return el("tr", { className: "sweep", "data-sweep": sweep },
      el("td", { className: "tick" }, tick),
      el("td", { className: "name" }, turn, el("div", { className: "muted" }, `${plural(members.length, "run")} · ${methods.join(", ")}`)),
      el("td", { className: "when muted" }, when(members.map((e) => e.started).filter(Boolean).sort((a, b) => a - b)[0])),
      el("td", { className: "far" }, el("div", {}, `${done} / ${members.length} runs`), progress(played)),
      el("td", { className: "number score" }, el("a", { href: compareLink(members.toSorted((a, b) => a.started - b.started || (a.path < b.path ? -1 : 1)).map((e) => e.path)), "data-focus": `compare ${sweep}` }, "compare")),
      el("td", { className: "number", title: `the best of its runs: ${best.path}` }, valued(best, best.best)),
      ["", "", "", ""].map(() => el("td", { className: "number" })),
      el("td", { className: "how" }, state(played)));
  }

  // Runs in their order; those of a sweep together, where the first of them stands.
  function lines(found) {
    const made = [], met = new Set();
    for (const entry of found) {
      if (!entry.sweep) made.push(row(entry));
      if (!entry.sweep || met.has(entry.sweep)) continue;
      met.add(entry.sweep);
      const members = found.filter((e) => e.sweep === entry.sweep);
      made.push(sweepRow(entry.sweep, members), ...(isFolded(entry.sweep, members) ? [] : members.map(row)));
    }
    return made;
  }

  function fill() {
    const found = shown();
    keepingFocus(page, () => {
      heads.replaceChildren(el("th"), ...COLUMNS.map(head), el("th"));
      body.replaceChildren(...lines(found));
    });
    count.textContent = found.length === runs.size ? plural(runs.size, "run") : `${found.length} of ${plural(runs.size, "run")}`;
    go.textContent = chosen.size > 1 ? `compare ${chosen.size}` : "compare";
    go.href = compareLink([...chosen]);
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
  const problem = el("p", { className: "problem muted", role: "status" }, LOADING), box = el("div");
  page.replaceChildren(el("p", { className: "muted back" }, el("a", { href: "#/" }, "all runs")), el("h1", {}, title), head, problem, box);
  const show = book(box);
  let busy = false, again = false, ended = false, drawn = false;

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
        problem.textContent = found.title ? (drawn ? "" : LOADING) : "No round is played yet.";
        problem.classList.toggle("muted", !found.title);
        if (found.title) {
          await show(found);
          drawn = true;
          problem.textContent = "";
        }
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
  const asked = () => ((problem.textContent = LOADING), problem.classList.add("muted"), go()); // a reader waits for it
  return { go, asked, end: () => (ended = true) };
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
  const entry = runs.get(paths[0]) ?? { metric: "accuracy", percent: true };
  const range = entry.percent ? { min: 1, max: 100, placeholder: "80" } : { placeholder: "0.5" };
  const target = el("input", { type: "number", step: "any", id: "target", ariaLabel: `target ${entry.metric}${entry.percent ? " in percent" : ""}`, ...range });
  const head = el("label", { className: "muted" }, `target ${entry.metric} `, target, entry.percent ? " %" : "");
  const reading = read(paths, `${plural(paths.length, "run")} side by side`, head, () => (target.value ? [["target", target.value / (entry.percent ? 100 : 1)]] : []));
  target.addEventListener("change", reading.asked);
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
try {
  const first = await ask("/api/runs");
  document.getElementById("folder").textContent = folder = first.folder;
  for (const entry of first.runs) runs.set(entry.path, entry);
  route();
  listen();
} catch (error) {
  page.replaceChildren(el("p", { className: "problem", role: "status" }, `The runs cannot be read: ${error.message}. Load the page again.`));
}
