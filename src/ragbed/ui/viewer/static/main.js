/* The viewer: draw the page for the URL, and handle links, keys and updates from the server. */

import { enter, get } from "./api.js";
import { drawCasePage } from "./casepage.js";
import { el, fill } from "./dom.js";
import { HELP, onKey } from "./keys.js";
import { drawList } from "./list.js";
import { drawOverview } from "./overview.js";
import { beginShell, drawLost, drawProblem, drawTools, followLinks, makeGo } from "./shell.js";
import { backLink, changed, here, shownPage } from "./state.js";
import { say } from "./words.js";
import { ZH } from "./zh.js";

const DRAW = { overview: drawOverview, trials: drawList, case: drawCasePage };
const BUSY_S = 1.5;
const IDLE_S = 3;

const page = el("main", { class: "page", tabindex: "-1" });
const work = el("div", { class: "work", role: "status" });
const top = el("header", { class: "top screen-only" });
let told = null; // The runs' latest progress, as reported by the server.
let seen = null; // The progress before the page's data were read.

const go = makeGo(page, async (signal) => {
  const before = told;
  const content = await DRAW[shownPage()](go, signal);
  seen = before;
  return content;
}, drawTop);
const redraw = () => go(location.search, { keep: true });

function drawTop() {
  const shown = shownPage();
  const typed = document.activeElement?.name === "q" ? document.activeElement.value : here().get("q") ?? "";
  if (!top.firstChild) fill(top, el("div", {}, ...topParts()));
  for (const link of top.querySelectorAll("nav a")) {
    if (link.dataset.page === (shown === "case" ? "trials" : shown)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  top.querySelector("nav a[data-page=trials]").setAttribute("href", shown === "overview" ? "?show=trials" : backLink());
  top.querySelector("input").value = typed;
}

function topParts() {
  const search = el("input", { type: "search", name: "q", placeholder: say("Search questions, responses, documents"), "aria-label": say("Search questions, responses, documents"), autocomplete: "off", maxlength: 500 });
  const submit = (event) => {
    event.preventDefault();
    const params = new URLSearchParams(backLink());
    params.delete("offset");
    go(changed("q", search.value.trim(), params));
  };
  return [
    el("a", { class: "brand", href: "/" }, "ragbed"),
    el("nav", { "aria-label": say("Pages") },
      el("a", { href: "/", "data-page": "overview" }, say("Overview")), el("a", { href: "?show=trials", "data-page": "trials" }, say("Trials"))),
    el("form", { role: "search", onsubmit: submit }, search),
    drawTools(HELP, () => {
      fill(top);
      redraw();
    }),
  ];
}

/** Get the progress of the runs and their indexes from the server. */
async function readProgress() {
  const { runs } = await get("/api/progress");
  told = JSON.stringify(runs.map((run) => [run.name, run.indexed, run.results, run.version]));
  return runs;
}

/** Follow the progress of runs and their indexes. */
async function follow() {
  let pause = IDLE_S;
  try {
    const runs = await readProgress();
    const isBusy = runs.some((run) => run.process || run.indexed < run.results);
    if (told !== seen && shownPage() === "overview") await redraw();
    fill(work, runs.map(drawWork), told !== seen && shownPage() === "trials" ? drawRefresh() : null);
    pause = isBusy ? BUSY_S : IDLE_S;
  } catch (error) {
    fill(work, drawLost(error));
  }
  setTimeout(follow, pause * 1000);
}

function drawRefresh() {
  const button = el("button", { class: "quiet-button", onclick: () => { button.remove(); redraw(); } }, say("Show new results"));
  return button;
}

function drawWork(run) {
  if (run.problem) return el("p", { class: "problem", role: "alert" }, `${run.name}: ${run.problem}`);
  const isIndexed = run.indexed >= run.results;
  if (isIndexed && !run.process) return null;
  return el("p", {}, `${run.name}: `,
    isIndexed ? say("running, {0} results so far", run.results.toLocaleString("en"))
      : [el("progress", { max: run.results, value: run.indexed }), " ", say("{0} of {1} results indexed", run.indexed.toLocaleString("en"), run.results.toLocaleString("en"))]);
}

async function begin() {
  beginShell(ZH);
  fill(document.body, top, work, page);
  followLinks(go);
  document.addEventListener("keydown", (event) => onKey(event, go));
  window.addEventListener("popstate", () => {
    document.activeElement?.blur(); // The search field keeps what is being typed only while it has the focus.
    go(location.search);
  });
  try {
    await enter();
    await readProgress().catch(() => {}); // Before the first draw, so that results indexed during it are noticed.
  } catch (error) {
    fill(page, drawProblem(error));
    return;
  }
  await go(location.search);
  follow();
}

begin();
