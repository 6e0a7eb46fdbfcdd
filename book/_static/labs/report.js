// The lab "Drop your file, get the report": one CSV of per-task accuracies to tables, in the page and nowhere else.
// What it reads stands in report_read.js, what it computes in report_stats.js.
(function () {
  "use strict";
  const labs = window.fslLabs,
    report = labs.compute.report;
  const { el, fixed, plusMinus } = labs;
  const INSTALL = "pip install '.[report]'  # once, in a copy of the repository";
  const SAMPLING =
    "The file does not say how the tasks were drawn. If no two tasks share an image (open tasks), intervals and " +
    "conclusions apply to new images of these classes. If images are used again (closed tasks, what most samplers " +
    "draw), they apply to these images only, and say nothing about new ones.";

  const pValue = (p) => (p < 1e-4 ? "< 0.0001" : fixed(p, 4));

  /** Mean ± half-width, or the ends where they are not equally far, as Python formats an interval. */
  function around({ mean, half, low, high, few }) {
    const off = Math.max(Math.abs(mean - half - low), Math.abs(mean + half - high));
    if (!(off > half / 10)) return plusMinus(mean, half) + (few ? " (few errors)" : "");
    return `${fixed(mean, 2)} (${fixed(low, 2)} to ${fixed(high, 2)}${few ? ", few errors" : ""})`;
  }

  const letter = (i, of) => (of.length <= 26 ? String.fromCharCode(97 + i) : `g${i}`);

  /** What one may conclude of a pair. Whether two intervals overlap decides nothing; the paired test does. */
  function conclusion({ a, b, p, holm, bh, overlap }) {
    if (holm) return `${a} is more accurate than ${b}${overlap ? ", although their intervals overlap" : ""}`;
    if (bh) return `${a} is more accurate than ${b} by Benjamini and Hochberg's correction, not by Holm's`;
    const corrected = p < 1 - report.LEVEL ? " after correction" : "";
    const apart = overlap ? "" : ", although their intervals do not overlap";
    return `${a} and ${b}: no significant difference${corrected}${apart}`;
  }

  /** A sentence and the command that reads these files, for a shell. */
  const command = (why, names, options = []) => [
    el("p", {}, why),
    el("pre", {}, el("code", {}, `${INSTALL}\n${["fslcore report", report.quoted(names), ...options].join(" ")}`)),
  ];

  /** The report as elements. */
  function shown({ name, unit, tasks }, { methods, pairs, groups }, reference) {
    const one = reference !== undefined;
    const at = (method) => groups.map((_, i) => i).filter((i) => groups[i].includes(method));
    const mark = ({ holm, bh }, up) => (holm ? "▼▲"[+up] : bh ? "▽△"[+up] : "○");
    const against = ({ name: other }) => {
      const pair = pairs.find(({ a, b }) => other !== reference && [a, b].includes(other));
      return pair ? mark(pair, pair.a === other) : "—";
    };
    const letters = (method) =>
      at(method)
        .map((i) => letter(i, groups))
        .join(" ") || "—";
    const read = unit === "shares" ? "shares, as none is above 1, and shown in percent" : "percentages";
    const parts = [
      el("p", {}, `${name}: ${labs.number(tasks)} tasks, ${methods.length} methods; values are read as ${read}.`),
      el("p", {}, SAMPLING),
      el("h3", {}, "Each method by itself"),
      el(
        "p",
        {},
        "Mean accuracy and 95 % confidence interval in percent, the best first. Overlapping intervals carry no " +
          "conclusion.",
      ),
      labs.table(
        "Each method by itself",
        ["method", "if tasks share images: on these images", "if they share none: on new images", one ? `against ${reference}` : "group"],
        methods.map((of, i) => [of.name, around(of.closed), around(of.open), one ? against(of) : letters(i)]),
      ),
    ];
    if (pairs.length) {
      parts.push(
        el(
          "p",
          {},
          one
            ? `▲ ▼: significantly more or less accurate than ${reference} after Holm's correction, △ ▽: by Benjamini ` +
                "and Hochberg's only, ○: not significantly different."
            : groups.length
            ? "Methods that share a letter, their group, are not significantly different (below, after Holm's " +
                "correction)."
            : "The pairs without a significant difference form too many groups for letters.",
        ),
        ...(one ? [] : [el("ul", {}, groups.map((of, i) => el("li", {}, `${letter(i, groups)}: ${of.map((m) => methods[m].name).join(", ")}`)))]),
        el("h3", {}, one ? `${reference} against the others` : "Every pair, on the same tasks"),
        el(
          "p",
          {},
          `Paired t-tests. Holm's correction for ${pairs.length} comparisons bounds the chance of even one false ` +
            "conclusion by 5 %, Benjamini and Hochberg's (BH) the expected share of false ones among the " +
            "conclusions. The ± are not corrected." +
            (one ? " Those under all at once hold together (Dunnett)." : ""),
        ),
        labs.table(
          "Every pair, on the same tasks",
          ["conclusion", "difference (points)", "p", "p, Holm", "p, BH", ...(one ? ["all at once", "p, Dunnett"] : [])],
          pairs.map((pair) => [
            conclusion(pair),
            plusMinus(pair.difference, pair.half_width),
            ...[pair.p, pair.p_holm, pair.p_bh].map(pValue),
            ...(one ? [`± ${fixed(pair.half_width_all, 2)}`, pValue(pair.p_all)] : []),
          ]),
        ),
      );
    }
    const why = [
      "The command writes the whole report, with figures and the number of tasks that would settle what is open. ",
      "If you know how the tasks were drawn, add ",
      el("code", {}, "--sampling open"),
      " or ",
      el("code", {}, "--sampling closed"),
      ".",
    ];
    const options = one ? ["--reference", report.quoted([reference])] : [];
    return [...parts, el("h3", {}, "The whole report"), ...command(why, [name], options)];
  }

  labs.register("report", (root) => {
    const says = labs.sentence(),
      out = el("div", { class: "fsl-report" });

    function refuse(names, problems, options) {
      const several = problems.length > 1;
      says.node.classList.add("fsl-wrong");
      says.say(
        several
          ? `${problems.length} problems: ${problems.map((of, i) => `(${i + 1}) ${of}`).join("; ")}`
          : problems[0],
      );
      out.replaceChildren(
        ...command("The command reads more than this page, and asks about the rest:", names, options),
      );
    }

    function take(file) {
      const found = report.read(file);
      if (found.problems.length) return refuse([file.name], found.problems, found.options);
      const names = found.methods.map((of) => of.name),
        body = el("div"),
        options = { every: "every two methods" };
      names.forEach((method, i) => (options[`m${i}`] = `${method} with each other method`));
      const choice = labs.select("Compare", { options, change: () => conclude() });
      const conclude = () => {
        const reference = names[choice.value().slice(1)],
          made = report.conclude(found, reference),
          told = made.pairs.filter((pair) => pair.holm),
          [count, above] = [made.pairs.length, told.filter((pair) => pair.a === reference).length];
        const said =
          reference === undefined
            ? `${told.length} of ${count} pairs of methods differ significantly`
            : `${reference} is significantly more accurate than ${above} and less than ${told.length - above} of ${count} others`;
        const how = "(paired t-tests, Holm's correction, 5 % level).";
        says.say(count ? `${said} ${how}` : "One method: there is nothing to compare it with.");
        body.replaceChildren(...shown(found, made, reference));
      };
      says.node.classList.remove("fsl-wrong");
      conclude();
      out.replaceChildren(...(names.length > 1 ? [choice.node] : []), body);
    }

    const text = (name, content) => take({ name, bytes: new TextEncoder().encode(content) });
    async function open(files) {
      const names = [...files].map((file) => file.name);
      if (names.length > 1) refuse(names, [`${names.length} files were given; this page reads one`], []);
      else if (names.length) take({ name: names[0], bytes: new Uint8Array(await files[0].arrayBuffer()) });
    }

    const zone = labs.dropZone("Drop a file here, or choose it (.csv, .tsv, .txt)", open);
    const area = el("textarea", { rows: 5, spellcheck: "false", autocomplete: "off", id: labs.unique("paste") });
    const label = el("label", { for: area.id }, "A line of names, then a line per task; it is called pasted.csv below");
    const paste = el(
      "details",
      {},
      el("summary", {}, "Paste a table instead"),
      el("div", { class: "fsl-control" }, label, area),
      labs.button("Read it", () => text("pasted.csv", area.value)),
    );
    const examples = Object.entries(report.EXAMPLES).map(([name, of]) =>
      labs.button(of.title, () => text(name, of.text)),
    );

    root.append(
      el("p", { class: "fsl-title" }, "Drop your file, get the report"),
      el(
        "p",
        {},
        "A CSV with a row per task: a column ",
        el("code", {}, "task"),
        ", then the accuracies of each method in a column. Or with " + "a row per task and method: columns ",
        el("code", {}, "method"),
        ", ",
        el("code", {}, "task"),
        " and ",
        el("code", {}, "accuracy"),
        ". ",
        el("strong", {}, "Nothing leaves this page"),
        ": your browser reads the file here.",
      ),
      zone,
      paste,
      el("div", { class: "fsl-buttons" }, el("span", {}, "Or try one of the book's own results: "), examples),
      says.node,
      out,
    );
  });
})();
