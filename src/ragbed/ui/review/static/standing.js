/* The progress page: counts, and the bound on wrong items. */

import { get } from "./api.js";
import { tag } from "./case.js";
import { el } from "./dom.js";
import { say } from "./words.js";

const COLUMNS = ["data", "flagged (reviewed)", "sampled (reviewed)", "wrong", "upper bound on wrong items", "still to review", "accepted", "fixed", "rejected", "remaining"];

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
  const told = await get("/api/standing", null, signal);
  const isNew = told.tallies.every((one) => (one.states.open ?? 0) === one.items);
  return el("div", { class: "standing" },
    el("div", { class: "row heading" }, el("h1", {}, say("Review progress")),
      told.next ? el("a", { class: "button", "data-do": "on", href: `?${new URLSearchParams({ item: told.next })}` }, say(isNew ? "Start" : "Continue")) : tag("all done", "good")),
    el("p", { class: "quiet" }, say("Decisions are stored with the name {0}.", told.settings.rater)),
    told.stale ? el("p", { class: "problem" }, say("Decisions on items that have since been removed or changed: {0}. These decisions are not counted.", told.stale)) : null,
    drawTallies(told),
    el("p", { class: "quiet small" }, say("Flagged items come first, followed by the other items in random order. The upper confidence bound (one-sided 95% Clopper–Pearson) applies to the share of wrong items among the unflagged ones; only items before the first skipped one are counted. An item is wrong if it had to be fixed or rejected.")));
}

function drawTallies(told) {
  const number = (value) => el("td", { class: "number" }, String(value));
  const row = (one) => el("tr", {}, el("th", { scope: "row" }, el("a", { href: `?${new URLSearchParams({ show: "list", data: one.data })}` }, one.data)),
    number(`${one.flagged_done} / ${one.flagged}`), number(`${one.sampled} / ${one.drawn}`), number(one.wrong),
    el("td", { class: "number bound" }, one.bound === null ? "–" : percent(one.bound)), number(one.more),
    number(one.states.accepted ?? 0), number(one.states.fixed ?? 0), number(one.states.rejected ?? 0),
    number((one.states.open ?? 0) + (one.states.begun ?? 0)));
  return el("div", { class: "scroll" }, el("table", { class: "tallies" },
    el("thead", {}, el("tr", {}, COLUMNS.map((word, place) => el("th", { scope: "col", class: place ? "number" : null }, say(word))))),
    el("tbody", {}, told.tallies.map(row))));
}
