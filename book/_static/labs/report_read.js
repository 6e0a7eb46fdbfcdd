// One strict CSV of per-task accuracies, as fslcore/tools/report/{files,tables,questions}.py read it, in their words.
// What is read here gives the numbers of `fslcore report`; anything else is refused, with all problems at once.
(function () {
  "use strict";
  const labs = window.fslLabs,
    report = (labs.compute.report = {}),
    grouped = (n) => labs.number(n);

  const ENDINGS = [".csv", ".tsv", ".txt"];
  const METHODS = 40; // that somebody reads; the command compares more
  const BYTES = 2e7;
  const SEPARATORS = { ",": "comma", ";": "semicolon", "\t": "tab", "|": "bar" };
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const CONTROL = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u; // errors.visible escapes them
  const INDEX = /^(|Unnamed: \d+|index|level_\d+|__index_level_\d+__|nan|None)$/;
  const LONG = ["method", "task", "accuracy"];
  const COMMAND = "dataset sampling ways shots queries seed run query backbone learner".split(" "); // columns it knows
  const SUMMARIES = (
    "mean means average avg median min max sum total std sd stdev stddev stderr sem se var ci ci95 " +
    "mittelwert durchschnitt moyenne promedio media"
  ).split(" ");
  const WHOLE = "test tasks task all overall of over acc accuracy".split(" "); // beside a summary of tasks
  const OTHER = new Set([
    ...SUMMARIES,
    ...(
      "err error errors loss losses nll ece brier ce entropy perplexity ppl confidence conf int interval " +
      "variance f1 fscore precision recall auc auroc roc top2 top3 top5 top10 kappa mcc wer cer bleu iou rmse " +
      "mse mae rate time times runtime timestamp duration elapsed sec secs seconds ms minutes hours mem memory " +
      "gpu cpu ram gb mb flops params lr wd momentum temperature grad epoch epochs step steps iter iters " +
      "iteration iterations batch episode episodes trial fold id idx row index num number count counts correct " +
      "train training val valid validation dev diff difference delta gap gain"
    ).split(" "),
  ]);

  const number = (cell) => (NUMBER.test(cell) ? Number(cell) : null);
  const quoted = (names) =>
    names.map((name) => (/^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replace(/'/g, "'\"'\"'")}'`)).join(" ");
  const repeat = (list) => list.find((one, i) => list.indexOf(one) < i);

  /** The words of a name, in lower case: also those that begin with a capital, and without numbers behind them. */
  function words(text) {
    const parts =
      text
        .replace(/([a-z])(?=[A-Z])/g, "$1 ")
        .toLowerCase()
        .replace(/\btop[ _-](?=\d)/g, "top")
        .match(/[\p{L}\p{N}]+/gu) || [];
    return [...new Set([...parts, ...parts.map((part) => part.replace(/[0-9]+$/, ""))])].filter(Boolean);
  }

  /** To nine decimals, halves to the even one: `np.round(x, 9)`. */
  function round9(x) {
    const near = Math.round(x * 1e9);
    return (near - x * 1e9 === 0.5 && near % 2 ? near - 1 : near) / 1e9;
  }

  /** The cells of a line; null where a quotation mark stands within a cell or does not end. */
  function cellsOf(line, sep) {
    if (!line.includes('"')) return line.split(sep);
    const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${sep}]*))(${sep}|$)`, "y"),
      out = [];
    for (let end = sep; end;) {
      const found = cell.exec(line);
      if (!found) return null;
      out.push(found[1] === undefined ? found[2] : found[1].replace(/""/g, '"'));
      end = found[3];
    }
    return out;
  }

  /** How many values repeat others: each several times running, or all as one block again and again. */
  function repeated(x) {
    const n = x.length,
      starts = [...x.keys()].filter((i) => x[i] !== x[i - 1]);
    if (new Set(x).size < 3) return 0;
    const gcd = (a, b) => (b ? gcd(b, a % b) : a);
    const times = starts.map((start, i) => (starts[i + 1] ?? n) - start).reduce(gcd);
    if (times > 1 && n - n / times >= 5) return n - n / times;
    for (let block = 3; block <= n / 2; block++) {
      let i = block;
      while (i < n && x[i] === x[i - block]) i += 1;
      if (i === n && n - block >= 5) return n - block;
    }
    return 0;
  }

  /**
   * A file {name, bytes} as {name, unit, tasks, methods: [{name, x}], problems, options}: accuracies in percent by
   * method, each on the same tasks in the same order. Where there are problems nothing else is of use; options of
   * `fslcore report` mend what has one answer; what has several, it asks about itself.
   */
  function read({ name, bytes }) {
    const problems = [],
      options = [],
      out = { name, problems, options, methods: [], tasks: 0 };
    const refuse = (problem, option) => {
      if (!problems.includes(problem)) problems.push(problem);
      if (!option || options.includes(option)) return;
      const at = options.findIndex((one) => option.startsWith("--drop ") && one.startsWith("--drop "));
      if (at < 0) options.push(option);
      else options[at] += option.slice("--drop".length);
    };
    const table = rowsOf(name, bytes, refuse);
    if (!table) return out;
    const { names, rows } = table;
    const long = names.some((column) => column === "accuracy" || column === "method");
    const own = checkColumns(name, names, long, refuse);
    if (!rows.length || !names.includes("task") || !own.length) return out;

    // a cell a row: method, task, text, and where it stands
    const at = Object.fromEntries(LONG.map((column) => [column, names.indexOf(column)]));
    let entries = [];
    for (const column of long ? [at.accuracy] : own.map((method) => names.indexOf(method))) {
      rows.forEach(({ cells, row }) =>
        entries.push({
          method: long ? cells[at.method] : names[column],
          task: cells[at.task],
          text: cells[column],
          where: `${names[column]} in row ${row} of ${name}`,
          row,
        }),
      );
    }
    checkTasks(
      name,
      rows.map(({ cells }) => cells[at.task]),
      refuse,
    );
    if (long) {
      const methods = entries.map(({ method }) => method),
        bare = methods.findIndex((method) => /^(nan)?$/i.test(method));
      if (bare >= 0) refuse(`column method of ${name} is empty in row ${entries[bare].row}`);
      const kept = checkMethods(name, [...new Set(methods)], refuse);
      entries = entries.filter(({ method }) => kept.includes(method));
    }
    if (!entries.length) return out;
    out.unit = checkValues(name, entries, refuse);
    const by = new Map();
    for (const entry of entries) {
      if (!by.has(entry.method)) by.set(entry.method, []);
      by.get(entry.method).push(entry);
    }
    if (out.unit) checkColumnsOfValues(name, by, out.unit, long, refuse);
    out.tasks = checkGrid(
      name,
      by,
      rows.every(({ cells }) => number(cells[at.task]) !== null),
      refuse,
    );
    out.methods = [...by].map(([method, of]) => {
      const x = of.map(({ value }) => round9(out.unit === "shares" ? 100 * value : value));
      return { name: method, x: Float64Array.from(x) };
    });
    return out;
  }

  /** The line of names and the rows of as many cells; null where the text is no table of any kind. */
  function rowsOf(name, bytes, refuse) {
    if (!ENDINGS.some((ending) => name.toLowerCase().endsWith(ending))) {
      return refuse(`${name}; ${ENDINGS.join(", ")} are read on this page`);
    }
    if (bytes.length > BYTES) return refuse(`${name} has over 20 MB, and this page reads no more`);
    let text = "\0";
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/^[\r\n]+|[\r\n]+$/g, "");
    } catch (error) {
      // the sentence follows
    }
    if (text.includes("\0")) {
      const coding = bytes.includes(0) ? "UTF-16" : "WINDOWS-1252";
      return refuse(`${name} is not UTF-8; save it as UTF-8 (iconv -f ${coding} -t UTF-8 ${quoted([name])})`);
    }
    if (!text.trim()) return refuse(`${name} has no rows`);
    if (text.startsWith("#")) {
      return refuse(`${name} begins with #, and comments are not read: take them out (grep -v '^#' ${quoted([name])})`);
    }
    const lines = text.split(/\r\n|\r|\n/);
    const found = Object.keys(SEPARATORS).filter((sep) => lines[0].replace(/"[^"]*"/g, "").includes(sep));
    if (found.length > 1) {
      const kinds = found.map((sep) => SEPARATORS[sep]);
      return refuse(
        `the line of names of ${name} has more than one separator (${kinds.join(", ")}); say which separates the ` +
          `cells (--separator ${kinds[0]})`,
      );
    }
    if (found[0] === "|") return refuse(`'|' separates the cells of ${name}; commas, semicolons or tabs are read here`);
    const [header, ...rows] = lines.map((line) => cellsOf(line, found[0] ?? ","));
    const open = [header, ...rows].indexOf(null);
    if (open >= 0) {
      return refuse(
        `${open ? `row ${open}` : "the line of names"} of ${name} has a quotation mark within a cell, or one that ` +
          "does not end",
      );
    }
    const marked = [header, ...rows].findIndex((cells) =>
      cells.some((cell) => CONTROL.test(cell.replace(/^[ \t]+|[ \t]+$/g, ""))),
    );
    if (marked >= 0)
      refuse(
        `${marked ? `row ${marked}` : "the line of names"} of ${name} has a control character, which this page ` +
          "does not read",
      );
    const names = header
      .map((cell) => cell.trim())
      .map((cell) => {
        const low = cell.toLowerCase();
        return LONG.includes(low) || COMMAND.includes(low) ? low : cell; // else Task would be a method
      });
    if (!rows.length) refuse(`${name} has no rows`);
    const numbers = names.filter((cell) => number(cell) !== null);
    if (numbers.length)
      refuse(
        `the first line of ${name} has a number, ${numbers[0]}, among its names; a line that names the columns is ` +
          "needed",
      );
    const twice = repeat(names);
    if (twice !== undefined) refuse(`${name} has two columns ${twice}; each name may stand once`);
    const other = rows.map((_, i) => i).filter((i) => rows[i].length !== names.length);
    if (other.length) {
      const line = lines[other[0] + 1],
        more = other.length > 1 ? ` (and ${grouped(other.length - 1)} more rows like it)` : "";
      refuse(
        `row ${other[0] + 1} of ${name}, ${line.length > 80 ? `${line.slice(0, 77)}...` : line || "''"}, has ` +
          `${line ? rows[other[0]].length : 0} cells and the line of names ${names.length}; write nan where a ` +
          "value is " +
          `missing, and no empty line${more}`,
      );
    }
    const again = lines.indexOf(lines[0], 1);
    if (again > 0) {
      refuse(
        `row ${again} of ${name} is its line of names again, as where files were put below one another; name the ` +
          "files instead (fslcore report a.csv b.csv)",
      );
    }
    const whole = rows.map((cells, i) => ({ cells: cells.map((cell) => cell.trim()), row: i + 1 }));
    return { names, rows: whole.filter(({ cells }) => cells.length === names.length) };
  }

  /** The columns of accuracies. */
  function checkColumns(name, names, long, refuse) {
    for (const column of names.filter((one) => COMMAND.includes(one))) {
      if (column === "seed")
        refuse(
          `column seed of ${name}; say what it numbers: --seed run for trainings of a method, --seed tasks for ` +
            "draws of tasks",
        );
      else refuse(`column ${column} of ${name} is read by the command alone`);
    }
    if (long) {
      const missing = LONG.filter((column) => !names.includes(column));
      if (missing.length)
        refuse(
          `${name} lacks ${missing.join(" and ")}; method, task and accuracy are needed, or task and a column per ` +
            "method",
        );
      const unread = names.filter((column) => !LONG.includes(column) && !COMMAND.includes(column));
      if (unread.length)
        refuse(
          `${unread.join(", ")} of ${name} is none of method, task and accuracy; leave it out (--drop ` +
            `${quoted(unread)})`,
          `--drop ${quoted(unread)}`,
        );
      return missing.length ? [] : ["accuracy"];
    }
    const own = [...new Set(names)].filter((column) => column !== "task" && !COMMAND.includes(column));
    if (!names.includes("task")) refuse(`${name} has no column task, which says on which task a row's accuracies are`);
    if (!own.length) refuse(`${name} has no column of accuracies; it needs one per method, or a column accuracy`);
    for (const column of own.filter((one) => INDEX.test(one))) {
      refuse(
        `column '${column}' of ${name} looks like an index, not a method; name it task, or leave it out (--drop ` +
          `'${column}')`,
        `--drop '${column}'`,
      );
    }
    const named = own.filter((one) => !INDEX.test(one));
    return checkMethods(name, named, refuse);
  }

  /** Refuses methods whose names have words of another measure, and too many; the others. */
  function checkMethods(name, methods, refuse) {
    const why = (method) => {
      const found = words(method)
        .filter((word) => OTHER.has(word))
        .sort();
      return found.length || !/±|\+\/-/.test(method) ? found : ["±"];
    };
    const found = methods.filter((method) => why(method).length),
      others = methods.filter((method) => !why(method).length);
    if (found.length) {
      const [looks, it] = found.length === 1 ? ["looks", "it"] : ["look", "them"];
      refuse(
        `${found.map((method) => `${method} (${why(method).join(", ")})`).join(", ")} of ${name} ${looks} like ` +
          "something " +
          `else than accuracies; leave ${it} out (--drop ${quoted(found)}), or name all that are methods (--methods ` +
          `${quoted(others.length ? others : found)})`,
        `--drop ${quoted(found)}`,
      );
    }
    if (methods.length > METHODS)
      refuse(`${name} has ${grouped(methods.length)} methods; up to ${METHODS} are compared on this page`);
    return others;
  }

  function checkTasks(name, tasks, refuse) {
    const empty = tasks.findIndex((task) => /^([+-]?(nan|inf|infinity))?$/i.test(task));
    if (empty >= 0) refuse(`column task of ${name} is empty in row ${empty + 1}`);
    const all = [...new Set(tasks)];
    const found = all.filter((task) => {
      const said = words(task);
      return (
        said.length &&
        number(task) === null &&
        said.every((w) => SUMMARIES.includes(w) || WHOLE.includes(w)) &&
        said.some((w) => SUMMARIES.includes(w) || w === "all" || w === "overall")
      );
    });
    if (found.length && all.length > 1) {
      refuse(
        `task ${found.join(", ")} of ${name} looks like a summary of the others; leave it out (--drop ` +
          `${quoted(found)}), or give it another name`,
        `--drop ${quoted(found)}`,
      );
    }
  }

  /** Sets the value of each cell; the unit of all, or null where they are no accuracies in one unit. */
  function checkValues(name, entries, refuse) {
    let fine = true;
    const refuseWhere = (bad, what, option) => {
      const of = entries.filter(bad);
      if (!of.length) return;
      fine = false;
      refuse(
        `${of[0].where} ` +
          what.replace("{}", () => of[0].text) +
          (of.length > 1 ? ` (and ${grouped(of.length - 1)} more like it)` : ""),
        option,
      );
    };
    const kinds = [
      [/^(|nan|na|n\/a|null|none)$/i, "is empty; fill it, or use the tasks that all methods share (--common)"],
      [/\d,\d/, "is {}; a number is needed (--decimal , if it has a decimal comma)", "--decimal ,"],
      [/\d\s+\d/, "is {}; a number is needed (--separator blanks if blanks separate the cells)", "--separator blanks"],
      [/%/, "is {}; a number is needed, without a percent sign"],
      [/(?:)/, "is {}; a number is needed"],
    ];
    for (const entry of entries) {
      entry.value = number(entry.text);
      if (entry.value === null) entry.kind = kinds.findIndex(([sign]) => sign.test(entry.text));
    }
    kinds.forEach(([, what, option], i) => refuseWhere(({ kind }) => kind === i, what, option));
    const there = ({ value }) => value !== null;
    refuseWhere(
      (e) => there(e) && !(e.value >= 0 && e.value <= 100),
      "is {}; 0 to 1 (shares) or 0 to 100 (percent) is allowed",
    );
    const top = entries.filter(there).reduce((most, e) => (most && most.value >= e.value ? most : e), null);
    if (top && top.value > 1) {
      refuseWhere(
        (e) => there(e) && e.value > 0 && e.value <= 1,
        `is {}, a share, while ${top.where.replace(` of ${name}`, "")} is ${top.text}, a percentage; one unit in a ` +
          "file is allowed (divide percentages by 100)",
      );
    }
    return fine && top ? (top.value > 1 ? "percent" : "shares") : null;
  }

  /** Numbers that are no accuracies of tasks: of single queries, of rows, counts of right answers, and copies. */
  function checkColumnsOfValues(name, by, unit, long, refuse) {
    const columns = [...by].map(([method, of]) => [method, of.map(({ value }) => value)]),
      all = columns.flatMap(([, x]) => x);
    const right = unit === "shares" ? 1 : 100,
      varies = columns.some(([, x]) => new Set(x).size > 1);
    if (varies && all.every((v) => v === 0 || v === right)) {
      refuse(
        `${name} holds only 0 and ${right}, as single queries do; the accuracy of each task is needed: average ` +
          "them by task, or add columns task and query, and they are averaged here",
      );
      return;
    }
    for (const [method, x] of long ? [] : columns) {
      if (x.length > 2 && x.every((v, i) => !i || v - x[i - 1] === 1)) {
        refuse(
          `column ${method} of ${name} counts the rows; name it task, or leave it out (--drop ${quoted([method])})`,
          `--drop ${quoted([method])}`,
        );
      }
    }
    const counts = columns.filter(([, x]) => x.every((v) => v % 1 === 0)).map(([method]) => method);
    if (unit === "percent" && counts.length && all.some((v) => v % 100)) {
      refuse(
        `${counts.join(", ")} of ${name} ${counts.length === 1 ? "has" : "have"} whole numbers alone, as counts of ` +
          "right answers are; say what a full score is (--out-of 100 for percent, --out-of 75 for 75 queries), or " +
          `leave out what is no accuracy (--drop ${quoted(counts)})`,
      );
    }
    const copies = columns.reduce((sum, [, x]) => sum + repeated(x), 0);
    if (copies) {
      refuse(
        `${grouped(copies)} of ${grouped(all.length)} accuracies of ${name} repeat those above them, task by task; ` +
          "say what they are: --repeats copies leaves them out, --repeats tasks keeps them, and training runs are " +
          "named in a column run",
      );
    }
  }

  /** Puts the entries of all methods in the order of the same tasks; how many there are. */
  function checkGrid(name, by, numeric, refuse) {
    const key = ({ task }) => (numeric ? Number(task) : task); // 1 and 1.0 are one task
    const tasks = new Map(),
      twice = [];
    for (const of of by.values()) for (const entry of of) if (!tasks.has(key(entry))) tasks.set(key(entry), tasks.size);
    for (const [method, of] of by) {
      const rows = new Map();
      for (const entry of of) {
        if (rows.has(key(entry))) {
          twice.push(
            `method ${method} of ${name} has task ${entry.task} twice (rows ${rows.get(key(entry))} and ` +
              `${entry.row})`,
          );
        }
        rows.set(key(entry), entry.row);
      }
      const lost = [...tasks.keys()].filter((task) => !rows.has(task));
      if (lost.length) {
        refuse(
          `method ${method} of ${name} lacks ${lost.length} of ${tasks.size} tasks (the first: ${lost[0]}); bring ` +
            "the same tasks for every method, or use those that all share (--common)",
        );
      }
      of.sort((a, b) => tasks.get(key(a)) - tasks.get(key(b)));
    }
    if (twice.length) refuse(twice[0] + (twice.length > 1 ? ` (and ${grouped(twice.length - 1)} more like it)` : ""));
    if (tasks.size < 2) refuse(`${name}: ${tasks.size} task for every method; it needs 2 or more`);
    return tasks.size;
  }

  Object.assign(report, { read, quoted, round9 });
})();
