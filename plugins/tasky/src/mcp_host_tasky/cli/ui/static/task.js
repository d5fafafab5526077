// One task: all of it, what it relates to, and what may be done with it.

import { $, ask, clock, day, el, guarded, keepingFocus, state, tell } from "./base.js";
import { eventRow } from "./timeline.js";

let drawn = ""; // what is shown: news that change nothing of it draw nothing
let opener; // what opened it, which has the focus again when it is closed
let note = null; // what somebody writes stays theirs whatever is drawn around it

export const openTask = guarded(async (id) => {
  const task = await ask(`/api/task?id=${encodeURIComponent(id)}`);
  const isAnother = state.open?.task_id !== task.task_id;
  if (!state.open) opener = document.activeElement?.dataset.key;
  state.open = task;
  if (isAnother) {
    drawn = "";
    note = el("input", { type: "text", placeholder: "A note for the next one", "aria-label": "Note", id: "note" });
  }
  draw(task);
  if (isAnother) { $("detail").scrollTop = 0; $("detail").focus({ preventScroll: true }); }
});

export async function refreshTask() {
  const id = state.open?.task_id;
  if (!id) return;
  try {
    const task = await ask(`/api/task?id=${encodeURIComponent(id)}`);
    if (state.open?.task_id === id) draw(state.open = task);
  } catch (error) { tell(error.message); }
}

function related(task, ids) {
  return el("ul", {}, ids.map((id) => el("li", {}, el("button", { class: "link", "data-key": `to ${id}`, "data-open": id },
    `${task.related[id]?.name ?? id.slice(0, 8)}${task.related[id] ? ` (${task.related[id].status})` : ""}`))));
}

function draw(task) {
  const shown = JSON.stringify(task);
  if (shown === drawn) return;
  drawn = shown;
  const scrolled = $("detail").scrollTop;
  const isWriting = document.activeElement === note;
  keepingFocus($("detail"), () => $("detail").replaceChildren(...contents(task)));
  if (isWriting && note.isConnected) note.focus({ preventScroll: true });
  $("detail").hidden = false;
  $("detail").scrollTop = scrolled;
}

function contents(task) {
  const rows = [["Status", task.status], ["Priority", task.priority], ["Due", task.due_date?.replace("T", " ").slice(0, 16)],
    ["Held by", task.claimed_by && `${task.claimed_by} until ${clock(task.claimed_until)}`], ["Tags", task.tags?.join(", ")], ["Done when", task.done_when?.join(", ")],
    ["Created", task.created_at && `${day(task.created_at)}, ${clock(task.created_at)}`], ["Id", task.task_id], ["Revision", task.revision]];
  const lists = { "Waits for": task.blockers, "Waited for by": task.blocks, Parts: task.subtasks, "Part of": [task.subtask_of], "Found during": [task.discovered_from], "Found here": task.discovered };
  const made = [el("div", { class: "head" }, el("h2", {}, task.name), el("button", { "data-key": "close", "data-close": "", title: "Close (Esc)", "aria-label": "Close" }, "✕")), acts(task),
    el("dl", {}, rows.filter(([, value]) => value !== null && value !== undefined && value !== "").flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]))];
  if (task.details && task.details !== "N/A") made.push(el("pre", {}, task.details));
  for (const [title, ids] of Object.entries(lists)) {
    const there = (ids ?? []).filter(Boolean);
    if (there.length) made.push(el("h3", {}, title), related(task, there));
  }
  if (task.notes) made.push(el("h3", {}, "Notes"), ...task.notes.map((one) => el("pre", {}, el("span", { class: "soft" }, `${one.by}, ${day(one.at)} ${clock(one.at)}: `), one.text)));
  if (state.plan.writes && task.status !== "deleted") made.push(el("form", { onsubmit: leaveNote }, note, el("button", { "data-key": "add" }, "Add")));
  made.push(el("h3", {}, "History"), ...task.history.map((event) => eventRow(event, true)));
  return made;
}

async function leaveNote(event) {
  event.preventDefault();
  if (note.value.trim() && await act("note", { note: note.value })) note.value = "";
}

function acts(task) {
  const button = (text, onclick, more = {}) => el("button", { onclick, "data-key": text, ...more }, text);
  const all = [];
  const step = (by) => () => act("update", { priority: Math.min(5, Math.max(1, task.priority + by)) });
  if (state.plan.writes && task.status === "pending") {
    all.push(button("Complete", () => act("complete"), { class: "primary" }), button("Cancel", () => act("cancel")));
    all.push(task.claimed_by ? button("Free", () => act("release", { force: true })) : button("Claim", () => act("claim")));
    all.push(button("P ▼", step(-1), { title: "Priority down" }), button("P ▲", step(1), { title: "Priority up" }));
  } else if (state.plan.writes && task.status !== "deleted") all.push(button("Reopen", () => act("reopen")));
  if (task.status !== "deleted") all.push(el("button", { "data-key": "graph", "data-graph": task.task_id, title: "See it in the graph (g)" }, "Graph"));
  return el("div", { class: "acts" }, all);
}

/** Change the plan, and return what the server said; undefined where it refused, which is told. */
export const change = guarded(async (operation) => {
  const views = await ask("/api/edit", operation);
  if (views[0]?.warnings?.length) tell(views[0].warnings.join(" "));
  return views;
});

export async function act(action, more = {}) {
  if (!state.open || state.open.status === "deleted") return undefined;
  if (!state.plan.writes) return tell("The page only shows the plan; run tasky ui --write to change it.");
  return change({ action, task_id: state.open.task_id, ...more });
}

export function focusNote() { note?.focus(); }

export function closeTask() {
  const id = state.open?.task_id;
  state.open = null;
  $("detail").hidden = true;
  const place = $(state.view);
  (place.querySelector(`[data-key="${CSS.escape(opener ?? "")}"]`) ?? place.querySelector(`[data-open="${id}"]`))?.focus();
}
