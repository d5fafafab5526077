// The board: tasks by state, those in work by holder.

import { $, ago, ask, clock, el, guarded, isLate, keepingFocus, state } from "./base.js";

const COLUMNS = {
  held: "In work", ready: "Ready", waiting: "Waiting", completed: "Completed", cancelled: "Cancelled",
};
const FRESH_MS = 2500;
const board = {};
const drawn = {}; // what stands in each column, by key: what it was made of, and its element
const most = {}; // how many rows somebody asked for in a column, so that news take none of them away

export function query(more = {}) {
  const said = { q: $("q").value, tag: $("tag").value, priority: $("priority").value, holder: $("holder").value, ...more };
  return new URLSearchParams(Object.entries(said).filter(([, value]) => value)).toString();
}

function snippet(text) {
  return text.split("**").map((part, index) => (index % 2 ? el("mark", {}, part) : part));
}

function card(row, column) {
  const done = column === "completed" ? "done" : column === "cancelled" ? "cancelled" : "";
  const age = Date.now() - (state.fresh.get(row.task_id) ?? 0);
  const made = el("button", {
    class: `task card p${row.priority} ${done} ${age < FRESH_MS ? "fresh" : ""}`,
    "data-key": row.task_id, "data-open": row.task_id,
  }, el("span", { class: "title", title: row.name }, row.name));
  if (age < FRESH_MS) made.style.animationDelay = `${-age}ms`; // it goes on where it was
  made.addEventListener("animationend", () => made.classList.remove("fresh")); // moved, it would begin again
  const line = el("span", { class: "line" }, el("span", { title: "Priority" }, `P${row.priority}`));
  if (row.due_date) line.append(el("span", { class: !done && isLate(row.due_date) ? "late" : "" }, `due ${row.due_date.replace("T", " ").slice(0, 16)}`));
  if (row.claimed_by && column === "held") line.append(el("span", { title: `until ${clock(row.claimed_until)}` }, row.claimed_since ? `since ${clock(row.claimed_since)}, ${ago(row.claimed_since)}` : ""));
  if (row.snippet && row.snippet.replaceAll("**", "") !== row.name) made.append(el("span", { class: "line" }, el("span", {}, snippet(row.snippet))));
  line.append(el("span", {}, row.task_id.slice(0, 8)));
  made.append(line);
  return made;
}

function partsOf(name, column) {
  // Each part has a key, what it is made of, and how: news leave standing what they do not change.
  const cardOf = (row) => [row.task_id, JSON.stringify(row) + (row.claimed_since ? ago(row.claimed_since) : ""), () => card(row, name)];
  const parts = [];
  if (!column.rows.length) parts.push(["empty", query(), () => el("p", { class: "empty" }, query() ? "Nothing found." : "Nothing here.")]);
  else if (name !== "held") parts.push(...column.rows.map(cardOf));
  else {
    const holders = new Map();
    for (const row of column.rows) holders.set(row.claimed_by, [...(holders.get(row.claimed_by) ?? []), row]);
    for (const [who, rows] of holders) parts.push([`holder ${who}`, rows.length, () => el("h3", {}, `${who} (${rows.length})`)], ...rows.map(cardOf));
  }
  if (column.cursor) parts.push(["more", "", () => el("button", { class: "more", "data-key": `more ${name}`, onclick: () => moreOf(name) }, "Show more")]);
  return parts;
}

function columnOf(name) {
  const found = document.querySelector(`.column[data-name="${name}"]`);
  if (found) return found;
  const made = el("div", { class: "column", "data-name": name, role: "group", "aria-label": COLUMNS[name] },
    el("h2", {}, COLUMNS[name], el("span", { class: "soft" })), el("div", { class: "cards" }));
  $("board").append(made);
  return made;
}

function drawColumn(name) {
  const column = board[name];
  const place = columnOf(name);
  const total = `${column.total.toLocaleString()}${column.is_more ? "+" : ""}`;
  const count = place.querySelector("h2 span");
  if (count.textContent !== total) count.textContent = total;
  const before = drawn[name];
  const parts = (drawn[name] = new Map());
  for (const [key, said, make] of partsOf(name, column)) {
    const known = before?.get(key);
    parts.set(key, known?.said === said ? known : { said, element: make() });
  }
  put(place.querySelector(".cards"), [...parts.values()].map((one) => one.element));
}

function put(place, wanted) {
  const stays = new Set(wanted);
  for (const child of [...place.children]) if (!stays.has(child)) child.remove();
  let at = place.firstChild;
  for (const one of wanted) {
    if (one === at) at = at.nextSibling;
    else place.insertBefore(one, at);
  }
}

async function rest(name, column, asked) {
  const more = await ask(`/api/board?${query({ column: name, cursor: column.cursor })}`);
  return asked === latest ? { ...more, total: column.total, is_more: column.is_more, rows: [...column.rows, ...more.rows] } : null;
}

const moreOf = guarded(async (name) => {
  const column = await rest(name, board[name], latest);
  if (!column) return;
  board[name] = column;
  most[name] = column.rows.length;
  keepingFocus($("board"), () => drawColumn(name));
});

let latest = 0;
export const loadBoard = guarded(async () => {
  const asked = ++latest;
  const found = await ask(`/api/board?${query()}`);
  for (const name of Object.keys(COLUMNS)) {
    while (found[name].cursor && found[name].rows.length < (most[name] ?? 0) && asked === latest) {
      found[name] = await rest(name, found[name], asked) ?? found[name];
    }
  }
  if (asked !== latest) return; // it was asked again meanwhile, perhaps for something else
  Object.assign(board, found);
  keepingFocus($("board"), () => Object.keys(COLUMNS).forEach(drawColumn));
  for (const [id, at] of state.fresh) if (Date.now() - at > FRESH_MS) state.fresh.delete(id);
  fillHolders();
  if (asked === 1) showFound(); // the first column may be empty
});

export async function search() {
  for (const name of Object.keys(most)) delete most[name];
  await loadBoard();
  showFound();
}

function showFound() {
  // Where not all columns have room, what was found is in sight.
  const left = $("board").scrollLeft;
  const columns = [...document.querySelectorAll(".column")];
  const nearest = columns.reduce((near, one) => (Math.abs(one.offsetLeft - left) < Math.abs(near.offsetLeft - left) ? one : near));
  if ($("board").scrollWidth > $("board").clientWidth && !nearest.querySelector(".task")) columns.find((one) => one.querySelector(".task"))?.scrollIntoView({ block: "nearest", inline: "start" });
}

function fillHolders() {
  const choice = $("holder");
  if (choice.value || document.activeElement === choice) return; // it is open, or in use
  const names = ["", ...new Set(board.held.rows.map((row) => row.claimed_by))].sort();
  if (names.join("\n") === [...choice.options].map((one) => one.value).join("\n")) return;
  choice.replaceChildren(...names.map((name) => el("option", { value: name }, name || "Any holder")));
}

export function move(across, down) {
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
}
