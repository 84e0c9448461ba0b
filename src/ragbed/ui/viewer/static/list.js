/* The list of trials, and its filters. */

import { get } from "./api.js";
import { tag, typeName } from "./case.js";
import { el } from "./dom.js";
import { drawPager } from "./shell.js";
import { FACETS, caseLink, changed, filterOf, here, learnNames, nameOf, toggled } from "./state.js";
import { say } from "./words.js";

const PAGE = 50;
const TITLES = {
  run: "Run", model: "Model", data: "Data", lang: "Language", testbed: "Testbed", noise: "Noise", docs: "Number of documents", arm: "Distractors or corpus", profile: "Profile", true: "Share of true documents",
  outcome: "Outcome", error: "Error type", verdict: "Verdict", misled: "Misled", type: "Error types", label: "Labels",
};
const VALUES = { lang: { en: "English", zh: "Chinese" }, noise: { none: "no documents" } };
const TRANSLATED = new Set(["lang", "outcome", "verdict", "misled", "label", "noise", "arm"]);

/** Fetch one page of the list. */
async function fetchPage(params, offset, signal) {
  const asked = filterOf(params);
  asked.set("offset", offset);
  const page = await get("/api/trials", asked, signal);
  learnNames(page.names);
  return page;
}

const startOf = (at) => Math.floor(at / PAGE) * PAGE;

/** Return the trial before or after the shown one with its position in the list, or undefined at the end.
 *
 * If the shown trial has left the list, e.g. because it was labelled, the one after it has taken its position. */
export async function stepFrom(params, by) {
  const at = Number(params.get("at"));
  const fetchRow = async (place) => (place < 0 ? undefined : (await fetchPage(params, startOf(place))).rows[place % PAGE]);
  const found = await fetchRow(at);
  const isShown = found && [["in", found.run], ["case", found.case], ["by", found.model], ["repeat", String(found.repeat)]].every(([name, value]) => params.get(name) === value);
  const next = isShown || by < 0 ? at + by : at;
  const row = await fetchRow(next);
  return row && { row, at: next };
}

/** Draw the page. */
export async function drawList(go, signal) {
  let page = await fetchPage(here(), Number(here().get("offset") ?? 0), signal);
  if (!page.rows.length && page.total) page = await fetchPage(here(), startOf(page.total - 1), signal); // The list is shorter now.
  const { offset } = page;
  const list = el("ol", { class: "trials", start: offset + 1 }, page.rows.map((row, place) => drawRow(row, offset + place)));
  return el("div", { class: "browse" }, drawFacets(page, go), el("div", {},
    el("div", { class: "row heading" }, el("h1", {}, say("Trials")),
      el("span", { role: "status", class: "quiet" }, totalOf(page)), drawChosen(go)),
    page.rows.length
      ? list
      : el("p", { class: "quiet empty" }, say(filterOf().size ? "No matches. Remove a filter or a search term." : "No results to show yet.")),
    drawPager(page.total, offset, PAGE, (to) => go(changed("offset", to || null)))));
}

function totalOf(page) {
  const count = page.total.toLocaleString("en");
  if (page.is_exact) return say(page.total === 1 ? "{0} trial" : "{0} trials", count);
  return say("only the first {0} trials are shown", count);
}

/** Draw a link to a trial; `note` is shown with its state. */
export function drawRow(row, at, note = null) {
  const state = row.outcome === "ok" ? row.verdict : row.outcome;
  return el("li", {}, el("a", { href: caseLink(row, at), class: "trial-row" },
    el("span", { class: "state" }, tag(state), row.misled ? tag("misled") : null, note ? el("span", { class: "small quiet" }, note) : null),
    el("span", { class: "what" },
      el("span", { class: "asked", lang: row.lang, dir: "auto" }, row.question),
      el("span", { class: "said", lang: row.lang, dir: "auto" }, row.reply || "–"),
      row.in_document ? tag("found in a document") : null),
    el("span", { class: "where small quiet" },
      el("span", { class: "model", title: row.model }, nameOf(row.model)),
      el("span", {}, `${row.testbed}${row.arm === "related" ? "" : ` ${say(row.arm)}`}${row.noise === null ? "" : ` ${Number(row.noise.toFixed(3))}`} · ${row.data} #${row.item}`),
      el("span", { class: "row" }, row.types.map((type) => tag(typeName(type), "warn"))))));
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
    if (values.size < (chosen.has(name) || ["misled", "type", "error"].includes(name) ? 1 : 2)) return null;
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
