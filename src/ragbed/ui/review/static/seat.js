/* The rater at this window. Every request has the name and the window, so that two windows cannot use one name. */

import { get, post } from "./api.js";

const windowId = sessionStorage.getItem("window") ?? crypto.randomUUID();
sessionStorage.setItem("window", windowId);

/** Return the name of the rater, if it is known. */
export function seated() {
  return sessionStorage.getItem("rater");
}

/** Take a name; fails if another window has it. */
export async function sit(name) {
  const told = await post("/api/sit", { rater: name, window: windowId });
  sessionStorage.setItem("rater", name);
  return told;
}

/** Give the name up. */
export function leave() {
  sessionStorage.removeItem("rater");
}

/** Read something as this rater. */
export function ask(path, params = {}, signal = undefined) {
  return get(path, new URLSearchParams({ ...params, rater: seated(), window: windowId }), signal);
}

/** Send something as this rater. */
export function tell(path, body = {}) {
  return post(path, { ...body, rater: seated(), window: windowId });
}
