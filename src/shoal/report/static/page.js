/* The page of a report: one chart per figure, from the data that stands in the page. */
"use strict";
(() => {
  const book = JSON.parse(document.getElementById("shoal-data").textContent);
  for (const [key, spec] of Object.entries(book.figures)) {
    new ShoalChart.Chart(document.getElementById(`figure-${key}`), spec);
  }
  document.documentElement.dataset.ready = "true";
})();
