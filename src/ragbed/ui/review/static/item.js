/* The page for one item: the question and answers with their points, and one card per passage. */

import { get, post } from "./api.js";
import { quote, tag } from "./case.js";
import { el, fill, marked } from "./dom.js";
import { stateTag } from "./list.js";
import { drawPoint, isOpen } from "./points.js";
import { drawProblem } from "./shell.js";
import { boundLine } from "./standing.js";
import { say } from "./words.js";

const itemLink = (key) => `?${new URLSearchParams({ item: key })}`;

/** Draw the page. */
export async function drawItem(params, { go, signal, undo }) {
  const [page, standing] = await Promise.all([get("/api/item", new URLSearchParams({ item: params.get("item") }), signal), get("/api/standing", null, signal)]);
  const problem = el("div", {});
  let isSent = false; // Ignore a second press until the next page is drawn.
  const decide = async (said, next = false) => {
    if (isSent) return;
    isSent = true;
    try {
      await post("/api/decide", { item: page.key, said });
      await (next && page.next_open ? go(itemLink(page.next_open)) : go(location.search, { keep: !next }));
    } catch (error) {
      isSent = false;
      fill(problem, drawProblem(error));
      problem.scrollIntoView({ block: "nearest" });
    }
  };
  const draw = (point) => drawPoint(point, page, decide);
  const of = (...kinds) => page.points.filter((one) => kinds.includes(one.kind)).map(draw);
  return el("div", { class: "item-page" },
    el("div", { class: "two" },
      el("section", { class: "about" },
        el("div", { class: "row small quiet" }, stateTag(page.state), el("span", { class: "key" }, page.key), tag(page.kind), el("span", {}, say("{0} of {1}", page.at + 1, page.total))),
        el("h1", { lang: page.item.lang, dir: "auto" }, page.item.question),
        drawFlags(page.flags),
        of("question"), drawFacts(page), of("answer", "fake")),
      el("section", { class: "passages" }, page.passages.map((one, index) => drawPassage(one, index, page, draw)))),
    problem, drawBar(page, standing, decide, go, undo));
}

function drawFlags(flags) {
  if (!flags.length) return null;
  return el("div", { class: "flags card" }, el("strong", { class: "small" }, say("Flagged")),
    el("ul", { class: "small" }, flags.map((flag) => el("li", {}, tag(flag.rule, "warn"), " ", whereOf(flag), " ", numbered(flag.message)))));
}

/** Return a flag's message with its passages numbered as on the page. */
function numbered(message) {
  return message.replaceAll(/passages\[(\d+)\]/g, (_, index) => `${say("passage")} ${Number(index) + 1}`);
}

/** Draw the location of a flag; passages are numbered from 1. */
function whereOf(flag) {
  const index = indexOf(flag);
  return index === null ? el("code", {}, flag.where) : el("strong", {}, `${say("passage")} ${index + 1}`);
}

function indexOf(flag) {
  const found = /^passages\[(\d+)\]/.exec(flag.where);
  return found ? Number(found[1]) : null;
}

function drawFacts(page) {
  const facts = [];
  const add = (name, value) => value && facts.push(el("dt", {}, say(name)), el("dd", {}, value));
  add("Event date", page.item.date);
  add("Models that know the answer", page.item.known_by?.join(", "));
  add("Source article", page.origin ? [page.origin.title, page.origin.url, page.origin.date, page.origin.licence].filter(Boolean).join(" · ") : null);
  page.item.sub_questions?.forEach((one, part) => add(`${say("Sub-question")} ${part + 1}`, one));
  return el("dl", { class: "facts" }, facts);
}

function drawPassage(shown, index, page, draw) {
  const { passage } = shown;
  const points = page.points.filter((one) => ["stance", "text"].includes(one.kind) && one.index === index);
  const original = passage.edit_of === undefined ? null : page.passages[passage.edit_of];
  return el("section", { class: `card ${passage.stance}` },
    el("header", {}, el("strong", {}, String(index + 1)), tag(passage.stance),
      [...new Set(page.flags.filter((flag) => indexOf(flag) === index).map((flag) => flag.rule))].map((rule) => tag(rule, "warn")),
      passage.kind && passage.kind !== "related" ? el("span", {}, passage.kind) : null,
      passage.part === undefined ? null : el("span", {}, `${say("Sub-question")} ${passage.part + 1}`),
      el("span", { class: "why", title: shown.label.rule }, `${shown.label.label} (${shown.label.rule}): ${shown.label.reason}`)),
    quote(page.item.lang, marked(passage.text, named(shown.spans))),
    original ? el("details", { class: "small" }, el("summary", {}, say("Original passage ({0})", passage.edit_of + 1)),
      quote(page.item.lang, marked(original.passage.text, named(original.spans)))) : null,
    drawSource(passage),
    points.map(draw));
}

/** Draw a passage's source; URLs are not linked, because the pages are untrusted. */
function drawSource(passage) {
  const parts = [passage.title, passage.url, passage.date, passage.licence, passage.snippet_of ? say("search engine snippet") : null,
    passage.page ? `${say("page")} ${passage.page}` : null].filter(Boolean);
  return parts.length ? el("p", { class: "source small quiet" }, parts.join(" · ")) : null;
}

function named(spans) {
  const words = { gold: "gold answer", fake: "false answer", cue: "sentence with the answer" };
  return spans.map((span) => ({ ...span, title: say(words[span.kind]) }));
}

/** Draw the buttons for the whole item, and the state of the sample. */
function drawBar(page, standing, decide, go, undo) {
  const tally = standing.tallies.find((one) => one.data === page.data);
  const open = page.points.filter((point) => isOpen(point, page));
  const reject = () => document.querySelector("[data-point=question] [data-say=reject]")?.click();
  const to = (name, word, key) => el("button", { "data-do": name, disabled: !key, onclick: () => go(itemLink(key)) }, say(word));
  return el("footer", { class: "bar screen-only" }, el("div", {},
    open.length ? [
      el("button", { class: "main-button", "data-do": "all", title: "a", onclick: () => decide(open.map((one) => ({ point: one.name, verdict: "accept" })), true) }, say("Accept the remaining {0}", open.length)),
      el("button", { "data-do": "reject", title: "x", onclick: reject }, say("Reject the item"))] : null,
    el("button", { onclick: undo, title: "u" }, say("Undo")),
    to("previous", "Previous", page.before), open.length || !page.next_open ? to("next", "Next", page.after) : to("next", "Next undecided item", page.next_open),
    el("span", { class: "small quiet bound-line", role: "status" }, [page.data, tally.flagged ? say("flagged: {0} of {1} done", tally.flagged_done, tally.flagged) : null,
      boundLine(tally, standing.settings.target)].filter(Boolean).join(" · "))));
}
