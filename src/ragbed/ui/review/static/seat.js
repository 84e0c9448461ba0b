/* The rater in this window. Every request includes the name and the window, so that two windows cannot share a name. */

import { get, post } from "./api.js";

const windowId = sessionStorage.getItem("window") ?? crypto.randomUUID();
sessionStorage.setItem("window", windowId);

/** Return the rater's name, if it is known. */
export function seated() {
  return sessionStorage.getItem("rater");
}

/** Reserve a name; fails if another window is using it. */
export async function sit(name) {
  const told = await post("/api/sit", { rater: name, window: windowId });
  sessionStorage.setItem("rater", name);
  return told;
}

/** Release the name. */
export function leave() {
  sessionStorage.removeItem("rater");
}

/** Send a GET request as this rater. */
export function ask(path, params = {}, signal = undefined) {
  return get(path, new URLSearchParams({ ...params, rater: seated(), window: windowId }), signal);
}

/** Send a POST request as this rater. */
export function tell(path, body = {}) {
  return post(path, { ...body, rater: seated(), window: windowId });
}
