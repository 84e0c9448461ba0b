/* The leaderboard: language, theme and sorting. The page contains everything else. */

import { keepLanguage, keepTheme, makeSortable, openForPrint } from "./paper.js";

keepTheme(document.querySelectorAll("button.theme"));
makeSortable(document.querySelectorAll("table.sortable"));
openForPrint();
keepLanguage(document.querySelectorAll("button.language"), document.documentElement.dataset.opens);
document.documentElement.dataset.ready = "true";
