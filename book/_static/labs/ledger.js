// The ledger: shows the items of one status, and sorts a table by a column. Without it the tables are whole, in the order of
// the papers. A link to ledger.html?status=differs shows this status at first.
(function () {
  "use strict";
  var SORTED = ["Item", "Status", "Where", "How"];

  function rowsOf(table) { return Array.from(table.tBodies[0].rows); }
  function statusOf(row) { return row.querySelector(".status").textContent; }

  function button(words, act) {
    var made = document.createElement("button");
    made.type = "button";
    made.textContent = words;
    made.addEventListener("click", act);
    return made;
  }

  document.addEventListener("DOMContentLoaded", function () {
    var place = document.querySelector(".ledger-filter"), tables = Array.from(document.querySelectorAll(".ledger table"));
    if (!place || !tables.length) return;
    var all = tables.reduce(function (rows, table) { return rows.concat(rowsOf(table)); }, []);
    // In the order of the table of counts, which defines each status.
    var statuses = Array.from(document.querySelectorAll(".counts .status"), function (mark) { return mark.textContent; });
    var buttons = {}, shown = document.createElement("span");
    all.forEach(function (row, i) { row.dataset.place = i; });

    function show(status) {
      var count = 0;
      all.forEach(function (row) {
        row.hidden = status !== "all" && statusOf(row) !== status;
        if (!row.hidden) count += 1;
      });
      tables.forEach(function (table) {
        table.closest("section").hidden = rowsOf(table).every(function (row) { return row.hidden; });
      });
      Object.keys(buttons).forEach(function (name) { buttons[name].setAttribute("aria-pressed", String(name === status)); });
      shown.textContent = count + " of " + all.length + " items shown";
    }

    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "Items by status");
    place.append("Show ");
    ["all"].concat(statuses).forEach(function (status) {
      var count = all.filter(function (row) { return status === "all" || statusOf(row) === status; }).length;
      buttons[status] = button(status + " (" + count + ")", function () { show(status); });
      place.append(buttons[status], " ");
    });
    shown.setAttribute("role", "status");
    place.append(shown);
    place.hidden = false;
    var asked = new URLSearchParams(window.location.search).get("status");
    show(buttons[asked] ? asked : "all");

    tables.forEach(function (table) {
      var heads = Array.from(table.tHead.rows[0].cells);
      heads.forEach(function (head, column) {
        var name = head.textContent.trim();
        if (SORTED.indexOf(name) < 0) return;
        function key(row) {
          if (name === "Item") return +row.dataset.place;
          return name === "Status" ? statuses.indexOf(statusOf(row)) : row.cells[column].textContent;
        }
        head.replaceChildren(button(name, function () {
          var down = head.getAttribute("aria-sort") === "ascending";
          heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          rowsOf(table).sort(function (a, b) {
            var x = key(a), y = key(b), order = typeof x === "number" ? x - y : x.localeCompare(y);
            return (down ? -order : order) || a.dataset.place - b.dataset.place;
          }).forEach(function (row) { table.tBodies[0].append(row); });
        }));
      });
    });
  });
})();
