// How the search ranks pages (Sphinx option html_search_scorer). Sphinx scores a page by the best single word of a query, so
// most pages are equal. Here prose stands above the reference, and a page stands higher if it is about the whole query:
// if a heading of it has the query, or if the list below names it.
var Scorer = (function () {
  "use strict";
  // What readers type, page by page: also words that the page itself does not use for its subject.
  var about = {
    "primer": "p-value, p value, confidence interval, error bars, standard error, standard deviation, half-width, power, " +
      "holm, bonferroni, multiple comparisons, false discovery rate, jackknife, glossary, symbols",
    "guide": "how many tasks, how many queries, how many images, how many classes, how many seeds, checklist, reporting, " +
      "error bars, new classes, new images",
    "closed-vs-open": "confidence interval, confidence intervals, error bars, closed interval, open interval, sampling with replacement",
    "three-intervals": "new classes, new images, unseen classes, generalisation, confidence interval, confidence intervals, error bars",
    "comparing-methods": "p-value, p value, significance, paired test, t-test, holm, bonferroni, multiple comparisons, " +
      "is a better than b, equivalence",
    "benchmark": "holm, multiple comparisons, false discovery rate, benjamini",
    "sizing-tasks": "how many tasks, how many queries, how many tasks and queries, optimal number of queries, pilot",
    "planning": "how many tasks, how many images, how many classes, sample size, power, new classes",
    "training-runs": "seeds, random seed, retraining, how many seeds",
    "near-copies": "duplicates, near-duplicates, leakage",
    "your-results": "csv, own results, upload",
    "your-support-set": "own images, model selection for one task",
    "spurious-bias": "spurious correlation, shortcut learning, bias"
  };
  // Pages to look things up in, and pages for a purpose of their own, which answer if a heading has the query.
  var below = [/^(api|genindex|py-modindex)/, new RegExp("^(ledger|exercises|course|bibliography|running|install|" +
    "report-results|results-format|record-loop|other-tools|run-chapter|my-images|few-images|own|networks|train|captions|" +
    "papers-data|fetch|paper-tables|many-cores|cluster|commands|commands-book)$")];
  var typed = new URLSearchParams(window.location.search).get("q") || "";
  var query = typed.toLowerCase().trim().replace(/\s+/g, " ");

  function inHeading(page) {
    var index = Search._index, at = index.docnames.indexOf(page);
    return Object.keys(index.alltitles).some(function (title) {
      return title.toLowerCase().includes(query) && index.alltitles[title].some(function (found) { return found[0] === at; });
    });
  }

  return {
    objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
    title: 15, partialTitle: 7, term: 5, partialTerm: 2,
    score: function (result) {
      var page = result[0], anchor = result[2], score = result[4];
      if (below[0].test(page)) return score / 100;
      if (below[1].test(page)) return query && inHeading(page) ? score : score / 10;
      if (anchor || !query) return score;
      if ((about[page] || "").split(", ").indexOf(query) >= 0) score += 40;
      return inHeading(page) ? score + 20 : score;
    }
  };
})();
