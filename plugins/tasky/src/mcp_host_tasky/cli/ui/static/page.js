// The plan's page: it asks for the board, the graph and the timeline, and follows the event stream.
// Texts of the plan are only ever set as text, never as markup.

const COLUMNS = {
  held: "In work", ready: "Ready", waiting: "Waiting", completed: "Completed", cancelled: "Cancelled",
};
const KEYS = [
  ["1 2 3", "Board, graph, timeline"], ["/", "Search"], ["← ↑ ↓ → or h j k l", "Move among tasks"],
  ["Enter", "Open a task"], ["Esc", "Close, or clear the search"], ["c", "Complete the open task"],
  ["x", "Cancel it"], ["r", "Reopen it"], ["n", "Leave a note at it"], ["g", "See it in the graph"],
  ["t", "Day or night"], ["?", "These keys"],
];
const state = { view: "board", plan: {}, board: {}, events: [], oldest: null, open: null, around: "", fresh: new Set() };
const $ = (id) => document.getElementById(id);

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const said = answer.headers.get("content-type").includes("json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw new Error([said.error, ...(said.suggestions ?? [])].join(" "));
  return said;
}

let hiding;
function tell(text) {
  $("told").textContent = text;
  $("told").hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { $("told").hidden = true; }, 7000);
}
const guarded = (work) => async (...values) => {
  try { return await work(...values); } catch (error) { tell(error.message); }
};

// Times

const zoned = (options) => new Intl.DateTimeFormat(undefined, { timeZone: state.plan.time_zone, ...options });
const clock = (at) => zoned({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(at));
const day = (at) => zoned({ weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(new Date(at));
function ago(at) {
  const minutes = Math.round((Date.now() - new Date(at)) / 60000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`;
}
const isLate = (due) => due && new Date(due.length === 10 ? `${due}T23:59:59` : due) < new Date();

// Board

function query(more = {}) {
  const said = { q: $("q").value, tag: $("tag").value, priority: $("priority").value, holder: $("holder").value, ...more };
  return new URLSearchParams(Object.entries(said).filter(([, value]) => value)).toString();
}

function snippet(text) {
  return text.split("**").map((part, index) => (index % 2 ? el("mark", {}, part) : part));
}

function card(row, column) {
  const done = column === "completed" ? "done" : column === "cancelled" ? "cancelled" : "";
  const made = el("button", {
    class: `task card p${row.priority} ${done} ${state.fresh.has(row.task_id) ? "fresh" : ""}`,
    "data-id": row.task_id, onclick: () => openTask(row.task_id),
  }, el("span", { class: "title" }, row.name));
  const line = el("span", { class: "line" }, el("span", { title: "Priority" }, `P${row.priority}`));
  if (row.due_date) line.append(el("span", { class: !done && isLate(row.due_date) ? "late" : "" }, `due ${row.due_date.replace("T", " ").slice(0, 16)}`));
  if (row.claimed_by && column === "held") line.append(el("span", { title: `until ${row.claimed_until}` }, row.claimed_since ? `since ${clock(row.claimed_since)}, ${ago(row.claimed_since)}` : ""));
  if (row.snippet && row.snippet.replaceAll("**", "") !== row.name) made.append(el("span", { class: "line" }, el("span", {}, snippet(row.snippet))));
  line.append(el("span", {}, row.task_id.slice(0, 8)));
  made.append(line);
  return made;
}

function cardsOf(name, column) {
  if (!column.rows.length) return [el("p", { class: "empty" }, "Nothing here.")];
  if (name !== "held") return column.rows.map((row) => card(row, name));
  const holders = Map.groupBy ? Map.groupBy(column.rows, (row) => row.claimed_by) : grouped(column.rows);
  return [...holders].flatMap(([who, rows]) => [el("h3", {}, `${who} (${rows.length})`), ...rows.map((row) => card(row, name))]);
}
function grouped(rows) {
  const found = new Map();
  for (const row of rows) found.set(row.claimed_by, [...(found.get(row.claimed_by) ?? []), row]);
  return found;
}

function drawColumn(name) {
  const column = state.board[name];
  const held = document.activeElement?.dataset?.id;
  const old = document.querySelector(`.column[data-name="${name}"] .cards`);
  const cards = el("div", { class: "cards" }, cardsOf(name, column));
  if (column.cursor) cards.append(el("button", { class: "more", onclick: () => moreOf(name) }, "Show more"));
  const total = `${column.total.toLocaleString()}${column.is_more ? "+" : ""}`;
  const made = el("div", { class: "column", "data-name": name, role: "group", "aria-label": COLUMNS[name] },
    el("h2", {}, COLUMNS[name], el("span", { class: "soft" }, total)), cards);
  const place = document.querySelector(`.column[data-name="${name}"]`);
  const scrolled = old?.scrollTop ?? 0;
  if (place) place.replaceWith(made); else $("board").append(made);
  cards.scrollTop = scrolled;
  if (held) cards.querySelector(`[data-id="${held}"]`)?.focus({ preventScroll: true });
}

const moreOf = guarded(async (name) => {
  const more = await ask(`/api/board?${query({ column: name, cursor: state.board[name].cursor })}`);
  state.board[name] = { ...more, total: state.board[name].total, rows: [...state.board[name].rows, ...more.rows] };
  drawColumn(name);
});

let asked = 0;
const loadBoard = guarded(async () => {
  const number = ++asked;
  const board = await ask(`/api/board?${query()}`);
  if (number !== asked) return;
  state.board = board;
  for (const name of Object.keys(COLUMNS)) drawColumn(name);
  state.fresh.clear();
  fillHolders();
});

function fillHolders() {
  const chosen = $("holder").value;
  if (chosen) return;
  const names = [...new Set(state.board.held.rows.map((row) => row.claimed_by))].sort();
  $("holder").replaceChildren(el("option", { value: "" }, "Any holder"), ...names.map((name) => el("option", { value: name }, name)));
}

// Graph: layers by the longest way from what waits for nothing

const BOX = { width: 210, height: 42, across: 270, down: 54 };

function layered(nodes, edges) {
  const before = new Map(nodes.map((node) => [node.task_id, []]));
  const after = new Map(nodes.map((node) => [node.task_id, []]));
  for (const [first, second] of edges) { before.get(second).push(first); after.get(first).push(second); }
  const layer = new Map();
  const count = new Map([...before].map(([id, list]) => [id, list.length]));
  const ahead = nodes.filter((node) => !count.get(node.task_id)).map((node) => node.task_id);
  for (const id of ahead) layer.set(id, 0);
  while (ahead.length) {
    const id = ahead.shift();
    for (const next of after.get(id)) {
      layer.set(next, Math.max(layer.get(next) ?? 0, layer.get(id) + 1));
      count.set(next, count.get(next) - 1);
      if (!count.get(next)) ahead.push(next);
    }
  }
  const rows = [];
  for (const node of nodes) (rows[layer.get(node.task_id) ?? 0] ??= []).push(node.task_id);
  const place = new Map();
  const settle = () => rows.forEach((row) => row.forEach((id, index) => place.set(id, index)));
  settle();
  for (let sweep = 0; sweep < 6; sweep++) {
    const near = sweep % 2 ? after : before;
    for (const row of rows) {
      const middle = new Map(row.map((id) => {
        const others = near.get(id);
        return [id, others.length ? others.reduce((sum, one) => sum + place.get(one), 0) / others.length : place.get(id)];
      }));
      row.sort((a, b) => middle.get(a) - middle.get(b));
    }
    settle();
  }
  return new Map([...place].map(([id, index]) => [id, { x: (layer.get(id) ?? 0) * BOX.across + 8, y: index * BOX.down + 8 }]));
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const loadGraph = guarded(async () => {
  const graph = await ask(`/api/graph?around=${encodeURIComponent(state.around)}`);
  const places = layered(graph.nodes, graph.edges);
  const xs = [...places.values()];
  const width = Math.max(300, ...xs.map((one) => one.x + BOX.width + 16));
  const height = Math.max(80, ...xs.map((one) => one.y + BOX.height + 16));
  const waits = new Set(graph.edges.filter(([first]) => graph.nodes.find((node) => node.task_id === first)?.status === "pending").map(([, second]) => second));
  const drawing = svg("svg", { width, height, role: "group", "aria-label": "What waits for what" });
  for (const [first, second] of graph.edges) {
    const a = places.get(first), b = places.get(second);
    const x1 = a.x + BOX.width, y1 = a.y + BOX.height / 2, y2 = b.y + BOX.height / 2, bend = (x1 + b.x) / 2;
    drawing.append(svg("path", { d: `M${x1},${y1} C${bend},${y1} ${bend},${y2} ${b.x},${y2}`, "data-ends": `${first} ${second}` }));
  }
  for (const node of graph.nodes) {
    const { x, y } = places.get(node.task_id);
    const kind = node.status !== "pending" ? node.status : node.claimed_by ? "held" : waits.has(node.task_id) ? "" : "ready";
    const name = svg("text", { x: x + 10, y: y + 18 });
    name.textContent = short(node.name, 25);
    const who = svg("text", { x: x + 10, y: y + 34, class: "small" });
    who.textContent = short([node.task_id.slice(0, 8), `P${node.priority}`, node.claimed_by ?? (kind === "ready" ? "ready" : node.status !== "pending" ? node.status : "waits")].join(" · "), 32);
    const title = svg("title");
    title.textContent = node.name;
    const box = svg("g", { class: `node ${kind}`, tabindex: 0, role: "button", "data-id": node.task_id },
      svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 7 }), name, who, title);
    box.addEventListener("click", () => openTask(node.task_id));
    for (const event of ["focus", "mouseenter"]) box.addEventListener(event, () => light(node.task_id));
    drawing.append(box);
  }
  const said = state.around ? "Around one task." : "Open tasks that wait, and what they wait for.";
  const bar = el("div", { class: "bar" }, el("span", { class: "soft" }, `${said} ${graph.nodes.length} shown${graph.is_cut ? ", and there are more" : ""}. From left to right.`));
  if (state.around) bar.append(el("button", { onclick: () => { state.around = ""; loadGraph(); } }, "Whole plan"));
  $("graph").replaceChildren(bar, graph.nodes.length ? drawing : el("p", { class: "empty" }, "Nothing waits for anything."));
});

function light(id) {
  for (const path of $("graph").querySelectorAll("path")) path.classList.toggle("near", path.dataset.ends.includes(id));
}

// Timeline

const VERBS = {
  create: "created", update: "changed", complete: "completed", cancel: "cancelled", reopen: "reopened",
  delete: "deleted", claim: "claimed", release: "released", note: "left a note at", undo: "took back a change of",
};
const shown = (value) => (value === null || value === "" ? "–" : short(Array.isArray(value) ? value.map(String).join(", ") : String(value), 90));

function eventRow(event) {
  const mayUndo = state.plan.writes && !event.undone_by && !["claim", "release", "note", "undo"].includes(event.action);
  const hidden = ["due_at", "number", "created_at", "source"];
  const changes = ["create", "delete"].includes(event.action) ? "" : Object.entries(event.changes)
    .filter(([name]) => !hidden.includes(name)).map(([name, [from, to]]) => `${name}: ${name === "note" ? "" : `${shown(from)} → `}${shown(to)}`).join(" · ");
  return el("div", { class: `event card ${event.undone_by ? "undone" : ""} ${event.isFresh ? "fresh" : ""}`, "data-event": event.event_id },
    el("span", { class: "at" }, clock(event.at)),
    el("span", { class: "what" }, el("strong", {}, event.caller), ` ${VERBS[event.action] ?? event.action} `,
      el("button", { class: "link", onclick: () => openTask(event.task_id) }, event.name)),
    mayUndo ? el("button", { onclick: () => change({ action: "undo", event_id: event.event_id }), title: `Take back event ${event.event_id}` }, "Undo") : el("span", { class: "soft" }, event.undone_by ? "undone" : ""),
    changes ? el("span", { class: "changes" }, changes) : null);
}

function drawTimeline() {
  const made = [];
  let last = "";
  for (const event of state.events) {
    if (day(event.at) !== last) { last = day(event.at); made.push(el("h2", {}, last)); }
    made.push(eventRow(event));
    event.isFresh = false;
  }
  if (!made.length) made.push(el("p", { class: "empty" }, "Nothing has happened yet."));
  if (state.oldest > 1) made.push(el("button", { class: "more", onclick: loadEvents }, "Earlier"));
  $("timeline").replaceChildren(...made);
}

const loadEvents = guarded(async () => {
  const found = await ask(`/api/events?${new URLSearchParams(state.oldest ? { before: state.oldest } : {})}`);
  state.events.push(...found);
  state.oldest = found.length ? found.at(-1).event_id : 1;
  drawTimeline();
});

// A task

const openTask = guarded(async (id) => {
  const task = await ask(`/api/task?id=${encodeURIComponent(id)}`);
  state.open = task;
  drawTask(task);
});

function related(task, ids) {
  return el("ul", {}, ids.map((id) => el("li", {}, el("button", { class: "link", onclick: () => openTask(id) },
    `${task.related[id]?.name ?? id.slice(0, 8)}${task.related[id] ? ` (${task.related[id].status})` : ""}`))));
}

function drawTask(task) {
  const rows = [["Status", task.status], ["Priority", task.priority], ["Due", task.due_date], ["Held by", task.claimed_by && `${task.claimed_by} until ${clock(task.claimed_until)}`],
    ["Tags", task.tags.join(", ")], ["Done when", (task.done_when ?? []).join(", ")], ["Created", `${day(task.created_at)}, ${clock(task.created_at)}`], ["Id", task.task_id], ["Revision", task.revision]];
  const lists = { "Waits for": task.blockers, "Waited for by": task.blocks, Parts: task.subtasks, "Part of": [task.subtask_of], "Found during": [task.discovered_from], "Found here": task.discovered };
  const made = [el("div", { class: "head" }, el("h2", {}, task.name), el("button", { onclick: closeTask, title: "Close (Esc)", "aria-label": "Close" }, "✕")), acts(task),
    el("dl", {}, rows.filter(([, value]) => value !== null && value !== undefined && value !== "").flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]))];
  if (task.details && task.details !== "N/A") made.push(el("pre", {}, task.details));
  for (const [title, ids] of Object.entries(lists)) {
    const there = (ids ?? []).filter(Boolean);
    if (there.length) made.push(el("h3", {}, title), related(task, there));
  }
  if (task.notes) made.push(el("h3", {}, "Notes"), ...task.notes.map((note) => el("pre", {}, el("span", { class: "soft" }, `${note.by}, ${day(note.at)} ${clock(note.at)}: `), note.text)));
  if (state.plan.writes) {
    const said = el("input", { type: "text", placeholder: "A note for the next one", "aria-label": "Note", id: "note" });
    made.push(el("form", { onsubmit: (event) => { event.preventDefault(); if (said.value.trim()) act("note", { note: said.value }); } }, said, el("button", {}, "Add")));
  }
  made.push(el("h3", {}, "History"), ...task.history.map(eventRow));
  $("detail").replaceChildren(...made);
  $("detail").hidden = false;
}

function acts(task) {
  const all = [el("button", { onclick: () => showInGraph(task.task_id) }, "In the graph")];
  if (!state.plan.writes) return el("div", { class: "acts" }, all);
  if (task.status === "pending") {
    all.unshift(el("button", { class: "primary", onclick: () => act("complete") }, "Complete"), el("button", { onclick: () => act("cancel") }, "Cancel"));
    all.push(task.claimed_by ? el("button", { onclick: () => act("release", { force: true }) }, "Free") : el("button", { onclick: () => act("claim") }, "Claim"));
    all.push(...[-1, 1].map((step) => el("button", { onclick: () => act("update", { priority: Math.min(5, Math.max(1, task.priority + step)) }), title: `Priority ${step > 0 ? "up" : "down"}` }, step > 0 ? "P ▲" : "P ▼")));
  } else all.unshift(el("button", { onclick: () => act("reopen") }, "Reopen"));
  return el("div", { class: "acts" }, all);
}

const change = guarded(async (operation) => {
  const [view] = await ask("/api/edit", operation);
  if (view?.warnings?.length) tell(view.warnings.join(" "));
});
async function act(action, more = {}) {
  if (state.open && state.plan.writes) await change({ action, task_id: state.open.task_id, ...more });
}
function closeTask() {
  const id = state.open?.task_id;
  state.open = null;
  $("detail").hidden = true;
  document.querySelector(`#${state.view} [data-id="${id}"]`)?.focus();
}
function showInGraph(id) {
  state.around = id;
  closeTask();
  show("graph");
}

// Views, keys, news

function show(view) {
  state.view = view;
  for (const button of document.querySelectorAll("nav button")) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  for (const name of ["board", "graph", "timeline"]) $(name).hidden = name !== view;
  if (view === "graph") loadGraph();
  if (view === "timeline") { state.events.length ? drawTimeline() : loadEvents(); }
  if (location.hash !== `#${view}`) history.replaceState(null, "", `#${view}`);
}

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

function move(across, down) {
  if (state.view === "board") {
    const columns = [...document.querySelectorAll(".column")].map((one) => [...one.querySelectorAll(".task")]);
    const here = document.activeElement?.closest?.(".task");
    let column = columns.findIndex((tasks) => tasks.includes(here));
    if (column < 0) { columns.find((tasks) => tasks.length)?.[0]?.focus(); return; }
    let row = columns[column].indexOf(here) + down;
    if (across) {
      do { column += across; } while (columns[column] && !columns[column].length);
      row = Math.min(row, (columns[column]?.length ?? 1) - 1);
    }
    columns[column]?.[Math.max(0, row)]?.focus();
    return;
  }
  const all = [...document.querySelectorAll(state.view === "graph" ? "#graph .node" : "#timeline .event .link")];
  const index = all.indexOf(document.activeElement);
  all[Math.max(0, Math.min(all.length - 1, index + (across || down)))]?.focus();
}

const MOVES = { ArrowDown: [0, 1], j: [0, 1], ArrowUp: [0, -1], k: [0, -1], ArrowLeft: [-1, 0], h: [-1, 0], ArrowRight: [1, 0], l: [1, 0] };
const VIEWS = { 1: "board", 2: "graph", 3: "timeline" };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "Escape") {
    if ($("keys").open) $("keys").close();
    else if (state.open) closeTask();
    else if (typing) { if (event.target.id === "q") { $("q").value = ""; loadBoard(); } event.target.blur(); }
    return;
  }
  if (typing) return;
  const key = event.key;
  if (key === "Enter" && event.target.classList?.contains("node")) openTask(event.target.dataset.id);
  else if (MOVES[key]) { if (state.open) return; move(...MOVES[key]); }
  else if (VIEWS[key]) show(VIEWS[key]);
  else if (key === "/") { if (state.view !== "board") show("board"); $("q").focus(); }
  else if (key === "t") theme();
  else if (key === "?") $("keys").showModal();
  else if (state.open && key === "c") act("complete");
  else if (state.open && key === "x") act("cancel");
  else if (state.open && key === "r") act("reopen");
  else if (state.open && key === "n") $("note")?.focus();
  else if (state.open && key === "g") showInGraph(state.open.task_id);
  else return;
  event.preventDefault();
});

let waiting;
function later(work, milliseconds) {
  clearTimeout(waiting);
  waiting = setTimeout(work, milliseconds);
}

let drawing = false, again = false;
async function follow() {
  // One at a time, and once more for what came meanwhile: news never waits for other news.
  if (drawing) { again = true; return; }
  drawing = true;
  do {
    again = false;
    await loadBoard();
    if (state.view === "graph") await loadGraph();
    if (state.open) await openTask(state.open.task_id);
  } while (again);
  drawing = false;
}

function news(events) {
  for (const event of events) {
    state.fresh.add(event.task_id);
    if (event.undoes) state.events.filter((one) => one.event_id === event.undoes).forEach((one) => { one.undone_by = event.event_id; });
  }
  if (state.events.length) {
    const known = state.events[0].event_id;
    state.events.unshift(...events.filter((event) => event.event_id > known).reverse().map((event) => ({ ...event, isFresh: true })));
    if (state.view === "timeline") drawTimeline();
  }
  follow();
}

function listen() {
  const stream = new EventSource("/events");
  const mark = (isOn, text) => { $("live").className = isOn ? "soft on" : "soft off"; $("live").textContent = text; };
  stream.addEventListener("open", () => mark(true, "live"));
  stream.addEventListener("error", () => mark(false, "not connected"));
  stream.addEventListener("events", (event) => news(JSON.parse(event.data)));
  stream.addEventListener("trouble", (event) => tell(JSON.parse(event.data).error));
  stream.addEventListener("reset", () => { state.events = []; state.oldest = null; follow(); });
}

document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";
if (!document.documentElement.dataset.theme) delete document.documentElement.dataset.theme;
for (const button of document.querySelectorAll("nav button")) button.addEventListener("click", () => show(button.dataset.view));
for (const id of ["q", "tag", "priority", "holder"]) $(id).addEventListener("input", () => { if (state.view !== "board") show("board"); later(loadBoard, 150); });
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("theme").addEventListener("click", theme);
$("help").addEventListener("click", () => $("keys").showModal());
$("keys").append(el("h2", {}, "Keys"), el("dl", {}, KEYS.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])), el("button", { onclick: () => $("keys").close() }, "Close"));

const begin = guarded(async () => {
  const [plan] = await Promise.all([ask("/api/plan"), loadBoard()]);
  state.plan = plan;
  $("name").textContent = plan.name;
  $("name").title = plan.description;
  document.title = `${plan.name} · Tasky`;
  document.body.dataset.ready = "yes";
  const view = location.hash.slice(1);
  if (["graph", "timeline"].includes(view)) show(view);
  listen();
});
begin();
