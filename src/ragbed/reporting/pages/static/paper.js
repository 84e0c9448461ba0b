/* Shared by pages that are files: theme, sortable tables, and printing. */

import { el, fill } from "./dom.js";
import { speak, spoken } from "./words.js";

/** Read or store a setting, if the browser allows it for files. */
function remembered(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(`ragbed-${name}`, value);
    return localStorage.getItem(`ragbed-${name}`) ?? "";
  } catch {
    return value ?? "";
  }
}

/** Let buttons switch the language; `then` redraws what is not in the page in both languages.
 *
 * The page opens in `first`, or else in the stored language, or else in that of the browser. */
export function keepLanguage(buttons, first, then = () => {}) {
  const talk = (language) => {
    speak(language);
    for (const main of document.querySelectorAll("main")) main.hidden = main.dataset.lang !== spoken();
    document.title = document.querySelector("main:not([hidden]) h1")?.textContent ?? document.title;
    then();
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      talk(spoken() === "en" ? "zh" : "en");
      remembered("language", spoken());
    });
  }
  talk(first || remembered("language") || navigator.language);
}

/** Let buttons cycle through the system theme, light and dark. */
export function keepTheme(buttons) {
  const themes = ["", "light", "dark"];
  const show = (theme) => {
    if (theme === "") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  const first = remembered("theme");
  show(themes.includes(first) ? first : "");
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const now = document.documentElement.dataset.theme ?? "";
      const next = themes[(themes.indexOf(now) + 1) % themes.length];
      show(next);
      remembered("theme", next);
    });
  }
}

/** Make headings sort their column: numbers with the highest first, texts alphabetically. */
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

/** Open folded details while the page is printed. */
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
