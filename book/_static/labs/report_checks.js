// What in a table may be something else than accuracies of methods on tasks: the questions of
// fslcore/tools/report/questions.py.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report;
  const { InputError, python } = report;
  const { strip, text } = python;

  // The words of fslcore/tools/report/questions.py: of other measures, of times and counts, and of summaries.
  const SUMMARIES = "mean means average avg median min max sum total std sd stdev stddev stderr sem se var ci ci95".split(" ");
  const OTHER = new Set([
    ...SUMMARIES,
    ...(
      "err error errors loss losses nll ece brier ce entropy perplexity ppl confidence conf interval variance " +
      "f1 fscore precision recall auc auroc roc top2 top3 top5 top10 kappa mcc wer cer bleu iou rmse mse mae rate " +
      "time times runtime timestamp duration elapsed sec secs seconds ms minutes hours " +
      "mem memory gpu cpu ram gb mb flops params lr wd momentum temperature grad " +
      "epoch epochs step steps iter iters iteration iterations batch episode episodes trial fold id idx row index " +
      "num number count counts correct train training val valid validation dev " +
      "diff difference delta gap gain"
    ).split(" "),
  ]);
  const TASKS = new Set([...SUMMARIES, "all", "overall"]);
  const WHOLE = new Set([...TASKS, ..."tasks task test of over acc accuracy".split(" ")]); // all of a summary's name
  const OF_WHAT = new Set("acc accuracy accuracies score scores test".split(" "));
  const LEAST = 5; // rows that come again, else it may be chance

  const fail = (line) => {
    throw new InputError(line);
  };
  const uniques = (values) => [...new Set(values)];
  const quote = (name) => (name && !/[^A-Za-z0-9_@%+=:,./-]/.test(name) ? name : `'${name.replace(/'/g, "'\"'\"'")}'`);

  /** The words of a name: also those that begin with a capital, and without numbers behind them. */
  function words(name) {
    const parts = name
      .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
      .toLowerCase()
      .replace(/(?<![\p{L}\p{N}_])top[ _-](?=\d)/gu, "top")
      .match(/[\p{L}\p{N}]+/gu);
    return uniques((parts || []).flatMap((part) => [part, part.replace(/[0-9]+$/, "")])).filter(Boolean);
  }

  /** Whether a name says only that accuracies stand below it. */
  const wordsOfAccuracy = (name) => words(name).every((w) => OF_WHAT.has(w));

  /** Rounded to the nearest whole number, halves to the even one, as Python and NumPy do. */
  function rint(x) {
    const near = Math.round(x);
    return near - x === 0.5 && near % 2 ? near - 1 : near;
  }

  /** np.round(x, 9). */
  const round9 = (x) => {
    const large = x * 1e9;
    return Number.isFinite(large) ? rint(large) / 1e9 : x;
  };

  /** How many decimals the shortest form of a number has. */
  function decimals(value) {
    if (!Number.isFinite(value) || value === 0) return 0;
    const [digits, power] = value.toExponential().split("e");
    return Math.max(0, digits.replace(/[-.]/g, "").length - 1 - Number(power));
  }

  /** Without names of tasks, a last row of means or sums. */
  function refuseLastRow(x, rows, name) {
    const above = x.map((column) => column.subarray(0, rows - 1)),
      last = x.map((column) => column[rows - 1]);
    if (rows <= LEAST || x.some((column) => column.some(Number.isNaN))) return;
    for (let t = 0; t < rows - 1; t++) if (x.every((column, i) => column[t] === last[i])) return;
    for (const what of ["mean", "sum"]) {
      const near = above.every((column, i) => {
        const sum = column.reduce((s, v) => s + v, 0),
          size = column.reduce((s, v) => Math.max(s, Math.abs(v)), 0),
          off = Math.abs(last[i] - (what === "mean" ? sum / column.length : sum));
        return off <= Math.max(1.01 * 10 ** -decimals(last[i]), 1e-6 * size);
      });
      if (near) {
        fail(
          `results: row ${rows} of ${name} is the ${what} of the rows above; take it out, or number the tasks in a column ` +
            "task if it is one",
        );
      }
    }
  }

  /** Methods whose name has a word of another measure, and tasks that are summaries by their names. */
  function refuseNames(table, name, ofFile) {
    const methods = uniques(table.method),
      why = new Map(methods.map((m) => [m, words(m).filter((w) => OTHER.has(w)).sort()]));
    for (const [m, of] of why) if (!of.length && (m.includes("±") || m.includes("+/-"))) of.push("±");
    const found = methods.filter((m) => why.get(m).length),
      others = methods.filter((m) => !why.get(m).length),
      quoted = (names) => names.map(quote).join(" ");
    if (found.length && !ofFile) {
      const [looks, it] = found.length === 1 ? ["looks", "it"] : ["look", "them"];
      fail(
        `results: ${found.map((m) => `${m} (${why.get(m).join(", ")})`).join(", ")} of ${name} ${looks} like something ` +
          `else than accuracies; leave ${it} out (--drop ${quoted(found)}), or name all that are methods (--methods ` +
          `${quoted(others.length ? others : found)})`,
      );
    }
    const tasks = table.taskKind === "object" ? uniques(table.task).map((v) => strip(text(v))) : [],
      summaries = tasks.filter((t) => words(t).some((w) => TASKS.has(w)) && words(t).every((w) => WHOLE.has(w)));
    if (summaries.length && tasks.length > 1) {
      fail(
        `results: task ${summaries.join(", ")} of ${name} looks like a summary of the others; leave it out (--drop ` +
          `${quoted(summaries)}), or give it another name`,
      );
    }
  }

  /** Methods of whole numbers alone, as counts of right answers are. */
  function refuseCounts(table, numbers, name) {
    const whole = new Map(),
      possible = new Map();
    numbers.forEach((v, i) => {
      const m = table.method[i],
        right = table.ways && table.queries ? (v * table.ways[i] * table.queries[i]) / 100 : v / 100;
      whole.set(m, (whole.get(m) ?? true) && (Number.isNaN(v) || v % 1 === 0));
      possible.set(m, (possible.get(m) ?? true) && (Number.isNaN(v) || round9(right) % 1 === 0));
    });
    const found = uniques(table.method).filter((m) => whole.get(m) && !possible.get(m)).sort();
    if (!found.length) return;
    fail(
      `results: ${found.join(", ")} of ${name} ${found.length === 1 ? "has" : "have"} whole numbers alone, as counts of ` +
        "right answers are; say what a full score is (--out-of 100 for percent, --out-of 75 for 75 queries), or leave out " +
        `what is no accuracy (--drop ${found.map(quote).join(" ")})`,
    );
  }

  /** Which values repeat others: all but the first block of a sequence that is one block again and again. */
  function repeats(values) {
    const n = values.length;
    if (new Set(values).size < 3) return 0;
    const starts = [...values.keys()].filter((i) => i === 0 || values[i] !== values[i - 1]),
      gcd = (a, b) => (b ? gcd(b, a % b) : a),
      times = starts.map((s, i) => (starts[i + 1] ?? n) - s).reduce(gcd, 0);
    if (times > 1 && n - n / times >= LEAST) return n - n / times;
    for (let block = 3; block <= Math.floor(n / 2); block++) {
      if (values[block] !== values[0] || n - block < LEAST) continue;
      if (values.every((v, i) => i < block || v === values[i - block])) return n - block;
    }
    return 0;
  }

  /** Rows that come again, and seeds of which it is not known what they number. */
  function refuseRepeats(table, numbers, name) {
    const of = new Map();
    for (let i = 0; i < table.rows; i++) {
      const keys = ["dataset", "sampling", "ways", "shots", "queries", "seed", "run", "method"].filter((c) => table[c]);
      const key = JSON.stringify(keys.map((c) => table[c][i]));
      if (!of.has(key)) of.set(key, []);
      of.get(key).push(numbers[i]);
    }
    const again = [...of.values()].reduce((sum, values) => sum + repeats(values), 0),
      grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
    if (again) {
      fail(
        `results: ${grouped(again)} of ${grouped(table.rows)} accuracies of ${name} repeat those above them, task by task; ` +
          "say what they are: --repeats copies leaves them out, --repeats tasks keeps them, and training runs are named " +
          "in a column run",
      );
    }
  }

  function refuseSeeds(files, whole) {
    const seeds = new Set(files.flatMap(({ table }) => table.seed || []));
    if (seeds.size < 2) return;
    fail(
      `results: column seed of ${whole} has ${seeds.size} values; say what it numbers: --seed run for trainings of a ` +
        "method, --seed tasks for draws of tasks",
    );
  }

  report.checks = {
    fail,
    quote,
    refuseCounts,
    refuseLastRow,
    refuseNames,
    refuseRepeats,
    refuseSeeds,
    uniques,
    wordsOfAccuracy,
  };
  Object.assign(report, { round9 });
})();
