/* Keyboard shortcuts: j and k move through the points; y, e and n decide; a accepts the rest. */

import { isForPage, showKeys } from "./shell.js";

export const HELP = [
  ["a", "accept the rest and continue"], ["y", "accept this point"], ["e", "fix this point"], ["n", "reject this point"], ["x", "reject the item"],
  ["u", "undo"], ["j  ↓", "next point"], ["k  ↑", "previous point"], ["→  Enter", "next item"], ["←", "previous item"],
  ["l", "list of items"], ["/", "search"], ["o", "review progress"], ["?", "show keyboard shortcuts"],
];

const press = (name) => () => document.querySelector(`[data-do=${name}]`)?.click();

const move = (by) => () => {
  const points = [...document.querySelectorAll("[data-point]")];
  const now = points.indexOf(document.activeElement?.closest?.("[data-point]"));
  points[Math.max(0, Math.min(points.length - 1, now + by))]?.focus();
};

/** Press a button on the focused point. */
const verdict = (word) => () => document.activeElement?.closest?.("[data-point]")?.querySelector(`[data-say=${word}]`)?.click();

const ACTS = {
  a: press("all"), x: press("reject"), y: verdict("accept"), e: verdict("fix"), n: verdict("reject"), u: (tools) => tools.undo(),
  j: move(1), ArrowDown: move(1), k: move(-1), ArrowUp: move(-1), ArrowRight: press("next"), ArrowLeft: press("previous"),
};

async function search(tools) {
  if (!document.querySelector("input[name=q]")) await tools.go("?show=list");
  document.querySelector("input[name=q]")?.focus();
}

/** Handle a key press, unless an input field has the focus. */
export function onKey(event, tools) {
  if (!isForPage(event)) return;
  const isOnButton = event.target.closest?.("button, a, summary");
  const general = { "?": () => showKeys(HELP), l: () => tools.go("?show=list"), "/": search, o: () => tools.go("") };
  const act = event.key === "Enter" && !isOnButton
    ? press(document.querySelector("[data-do=next]") ? "next" : "on") : general[event.key] ?? (document.querySelector(".item-page") ? ACTS[event.key] : null);
  if (!act) return;
  event.preventDefault();
  act(tools);
}
