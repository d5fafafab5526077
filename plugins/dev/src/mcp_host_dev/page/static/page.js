// The page over a host: what it lists, calls with forms made from schemas, and every call as it goes.
// Texts of packs are only ever set as text, never as markup.

const LONGEST_FEED = 300;
const TITLES = { tools: "Tools", resources: "Resources", resourceTemplates: "Templates", prompts: "Prompts" };
const state = { token: "", lists: {}, calls: true, chosen: null, feed: new Map(), last: new Map(), running: null };
const $ = (id) => document.getElementById(id);
const ASKED = {};  // stands for the form of a question, whose defaults are filled in
let fields = 0;

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}
const pretty = (value) => JSON.stringify(value, null, 2);
const say = (text) => { $("said").textContent = text; };

function notice(text, level = "error") {
  $("notice").textContent = text;
  $("notice").className = level;
  $("notice").hidden = !text;
}

async function ask(path, body = {}) {
  const answer = await fetch(path, {
    method: "POST", body: JSON.stringify(body),
    headers: { authorization: `Bearer ${state.token}`, "content-type": "application/json" },
  });
  const text = await answer.text();
  if (!answer.ok) {
    let problem = text;
    try { problem = JSON.parse(text).problem; } catch { /* it is a text */ }
    throw new Error(problem);
  }
  return JSON.parse(text);
}

// ---- what there is

const keyOf = (what, entry) => `${what} ${entry.uri ?? entry.uriTemplate ?? entry.name}`;
const labelOf = (entry) => entry.uri ?? entry.uriTemplate ?? entry.name;

async function loadLists() {
  const told = await ask("api/lists");
  state.lists = told;
  state.calls = told.calls;
  document.title = `${told.title} – mcp-host`;
  $("title").textContent = told.title;
  const states = { ready: "good", failed: "bad", degraded: "warn" };
  $("packs").replaceChildren(...told.packs.filter((pack) => pack.name !== "host" && pack.state !== "disabled").map((pack) =>
    el("span", { class: `pill ${states[pack.state] ?? ""}`, title: pack.reason ?? "" }, `${pack.name}: ${pack.state}`)));
  drawEntries();
  if (state.chosen) {
    const [what, old] = state.chosen;
    const now = (told[what] ?? []).find((entry) => keyOf(what, entry) === keyOf(what, old));
    if (!now) choose(null);
    else if (JSON.stringify(now) !== JSON.stringify(old)) choose(what, now, values());
  } else choose(null);
}

function drawEntries() {
  const wanted = $("filter").value.toLowerCase();
  const parts = [];
  for (const [what, title] of Object.entries(TITLES)) {
    const found = (state.lists[what] ?? []).filter((entry) => `${labelOf(entry)} ${entry.title ?? ""}`.toLowerCase().includes(wanted));
    if (!found.length) continue;
    parts.push(el("h2", {}, title), el("ul", { "aria-label": title }, found.map((entry) => el("li", {},
      el("button", { type: "button", "data-key": keyOf(what, entry), onclick: () => { choose(what, entry); $("detail").focus({ preventScroll: true }); $("detail").scrollIntoView({ block: "nearest" }); } }, labelOf(entry))))));
  }
  $("entries").replaceChildren(...(parts.length ? parts : [el("p", { class: "empty" }, wanted ? "Nothing has this name." : "Nothing is listed yet.")]));
  mark();
}

function mark() {
  const key = state.chosen ? keyOf(...state.chosen) : "";
  for (const button of $("entries").querySelectorAll("button")) button.setAttribute("aria-current", String(button.dataset.key === key));
}

// ---- one entry, with its form

function hintsOf(entry) {
  const of = entry.annotations ?? {};
  const pills = [];
  if (of.readOnlyHint) pills.push("reads only");
  else if (of.destructiveHint === true) pills.push("may destroy");
  if (of.idempotentHint && !of.readOnlyHint) pills.push("may be repeated");
  if (of.openWorldHint) pills.push("reaches outside");
  if (entry.mimeType) pills.push(entry.mimeType);
  return pills;
}

function templateSchema(uri) {
  const names = [...uri.matchAll(/\{\+?([^}]+)\}/g)].map((found) => found[1]);
  return { type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])), required: names };
}
function promptSchema(prompt) {
  const given = prompt.arguments ?? [];
  return {
    type: "object", required: given.filter((one) => one.required).map((one) => one.name),
    properties: Object.fromEntries(given.map((one) => [one.name, { type: "string", description: one.description }])),
  };
}
function schemaOf(what, entry) {
  if (what === "tools") return entry.inputSchema ?? { type: "object" };
  if (what === "prompts") return promptSchema(entry);
  return what === "resourceTemplates" ? templateSchema(entry.uriTemplate) : { type: "object" };
}

function choose(what, entry, given) {
  state.chosen = what ? [what, entry] : null;
  state.form = null;
  mark();
  if (!what) {
    $("detail").replaceChildren(el("div", { class: "card empty" }, state.calls ? "Choose a tool, a resource or a prompt." : "Calls are shown as they come. Choose an entry to see what it is."));
    if (state.lists.about?.endpoint) $("detail").firstChild.append(el("p", {}, "Clients connect to ", el("code", {}, state.lists.about.endpoint)));
    return;
  }
  const schema = schemaOf(what, entry);
  const parts = [
    el("h2", {}, labelOf(entry)), entry.title ? el("p", { class: "soft" }, entry.title) : "",
    el("div", { class: "pills" }, hintsOf(entry).map((text) => el("span", { class: "pill" }, text))),
    el("p", { class: "about" }, entry.description ?? ""),
  ];
  if (state.calls) {
    state.form = group(schema, schema, given, refOf(what, entry));
    const run = el("button", { class: "primary", type: "submit", id: "run", title: "Ctrl+Enter" }, what === "tools" ? "Call" : what === "prompts" ? "Get" : "Read");
    const cancel = el("button", { type: "button", id: "cancel", hidden: true, onclick: () => ask("api/cancel", { key: state.running }) }, "Cancel");
    const json = el("button", { type: "button", "aria-pressed": "false", onclick: (event) => asJson(event.target, schema) }, "As JSON");
    const form = el("form", { id: "form", novalidate: true, onsubmit: submit }, el("div", { id: "fields" }, state.form.node), el("div", { class: "bar" }, run, cancel, Object.keys(schema.properties ?? {}).length ? json : ""));
    parts.push(form, el("div", { id: "result", "aria-live": "polite" }));
  }
  const shown = el("details", { class: "answer" }, el("summary", {}, "Schema"), el("pre", {}, pretty(what === "tools" ? { inputSchema: entry.inputSchema, outputSchema: entry.outputSchema } : entry)));
  parts.push(shown);
  $("detail").replaceChildren(...parts.filter((part) => part !== ""));
}

function asJson(button, schema) {
  const isJson = button.getAttribute("aria-pressed") === "true";
  let given;
  try { given = state.form.read(); } catch (error) { return complain(error); }
  state.form = isJson ? group(schema, schema, given) : whole(given);
  $("fields").replaceChildren(state.form.node);
  button.setAttribute("aria-pressed", String(!isJson));
  state.form.node.querySelector("input, textarea, select")?.focus();
}
const values = () => { try { return state.form?.read(); } catch { return undefined; } };

function whole(given) {
  const made = el("textarea", { rows: 10, "aria-label": "All arguments as JSON", spellcheck: "false" });
  made.value = pretty(given ?? {});
  return { node: el("div", { class: "field" }, made), read: () => parsed(made, made.value) };
}

class Misfit extends Error { constructor(node, text) { super(text); this.node = node; } }
function parsed(node, text) {
  try { return JSON.parse(text); } catch (error) { throw new Misfit(node, `This must be JSON: ${error.message}`); }
}

// ---- forms from schemas

function resolved(schema, root) {
  for (let depth = 0; schema?.$ref && depth < 20; depth += 1) {
    const { $ref, ...rest } = schema;
    const found = $ref.replace(/^#\/?/, "").split("/").filter(Boolean)
      .reduce((at, step) => at?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    schema = { ...found, ...rest };
  }
  const several = schema?.anyOf ?? schema?.oneOf;
  if (several && several.every((one) => one.const !== undefined)) return schema;
  const real = (several ?? []).filter((one) => one.type !== "null");
  if (several && real.length === 1) { const { anyOf, oneOf, ...rest } = schema; return resolved({ ...real[0], ...rest }, root); }
  if (schema?.allOf?.length === 1) { const { allOf, ...rest } = schema; return resolved({ ...allOf[0], ...rest }, root); }
  return schema ?? {};
}

function choicesOf(schema) {
  if (schema.enum) return schema.enum.map((value, at) => [value, schema.enumNames?.[at] ?? String(value)]);
  const several = schema.oneOf ?? schema.anyOf;
  if (several?.every((one) => one.const !== undefined)) return several.map((one) => [one.const, one.title ?? String(one.const)]);
  return schema.const !== undefined ? [[schema.const, String(schema.const)]] : null;
}

function limits(schema) {
  const told = [];
  if (schema.minimum !== undefined) told.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined) told.push(`at most ${schema.maximum}`);
  if (schema.minLength) told.push(`${schema.minLength} characters or more`);
  if (schema.maxLength !== undefined) told.push(`up to ${schema.maxLength} characters`);
  if (schema.maxItems !== undefined) told.push(`up to ${schema.maxItems} items`);
  if (schema.pattern) told.push(`pattern ${schema.pattern}`);
  if (schema.format) told.push(schema.format);
  return told.join(", ");
}

function group(schema, root, given = {}, ref = null) {
  const required = new Set(schema.required ?? []);
  const parts = Object.entries(schema.properties ?? {}).map(([name, of]) => [name, field(name, resolved(of, root), root, required.has(name), given?.[name], ref)]);
  return {
    node: el("div", {}, parts.map(([, part]) => part.node)),
    read: () => Object.fromEntries(parts.map(([name, part]) => [name, part.read()]).filter(([, value]) => value !== undefined)),
  };
}

function field(name, schema, root, required, given, ref) {
  const id = `field-${fields += 1}`;
  const kind = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  const start = given !== undefined ? given : ref === ASKED ? schema.default : undefined;
  if (kind === "object" && schema.properties) {
    const inner = group(schema, root, start ?? {}, ref === ASKED ? ASKED : null);
    const use = required ? null : el("input", { type: "checkbox", "aria-label": `Give ${name}` });
    if (use) {
      use.checked = given !== undefined;
      const show = () => { inner.node.hidden = !use.checked; };
      use.addEventListener("change", show);
      show();
    }
    return {
      node: el("fieldset", {}, el("legend", {}, use, use ? " " : "", title(name, schema, required)), hint(schema, `${id}-hint`), inner.node),
      read: () => (use && !use.checked ? undefined : inner.read()),
    };
  }
  const [input, read] = control(id, name, kind, schema, required, start, ref, root);
  const told = hint(schema, `${id}-hint`);
  if (told) input.setAttribute("aria-describedby", `${id}-hint`);
  if (required) input.setAttribute("aria-required", "true");
  return { node: el("div", { class: "field" }, el("label", { for: id }, title(name, schema, required)), input, input.list ?? null, told), read };
}

const title = (name, schema, required) => [name, el("span", { class: "kind" }, ` ${kindWord(schema)}${required ? ", needed" : ""}`)];
function kindWord(schema) {
  if (choicesOf(schema)) return "one of";
  const kind = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type;
  return { string: "text", array: "list", boolean: "yes or no", object: "object" }[kind] ?? kind ?? "JSON";
}
function hint(schema, id) {
  const text = [schema.description, limits(schema)].filter(Boolean).join(" · ");
  return text ? el("p", { class: "hint", id }, text) : null;
}

function control(id, name, kind, schema, required, start, ref, root) {
  const choices = choicesOf(schema);
  const misses = (node, value) => { if (required && value === undefined) throw new Misfit(node, `${name} is needed.`); return value; };
  if (choices || kind === "boolean") {
    const options = choices ?? [[true, "yes"], [false, "no"]];
    const made = el("select", { id }, required && start !== undefined ? null : el("option", { value: "" }, required ? "choose…" : schema.default === undefined || schema.default === null ? "not given" : `not given: ${choices ? choices.find(([value]) => JSON.stringify(value) === JSON.stringify(schema.default))?.[1] ?? schema.default : schema.default ? "yes" : "no"}`),
      options.map(([value, text], at) => el("option", { value: at, selected: start !== undefined && JSON.stringify(value) === JSON.stringify(start) }, text)));
    return [made, () => misses(made, made.value === "" ? undefined : options[Number(made.value)][0])];
  }
  if (kind === "integer" || kind === "number") {
    const made = el("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", placeholder: given(schema.default) ? String(schema.default) : null });
    if (given(start)) made.value = String(start);
    return [made, () => {
      const text = made.value.trim();
      if (text === "") return misses(made, undefined);
      const number = Number(text);
      if (!Number.isFinite(number)) throw new Misfit(made, `${name} must be a number.`);
      return number;
    }];
  }
  if (kind === "string") {
    const isLong = (schema.maxLength ?? 0) > 200 || String(start ?? "").includes("\n");
    const made = el(isLong ? "textarea" : "input", { id, autocomplete: "off", placeholder: given(schema.default) ? String(schema.default) : null, type: isLong ? null : { date: "date", uri: "url", email: "email" }[schema.format] ?? "text" });
    if (given(start)) made.value = start;
    if (ref && ref !== ASKED && !isLong) proposing(made, name, ref);
    return [made, () => (made.value === "" && !(required && schema.minLength === undefined && made.dataset.empty) ? misses(made, undefined) : made.value)];
  }
  const items = kind === "array" ? resolved(schema.items ?? {}, root) : null;
  const picks = items && choicesOf(items);
  if (picks) {
    const made = el("select", { id, multiple: true, size: Math.min(8, picks.length) }, picks.map(([value, text], at) => el("option", { value: at, selected: (start ?? []).includes(value) }, text)));
    return [made, () => { const taken = [...made.selectedOptions].map((one) => picks[Number(one.value)][0]); return taken.length || required ? taken : undefined; }];
  }
  const isLines = items?.type === "string";
  const made = el("textarea", { id, spellcheck: "false", placeholder: isLines ? "one on each line" : kind === "array" ? "[…] as JSON" : "JSON" });
  if (given(start)) made.value = isLines ? start.join("\n") : pretty(start);
  return [made, () => {
    const text = made.value;
    if (text.trim() === "") return misses(made, undefined);
    return isLines ? text.split("\n").filter((line) => line !== "") : parsed(made, text);
  }];
}
const given = (value) => value !== undefined && value !== null;

const refOf = (what, entry) => (what === "prompts" ? { type: "ref/prompt", name: entry.name } : what === "resourceTemplates" ? { type: "ref/resource", uri: entry.uriTemplate } : null);
function proposing(input, name, ref) {
  const list = el("datalist", { id: `${input.id}-list` });
  input.setAttribute("list", list.id);
  let waiting;
  const propose = async () => {
    const told = await ask("api/complete", { ref, argument: { name, value: input.value } }).catch(() => null);
    list.replaceChildren(...(told?.result?.completion?.values ?? []).map((value) => el("option", { value })));
  };
  input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(propose, 200); });
  input.addEventListener("focus", propose, { once: true });
  queueMicrotask(() => input.after(list));
}

// ---- calling

function complain(error) {
  for (const node of document.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
  $("result").replaceChildren(el("div", { class: "card failure answer", role: "alert" }, el("p", {}, error.message)));
  if (error.node) { error.node.setAttribute("aria-invalid", "true"); error.node.focus(); }
}

function filled(uri, given) {
  return uri.replace(/\{(\+?)([^}]+)\}/g, (_, several, name) => (several ? String(given[name]).split("/").map(encodeURIComponent).join("/") : encodeURIComponent(given[name])));
}

async function submit(event) {
  event.preventDefault();
  if (state.running || !state.chosen) return;
  const [what, entry] = state.chosen;
  let given;
  try { given = state.form.read(); } catch (error) { complain(error); return; }
  if (what === "tools" || what === "prompts") await call(what === "tools" ? "tool" : "prompt", entry.name, given);
  else await call("resource", what === "resources" ? entry.uri : filled(entry.uriTemplate, given), {});
}

async function call(kind, name, given, before) {
  state.running = String(Math.random());
  const result = $("result");
  const busy = (is) => { $("run").disabled = is; $("cancel").hidden = !is; };
  busy(true);
  result.replaceChildren(el("p", { class: "soft" }, "Calling…"), el("progress", { "aria-label": "Progress" }));
  const began = performance.now();
  try {
    let told = await ask("api/call", { kind, name, arguments: given, key: state.running });
    while (told.result?.resultType === "input_required") {
      const answers = {};
      for (const [key, question] of Object.entries(told.result.inputRequests)) answers[key] = await answered(question);
      told = await ask("api/call", { kind, name, arguments: given, answers, state: told.result.requestState, key: state.running });
    }
    const ms = performance.now() - began;
    const same = before === undefined ? "" : same_(before, told) ? "The same answer as before." : "Another answer than before.";
    result.replaceChildren(
      el("p", { class: failed(told) ? "bad" : "good" }, `${failed(told) ? "Failed" : "Answered"} after ${ms.toFixed(0)} ms. ${same}`), answer(told));
  } catch (error) {
    result.replaceChildren(el("div", { class: "card failure answer" }, el("p", {}, error.message)));
  } finally {
    state.running = null;
    if ($("run")) busy(false);
  }
}
const failed = (told) => Boolean(told.error || told.result?.isError);
function essence(value) {
  if (Array.isArray(value)) return value.map(essence);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).filter(([key]) => !["_meta", "request_id", "resultType", "ttlMs", "cacheScope"].includes(key)).sort().map(([key, inner]) => [key, essence(inner)]));
  if (typeof value === "string" && /^[[{]/.test(value)) { try { return essence(JSON.parse(value)); } catch { return value; } }
  return value;
}
const same_ = (one, other) => JSON.stringify(essence(one)) === JSON.stringify(essence(other));

// ---- questions

function answered(question) {
  const params = question.params ?? {};
  const dialog = $("question");
  return new Promise((resolve) => {
    let form = { node: "", read: () => ({}) };
    let make = (content) => ({ action: "accept", content });
    let decline = { action: "decline" };
    const parts = [];
    if (question.method === "sampling/createMessage") {
      parts.push(el("h2", { id: "question-title" }, "A model is asked to write"));
      if (params.systemPrompt) parts.push(el("pre", {}, params.systemPrompt));
      for (const message of params.messages ?? []) parts.push(el("h3", {}, message.role), ...[message.content].flat().map(content));
      form = group({ properties: { text: { type: "string", maxLength: 10000, description: "What the model would write" } }, required: ["text"] }, {});
      make = ({ text }) => ({ role: "assistant", content: { type: "text", text }, model: "person" });
      decline = { role: "assistant", content: { type: "text", text: "" }, model: "person" };
    } else if (question.method === "roots/list") {
      parts.push(el("h2", { id: "question-title" }, "Which folders are open?"));
      form = group({ properties: { roots: { type: "array", items: { type: "string" }, description: "A file: URI on each line" } } }, {});
      make = ({ roots }) => ({ roots: (roots ?? []).map((uri) => ({ uri })) });
      decline = { roots: [] };
    } else if (params.mode === "url") {
      parts.push(el("h2", { id: "question-title" }, "A page is to be visited"), el("p", { class: "message" }, params.message), el("pre", {}, params.url));
      make = () => ({ action: "accept" });
    } else {
      parts.push(el("h2", { id: "question-title" }, "A question"), el("p", { class: "message" }, params.message));
      form = group(params.requestedSchema ?? {}, params.requestedSchema ?? {}, {}, ASKED);
    }
    const trouble = el("p", { class: "bad", role: "alert" });
    const done = (value) => { dialog.close(); resolve(value); };
    const send = (event) => {
      event.preventDefault();
      try { done(make(form.read())); } catch (error) { trouble.textContent = error.message; error.node?.focus(); }
    };
    dialog.replaceChildren(...parts, el("form", { novalidate: true, onsubmit: send }, form.node, trouble, el("div", { class: "bar" },
      el("button", { class: "primary", type: "submit" }, "Send"), el("button", { type: "button", onclick: () => done(decline) }, "Decline"))));
    dialog.oncancel = () => resolve(question.method === "elicitation/create" ? { action: "cancel" } : decline);
    dialog.showModal();
    dialog.querySelector("input, select, textarea, button")?.focus();
  });
}

// ---- answers

function answer(told) {
  if (told.error) return failure(told.error.data ?? { error: told.error.message });
  const result = told.result ?? told;
  const made = el("div", { class: "answer" });
  if (result.isError) {
    const envelope = result._meta?.["mcp-host/error"] ?? tried(result.content?.[0]?.text);
    made.append(envelope?.error ? failure(envelope) : el("div", { class: "card failure" }, (result.content ?? []).map(content)));
    return made;
  }
  if (result.structuredContent !== undefined) made.append(el("h3", {}, "Structured"), data(result.structuredContent));
  for (const message of result.messages ?? []) made.append(el("h3", {}, message.role), ...[message.content].flat().map(content));
  for (const one of result.contents ?? []) made.append(el("h3", {}, one.uri), content({ type: "resource", resource: one }));
  const texts = (result.content ?? []).filter((one) => !(one.type === "text" && result.structuredContent !== undefined && sameData(one.text, result.structuredContent)));
  if (texts.length) made.append(el("h3", {}, "Content"), ...texts.map(content));
  if (!made.childNodes.length) made.append(el("p", { class: "soft" }, "The answer is empty."));
  return made;
}
const tried = (text) => { try { return JSON.parse(text); } catch { return undefined; } };
const sameData = (text, known) => { const read = tried(text) ?? text; return [known, known?.result].some((one) => one !== undefined && JSON.stringify(essence(read)) === JSON.stringify(essence(one))); };

function failure(envelope) {
  return el("div", { class: "card failure" }, el("p", {}, el("strong", {}, envelope.code ?? "error"), ` ${envelope.error ?? ""}`),
    (envelope.suggestions ?? []).map((text) => el("p", {}, `→ ${text}`)),
    envelope.details && Object.keys(envelope.details).length ? el("pre", {}, pretty(envelope.details)) : "");
}

function data(value) {
  const rows = Array.isArray(value) ? value : Array.isArray(value?.result) ? value.result : null;
  if (rows?.length && rows.every((row) => row && typeof row === "object" && !Array.isArray(row))) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const rest = rows === value ? null : Object.fromEntries(Object.entries(value).filter(([key]) => key !== "result"));
    return el("div", {}, rest && Object.keys(rest).length ? el("pre", {}, pretty(rest)) : "", el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows" }, el("table", {},
      el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map((name) => el("td", {}, cell(row[name])))))))));
  }
  return el("pre", {}, typeof value === "string" ? value : pretty(value));
}
function cell(value) {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(", ");
  return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function content(one) {
  if (one.type === "text") { const read = tried(one.text); return el("pre", {}, read && typeof read === "object" ? pretty(read) : one.text); }
  if (one.type === "image") return el("img", { src: `data:${one.mimeType};base64,${one.data}`, alt: `A picture of the answer (${one.mimeType})` });
  if (one.type === "audio") return el("audio", { controls: true, src: `data:${one.mimeType};base64,${one.data}` });
  if (one.type === "resource") {
    const of = one.resource;
    if (of.text !== undefined) return el("div", {}, el("p", { class: "soft" }, of.mimeType ?? "text"), el("pre", {}, of.text));
    return (of.mimeType ?? "").startsWith("image/") ? content({ type: "image", mimeType: of.mimeType, data: of.blob }) : el("p", {}, `${of.uri}: ${(of.blob ?? "").length} characters of base64, ${of.mimeType ?? "no type"}`);
  }
  if (one.type === "resource_link") return el("p", {}, state.calls ? el("button", { type: "button", onclick: () => open(one.uri) }, `Read ${one.uri}`) : one.uri, ` ${one.name ?? ""}`);
  return el("pre", {}, pretty(one));
}
function open(uri) {
  choose("resources", (state.lists.resources ?? []).find((entry) => entry.uri === uri) ?? { uri, name: uri });
  call("resource", uri, {});
}

// ---- calls as they go

function heard(event) {
  if (event.event === "note") { notice(event.level === "error" ? event.text : "", event.level); if (event.level !== "error") say(event.text); return; }
  if (event.event === "lists_changed" || (event.event === "changed" && event.uri === "host://packs")) { soon(); return; }
  if (!event.id) return;
  if (event.event === "began") {
    const one = { began: event, steps: [], node: el("li", {}) };
    state.feed.set(event.id, one);
    $("feed").prepend(one.node);
    if (state.feed.size > LONGEST_FEED) { const [oldest, gone] = state.feed.entries().next().value; gone.node.remove(); state.feed.delete(oldest); }
    one.details = el("details", { class: "card" });
    one.node.append(one.details);
    one.details.addEventListener("toggle", () => drawCall(one));
    $("none").hidden = true;
  }
  const one = state.feed.get(event.id);
  if (!one) return;
  if (event.event === "ended") {
    one.ended = event;
    if (event.code !== "ok" && event.code !== "input_required") say(`${one.began.name} ended as ${event.code}`);
  } else if (event.event !== "began") {
    one.steps.push(event);
    if (event.event === "progress" && state.running) showProgress(event);
  }
  drawCall(one);
  $("count").textContent = String(state.feed.size);
}

function showProgress(event) {
  const bar = document.querySelector("#result progress");
  if (!bar) return;
  if (event.total) { bar.max = event.total; bar.value = event.done; }
  bar.previousSibling.textContent = `Calling… ${event.done}${event.total ? ` of ${event.total}` : ""}${event.message ? `: ${event.message}` : ""}`;
}

function stepText(step) {
  if (step.event === "progress") return `${step.done}${step.total === null ? "" : ` of ${step.total}`}${step.message ? `: ${step.message}` : ""}`;
  if (step.event === "log") return `${step.level}${step.data === undefined ? "" : `: ${typeof step.data === "string" ? step.data : JSON.stringify(step.data)}`}`;
  if (step.event === "asked") return `asked: ${step.question ? step.question.params?.message ?? step.method : step.method}`;
  if (step.event === "answered") return `answered: ${step.action ?? (step.answer ? JSON.stringify(step.answer) : "")}`;
  return step.event;
}

function drawCall(one) {
  const { began, ended, details } = one;
  const wasFocused = details.contains(document.activeElement) && document.activeElement.tagName === "SUMMARY";
  const target = began.kind === "resource" ? began.target ?? began.name : began.name;
  const shape = began.arguments ?? began.shapes;
  const style = !ended ? "soft" : ended.code === "ok" ? "good" : ended.code === "input_required" ? "warn" : "bad";
  const summary = el("summary", {}, el("span", { class: "name" }, target ?? "?"),
    el("span", { class: "soft" }, began.client ?? ""),
    el("span", { class: `end ${style}` }, ended ? `${ended.code === "input_required" ? "asked" : ended.code} · ${ended.ms.toFixed(ended.ms < 10 ? 1 : 0)} ms` : "running…"),
    Object.keys(shape).length ? el("span", { class: "short" }, JSON.stringify(shape)) : "");
  const parts = [summary];
  if (details.open) {
    const body = el("div", { class: "body" }, el("p", { class: "soft" }, new Date(began.time * 1000).toLocaleTimeString()),
      el("h4", {}, began.arguments ? "Arguments" : "Shapes of the arguments"), el("pre", {}, pretty(shape)));
    if (one.steps.length) body.append(el("h4", {}, "Meanwhile"), el("ul", { class: "steps" }, one.steps.slice(-100).map((step) => el("li", {}, stepText(step)))));
    if (ended) {
      body.append(el("h4", {}, `Answer, ${ended.bytes} bytes`));
      if (ended.result?.inputRequests) body.append(...Object.values(ended.result.inputRequests).map((question) => el("p", {}, question.params?.message ?? question.method)));
      else if (ended.result) body.append(ended.result.error ? answer(ended.result) : answer({ result: ended.result }));
      else body.append(el("p", { class: "soft" }, "Not shown."));
    }
    if (ended && state.calls && began.arguments) body.append(el("div", { class: "bar" }, el("button", { type: "button", onclick: () => again(one) }, "Call again"), el("button", { type: "button", onclick: () => edit(one) }, "Edit and call")));
    parts.push(body);
  }
  details.replaceChildren(...parts);
  if (wasFocused) summary.focus();
}

function entryOf(one) {
  const { began } = one;
  if (began.kind === "resource") return ["resources", (state.lists.resources ?? []).find((entry) => entry.uri === began.target) ?? { uri: began.target, name: began.target }];
  const what = began.kind === "tool" ? "tools" : "prompts";
  return [what, (state.lists[what] ?? []).find((entry) => entry.name === began.name)];
}
function edit(one) {
  const [what, entry] = entryOf(one);
  if (!entry) { notice(`${one.began.name} is not listed any more.`); return false; }
  choose(what, entry, one.began.arguments);
  $("detail").focus();
  $("detail").scrollIntoView({ block: "nearest" });
  return true;
}
async function again(one) {
  if (state.running || !edit(one)) return;
  const before = one.ended.result?.error ? one.ended.result : { result: one.ended.result };
  const isResource = one.began.kind === "resource";
  await call(one.began.kind, isResource ? one.began.target : one.began.name, isResource ? {} : one.began.arguments, before);
}

// ---- the stream of events

let waiting;
function soon() { clearTimeout(waiting); waiting = setTimeout(() => loadLists().catch((error) => notice(error.message)), 60); }

async function follow() {
  for (;;) {
    try {
      const response = await fetch("events", { headers: { authorization: `Bearer ${state.token}` } });
      if (!response.ok) throw new Error(await response.text());
      state.feed.clear();
      $("feed").replaceChildren();
      for (const event of await ask("api/events")) heard(event);
      await loadLists();
      $("live").textContent = state.calls ? "live" : state.lists.about.values ? "live, with values" : "live, shapes alone";
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const blocks = text.split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const lines = block.split("\n");
          if (lines[0] === "event: reset") { location.reload(); return; }
          if (lines[0] === "event: feed") heard(JSON.parse(lines[1].slice("data: ".length)));
        }
      }
    } catch (error) {
      if (/token/.test(error.message)) { $("live").textContent = "not let in"; notice(error.message); return; }
    }
    $("live").textContent = "the host cannot be reached; trying again";
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

// ---- keys, themes, the beginning

$("filter").addEventListener("input", drawEntries);
$("clear").addEventListener("click", () => { state.feed.clear(); $("feed").replaceChildren(); $("none").hidden = false; $("count").textContent = ""; });
$("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
});
document.addEventListener("keydown", (event) => {
  const isTyping = /INPUT|TEXTAREA|SELECT/.test(document.activeElement?.tagName ?? "");
  if (event.key === "/" && !isTyping && !$("question").open) { event.preventDefault(); $("filter").focus(); }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && $("form") && !$("question").open) { event.preventDefault(); $("form").requestSubmit(); }
  if (/^Arrow(Up|Down)$/.test(event.key) && (document.activeElement?.closest("nav"))) {
    const stops = [$("filter"), ...$("entries").querySelectorAll("button")];
    const next = stops[stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) { event.preventDefault(); next.focus(); }
  }
});
// The token is kept for reloads of this tab alone, and leaves the address bar.
state.token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
sessionStorage.setItem("token", state.token);
history.replaceState(null, "", location.pathname);
follow();
