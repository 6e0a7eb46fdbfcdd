// What people write along in a table and is no method and no task, told by its name or its values: the checks of
// fslcore/tools/report/tables.py.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report;
  const { InputError, python } = report;
  const { strip, text } = python;

  const SUMMARIES = new Set("mean average avg total sum std sd stdev stddev stderr sem ci ci95".split(" "));
  const OF_WHAT = new Set("acc accuracy accuracies score scores test task tasks of over all overall".split(" "));
  const ALL = new Set(["all", "overall"]); // as tasks; a method may well be called so
  // What runs write along, that is no accuracy; and what is none where it holds whole numbers, for SHOT is a method.
  const MEASURED = new Set(
    (
      "loss losses err error errors int interval time runtime timestamp duration elapsed sec seconds minutes epoch " +
      "epochs nll ece auc auroc"
    ).split(" "),
  );
  const COUNTED = new Set(
    (
      "step steps iter iters iteration iterations episode episodes trial fold batch way ways shot shots query queries " +
      "id idx row"
    ).split(" "),
  );
  const LEVELS = new Set(["90", "95", "99"]);
  const OF_RUN = new Set(
    (
      "train training val valid validation eval inference meta wall relative global s ms n k num number rate conf " +
      "confidence se"
    ).split(" "),
  );
  const SIGNED = "[ _.(-]*(?:±|\\+/-)[^\\p{L}_]*(?:std|sd|sem|se|ci)?[^\\p{L}_]*";
  const BESIDE = new RegExp(
    `^(.+?)(?:__(?:min|max|step)|${SIGNED}|[ _.-]+(?:std|stdev|stddev|stderr|sem|se|ci95|ci|conf[ _.-]*int|err|error|` +
      "loss|time(?:[ _.-]m?s)?|sec|seconds|epoch))$",
    "iu",
  );
  const DIFFERENCES = new Set("diff difference delta gap gain".split(" "));
  const RARE = 1e-5; // what comes less often by chance is taken for made

  const fail = (line) => {
    throw new InputError(line);
  };
  const uniques = (values) => [...new Set(values)];
  const quote = (name) => (name && !/[^A-Za-z0-9_@%+=:,./-]/.test(name) ? name : `'${name.replace(/'/g, "'\"'\"'")}'`);

  const words = (name) => name.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];

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

  /** One in the last decimal place that numbers were written with; of many digits, what computing may be off by. */
  function unit(values) {
    let most = 0,
      size = 0;
    for (const v of values) {
      most = Math.max(most, decimals(v));
      size = Math.max(size, Math.abs(v)); // NaN where one is
    }
    const last = 1.01 * 10 ** -most;
    return 1e-6 * size > last ? 1e-6 * size : last;
  }

  /** A column of a wide table that is the mean of all others, or by name and values a difference of two. */
  function refuseMadeColumns(numbers, rows, name) {
    const methods = [...numbers.keys()],
      x = [...numbers.values()];
    if (methods.length < 3) return;
    const refuse = (at, what) =>
      fail(`results: method ${methods[at]} of ${name} ${what}; leave it out (--drop ${quote(methods[at])})`);
    methods.forEach((method, at) => {
      if (!words(method).some((w) => DIFFERENCES.has(w))) return;
      const near = unit(x[at]),
        rest = x.map((_, i) => i).filter((i) => i !== at);
      for (let i = 0; i < rest.length; i++) {
        for (let j = i + 1; j < rest.length; j++) {
          const [a, b] = [x[rest[i]], x[rest[j]]];
          let fits = true;
          for (let t = 0; t < rows && fits; t++) {
            fits = Math.abs(Math.abs(b[t] - a[t]) - Math.abs(x[at][t])) <= near;
          }
          if (fits) refuse(at, `is the difference of ${methods[rest[i]]} and ${methods[rest[j]]}`);
        }
      }
    });
    const total = new Float64Array(rows),
      off = new Float64Array(methods.length);
    for (const column of x)
      column.forEach((v, t) => {
        total[t] += v;
      });
    x.forEach((column, at) =>
      column.forEach((v, t) => {
        const apart = Math.abs((total[t] - v) / (methods.length - 1) - v);
        if (!(apart <= off[at])) off[at] = Number.isNaN(off[at]) ? NaN : apart;
      }),
    );
    if (off.some(Number.isNaN)) return;
    const at = off.indexOf(Math.min(...off)),
      near = unit(x[at]);
    if (!(off[at] <= near)) return;
    let varied = 0;
    for (let t = 0; t < rows; t++) {
      let low = Infinity,
        high = -Infinity;
      x.forEach((column, i) => {
        if (i === at) return;
        low = Math.min(low, column[t]);
        high = Math.max(high, column[t]);
      });
      if (high - low > 4 * near) varied += 1;
    }
    if (varied >= 8) refuse(at, "looks like a summary of the others: it is their mean");
  }

  /** A row of means or sums below a wide table, or above a last row of standard deviations. */
  function refuseLastRow(x, rows, name) {
    if (rows <= 5) return;
    for (const back of [1, 2]) {
      const many = rows - back,
        last = x.map((column) => column[many]);
      if (last.some(Number.isNaN)) continue;
      const above = x.map((column) => column.subarray(0, many));
      let size = 0;
      for (const column of above) for (const v of column) if (Math.abs(v) > size) size = Math.abs(v);
      const unitOf = unit(last),
        near = 1e-6 * size > unitOf ? 1e-6 * size : unitOf;
      for (const summary of ["mean", "sum"]) {
        const off = above.map((column, i) => {
          const there = column.filter((v) => !Number.isNaN(v)),
            sum = there.reduce((s, v) => s + v, 0);
          return Math.abs(last[i] - (summary === "mean" ? sum / there.length : sum));
        });
        if (off.every((v) => v <= near) && chance(above, last, near) < RARE) {
          fail(`results: row ${many + 1} of ${name} is the ${summary} of the rows above; leave it out`);
        }
      }
    }
  }

  /** About how often one more task of this kind would by chance come so near to the middle of all methods. */
  function chance(columns, row, near) {
    const tasks = columns[0].length;
    const reach = columns.map((column, i) => Math.max(near, step(column, row[i]) / 2));
    for (let t = 0; t < tasks; t++) {
      // there is such a task
      if (columns.every((column, i) => Math.abs(column[t] - row[i]) <= 3 * reach[i])) return 1;
    }
    const base = []; // Gram and Schmidt, twice: what the methods before leave open
    let found = 1;
    columns.forEach((column, i) => {
      const there = column.filter((v) => !Number.isNaN(v));
      const mean = there.reduce((s, v) => s + v, 0) / there.length;
      const v = column.map((value) => (Number.isNaN(value) ? 0 : value - mean));
      for (let again = 0; again < 2; again++) {
        for (const q of base) {
          const along = q.reduce((s, value, t) => s + value * v[t], 0);
          for (let t = 0; t < tasks; t++) v[t] -= along * q[t];
        }
      }
      const norm = base.length < tasks ? Math.sqrt(v.reduce((s, value) => s + value * value, 0)) : 0;
      if (norm > 0) base.push(v.map((value) => value / norm));
      const wide = Math.max((Math.sqrt(2 * Math.PI) * norm) / Math.sqrt(tasks), near * 1e-9);
      found *= Math.min(1, (2 * reach[i]) / wide);
    });
    return found;
  }

  /** The largest step of which all values differ by whole numbers; 0 if this value does not, infinite if all are one. */
  function step(column, value) {
    const levels = uniques(
      Array.from(column)
        .filter((v) => !Number.isNaN(v))
        .map(round9),
    ).sort((a, b) => a - b);
    if (levels.length < 2) return Infinity;
    const small = 1e-6 * Math.max(Math.abs(levels[0]), Math.abs(levels[levels.length - 1]));
    let found = 0;
    for (let i = 1; i < levels.length; i++) {
      // Euclid's algorithm
      let rest = levels[i] - levels[i - 1];
      while (rest > small) [found, rest] = [rest, Math.abs(found - rest * rint(found / rest))];
    }
    const off = (value - levels[0]) / (found || small);
    return Math.abs(off - rint(off)) < 1e-3 ? found : 0;
  }

  function refuseSummaries(table, numbers, name) {
    const all = uniques(table.method).map(strip),
      tasks = table.taskKind === "object" ? uniques(table.task).map((v) => strip(text(v))) : [];
    const within = (said, ...sets) => said.every((w) => sets.some((of) => of.has(w))),
      some = (said, of) => said.some((w) => of.has(w));
    const valuesOf = (one, own) =>
      Array.from(numbers).filter((v, i) => !Number.isNaN(v) && (strip(table.method[i]) === one) === own);
    const mean = (values) => values.reduce((s, v) => s + v, 0) / values.length;
    const small = (one) => 4 * mean(valuesOf(one, true)) < mean(valuesOf(one, false)); // as standard errors are
    const refuse = (what, one, looks, more = "") =>
      fail(
        `results: ${what} ${one} of ${name} looks like ${looks}; leave it out (--drop ${quote(one)}), or give it ` +
          `another name${more}`,
      );
    for (const [what, names] of [
      ["method", all],
      ["task", tasks],
    ]) {
      for (const one of names.length > 1 ? names : []) {
        const said = words(one);
        const summary = some(said, SUMMARIES) && within(said, SUMMARIES, OF_WHAT, LEVELS);
        if (summary || (what === "task" && said.length && within(said, ALL))) refuse(what, one, "a summary of the others");
      }
    }
    for (const one of all.length > 1 ? all : []) {
      const said = words(one),
        beside = BESIDE.exec(one);
      if (beside && all.includes(beside[1]) && (!one.toLowerCase().endsWith("se") || small(one))) {
        refuse("method", one, some(said, MEASURED) ? "something else than accuracies" : `a summary of ${beside[1]}`);
      }
      const error = said.includes("se") && said.every((w) => w === "se" || OF_WHAT.has(w)) && small(one);
      if (error || (!said.length && one.includes("±"))) refuse("method", one, "a summary of the others");
      if (said.includes("test") && said.includes("training")) continue; // test-time training
      if (!within(said, MEASURED, COUNTED, OF_RUN, OF_WHAT, SUMMARIES, LEVELS)) continue;
      if (some(said, MEASURED)) refuse("method", one, "something else than accuracies");
      if (some(said, COUNTED) && valuesOf(one, true).every((v) => v % 1 === 0)) {
        refuse("method", one, "a count", " (task, ways or shots, if it is that)");
      }
    }
  }

  report.checks = { fail, quote, refuseLastRow, refuseMadeColumns, refuseSummaries, uniques, wordsOfAccuracy };
  Object.assign(report, { round9 });
})();
