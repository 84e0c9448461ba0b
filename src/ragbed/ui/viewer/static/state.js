/* Where the person is: the address carries all of it, so that every view can be linked to, kept and gone back to. */

export const FACETS = ["run", "model", "data", "lang", "testbed", "noise", "arm", "outcome", "error", "verdict", "misled", "type", "differs", "label"];
const CASE = ["in", "case", "by", "repeat", "with", "at"];

let names = {};

/** Takes over the names under which models are shown, as every answer of the server has them. */
export function learnNames(told) {
  names = told;
}

/** The name under which a model is shown. */
export function nameOf(model) {
  return Object.hasOwn(names, model) ? names[model] : model;
}

/** The parameters of the address as it is now. */
export function here() {
  return new URLSearchParams(location.search);
}

/** Which of the three pages is shown. */
export function shownPage(params = here()) {
  if (params.has("case")) return "case";
  return params.get("show") === "trials" ? "trials" : "overview";
}

/** A link to the list with this filter. */
export function listLink(filter) {
  const params = new URLSearchParams({ show: "trials" });
  for (const [name, values] of Object.entries(filter)) for (const value of [values].flat()) params.append(name, value);
  return `?${params}`;
}

/** The filter alone, as it is sent to the server and kept from page to page. */
export function filterOf(params = here()) {
  const kept = new URLSearchParams();
  for (const [name, value] of params) if (FACETS.includes(name) || name === "q") kept.append(name, value);
  return kept;
}

/** A link to a trial, at a place in the list that led to it. */
export function caseLink(row, at = null, params = here()) {
  const link = filterOf(params);
  link.set("show", "trials");
  for (const [name, value] of [["in", row.run], ["case", row.case], ["by", row.model], ["repeat", row.repeat]]) link.set(name, value);
  if (at !== null) link.set("at", at);
  return `?${link}`;
}

/** The same list without the case. */
export function backLink(params = here()) {
  const link = new URLSearchParams(params);
  const at = Number(link.get("at") ?? 0);
  for (const name of CASE) link.delete(name);
  link.set("show", "trials");
  if (at >= 50) link.set("offset", Math.floor(at / 50) * 50);
  return `?${link}`;
}

/** The address with one value of a parameter there or not, from the first page on. */
export function toggled(name, value, params = here()) {
  const link = new URLSearchParams(params);
  const values = link.getAll(name);
  link.delete(name);
  for (const old of values) if (old !== value) link.append(name, old);
  if (!values.includes(value)) link.append(name, value);
  link.delete("offset");
  return `?${link}`;
}

/** The address with a parameter set, or taken away. */
export function changed(name, value, params = here()) {
  const link = new URLSearchParams(params);
  if (value === null || value === "") link.delete(name);
  else link.set(name, value);
  return `?${link}`;
}

/** Tells who waits for it that the page, or a part of it, was drawn anew. */
export function tellDrawn() {
  const { dataset } = document.querySelector("main");
  dataset.drawn = String(Number(dataset.drawn ?? 0) + 1);
}
