/* Build pages from elements and text nodes only.
 *
 * Documents, responses and names are untrusted. No function here takes markup, so no text can become an element, a
 * script or a style. `el` makes an element, `text` a text that shows invisible and direction characters by their code,
 * and `marked` the same with highlighted spans.
 */

const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;
const PLAIN = /^[\x20-\x7e]*$/;
const OWN_LINK = /^(?:[?#]|\/(?![/\\]))/;

/** Make an element: `el("p", {class: "quiet"}, "text", child, …)`; `onclick` and its like take functions. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, set] of Object.entries(value)) node.style.setProperty(name, set);
    else if (key === "href" && !OWN_LINK.test(value)) throw new Error("links lead to our own pages only");
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).map(whole));
  return node;
}

/** Return a text as nodes; invisible characters are shown by their code. */
export function text(value) {
  const string = String(value ?? "");
  if (PLAIN.test(string)) return string ? [string] : [];
  const parts = [];
  let last = 0;
  for (const found of string.matchAll(INVISIBLE)) {
    if (found.index > last) parts.push(string.slice(last, found.index));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    const shown = document.createElement("span");
    shown.className = "control";
    shown.textContent = `U+${code}`;
    parts.push(shown);
    last = found.index + found[0].length;
  }
  if (last < string.length) parts.push(string.slice(last));
  return parts;
}

/** Return a text with highlighted spans `{start, end, kind, title}`, in characters as Python counts them.
 * Overlapping spans have all their kinds. */
export function marked(value, spans) {
  const string = String(value ?? "");
  // Python counts an emoji as one character, JavaScript as two.
  const letters = /[\ud800-\udfff]/.test(string) ? Array.from(string) : string;
  const slice = (start, end) => (letters === string ? string.slice(start, end) : letters.slice(start, end).join(""));
  const inside = (spans ?? []).filter((span) => span.start < span.end && span.start < letters.length);
  const cuts = new Set([0, letters.length]);
  for (const span of inside) cuts.add(Math.max(0, span.start)).add(Math.min(letters.length, span.end));
  const places = [...cuts].sort((a, b) => a - b);
  const parts = [];
  for (let i = 0; i + 1 < places.length; i += 1) {
    const [start, end] = [places[i], places[i + 1]];
    const over = inside.filter((span) => span.start <= start && span.end >= end);
    const content = text(slice(start, end));
    if (over.length === 0) parts.push(...content);
    else {
      const kinds = [...new Set(over.map((span) => span.kind))];
      const title = [...new Set(over.map((span) => span.title ?? span.kind))].join(", ");
      parts.push(el("mark", { class: kinds.join(" "), title }, ...content));
    }
  }
  return parts;
}

/** Replace the children of an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map(whole));
  return node;
}

/** Convert a child to a node; strings always pass through `text`. */
function whole(child) {
  if (child instanceof Node) return child;
  const parts = text(child);
  if (parts.length === 1 && typeof parts[0] === "string") return document.createTextNode(parts[0]);
  const joined = document.createDocumentFragment();
  joined.append(...parts);
  return joined;
}
