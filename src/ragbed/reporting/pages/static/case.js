/* Draw one case and the responses of models (`reporting/case_view.py` has the fields).
 *
 * `drawCase(shown)` draws the question, the answers, the documents with their relevance labels and the prompt;
 * `drawTrial(trial, shown)` a response with its verdicts. `markTrial(element, shown, trial)` highlights in the documents
 * what the response repeats, and the gold and the false answer.
 */

import { el, fill, marked } from "./dom.js";
import { say } from "./words.js";

const TONE = {
  correct: "good", incorrect: "bad", partial: "warn", refused: "other", "flag-only": "other", misled: "bad",
  empty: "warn", unscored: "warn", unsure: "warn", error: "bad", ok: "good", supports: "good", contradicts: "bad",
};
const SCORERS = [["robust", ""], ["code", "code."], ["paper", "paper."]];
const SCORES = ["correct", "refused", "flagged", "expected"];
const SEARCH_ERRORS = {
  poor_query: "Poor query", found_but_ignored: "Found but ignored", trusted_false: "Trusted a false passage",
  stopped_early: "Stopped early", searched_too_long: "Searched too long",
};
export const EXPECTED = { answer: "answer", refuse: "refuse", correct: "correct the error in the documents", any: "answer or refuse" };

const TYPE_TITLES = {
  E1: "Long-distance information", E2: "Evidence uncertainty", E3: "Concept confusion", E4: "Merging",
  E5: "Ignoring", E6: "Misalignment", E8: "Over-trust of false documents", E9: "False refusal", E11: "Generation failure",
  E12: "Evidence not found", E13: "Instruction followed",
};

/** Return an error type with its name. */
export function typeName(type) {
  return TYPE_TITLES[type] ? `${type} ${say(TYPE_TITLES[type])}` : say(type);
}

/** Draw a coloured tag; texts of the interface are translated, data is not. */
export function tag(word, tone = TONE[word]) {
  return el("span", { class: `tag ${tone ?? ""}` }, say(word));
}

/** Draw a text of the data, in its own language. */
export function quote(lang, children, extra = "") {
  return el("div", { class: `text ${lang === "zh" ? "zh" : ""} ${extra}`, lang: lang === "zh" ? "zh-Hans" : "en", dir: "auto" }, ...children);
}

/** Describe the condition of a case. */
export function condition(shown) {
  if (shown.testbed === "own-rag") return say("documents: {0}", say(shown.arm));
  if (shown.testbed === "search") return say("search tool");
  if (shown.noise === null || shown.noise === undefined) return say(["closed-book", "no-documents"].includes(shown.testbed) ? "closed book" : "given documents");
  if (shown.testbed === "injection") return say("instruction: {0}", shown.arm);
  const asked = Number(shown.noise.toFixed(3));
  const real = shown.noise_real === null || shown.noise_real === undefined ? asked : Number(shown.noise_real.toFixed(3));
  return real === asked ? say("noise {0}", asked) : say("noise {0} (actual {1})", asked, real);
}

/** Return an answer as text: one part per line, with its aliases after slashes. */
export function answerText(answer) {
  return (answer ?? []).map((aliases) => aliases.join(" / ")).join("\n");
}

/** Draw the question, the answers, the documents and the prompt. */
export function drawCase(shown, trial) {
  const documents = el("div", { class: "documents" });
  markTrial(documents, shown, trial);
  return el("article", { class: "case" },
    el("header", { class: "question" },
      el("h1", { lang: shown.lang, dir: "auto" }, shown.question),
      el("div", { class: "row small quiet" },
        el("span", {}, shown.data), el("span", {}, `#${shown.item}`), el("span", { class: "tag" }, shown.testbed),
        el("span", {}, condition(shown)), el("span", {}, shown.profile))),
    el("dl", { class: "facts answers" },
      el("dt", {}, say("Answer")),
      el("dd", {}, el("mark", { class: "gold" }, answerText(shown.answer))),
      ...(shown.fake ? [el("dt", {}, say("False answer")), el("dd", {}, el("mark", { class: "fake" }, answerText(shown.fake)))] : []),
      el("dt", {}, say("Expected")), el("dd", {}, say(EXPECTED[shown.expect] ?? shown.expect))),
    el("h2", {}, say("Documents")),
    shown.documents.length ? drawLegend(shown, trial) : el("p", { class: "quiet" }, say(shown.corpus ? "The passages that were found are listed with the response." : "No documents were given.")),
    documents,
    drawPrompt(shown));
}

/** Redraw the documents, with the content of a response highlighted. */
export function markTrial(documents, shown, trial) {
  fill(documents, shown.documents.map((one, place) =>
    el("section", { class: `card ${one.stance ?? ""}` },
      el("header", {},
        el("strong", {}, String(place + 1)), tag(one.stance ?? "not labelled"), one.kind === "related" ? null : el("span", {}, one.kind),
        one.item === undefined ? null : el("span", {}, `${say("from another question")} #${one.item}`)),
      quote(shown.lang, marked(one.text, [...named([...one.spans, ...(trial?.predicted[place] ?? [])]), ...cues(trial, place)])))));
}

/** Draw one response: its outcome, its text, and its scores, judgements and diagnosis. */
export function drawTrial(trial, shown) {
  return el("section", { class: "card trial" },
    el("header", {},
      el("strong", { class: "model", title: trial.model }, trial.name ?? trial.model),
      trial.repeat ? el("span", {}, say("repeat {0}", trial.repeat + 1)) : null,
      trial.verdict ? tag(trial.verdict) : tag(trial.outcome),
      trial.scores?.misled ? tag("misled") : null, trial.evidence?.length ? null : trial.types?.map((type) => tag(typeName(type), "warn")),
      trial.scores?.attacked ? tag("instruction followed", "bad") : null,
      trial.scores?.reported ? tag("instruction reported", "good") : null),
    drawReply(trial, shown),
    trial.reasoning ? el("details", {}, el("summary", {}, say("Reasoning")), quote(shown.lang, [trial.reasoning])) : null,
    trial.contexts ? drawPassages(say("Passages in the prompt: {0}", trial.contexts.length), trial.contexts, shown) : null,
    trial.retrieved ? drawPassages(say("Retrieved passages: {0}", trial.retrieved.length), trial.retrieved, shown, !trial.contexts) : null,
    trial.steps?.length ? (trial.steps[0].protocol ? drawEpisode(trial, shown) : drawSteps(trial.steps, shown)) : null,
    trial.evidence?.length ? drawTypes(trial) : null,
    trial.scores ? drawScores(trial) : null,
    trial.judged?.length ? drawJudges(trial.judged) : null,
    drawFacts(trial));
}

function drawReply(trial, shown) {
  if (trial.outcome === "error") return el("p", { class: "quiet" }, say("The call failed: {0}", trial.error ?? ""));
  if (trial.outcome === "filtered") return el("p", { class: "quiet" }, say("The provider's content filter blocked the response."), " ", trial.error ?? "");
  if (!trial.reply) return el("p", { class: "quiet" }, say(trial.outcome === "truncated" ? "The response was truncated before it gave an answer." : "The response is empty."));
  return quote(shown.lang, marked(trial.reply, trial.spans.map((span) => ({ ...span, title: say(span.title ?? span.kind) }))), "reply");
}

/** Draw the passages that a system retrieved or a search found, best first; others than the corpus's have only an id. */
function drawPassages(title, found, shown, open = true) {
  return el("details", { open }, el("summary", {}, title), found.map((one, place) => el("section", { class: `card ${one.stance ?? ""}` },
    el("header", {}, el("strong", {}, String(place + 1)), tag(one.stance ?? "unknown"), el("code", {}, one.id)),
    one.text ? quote(shown.lang, marked(one.text, named(instructions(one.text, shown.injection)))) : null)));
}

/** Return the spans of a passage that contain the instruction of the case or a similar one, i.e. one with its canary. */
function instructions(text, injection) {
  if (!injection) return [];
  const own = injection.text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const similar = `[^.!?。！？\\n]*${injection.canary}[^.!?。！？\\n]*[.!?。！？]?`;
  const length = (some) => Array.from(some).length; // in characters as Python counts them
  return [...text.matchAll(new RegExp(`${own}|${similar}`, "giu"))].map((found) => {
    const start = length(text.slice(0, found.index));
    return { start, end: start + length(found[0]), kind: "injected" };
  });
}

/** Draw the calls of a prompting strategy. */
function drawSteps(steps, shown) {
  return el("details", {}, el("summary", {}, say("Calls: {0}", steps.length)),
    steps.map((one, place) => el("section", { class: "card" },
      el("header", {}, el("strong", {}, String(place + 1)), one.cached ? tag("cached") : null),
      one.messages.map((message) => quote(shown.lang, [message.content], "mono small")),
      quote(shown.lang, [one.reply ?? ""], "reply"))));
}

/** Draw the turns of an episode: what the model wrote, what it searched for, and what each passage really is. */
function drawEpisode(trial, shown) {
  const errors = (trial.search_errors ?? []).map((name) => tag(SEARCH_ERRORS[name], "bad"));
  return el("details", { open: true },
    el("summary", {}, say("Turns: {0}", trial.steps.length), " ", ...errors, trial.outcome === "truncated" ? tag(trial.finish, "warn") : null),
    trial.steps.map((turn, place) => el("section", { class: "card" },
      el("header", {}, el("strong", {}, String(place + 1)), turn.cached ? tag("cached") : null),
      turn.reply ? quote(shown.lang, [turn.reply], "reply") : null,
      (turn.searches ?? []).map((search) => drawPassages([say("Search"), " ", el("code", {}, search.query), " ",
        search.problem ? tag(search.problem, "bad") : null], search.found ?? [], shown)))));
}

function drawLegend(shown, trial) {
  const isDiagnosed = shown.documents.some((_, place) => cues(trial, place).length);
  const kinds = [["gold", "gold answer"], ...(shown.fake ? [["fake", "false answer"]] : []), ["predicted", "repeated in the response"],
    ...(shown.injection ? [["injected", "instruction in a document"]] : []),
    ...(isDiagnosed ? [["cue", "evidence"]] : [])];
  return el("p", { class: "row small quiet legend" }, kinds.map(([kind, word]) => el("mark", { class: kind }, say(word))));
}

function drawPrompt(shown) {
  return el("details", { class: "prompt" },
    el("summary", {}, say("Prompt as sent")),
    shown.messages.map((one) => el("section", { class: "card" }, el("header", {}, el("code", {}, one.role)),
      quote(shown.lang, [one.content], "mono"))));
}

function drawScores(trial) {
  const names = SCORES.filter((name) => name !== "expected" || name in trial.scores);
  const cell = (name) => {
    const value = trial.scores[name];
    return el("td", {}, value === null || value === undefined ? "–" : tag(value ? "yes" : "no", value ? "good" : ""));
  };
  const table = el("table", { class: "scores" },
    el("thead", {}, el("tr", {}, el("th", {}, say("Scorer")), names.map((name) => el("th", {}, say(name))))),
    el("tbody", {}, SCORERS.map(([scorer, prefix]) => el("tr", {}, el("th", { scope: "row" }, say(scorer)),
      names.map((name) => cell(prefix + name))))));
  const grounds = trial.spans.map((span) => el("tr", {}, el("td", {}, el("code", {}, say(span.title ?? span.kind))),
    el("td", {}, el("span", { class: "text" }, Array.from(trial.reply ?? "").slice(span.start, span.end).join("")))));
  return el("div", {}, el("h3", {}, say("Verdicts")), el("div", { class: "scroll" }, table),
    grounds.length ? el("details", { open: grounds.length < 6 }, el("summary", { class: "small" }, say("Evidence")),
      el("div", { class: "scroll" }, el("table", {},
        el("thead", {}, el("tr", {}, el("th", {}, say("Rule")), el("th", {}, say("Text span in the response")))),
        el("tbody", {}, grounds)))) : null);
}

function drawTypes(trial) {
  const told = (trial.evidence ?? []).map((one) => el("li", {}, el("code", {}, one.type), " ", turnsOn(one)));
  return el("div", {}, el("h3", {}, say("Error types")),
    el("p", { class: "row" }, trial.types.map((type) => el("span", { class: "tag warn" }, typeName(type)))),
    told.length ? el("ul", { class: "small" }, told) : null);
}

/** Draw the details: the cue and the sub-question. */
function turnsOn(one) {
  const told = [
    one.cue ? `“${one.cue}”` : null,
    Number.isInteger(one.part) ? say("part {0}", one.part + 1) : null,
  ].filter(Boolean);
  return told.length ? el("span", { class: "quiet" }, told.join(" · ")) : null;
}

/** Return the spans of a document on which the diagnosis is based. */
function cues(trial, place) {
  return (trial?.evidence ?? [])
    .filter((one) => one.document === place && Number.isInteger(one.start) && Number.isInteger(one.end))
    .map((one) => ({ start: one.start, end: one.end, kind: "cue", title: typeName(one.type) }));
}

function drawJudges(judged) {
  return el("div", {}, el("h3", {}, say("Judges")),
    judged.map((vote) => el("details", {},
      el("summary", {}, el("span", {}, `${vote.judge} · ${vote.criterion}: `), tag(vote.verdict)),
      el("div", { class: "text" }, vote.said ?? ""))));
}

function drawFacts(trial) {
  const facts = [];
  const add = (name, value) => value === null || value === undefined || value === "" || facts.push(el("dt", {}, say(name)), el("dd", {}, value));
  add("latency", trial.latency_s === null || trial.latency_s === undefined ? null : `${trial.latency_s.toFixed(2)} s`);
  add("tokens", trial.usage ? say("{0} in, {1} out", trial.usage.in ?? "?", trial.usage.out ?? "?") : null);
  add("reasoning tokens", trial.usage?.reasoning ? String(trial.usage.reasoning) : null);
  add("raised token limit", trial.max_tokens ? String(trial.max_tokens) : null);
  add("served model", [trial.served?.model, trial.served?.provider].filter(Boolean).join(" · "));
  add("cost", trial.cost === null || trial.cost === undefined ? null : `$${trial.cost.toPrecision(3)}`);
  add("finish reason", trial.finish);
  add("attempts", trial.attempts > 1 ? String(trial.attempts) : null);
  return el("div", {}, el("dl", { class: "facts" }, facts), trial.cached ? tag("cached") : null);
}

/** Add the kind of each span as its tooltip, also for screen readers. */
function named(spans) {
  const words = { gold: "gold answer", fake: "false answer", predicted: "repeated in the response", cue: "cue", injected: "instruction in a document" };
  return spans.map((span) => ({ ...span, title: say(words[span.kind] ?? span.kind) }));
}
