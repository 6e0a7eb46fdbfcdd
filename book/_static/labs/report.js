// The lab "Drop your file, get the report": a results file to verdicts, in the page and nowhere else. Its sentences are those of fslcore/report/words.py.
(function () {
  "use strict";
  const labs = window.fslLabs, report = labs.compute.report;
  const { el, fixed, number, shortened } = labs;

  const MOST_LINES = 8, MOST_ROWS = 40; // of verdicts before the rest is folded, and of a figure
  const FEW_METHODS = 4; // of which all pairs are on the first screen
  const LEVEL_TEXT = `${100 * report.LEVEL} %`;
  const SAMPLING = "How were the tasks drawn?"; // the label of a menu, and its entries
  const SAMPLINGS = { unknown: "I do not know", open: "no image is in two tasks (open)", closed: "images are used again (closed)" };

  // ---------------------------------------------------------------- words

  const signed = (value, digits) => fixed(value, digits).replace("-", "−");
  const intervalText = ({ low, high }, digits) =>
    (Number.isFinite(low) && Number.isFinite(high) ? `${signed(low, digits)} to ${signed(high, digits)}` : "unknown");
  const pText = p => (p < 0.0001 ? "p < 0.0001" : `p = ${p < 0.1 ? twoDigits(p) : fixed(p, 2)}`);
  /** A share with two digits that count, as Python's format .2g. */
  const twoDigits = share => String(Number(fixed(share, 1 - Math.floor(Math.log10(share)))));

  /** Decimals that show two digits of the narrowest interval: 2 to 9. */
  function digitsOf(rows) {
    const widths = rows.map(row => row.half_width).filter(width => width > 0 && width < Infinity);
    return widths.length ? Math.min(Math.max(1 - Math.floor(Math.log10(widths.reduce((a, b) => Math.min(a, b)))), 2), 9) : 2;
  }

  /** The p-value after Holm's correction; where only the correction makes a pair open, that before it too. */
  function correctedP({ p, p_holm }, { pairs }) {
    if (pairs.length === 1) return pText(p_holm);
    const alpha = 1 - report.LEVEL;
    return p < alpha && alpha <= p_holm ? `${pText(p)} alone, ${twoDigits(p_holm)} after Holm` : `${pText(p_holm)}, Holm`;
  }

  /** The smallest true difference that these data would detect. */
  function detectableText({ detectable }, { percent }, digits) {
    if (!(detectable > 0) || (percent && detectable > 100)) return "";
    return ` These data would detect a true difference of ${signed(detectable, digits)}${percent ? " points" : ""} with 80 % power.`;
  }

  /** '10 of 11 data sets', on which the first is better; empty where units are many or unpaired. */
  function betterUnitsText({ unit, n, units_better, units_worse }) {
    if (unit === "task" || unit === "item" || units_better === null) return "";
    const equal = n - units_better - units_worse;
    return `${units_better} of ${n} ${report.plural(unit)}${equal ? ` (equal on ${equal})` : ""}`;
  }

  /** One pair in words, with its interval and p-value; every number is of the first minus the second, also where lower is better. */
  function verdictSentence(pair, answer, digits) {
    const { place, a, b, difference } = pair, head = place ? `${place}: ` : "", p = correctedP(pair, answer), units = betterUnitsText(pair);
    const ends = intervalText(pair, digits);
    if (pair.verdict === "better") {
      const size = `${signed(difference, digits)}${answer.percent ? " points" : ""}`, counted = units && `, on ${units}`;
      return `${head}${a} is better ${answer.lower ? `(lower) than ${b}:` : `than ${b} by`} ${size} (${LEVEL_TEXT} interval ${ends}; ${p})${counted}.`;
    }
    const size = `${difference > 0 ? "+" : ""}${signed(difference, digits)}`;
    return `${head}${a} and ${b} are not significantly different: ${size} (${ends}; ${p})${units && `; ${a} is better on ${units}`}.${detectableText(pair, answer, digits)}`;
  }

  /** The pairs that the verdicts are about, with the reference, all of a few, or with the best method of each place; the significant ones first. */
  function chosenPairs({ methods, pairs, reference }) {
    const places = [...new Set(methods.map(row => row.place))], count = new Set(methods.map(row => row.method)).size;
    const takesAll = reference !== undefined || (count <= FEW_METHODS && pairs.length <= MOST_LINES);
    return places.flatMap(place => {
      const best = methods.find(row => row.place === place).method;
      const chosen = pairs.filter(pair => pair.place === place && (takesAll || pair.a === best || pair.b === best));
      return [...chosen.filter(pair => pair.verdict === "better"), ...chosen.filter(pair => pair.verdict !== "better")];
    });
  }

  /** The answer in sentences. */
  function sentences(answer) {
    const chosen = chosenPairs(answer);
    if (chosen.length) return chosen.map(pair => verdictSentence(pair, answer, digitsOf(chosen)));
    const [row] = answer.methods, digits = digitsOf(answer.methods);
    return [`${row.method}: ${signed(row.mean, digits)}${answer.percent ? " %" : ""} (${LEVEL_TEXT} interval ${intervalText(row, digits)}).`];
  }

  /** '71.23 ± 0.54', or both ends where they are not equally far from the mean. */
  function meanText(row, digits) {
    if (!Number.isFinite(row.low + row.high)) return `${signed(row.mean, digits)} ± unknown`;
    const off = Math.max(Math.abs(row.mean - row.low - row.half_width), Math.abs(row.high - row.mean - row.half_width));
    return signed(row.mean, digits) + (off > row.half_width / 10 ? ` (${intervalText(row, digits)})` : ` ± ${signed(row.half_width, digits)}`);
  }

  /** Names of columns and rows of texts, with the place where there are several. */
  function placed(rows, names, cellsOf) {
    const hasPlaces = rows.some(row => row.place);
    return [hasPlaces ? ["place", ...names] : names, rows.map(row => (hasPlaces ? [row.place, ...cellsOf(row)] : cellsOf(row)))];
  }

  function methodTable({ methods, pairs }) {
    const digits = digitsOf(methods), hasRanks = pairs.length > 0 && "best_rank" in methods[0];
    const rank = ({ best_rank, worst_rank }) => (best_rank === worst_rank ? `${best_rank}` : `${best_rank} to ${worst_rank}`);
    return placed(methods, ["method", "mean ± half-width", "n", ...(hasRanks ? ["rank"] : [])],
      row => [row.method, meanText(row, digits), String(row.n), ...(hasRanks ? [rank(row)] : [])]);
  }

  function pairTable({ pairs }) {
    const digits = digitsOf(pairs), bare = p => pText(p).replace(/^p (= )?/, "");
    const hasEffects = pairs.some(pair => pair.effect), effectText = ({ effect, effect_size }) =>
      (effect ? `${effect.replace("Cohen's ", "")} = ${signed(effect_size, 2)}` : "");
    return placed(pairs, ["pair", "difference", "p", ...(pairs.length > 1 ? ["p, Holm"] : []), "verdict", ...(hasEffects ? ["effect size"] : [])], pair => [`${pair.a} − ${pair.b}`,
      `${signed(pair.difference, digits)} (${intervalText(pair, digits)})`, bare(pair.p), ...(pairs.length > 1 ? [bare(pair.p_holm)] : []), pair.verdict,
      ...(hasEffects ? [effectText(pair)] : [])]);
  }

  // ---------------------------------------------------------------- the figure

  /** Rows {label, middle, low, high, isFilled} with their intervals, as a picture. */
  function forest(title, label, rows, { zero, path }) {
    const ends = [...rows.flatMap(({ low, high }) => [low, high]).filter(Number.isFinite), ...(zero ? [0] : [])];
    const drawn = rows.map(({ label, middle, low, high, isFilled }) => {
      const color = isFilled ? "fsl-a" : "fsl-base", fill = isFilled || !zero ? `${color}-fill` : "fsl-hollow";
      return { label, bars: [[low, high, color, 2.5]], mark: { x: middle, class: `${color} ${fill}`, path } };
    });
    return labs.picture({
      title: `${title}: ${rows.map(row => row.label).join(", ")}`, ...labs.forestShape(rows.length),
      draw: chart => labs.forest(chart, drawn, { label, ends, zero }),
    }).node;
  }

  /** The methods with the ends that are drawn: of several, those of bars that overlap where the interval of a difference holds 0. */
  function bars({ methods, pairs, percent }) {
    if (!pairs.length) return methods;
    return [...new Set(methods.map(row => row.place))].flatMap(place => {
      const inside = methods.filter(row => row.place === place), half = report.barWidths(inside, pairs.filter(pair => pair.place === place));
      const width = row => (half ? half.get(row.method) : 0);
      const [first, last] = percent ? [0, 100] : [-Infinity, Infinity];
      return inside.map(row => ({ ...row, low: Math.max(row.mean - width(row), first), high: Math.min(row.mean + width(row), last) }));
    });
  }

  function figure(answer) {
    const labelOf = (name, { place }) => shortened(place ? `${name} (${place})` : name, 44), chosen = chosenPairs(answer).slice(0, MOST_ROWS);
    const means = bars(answer).slice(0, MOST_ROWS).map(row => ({ ...row, label: labelOf(row.method, row), middle: row.mean, isFilled: false }));
    const differences = chosen.map(pair => {
      const isFilled = pair.verdict === "better";
      return { ...pair, label: labelOf(`${shortened(pair.a, 18)} − ${shortened(pair.b, 18)}${isFilled ? " *" : ""}`, pair), middle: pair.difference, isFilled };
    });
    const panel = (title, ...drawn) => el("div", {}, el("h3", {}, title), forest(title, ...drawn));
    const unit = answer.percent ? "mean accuracy, %" : `mean${answer.lower ? ", lower is better" : ""}`;
    const leftTitle = chosen.length ? "Means (bars overlap where the interval of a difference holds 0)" : `Mean with its ${LEVEL_TEXT} interval`;
    const left = panel(leftTitle, unit, means, { zero: false, path: labs.disc });
    if (!chosen.length) return el("div", {}, left);
    const right = panel("Differences (* significant after Holm)", answer.percent ? "difference, points" : `difference${answer.lower ? ", below 0: the first is better" : ""}`, differences, { zero: true, path: labs.diamond });
    return el("div", { class: "fsl-pair" }, left, right);
  }

  // ---------------------------------------------------------------- the page

  const INSTALL = "pip install '.[report]'  # once, in a copy of the repository";

  /** A sentence and lines to type in a shell. */
  const toType = (sentence, ...lines) => [el("p", {}, sentence), el("pre", {}, el("code", {}, [INSTALL, ...lines].join("\n")))];

  const list = (texts, attributes = {}) => el("ul", attributes, texts.map(text => el("li", {}, unbroken(text))));
  const folded = (summary, ...content) => el("details", {}, el("summary", {}, summary), content);

  /** Text whose numbers stay on one line with their unit or sign, as `fslcore.report.page.unbroken`. */
  const unbroken = text => text.replace(/(?<=\d) (?=[%±]|points?\b)|(?<=[=<±]) (?=\d)|(?<=\bp) (?=[=<])/g, "\u00a0");

  /** A sentence of the command, with the menu in place of an option that has one here. */
  const inPage = text => unbroken(text).replace("the option sampling (closed or open)", `the menu “${SAMPLING}”`).replace("the option common", "--common of the command");

  /** The verdicts and what they apply to. */
  function verdictsOf(answer, reading) {
    const found = sentences(answer), rest = found.slice(MOST_LINES);
    const more = rest.length ? [folded(`${rest.length} more ${rest.length === 1 ? "verdict" : "verdicts"}`, list(rest, { class: "fsl-verdicts" }))] : [];
    const notes = [el("p", {}, inPage(answer.applies))];
    const first = [list(found.slice(0, 1), { class: "fsl-verdicts", tabindex: -1 }), el("p", {}, reading)];
    return [...first, ...(found.length > 1 ? [list(found.slice(1, MOST_LINES), { class: "fsl-verdicts" })] : []), ...more, ...notes];
  }

  /** Where to be careful, figure, tables, and how the file was read. */
  function explained({ reading }, answer) {
    const count = answer.pairs.length, tests = [...new Set(answer.pairs.map(pair => `Test: ${pair.test}.`))];
    const holm = `p-values are corrected for ${count} comparisons by Holm's method (1979): the chance of even one false verdict is at most 0.05. `
      + "Intervals are not corrected.";
    const pairs = count > chosenPairs(answer).length ? [folded(`All ${count} pairs`, labs.table("All pairs", ...pairTable(answer)))] : [];
    return [
      ...reading.filter(note => note.option).map(({ text }) => el("p", {}, text)),
      ...answer.cautions.map(text => el("p", { class: "fsl-caution" }, inPage(text))),
      figure(answer), labs.table("Methods", ...methodTable(answer)), ...pairs,
      folded("How it was read, and the tests", list([...reading.map(note => note.text ?? note), ...(count > 1 ? [holm] : []), ...tests])),
    ];
  }

  // ---------------------------------------------------------------- the lab

  labs.register("report", root => {
    const problem = labs.sentence(), form = el("div", { class: "fsl-roles" }), out = el("div", { class: "fsl-report" });

    function refuse(names, message, options = []) {
      problem.say(message, true);
      form.replaceChildren();
      const typed = ["fslcore report", ...names.map(report.shellWord), ...options].join(" ");
      out.replaceChildren(...toType("The command reads more than this page: several files, folders, JSON, arrays, recordings of fslcore. It says what else to type:", typed));
    }

    function take(file) {
      try {
        settle(report.tableOf(file), report.noChoices());
      } catch (error) {
        if (!(error instanceof report.Refusal)) throw error;
        refuse([file.name], error.message, error.options);
      }
    }

    /** Shows the menus with what these choices say; an answer only where each column has a role that a word or the user names. */
    function settle(table, choices, changed) {
      let measured = null, refusal = null;
      try {
        measured = report.measure(table, choices);
      } catch (error) {
        if (!(error instanceof report.Refusal)) throw error;
        refusal = error;
      }
      const isOpen = refusal instanceof report.Unassigned, menus = report.menus(table, choices, { change: (next, label) => settle(table, next, label), changed });
      const box = el("details", {}, el("summary", {}, `Roles of the columns of ${table.name}`), menus);
      box.open = !measured || changed !== undefined;
      form.replaceChildren(box);
      problem.say(refusal ? `${refusal.message}.${isOpen ? " A verdict needs a role for every column that varies: choose it." : ""}` : "", refusal !== null && !isOpen);
      if (measured) answer(table, measured, choices);
      else {
        const typed = [report.command(table, choices), ...refusal.options].join(" ");
        out.replaceChildren(...toType(isOpen ? "Or type; the command proposes the roles that are missing:" : "The command says more, and compares what this page does not:", typed));
      }
      if (changed !== undefined) [...form.querySelectorAll("label")].find(label => label.textContent === changed)?.control?.focus();
    }

    /** Shows the answer, again after each choice. */
    function answer(table, measured, choices) {
      const names = report.distinct(measured.rows, "method"), verdicts = el("div", { role: "status" }), body = el("div");
      const references = Object.fromEntries([["every", "every two methods"], ...names.map((name, i) => [`m${i}`, `${name} with each other method`])]);
      const update = () => {
        const reference = names[compared.value().slice(1)], chosen = { ...choices, sampling: sampling.value(), reference: reference ?? null };
        const typed = toType("The command writes the whole report: tables in LaTeX, and the figure as PDF.", report.command(table, chosen));
        try {
          const found = report.analyse(measured, { sampling: chosen.sampling, reference });
          problem.say("");
          verdicts.replaceChildren(...verdictsOf(found, measured.reading[0]));
          body.replaceChildren(...explained(measured, found), ...typed);
        } catch (error) {
          if (!(error instanceof report.Refusal)) throw error;
          problem.say(`${error.message}.`, true);
          verdicts.replaceChildren(el("p", {}, measured.reading[0]));
          body.replaceChildren(...typed);
        }
      };
      const sampling = labs.select(SAMPLING, { options: SAMPLINGS, change: update });
      const compared = labs.select("Compare", { options: references, change: update });
      update();
      const more = [...(measured.shape === "tasks" ? [sampling] : []), ...(names.length > 2 ? [compared] : [])];
      out.replaceChildren(verdicts, ...(more.length ? [labs.controls("", ...more)] : []), body);
    }

    const text = (name, content) => take({ name, bytes: new TextEncoder().encode(content) });
    async function open(files) {
      const names = [...files].map(file => file.name);
      if (names.length > 1) return refuse(names, `${names.length} files were given; this page reads one`);
      if (!names.length) return undefined;
      let bytes;
      try {
        bytes = new Uint8Array(await files[0].arrayBuffer());
      } catch (error) { // a folder, or a file that is gone
        return refuse(names, `${names[0]} cannot be opened; this page reads a file, and no folder`);
      }
      return take({ name: names[0], bytes });
    }

    const area = el("textarea", { rows: 5, spellcheck: "false", autocomplete: "off", id: labs.unique("paste") });
    const label = el("label", { for: area.id }, "A line of names, then the rows; the table is called pasted.csv below");
    const examples = Object.entries(report.EXAMPLES).map(([name, example]) => labs.button(example.title, () => text(name, example.text)));
    root.append(
      el("p", { class: "fsl-title" }, "Drop your file, get the report"),
      el("p", {}, "A table as text. The page shows what each column is: names such as method, task and accuracy are known, and for others you choose a role. ",
        el("strong", {}, "Nothing leaves this page"), ": your browser reads the file here."),
      labs.dropZone("Drop a file here, or choose it (.csv, .tsv, .txt, .md)", open),
      folded("Paste a table instead", el("div", { class: "fsl-control" }, label, area), labs.button("Read it", () => text("pasted.csv", area.value))),
      el("div", { class: "fsl-buttons" }, el("span", {}, "Or try one of the book's own results: "), examples),
      problem.node, form, out,
    );
  });

  Object.assign(report, { sentences, methodTable, pairTable });
})();
