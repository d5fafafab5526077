// The plan's page: its views, the keys, and the news of the event stream.

import { $, ask, el, guarded, state, tell } from "./base.js";
import { loadBoard, move as moveOnBoard, search } from "./board.js";
import { loadGraph, move as moveInGraph, showAround } from "./graph.js";
import { act, change, closeTask, focusNote, openTask, refreshTask } from "./task.js";
import { addEvents, loadTimeline, move as moveInTimeline, told } from "./timeline.js";

const KEYS = [
  ["1 2 3", "Board, graph, timeline"], ["/", "Search"], ["← ↑ ↓ → or h j k l", "Move among tasks"],
  ["Enter", "Open a task"], ["Esc", "Close, or clear the search"], ["c", "Complete the open task"],
  ["x", "Cancel it"], ["r", "Reopen it"], ["n", "Leave a note at it"], ["g", "See it in the graph"],
  ["t", "Day or night"], ["?", "These keys"],
];
const VIEWS = {
  board: { load: loadBoard, move: moveOnBoard },
  graph: { load: loadGraph, move: moveInGraph },
  timeline: { load: loadTimeline, move: moveInTimeline },
};
const BY_KEY = { 1: "board", 2: "graph", 3: "timeline" };
const LOOK_SECONDS = 30; // claims end and times go by without an event

function show(view) {
  state.view = view;
  for (const button of document.querySelectorAll("nav button")) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  for (const name of Object.keys(VIEWS)) $(name).hidden = name !== view;
  if (location.hash !== `#${view}`) history.replaceState(null, "", `#${view}`);
  return VIEWS[view].load();
}

async function showInGraph(id) {
  state.around = id;
  closeTask();
  await show("graph");
  showAround();
}

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

// Clicks and keys

document.addEventListener("click", (event) => {
  const at = event.target.closest("[data-open], [data-undo], [data-graph], [data-close]");
  if (!at) return;
  const { open, undo, graph } = at.dataset;
  if (open) openTask(open);
  else if (undo) change({ action: "undo", event_id: Number(undo) });
  else if (graph) showInGraph(graph);
  else closeTask();
});

const MOVES = { ArrowDown: [0, 1], j: [0, 1], ArrowUp: [0, -1], k: [0, -1], ArrowLeft: [-1, 0], h: [-1, 0], ArrowRight: [1, 0], l: [1, 0] };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return; // Esc closes the keys by itself
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "Escape") {
    if (typing && event.target.id === "note") event.target.blur();
    else if (typing) { if (event.target.id === "q") { $("q").value = ""; search(); } event.target.blur(); }
    else if (state.open) closeTask();
    return;
  }
  if (typing) return;
  const key = event.key;
  if (key === "Enter" && event.target.classList?.contains("node")) openTask(event.target.dataset.open);
  else if (MOVES[key]) { if (state.open) return; VIEWS[state.view].move(...MOVES[key]); }
  else if (BY_KEY[key]) { if (state.open) closeTask(); show(BY_KEY[key]); }
  else if (key === "/") { if (state.view !== "board") show("board"); $("q").focus(); }
  else if (key === "t") theme();
  else if (key === "?") $("keys").showModal();
  else if (state.open && key === "c") act("complete");
  else if (state.open && key === "x") act("cancel");
  else if (state.open && key === "r") act("reopen");
  else if (state.open && key === "n") focusNote();
  else if (state.open && key === "g") showInGraph(state.open.task_id);
  else return;
  event.preventDefault();
});

// News

let waiting;
function later(work, milliseconds) {
  clearTimeout(waiting);
  waiting = setTimeout(work, milliseconds);
}

let isFollowing = false, again = false;
async function follow() {
  // One at a time, and once more for what came meanwhile: news never waits for other news. Only
  // what can be seen is asked for; the other views ask when they are shown.
  if (isFollowing) { again = true; return; }
  isFollowing = true;
  do {
    again = false;
    if (state.view === "board") await loadBoard();
    if (state.view === "graph") await loadGraph();
    await refreshTask();
  } while (again);
  isFollowing = false;
}

function news(events) {
  if (!events.length) { anew(); return; } // the plan is another one: it went back
  for (const event of events) state.fresh.set(event.task_id, Date.now());
  tellLatest(events);
  if (state.view === "timeline") addEvents(events);
  follow();
}

function tellLatest(events) {
  // Also what no card on the board shows, because it stands further down than the rows that are there.
  const last = events.at(-1);
  $("latest").textContent = `${told(last)}${events.length > 1 ? ` (and ${events.length - 1} more)` : ""}`;
  $("latest").dataset.open = last.task_id;
}

function anew() {
  if (state.view === "timeline") loadTimeline();
  follow();
}

async function ended() {
  // A browser tries again by itself, but where it was refused: then another Tasky answers here.
  try { await ask("/api/plan"); } catch (error) {
    if (error.status === 403) tell("Tasky was started again, and this page is of the one before. Open the address that it printed now.");
  }
}

function listen() {
  const stream = new EventSource("/events");
  const mark = (isOn, text) => { $("live").className = isOn ? "soft on" : "soft off"; $("live").textContent = text; };
  stream.addEventListener("open", () => { mark(true, "live"); anew(); }); // what came before it was open
  stream.addEventListener("error", () => {
    mark(false, "not connected");
    if (stream.readyState === EventSource.CLOSED) ended();
  });
  stream.addEventListener("events", (event) => news(JSON.parse(event.data)));
  stream.addEventListener("trouble", (event) => tell(JSON.parse(event.data).error));
  stream.addEventListener("reset", anew);
  setInterval(() => { if (!document.hidden) follow(); }, LOOK_SECONDS * 1000);
}

document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";
if (!document.documentElement.dataset.theme) delete document.documentElement.dataset.theme;
for (const button of document.querySelectorAll("nav button")) button.addEventListener("click", () => show(button.dataset.view));
for (const id of ["q", "tag", "priority", "holder"]) $(id).addEventListener("input", () => { if (state.view !== "board") show("board"); later(search, 150); });
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("theme").addEventListener("click", theme);
$("help").addEventListener("click", () => $("keys").showModal());
$("keys").append(el("h2", {}, "Keys"), el("dl", {}, KEYS.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])), el("button", { onclick: () => $("keys").close() }, "Close"));

const begin = guarded(async () => {
  const view = location.hash.slice(1);
  const plan = await ask("/api/plan"); // which says in what zone all times are
  state.plan = plan;
  $("name").textContent = plan.name;
  $("name").title = plan.description;
  document.title = `${plan.name} · Tasky`;
  await show(VIEWS[view] ? view : "board");
  document.body.dataset.ready = "yes";
  listen();
});
begin();
