/* The single-file report: language, theme, sorting, and the case browser.
 *
 * The page contains everything except the cases, which are in gzip blocks of a few hundred trials each. A block is
 * unpacked when one of its cases is opened; the index has the position of each trial.
 */

import { drawCase, drawTrial, tag, typeName } from "./case.js";
import { el, fill } from "./dom.js";
import { keepLanguage, keepTheme, makeSortable, openForPrint } from "./paper.js";
import { say } from "./words.js";

const STEP = 50;
const MOST_SIBLINGS = 200;
const FIELDS = [
  ["Model", "models", (row) => [row[1]]],
  ["Data", "data", (row) => [index.questions[row[0]][0]]],
  ["Language", "langs", (row) => [index.questions[row[0]][2]]],
  ["Testbed", "testbeds", (row) => [row[2]]],
  ["Noise", null, (row) => [row[3]]],
  ["Verdict", "verdicts", (row) => [row[4]]],
  ["Error type", "types", (row) => row[5]],
];
const LANGS = { en: "English", zh: "Chinese" };
const index = JSON.parse(document.getElementById("index").textContent);
const blocks = document.querySelectorAll("script.block");
const place = document.getElementById("cases");
const unpacked = new Map();
const filters = new Map();
let wanted = "";
let shown = STEP;
let fitting = [];

const { compare } = new Intl.Collator("en", { numeric: true });

/** Trials sorted by data and item, in natural order. */
const order = (() => {
  const questions = index.questions.map((_, at) => at).sort((a, b) => {
    const [one, other] = [index.questions[a], index.questions[b]];
    return one[0] - other[0] || compare(one[1], other[1]);
  });
  const rank = new Uint32Array(questions.length);
  questions.forEach((question, at) => { rank[question] = at; });
  return index.trials.map((_, at) => at).sort((a, b) => rank[index.trials[a][0]] - rank[index.trials[b][0]] || a - b);
})();

async function unpack(block) {
  if (!unpacked.has(block)) {
    const bytes = Uint8Array.from(atob(blocks[block].textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(block, JSON.parse(await new Response(stream).text()));
  }
  return unpacked.get(block);
}

/** Return a trial with its case and all trials of the same question. */
async function find(at) {
  let block = index.firsts.length - 1;
  while (index.firsts[block] > at) block -= 1;
  let first = index.firsts[block];
  for (const group of await unpack(block)) {
    if (at < first + group.trials.length) return unfold(group, at - first, first);
    first += group.trials.length;
  }
  throw new Error(`no trial ${at}`);
}

function unfold(group, at, first) {
  const brief = group.cases[group.trials[at][0]];
  const text = (piece) => (typeof piece === "number" ? group.texts[piece][0] : piece);
  const documents = brief.documents.map((one) => ({ ...one, text: group.texts[one.text][0], spans: group.texts[one.text][1] }));
  const messages = brief.messages.map((one) => ({ ...one, content: one.content.map(text).join("") }));
  const trials = group.trials.map(([of, trial], here) => ({ of, at: first + here, trial }));
  const same = trials.filter((one) => one.of === group.trials[at][0]);
  return {
    shown: { ...brief, documents, messages },
    trial: trials[at].trial,
    same: [trials[at], ...same.filter((one) => one !== trials[at])],
    others: trials.filter((one) => one.of !== group.trials[at][0]).slice(0, MOST_SIBLINGS),
  };
}

function choose() {
  const search = wanted.trim().toLowerCase();
  const matches = search === "" ? null : index.questions.map((one) => `${one[1]} ${one[3]}`.toLowerCase().includes(search));
  fitting = order.filter((at) => {
    const row = index.trials[at];
    if (matches && !matches[row[0]]) return false;
    return FIELDS.every(([name, , values]) => !filters.has(name) || values(row).includes(filters.get(name)));
  });
}

function ratio(noise) {
  return String(Number(noise.toFixed(3)));
}

/** Return a filter's value as text; models, datasets and testbeds are names, which are not translated. */
function showValue(list, value) {
  if (list === null) return value === null ? say("no documents") : ratio(value);
  const text = index[list][value];
  if (list === "types") return typeName(text);
  if (list === "langs") return say(LANGS[text] ?? text);
  return list === "verdicts" ? say(text) : text;
}

function drawFilter([name, list, values]) {
  const found = new Set(index.trials.flatMap(values));
  if (found.size < 2) return null;
  const options = [...found].sort((a, b) => (list === null ? (a ?? -1) - (b ?? -1) : compare(index[list][a], index[list][b])));
  const select = el("select", { "aria-label": say(name), onchange: () => {
    if (select.value === "") filters.delete(name);
    else filters.set(name, options[Number(select.value)]);
    refresh();
  } }, el("option", { value: "" }, say("All")), options.map((value, at) =>
    el("option", { value: at, selected: filters.get(name) === value }, showValue(list, value))));
  return el("label", {}, el("span", { class: "small quiet" }, say(name)), select);
}

function drawList() {
  const search = el("input", { type: "search", value: wanted, placeholder: say("Search questions"), "aria-label": say("Search questions"),
    oninput: () => { wanted = search.value; refresh(); } });
  fill(place, el("h2", {}, say("Cases")), el("p", { class: "small quiet" }, say("Keyboard: j and k move through the list, Esc goes back, / searches.")),
    el("form", { class: "filters", onsubmit: (event) => event.preventDefault() }, search, FIELDS.map(drawFilter)),
    el("p", { role: "status", class: "quiet small" }), el("ol", { class: "trials" }), el("div", { class: "more" }));
  choose();
  drawRows();
}

function refresh() {
  shown = STEP;
  choose();
  drawRows();
}

function drawRows() {
  fill(place.querySelector("[role=status]"), say("{0} of {1} trials", fitting.length.toLocaleString("en"), index.trials.length.toLocaleString("en")));
  const rows = fitting.slice(0, shown).map(drawRow);
  fill(place.querySelector("ol"), rows.length ? rows : el("li", { class: "quiet" }, say(index.trials.length ? "No matches. Remove a filter." : "No results to show yet.")));
  fill(place.querySelector(".more"), shown < fitting.length
    ? el("button", { type: "button", onclick: () => { shown += STEP; drawRows(); } }, say("More")) : null);
}

function drawRow(at) {
  const [question, model, testbed, noise, verdict, types] = index.trials[at];
  const [data, item, lang, asked] = index.questions[question];
  return el("li", {}, el("a", { href: `#case-${at}`, class: "trial-row" },
    tag(index.verdicts[verdict]),
    el("span", { class: "asked", lang: index.langs[lang], dir: "auto" }, asked),
    el("span", { class: "small quiet" }, `${index.models[model]} · ${index.testbeds[testbed]}${noise === null ? "" : ` ${ratio(noise)}`} · ${index.data[data]} #${item}`,
      types.map((type) => [" ", tag(typeName(index.types[type]), "warn")]))));
}

async function drawOne(at) {
  const { hash } = location;
  const found = await find(at);
  if (location.hash !== hash) return; // The user went on while the case was being unpacked.
  const where = fitting.indexOf(at);
  const step = (by, word) => el("a", { href: `#case-${fitting[where + by] ?? at}`, class: "button", "aria-disabled": fitting[where + by] === undefined }, say(word));
  fill(place, el("nav", { class: "row" }, el("a", { href: "#cases", class: "button" }, say("Back to the list")), step(-1, "Previous"), step(1, "Next")),
    el("div", { class: "two" }, drawCase(found.shown, found.trial),
      el("div", { class: "replies" }, found.same.map((one) => drawTrial(one.trial, found.shown)),
        found.others.length ? el("details", {}, el("summary", {}, `${say("The same question")} (${found.others.length})`),
          el("ol", { class: "trials" }, found.others.map((one) => drawRow(one.at)))) : null)));
  place.dataset.at = at;
  scrollTo(0, 0);
  place.focus({ preventScroll: true });
}

async function route() {
  const found = /^#case-(\d+)$/.exec(location.hash);
  const isCase = found !== null && Number(found[1]) < index.trials.length;
  const wasCase = document.body.dataset.view === "case";
  document.body.dataset.view = isCase ? "case" : "report";
  if (!isCase) {
    const left = wasCase ? fitting.indexOf(Number(place.dataset.at)) : -1;
    shown = Math.max(shown, Math.ceil((left + 1) / STEP) * STEP);
    drawList();
    if (wasCase) {
      const row = place.querySelectorAll(".trial-row")[left];
      const scroll = () => (row ? row.scrollIntoView({ block: "center" }) : place.scrollIntoView());
      row?.focus({ preventScroll: true });
      // The browser computes the layout of the page above when it becomes visible, which moves the list again.
      requestAnimationFrame(() => { scroll(); requestAnimationFrame(scroll); });
    }
    return undefined;
  }
  if (!("DecompressionStream" in window)) return fill(place, el("p", {}, say("This browser cannot unpack the cases. Use a newer browser.")));
  if (fitting.length === 0) choose();
  return drawOne(Number(found[1]));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(?:INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const at = Number(/^#case-(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  if (event.key === "/" && place.querySelector("input")) {
    event.preventDefault();
    place.querySelector("input").focus();
  } else if (event.key === "Escape" && !Number.isNaN(at)) location.hash = "#cases";
  else if (event.key === "j" || event.key === "k") {
    const next = Number.isNaN(at) ? fitting[0] : fitting[fitting.indexOf(at) + (event.key === "j" ? 1 : -1)];
    if (next !== undefined) location.hash = `#case-${next}`;
  }
});
addEventListener("hashchange", route);
keepTheme(document.querySelectorAll("button.theme"));
makeSortable(document.querySelectorAll("table.sortable"));
openForPrint();
keepLanguage(document.querySelectorAll("button.language"), document.documentElement.dataset.opens, route);
document.documentElement.dataset.ready = "true";
performance.mark("ready");
