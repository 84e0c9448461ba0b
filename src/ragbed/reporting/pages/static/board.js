/* The board: language, light or dark, sorting. Everything else is written into the page. */

import { keepLanguage, keepTheme, makeSortable, openForPrint } from "./paper.js";

keepTheme(document.querySelectorAll("button.theme"));
makeSortable(document.querySelectorAll("table.sortable"));
openForPrint();
keepLanguage(document.querySelectorAll("button.language"), document.documentElement.dataset.opens);
document.documentElement.dataset.ready = "true";
