// How the search ranks pages (Sphinx option html_search_scorer). Sphinx scores a page by the best single word of a query, so
// most pages are equal. Here prose stands above the reference, and a page stands higher if it is about the whole query:
// if a phrase of search.yml has its words, or a heading of the page has it. "Figure 5" and "Table S3" are rows of the ledger.
var Scorer = (function () {
  "use strict";
  var about = {}; // of search.yml, which pages.py writes here
  // Pages to look things up in, and pages for a purpose of their own, which answer if a heading or a phrase has the query.
  var reference = /^(api|genindex|py-modindex)/;
  var apart = /^(ledger|ledger-code|commands|commands-book|exercises|course|bibliography|running|site-build)$/;
  var howTo = new RegExp("^(guide|install|report-results|results-format|record-loop|other-tools|run-chapter|jupyter|my-images|" +
    "few-images|own|networks|train|captions|papers-data|fetch|paper-tables|many-cores|cluster)$");
  var item = /\b(figure|fig|table)\.?\s+s?\d+\b/i;
  var empty = /^(a|an|and|are|can|do|does|for|from|how|i|in|is|it|many|my|of|on|or|the|to|use|was|were|what|which|with|your)$/;

  function tidy(text) { return text.toLowerCase().trim().replace(/\s+/g, " "); }

  // The words that say something; all of them, if none does.
  function wordsOf(text) {
    var words = tidy(text).split(/[^\p{L}\p{N}±-]+/u).filter(Boolean).map(function (word) { return word.replace(/(.{3})s$/, "$1"); });
    var telling = words.filter(function (word) { return !empty.test(word) && !/^\d+$/.test(word); });
    return telling.length ? telling : words;
  }

  // The share of their words that two texts have in common; with "how many" and the like, if they are the same.
  function likeness(query, text) {
    if (tidy(query) === tidy(text)) return 1;
    var one = new Set(wordsOf(query)), two = new Set(wordsOf(text));
    var common = Array.from(one).filter(function (word) { return two.has(word); }).length;
    return 0.95 * common / (one.size + two.size - common);
  }

  function inHeading(page, query) {
    var index = Search._index, at = index.docnames.indexOf(page);
    return Object.keys(index.alltitles).some(function (title) {
      return title.toLowerCase().includes(query) && index.alltitles[title].some(function (found) { return found[0] === at; });
    });
  }

  return {
    objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
    title: 15, partialTitle: 7, term: 5, partialTerm: 2,
    query: new URLSearchParams(window.location.search).get("q") || "",
    score: function (result) {
      var page = result[0], anchor = result[2], score = result[4], query = tidy(this.query);
      if (!query) return score;
      var best = anchor ? 0 : Math.max(0, ...(about[page] || []).map(likeness.bind(null, query)));
      if (best >= 0.6) score += 40 * best;
      if (page === "ledger" && !anchor && item.test(query)) score += 60;
      if (howTo.test(page) && !anchor) score += 3;
      if (best >= 0.6 || score > 60) return score;
      if (reference.test(page)) return score / 100;
      var headed = inHeading(page, query);
      if (apart.test(page)) return headed ? score : score / 10;
      if (anchor) return score;
      return headed ? score + 20 : score;
    }
  };
})();
