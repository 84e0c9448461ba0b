/* The list of trials, and its filters. */

import { get } from "./api.js";
import { tag, typeName } from "./case.js";
import { el } from "./dom.js";
import { appendLater } from "./later.js";
import { FACETS, caseLink, changed, filterOf, here, learnNames, nameOf, toggled } from "./state.js";
import { say } from "./words.js";

const PAGE = 50;
const AT_ONCE = 12; // Number of rows needed to fill a window.
const TITLES = {
  run: "Run", model: "Model", data: "Data", lang: "Language", testbed: "Testbed", noise: "Noise", docs: "Number of documents", arm: "Distractors", profile: "Profile", true: "Share of true documents",
  outcome: "Outcome", error: "Error type", verdict: "Verdict", misled: "Misled", type: "Error types", differs: "Scorer disagreement", label: "Labels",
};
const VALUES = { lang: { en: "English", zh: "Chinese" }, noise: { none: "no documents" }, differs: { code: "differs from the code scorer", paper: "differs from the paper scorer" } };
const TRANSLATED = new Set(["lang", "outcome", "verdict", "misled", "differs", "label", "noise", "arm"]);

// The trials that `j` and `k` step through, each with its position in the list when it was read. They are kept when the
// page is reloaded: the positions of trials that were labelled and have left the list cannot be read again.
let walk = JSON.parse(sessionStorage.getItem("walk")) ?? { key: null, steps: [] };

function keepWalk(next) {
  walk = next;
  sessionStorage.setItem("walk", JSON.stringify(walk));
}

/** Fetch one page of the list. */
async function fetchPage(params, offset, signal) {
  const asked = filterOf(params);
  asked.set("offset", offset);
  const page = await get("/api/trials", asked, signal);
  learnNames(page.names);
  return page;
}

const startOf = (at) => Math.floor(at / PAGE) * PAGE;
const idOf = (row) => JSON.stringify([row.run, row.case, row.model, row.repeat]);
const rowOf = (id) => {
  const [run, name, model, repeat] = JSON.parse(id);
  return { run, case: name, model, repeat };
};
const stepsOf = (page) => page.rows.map((row, place) => ({ id: idOf(row), at: page.offset + place }));

/** Return the trial before or after the shown one with its position in the list, or undefined at the end.
 *
 * The order of the trials is kept while the list changes: a label removes a trial from `label=wanted`. */
export async function stepFrom(params, by) {
  const key = String(filterOf(params));
  const at = Number(params.get("at"));
  const id = idOf({ run: params.get("in"), case: params.get("case"), model: params.get("by"), repeat: Number(params.get("repeat")) });
  const find = () => walk.steps.findIndex((step) => step.id === id);
  if (walk.key !== key || find() < 0) {
    const steps = stepsOf(await fetchPage(params, startOf(at)));
    // If the shown trial has left the list, it was before the trial that is now at its position.
    if (!steps.some((step) => step.id === id)) steps.splice(at % PAGE, 0, { id, at });
    keepWalk({ key, steps });
  }
  if (!walk.steps[find() + by]) {
    await (by > 0 ? readOn : readBack)(params, walk);
    keepWalk(walk);
  }
  const next = walk.steps[find() + by];
  return next && { row: rowOf(next.id), at: next.at };
}

/** Add the trials after the last step. Those that left the list have moved them to earlier pages. */
async function readOn(params, { steps }) {
  const isNew = ({ id }) => steps.every((step) => step.id !== id);
  const read = async (from) => stepsOf(await fetchPage(params, from));
  let offset = startOf(steps.at(-1).at);
  let found = await read(offset);
  while (offset > startOf(steps[0].at) && found.every(isNew)) found = await read(offset -= PAGE);
  while (found.length && !found.some(isNew)) found = await read(offset += PAGE);
  steps.push(...found.filter(isNew));
}

/** Add the trials before the first step. */
async function readBack(params, { steps }) {
  const first = steps[0].at;
  if (first === 0) return;
  const found = stepsOf(await fetchPage(params, startOf(first - 1)));
  steps.unshift(...found.filter((one) => one.at < steps[0].at && steps.every((step) => step.id !== one.id)));
}

/** Draw the page. */
export async function drawList(go, signal, { keep }) {
  let page = await fetchPage(here(), Number(here().get("offset") ?? 0), signal);
  if (!page.rows.length && page.total) page = await fetchPage(here(), startOf(page.total - 1), signal); // The list is shorter now.
  const { offset } = page;
  keepWalk({ key: String(filterOf()), steps: stepsOf(page) });
  const draws = page.rows.map((row, place) => () => drawRow(row, offset + place));
  const first = keep ? draws.length : AT_ONCE;
  const list = el("ol", { class: "trials", start: offset + 1 }, draws.slice(0, first).map((draw) => draw()));
  appendLater(list, draws.slice(first), signal);
  return el("div", { class: "browse" }, drawFacets(page, go), el("div", {},
    el("div", { class: "row heading" }, el("h1", {}, say("Trials")),
      el("span", { role: "status", class: "quiet" }, totalOf(page)), drawChosen(go)),
    page.rows.length
      ? list
      : el("p", { class: "quiet empty" }, say(filterOf().size ? "No matches. Remove a filter or a search term." : "No results to show yet.")),
    drawPager(page, offset, go)));
}

function totalOf(page) {
  const count = page.total.toLocaleString("en");
  if (page.is_exact) return say(page.total === 1 ? "{0} trial" : "{0} trials", count);
  return say("only the first {0} trials are shown", count);
}

function drawRow(row, at) {
  const state = row.outcome === "ok" ? row.verdict : row.outcome;
  return el("li", {}, el("a", { href: caseLink(row, at), class: "trial-row" },
    el("span", { class: "state" }, tag(state), row.misled ? tag("misled") : null),
    el("span", { class: "what" },
      el("span", { class: "asked", lang: row.lang, dir: "auto" }, row.question),
      el("span", { class: "said", lang: row.lang, dir: "auto" }, row.reply || "–"),
      row.found === null ? null : el("span", { class: "found small" }, tag("found in a document"), " ", el("span", { lang: row.lang, dir: "auto" }, row.found))),
    el("span", { class: "where small quiet" },
      el("span", { class: "model", title: row.model }, nameOf(row.model)),
      el("span", {}, `${row.testbed}${row.noise === null ? "" : ` ${Number(row.noise.toFixed(3))}`} · ${row.data} #${row.item}`),
      row.dial ? el("span", { class: "row" }, tag("minimal pair", "other"), 
        say(row.is_plain ? "original version of #{0} (perturbation: {1})" : "perturbed version of #{0} (perturbation: {1})", row.twin, row.dial)) : null,
      el("span", { class: "row" }, row.types.map((type) => tag(typeName(type), "warn")), row.differs.map((scorer) => tag(`${scorer} differs`, "other"))))));
}

function drawFacets(page, go) {
  const chosen = here();
  const isSearch = chosen.has("q") || chosen.has("label");
  const facets = { ...page.facets, label: { wanted: null, done: null } };
  const parts = FACETS.map((name) => {
    const values = new Map(Object.entries(facets[name] ?? {}));
    for (const value of chosen.getAll(name)) if (!values.has(value)) values.set(value, 0);
    const shown = [...values];
    // JavaScript puts integer-like keys first, regardless of the order in which the server sent them.
    if (name === "noise" || name === "true") shown.sort(([one], [other]) => (one === "none") - (other === "none") || Number(one) - Number(other));
    if (values.size < (chosen.has(name) || ["misled", "type", "differs", "error"].includes(name) ? 1 : 2)) return null;
    return el("fieldset", { class: "facet" }, el("legend", {}, say(TITLES[name])), shown.map(([value, count]) =>
      el("button", { "aria-pressed": String(chosen.getAll(name).includes(value)), onclick: () => go(toggled(name, value)) },
        el("span", {}, wordOf(name, value)),
        count === null || isSearch ? null : el("span", { class: "count" }, count.toLocaleString("en")))));
  });
  return el("details", { class: "facets", open: !matchMedia("(max-width: 60rem)").matches }, el("summary", {}, say("Filters")), parts);
}

function wordOf(facet, value) {
  if (facet === "type") return typeName(value);
  if (facet === "model") return nameOf(value);
  const word = VALUES[facet]?.[value] ?? (facet === "label" ? { wanted: "to be labelled", done: "labelled" }[value] : value);
  return TRANSLATED.has(facet) ? say(word) : word;
}

function drawChosen(go) {
  const chosen = [...filterOf()].filter(([name]) => name !== "q");
  if (!chosen.length) return null;
  const kept = here().get("q");
  return el("button", { class: "quiet-button", onclick: () => go(`?show=trials${kept ? `&${new URLSearchParams({ q: kept })}` : ""}`) }, say("Clear filters"));
}

function drawPager(page, offset, go) {
  if (page.total <= PAGE) return null;
  const last = startOf(page.total - 1);
  const step = (word, to, isOff) => el("button", { disabled: isOff, onclick: () => go(changed("offset", to || null)) }, say(word));
  return el("nav", { class: "row pager", "aria-label": say("Pages") },
    step("First", 0, offset === 0), step("Previous page", Math.max(0, offset - PAGE), offset === 0),
    el("span", { class: "quiet" }, say("{0} to {1}", (offset + 1).toLocaleString("en"), Math.min(page.total, offset + PAGE).toLocaleString("en"))),
    step("Next page", offset + PAGE, offset + PAGE >= page.total), step("Last", last, offset >= last));
}
