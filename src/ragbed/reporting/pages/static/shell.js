/* What stands around every page that a server of ours shows: its words, language, light or dark, keys and links. */

import { el } from "./dom.js";
import { learn, say, speak, spoken } from "./words.js";

/** Learns the page's own words, and takes language and theme as they were chosen before. */
export function beginShell(words) {
  learn(words);
  speak(localStorage.getItem("language") ?? navigator.language);
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
}

/** The buttons at the end of the bar; `redraw` is called when another language was chosen. */
export function drawTools(help, redraw) {
  const other = spoken() === "zh" ? "en" : "zh";
  const chooseLanguage = () => {
    localStorage.setItem("language", other);
    speak(other);
    redraw();
  };
  return el("div", { class: "tools" },
    el("button", { onclick: chooseLanguage, lang: other === "en" ? "en" : "zh-Hans" }, other === "en" ? "English" : "中文"),
    el("button", { onclick: chooseTheme, title: say("Light or dark"), "aria-label": say("Light or dark") }, "◐"),
    el("button", { onclick: () => showKeys(help), title: "?" }, say("Keys")));
}

function chooseTheme() {
  const root = document.documentElement;
  const isDark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

/** The list of keys: `[["j  ↓", "next"], …]`, two spaces between keys that do the same. */
export function showKeys(help) {
  showDialog(say("Keys"), (close) => [
    el("dl", { class: "facts" }, help.flatMap(([keys, word]) => [
      el("dt", {}, keys.split("  ").flatMap((key) => [el("kbd", {}, key), " "])), el("dd", {}, say(word))])),
    el("p", {}, el("button", { autofocus: true, onclick: close }, say("Close"))),
  ]);
}

/** A dialog; `fillIn` gets the function that closes it, and gives what stands in it. */
export function showDialog(title, fillIn) {
  const dialog = el("dialog", { onclose: () => dialog.remove(), "aria-label": title });
  dialog.append(el("h2", {}, title), ...fillIn(() => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}

/** Whether a key is meant for the page: nothing is being typed, no dialog is open, no modifier is held. */
export function isForPage(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return false;
  if (!event.target.closest?.("input, textarea, select")) return true;
  if (event.key === "Escape") event.target.blur();
  return false;
}

/** Goes to our own links without loading the page again. */
export function followLinks(go) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(link.getAttribute("href") === "/" ? "" : link.getAttribute("href"));
  });
}

/** What went wrong, in words. */
export function drawProblem(error) {
  return el("p", { class: "problem", role: "alert" }, error.message);
}
