// Right-aligns the columns of numbers in tables; shows where a wide table or figure goes on, and lets the keyboard
// scroll it; makes cards of the rows of a table of sentences that is wider than a phone. Without it all still reads, only
// left-aligned and, on a phone, small.
(function () {
  "use strict";
  // 12, −0.704, 79.59 ± 0.52, 12 %, 1e-4, [0.1, 0.9], 3× … and what may stand for a missing number
  var number = /^[\s\d.,eE+\-−–±%×()[\]*†]*\d[\s\d.,eE+\-−–±%×()[\]*†]*$/;
  var nothing = /^(|—|–|-|−|nan|NaN|None|<NA>)$/;

  function alignNumbers(table) {
    var bodyRows = Array.prototype.concat.apply([], Array.prototype.map.call(table.tBodies, function (body) {
      return Array.from(body.rows);
    }));
    var verdict = {}; // columns counted from the right: row labels that span rows stand on the left
    bodyRows.forEach(function (row) {
      Array.from(row.cells).reverse().forEach(function (cell, i) {
        if (cell.tagName !== "TD") return;
        var text = cell.textContent.trim();
        if (nothing.test(text)) return;
        verdict[i] = number.test(text) && verdict[i] !== false;
      });
    });
    function mark(row) {
      Array.from(row.cells).reverse().forEach(function (cell, i) {
        if (verdict[i] && (cell.tagName === "TD" || row.parentNode.tagName === "THEAD")) cell.classList.add("num");
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

  // A figure's type is drawn for a page of 700 pixels: on a phone it keeps two thirds of that and scrolls.
  function keepReadable(image) {
    function look() {
      if (image.naturalWidth > 450) image.style.minWidth = "min(" + Math.round(0.68 * image.naturalWidth) + "px, 30rem)";
    }
    if (image.complete) look(); else image.addEventListener("load", look);
  }

  var phone = window.matchMedia("(max-width: 576px)");

  function watchWidth(box) {
    if (!box.querySelector("table, img")) return;
    var sentences = box.querySelector("table.sentences");
    function look() {
      if (sentences && phone.matches && box.scrollWidth > box.clientWidth + 1) sentences.classList.add("cards");
      box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    }
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box); // also when a folded table is opened
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
    document.querySelectorAll(".bd-article .cell_output img").forEach(keepReadable);
    document.querySelectorAll(".pst-scrollable-table-container, .text_html, .table-box, .cell_output figure, .cell_output .image_svg")
      .forEach(watchWidth);
  });
})();
