/* The review: draw the page for the URL, and handle links, keys and updates from the server. */

import { enter, get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { drawItem } from "./item.js";
import { HELP, onKey } from "./keys.js";
import { drawList } from "./list.js";
import { beginShell, drawLost, drawProblem, drawTools, followLinks, makeGo } from "./shell.js";
import { drawStanding } from "./standing.js";
import { say } from "./words.js";
import { ZH } from "./zh.js";

const ALIVE_S = 5;

const page = el("main", { class: "page", tabindex: "-1" });
const work = el("div", { class: "work", role: "status" });
const top = el("header", { class: "top screen-only" });

const here = () => new URLSearchParams(location.search);
const shown = () => (here().has("item") ? "item" : here().get("show") === "list" ? "list" : "standing");
const DRAW = { item: drawItem, list: drawList, standing: drawStanding };

const go = makeGo(page, (signal) => DRAW[shown()](here(), { go, signal, undo }), (keep, focused) => {
  fill(work);
  drawTop();
  focusPoint(keep ? focused?.closest?.("[data-point]")?.dataset.point : null);
});

/** Focus the first undecided point, starting at the one that had the focus. */
function focusPoint(after) {
  const points = [...page.querySelectorAll("[data-point]")];
  const from = Math.max(0, points.findIndex((one) => one.dataset.point === after));
  const next = [...points.slice(from), ...points.slice(0, from)].find((one) => one.dataset.open === "yes");
  (next ?? points.find((one) => one.dataset.point === after))?.focus({ preventScroll: !after });
}

/** Undo the last decision and show its item. */
async function undo() {
  try {
    const { item } = await post("/api/undo", {});
    await go(`?${new URLSearchParams({ item })}`, { keep: item === here().get("item") });
  } catch (error) {
    fill(work, drawProblem(error));
  }
}

function drawTop() {
  const link = (href, key, word) => el("a", { href, "aria-current": shown() === key ? "page" : null }, say(word));
  fill(top, el("div", {},
    el("a", { class: "brand", href: "/" }, "ragbed"),
    el("nav", { "aria-label": say("Pages") }, link("/", "standing", "Progress"), link("?show=list", "list", "Items")),
    drawTools(HELP, () => go(location.search, { keep: true }))));
}

/** Report a server that has stopped. */
async function stayAlive() {
  try {
    await get("/api/standing");
    if (work.querySelector("[data-gone]")) fill(work);
  } catch (error) {
    fill(work, el("div", { "data-gone": true }, drawLost(error)));
  }
  setTimeout(stayAlive, ALIVE_S * 1000);
}

async function begin() {
  beginShell(ZH);
  fill(document.body, top, work, page);
  followLinks(go);
  document.addEventListener("keydown", (event) => onKey(event, { go, undo }));
  window.addEventListener("popstate", () => go(location.search));
  try {
    await enter();
  } catch (error) {
    fill(page, drawProblem(error));
    return;
  }
  await go(location.search);
  setTimeout(stayAlive, ALIVE_S * 1000);
}

begin();
