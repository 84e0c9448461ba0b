/* The page for one case: responses side by side, the question under other conditions, and labels. */

import { get, post } from "./api.js";
import { condition, drawCase, drawTrial, markTrial, tag } from "./case.js";
import { el, fill } from "./dom.js";
import { drawProblem } from "./shell.js";
import { backLink, caseLink, here, learnNames, nameOf, tellDrawn, toggled } from "./state.js";
import { say } from "./words.js";

const MOST_BESIDE = 7; // As in `case_page.py`.

/** Draw the page. */
export async function drawCasePage(go, signal) {
  const params = here();
  const asked = new URLSearchParams({ run: params.get("in") ?? "", case: params.get("case"), model: params.get("by") ?? "", repeat: params.get("repeat") ?? "0" });
  for (const one of params.getAll("with")) asked.append("with", one);
  const page = await get("/api/case", asked, signal);
  learnNames(page.names);
  const left = drawCase(page.shown, page.trials[0]);
  const documents = left.querySelector(".documents");
  const trials = page.trials.map((trial, place) => {
    const drawn = drawTrial({ ...trial, name: nameOf(trial.model) }, page.shown);
    drawn.append(drawLabels(trial, page.shown));
    if (page.trials.length > 1) drawn.addEventListener("pointerenter", () => markTrial(documents, page.shown, page.trials[place]));
    return drawn;
  });
  return el("div", { class: "case-page" },
    el("nav", { class: "row small" }, el("a", { href: backLink() }, say("← Trials")),
      params.has("at") ? [ // A case that was not opened from the list has no position in it.
        el("button", { class: "quiet-button", "data-step": "-1", title: "k" }, say("Previous")),
        el("button", { class: "quiet-button", "data-step": "1", title: "j" }, say("Next"))] : null),
    el("div", { class: "two" }, left,
      el("div", { class: "replies" },
        el("div", { class: `beside n${Math.min(trials.length, 3)}` }, trials),
        drawBeside(page, go))), drawOthers(page));
}

/** Draw the responses of other models as buttons that add them for comparison. */
function drawBeside(page, go) {
  const first = page.trials[0];
  const rows = page.beside.filter((row) => !(row.run === first.run && row.model === first.model && row.repeat === first.repeat));
  if (!rows.length) return null;
  const keyOf = (row) => JSON.stringify([row.run, row.model, row.repeat]);
  const shown = page.trials.slice(1).map(keyOf);
  const isFull = shown.length >= MOST_BESIDE;
  return el("div", { class: "compare" }, el("h3", {}, say("Other responses to this case")),
    el("div", { class: "row" }, rows.map((row) => {
      const key = keyOf(row);
      const name = [nameOf(row.model), row.run === first.run ? null : row.run, row.repeat ? `#${row.repeat + 1}` : null].filter(Boolean).join(" · ");
      return el("button", { "aria-pressed": String(shown.includes(key)), "data-beside": "", disabled: isFull && !shown.includes(key), onclick: () => go(toggled("with", key)) },
        el("span", {}, name), " ", tag(row.outcome === "ok" ? row.verdict : row.outcome));
    })),
    isFull ? el("p", { class: "quiet small" }, say("At most {0} responses can be compared. Remove one to add another.", MOST_BESIDE + 1)) : null);
}

function drawOthers(page) {
  if (!page.others.length) return null;
  return el("section", { class: "others" }, el("h2", {}, say("The same question under other conditions")),
    el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, page.others.map((row) => el("tr", {},
      el("td", {}, el("a", { href: caseLink(row) }, row.testbed)), el("td", {}, condition(row)), el("td", { title: row.model }, nameOf(row.model)),
      el("td", {}, tag(row.outcome === "ok" ? row.verdict : row.outcome)), el("td", { class: "said", lang: row.lang, dir: "auto" }, row.reply)))))));
}

/** Draw the label buttons for a response; pressing one again removes the label. */
function drawLabels(trial, shown, drawn = new Set(trial.labels.filter((one) => one.wanted).map((one) => one.criterion))) {
  if (!trial.labels.length) return el("span", {});
  const set = async (one, value) => {
    const { criterion } = one;
    try {
      await post("/api/label", { run: trial.run, case: shown.case, model: trial.model, repeat: trial.repeat, criterion, label: value });
    } catch (error) {
      fill(problem, drawProblem(error));
      return;
    }
    Object.assign(one, { mine: value, wanted: value === null && drawn.has(criterion) });
    const word = document.activeElement?.dataset.label;
    const labels = drawLabels(trial, shown, drawn);
    whole.replaceWith(labels);
    labels.querySelector(`[data-criterion="${criterion}"][data-label="${word}"]`)?.focus();
    tellDrawn();
  };
  const problem = el("div", {});
  const whole = el("div", { class: "labels" }, el("h3", {}, say("Your label")), problem, trial.labels.map((one) =>
    el("div", { class: "row label", role: "group", "aria-label": say(one.asks) },
      el("span", {}, say(one.asks)), one.wanted ? tag("to be labelled", "warn") : null,
      [["yes", true], ["no", false]].map(([word, value]) => el("button", {
        "aria-pressed": String(one.mine === value), "data-label": word, "data-criterion": one.criterion,
        onclick: () => set(one, one.mine === value ? null : value),
      }, say(word))),
      one.others.map(([rater, value]) => el("span", { class: "small quiet" }, `${rater || "–"}: `, say(value ? "yes" : "no"))))));
  return whole;
}
