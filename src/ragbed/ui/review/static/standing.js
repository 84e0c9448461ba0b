/* The progress page: counts, the bound on wrong items, and the agreement between two raters. */

import { tag } from "./case.js";
import { el } from "./dom.js";
import { ask } from "./seat.js";
import { say } from "./words.js";

const KINDS = {
  item: "whole items", question: "questions", searchable: "found by search?", known: "common knowledge?", answer: "answers",
  fake: "false answers", stance: "relevance labels", text: "edited passages", edit: "edited spans",
};
const COLUMNS = ["data", "flagged (reviewed)", "sampled (reviewed)", "wrong", "upper bound on wrong items", "still to review", "accepted", "fixed", "rejected", "disagreement", "remaining"];

/** Format a share as a percentage. */
export function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

/** Describe the sample of a dataset: the bound, and the items needed to reach the target. */
export function boundLine(tally, target) {
  if (!tally.drawn) return say("every item is flagged");
  if (!tally.sampled) return say("review {0} of the {1} unflagged items to show that at most {2} are wrong", tally.more, tally.drawn, percent(target));
  const told = say("{0} of {1} wrong", tally.wrong, tally.sampled);
  if (tally.sampled === tally.drawn) return say("{0}; all unflagged items were reviewed", told);
  const bound = say("{0}: at most {1} of all unflagged items are wrong", told, percent(tally.bound));
  return tally.more ? say("{0}; review {1} more items to show that at most {2} are wrong", bound, tally.more, percent(target)) : bound;
}

/** Draw the page. */
export async function drawStanding(params, { signal }) {
  const told = await ask("/api/standing", { concord: 1 }, signal);
  const differing = told.tallies.reduce((sum, one) => sum + (one.states.disagreed ?? 0), 0);
  return el("div", { class: "standing" },
    el("div", { class: "row heading" }, el("h1", {}, say("Review progress")),
      told.next ? el("a", { class: "button", "data-do": "on", href: `?${new URLSearchParams({ item: told.next })}` }, say("Continue")) : tag("all done", "good"),
      differing ? el("a", { class: "button", href: "?show=list&only=disagreed" }, say(differing === 1 ? "Resolve {0} disagreement" : "Resolve {0} disagreements", differing)) : null),
    el("p", { class: "quiet" }, say(told.begun.raters === 2
      ? "Two raters review each item. They see each other's decisions only after both have finished."
      : "Each item is reviewed by one rater, whose name is stored.")),
    told.stale ? el("p", { class: "problem" }, say("Decisions on items that have since been removed or changed: {0}. These decisions are not counted.", told.stale)) : null,
    drawTallies(told),
    el("p", { class: "quiet small" }, say("Flagged items come first, followed by the other items in random order. The upper confidence bound (one-sided 95% Clopper–Pearson) applies to the share of wrong items among the unflagged ones; only items before the first skipped one are counted. An item is wrong if it had to be fixed or rejected.")),
    told.raters.length ? el("p", {}, say("Raters: {0}", told.raters.join(", "))) : null,
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
  return el("section", {}, el("h2", {}, say("Inter-rater agreement")),
    el("div", { class: "scroll" }, el("table", { class: "concord" },
      el("thead", {}, el("tr", {}, ["", "n", "agreement", "Cohen's κ", "Gwet's AC1"].map((word) => el("th", { scope: "col", class: "number" }, word ? say(word) : "")))),
      el("tbody", {}, rows.map((one) => el("tr", {}, el("th", { scope: "row" }, say(KINDS[one.kind])), el("td", { class: "number" }, String(one.n)),
        [one.agreed, one.kappa, one.ac1].map((value) => el("td", { class: "number" }, share(value)))))))),
    el("p", { class: "quiet small" }, say("Agreement before disagreements are resolved, with 95% confidence intervals computed over items. κ is undefined if both raters accept every item; AC1 remains stable even if nearly all items are accepted.")));
}
