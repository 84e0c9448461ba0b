/* The frame of every served page: texts, language, theme, keys and links. */

import { el, fill } from "./dom.js";
import { learn, say, speak, spoken } from "./words.js";

/** Add the texts of the page, and restore the language and the theme. */
export function beginShell(words) {
  learn(words);
  speak(localStorage.getItem("language") ?? navigator.language);
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
}

/** Draw the buttons of the top bar; `redraw` is called when the language changes. */
export function drawTools(help, redraw) {
  const other = spoken() === "zh" ? "en" : "zh";
  const chooseLanguage = () => {
    localStorage.setItem("language", other);
    speak(other);
    redraw();
  };
  return el("div", { class: "tools" },
    el("button", { onclick: chooseLanguage, lang: other === "en" ? "en" : "zh-Hans" }, other === "en" ? "English" : "中文"),
    el("button", { onclick: chooseTheme, title: say("Light/dark theme"), "aria-label": say("Light/dark theme") }, "◐"),
    el("button", { onclick: () => showKeys(help), title: "?" }, say("Keys")));
}

function chooseTheme() {
  const root = document.documentElement;
  const isDark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

/** Show the list of keys: `[["j  ↓", "next"], …]`, with two spaces between keys that do the same. */
export function showKeys(help) {
  showDialog(say("Keys"), (close) => [
    el("dl", { class: "facts" }, help.flatMap(([keys, word]) => [
      el("dt", {}, keys.split("  ").flatMap((key) => [el("kbd", {}, key), " "])), el("dd", {}, say(word))])),
    el("p", {}, el("button", { autofocus: true, onclick: close }, say("Close"))),
  ]);
}

/** Open a dialog; `fillIn` gets the function that closes it and returns its content. */
export function showDialog(title, fillIn) {
  const dialog = el("dialog", { onclose: () => dialog.remove(), "aria-label": title });
  dialog.append(el("h2", {}, title), ...fillIn(() => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}

/** Return whether a key is meant for the page, not for a field, a dialog or the browser. */
export function isForPage(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return false;
  if (!event.target.closest?.("input, textarea, select")) return true;
  if (event.key === "Escape") event.target.blur();
  return false;
}

/** Follow our own links without reloading the page. */
export function followLinks(go) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(link.getAttribute("href") === "/" ? "" : link.getAttribute("href"));
  });
}

/** Draw an error message. */
export function drawProblem(error) {
  return el("p", { class: "problem", role: "alert" }, error.message);
}

/** Draw an error of a regular request; `fetch` throws a TypeError if the server does not respond. */
export function drawLost(error) {
  return drawProblem(error instanceof TypeError ? new Error(say("The server is not responding: {0}", error.message)) : error);
}

/** Draw the buttons that turn the pages of a list; `go` gets the offset of the page to show. */
export function drawPager(total, offset, size, go) {
  if (total <= size) return null;
  const step = (word, to, isOff) => el("button", { disabled: isOff, onclick: () => go(to) }, say(word));
  return el("nav", { class: "row pager", "aria-label": say("Pages") },
    step("Previous page", Math.max(0, offset - size), offset === 0),
    el("span", { class: "quiet" }, say("{0} to {1}", (offset + 1).toLocaleString("en"), Math.min(total, offset + size).toLocaleString("en"))),
    step("Next page", offset + size, offset + size >= total));
}

/** Return the function that goes to a URL and draws its page: `draw` returns the content, and `drawn` is called with it shown. */
export function makeGo(page, draw, drawn) {
  let drawing = new AbortController();
  return async (link, { replace = false, keep = false } = {}) => {
    if (link !== location.search) history[replace ? "replaceState" : "pushState"](null, "", link || "/");
    drawing.abort();
    drawing = new AbortController();
    const { signal } = drawing;
    const content = await draw(signal).catch(drawProblem);
    if (signal.aborted) return;
    const focused = document.activeElement;
    fill(page, content);
    if (!keep) window.scrollTo(0, 0);
    document.title = [page.querySelector("h1")?.textContent, "ragbed"].filter(Boolean).join(" – ");
    drawn(keep, focused);
    page.dataset.drawn = String(Number(page.dataset.drawn ?? 0) + 1); // for tests that wait for it
  };
}
