/* Who sits at this window. Everything that is asked or said carries the name, and the window, so that two people cannot
 * work under one name at once. */

import { get, post } from "./api.js";

const windowId = sessionStorage.getItem("window") ?? crypto.randomUUID();
sessionStorage.setItem("window", windowId);

/** The name, or nothing before it was given. */
export function seated() {
  return sessionStorage.getItem("rater");
}

/** Takes a seat under a name; fails if another window has it. */
export async function sit(name) {
  const told = await post("/api/sit", { rater: name, window: windowId });
  sessionStorage.setItem("rater", name);
  return told;
}

/** Leaves the seat to somebody else. */
export function leave() {
  sessionStorage.removeItem("rater");
}

/** Asks for something in the name of who sits here. */
export function ask(path, params = {}, signal = undefined) {
  return get(path, new URLSearchParams({ ...params, rater: seated(), window: windowId }), signal);
}

/** Says something in the name of who sits here. */
export function tell(path, body = {}) {
  return post(path, { ...body, rater: seated(), window: windowId });
}
