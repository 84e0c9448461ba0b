/* Keyboard shortcuts: j and k move through lists and cases, / searches, l labels, ? shows the help. */

import { stepFrom } from "./list.js";
import { isForPage, showKeys } from "./shell.js";
import { backLink, caseLink, here, shownPage } from "./state.js";

export const HELP = [
  ["/", "search"], ["j  ↓", "next"], ["k  ↑", "previous"], ["→  ←", "next and previous page"], ["Enter", "open"],
  ["u  Esc", "back to the list"], ["c", "add the next model for comparison"], ["l", "label"], ["y  n", "label as yes or no"], ["o", "overview"], ["?", "show keyboard shortcuts"],
];

/** Handle a key press, unless an input field has the focus. */
export function onKey(event, go) {
  if (!isForPage(event)) return;
  const act = { "/": focusSearch, "?": () => showKeys(HELP), o: () => go(""), ...(ACTS[shownPage()] ?? {}) }[event.key];
  if (!act) return;
  event.preventDefault();
  act(go);
}

const move = (by) => () => {
  const rows = [...document.querySelectorAll(".trial-row, table.overview a")];
  const now = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, now + by))]?.focus();
};

const leaf = (by) => () => document.querySelectorAll(".pager button")[by > 0 ? 1 : 0]?.click();

/** Go to the next or previous trial in the list. */
const step = (by) => async (go) => {
  if (!here().has("at")) return;
  const next = await stepFrom(here(), by);
  if (next) go(caseLink(next.row, next.at), { replace: true });
};

const label = (word) => () => {
  const inside = document.activeElement?.closest?.(".label") ?? document.querySelector(".label");
  inside?.querySelector(`[data-label=${word}]`)?.click();
};

const ACTS = {
  overview: { j: move(1), ArrowDown: move(1), k: move(-1), ArrowUp: move(-1) },
  trials: { j: move(1), ArrowDown: move(1), k: move(-1), ArrowUp: move(-1), ArrowRight: leaf(1), ArrowLeft: leaf(-1) },
  case: {
    j: step(1), ArrowRight: step(1), k: step(-1), ArrowLeft: step(-1),
    u: (go) => go(backLink()), Escape: (go) => go(backLink()),
    c: () => document.querySelector("[data-beside][aria-pressed=false]")?.click(),
    l: () => document.querySelector(".label button")?.focus(),
    y: label("yes"), n: label("no"),
  },
};

document.addEventListener("click", (event) => {
  const by = event.target.closest?.("[data-step]")?.dataset.step;
  if (by) document.dispatchEvent(new KeyboardEvent("keydown", { key: by === "1" ? "j" : "k", bubbles: true }));
});

function focusSearch() {
  const search = document.querySelector("input[name=q]");
  search?.focus();
  search?.select();
}
