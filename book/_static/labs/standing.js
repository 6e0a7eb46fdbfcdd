// The lab "Where does your number stand?": a published table with three widths of each mean, and an own mean among them.
// The facts stand in the page, as JSON in #fsl-standing-data, which the chapter writes (fslbook.beyond.leaderboards).
(function () {
  "use strict";
  const labs = window.fslLabs, { el, number } = labs;
  const Z = labs.quantile(0.975), NEAREST = 12;
  const KINDS = { printed: "printed ±", images: "new images", laboratory: "a reproduction" };
  const LOOKS = { laboratory: ["fsl-base", 1.5], images: ["fsl-a", 4], printed: ["fsl-b", 9] };

  /**
   * Half-widths {printed, images, laboratory} of a row {mean, printed}: null where it has no ±, or where the images of the test split
   * are not known. New images add what as many tasks as share none of them leave open (Hoeffding, 1948; `fslcore.stats.compare_printed`).
   */
  function widths({ mean, printed }, { tasks, spread, reproduction }) {
    const images = printed === null || !tasks ? null : Math.hypot(printed, Z * spread * Math.sqrt(mean * (100 - mean) / tasks));
    return { printed, images, laboratory: reproduction };
  }

  /** By each width, how many rows are lower than an own one, not significantly different, and higher; those without the width are left out. */
  function standing(own, rows, board) {
    const mine = widths(own, board), counts = { printed: [0, 0, 0], images: [0, 0, 0], laboratory: [0, 0, 0] };
    for (const row of rows) {
      const theirs = widths(row, board), gap = row.mean - own.mean;
      for (const kind of Object.keys(KINDS)) {
        if (mine[kind] === null || theirs[kind] === null) continue;
        const width = kind === "laboratory" ? mine[kind] : Math.hypot(mine[kind], theirs[kind]); // which is that of a difference
        counts[kind][gap < -width ? 0 : gap > width ? 2 : 1]++;
      }
    }
    return counts;
  }

  /** A mean and its ± from two texts; the latter may be empty. Throws an Error with one line. */
  function checked(mean, half) {
    const [m, h] = [mean, half].map(text => (text === "" ? null : Number(text.replace(",", "."))));
    if (m > 0 && m <= 1) throw new Error(`Your mean is ${mean}: percent is needed, not a share.`);
    if (!(m > 1 && m < 100)) throw new Error("Your mean is a number between 1 and 100, in percent.");
    if (h !== null && !(h > 0 && h < 100)) throw new Error("Your ± is a number over 0, in points, or empty.");
    return { mean: m, printed: h, label: "yours", isOwn: true };
  }

  labs.compute.standing = { widths, standing };

  labs.register("standing", root => {
    const data = JSON.parse(document.getElementById("fsl-standing-data").textContent), names = Object.keys(data.boards);
    const change = labs.calm(update), says = labs.sentence(), counts = el("div", {});
    const board = labs.select("Table", { options: Object.fromEntries(names.map(name => [name, name])), value: names[0], change: chosen });
    const shown = labs.select("Rows", { options: { near: "those next to yours", all: "all" }, change: update });
    const typed = label => labs.field(label, { change, inputmode: "decimal", size: 8 });
    const mean = typed("Your mean, in %"), half = typed("Your ±, in points (may be empty)");
    let rows = [], all = [];
    const facts = () => ({ ...data, ...data.boards[board.value()] });
    const show = labs.picture({
      title: () => `${board.value()}: ${rows.map(row => `${row.label} ${row.mean}`).join(", ")}`,
      ...labs.forestShape(0), height: () => labs.forestShape(rows.length).height, draw,
    });

    function chosen() { // with an example: half a point above the first
      all = facts().rows.map(([method, year, mean, printed]) => ({ mean, printed, label: `${method} (${year})` }));
      mean.set(number(Math.min(all[0].mean + 0.5, 99.9), 2));
      half.set(all[0].printed || "");
      update();
    }

    function update() {
      try {
        const own = checked(mean.value(), half.value()), place = all.filter(row => row.mean > own.mean).length;
        const found = standing(own, all, facts()), width = widths(own, facts()).laboratory;
        const [lower, undecided, higher] = found.laboratory;
        says.say(`${number(own.mean, 2)} would be in place ${place + 1} of ${all.length + 1}. A reproduction differs from its target by up to ${number(width, 1)} points in `
          + `19 of 20 cases. By this width, ${labs.words(lower)} of the other ${all.length} are lower, ${labs.words(higher)} higher, and ${labs.words(undecided)} within that width.`);
        counts.replaceChildren(labs.table("The other methods, by three widths of the difference", ["by", "lower", "undecided", "higher", "no ±"],
          Object.entries(KINDS).map(([kind, name]) => [name, ...found[kind].map(String), String(all.length - found[kind].reduce((a, b) => a + b))])));
        rows = [...all.slice(0, place), own, ...all.slice(place)];
        if (shown.value() === "near") rows = rows.slice(Math.max(Math.min(place - NEAREST / 2, rows.length - NEAREST - 1), 0)).slice(0, NEAREST + 1);
      } catch (error) {
        rows = [];
        says.say(error.message, true);
        counts.replaceChildren();
      }
      show.redraw();
    }

    function draw(chart) {
      if (!rows.length) return;
      const drawn = rows.map(row => {
        const half = widths(row, facts()), mark = { x: row.mean, class: "fsl-base-fill", path: row.isOwn ? labs.diamond : labs.disc };
        const kinds = Object.keys(LOOKS).filter(kind => half[kind] !== null);
        return { label: labs.shortened(row.label, 40), isBold: row.isOwn, mark, bars: kinds.map(kind => [row.mean - half[kind], row.mean + half[kind], ...LOOKS[kind]]) };
      });
      const own = rows.find(row => row.isOwn).mean, width = widths(rows[0], facts()).laboratory;
      labs.forest(chart, drawn, { label: "accuracy, %", ends: drawn.flatMap(row => row.bars[0].slice(0, 2)), band: [own - width, own + width] });
    }

    root.append(
      el("p", { class: "fsl-title" }, "Where does your number stand?"),
      labs.controls("", board, shown, mean, half), says.node, counts, show.node,
      el("p", { class: "fsl-legend" }, "Thick: the printed ±. Medium: for new images of these classes. Thin: what a laboratory that "
        + "knows this number obtains with the same method, in 19 of 20 cases. Points in the band differ from yours by less than that."),
    );
    return chosen;
  });
})();
