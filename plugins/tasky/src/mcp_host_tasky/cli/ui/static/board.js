// The board: tasks by state, those in work by holder.

import { $, ago, ask, clock, el, guarded, isLate, keepingFocus, state } from "./base.js";

const COLUMNS = {
  held: "In work", ready: "Ready", waiting: "Waiting", completed: "Completed", cancelled: "Cancelled",
};
const FRESH_MS = 2500;
const board = {};
const drawn = {}; // what is shown: news that change nothing of a column draw nothing of it
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
  }, el("span", { class: "title" }, row.name));
  if (age < FRESH_MS) made.style.animationDelay = `${-age}ms`; // it goes on where it was
  const line = el("span", { class: "line" }, el("span", { title: "Priority" }, `P${row.priority}`));
  if (row.due_date) line.append(el("span", { class: !done && isLate(row.due_date) ? "late" : "" }, `due ${row.due_date.replace("T", " ").slice(0, 16)}`));
  if (row.claimed_by && column === "held") line.append(el("span", { title: `until ${clock(row.claimed_until)}` }, row.claimed_since ? `since ${clock(row.claimed_since)}, ${ago(row.claimed_since)}` : ""));
  if (row.snippet && row.snippet.replaceAll("**", "") !== row.name) made.append(el("span", { class: "line" }, el("span", {}, snippet(row.snippet))));
  line.append(el("span", {}, row.task_id.slice(0, 8)));
  made.append(line);
  return made;
}

function cardsOf(name, column) {
  if (!column.rows.length) return [el("p", { class: "empty" }, "Nothing here.")];
  if (name !== "held") return column.rows.map((row) => card(row, name));
  const holders = new Map();
  for (const row of column.rows) holders.set(row.claimed_by, [...(holders.get(row.claimed_by) ?? []), row]);
  return [...holders].flatMap(([who, rows]) => [el("h3", {}, `${who} (${rows.length})`), ...rows.map((row) => card(row, name))]);
}

function drawColumn(name) {
  const column = board[name];
  const shown = name === "held" ? "" : JSON.stringify(column); // what is held gets older by itself
  if (shown && shown === drawn[name]) return;
  drawn[name] = shown;
  const cards = el("div", { class: "cards" }, cardsOf(name, column));
  if (column.cursor) cards.append(el("button", { class: "more", "data-key": `more ${name}`, onclick: () => moreOf(name) }, "Show more"));
  const total = `${column.total.toLocaleString()}${column.is_more ? "+" : ""}`;
  const made = el("div", { class: "column", "data-name": name, role: "group", "aria-label": COLUMNS[name] },
    el("h2", {}, COLUMNS[name], el("span", { class: "soft" }, total)), cards);
  const place = document.querySelector(`.column[data-name="${name}"]`);
  const scrolled = place?.querySelector(".cards").scrollTop ?? 0;
  if (place) place.replaceWith(made); else $("board").append(made);
  cards.scrollTop = scrolled;
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
});

export function search() {
  for (const name of Object.keys(most)) delete most[name];
  return loadBoard();
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
