// The graph: layers by the longest way from what waits for nothing.

import { $, ask, el, guarded, keepingFocus, state, svg } from "./base.js";

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

let places = new Map(); // where each task stands
let drawn = ""; // what is shown: news that change nothing of it draw nothing

export const loadGraph = guarded(async () => {
  const graph = await ask(`/api/graph?around=${encodeURIComponent(state.around)}`);
  const shown = JSON.stringify([state.around, graph]);
  if (shown === drawn) return;
  drawn = shown;
  keepingFocus($("graph"), () => draw(graph));
});

function draw(graph) {
  places = layered(graph.nodes, graph.edges);
  const xs = [...places.values()];
  const width = Math.max(300, ...xs.map((one) => one.x + BOX.width + 16));
  const height = Math.max(80, ...xs.map((one) => one.y + BOX.height + 16));
  const open = new Set(graph.nodes.filter((node) => node.status === "pending").map((node) => node.task_id));
  const waits = new Set(graph.edges.filter(([first]) => open.has(first)).map(([, second]) => second));
  const drawing = svg("svg", { width, height, role: "group", "aria-label": "What waits for what" });
  for (const [first, second] of graph.edges) {
    const a = places.get(first), b = places.get(second);
    const x1 = a.x + BOX.width, y1 = a.y + BOX.height / 2, y2 = b.y + BOX.height / 2, bend = (x1 + b.x) / 2;
    drawing.append(svg("path", { d: `M${x1},${y1} C${bend},${y1} ${bend},${y2} ${b.x},${y2}`, "data-ends": `${first} ${second}` }));
  }
  for (const node of graph.nodes) drawing.append(box(node, places.get(node.task_id), waits.has(node.task_id)));
  const said = state.around ? "Around one task." : "Open tasks that wait, and what they wait for.";
  const bar = el("div", { class: "bar" }, el("span", { class: "soft" }, `${said} ${graph.nodes.length} shown${graph.is_cut ? ", and there are more" : ""}. From left to right.`));
  if (state.around) bar.append(el("button", { "data-key": "whole", onclick: () => { state.around = ""; loadGraph(); } }, "Whole plan"));
  $("graph").replaceChildren(bar, graph.nodes.length ? drawing : el("p", { class: "empty" }, "Nothing waits for anything."));
}

const pen = document.createElement("canvas").getContext("2d");
function fitting(text, width, size) {
  // As much of a text as a box has room for, so that one that goes on ends in "…".
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  const letters = [...text];
  const fits = (count) => pen.measureText(count < letters.length ? `${letters.slice(0, count).join("")}…` : text).width <= width;
  let least = 0, most = letters.length;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(middle)) least = middle; else most = middle - 1;
  }
  return least < letters.length ? `${letters.slice(0, least).join("")}…` : text;
}

function box(node, { x, y }, isWaiting) {
  const kind = node.status !== "pending" ? node.status : node.claimed_by ? "held" : isWaiting ? "" : "ready";
  const text = (content, y, size, more = {}) => {
    const made = svg("text", { x: 10, y, ...more });
    made.textContent = fitting(content, BOX.width - 20, size);
    return made;
  };
  const what = node.claimed_by ?? (kind === "ready" ? "ready" : node.status !== "pending" ? node.status : "waits");
  const inside = svg("svg", { x, y, width: BOX.width - 8, height: BOX.height }, // a wide name ends at the box
    text(node.name, 18, 13), text([node.task_id.slice(0, 8), `P${node.priority}`, what].join(" · "), 34, 11, { class: "small" }));
  const title = svg("title");
  title.textContent = node.name;
  const made = svg("g", { class: `node ${kind} ${node.task_id === state.around ? "around" : ""}`, tabindex: 0, role: "button", "data-key": node.task_id, "data-open": node.task_id },
    svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 7 }), inside, title);
  for (const event of ["focus", "mouseenter"]) made.addEventListener(event, () => light(node.task_id));
  return made;
}

function light(id) {
  for (const path of $("graph").querySelectorAll("path")) path.classList.toggle("near", path.dataset.ends.includes(id));
}

export function move(across, down) {
  // To the next in the same layer, or to the nearest in the next layer.
  const here = places.get(document.activeElement?.dataset?.open);
  const all = [...$("graph").querySelectorAll(".node")];
  if (!here) { all[0]?.focus(); return; }
  const isAhead = across ? (one) => (one.x - here.x) * across > 0 : (one) => one.x === here.x && (one.y - here.y) * down > 0;
  const far = (one) => Math.abs(one.x - here.x) * 1000 + Math.abs(one.y - here.y);
  const ahead = all.map((node) => [far(places.get(node.dataset.open)), node]).filter(([, node]) => isAhead(places.get(node.dataset.open)));
  ahead.reduce((near, one) => (one[0] < near[0] ? one : near), [Infinity, null])[1]?.focus();
}

/** Have the task that the graph is drawn around in sight, and give it the focus. */
export function showAround() {
  const node = $("graph").querySelector(".node.around");
  node?.focus({ preventScroll: true });
  node?.scrollIntoView({ block: "center", inline: "center" });
}

export function step(all, by) {
  const index = all.indexOf(document.activeElement);
  all[Math.max(0, Math.min(all.length - 1, index + by))]?.focus();
}
