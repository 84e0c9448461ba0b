/* How the review stands: what is done, how many items are wrong at the most, and how far two raters agree. */

import { tag } from "./case.js";
import { el } from "./dom.js";
import { ask } from "./seat.js";
import { say } from "./words.js";

const KINDS = {
  item: "whole items", question: "questions", searchable: "found by search", known: "known or not", answer: "answers",
  fake: "false answers", stance: "stances", text: "edited passages", edit: "edited stretches",
};
const COLUMNS = ["data", "flagged, done", "drawn, done", "wrong", "at most", "more to look at", "accepted", "fixed", "rejected", "differ", "left"];

/** A share as it is printed. */
export function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/** One line on the sample of a dataset: what the bound is, and what it takes to reach the target. */
export function boundLine(tally, target) {
  if (!tally.drawn) return say("every item is flagged");
  if (!tally.sampled) return say("look at {0} of the {1} that are not flagged, for ≤ {2} wrong", tally.more, tally.drawn, percent(target));
  const told = say("{0} of {1} wrong", tally.wrong, tally.sampled);
  if (tally.sampled === tally.drawn) return say("{0}; all that are not flagged were looked at", told);
  const bound = say("{0}: at most {1} of all that are not flagged", told, percent(tally.bound));
  return tally.more ? say("{0}; {1} more for ≤ {2}", bound, tally.more, percent(target)) : bound;
}

/** The page as an element. */
export async function drawStanding(params, { signal }) {
  const told = await ask("/api/standing", { concord: 1 }, signal);
  const differing = told.tallies.reduce((sum, one) => sum + (one.states.disagreed ?? 0), 0);
  return el("div", { class: "standing" },
    el("div", { class: "row heading" }, el("h1", {}, say("How the review stands")),
      told.next ? el("a", { class: "button", "data-do": "on", href: `?${new URLSearchParams({ item: told.next })}` }, say("Go on")) : tag("all done", "good"),
      differing ? el("a", { class: "button", href: "?show=list&only=disagreed" }, say("Settle {0} that raters differ on", differing)) : null),
    el("p", { class: "quiet" }, say(told.begun.raters === 2
      ? "Two raters decide each item; neither sees what the other says until both are done."
      : "Each item is decided once; who decides is kept.")),
    told.stale ? el("p", { class: "problem" }, say("Decisions about items that are gone or have changed since: {0}; they do not count.", told.stale)) : null,
    drawTallies(told),
    el("p", { class: "quiet small" }, say("Flagged items come first, all of them. The others are drawn at random; “at most” is the share of wrong ones among them by Clopper and Pearson, one-sided, 95 %. It counts those drawn up to the first that was passed over. Wrong is what had to be fixed or rejected.")),
    told.raters.length ? el("p", {}, say("At work: {0}", told.raters.join(", "))) : null,
    told.concord.length ? drawConcord(told.concord) : null);
}

function drawTallies(told) {
  const number = (value) => el("td", { class: "number" }, String(value));
  const row = (one) => el("tr", {}, el("th", { scope: "row" }, el("a", { href: `?${new URLSearchParams({ show: "list", data: one.data })}` }, one.data)),
    number(`${one.flagged_done} / ${one.flagged}`), number(`${one.sampled} / ${one.drawn}`), number(one.wrong),
    el("td", { class: "number bound" }, one.bound === null ? "–" : percent(one.bound)), number(one.more),
    number(one.states.accepted ?? 0), number(one.states.fixed ?? 0), number(one.states.rejected ?? 0), number(one.states.disagreed ?? 0),
    number((one.states.open ?? 0) + (one.states.begun ?? 0) + (one.states.waiting ?? 0)));
  return el("div", { class: "scroll" }, el("table", { class: "tallies" },
    el("thead", {}, el("tr", {}, COLUMNS.map((word, place) => el("th", { scope: "col", class: place ? "number" : null }, say(word))))),
    el("tbody", {}, told.tallies.map(row))));
}

function drawConcord(rows) {
  const share = ([value, low, high]) => (value === null ? "–" : low === null ? value.toFixed(2) : `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`);
  return el("section", {}, el("h2", {}, say("How far two raters agree")),
    el("div", { class: "scroll" }, el("table", { class: "concord" },
      el("thead", {}, el("tr", {}, ["", "n", "agreed", "Cohen's κ", "Gwet's AC1"].map((word) => el("th", { scope: "col", class: "number" }, word ? say(word) : "")))),
      el("tbody", {}, rows.map((one) => el("tr", {}, el("th", { scope: "row" }, say(KINDS[one.kind])), el("td", { class: "number" }, String(one.n)),
        [one.agreed, one.kappa, one.ac1].map((value) => el("td", { class: "number" }, share(value)))))))),
    el("p", { class: "quiet small" }, say("On whether it can stay as it is, before anything was settled; 95 % intervals over items. κ needs both to reject something; AC1 stays steady where nearly all is accepted.")));
}
