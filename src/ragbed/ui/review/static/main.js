/* The review: draw the page for the URL, and handle links, keys and updates from the server. */

import { enter } from "./api.js";
import { el, fill } from "./dom.js";
import { drawItem } from "./item.js";
import { HELP, onKey } from "./keys.js";
import { drawList } from "./list.js";
import { ask, leave, seated, sit, tell } from "./seat.js";
import { beginShell, drawLost, drawProblem, drawTools, followLinks } from "./shell.js";
import { drawStanding } from "./standing.js";
import { say } from "./words.js";
import { ZH } from "./zh.js";

const ALIVE_S = 5;

const page = el("main", { class: "page", tabindex: "-1" });
const work = el("div", { class: "work", role: "status" });
const top = el("header", { class: "top screen-only" });
let drawing = new AbortController();
let seen = null;

const here = () => new URLSearchParams(location.search);
const shown = () => (!seated() ? "seat" : here().has("item") ? "item" : here().get("show") === "list" ? "list" : "standing");
const DRAW = { seat: drawSeat, item: drawItem, list: drawList, standing: drawStanding };

/** Go to a URL and draw its page. */
async function go(link, { replace = false, keep = false } = {}) {
  if (link !== location.search) history[replace ? "replaceState" : "pushState"](null, "", link || "/");
  await draw({ keep });
}

async function draw({ keep = false } = {}) {
  drawing.abort();
  drawing = new AbortController();
  const { signal } = drawing;
  const focused = document.activeElement?.closest?.("[data-point]")?.dataset.point;
  try {
    const drawn = await DRAW[shown()](here(), { go, signal, undo, notice });
    if (signal.aborted) return;
    fill(page, drawn);
    fill(work);
  } catch (error) {
    if (signal.aborted) return;
    fill(page, drawProblem(error));
  }
  drawTop();
  if (!keep) window.scrollTo(0, 0);
  focusPoint(keep ? focused : null);
  document.title = [page.querySelector("h1")?.textContent, "ragbed"].filter(Boolean).join(" – ");
  page.dataset.drawn = String(Number(page.dataset.drawn ?? 0) + 1);
}

/** Show a notice that is not an error. */
function notice(words) {
  fill(work, el("p", { class: "notice" }, words));
}

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
    const { item } = await tell("/api/undo");
    await go(`?${new URLSearchParams({ item })}`, { keep: item === here().get("item") });
  } catch (error) {
    fill(work, drawProblem(error));
  }
}

function drawTop() {
  const name = seated();
  const link = (href, key, word) => el("a", { href, "aria-current": shown() === key ? "page" : null }, say(word));
  fill(top, el("div", {},
    el("a", { class: "brand", href: "/" }, "ragbed"),
    name ? el("nav", { "aria-label": say("Pages") }, link("/", "standing", "Progress"), link("?show=list", "list", "Items")) : null,
    name ? el("span", { class: "rater small" }, name, " ", el("button", { class: "quiet-button", onclick: stand }, say("Sign out"))) : null,
    drawTools(HELP, () => draw({ keep: true }))));
}

function stand() {
  leave();
  go("");
}

/** Ask for the rater's name. */
async function drawSeat(params, { go }) {
  const name = el("input", { name: "rater", maxlength: 40, autocomplete: "off", "aria-label": say("Your name"), required: true });
  const problem = el("div", {});
  const submit = async (event) => {
    event.preventDefault();
    try {
      const { next } = await sit(name.value.trim());
      await go(params.has("item") ? location.search : next ? `?${new URLSearchParams({ item: next })}` : "");
    } catch (error) {
      fill(problem, drawProblem(error));
    }
  };
  setTimeout(() => name.focus());
  return el("form", { class: "seat", onsubmit: submit },
    el("h1", {}, say("Enter your name")),
    el("p", { class: "quiet" }, say("Your name is stored with each decision.")),
    el("div", { class: "row" }, name, el("button", {}, say("Start"))), problem);
}

/** Confirm the name, and show what others have done in the meantime. */
async function stayAlive() {
  if (seated()) {
    try {
      await sit(seated());
      const told = JSON.stringify(await ask("/api/standing"));
      if (work.querySelector("[data-gone]")) fill(work);
      if (seen !== null && told !== seen && shown() === "standing") draw({ keep: true });
      seen = told;
    } catch (error) {
      fill(work, el("div", { "data-gone": true }, drawLost(error)));
    }
  }
  setTimeout(stayAlive, ALIVE_S * 1000);
}

async function begin() {
  beginShell(ZH);
  fill(document.body, top, work, page);
  followLinks(go);
  document.addEventListener("keydown", (event) => onKey(event, { go, undo }));
  window.addEventListener("popstate", () => draw());
  try {
    await enter();
  } catch (error) {
    leave();
    fill(page, drawProblem(error));
    return;
  }
  const lost = seated() ? await sit(seated()).then(() => null, (error) => error) : null;
  if (lost) leave(); // The page asks for another name.
  await draw();
  if (lost) fill(work, drawProblem(lost));
  setTimeout(stayAlive, ALIVE_S * 1000);
}

begin();
