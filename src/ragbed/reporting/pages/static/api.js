/* Requests to the server. The token after the `#` of the printed URL is sent once and then removed from the URL. */

let write = "";

/** Authenticate with the token of the URL, or else with the cookie. */
export async function enter() {
  const token = location.hash.slice(1);
  if (token) history.replaceState(null, "", location.pathname + location.search);
  const options = token ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(token) } : {};
  const answer = await fetch("/api/enter", options);
  if (!answer.ok) throw new Error(await answer.text());
  ({ write } = await answer.json());
}

/** Return the JSON of a path. */
export async function get(path, params, signal) {
  const answer = await fetch(`${path}?${params ?? ""}`, { signal });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** Send a change, and return the response as JSON. */
export async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json", "X-Ragbed-Write": write }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
