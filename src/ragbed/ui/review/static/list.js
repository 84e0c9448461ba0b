/* The list of items, in review order. */

import { get } from "./api.js";
import { tag } from "./case.js";
import { el } from "./dom.js";
import { drawPager } from "./shell.js";
import { say } from "./words.js";

const PAGE = 50;
const ONLY = { all: "all", todo: "to review", accepted: "accepted", fixed: "fixed", rejected: "rejected" };
const TONE = { accepted: "good", fixed: "warn", rejected: "bad" };

/** Draw an item's state. */
export function stateTag(state) {
  return tag({ open: "undecided", begun: "started" }[state] ?? state, TONE[state]);
}

/** Draw the page. */
export async function drawList(params, { go, signal }) {
  const only = params.get("only") ?? "all";
  const asked = { show: only, data: params.get("data") ?? "", q: params.get("q") ?? "", offset: params.get("offset") ?? "0" };
  if (params.has("flagged")) asked.flagged = "1";
  const page = await get("/api/items", new URLSearchParams(asked), signal);
  const linkWith = (name, value) => {
    const link = new URLSearchParams(params);
    link.delete("offset"); // A filter starts on the first page.
    if (value) link.set(name, value);
    else link.delete(name);
    return `?${link}`;
  };
  const choice = (name, value, word, isOn) => el("button", { "aria-pressed": String(isOn), onclick: () => go(linkWith(name, value)) }, word);
  const search = el("input", { type: "search", name: "q", value: asked.q, placeholder: say("Search questions"), "aria-label": say("Search questions"), autocomplete: "off", maxlength: 200 });
  const submit = (event) => {
    event.preventDefault();
    go(linkWith("q", search.value.trim()));
  };
  return el("div", { class: "list" },
    el("div", { class: "row heading" }, el("h1", {}, say("Items")), el("span", { class: "quiet", role: "status" }, say(page.total === 1 ? "{0} item" : "{0} items", page.total)),
      el("form", { role: "search", onsubmit: submit }, search)),
    el("div", { class: "row filters", role: "group", "aria-label": say("Filters") },
      Object.entries(ONLY).map(([key, word]) => choice("only", key === "all" ? "" : key, say(word), only === key)),
      choice("flagged", params.has("flagged") ? "" : "1", say("flagged"), params.has("flagged"))),
    page.data.length > 1 ? el("div", { class: "row filters", role: "group", "aria-label": say("Data") },
      page.data.map((name) => choice("data", asked.data === name ? "" : name, name, asked.data === name))) : null,
    page.rows.length ? el("ol", { class: "items" }, page.rows.map(drawRow)) : el("p", { class: "quiet empty" }, say("No matches. Remove a filter.")),
    drawPager(page.total, page.offset, PAGE, (offset) => go(linkWith("offset", offset))));
}

function drawRow(row) {
  return el("li", {}, el("a", { class: "item-row", href: `?${new URLSearchParams({ item: row.item })}` },
    el("span", { class: "state" }, stateTag(row.state)),
    el("span", { class: "asked", lang: row.lang, dir: "auto" }, row.question),
    el("span", { class: "row small quiet" }, el("span", {}, row.item), [...new Set(row.flags)].map((rule) => tag(rule, "warn")))));
}
