/* One point: its statement, its decision, and the buttons and fields to decide. */

import { tag } from "./case.js";
import { el, fill } from "./dom.js";
import { say } from "./words.js";

const STATEMENTS = {
  question: "The question is clear without context",
  answer: "The answer and all aliases are correct", fake: "The false answer is false but plausible",
  text: "The passage reads well and gives only the false answer",
  supports: "Contains the answer", distracts: "Does not contain the answer", contradicts: "Contains the false answer",
};
const VERDICTS = { accept: ["Accept", "accepted", "good"], fix: ["Fix", "fixed", "warn"], reject: ["Reject", "rejected", "bad"] };

/** Return whether a point still needs a decision. */
export function isOpen(point, page) {
  return !decisionOn(point, page) && ["open", "begun"].includes(page.state);
}

/** Return the decision on a point, or undefined. */
function decisionOn(point, page) {
  return Object.hasOwn(page.sheet, point.name) ? page.sheet[point.name] : undefined;
}

/** Draw a point; `decide` sends a decision. */
export function drawPoint(point, page, decide) {
  const field = el("div", { class: "field" });
  const close = () => { // The keys act on the point that has the focus.
    fill(field);
    whole.focus();
  };
  const pressed = (verdict) => String(decisionOn(point, page)?.verdict === verdict);
  const start = {
    accept: () => decide([{ point: point.name, verdict: "accept" }]),
    fix: () => openField(field, drawFix(point, page, decide, close)),
    reject: () => openField(field, drawReject(point, decide, close)),
  };
  const whole = el("div", { class: "point", tabindex: "-1", role: "group", "aria-label": statement(point, page), "data-point": point.name, "data-open": isOpen(point, page) ? "yes" : "no" },
    el("div", { class: "line" },
      el("span", { class: "statement" }, statement(point, page), drawAliases(point, page)),
      el("span", { class: "buttons" }, Object.keys(VERDICTS).map((verdict) =>
        el("button", { "data-say": verdict, "aria-pressed": pressed(verdict), onclick: start[verdict] }, say(VERDICTS[verdict][0]))))),
    drawDecision(point, page), field);
  return whole;
}

function openField(field, content) {
  fill(field, content);
  const input = field.querySelector("textarea, input, button");
  input?.focus();
  input?.select?.();
}

function statement(point, page) {
  if (point.kind === "stance") {
    const { stance, part } = page.passages[point.index].passage;
    return say(STATEMENTS[stance]) + (part === undefined ? "" : ` (${say("Sub-question")} ${part + 1})`);
  }
  return say(STATEMENTS[point.kind]);
}

function drawAliases(point, page) {
  if (point.kind !== "answer" && point.kind !== "fake") return null;
  return el("span", { class: "aliases", lang: page.item.lang }, page.item[point.kind][point.index].map((alias) => el("mark", { class: point.kind === "fake" ? "fake" : "gold" }, alias)));
}

/** Draw a fix or a rejection; an accepted point is shown by its button. */
function drawDecision(point, page) {
  const decision = decisionOn(point, page);
  if (!decision || decision.verdict === "accept") return null;
  const [, word, tone] = VERDICTS[decision.verdict];
  return el("p", { class: "said small" }, tag(word, tone), " ",
    decision.fix === undefined ? null : el("span", { class: "fix", lang: page.item.lang }, shownFix(point, decision)), decision.reason ?? null);
}

function shownFix(point, { fix, part }) {
  const text = Array.isArray(fix) ? fix.join(" / ") : point.kind === "stance" ? say(fix) : fix;
  return part === undefined ? text : `${text} (${say("Sub-question")} ${part + 1})`;
}

function drawReject(point, decide, close) {
  const reason = el("input", { name: "reason", maxlength: 500, required: true, "aria-label": say("Reason"), placeholder: say("Reason"), autocomplete: "off" });
  const submit = (event) => {
    event.preventDefault();
    decide([{ point: point.name, verdict: "reject", reason: reason.value.trim() }]);
  };
  return el("form", { class: "row", onsubmit: submit, onkeydown: (event) => event.key === "Escape" && close() },
    reason, el("button", {}, say("Reject")), el("button", { type: "button", onclick: close }, say("Cancel")));
}

/** Draw the input field for a fix. */
function drawFix(point, page, decide, close) {
  if (point.kind === "stance") return drawStances(point, page, decide, close);
  const aliases = point.kind === "answer" || point.kind === "fake";
  const original = aliases ? page.item[point.kind][point.index]
    : point.kind === "text" ? page.passages[point.index].passage.text : page.item.question;
  const before = decisionOn(point, page)?.fix ?? original; // An earlier fix is edited further.
  const input = el("textarea", { name: "fix", rows: aliases ? 3 : point.kind === "text" ? 8 : 2, maxlength: 20000, lang: page.item.lang, dir: "auto", "aria-label": say("New value") });
  input.value = aliases ? before.join("\n") : before;
  const keep = (event) => {
    event?.preventDefault();
    const told = input.value.trim();
    const fix = aliases ? told.split("\n").map((one) => one.trim()).filter(Boolean) : told;
    decide([{ point: point.name, verdict: "fix", fix }]);
  };
  const onkeydown = (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || (point.kind !== "text" && !aliases))) keep(event);
  };
  return el("form", { onsubmit: keep, onkeydown }, input,
    el("div", { class: "row" }, el("button", {}, say("Save")), el("button", { type: "button", onclick: close }, say("Cancel")),
      aliases ? el("span", { class: "quiet small" }, say("One alias per line; the first is the answer. Ctrl+Enter saves.")) : null));
}

function drawStances(point, page, decide, close) {
  const now = page.passages[point.index].passage;
  const parts = page.kind === "integration" ? page.item.answer.map((_, part) => ["supports", part]) : [["supports", undefined]];
  const all = [...parts, ["distracts", undefined], ...(page.item.fake ? [["contradicts", undefined]] : [])];
  const others = all.filter(([stance, part]) => stance !== now.stance || part !== now.part);
  return el("div", { class: "row", onkeydown: (event) => event.key === "Escape" && close() }, others.map(([fix, part]) =>
    el("button", { onclick: () => decide([{ point: point.name, verdict: "fix", fix, ...(part === undefined ? {} : { part }) }]) },
      say(STATEMENTS[fix]), part === undefined ? "" : ` (${say("Sub-question")} ${part + 1})`)),
    el("button", { onclick: close }, say("Cancel")));
}
