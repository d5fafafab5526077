// The timeline: what happened, the newest first. News are put on top of what is there already.

import { $, ask, clock, day, el, guarded, keepingFocus, short, state } from "./base.js";
import { step } from "./graph.js";

const VERBS = {
  create: "created", update: "changed", complete: "completed", cancel: "cancelled", reopen: "reopened",
  delete: "deleted", claim: "claimed", release: "released", note: "left a note at", undo: "took back a change of",
};
const HIDDEN = ["due_at", "number", "created_at", "source"];
// What the verb has said already; not whose a claim was that somebody else took or gave back.
const SAYS = { complete: ["status"], cancel: ["status"], reopen: ["status"], claim: ["claimed_by"], release: ["claimed_by"] };
const isSaid = (event, name) => SAYS[event.action]?.includes(name) && (name === "status" || [null, event.caller].includes(event.changes[name][0]));
const KEPT = 300;
const MANY = 200; // the server tells of so many at once, and no more

let events = [];
let most = KEPT;
let isAll = false;
let loading = 0;
let missed = []; // what happened while the timeline was asked for

const shown = (value) => (value === null || value === "" ? "–" : short(Array.isArray(value) ? value.map(String).join(", ") : String(value), 90));

/** Return an event as a sentence. */
export const told = (event) => `${event.caller} ${VERBS[event.action] ?? event.action} ${event.name}`;

/** Return a row for an event; in the history of one task it need not say which. */
export function eventRow(event, isOfOne = false) {
  const mayUndo = state.plan.writes && !event.undone_by && !["claim", "release", "note", "undo"].includes(event.action);
  const changes = ["create", "delete"].includes(event.action) ? "" : Object.entries(event.changes)
    .filter(([name]) => !HIDDEN.includes(name) && !isSaid(event, name))
    .map(([name, [from, to]]) => (name === "note" ? shown(to) : `${name.replaceAll("_", " ")}: ${shown(from)} → ${shown(to)}`)).join(" · ");
  return el("div", { class: `event card ${event.undone_by ? "undone" : ""} ${event.isFresh ? "fresh" : ""}`, "data-event": event.event_id },
    el("span", { class: "at", title: day(event.at) }, clock(event.at)),
    el("span", { class: "what" }, el("strong", {}, event.caller), ` ${VERBS[event.action] ?? event.action} `,
      isOfOne ? "it" : el("button", { class: "link", "data-key": `event ${event.event_id}`, "data-open": event.task_id }, event.name)),
    mayUndo ? el("button", { class: "undo", "data-key": `undo ${event.event_id}`, "data-undo": event.event_id, title: `Take back event ${event.event_id}` }, "Undo") : el("span", { class: "soft" }, event.undone_by ? "undone" : ""),
    changes ? el("span", { class: "changes" }, changes) : null);
}

function draw() {
  const made = [];
  let last = "";
  for (const event of events) {
    if (day(event.at) !== last) { last = day(event.at); made.push(el("h2", {}, last)); }
    made.push(eventRow(event));
  }
  if (!made.length) made.push(el("p", { class: "empty" }, "Nothing has happened yet."));
  if (!isAll) made.push(el("button", { class: "more", "data-key": "earlier", onclick: loadEarlier }, "Earlier"));
  keepingFocus($("timeline"), () => $("timeline").replaceChildren(...made));
}

async function earlier(before) {
  const found = await ask(`/api/events?${new URLSearchParams(before ? { before } : {})}`);
  isAll = !found.length || found.at(-1).event_id <= 1;
  return found;
}

const loadEarlier = guarded(async () => {
  const found = await earlier(events.at(-1)?.event_id);
  events = [...events, ...found];
  most = Math.max(KEPT, events.length);
  draw();
});

export const loadTimeline = guarded(async () => {
  loading++;
  try { events = await earlier(); } finally { loading--; }
  most = KEPT;
  draw();
  if (!loading) addEvents(missed.splice(0));
});

export function addEvents(news) {
  if (loading) { missed.push(...news); return; }
  if (news.length >= MANY || !events.length) { if (news.length) loadTimeline(); return; }
  const later = news.filter((event) => event.event_id > events[0].event_id);
  for (const event of later) {
    const first = $("timeline").firstElementChild;
    const isToday = day(event.at) === day(events[0].at);
    events.unshift(event);
    if (isToday) first.after(eventRow({ ...event, isFresh: true }));
    else first.before(el("h2", {}, day(event.at)), eventRow({ ...event, isFresh: true }));
    if (event.undoes) markUndone(event);
  }
  forget();
}

function markUndone({ undoes, event_id }) {
  const event = events.find((one) => one.event_id === undoes);
  const row = $("timeline").querySelector(`:scope > [data-event="${undoes}"]`);
  if (event) keepingFocus($("timeline"), () => row?.replaceWith(eventRow(Object.assign(event, { undone_by: event_id }))));
}

function forget() {
  const gone = events.splice(most);
  for (const { event_id } of gone) $("timeline").querySelector(`:scope > [data-event="${event_id}"]`).remove();
  if (gone.length && isAll) { isAll = false; draw(); }
}

export function move(across, down) {
  step([...$("timeline").querySelectorAll(".event .link")], across || down);
}
