/* The first page: counts and rates for every model under every condition. */

import { get } from "./api.js";
import { tag } from "./case.js";
import { el } from "./dom.js";
import { appendLater } from "./later.js";
import { changed, here, learnNames, listLink, nameOf } from "./state.js";
import { say } from "./words.js";

const SCORERS = ["robust", "code", "paper"];
const AT_ONCE = 20; // Number of rows needed to fill a window.
const LANGS = { en: "English", zh: "Chinese" };
const WITH_TRUE = ["counterfactual", "conflict"]; // Testbeds with a filter for the share of true documents.
const OUTCOMES = { errors: "error", truncated: "truncated", filtered: "filtered" };
const RATES = ["correct", "refused", "flagged", "misled"];
const HEADINGS = { correct: "correct %", refused: "refused %", flagged: "errors flagged %", misled: "misled %" };

/** Draw the page. */
export async function drawOverview(go, signal, { keep }) {
  const scorer = here().get("scorer") ?? "robust";
  const told = await get("/api/overview", new URLSearchParams({ scorer }), signal);
  learnNames(told.names);
  const rates = RATES.filter((name) => told.rows.some((row) => row.rates[name]));
  const choose = el("div", { class: "row", role: "group", "aria-label": say("Scorer") }, SCORERS.map((name) =>
    el("button", { "aria-pressed": String(name === scorer), onclick: () => go(changed("scorer", name === "robust" ? null : name)) }, say(name))));
  const outcomes = Object.keys(OUTCOMES).filter((name) => name === "errors" || told.rows.some((row) => row[name]));
  const table = drawTable(told.rows, rates, outcomes, keep, signal);
  return el("div", {},
    el("div", { class: "row heading" }, el("h1", {}, say("Overview")), choose),
    el("p", { class: "quiet small" }, say("Rates are percentages of n, including failed calls, with 95% confidence intervals clustered by question or event. Click a row to see its trials.")),
    told.causes.map((text) => el("p", {}, el("strong", {}, text[document.documentElement.lang.startsWith("zh") ? "zh" : "en"]))),
    told.rows.length ? el("div", { class: "scroll" }, table) : el("p", {}, say("No results to show yet.")),
    told.count > told.rows.length ? el("p", { class: "quiet" }, say("Showing {0} of {1} rows. Filter the list to see the others.", told.rows.length, told.count)) : null);
}

function drawTable(rows, rates, outcomes, isWhole, signal) {
  const groups = Map.groupBy(rows, (row) => JSON.stringify([row.run, row.model, row.data, row.lang, row.profile]));
  const columns = 2 + rates.length + outcomes.length + 4;
  const drawGroup = (group) => el("tbody", {},
    el("tr", { class: "group" }, el("th", { colspan: columns, scope: "rowgroup" },
      el("strong", { title: group[0].model }, nameOf(group[0].model)), " ",
      el("span", { class: "quiet" }, [group[0].data, say(LANGS[group[0].lang] ?? group[0].lang), group[0].profile, group[0].run,
        ...(group[0].served.length ? [say("the server served several models: {0}", group[0].served.join(", "))] : [])].join(" · ")))),
    group.map((row) => drawRow(row, rates, outcomes, row.testbed === "length" || group.some((other) => other.testbed === row.testbed && other.k !== row.k))));
  const rest = [...groups.values()];
  const first = [];
  for (let drawn = 0; rest.length && (drawn < AT_ONCE || isWhole); drawn += first.at(-1).length) first.push(rest.shift());
  const table = el("table", { class: "overview" },
    el("thead", {}, el("tr", {},
      el("th", {}, say("testbed")), el("th", { class: "number" }, say("noise")),
      rates.map((name) => el("th", { class: "number" }, say(HEADINGS[name]))),
      ["scored", "n", ...outcomes, "infeasible", "scorers differ"].map((name) => el("th", { class: "number" }, say(name))))),
    first.map(drawGroup));
  appendLater(table, rest.map((group) => () => drawGroup(group)), signal);
  return table;
}

function drawRow(row, rates, outcomes, isCounted) {
  const short = (value) => String(Number(value.toPrecision(3))); // Formatted as in the filters.
  const filter = { run: row.run, model: row.model, data: row.data, lang: row.lang, testbed: row.testbed, noise: row.noise === null ? "none" : short(row.noise), arm: row.arm, profile: row.profile,
    ...(row.noise === null ? {} : { docs: String(row.k) }), ...(WITH_TRUE.includes(row.testbed) ? { true: short(row.correct) } : {}) };
  const unasked = row.planned > row.asked ? ` / ${row.planned.toLocaleString("en")}` : "";
  return el("tr", {},
    el("td", {}, el("a", { href: listLink(filter) }, row.testbed), row.arm === "related" ? null : [" ", tag(row.arm)], row.correct ? ` ${say("share of true documents: {0}", short(row.correct))}` : null,
      isCounted ? ` ${say(row.k === 1 ? "1 document" : "{0} documents", row.k)}` : null),
    el("td", { class: "number" }, row.noise === null ? "–" : String(Number(row.noise.toFixed(3)))),
    rates.map((name) => drawRate(row.rates[name], row.wanted.includes(name))),
    el("td", { class: "number" }, count(row.asked - row.unscored)),
    el("td", { class: "number" }, count(row.asked), unasked),
    outcomes.map((name) => number(row[name], listLink({ ...filter, outcome: OUTCOMES[name] }))), number(row.infeasible),
    number(row.differs, listLink({ ...filter, differs: ["code", "paper"] })));
}

function drawRate(rate, isMain) {
  if (!rate) return el("td", { class: "number quiet" }, "–");
  const [value, low, high] = rate.map((part) => (100 * part).toFixed(1));
  return el("td", isMain ? { class: "number main", style: { "--share": `${value}%` } } : { class: "number" },
    `${value} `, el("span", { class: "interval" }, `${low}–${high}`));
}

function number(value, link) {
  return el("td", { class: value ? "number" : "number nothing" }, value && link ? el("a", { href: link }, count(value)) : count(value));
}

function count(value) {
  return value.toLocaleString("en");
}
