/* What pages that are files have in common: light or dark, tables that can be sorted, details that print. */

import { el, fill } from "./dom.js";
import { speak, spoken } from "./words.js";

/** Buttons that change the language of what was written in both; `then` draws what was not. */
export function keepLanguage(buttons, first, then = () => {}) {
  const talk = (language) => {
    speak(language);
    for (const main of document.querySelectorAll("main")) main.hidden = main.dataset.lang !== spoken();
    then();
  };
  for (const button of buttons) button.addEventListener("click", () => talk(spoken() === "en" ? "zh" : "en"));
  talk(first);
}

/** Buttons that go through light, dark and what the system has; remembered where the browser lets a file remember. */
export function keepTheme(buttons) {
  const themes = ["", "light", "dark"];
  const show = (theme) => {
    if (theme === "") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  const remembered = (theme) => {
    try {
      if (theme !== undefined) localStorage.setItem("ragbed-theme", theme);
      return localStorage.getItem("ragbed-theme") ?? "";
    } catch {
      return theme ?? "";
    }
  };
  const first = remembered();
  show(themes.includes(first) ? first : "");
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const now = document.documentElement.dataset.theme ?? "";
      const next = themes[(themes.indexOf(now) + 1) % themes.length];
      show(next);
      remembered(next);
    });
  }
}

/** Headings become buttons; numbers sort by what they are, highest first, texts by the alphabet. */
export function makeSortable(tables) {
  for (const table of tables) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = el("button", { type: "button", class: "sort", onclick: () => sort(table, head, column) }, head.textContent);
      fill(head, button);
    });
  }
}

function sort(table, head, column) {
  const rows = [...table.tBodies[0].rows];
  const value = (row) => row.cells[column].querySelector("[data-value]")?.dataset.value ?? null;
  const isNumber = head.classList.contains("number");
  const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : isNumber;
  const numberOf = (row) => Number(value(row) ?? (parseFloat(row.cells[column].textContent.replaceAll(",", "")) || -Infinity));
  rows.sort((a, b) => (isNumber ? numberOf(a) - numberOf(b) : a.cells[column].textContent.localeCompare(b.cells[column].textContent)) * (down ? -1 : 1));
  for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  table.tBodies[0].append(...rows);
}

/** Paper cannot be clicked: what is folded is opened before it is printed, and folded again. */
export function openForPrint() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main:not([hidden]) details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
}
