/* The page state, which is stored entirely in the URL so that every view can be linked and bookmarked. */

export const FACETS = ["run", "model", "data", "lang", "testbed", "noise", "docs", "arm", "profile", "true", "outcome", "error", "verdict", "misled", "type", "label"];
const CASE = ["in", "case", "by", "repeat", "with", "at"];

let names = {};

/** Store the display names of models, which are part of every server response. */
export function learnNames(told) {
  names = told;
}

/** Return a model's display name. */
export function nameOf(model) {
  return Object.hasOwn(names, model) ? names[model] : model;
}

/** Return the current URL parameters. */
export function here() {
  return new URLSearchParams(location.search);
}

/** Return which of the three pages is shown. */
export function shownPage(params = here()) {
  if (params.has("case")) return "case";
  return params.get("show") === "trials" ? "trials" : "overview";
}

/** Return a link to the list with a filter applied. */
export function listLink(filter) {
  const params = new URLSearchParams({ show: "trials" });
  for (const [name, values] of Object.entries(filter)) for (const value of [values].flat()) params.append(name, value);
  return `?${params}`;
}

/** Return the filter in the URL, which is sent to the server and kept between pages. */
export function filterOf(params = here()) {
  const kept = new URLSearchParams();
  for (const [name, value] of params) if (FACETS.includes(name) || name === "q") kept.append(name, value);
  return kept;
}

/** Return a link to a trial, with its position in the list. */
export function caseLink(row, at = null, params = here()) {
  const link = filterOf(params);
  link.set("show", "trials");
  for (const [name, value] of [["in", row.run], ["case", row.case], ["by", row.model], ["repeat", row.repeat]]) link.set(name, value);
  if (at !== null) link.set("at", at);
  return `?${link}`;
}

/** Return a link to the list without the case. */
export function backLink(params = here()) {
  const link = new URLSearchParams(params);
  const at = Number(link.get("at") ?? 0);
  for (const name of CASE) link.delete(name);
  link.set("show", "trials");
  if (at >= 50) link.set("offset", Math.floor(at / 50) * 50);
  return `?${link}`;
}

/** Return the URL with a parameter value added or removed, going back to the first page. */
export function toggled(name, value, params = here()) {
  const link = new URLSearchParams(params);
  const values = link.getAll(name);
  link.delete(name);
  for (const old of values) if (old !== value) link.append(name, old);
  if (!values.includes(value)) link.append(name, value);
  link.delete("offset");
  return `?${link}`;
}

/** Return the URL with a parameter set or removed. */
export function changed(name, value, params = here()) {
  const link = new URLSearchParams(params);
  if (value === null || value === "") link.delete(name);
  else link.set(name, value);
  return `?${link}`;
}

/** Count how many times the page has been drawn, for tests that wait for it. */
export function tellDrawn() {
  const { dataset } = document.querySelector("main");
  dataset.drawn = String(Number(dataset.drawn ?? 0) + 1);
}
