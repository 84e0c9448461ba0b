/* Asks the server. The token behind the `#` of the printed address is handed in once and then taken out of sight. */

let write = "";

/** Opens the door: with the token of the address if it has one, else with the cookie. */
export async function enter() {
  const token = location.hash.slice(1);
  if (token) history.replaceState(null, "", location.pathname + location.search);
  const options = token ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(token) } : {};
  const answer = await fetch("/api/enter", options);
  if (!answer.ok) throw new Error(await answer.text());
  ({ write } = await answer.json());
}

/** What the server has under a path. */
export async function get(path, params, signal) {
  const answer = await fetch(`${path}?${params ?? ""}`, { signal });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** Changes something; what the server says to it. */
export async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json", "X-Ragbed-Write": write }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
