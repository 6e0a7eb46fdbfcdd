// Columns of a results file laid out as the one long table: fslcore/tools/report/tables.py by the same rules, with the same
// notes and errors.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report;
  const { python } = report;
  const { byCodePoint, like, repr, strip, text } = python;
  const { fail, quote, refuseCounts, refuseLastRow, refuseNames, refuseRepeats, refuseSeeds } = report.checks;
  const { uniques, wordsOfAccuracy } = report.checks;

  const SHARED = { dataset: "str", sampling: "str", ways: "int", shots: "int", queries: "int", seed: "int" };
  const NAMES = ["method", "backbone", "learner"];
  const OF_CELL = ["run", "task", "query"]; // which training, task and query a row is of
  const KNOWN = new Set([...Object.keys(SHARED), ...NAMES, ...OF_CELL, "accuracy"]);
  const LEAST = { ways: 1, shots: 1, queries: 1, seed: 0 };
  const INDEX = /^(|Unnamed: \d+|index|level_\d+|nan|None)$/;
  // A name that ends with the number of a training: what stands before, and the number.
  const NUMBERED = /^(?:(.+?)[-_./\\ ]+(?:seed|run|s|r)?|(.+?)(?:seed|run)|(?:seed|run|s|r)?)[-_.= ]*(\d+)$/i;
  const COMPARED = 400; // methods of a setting
  const MANY = 40; // names in one line

  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const empty = (value) => value === null || (typeof value === "number" && Number.isNaN(value));
  const plural = (n) => (n !== 1 ? "s" : "");

  /** Whose task a row is of: the method's, or where it was trained several times, that run's of the method. */
  const memberOf = (table, i) => table.method[i] + (table.run ? `, run ${table.run[i]}` : "");

  function listed(names) {
    const more = names.length > MANY ? ` and ${names.length - MANY / 2} more` : "";
    return (more ? names.slice(0, MANY / 2) : names).join(", ") + more;
  }

  /** A file's name without its ending, as Python's Path.stem. */
  function stemOf(name) {
    const dot = name.lastIndexOf(".");
    return dot > 0 && dot < name.length - 1 ? name.slice(0, dot) : name;
  }

  // ---------------------------------------------------------------- columns

  /** A column's name without blanks around it; known ones in lower case, or Task would be a method. */
  function plain(column) {
    const name = strip(column);
    return KNOWN.has(name.toLowerCase()) ? name.toLowerCase() : name;
  }

  function typed(column, name) {
    const kind = SHARED[column.name],
      wrong = () => fail(`results: column ${column.name} of ${name} must hold ${kind} values in every row`);
    if (column.values.some(empty)) wrong();
    if (kind === "str") return { ...column, kind: "object", values: column.values.map((v) => text(v, column.kind)) };
    if (column.kind === "object") wrong();
    const values = column.values.map(Number);
    if (values.some((v) => !(Math.abs(v) < 2 ** 63) || v % 1)) wrong();
    const low = values.findIndex((v) => v < LEAST[column.name]);
    if (low >= 0) {
      fail(
        `results: ${column.name} in row ${low + 1} of ${name} is ${values[low]}; a whole number of at least ` +
          `${LEAST[column.name]} is allowed`,
      );
    }
    return { ...column, kind: "int", values };
  }

  /** What the trainings are called, as text. */
  function runsOf(column, name) {
    const { values, kind } = column,
      missing = values.findIndex(empty);
    if (missing >= 0) fail(`results: column run of ${name} is empty in row ${missing + 1}`);
    if (kind === "float") {
      const part = values.findIndex((v) => v % 1 !== 0);
      if (part >= 0) {
        fail(
          `results: run in row ${part + 1} of ${name} is ${repr(values[part])}; the name or number of a training run ` +
            "is needed",
        );
      }
      return { ...column, kind: "object", values: values.map((v) => text(v, "int")) };
    }
    return { ...column, kind: "object", values: values.map((v) => text(v, kind)) };
  }

  /** Without columns that nobody named: row numbers that were saved along, and empty ones. */
  function withoutIndex(frame, name, notes) {
    if (frame.has("accuracy") && NAMES.some((c) => frame.has(c))) return;
    for (const column of [...frame.columns.values()].filter((c) => INDEX.test(c.name))) {
      const { values, kind } = column;
      const counts =
        kind !== "object" &&
        frame.rows > 0 &&
        values.every((v, i) => Number(v) === Number(values[0]) || (i > 0 && Number(v) - Number(values[i - 1]) === 1));
      if (!counts && values.some((v) => !empty(v))) {
        fail(
          `results: column '${column.name}' of ${name} looks like an index, not a method; name it task, or leave it ` +
            `out (--drop '${column.name}')`,
        );
      }
      notes.push(`Not read: column '${column.name}', which ${counts ? "counts the rows" : "is empty"}.`);
      frame.columns.delete(column.name);
    }
  }

  /** The only column of accuracies, where nothing names its method; each of several files may call it acc, say. */
  function nameless(frame, several) {
    const others = [...frame.columns.keys()].filter((c) => c in SHARED || OF_CELL.includes(c)),
      own = [...frame.columns.keys()].filter((c) => !others.includes(c));
    const rows = Array.from({ length: frame.rows }, (_, i) => JSON.stringify(others.map((c) => frame.get(c).values[i])));
    if (own.length !== 1 || (frame.has("task") && new Set(rows).size < frame.rows)) return null; // methods are told apart
    const plainly = several && (own[0] === "method 1" || wordsOfAccuracy(own[0]));
    return own[0] === "accuracy" || plainly ? own[0] : null;
  }

  const numeric = (value) => {
    if (typeof value === "number") return value;
    if (typeof value === "boolean") return Number(value);
    if (value === null) return NaN;
    const bare = strip(value);
    if (/^[+-]?inf(inity)?$/i.test(bare)) return bare[0] === "-" ? -Infinity : Infinity;
    const found = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare) ? Number(bare) : NaN;
    return Number.isFinite(found) ? found : NaN;
  };

  function numbersOf(values) {
    const out = new Float64Array(values.length);
    for (let i = 0; i < out.length; i++) out[i] = numeric(values[i]);
    return out;
  }

  // ---------------------------------------------------------------- the two formats

  // A long table here: for each row codes into lists of names, so that 400,000 rows are no burden.
  // {rows, method, task, run, query, setting (texts or null), tasks (their values), kind of tasks, accuracy, said(i)}

  function long(frame, name) {
    const who = frame.has("method") ? ["method"] : NAMES.filter((c) => frame.has(c));
    const missing = [...(who.length ? [] : ["method (or backbone, learner)"]), ...(frame.has("task") ? [] : ["task"])];
    if (missing.length) {
      fail(
        `results: ${name} has a column accuracy but lacks ${missing.join(" and ")}; task, accuracy and method are ` +
          "needed",
      );
    }
    for (const column of [...who, "task"]) {
      const at = frame.get(column).values.findIndex(empty);
      if (at >= 0) fail(`results: column ${column} of ${name} is empty in row ${frame.numbers[at]}`);
    }
    const parts = who.map((c) => frame.get(c));
    const method = Array.from({ length: frame.rows }, (_, i) => parts.map((c) => text(c.values[i], c.kind)).join(" "));
    const accuracy = frame.get("accuracy");
    const table = {
      rows: frame.rows,
      method,
      row: frame.numbers,
      cell: method.map(() => "accuracy"),
      values: accuracy.values,
      said: (i) => text(accuracy.values[i], accuracy.kind),
      task: frame.get("task").values,
      taskKind: frame.get("task").kind,
    };
    for (const c of [...Object.keys(SHARED), "run", "query"]) if (frame.has(c)) table[c] = frame.get(c).values;
    if (frame.has("query")) table.queryKind = frame.get("query").kind;
    const notes = [
      `${name} is read as a long table, a row a task of a method; a method is named by ` +
        `${who.join(" and ")}: ${listed(uniques(method))}.`,
    ];
    const kept = new Set([...Object.keys(SHARED), ...OF_CELL, "accuracy", ...who]);
    const unread = [...frame.columns.keys()].filter((c) => !kept.has(c));
    if (unread.length) notes.push(`Not read: ${listed(unread)}.`);
    return [table, notes];
  }

  function wide(frame, name) {
    const who = NAMES.find((c) => frame.has(c));
    if (who) fail(`results: ${name} has a column ${who} but lacks accuracy; it needs task and accuracy too`);
    const shared = Object.keys(SHARED).filter((c) => frame.has(c));
    const own = [...shared, ...OF_CELL.filter((c) => frame.has(c))];
    const methods = [...frame.columns.keys()].filter((c) => !own.includes(c));
    if (!methods.length) {
      fail(`results: ${name} has no column of accuracies; it needs one a method, or a column accuracy`);
    }
    checkNumber(methods.length, frame.rows, name);
    const keys = own.filter((c) => shared.includes(c) || c === "run").map((c) => frame.get(c).values);
    const of = Array.from({ length: frame.rows }, (_, i) => JSON.stringify(keys.map((values) => values[i])));
    const numbers = new Map(methods.map((m) => [m, numbersOf(frame.get(m).values)]));
    for (const [m, x] of numbers) {
      // a row number that was saved along would pass for a method
      const last = new Map(),
        steps = [];
      of.forEach((key, i) => {
        if (last.has(key)) steps.push(x[i] - last.get(key));
        last.set(key, x[i]);
      });
      const there = steps.filter((s) => !Number.isNaN(s));
      if (there.length > 1 && there.every((s) => s === 1)) {
        fail(`results: column ${m} of ${name} counts the rows; name it task, or leave it out (--drop ${quote(m)})`);
      }
    }
    const finite = new Map([...numbers].map(([m, x]) => [m, x.map((v) => (Number.isFinite(v) ? v : NaN))]));
    if (!frame.has("task")) refuseLastRow([...finite.values()], frame.rows, name);
    const counted = new Map();
    const task = frame.has("task")
      ? frame.get("task").values
      : of.map((key) => {
          counted.set(key, (counted.has(key) ? counted.get(key) : -1) + 1);
          return counted.get(key);
        });
    const missing = task.findIndex(empty);
    if (missing >= 0) fail(`results: column task of ${name} is empty in row ${frame.numbers[missing]}`);
    if (frame.has("query") && !frame.has("task")) {
      fail(`results: ${name} has a column query but lacks task; it needs both`);
    }
    const repeat = (values) => [].concat(...methods.map(() => Array.from(values)));
    const cell = [].concat(...methods.map((m) => new Array(frame.rows).fill(m)));
    const columns = methods.map((m) => frame.get(m));
    // Whole numbers beside fractions become fractions; beside texts each stays what it is.
    const mixed = columns.some((c) => c.kind === "object" || c.kind === "bool");
    const all = !mixed && columns.some((c) => c.kind === "float") ? "float" : null;
    const table = {
      rows: cell.length,
      method: cell,
      cell,
      row: repeat(frame.numbers),
      values: [].concat(...columns.map((c) => c.values)),
      said: (i) => {
        const c = columns[Math.floor(i / frame.rows)];
        return text(c.values[i % frame.rows], all || c.kind);
      },
      task: repeat(task),
      taskKind: frame.has("task") ? frame.get("task").kind : "int",
    };
    for (const c of own) if (c !== "task") table[c] = repeat(frame.get(c).values);
    if (frame.has("query")) table.queryKind = frame.get("query").kind;
    const notes = [`${name} is read as a wide table, a row a task and a column a method: ${listed(methods)}.`];
    if (!frame.has("task")) {
      notes.push(
        "No column says which task a row is: the rows are taken as tasks in their order, the same for every " +
          "method.",
      );
    }
    return [table, notes];
  }

  function checkNumber(methods, tasks, name) {
    if (methods > COMPARED) {
      fail(
        `results: ${name} has ${grouped(methods)} methods and ${grouped(tasks)} tasks; up to ${COMPARED} methods are ` +
          "compared at once (leave some out, or transpose it: a row a task, a column a method)",
      );
    }
  }

  // ---------------------------------------------------------------- the one long table

  /** Only these rows. */
  function keep(table, test) {
    const at = [];
    for (let i = 0; i < table.rows; i++) if (test(i)) at.push(i);
    if (at.length === table.rows) return table;
    const out = { ...table, rows: at.length, said: (i) => table.said(at[i]) };
    for (const [key, values] of Object.entries(table)) {
      if (Array.isArray(values) || ArrayBuffer.isView(values)) out[key] = at.map((i) => values[i]);
    }
    return out;
  }

  function samplingOf(table, told, name) {
    if (!table.sampling) return new Array(table.rows).fill(told);
    const bad = table.sampling.findIndex((s) => s !== "open" && s !== "closed");
    if (bad >= 0) {
      fail(
        `results: sampling in row ${table.row[bad]} of ${name} is ${table.sampling[bad]}; open and closed are allowed`,
      );
    }
    const other = told === "unknown" ? -1 : table.sampling.findIndex((s) => s !== told);
    if (other >= 0) {
      fail(`sampling = ${told}; row ${table.row[other]} of ${name} says ${table.sampling[other]}`);
    }
    return table.sampling;
  }

  /** The data set, and whatever else tells the tasks of one row from those of another. */
  function settingOf(table) {
    const form = {
      sampling: (v) => v,
      ways: (v) => `${v}-way`,
      shots: (v) => `${v}-shot`,
      queries: (v) => `${v} queries`,
      seed: (v) => `seed ${v}`,
    };
    const varied = Object.keys(form).filter((c) => table[c] && new Set(table[c]).size > 1);
    return table.dataset.map((d, i) => [d, ...varied.map((c) => form[c](table[c][i]))].join(", "));
  }

  /** A row a task where a column says which query a row is; values of queries that pass for tasks are refused. */
  function tasksOfQueries(table, name, notes) {
    const numbers = numbersOf(table.values);
    let top = -Infinity;
    for (const v of numbers) if (v > top) top = v;
    const binary = numbers.every((v, i) => v === 0 || v === top || (Number.isNaN(v) && empty(table.values[i])));
    if (!table.query) {
      const seen = new Map();
      if (binary && (top === 0 || top === 1 || top === 100)) {
        numbers.forEach((v, i) => {
          if (!seen.has(table.method[i])) seen.set(table.method[i], new Set());
          if (!Number.isNaN(v)) seen.get(table.method[i]).add(v);
        });
      }
      if ([...seen.values()].some((of) => of.size > 1)) {
        const how =
          new Set(keysOf(table)).size < table.rows
            ? "name the queries in a column query"
            : "add columns task and query";
        fail(
          `results: ${name} holds only 0 and ${top}, as single queries do; the accuracy of each task is needed: ` +
            `average them by task, or ${how}, and they are averaged here`,
        );
      }
      return table;
    }
    const bad = numbers.findIndex(Number.isNaN);
    if (bad >= 0) {
      fail(
        `results: ${table.cell[bad]} in row ${table.row[bad]} of ${name} is ${table.said(bad)}; a number for each query ` +
          "is needed",
      );
    }
    const groups = new Map(),
      queries = new Set(),
      keys = keysOf(table),
      whole = keysOf(table, "query");
    for (let i = 0; i < table.rows; i++) {
      const key = keys[i];
      if (queries.has(whole[i])) {
        fail(
          `results: method ${table.method[i]} has query ${text(table.query[i], table.queryKind)} of task ` +
            `${text(table.task[i], table.taskKind)} twice (row ${table.row[i]} of ${name})`,
        );
      }
      queries.add(whole[i]);
      if (!groups.has(key)) groups.set(key, { first: i, sum: 0, size: 0 });
      const of = groups.get(key);
      of.sum += numbers[i];
      of.size += 1;
    }
    const of = [...groups.values()],
      sizes = uniques(of.map((g) => g.size)).sort((a, b) => a - b);
    const first = new Set(of.map((g) => g.first));
    const out = keep(table, (i) => first.has(i));
    out.values = of.map((g) => g.sum / g.size);
    out.said = (i) => repr(out.values[i]);
    delete out.query;
    const shown = sizes.length > 1 ? `${sizes[0]} to ${sizes[sizes.length - 1]}` : sizes[0];
    notes.push(`Column query: the accuracy of a task is the mean of its ${shown} queries.`);
    return out;
  }

  /** Values as whole numbers from 0, equal ones alike. */
  function coded(values) {
    const at = new Map();
    const codes = new Int32Array(values.length);
    for (let i = 0; i < codes.length; i++) {
      let code = at.get(values[i]);
      if (code === undefined) at.set(values[i], (code = at.size));
      codes[i] = code;
    }
    return { codes, size: at.size };
  }

  /** Of each row a number that tells its task of a method (and a column more) from all others. */
  function keysOf(table, more) {
    const whole = table.setting ? ["setting"] : Object.keys(SHARED);
    const columns = [...whole, "method", "run", "task", ...(more ? [more] : [])].filter((c) => table[c]);
    const parts = columns.map((c) => coded(table[c]));
    const keys = new Float64Array(table.rows);
    for (const { codes, size } of parts) for (let i = 0; i < keys.length; i++) keys[i] = keys[i] * size + codes[i];
    return keys;
  }

  /** Accuracies as numbers in percent. */
  function toPercent(table, name, common, notes) {
    const numbers = numbersOf(table.values);
    const refuse = (test, what) => {
      const at = numbers.findIndex((v, i) => test(v, i)),
        others = numbers.reduce((n, v, i) => n + (test(v, i) ? 1 : 0), -1),
        more = others > 0 ? ` (and ${grouped(others)} more like it)` : "";
      if (at >= 0) fail(`results: ${table.cell[at]} in row ${table.row[at]} of ${name} ${what(table.said(at))}${more}`);
    };
    refuse(
      (_, i) => typeof table.values[i] === "boolean",
      (v) => `is ${v}; a number is needed`,
    );
    refuse(
      (v, i) => Number.isNaN(v) && !empty(table.values[i]),
      (v) => `is ${v}; a number is needed`,
    );
    refuse(
      (v) => !Number.isNaN(v) && !(v >= 0 && v <= 100),
      (v) => `is ${v}; 0 to 1 (shares) or 0 to 100 (percent) is allowed`,
    );
    if (!common) {
      refuse(Number.isNaN, () => "is empty; fill it, or use the tasks that all methods share (--common)");
    }
    let top = 0;
    numbers.forEach((v, i) => {
      if (v > numbers[top] || Number.isNaN(numbers[top])) top = i;
    });
    const shares = !(numbers[top] > 1);
    if (!shares) {
      refuseCounts(table, numbers, name);
      refuse(
        (v) => v > 0 && v <= 1,
        (v) =>
          `is ${v}, a share, while ${table.cell[top]} in row ${table.row[top]} is ` +
          `${table.said(top)}, a percentage; one unit in a file is allowed (divide percentages by 100)`,
      );
    }
    notes.push(
      shares
        ? "No accuracy is above 1: they are read as shares and shown in percent."
        : "Accuracies go beyond 1: they are read as percentages.",
    );
    const missing = numbers.reduce((n, v) => n + Number.isNaN(v), 0);
    if (missing) notes.push(`Empty cells left out: ${missing}.`);
    return numbers.map((v) => v * (shares ? 100 : 1));
  }

  /** By setting (in order) its rows; the same tasks for every method of each. */
  function aligned(table, common, notes) {
    const everybody = uniques(table.method),
      bySetting = new Map();
    for (let i = 0; i < table.rows; i++) {
      if (!bySetting.has(table.setting[i])) bySetting.set(table.setting[i], []);
      bySetting.get(table.setting[i]).push(i);
    }
    const settings = [...bySetting.keys()].sort(byCodePoint),
      parts = [];
    const task = coded(table.task),
      who = coded(table.run ? Array.from({ length: table.rows }, (_, i) => memberOf(table, i)) : table.method);
    for (const setting of settings) {
      const rows = bySetting.get(setting),
        methods = uniques(rows.map((i) => table.method[i]));
      const count = new Int32Array(task.size), // rows of each task, of which each is of another member
        has = new Int32Array(who.size);
      for (const i of rows) {
        count[task.codes[i]] += 1;
        has[who.codes[i]] += 1;
      }
      const tasks = count.filter((n) => n).length,
        members = has.filter((n) => n).length,
        kept = count.filter((n) => n === members).length;
      checkNumber(methods.length, tasks, setting);
      const full = rows.filter((i) => count[task.codes[i]] === members);
      if (kept < tasks && !common) {
        const names = new Map(rows.map((i) => [memberOf(table, i), who.codes[i]]));
        let worst = null;
        for (const one of [...names.keys()].sort(byCodePoint)) {
          if (worst === null || has[names.get(one)] < has[names.get(worst)]) worst = one;
        }
        const own = new Set(rows.filter((i) => who.codes[i] === names.get(worst)).map((i) => task.codes[i]));
        const first = rows.find((i) => !own.has(task.codes[i]));
        fail(
          `results: ${setting}: method ${worst} lacks ${tasks - own.size} of ${tasks} tasks (the first: ` +
            `${text(table.task[first], table.taskKind)}); bring the same tasks for ` +
            `${table.run ? "every run of every method" : "every method"}, or use those that all share (--common)`,
        );
      }
      if (kept < 2) fail(`results: ${setting}: ${kept} task${plural(kept)} for every method; it needs 2 or more`);
      if (kept < tasks) {
        notes.push(`${setting}: ${tasks - kept} of ${tasks} tasks are left out, since not every method has them.`);
      }
      const absent = everybody.filter((m) => !methods.includes(m));
      if (absent.length) notes.push(`${setting}: no results of ${listed(absent)}.`);
      if (table.run) {
        const runs = new Map(methods.map((m) => [m, new Set()]));
        for (const i of rows) runs.get(table.method[i]).add(table.run[i]);
        const alone = [...runs.keys()].sort(byCodePoint).filter((m) => runs.get(m).size === 1);
        if (alone.length) {
          notes.push(`${setting}: one run of ${listed(alone)}, so nothing can be said of new runs of it.`);
        }
      }
      if (methods.length === 1) notes.push(`${setting}: one method only, so no comparison is possible.`);
      parts.push([setting, full]);
    }
    if (parts.length > 1) {
      notes.push(
        "Methods are compared where data set, sampling, ways, shots, queries and seed are the same: " +
          `${parts.length} settings, each on its own.`,
      );
    }
    return parts;
  }

  /** A text with each control character as its escape, as Python writes it; not the two that join letters. */
  const visible = (text) =>
    text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (sign) => {
      if ("\u200c\u200d".includes(sign)) return sign;
      const code = sign.codePointAt(0),
        hex = code.toString(16),
        short = { "\t": "\\t", "\n": "\\n", "\r": "\\r" }[sign];
      return short ?? (code < 256 ? `\\x${hex.padStart(2, "0")}` : code < 65536 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`);
    });

  /** A column whose name, and the names in whose cells, hold no control characters. */
  function visibleColumn(column, file) {
    const shown = (v) => (typeof v === "string" && visible(strip(v)) !== strip(v) ? visible(strip(v)) : v),
      made = { ...column, name: shown(column.name) };
    if (!KNOWN.has(plain(made.name)) || !column.values.some((v) => shown(v) !== v)) return made;
    made.values = column.values.map(shown);
    if (new Set(made.values).size < new Set(column.values).size) {
      fail(
        `results: two names in column ${made.name} of ${file} would both be shown as ` +
          `${made.values.find((v, i) => v !== column.values[i])}; give one of them another name`,
      );
    }
    return made;
  }

  /** A row a task of a method, with notes and all names that can be dropped; accuracies as they were written. */
  function* laidOut({ columns: before, ...found }, name, holds, several, drop) {
    found.columns = before.map((column) => visibleColumn(column, name));
    const notes = [],
      columns = new Map(),
      known = new Set(found.columns.map((c) => c.name));
    for (const column of found.columns) {
      const own = plain(column.name);
      if (columns.has(own)) fail(`results: ${name} has two columns ${own}`);
      // Spreadsheets keep blanks that nobody sees.
      const bare = (v) => (typeof v === "string" ? strip(v) || null : v),
        names = KNOWN.has(own) && own !== "accuracy" && column.kind === "object";
      columns.set(own, { ...column, name: own, values: names ? column.values.map(bare) : column.values });
      known.add(own);
    }
    if (!found.rows) fail(`results: ${name} has no rows`);
    let frame = {
      columns,
      rows: found.rows,
      numbers: Array.from({ length: found.rows }, (_, i) => i + 1),
      has: (c) => columns.has(c),
      get: (c) => columns.get(c),
    };
    for (const c of Object.keys(SHARED)) if (frame.has(c)) columns.set(c, typed(frame.get(c), name));
    for (const one of drop) columns.delete(one);
    const own = [...columns.keys()].some((c) => c === "accuracy" || !KNOWN.has(c));
    if (several && !own && drop.some((one) => known.has(one))) return { notes, known, table: { rows: 0 } };
    if (frame.has("task")) {
      const { values, kind } = frame.get("task");
      values.forEach((v) => known.add(text(v, kind)));
      if (drop.length) {
        const at = values.map((v, i) => i).filter((i) => !drop.includes(text(values[i], kind)));
        for (const [c, column] of columns) columns.set(c, { ...column, values: at.map((i) => column.values[i]) });
        frame = { ...frame, rows: at.length, numbers: at.map((i) => i + 1) };
      }
    }
    if (frame.has("run")) columns.set("run", runsOf(frame.get("run"), name));
    withoutIndex(frame, name, notes);
    const unnamed = nameless(frame, several);
    if (unnamed) {
      const called = KNOWN.has(holds.toLowerCase()) ? "method 1" : holds,
        column = columns.get(unnamed);
      columns.delete(unnamed);
      columns.set(called, { ...column, name: called });
      notes.push(`${name} names no method: it is called ${called}.`);
    }
    yield;
    const [table, more] = (frame.has("accuracy") ? long : wide)(frame, name);
    for (const m of table.method) known.add(m);
    const kept = keep(table, (i) => !drop.includes(table.method[i]));
    refuseNames(kept, name, unnamed || frame.has("backbone") || frame.has("learner"));
    return { notes: [...notes, ...more], known, table: kept };
  }

  /** The rows of one file as tasks, in percent, with how they were drawn; and notes. */
  function* inPercent(table, name, sampling, common) {
    const notes = [];
    if (!table.sampling)
      notes.push(`No column sampling: the sampling is ${sampling}${sampling !== "unknown" ? ", as told" : ""}.`);
    table.sampling = samplingOf(table, sampling, name);
    yield;
    table = tasksOfQueries(table, name, notes);
    yield;
    table.accuracy = toPercent(table, name, common, notes);
    refuseRepeats(table, table.accuracy, name);
    yield;
    return [keep(table, (i) => !Number.isNaN(table.accuracy[i])), notes];
  }

  /** Files whose tasks are told apart by other columns than those of the rest: nothing would be compared. */
  function refuseOtherColumns(files, sampling) {
    for (const column of [...Object.keys(SHARED), "run"]) {
      if (column === "sampling" && sampling !== "unknown") continue;
      const has = files.find(({ table }) => table[column]),
        lacks = files.find(({ table }) => !table[column]);
      if (has && lacks) {
        const how = column === "sampling" ? ", or say it for all (--sampling)" : "";
        fail(
          `results: ${has.name} has a column ${column} and ${lacks.name} has none; give it to every file${how}, or leave it ` +
            `out (--drop ${column})`,
        );
      }
    }
  }

  /** What stands before the number of a training, which may be nothing, and the number; null of other names. */
  function numbered(name) {
    const found = NUMBERED.exec(name);
    return found && [found[1] || found[2] || "", found[3]];
  }

  /** Of files that hold a training run each: with a column run, from the number that a name ends with. */
  function ofRuns(frames, names, called) {
    if (frames.length < 2) {
      fail("runs = True; one file is given, and each is to be a training run: two or more are needed");
    }
    frames.forEach((frame, k) => {
      if (frame.columns.some(({ name }) => strip(name).toLowerCase() === "run")) {
        fail(`runs = True; ${names[k]} has a column run; its name can tell the run where it has none`);
      }
      const stem = stemOf(names[k]),
        [what, run] = numbered(stem) || [stem, stem];
      called[k] = what || "method";
      for (const column of frame.columns.filter(({ name }) => strip(name).toLowerCase() === "backbone")) {
        column.values = column.values.map((v) => text(v, column.kind).split(":")[0]); // the weights are the run's
        column.kind = "object";
      }
      frame.columns.push({ name: "run", kind: "object", values: new Array(frame.rows).fill(run) });
    });
  }

  /** A note on methods that are called after files whose names differ in a number alone. */
  function perhapsRuns(called) {
    const of = new Map();
    for (const name of called) {
      const found = numbered(name);
      if (found) of.set(found[0], [...(of.get(found[0]) || []), name]);
    }
    const alike = [...of.values()].filter((names) => names.length > 1).flat(),
      how = "if files are training runs of one method, say so (--runs)";
    return alike.length ? [`${listed(alike)} are methods of their own here; ${how}.`] : [];
  }

  /** Name the data sets of files that do not, and say how: they are of one, unless a method comes again. */
  function dataSets(files) {
    const of = new Map(),
      ofRun = Boolean(files[0].table.run);
    for (const { name, table } of files) {
      const who = Array.from({ length: table.rows }, (_, i) => memberOf(table, i));
      for (const m of uniques(who)) of.set(m, [...(of.get(m) || []), name]);
    }
    const [again] = [...of.keys()].filter((m) => of.get(m).length > 1),
      one = files.length > 1 && again === undefined;
    for (const { holds, table } of files) {
      table.dataset = new Array(table.rows).fill(one ? `${files.length} files` : holds);
    }
    const what = ofRun ? "run of a method" : "method",
      each = ofRun ? "their names tell the data sets" : "each file is a data set of its own";
    return one
      ? [`No file names its data set, and no ${what} is in two: they are one data set.`]
      : [`No file names its data set, and ${again}${ofRun ? "," : ""} is in several: ${each}.`];
  }

  /** The rows of all files below one another. */
  function joined(files) {
    const tables = files.map(({ table }) => table),
      kinds = new Set(tables.map((t) => t.taskKind)),
      taskKind = kinds.size === 1 ? tables[0].taskKind : kinds.has("object") ? "object" : "float";
    const out = { rows: tables.reduce((n, t) => n + t.rows, 0), taskKind };
    for (const c of ["method", "row", "task", "run", "accuracy", ...Object.keys(SHARED)]) {
      if (tables.every((t) => t[c])) out[c] = [].concat(...tables.map((t) => Array.from(t[c])));
    }
    out.file = [].concat(...files.map(({ name, table }) => new Array(table.rows).fill(name)));
    if (taskKind === "object")
      out.task = [].concat(...tables.map((t) => t.task.map((v) => text(v, t.taskKind === "object" ? undefined : t.taskKind))));
    return out;
  }

  /**
   * `fslcore.tools.report.read` of files {bytes, name}, as a generator: {settings: [{setting, dataset, sampling, …, tasks, methods: [{name,
   * runs: [[run, Float64Array of accuracies in percent]]}]}], notes}, methods in the order of the files; throws InputError.
   */
  function* reader(files, { sampling = "unknown", common = false, drop = [], runs = false } = {}) {
    const several = files.length > 1,
      names = files.map(({ name }) => name),
      stems = names.map(stemOf),
      called = [...(new Set(stems).size < names.length ? names : stems)],
      whole = several ? `the ${names.length} files` : names[0];
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice !== undefined) fail(`results: ${twice} is given twice; once is allowed`);
    const frames = [],
      notes = [];
    for (const { bytes, name } of files) {
      frames.push(yield* report.framing(bytes, name));
      notes.push(...frames[frames.length - 1].notes);
    }
    if (runs) ofRuns(frames, names, called);
    for (const of of [names, called, notes]) of.splice(0, of.length, ...of.map(visible));
    drop = drop.map(visible);
    const laid = [],
      known = new Set();
    for (let k = 0; k < files.length; k++) {
      laid.push(yield* laidOut(frames[k], names[k], called[k], several, drop));
      for (const one of laid[k].known) known.add(one);
    }
    const unknown = drop.find((one) => !known.has(one));
    if (unknown !== undefined) {
      fail(`drop = ${unknown}; no column, method or task of ${whole} has that name${like(unknown, known)}`);
    }
    const there = laid
      .map(({ table }, k) => ({ name: names[k], holds: called[k], table }))
      .filter(({ table }) => table.rows);
    if (!there.length) fail(`drop = ${listed(drop)}; nothing of ${whole} is left`);
    if (several) refuseOtherColumns(there, sampling);
    notes.push(...uniques(laid.flatMap((of) => of.notes)));
    if (drop.length) notes.push(`Left out, as told: ${listed(drop)}.`);
    const ofFiles = new Map();
    for (const file of there) {
      const [table, more] = yield* inPercent(file.table, file.name, sampling, common);
      file.table = table;
      for (const note of more) ofFiles.set(note, [...(ofFiles.get(note) || []), file.name]);
    }
    refuseSeeds(there, whole);
    for (const [note, of] of ofFiles) notes.push(of.length === there.length ? note : `Of ${listed(of)}: ${note}`);
    if (!there[0].table.dataset) {
      const told = dataSets(there);
      if (there.length > 1) notes.push(...told);
    }
    if (several && !there[0].table.run) {
      const methods = new Set(there.flatMap((of) => uniques(of.table.method)));
      notes.push(...perhapsRuns(called.filter((name) => methods.has(name))));
    }
    const table = joined(there);
    table.setting = settingOf(table);
    yield;
    const seen = new Map(),
      keys = keysOf(table);
    let first = null;
    for (let i = 0; i < table.rows; i++) {
      const before = seen.get(keys[i]);
      if (before === undefined) seen.set(keys[i], i);
      else if (first === null || before < first[0]) first = [before, i];
    }
    if (first) {
      const [i, j] = first,
        who = memberOf(table, i) + (table.run ? "," : ""),
        row = (at) => table.row[at] + (several ? ` of ${table.file[at]}` : ""),
        perhaps = table.file[i] !== table.file[j] && !table.run;
      fail(
        `results: ${table.setting[i]}: method ${who} has task ${text(table.task[i], table.taskKind)} twice ` +
          `(rows ${row(i)} and ${row(j)})` +
          (perhaps ? "; if each file is a training run, say so (--runs)" : ""),
      );
    }
    const parts = aligned(table, common, notes);
    yield;
    return { settings: parts.map(([setting, rows]) => gathered(table, setting, rows)), notes };
  }

  /** One setting as arrays, tasks in one order for all. */
  function gathered(table, setting, rows) {
    const tasks = new Map(),
      methods = new Map();
    for (const i of rows) if (!tasks.has(table.task[i])) tasks.set(table.task[i], tasks.size);
    for (const i of rows) {
      const run = table.run ? table.run[i] : "";
      if (!methods.has(table.method[i])) methods.set(table.method[i], new Map());
      const runs = methods.get(table.method[i]);
      if (!runs.has(run)) runs.set(run, new Float64Array(tasks.size));
      runs.get(run)[tasks.get(table.task[i])] = table.accuracy[i];
    }
    const facts = {};
    for (const c of Object.keys(SHARED)) if (table[c]) facts[c] = table[c][rows[0]];
    return {
      setting,
      ...facts,
      tasks: tasks.size,
      runs: Boolean(table.run),
      methods: [...methods].map(([name, runs]) => ({ name, runs: [...runs] })),
    };
  }

  Object.assign(report, { reader, MANY });
})();
