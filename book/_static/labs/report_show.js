// Conclusions for reading: fslcore/tools/report/show.py, its record as plain values, and its tables as text, Markdown, LaTeX.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report;
  const { GROUPS, MOST, python } = report;
  const SPACE = "\u00a0";

  const READING = {
    open: "Open tasks share no image, so their intervals and conclusions speak of **new images** of these classes.",
    closed:
      "Closed tasks use images again, so their intervals and conclusions speak of **these very images** only. " +
      "They would come out much the same with other tasks from the same images; how the methods do on new " +
      "images cannot be told from this file.",
    unknown:
      "The file does not say how the tasks were drawn, so it cannot be told what a conclusion speaks of. " +
      "**If no two tasks share an image** (open), it speaks of new images of these classes. **If images are " +
      "used again** (closed, what most samplers do), it speaks of these very images only, and nothing is " +
      "known of new ones. `--sampling open` or `--sampling closed` settles it.",
  };
  const SETTLES = {
    closed: "More closed tasks narrow only the interval for these images; for new images or new classes, more of those are needed.",
    unknown: "If images are used again, more tasks narrow only the interval for these images.",
  };
  const SAYS = {
    open: "new runs on new images of these classes",
    closed: "new runs on these very images",
    unknown: "new runs, on new images of these classes if no two tasks share an image, else on these very images",
  };

  // ---------------------------------------------------------------- numbers as Python formats them

  /** Fixed decimals; of two equally near the even one, where JavaScript takes the larger. */
  function fixed(x, decimals) {
    const text = Object.is(x, -0) ? "-" + (0).toFixed(decimals) : x.toFixed(decimals);
    const tie = Math.abs(x) * 2 ** (decimals + 1);
    if (tie % 2 !== 1 || "02468".includes(text[text.length - 1])) return text;
    const down = (Math.abs(x) - 10 ** -decimals / 2).toFixed(decimals);
    return (x < 0 ? "-" : "") + down;
  }

  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const percent = (x) => `${fixed(100 * x, 0)}%`;
  const pValue = (p) => (p < 1e-4 ? `<${SPACE}0.0001` : fixed(p, 4));
  const plusMinus = (mean, half) => `${fixed(mean, 2)} ± ${fixed(half, 2)}`;
  const count = (n) => (n === null ? `over ${grouped(MOST)}` : grouped(n));

  /** An interval in a cell: mean ± half-width, or its ends where they are not equally far. */
  function around(r) {
    const off = Math.max(Math.abs(r.mean - r.half - r.low), Math.abs(r.mean + r.half - r.high));
    if (!(off > r.half / 10)) return plusMinus(r.mean, r.half) + (r.few ? " (few errors)" : "");
    return `${fixed(r.mean, 2)} (${fixed(r.low, 2)} to ${fixed(r.high, 2)}${r.few ? ", few errors" : ""})`;
  }

  // ---------------------------------------------------------------- sentences

  const samplings = (found) => Object.keys(READING).filter((s) => found.settings.some((of) => of.sampling === s));

  /** What intervals and conclusions speak of; of new runs too where there are any. */
  function reading(found) {
    const said = samplings(found);
    const runs = found.settings.some((of) => of.runs)
      ? [
          `There are several runs of a method. What is said **for new runs** speaks of ` +
            `${said.map((s) => SAYS[s]).join(" or of ")}, ` +
            "so of the recipes. All else speaks of these trained networks, by the mean of a method's runs.",
        ]
      : [];
    return [...said.map((s) => READING[s]), ...runs];
  }

  /** What more tasks of the kinds in the file leave open. */
  const settles = (found) => samplings(found).flatMap((s) => SETTLES[s] ?? []);

  const crowded = (found) =>
    found.settings
      .filter((of) => !of.groups.length)
      .map(
        (of) =>
          `${of.setting}: over ${GROUPS} sets of methods are not told apart, too many for letters; see the pairs.`,
      );

  function fewErrors(found) {
    return found.settings.flatMap((of) => {
      const few = of.methods.filter((_, i) => Object.values(of.single[i]).some((r) => r.few)).map((m) => m.name);
      return few.length
        ? [
            `${of.setting}: so few errors (or right answers) are left to ${few.join(", ")} that the limits ` +
              "are rough.",
          ]
        : [];
    });
  }

  // ---------------------------------------------------------------- groups

  const groupNames = (of) => of.groups.map((_, i) => (of.groups.length <= 26 ? String.fromCharCode(97 + i) : `g${i}`));

  const groupsOf = (of, method) => groupNames(of).filter((_, i) => of.groups[i].includes(method));

  function letters(of, method) {
    const names = groupsOf(of, method);
    if (!names.length || names[0].length === 1) return names.join(" ") || "—";
    const at = names.map((name) => Number(name.slice(1))),
      out = [];
    for (let i = 0; i < at.length; i++) {
      let end = i;
      while (end + 1 < at.length && at[end + 1] === at[end] + 1) end += 1;
      out.push(`g${at[i]}` + (end > i ? `–g${at[end]}` : ""));
      i = end;
    }
    return out.join(" ");
  }

  // ---------------------------------------------------------------- the record

  const SHAPE = ["sampling", "ways", "shots", "queries", "seed"];

  /** The whole report as plain values, as `fslcore report --json` prints it; of ranks what needs no random draws. */
  function record(found) {
    const methods = found.settings.flatMap((of) =>
      of.methods.map(({ name, mean }, i) => {
        const row = { setting: of.setting, method: name, mean };
        for (const kind of ["new_images", "these_images"]) {
          const r = of.single[i][kind];
          Object.assign(row, {
            [kind]: r ? r.half : null,
            [`${kind}_low`]: r ? r.low : null,
            [`${kind}_high`]: r ? r.high : null,
          });
        }
        const few = Object.values(of.single[i]).some((r) => r.few);
        return { ...row, tasks: of.tasks, few_errors: few, groups: groupsOf(of, i) };
      }),
    );
    const settings = found.settings.map((of) => ({
      setting: of.setting,
      ...Object.fromEntries(SHAPE.filter((c) => c in of).map((c) => [c, of[c]])),
      tasks: of.tasks,
      methods: of.methods.length,
    }));
    const pairs = found.pairs.map(({ i, j, ...pair }) => pair);
    return {
      level: found.level,
      unit: "percent",
      notes: [...found.notes, ...crowded(found), ...fewErrors(found)],
      reading: reading(found),
      settings,
      methods,
      ranks: found.ranks,
      pairs,
      ...(found.runs.found.length ? { new_runs: found.runs.found, recipes: found.runs.recipes } : {}),
    };
  }

  // ---------------------------------------------------------------- the tables

  const several = (found) => found.settings.length > 1;

  /** Head and rows, with the setting in front where there are several. */
  const laid = (found, head, rows) =>
    several(found)
      ? { head: ["setting", ...head], rows }
      : { head, rows: rows.map((row) => row.slice(1)) };

  function methodTable(found) {
    const kinds = ["new_images", "these_images"].filter((k) =>
      found.settings.some((of) => of.single.some((r) => r[k])),
    );
    const either = found.settings.some((of) => of.sampling === "unknown");
    const names = either
      ? ["if tasks share no image: on new images", "if they do: on these images"]
      : kinds.map((k) => (k === "new_images" ? "on new images" : "on these images"));
    const runs = found.settings.some((of) => of.runs);
    const rows = found.settings.flatMap((of) =>
      of.methods.map(({ name }, i) => {
        const cells = kinds.map((k) => (of.single[i][k] ? around(of.single[i][k]) : "—"));
        const row = runs ? found.runs.found.find((r) => r.setting === of.setting && r.method === name) : null;
        if (row) cells.push(row.runs > 1 ? plusMinus(row.mean, row.new_runs) : "—");
        return [of.setting, name, ...cells, letters(of, i), String(of.tasks)];
      }),
    );
    return laid(found, ["method", ...names, ...(runs ? ["for new runs"] : []), "group", "tasks"], rows);
  }

  const signed = (x) => (x >= 0 ? "+" : "−") + fixed(Math.abs(x), 2);

  function matrix(found) {
    const order = [...new Set(found.settings.flatMap((of) => of.methods.map((m) => m.name)))];
    const cells = new Map();
    for (const pair of found.pairs) {
      const up = pair.difference > 0;
      for (const [row, column, better, d] of [
        [pair.a, pair.b, up, pair.difference],
        [pair.b, pair.a, false, -pair.difference],
      ]) {
        let mark = pair.holm ? (better ? "▲" : "▼") : pair.bh ? (better ? "△" : "▽") : "○";
        if (pair.equivalent && !pair.bh) mark = "≈";
        cells.set(JSON.stringify([pair.setting, row, column]), `${mark}${SPACE}${signed(d + 0)}`);
      }
    }
    const rows = found.settings.flatMap((of) =>
      of.methods.map(({ name }) => [
        of.setting,
        name,
        ...order.map((m) => cells.get(JSON.stringify([of.setting, name, m])) || "—"),
      ]),
    );
    return laid(found, ["method", ...order], rows);
  }

  const shownDifference = (pair) => plusMinus(pair.difference, pair.half_width).split(" ").join(SPACE);

  function pairTable(found) {
    const rows = found.pairs.map((pair) => [
      pair.setting,
      pair.a,
      pair.b,
      shownDifference(pair),
      pair.verdict,
      pValue(pair.p),
      pValue(pair.p_holm),
      pValue(pair.p_bh),
    ]);
    return laid(found, ["higher mean", "lower mean", "difference (points)", "verdict", "p", "p, Holm", "p, BH"], rows);
  }

  function changedTable(found) {
    const usual = (pair) => (pair.unpaired ? "higher: intervals do not meet" : "nothing: intervals meet");
    const rows = found.pairs
      .filter((pair) => pair.changed)
      .map((pair) => [pair.setting, pair.a, pair.b, shownDifference(pair), usual(pair), pair.verdict]);
    return laid(found, ["higher mean", "lower mean", "difference (points)", "usual reading", "paired"], rows);
  }

  /** What more tasks would tell of pairs that are not told apart, all of them unless given. */
  function neededTable(found, open = found.pairs.filter((pair) => !pair.holm)) {
    const n = found.pairs.length,
      images = new Map();
    for (const of of found.settings) {
      const sized = of.ways !== undefined && of.shots !== undefined && of.queries !== undefined;
      if (sized && of.sampling === "open") images.set(of.setting, of.ways * (of.shots + of.queries));
    }
    const rows = open.map((pair) => {
      const of = report.needed(pair, n, found.level),
        cells = [of.width, of.alone, of.among].map(count);
      if (images.size) {
        const each = images.get(pair.setting);
        cells.push(each === undefined ? "—" : count(of.among === null ? null : of.among * each));
      }
      return [pair.setting, pair.a, pair.b, shownDifference(pair), grouped(pair.tasks), ...cells];
    });
    const head = [
      "higher mean",
      "lower mean",
      "difference (points)",
      "tasks now",
      "for ± below the difference",
      "for 80 % power, alone",
      `for 80 % power, one of ${n}`,
      ...(images.size ? ["images for that"] : []),
    ];
    return laid(found, head, rows);
  }

  function runTable(found) {
    const rows = found.runs.found.map((r) => [
      r.setting,
      r.method,
      r.runs > 1 ? plusMinus(r.mean, r.new_runs) : "—",
      String(r.runs),
      r.runs > 1 ? fixed(r.sd, 2) : "—",
      r.runs > 1 ? `± ${fixed(r.another, 2)}` : "—",
    ]);
    return laid(found, ["method", "for new runs", "runs", "sd of the runs", "one more run"], rows);
  }

  function recipeTable(found) {
    const rows = found.runs.recipes.map((r) => [
      r.setting,
      r.a,
      r.b,
      plusMinus(r.difference, r.half_width),
      r.holm ? "higher (Holm)" : "not told apart",
      pValue(r.p_holm),
      `${percent(r.chance)} (${percent(r.chance_low)} to ${percent(r.chance_high)})`,
      r.runs_needed === null ? "—" : String(r.runs_needed),
    ]);
    return laid(
      found,
      [
        "higher mean",
        "lower mean",
        "difference (points)",
        "for new runs",
        "p, Holm",
        "one run beats one",
        "runs for 80 % power",
      ],
      rows,
    );
  }

  /** The report's tables by name, as `fslcore report --tables` writes them; those without rows are left out. */
  function tables(found) {
    const made = {
      methods: methodTable(found),
      matrix: matrix(found),
      pairs: pairTable(found),
      changed: changedTable(found),
      needed: neededTable(found),
      runs: runTable(found),
      recipes: recipeTable(found),
    };
    return Object.fromEntries(Object.entries(made).filter(([, table]) => table.rows.length));
  }

  // ---------------------------------------------------------------- as files

  /** Columns that a text takes in a terminal: two for letters of East Asia and pictures, none for marks that combine. */
  const columnsOf = (text) =>
    Array.from(text).reduce(
      (n, c) =>
        n +
        (/\p{Mn}|\p{Me}|\u200b|\u200d|\ufe0f/u.test(c)
          ? 0
          : /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u.test(
                c,
              )
            ? 2
            : 1),
      0,
    );

  function markdown({ head, rows }) {
    const bar = (text) =>
      python.oneLine(text.replace(/\|/g, "\\|").split(SPACE).join("\u0001")).split("\u0001").join(SPACE);
    const titles = head.map(bar),
      body = rows.map((row) => row.map(bar));
    const wide = titles.map((title, i) => Math.max(columnsOf(title) + 2, ...body.map((row) => columnsOf(row[i]))));
    const line = (cells) => `| ${cells.map((c, i) => c + " ".repeat(wide[i] - columnsOf(c))).join(" | ")} |`;
    const rule = `|${wide.map((w) => ":" + "-".repeat(w + 1)).join("|")}|`;
    return [line(titles), rule, ...body.map(line)].join("\n") + "\n";
  }

  const ESCAPES = [
    ["&", "\\&"],
    ["%", "\\%"],
    ["$", "\\$"],
    ["#", "\\#"],
    ["_", "\\_"],
    ["{", "\\{"],
    ["}", "\\}"],
    ["~ ", "~\\space "],
    ["~", "\\textasciitilde "],
    ["^ ", "^\\space "],
    ["^", "\\textasciicircum "],
  ];
  const SYMBOLS = [
    ["▲", "$\\blacktriangle$"],
    ["▼", "$\\blacktriangledown$"],
    ["△", "$\\vartriangle$"],
    ["▽", "$\\triangledown$"],
    ["○", "$\\circ$"],
    ["≈", "$\\approx$"],
    ["±", "$\\pm$"],
    ["−", "$-$"],
    ["<", "$<$"],
    ["—", "---"],
    [SPACE, "~"],
  ];

  function latex({ head, rows }) {
    const hold = "\u0000";
    const escape = (text) =>
      ESCAPES.reduce(
        (t, [c, code]) => t.split(c).join(code),
        text
          .split("\\")
          .join(hold)
          .split(hold + " ")
          .join(hold + "\\space "),
      )
        .split(hold)
        .join("\\textbackslash ");
    const line = (cells) => `${cells.map(escape).join(" & ")} \\\\`;
    const lines = [
      `\\begin{tabular}{${"l".repeat(head.length)}}`,
      "\\toprule",
      line(head),
      "\\midrule",
      ...rows.map(line),
      "\\bottomrule",
      "\\end{tabular}",
    ];
    return SYMBOLS.reduce((t, [c, code]) => t.split(c).join(code), lines.join("\n") + "\n");
  }

  Object.assign(report, {
    READING,
    SAYS,
    record,
    tables,
    markdown,
    latex,
    reading,
    settles,
    crowded,
    fewErrors,
    fixed,
    pValue,
    letters,
    grouped,
    shownDifference,
    methodTable,
    matrix,
    pairTable,
    changedTable,
    neededTable,
    runTable,
    recipeTable,
    /** Files {bytes, name} to their whole record, as `fslcore report FILES --json`. */
    ofFiles(files, options = {}) {
      const read = report.drained(report.reader(files, options));
      return report.drained(report.conclude(read, options));
    },
  });
})();
