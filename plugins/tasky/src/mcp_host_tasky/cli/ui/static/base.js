// What all views share: what the page knows, how it asks the server, and how it makes elements.
// Texts of the plan are only ever set as text, never as markup. What a click opens is written on
// the element (`data-open`, `data-undo`), and page.js acts on it.

export const state = { view: "board", plan: {}, open: null, around: "", fresh: new Map() };
export const $ = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// While something is pressed nothing is drawn: what is replaced under the pointer hears of no click.

const PRESSED_MS = 5000;
let letGo = null;
let pressed = Promise.resolve();
document.addEventListener("pointerdown", (event) => {
  letGo?.();
  if (!event.target.closest("button, [data-open]")) return;
  pressed = new Promise((resolve) => { letGo = resolve; });
  setTimeout(letGo, PRESSED_MS);
}, true);
for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => setTimeout(() => letGo?.()), true); // the click comes first
const released = () => pressed;

export async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const said = answer.headers.get("content-type").includes("json") ? await answer.json() : { error: await answer.text() };
  await released();
  if (!answer.ok) throw Object.assign(new Error([said.error, ...(said.suggestions ?? [])].join(" ")), { status: answer.status });
  return said;
}

let hiding;
export function tell(text) {
  $("told").textContent = text;
  $("told").hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { $("told").hidden = true; }, 7000);
}
export const guarded = (work) => async (...values) => {
  try { return await work(...values); } catch (error) { tell(error.message); }
};

export const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// Times are the project's. A format is made once: making one costs more than all it ever formats.

const formats = new Map();
function format(kind, options) {
  const key = `${kind} ${state.plan.time_zone}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(undefined, { timeZone: state.plan.time_zone, ...options }));
  return formats.get(key);
}
export const clock = (at) => format("clock", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(at));
export const day = (at) => format("day", { weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(new Date(at));
export function ago(at) {
  const minutes = Math.round((Date.now() - new Date(at)) / 60000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`;
}
export const isLate = (due) => due && new Date(due.length === 10 ? `${due}T23:59:59` : due) < new Date();

// What has the focus keeps it when news draw its surroundings again.

export function keepingFocus(place, draw) {
  const at = document.activeElement;
  const key = place.contains(at) ? at.dataset.key : undefined;
  draw();
  if (key && document.activeElement !== at) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
