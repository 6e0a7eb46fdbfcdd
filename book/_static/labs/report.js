// The lab "Drop your file, get the report": a file of per-task accuracies to tables, in the page and nowhere else.
// What it computes stands in report_files.js, report_checks.js, report_tables.js, report_stats.js and report_show.js.
(function () {
  "use strict";
  const labs = window.fslLabs,
    report = labs.compute.report;
  const { el } = labs;
  const ROWS = 500; // of a table that somebody reads, as in the command's page
  const SLICE = 40; // milliseconds of work between two looks at the reader
  const STYLE =
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem}.fsl-table{overflow-x:auto}" +
    "table{border-collapse:collapse;font-size:.9rem;margin:.5rem 0}th,td{padding:.2rem .7rem .2rem 0;text-align:left}" +
    "thead th{border-bottom:2px solid}caption{text-align:left;caption-side:top}";

  /** Texts with **bold** and `code` as elements; nothing of it is read as markup. */
  const rich = (text) =>
    text
      .split(/(\*\*[^*]+\*\*|`[^`]+`)/)
      .map((part) =>
        part.startsWith("**")
          ? el("strong", {}, part.slice(2, -2))
          : part.startsWith("`")
            ? el("code", {}, part.slice(1, -1))
            : part,
      );

  /** Text to the clipboard; where the browser allows that only after a selection, by one. */
  async function copied(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (error) {
      const area = el("textarea", { readonly: true, style: "position:fixed;left:-99rem" });
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function saved(name, text, type) {
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  labs.register("report", (root) => {
    const says = labs.sentence(),
      progress = el("progress", { max: 1, hidden: true, "aria-label": "Comparing" });
    const out = el("div", { class: "fsl-report" });
    let file = null,
      turn = 0,
      found = null;

    // ---------------------------------------------------------------- what the reader sets

    const again = labs.calm(() => file && run(), 300);
    const sampling = labs.select("How tasks were drawn, if the file does not say", {
      options: {
        unknown: "I do not know",
        open: "open: no two tasks share an image",
        closed: "closed: images are used again",
      },
      value: "unknown",
      change: again,
    });
    const level = labs.field("Level of the intervals and tests", {
      value: "0.95",
      inputmode: "decimal",
      change: again,
    });
    const margin = labs.field("Largest difference that does not matter, in points (may be empty)", {
      inputmode: "decimal",
      change: again,
    });
    const drop = labs.field("Columns, methods and tasks to leave out, parted by semicolons (may be empty)", {
      change: again,
    });
    const common = labs.select("Where methods lack some tasks", {
      options: { no: "stop and say so", yes: "use the tasks that all share" },
      value: "no",
      change: again,
    });

    const runs = labs.select("Several files are", {
      options: {
        no: "methods or data sets",
        yes: "runs by number: ours-0.csv",
      },
      value: "no",
      change: again,
    });

    function options() {
      const numberOf = (field, name, said, fits) => {
        const value = report.python.number(field.value());
        if (value === null || !fits(value))
          throw new report.InputError(`${name} = ${field.value() || "''"}; ${said} is allowed`);
        return value;
      };
      return {
        sampling: sampling.value(),
        common: common.value() === "yes",
        runs: runs.value() === "yes" && file.files.length > 1,
        drop: drop
          .value()
          .split(";")
          .map((name) => name.trim())
          .filter(Boolean),
        level: numberOf(level, "level", "a number from 0.5 to 0.999", (v) => v >= 0.5 && v <= 0.999),
        margin: margin.value()
          ? numberOf(margin, "margin", "a number over 0 and up to 100", (v) => v > 0 && v <= 100)
          : 0,
      };
    }

    // ---------------------------------------------------------------- where the file comes from

    const take = (files) => {
      const more = files.length > 1 ? ` and ${files.length - 1} more` : "";
      file = { files, name: files[0].name + more, saved: files.length > 1 ? "report" : files[0].name };
      run();
    };
    const one = (name, text) => take([{ name, bytes: new TextEncoder().encode(text) }]);
    const open = async (picked) => {
      const of = [...picked].map(async (p) => ({ name: p.name, bytes: new Uint8Array(await p.arrayBuffer()) }));
      if (of.length) take(await Promise.all(of));
    };
    const input = el("input", {
      type: "file",
      multiple: "",
      accept: ".csv,.tsv,.txt,text/csv,text/plain",
      onchange: () => {
        open(input.files);
        input.value = "";
      },
    });
    const inputId = (input.id = labs.unique("file"));
    const zone = el(
      "div",
      { class: "fsl-drop" },
      el("label", { for: inputId }, "Drop a file here, or several, or choose them (.csv, .tsv, .txt)"),
      input,
    );
    const stop = (event) => event.preventDefault();
    for (const kind of ["dragenter", "dragover"]) {
      zone.addEventListener(kind, (event) => {
        stop(event);
        zone.classList.add("fsl-over");
      });
    }
    for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("fsl-over"));
    zone.addEventListener("drop", (event) => {
      stop(event);
      open(event.dataTransfer.files);
    });
    for (const kind of ["dragover", "drop"]) window.addEventListener(kind, stop); // else a miss leaves the page

    const area = el("textarea", { rows: 5, spellcheck: "false", autocomplete: "off" });
    const areaId = (area.id = labs.unique("paste"));
    const paste = el(
      "details",
      {},
      el("summary", {}, "Paste a table instead"),
      el(
        "div",
        { class: "fsl-control" },
        el("label", { for: areaId }, "A line of names, then a line for each task"),
        area,
      ),
      labs.button("Read it", () => one("pasted.csv", area.value)),
    );

    const examples = Object.entries(report.EXAMPLES || {}).map(([name, { title, sampling: how, text }]) =>
      labs.button(title, () => {
        sampling.set(how);
        one(name, text);
      }),
    );

    // ---------------------------------------------------------------- work, in slices

    function run() {
      const mine = ++turn;
      let work;
      out.replaceChildren();
      found = null;
      says.node.classList.remove("fsl-wrong");
      const fault = (error) => {
        progress.hidden = true;
        says.node.classList.add("fsl-wrong");
        says.say(
          error instanceof report.InputError
            ? report.python.oneLine(error.message)
            : `This page could not read ${file.name} (${error.message}); fslcore report may tell more.`,
        );
      };
      says.say(`Reading ${file.name} …`);
      progress.hidden = false;
      progress.removeAttribute("value");
      const more = () => {
        if (mine !== turn) return;
        try {
          const begun = performance.now();
          if (!work) {
            const set = options();
            work = whole(file, set);
          }
          let step;
          do {
            step = work.next();
          } while (!step.done && performance.now() - begun < SLICE);
          if (!step.done) {
            if (step.value !== undefined) progress.value = step.value;
            setTimeout(more, 0);
          } else {
            progress.hidden = true;
            found = step.value;
            show();
          }
        } catch (error) {
          fault(error);
        }
      };
      setTimeout(more, 20); // so that the sentence is seen before a long file is read
    }

    function* whole({ files }, set) {
      const made = yield* report.conclude(yield* report.reader(files, set), set);
      made.needed = { head: null, rows: [] }; // the tasks that pairs would need, a few pairs at a time
      const open = made.pairs.filter((pair) => !pair.holm).slice(0, ROWS);
      for (let at = 0; at < open.length; at += 5) {
        const part = report.neededTable(made, open.slice(at, at + 5));
        made.needed.head = part.head;
        made.needed.rows.push(...part.rows);
        yield 1;
      }
      return made;
    }

    // ---------------------------------------------------------------- the report

    /** A table with its buttons; of more rows than one reads the first. */
    function shown(title, table, notes = []) {
      const rows = table.rows.slice(0, ROWS),
        cut = table.rows.length > ROWS;
      const part = { head: table.head, rows };
      const told = el("span", { role: "status", class: "fsl-copied" });
      const copy = (kind, make) =>
        labs.button(`Copy as ${kind}`, async () => {
          told.textContent = (await copied(make(part)))
            ? `Copied as ${kind}.`
            : "The browser does not let a page copy; select the table instead.";
        });
      return [
        el("h3", {}, title),
        notes.map((note) => el("p", {}, rich(note))),
        cut
          ? el(
              "p",
              {},
              `The first ${ROWS} of ${report.grouped(table.rows.length)} rows; fslcore report --tables writes all.`,
            )
          : null,
        labs.table(title, table.head, rows),
        el("div", { class: "fsl-buttons" }, copy("Markdown", report.markdown), copy("LaTeX", report.latex), told),
      ];
    }

    function show() {
      const { pairs, settings } = found,
        n = pairs.length,
        error = 1 - found.level;
      const shortly = (x) => String(Number(x.toPrecision(4)));
      const told = pairs.filter((p) => p.holm).length,
        many = Math.max(...settings.map((s) => s.methods.length));
      const parts = [
        el("h3", {}, "What was read, and how"),
        el(
          "ul",
          {},
          found.notes.map((note) => el("li", {}, note)),
        ),
        report.reading(found).map((text) => el("p", {}, rich(text))),
        ...shown("Each method by itself", report.methodTable(found), [
          `Mean accuracy and ${shortly(100 * found.level)} % interval in percent, the best first. Methods that share a letter, ` +
            "their group, are not told apart below.",
          ...report.crowded(found),
          ...report.fewErrors(found),
        ]),
      ];
      const runs = report.runTable(found),
        recipes = report.recipeTable(found);
      if (runs.rows.length) parts.push(...shown("For new training runs", runs));
      if (recipes.rows.length)
        parts.push(...shown("Recipes compared for new training runs", recipes));
      if (n) {
        const equal = pairs.filter((p) => p.equivalent).length;
        const marks =
          "Row minus column, in points. ▲ the row is better, ▼ it is worse, after Holm's correction; △ ▽ after " +
          "Benjamini and Hochberg's (BH) only; ○ not told apart" +
          (found.margin ? `; ≈ not told apart, and equivalent within ${shortly(found.margin)} points` : "") +
          ".";
        if (many <= report.MANY) parts.push(...shown("Every pair, as a matrix", report.matrix(found), [marks]));
        const listed = report.pairTable(found);
        parts.push(
          ...shown(
            "Every pair, on the same tasks",
            listed,
            [
              n > 1
                ? `${n} comparisons, each by a paired t-test. Holm's correction bounds the chance of even one false conclusion ` +
                  `by ${shortly(error)}, BH the expected share of false ones among the conclusions. The ± are not corrected.`
                : "One comparison, by a paired t-test; it needs no correction.",
              ...(found.margin
                ? [
                    `${equal} of ${n} pairs are equivalent within ${shortly(found.margin)} points (two one-sided tests, ` +
                      "Holm's correction).",
                  ]
                : []),
            ],
          ),
        );
        const nobody = settings.flatMap((of) =>
          of.methods
            .filter((m) => !pairs.some((p) => p.setting === of.setting && p.holm && (p.a === m.name || p.b === m.name)))
            .map((m) => m.name),
        );
        const names = [...new Set(nobody)];
        parts.push(
          el(
            "p",
            {},
            names.length
              ? `Told apart from nobody: ${names.slice(0, report.MANY).join(", ")}` +
                  `${names.length > report.MANY ? ` and ${names.length - report.MANY} more` : ""}.`
              : "Every method is told apart from some other.",
          ),
        );
        const changed = report.changedTable(found),
          count = (name) => pairs.filter((p) => p[name]).length;
        const usual =
          `The usual reading takes each method's closed interval and concludes where two do not meet: on ` +
          `${count("unpaired")} of ` +
          `${n} pairs. Paired, each by itself: ${count("paired")}; with BH ${count("bh")}, with Holm ${told}. The usual reading and the paired ` +
          `tests with Holm's correction differ on ${changed.rows.length} of ${n} pairs.`;
        if (changed.rows.length)
          parts.push(...shown("What the usual reading would say", changed, [usual]));
        else parts.push(el("h3", {}, "What the usual reading would say"), el("p", {}, usual));
        if (found.needed.rows.length) {
          const open = n - told;
          parts.push(
            ...shown(
              "What more data would settle",
              found.needed,
              [
                "For each pair that is not told apart, tasks of the same kind that would do it if the observed " +
                  "difference were the true one: " +
                  "orders of magnitude, no more.",
                ...report.settles(found),
                ...(open > ROWS ? [`The first ${ROWS} of ${report.grouped(open)} such pairs.`] : []),
              ],
            ),
          );
        } else parts.push(el("h3", {}, "What more data would settle"), el("p", {}, "No pair is left open."));
      }
      for (const r of found.ranks) {
        parts.push(
          ...shown(
            `Mean ranks over ${r.datasets.length} data sets${r.setting ? ` (${r.setting})` : ""}`,
            {
              head: ["method", "mean rank"],
              rows: r.methods.map((m, i) => [m, report.fixed(r.mean_ranks[i], 2)]),
            },
            [
              "What ranks can tell takes random draws, which are made by `fslcore report`: it adds a test over " +
                "data sets and the " +
                "chance of each method to be the best.",
            ],
          ),
        );
      }
      out.replaceChildren(
        ...parts.flat(2).filter((part) => part !== null),
        labs.button("Save this report as HTML", save),
      );
      const of = settings.length > 1 ? ` in ${settings.length} settings` : "";
      says.say(
        n
          ? `${told} of ${n} pairs of methods${of} are told apart (paired t-tests, Holm's correction, ${shortly(found.level)}); ` +
              `the usual reading would say otherwise on ${pairs.filter((p) => p.changed).length}.`
          : "One method a setting: no comparison is possible.",
      );
    }

    /** One file without scripts: what stands here, less its buttons. */
    function save() {
      const page = document.implementation.createHTMLDocument(`${file.name}: report`);
      page.documentElement.lang = "en";
      page.head.prepend(page.createElement("meta"));
      page.head.firstChild.setAttribute("charset", "utf-8");
      page.head.append(Object.assign(page.createElement("style"), { textContent: STYLE }));
      const title = page.createElement("h1");
      title.textContent = `${file.name}: report`;
      const sentence = page.createElement("p");
      sentence.textContent = says.node.textContent;
      const body = page.importNode(out, true);
      body.querySelectorAll("button, [role=status]").forEach((node) => node.remove());
      page.body.append(title, sentence, body);
      saved(
        `${file.saved.replace(/\.[^.]+$/, "")}.html`,
        `<!DOCTYPE html>\n${page.documentElement.outerHTML}\n`,
        "text/html",
      );
    }

    root.append(
      el("p", { class: "fsl-title" }, "Drop your file, get the report"),
      el(
        "p",
        {},
        "The accuracy of each method on each task, a column a method and a row a task, or a long table. ",
        el("strong", {}, "Nothing leaves this page"),
        ": the file is read here, by your browser, and goes nowhere.",
      ),
      zone,
      paste,
      examples.length
        ? el("div", { class: "fsl-buttons" }, el("span", {}, "Or try one of the book's own results: "), examples)
        : "",
      labs.controls("", sampling, level, margin, common, runs, drop),
      says.node,
      progress,
      out,
    );
  });
})();
