// Right-aligns the columns of numbers in tables; shows where a wide table or figure goes on, and lets the keyboard
// scroll it; makes cards of the rows of a table of sentences that is wider than a phone; puts the panels of a figure one
// below the other there; and fits all to paper before a page is printed. Without it all still reads, only left-aligned
// and, on a phone, small.
(function () {
  "use strict";
  // 12, −0.704, 79.59 ± 0.52, 12 %, 1e-4, [0.1, 0.9], 72.3 (55.7 to 84.4), 3× … and what may stand for a missing number
  var number = /^([\s\d.,eE+\-−–±%×()[\]*†]|to)*\d([\s\d.,eE+\-−–±%×()[\]*†]|to)*$/;
  var nothing = /^(|—|–|-|−|nan|NaN|None|<NA>|as new (images|classes))$/;

  function alignNumbers(table) {
    var bodyRows = Array.prototype.concat.apply([], Array.prototype.map.call(table.tBodies, function (body) {
      return Array.from(body.rows);
    }));
    var verdict = {}; // columns counted from the right: row labels that span rows stand on the left
    bodyRows.forEach(function (row) {
      Array.from(row.cells).reverse().forEach(function (cell, i) {
        var text = cell.textContent.trim();
        if (text.length > (cell.tagName === "TD" ? 24 : 32)) cell.classList.add("wordy");
        if (cell.tagName !== "TD") return;
        if (nothing.test(text)) return;
        verdict[i] = number.test(text) && verdict[i] !== false;
      });
    });
    function mark(row) {
      Array.from(row.cells).reverse().forEach(function (cell, i) {
        if (!verdict[i] || (cell.tagName !== "TD" && row.parentNode.tagName !== "THEAD")) return;
        cell.classList.add("num");
        if (cell.textContent.length > 16) cell.classList.add("long"); // with both ends of an interval
      });
    }
    bodyRows.forEach(mark);
    if (table.tHead) {
      Array.from(table.tHead.rows).forEach(function (row) {
        if (Array.from(row.cells).every(function (cell) { return cell.colSpan === 1; })) mark(row);
      });
    }
  }

  // Of three columns or more, of which two at least hold sentences. What the cells are is said, as cards are no table to a
  // screen reader.
  function nameCells(table) {
    var head = table.tHead && table.tHead.rows.length === 1 ? Array.from(table.tHead.rows[0].cells) : [];
    var rows = Array.prototype.concat.apply([], Array.from(table.tBodies, function (body) { return Array.from(body.rows); }));
    var plain = rows.every(function (row) { return row.cells.length === head.length; });
    var wordy = head.filter(function (cell, i) {
      return plain && rows.some(function (row) { return row.cells[i].textContent.trim().length > 30; });
    });
    if (head.length < 3 || wordy.length < 2) return;
    table.classList.add("sentences");
    table.setAttribute("role", "table");
    [table.tHead].concat(Array.from(table.tBodies)).forEach(function (part) { part.setAttribute("role", "rowgroup"); });
    head.forEach(function (cell) { cell.setAttribute("role", "columnheader"); });
    [table.tHead.rows[0]].concat(rows).forEach(function (row) { row.setAttribute("role", "row"); });
    rows.forEach(function (row) {
      Array.from(row.cells).forEach(function (cell, i) {
        cell.setAttribute("role", "cell");
        if (i || number.test(cell.textContent)) cell.dataset.of = head[i].textContent.trim();
      });
    });
  }

  // A figure's type is drawn for a page of 700 pixels, and can be read on a phone at half of that. A wider one scrolls.
  function keepReadable(image) {
    function look() {
      if (image.naturalWidth > 700) image.style.minWidth = "30rem";
    }
    if (image.complete) look(); else image.addEventListener("load", look);
  }

  var phone = window.matchMedia("(max-width: 576px)");

  // What a box that scrolls is called: by its caption, else by the heading above it.
  function nameOf(box) {
    var kind = box.matches(".chart") ? "Chart" : box.querySelector("table") ? "Table" : box.querySelector("img") ? "Figure" : "Formula";
    var said = box.querySelector("caption, .caption-text");
    if (!said) { var section = box.closest("section"); said = section && section.querySelector("h1, h2, h3, h4"); }
    return numbered(kind + (said ? ": " + said.textContent.trim().replace(/#$/, "").slice(0, 80) : ""));
  }

  // Two boxes of one page have two names: the second is counted.
  var uses = {};
  function numbered(name) {
    uses[name] = (uses[name] || 0) + 1;
    return uses[name] > 1 ? name + " (" + uses[name] + ")" : name;
  }

  function watchWidth(box) {
    if (!box.matches(".chart") && !box.querySelector("table, img, mjx-container")) return;
    var sentences = box.querySelector("table.sentences"), formula = box.querySelector("mjx-container"), name = nameOf(box);
    var caption = box.querySelector("caption, figcaption");
    function look() {
      if (sentences && phone.matches && box.scrollWidth > box.clientWidth + 1) sentences.classList.add("cards");
      // What MathJax writes for screen readers counts for scrollWidth, and is not seen.
      var wide = box.classList.contains("math") ? formula.offsetWidth : box.scrollWidth;
      var scrolls = wide > box.clientWidth + (formula ? 1 : 0); // where the theme, too, lets the keyboard scroll
      if (!box.classList.contains("math")) box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < wide - 1);
      if (caption) box.style.setProperty("--caption", caption.offsetHeight + "px");
      if (scrolls) { box.tabIndex = 0; box.setAttribute("role", "region"); box.setAttribute("aria-label", name); }
      else { box.removeAttribute("tabindex"); box.removeAttribute("role"); box.removeAttribute("aria-label"); }
    }
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box); // also when a folded table is opened
  }

  // A displayed formula scrolls in the box that MathJax makes, which the keyboard reaches.
  function watchFormula(box) {
    var formula = box.querySelector("mjx-math");
    function look() { box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < formula.offsetWidth - 1); }
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
  }

  // On a phone the panels that stand side by side in a figure stand below each other: each is the same picture in a frame
  // that shows this panel alone. data-panels has where each begins and ends, as shares of the width (book/panels.py).
  function stackPanels(image) {
    var box = image.parentElement, stack = null;
    function look() {
      var places = image.dataset.panels.split(" ");
      if (places.length < 2) return; // shown whole
      if (phone.matches && !stack && image.naturalWidth) {
        stack = document.createElement("div");
        stack.className = "panels";
        places.forEach(function (ends, i) {
          var from = +ends.split("-")[0], share = +ends.split("-")[1] - from, frame = document.createElement("div");
          var copy = image.cloneNode();
          if (i) copy.alt = "The same figure, panel " + (i + 1);
          copy.style.cssText = "width: " + 100 / share + "%; margin-left: " + -100 * from / share + "%";
          frame.appendChild(copy);
          stack.appendChild(frame);
        });
        box.insertBefore(stack, image);
      }
      if (stack) stack.hidden = !phone.matches;
      image.hidden = !!stack && phone.matches;
    }
    if (image.complete) look(); else image.addEventListener("load", look);
    phone.addEventListener("change", look);
  }

  // Before printing: all that folds is open, and a table or a formula that is too wide for the paper shrinks. Where that
  // is too much, a table stands on a landscape page. Pixels of the text on A4 with the margins of custom.css (658, 986), and
  // a little less, since type that shrinks is rounded.
  var paper = 650, landscape = 965, shut = [], fitted = [];

  function fitToPaper() {
    unfit();
    var articles = document.querySelectorAll(".bd-article");
    document.documentElement.classList.add("printing");
    document.querySelectorAll(".bd-article details:not([open])").forEach(function (one) { one.open = true; shut.push(one); });
    articles.forEach(function (article) { article.style.width = paper + "px"; });
    document.querySelectorAll(".bd-article :is(table, mjx-container[display], svg)").forEach(function (one) {
      if (one.parentElement.closest("table, mjx-container, svg")) return;
      var box = one.parentElement, share = box.clientWidth / box.scrollWidth;
      if (!(share < 1)) return;
      var outer = share < 0.6 && one.tagName === "TABLE" && !one.closest("li, .admonition, td, details")
        && (box.closest(".cell_output, figure, .table-box, .pst-scrollable-table-container") || box);
      if (outer) { outer.classList.add("landscape"); share = Math.min(1, share * landscape / paper); }
      one.style.zoom = share;
      fitted.push([one, outer]);
    });
    articles.forEach(function (article) { article.style.width = ""; });
  }

  function unfit() {
    shut.splice(0).forEach(function (one) { one.open = false; });
    fitted.splice(0).forEach(function (pair) {
      pair[0].style.zoom = "";
      if (pair[1]) pair[1].classList.remove("landscape");
    });
    document.documentElement.classList.remove("printing");
  }

  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll(".bd-article table").forEach(function (table) {
      if (table.closest(".cell_output")) alignNumbers(table); else nameCells(table);
      if (!table.closest(".pst-scrollable-table-container, .text_html")) {
        var box = document.createElement("div");
        box.className = "table-box";
        table.replaceWith(box);
        box.appendChild(table);
      }
    });
    document.querySelectorAll(".bd-article img[data-panels]").forEach(stackPanels);
    document.querySelectorAll(".bd-article .cell_output img:not([data-panels])").forEach(keepReadable);
    // The theme lets the keyboard scroll wide code that is in sight at first; what a reader opens is looked at then.
    var opened = new ResizeObserver(function (entries) {
      entries.forEach(function (entry) {
        if (entry.target.scrollWidth > entry.target.clientWidth) entry.target.tabIndex = 0;
      });
    });
    document.querySelectorAll(".bd-article pre").forEach(function (code) { opened.observe(code); });
    window.addEventListener("beforeprint", fitToPaper); // after the theme, which opens solutions
    window.addEventListener("afterprint", unfit);
    document.querySelectorAll(".pst-scrollable-table-container, .text_html, .table-box, .cell_output figure, .cell_output .image_svg, .chart")
      .forEach(watchWidth);
    if (window.MathJax && MathJax.startup) MathJax.startup.promise.then(function () {
      document.querySelectorAll(".bd-article .math").forEach(watchWidth);
      document.querySelectorAll(".bd-article div.math mjx-container").forEach(watchFormula);
    });
  });
})();
