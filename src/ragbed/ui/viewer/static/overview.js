/* The first page: the verdict, the questions with the most wrong responses, and the rates under every condition. */

import { get } from "./api.js";
import { EXPECTED, tag } from "./case.js";
import { el } from "./dom.js";
import { drawRow } from "./list.js";
import { changed, here, learnNames, listLink, nameOf } from "./state.js";
import { say, spoken } from "./words.js";

const SCORERS = ["robust", "code", "paper"];
const LANGS = { en: "English", zh: "Chinese" };
const WITH_TRUE = ["counterfactual", "conflict"]; // Testbeds with a filter for the share of true documents.
const OUTCOMES = { errors: "error", truncated: "truncated", filtered: "filtered" };
const HEADINGS = { expected: "as expected %", correct: "correct %", refused: "refused %", flagged: "errors flagged %", misled: "misled %" };

/** Draw the page. */
export async function drawOverview(go, signal) {
  const scorer = here().get("scorer") ?? "robust";
  const told = await get("/api/overview", new URLSearchParams({ scorer }), signal);
  learnNames(told.names);
  if (!told.rows.length) return el("div", {}, el("h1", {}, say("Overview")), el("p", {}, say("No results to show yet.")));
  const several = new Set(told.verdicts.map((one) => one.run)).size > 1;
  const choose = el("div", { class: "row", role: "group", "aria-label": say("Scorer") }, SCORERS.map((name) =>
    el("button", { "aria-pressed": String(name === scorer), onclick: () => go(changed("scorer", name === "robust" ? null : name)) }, say(name))));
  return el("div", {},
    el("h1", {}, say("Overview")),
    el("div", { class: "verdicts" }, told.verdicts.map((one) => el("div", { class: "card" }, told.verdicts.length > 1 ? el("strong", {}, [one.model, several ? one.run : null].filter(Boolean).join(" · ")) : null, el("ul", {}, one[spoken()].split("\n").map((line) => el("li", {}, line)))))),
    told.worst.length ? [el("h2", {}, say("Questions with the most wrong responses")), el("ol", { class: "trials" }, told.worst.map(({ row, wrong, asked }) =>
      drawRow(row, null, say("wrong in {0} of {1}", wrong, asked))))] : null,
    el("div", { class: "row heading" }, el("h2", {}, say("All conditions")), choose),
    drawTable(told.rows));
}

/** Draw the rates; columns that are the same or zero in all rows are left out. */
function drawTable(rows) {
  const groups = [...Map.groupBy(rows, (row) => JSON.stringify([row.run, row.model, row.data, row.lang, row.profile])).values()];
  const varies = (field) => new Set(rows.map(field)).size > 1;
  const isCounted = varies((row) => row.asked) || rows.some((row) => row.planned > row.asked);
  const columns = [
    { name: "testbed", draw: (row) => el("td", {}, nameRow(row, rows)) },
    { name: "noise", isShown: varies((row) => row.noise), draw: (row) => el("td", { class: "number" }, row.noise === null ? "–" : String(Number(row.noise.toFixed(3)))) },
    ...Object.entries(HEADINGS).map(([name, heading]) => ({
      name: heading, isShown: rows.some((row) => row.rates[name] && (row.rates[name][0] || row.wanted.includes(name))),
      draw: (row) => drawRate(row.rates[name], row.wanted.includes(name)),
    })),
    { name: "scored", isShown: rows.some((row) => row.unscored), draw: (row) => number(row.asked - row.unscored) },
    { name: "n", isShown: isCounted, draw: (row) => el("td", { class: "number" }, count(row.asked), row.planned > row.asked ? ` / ${count(row.planned)}` : "") },
    ...Object.entries(OUTCOMES).map(([name, outcome]) => ({
      name, isShown: rows.some((row) => row[name]), draw: (row) => number(row[name], listLink({ ...filterFor(row), outcome })),
    })),
    { name: "infeasible", isShown: rows.some((row) => row.infeasible), draw: (row) => number(row.infeasible) },
  ].filter((column) => column.isShown ?? true);
  const table = el("table", { class: "overview" },
    el("thead", {}, el("tr", {}, columns.map(({ name }, place) => el("th", { class: place ? "number" : null }, say(name))))),
    groups.map((group) => el("tbody", {},
      el("tr", { class: "group" }, el("th", { colspan: columns.length, scope: "rowgroup" },
        el("strong", { title: group[0].model }, nameOf(group[0].model)), " ",
        el("span", { class: "quiet" }, [group[0].data, say(LANGS[group[0].lang] ?? group[0].lang), group[0].profile, group[0].run].join(" · ")))),
      group.map((row) => el("tr", {}, columns.map(({ draw }) => draw(row)))))));
  return el("div", {},
    el("p", { class: "quiet small" }, isCounted ? null : `${say("n = {0} in every row.", count(rows[0].asked))} `,
      say("Rates are percentages of n, including failed calls, with 95% confidence intervals clustered by question or event. Click a row to see its trials.")),
    el("div", { class: "scroll" }, table));
}

const short = (value) => String(Number(value.toPrecision(3))); // Formatted as in the filters.

function filterFor(row) {
  return { run: row.run, model: row.model, data: row.data, lang: row.lang, testbed: row.testbed, noise: row.noise === null ? "none" : short(row.noise), arm: row.arm, profile: row.profile,
    ...(row.noise === null ? {} : { docs: String(row.k) }), ...(WITH_TRUE.includes(row.testbed) ? { true: short(row.correct) } : {}) };
}

function nameRow(row, rows) {
  const isCounted = row.testbed === "length" || rows.some((other) => other.testbed === row.testbed && other.k !== row.k);
  return [el("a", { href: listLink(filterFor(row)) }, row.testbed), row.arm === "related" ? null : [" ", row.testbed === "given" ? tag(EXPECTED[row.arm], "") : tag(row.arm)], row.correct ? ` ${say("share of true documents: {0}", short(row.correct))}` : null,
    isCounted ? ` ${say(row.k === 1 ? "1 document" : "{0} documents", row.k)}` : null];
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
