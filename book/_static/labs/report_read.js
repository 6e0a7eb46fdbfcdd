// A table with a row per measurement, whose columns are named by words of fslcore/report/vocabulary.py (in report_columns.js), as rows, and what
// they are a sample of. A column that varies and has no such name is refused: the command asks what it is.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report, { DECLARED } = report;

  const MOST_BYTES = 2e7;
  const ENDINGS = [".csv", ".tsv", ".txt"];
  const SEPARATORS = ["\t", ";", ","];
  const PLACE_KEYS = ["dataset", "ways", "shots", "queries", "sampling"];
  const UNIT_KEYS = ["task", "item", "class"];
  const READ = new Set(["method", "value", "task", "seed", ...PLACE_KEYS]);
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const EMPTY_CELLS = new Set(DECLARED.EMPTY_CELLS), SUMMARIES = new Set(DECLARED.SUMMARIES);

  /** What a file holds that has no true reading here; `option` is what the command needs to read it. */
  class Refusal extends Error {
    constructor(message, option = "") {
      super(message);
      this.option = option;
    }
  }

  const shellWord = name => (/^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replace(/'/g, "'\"'\"'")}'`);
  const distinct = (rows, key) => [...new Set(rows.map(row => row[key]))];
  /** Groups of rows by their values of some keys, in order of appearance. */
  const grouped = (rows, keys) => [...Map.groupBy(rows, row => JSON.stringify(keys.map(key => row[key]))).values()];

  /** A column's name as it is compared: lower case, without blanks, separators and remarks. */
  const plainName = name => name.replace(/[([].*?[)\]]|[%↑↓]/g, "").replace(/[\s_\-/.]+/g, "").toLowerCase();
  const roleOf = name => DECLARED.ROLES[plainName(name)];

  /** The cells of a line; quoted ones may hold the separator. */
  function splitLine(line, separator) {
    const cells = line.match(new RegExp(`\\s*"(?:[^"]|"")*"[^${separator}]*|[^${separator}]+|(?<=^|[${separator}])(?=[${separator}]|$)`, "g"));
    return cells.map(cell => cell.trim().replace(/^"(.*)"$/, "$1").replaceAll('""', '"'));
  }

  /** The names of a file's columns, and its rows of as many cells. */
  function cellsOf({ name, bytes }) {
    if (!ENDINGS.some(ending => name.toLowerCase().endsWith(ending))) throw new Refusal(`${name}: ${ENDINGS.join(", ")} are read on this page`);
    if (bytes.length > MOST_BYTES) throw new Refusal(`${name} has over 20 MB, and this page reads no more`);
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch (error) {
      throw new Refusal(`${name} is no text in UTF-8, which this page reads`);
    }
    const lines = text.split(/\r\n|\n|\r/).filter(line => line.trim());
    if (lines.length < 2) throw new Refusal(`${name} has no rows`);
    const separator = SEPARATORS.find(sign => lines[0].includes(sign));
    if (!separator) throw new Refusal(`${name} has one column; columns for the method, the task and the accuracy are needed`);
    const [names, ...rows] = lines.map(line => splitLine(line, separator));
    const uneven = rows.findIndex(cells => cells.length !== names.length);
    if (uneven >= 0) throw new Refusal(`row ${uneven + 1} of ${name} has ${rows[uneven].length} cells and its first line ${names.length}`);
    return { names, rows, hasCommas: separator === ";" };
  }

  /** Each column that varies by its role: no role, or two columns of one, is refused. */
  function rolesOf({ names, rows }, file) {
    const columns = names.map((name, index) => ({ name, index, role: roleOf(name), varies: new Set(rows.map(cells => cells[index])).size > 1 }));
    const used = columns.filter(({ role, varies }) => varies || role === "method" || role === "value");
    const nameless = used.filter(({ role }) => !role).map(({ name }) => name);
    if (nameless.length) {
      throw new Refusal(`${file}: ${nameless.join(", ")} ${nameless.length > 1 ? "have" : "has"} no role. This page reads columns that are called method, `
        + "accuracy and task, dataset or seed; the command says what others could be");
    }
    for (const { role, name } of used) {
      if (used.filter(other => other.role === role).length > 1) throw new Refusal(`${file}: two columns hold a ${role}, such as ${name}`);
      if (!READ.has(role)) throw new Refusal(`${file}: ${name}: the command reads it, and this page does not`);
    }
    const roles = new Map(used.map(({ role, index }) => [role, index]));
    for (const [role, word] of [["method", "method"], ["value", "accuracy"]]) {
      if (!roles.has(role)) throw new Refusal(`${file}: no column is called ${word}`);
    }
    return roles;
  }

  /** Rows of method, accuracy and keys; empty values are left out. */
  function rowsOf(table, roles, file, notes) {
    const keys = [...roles].filter(([role]) => role !== "value");
    const rows = table.rows.flatMap((cells, i) => {
      const text = cells[roles.get("value")].replace("−", "-"), number = table.hasCommas ? text.replace(",", ".") : text;
      if (EMPTY_CELLS.has(text.toLowerCase())) return [];
      if (!NUMBER.test(number)) throw new Refusal(`accuracy in row ${i + 1} is ${text}; a number is needed, or nan where a value is missing`);
      return [{ accuracy: Number(number), ...Object.fromEntries(keys.map(([role, index]) => [role, cells[index]])) }];
    });
    if (!rows.length) throw new Refusal(`${file}: no row has a value`);
    if (rows.length < table.rows.length) notes.push(`${table.rows.length - rows.length} empty values are left out.`);
    return rows;
  }

  /** Accuracies in percent. */
  function scale(rows, file, notes) {
    const values = rows.map(row => row.accuracy), highest = values.reduce((a, b) => Math.max(a, b)), full = highest <= 1 ? 1 : 100;
    const outside = values.find(value => value < 0 || value > full);
    if (outside !== undefined) throw new Refusal(`${file} has the value ${outside}, and accuracies go from 0 to ${full}`);
    const small = values.find(value => value > 0 && value < 1);
    if (full === 100 && small !== undefined) throw new Refusal(`${file} has the values ${small} and ${highest}: shares and percent are mixed`, "--out-of 100");
    if (full === 1 && values.some(value => value % 1)) notes.push("Values from 0 to 1 are read as shares.");
    rows.forEach(row => (row.accuracy *= 100 / full));
  }

  const isSummary = name => (name.toLowerCase().match(/\p{L}+/gu) || ["-"]).every(word => SUMMARIES.has(word));

  /** What the rows are a sample of. */
  function shapeOf(rows, file) {
    const keys = ["method", "task", "seed", ...PLACE_KEYS].filter(key => key in rows[0]), several = key => key in rows[0] && distinct(rows, key).length > 1;
    if (grouped(rows, keys).length < rows.length) throw new Refusal(`${file}: rows have the same ${keys.join(", ")}; the command says what may tell them apart`);
    if (several("task") && several("seed")) throw new Refusal("what a seed numbers has to be said", "--seed runs");
    if (several("task") && rows.every(row => row.accuracy === 0 || row.accuracy === 100)) {
      throw new Refusal("these are right or wrong answers, which the command compares and this page does not");
    }
    if (several("task")) return "tasks";
    if (several("seed")) return several("dataset") ? "data sets and seeds" : "seeds";
    if (several("dataset")) return "data sets";
    throw new Refusal("one number per method: nothing shows how much it varies. Bring a row per task, per seed or per data set");
  }

  /** What was read, in one sentence. */
  function reading(rows, table, roles) {
    const words = { task: ["task", "tasks"], seed: ["seed", "seeds"], dataset: ["data set", "data sets"], ways: ["", "numbers of ways"],
      shots: ["", "numbers of shots"], queries: ["", "numbers of queries"], sampling: ["", "kinds of sampling"] };
    const found = Object.keys(words).filter(key => roles.has(key) && (distinct(rows, key).length > 1 || !PLACE_KEYS.includes(key)));
    const counts = found.map(key => {
      const count = distinct(rows, key).length, name = table.names[roles.get(key)], [one, many] = words[key];
      return `${count} ${count === 1 ? one : many}${plainName(name) === key ? "" : ` (${name})`}`;
    });
    const methods = distinct(rows, "method").length;
    const parts = [`${methods} method${methods === 1 ? "" : "s"} (column ${table.names[roles.get("method")]})`, ...counts, "accuracy in percent"];
    return `Read: ${parts.join(", ")}.`;
  }

  /**
   * A file {name, bytes} as {name, shape, rows, reading}: rows hold method, accuracy in percent and the keys of their place and unit. A file without a true
   * reading here throws a Refusal.
   */
  function read(file) {
    const notes = [], table = cellsOf(file), roles = rolesOf(table, file.name);
    let rows = rowsOf(table, roles, file.name, notes);
    scale(rows, file.name, notes);
    for (const key of ["task", "dataset", "method", "seed"]) {
      const summaries = key in rows[0] ? distinct(rows, key).filter(isSummary) : [];
      if (summaries.length && summaries.length < distinct(rows, key).length) {
        notes.push(`Left out, as a summary of the others: ${summaries.sort().join(", ")}.`);
        rows = rows.filter(row => !summaries.includes(row[key]));
      }
    }
    const shape = shapeOf(rows, file.name);
    return { name: file.name, shape, rows, reading: [reading(rows, table, roles), ...notes] };
  }

  /** By method, its values by unit: what `rows` of one place hold. */
  function gridOf(rows, unit) {
    const valuesOf = ([method, rowsOfMethod]) => [method, new Map(rowsOfMethod.map(row => [row[unit], row.accuracy]))];
    return new Map([...Map.groupBy(rows, row => row.method)].map(valuesOf));
  }

  Object.assign(report, { PLACE_KEYS, UNIT_KEYS, Refusal, read, gridOf, grouped, distinct, shellWord });
})();
