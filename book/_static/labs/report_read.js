// A results file as rows of measurements and what they are a sample of, by the rules and in the words of
// fslcore/report/{read,columns,shapes}.py, whose tables stand in report_columns.js.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report, { DECLARED } = report;

  const MOST_BYTES = 2e7;
  const ENDINGS = [".csv", ".tsv", ".txt", ".dat", ".md"];
  const SEPARATORS = { tab: "\t", semicolon: ";", comma: ",", bar: "|" };
  const PLACE_KEYS = ["dataset", "ways", "shots", "queries", "sampling"];
  const UNIT_KEYS = ["task", "item", "class"];
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
  const sets = (...names) => names.map(name => new Set(DECLARED[name]));
  const patterns = (...names) => names.map(name => new RegExp(`^(?:${DECLARED.patterns[name][0]})$`, DECLARED.patterns[name][1]));
  const [LOWER_IS_BETTER, OTHER_MEASURES, SUMMARIES, BESIDE_SUMMARIES, EMPTY_CELLS] =
    sets("LOWER_IS_BETTER", "OTHER_MEASURES", "SUMMARIES", "BESIDE_SUMMARIES", "EMPTY_CELLS");
  const [CELL, ROW_NAME, INDEX_NAME, TRACKED, NUMBERED_METHOD, NUMBERED_UNIT, SHOTS] =
    patterns("CELL", "ROW_NAME", "INDEX_NAME", "TRACKED", "NUMBERED_METHOD", "NUMBERED_UNIT", "SHOTS");
  const MARKUP = new RegExp(DECLARED.patterns.MARKUP[0], "g");
  const AROUND_PLUS_MINUS = new RegExp(`\\s*(${DECLARED.patterns.PLUS_MINUS[0]})\\s*`, "g");

  /** What a file holds that has no true reading here; `option` is what the command needs to read it. */
  class Refusal extends Error {
    constructor(message, option = "") {
      super(message);
      this.option = option;
    }
  }

  const shellWord = name => (/^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replace(/'/g, "'\"'\"'")}'`);
  const stemOf = name => name.replace(/(.)\.[^.]*$/, "$1");
  const thousands = count => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
  const isNumeric = values => typeof values[0] === "number";
  const isNumbering = values => isNumeric(values) && Float64Array.from(values).sort().every((value, i, sorted) => value === sorted[0] + i);

  // ---------------------------------------------------------------- names of columns

  /** A column's name as it is compared: lower case, without blanks, separators and remarks. */
  const plainName = name => name.replace(/[([].*?[)\]]|[%↑↓]/g, "").replace(/[\s_\-/.]+/g, "").toLowerCase();

  function wordsOf(name) {
    const spaced = name.replace(/([a-z])(?=[A-Z])/g, "$1 ").toLowerCase();
    return [plainName(name), ...(spaced.match(/\p{L}+\d*/gu) || [])];
  }

  const isOtherMeasure = name => wordsOf(name).some(word => OTHER_MEASURES.has(word));
  const isLowerBetter = name => wordsOf(name).some(word => LOWER_IS_BETTER.has(word));

  function isSummary(name) {
    const words = name.toLowerCase().match(/\p{L}+/gu) || [];
    return words.some(word => SUMMARIES.has(word)) && words.every(word => SUMMARIES.has(word) || BESIDE_SUMMARIES.has(word));
  }

  /** By column its meaning, where every meaning has one column at most. */
  function chosenMeanings(names) {
    const columns = new Map();
    for (const [meaning, synonyms] of Object.entries(DECLARED.SYNONYMS)) {
      const rank = name => synonyms.indexOf(plainName(name));
      columns.set(meaning, names.filter(name => rank(name) >= 0).sort((a, b) => rank(a) - rank(b)));
    }
    const runs = columns.get("run");
    let methods = columns.get("method");
    if (methods.length > 1 || columns.get("backbone").length) methods = methods.filter(name => !runs.includes(name));
    columns.set("method", methods);
    columns.set("run", runs.filter(name => !methods.includes(name)));
    return new Map([...columns].filter(([, found]) => found.length).map(([meaning, found]) => [found[0], meaning]));
  }

  // ---------------------------------------------------------------- cells

  /** The cells of a line, without the blanks around them. */
  function splitLine(line, kind) {
    if (kind === "one") return [line.trim().replace(/^"+|"+$/g, "")];
    if (kind === "blanks") return line.replace(AROUND_PLUS_MINUS, "$1").trim().split(/\s+/);
    if (kind === "bar") line = line.trim().replace(/^\|+|\|+$/g, "");
    const separator = SEPARATORS[kind];
    if (!line.includes('"')) return line.split(separator).map(cell => cell.trim());
    // A cell is quoted, with quotation marks doubled inside, or goes on to the next separator.
    const cells = line.match(new RegExp(`\\s*"(?:[^"]|"")*"[^${separator}]*|[^${separator}]+|(?<=^|[${separator}])(?=[${separator}]|$)`, "g"));
    return cells.map(cell => cell.trim().replace(/^"(.*)"$/, "$1").replaceAll('""', '"'));
  }

  /** The kind of separator that splits the lines into equally many cells; 'one' for one cell a line. */
  function separatorOf(lines) {
    const sample = [...lines.slice(0, 50), ...lines.slice(-5)];
    const widths = kind => sample.map(line => splitLine(line, kind).length);
    for (const kind of ["tab", "semicolon", "comma", "bar", "blanks"]) {
      const found = new Set(widths(kind));
      if (found.size === 1 && !found.has(1)) return kind;
    }
    const isOneName = isNumber(lines[0]) || !/[\t;,]/.test(lines[0]);
    if (lines.length > 1 && (lines[0].trim() === "label" || (isOneName && lines.slice(1).some(isNumber) && lines.slice(1, 6).every(isValue)))) return "one";
    // One row may be damaged: then most lines still agree.
    const half = sample.length / 2, isUsual = (width, _, all) => width > 1 && all.filter(other => other === width).length > half;
    return ["tab", "semicolon", "comma"].find(kind => widths(kind).some(isUsual));
  }

  const withoutMarkup = text => text.replace(MARKUP, (_, ...groups) => groups.slice(0, 3).find(part => part !== undefined)).trim();
  const cleaned = text => withoutMarkup(text.replaceAll("−", "-").trim());
  const isNumber = text => CELL.test(cleaned(text));
  const isValue = text => isNumber(text) || (text.trim() !== "" && EMPTY_CELLS.has(text.trim().replace(/^"+|"+$/g, "").toLowerCase()));
  const plainNumber = text => (NUMBER.test(text) ? Number(text) : /^[+-]?inf(inity)?$/i.test(text) ? Infinity : NaN);
  const commaNumber = text => (text === undefined ? NaN : plainNumber(text.replace(",", ".")));

  /** Numbers of a column's cells as [values, numbers behind ± or null]; null where a cell is other text. */
  function parsedCells(cells, note) {
    const values = cells.map(plainNumber);
    const odd = [...cells.keys()].filter(i => Number.isNaN(values[i]) && !EMPTY_CELLS.has(cells[i].replaceAll("−", "-").toLowerCase()));
    if (!odd.length) return values.some(value => !Number.isNaN(value)) ? [values, null] : null;
    const texts = odd.map(i => cleaned(cells[i]));
    if (texts.every(text => text.toLowerCase() in DECLARED.TRUTH)) {
      odd.forEach((i, k) => (values[i] = DECLARED.TRUTH[texts[k].toLowerCase()]));
      note("true and false are read as 1 and 0.");
      return [values, null];
    }
    const parts = texts.map(text => CELL.exec(text));
    if (parts.includes(null)) return null;
    if (parts.some(part => part[1].includes(","))) {
      if (parts.some(part => part[1].includes("."))) return null;
      note("commas are read as decimal commas.");
    }
    if (texts.some(text => text.includes("%"))) note("percent signs are left out.");
    const halfWidths = cells.map(() => NaN);
    odd.forEach((i, k) => {
      values[i] = commaNumber(parts[k][1]);
      halfWidths[i] = commaNumber(parts[k][2] ?? parts[k][3]);
    });
    return [values, halfWidths.every(Number.isNaN) ? null : halfWidths];
  }

  // ---------------------------------------------------------------- the file

  /** The text of a file in UTF-8, UTF-16 or Windows-1252. */
  function decoded(bytes, name, notes) {
    const zero = bytes.subarray(0, 1000).indexOf(0);
    const coding = bytes[0] === 0xfe || zero === 0 ? "utf-16be" : bytes[0] === 0xff || zero > 0 ? "utf-16le" : "utf-8";
    try {
      const text = new TextDecoder(coding, { fatal: true }).decode(bytes);
      if (coding !== "utf-8") notes.push(`${name} is read as UTF-16.`);
      return text;
    } catch (error) {
      if (zero >= 0) throw new Refusal(`${name} is no text; a table of text is needed`);
      notes.push(`${name} is read as Windows-1252.`);
      return new TextDecoder("windows-1252").decode(bytes);
    }
  }

  /** A file {name, bytes} as {name, headless, columns}: by name its numbers or texts. */
  function tableOf({ name, bytes }, notes) {
    if (!ENDINGS.some(ending => name.toLowerCase().endsWith(ending))) throw new Refusal(`${name}: ${ENDINGS.join(", ")} are read on this page`);
    if (bytes.length > MOST_BYTES) throw new Refusal(`${name} has over 20 MB, and this page reads no more`);
    const text = decoded(bytes, name, notes);
    let read = linesOf(text, name, isRule), kind = separatorOf(read.rows);
    if (!kind) throw new Refusal(`${name} is no table: its lines do not have equally many cells`);
    if (kind === "one" || read.rows.every(line => splitLine(line, kind).length === 1)) {
      kind = "one";
      read = linesOf(text, name, isRuleOfValues);
    }
    const lines = kind === "one" ? valuesInPlace(read, name, notes) : read.rows;
    if (kind !== "one") checkComments(read.inside, splitLine(lines[0], kind).length, kind, name);
    if (read.comments) notes.push(`Lines that begin with # are left out of ${name}: ${read.comments}.`);
    const first = splitLine(lines[0], kind);
    const headless = first.every(isValue);
    if (headless && kind === "comma" && first.length === 2) {
      throw new Refusal(`${name}: ${lines[0]} may be two numbers, or one with a decimal comma; say --separator comma or --separator semicolon --decimal ,`);
    }
    if (!["comma", "one"].includes(kind)) notes.push(`${name}: ${kind.replace(/s$/, "")}s separate the cells.`);
    if (headless) notes.push(`${name} has no line of names.`);
    const names = namedColumns(first, headless, name);
    const rows = lines.slice(headless ? 0 : 1).map(line => splitLine(line, kind));
    const uneven = rows.findIndex(cells => cells.length !== names.length);
    if (uneven >= 0) {
      const line = lines[uneven + !headless].slice(0, 80);
      throw new Refusal(`row ${uneven + !headless} of ${name}, ${line}, has ${rows[uneven].length} cells and its first line ${names.length}; `
        + "write nan where a value is missing, and quote cells that contain the separator");
    }
    if (!rows.length) throw new Refusal(`${name} has no rows`);
    return { name, headless, columns: typedColumns(names, rows, name, notes) };
  }

  const isComment = line => /^\s*(#|\/\/)/.test(line);

  /** Whether a line of several cells separates rows; dashes for missing values do not. */
  const isRule = (line, rows) => /^[\s|:+-]*-[\s|:+-]*$/.test(line) && (/---|\+/.test(line) || (rows.length === 1 && line.includes("|")));

  /** Whether a line of one cell separates the name from its values. */
  const isRuleOfValues = (line, rows) => rows.length === 1 && !isValue(rows[0]) && /^\s*-{3,}\s*$/.test(line);

  /** The lines of a text that are rows, their places (an empty line between rows has one too), and its comments. */
  function linesOf(text, file, isRule) {
    let lines = text.split(LINE_END);
    if (lines.at(-1) === "") lines.pop();
    const isBlank = line => !line.trim();
    if (lines.length > 2 && lines.every((line, i) => isBlank(line) === (i % 2 === 1))) lines = lines.filter(line => !isBlank(line)); // each ends twice
    const hasOther = lines.some(line => !isBlank(line) && !isComment(line));
    const rows = [], places = [], comments = [], inside = [];
    let place = 0, seen = 0;
    for (const line of lines) {
      if (isBlank(line)) place += rows.length ? 1 : 0;
      else if (hasOther && isComment(line)) comments.push(line);
      else if (!isRule(line, rows)) {
        if (rows.length) inside.push(...comments.slice(seen));
        seen = comments.length;
        rows.push(line);
        places.push(place++);
      }
    }
    if (!rows.length) throw new Refusal(`${file} has no rows`);
    return { rows, places, comments: comments.length, inside };
  }

  /** The lines of a file with one value per line, where an empty line is a missing value. */
  function valuesInPlace({ rows, places, inside }, file, notes) {
    if (inside.length) {
      throw new Refusal(`${file}: ${inside[0].slice(0, 80)} is a comment between the values; write nan there if a value is missing, or remove the line`);
    }
    const lines = Array(places.at(-1) + 1).fill(""), empty = lines.length - rows.length;
    rows.forEach((row, i) => (lines[places[i]] = row));
    if (empty) notes.push(`${file}: ${empty} empty lines are read as tasks without a value.`);
    return lines;
  }

  /** Refuses comments between rows that look like rows of a method. */
  function checkComments(comments, width, kind, file) {
    const alike = comments.filter(line => {
      const cells = splitLine(line, kind);
      return cells.length === width && cells.slice(1).some(isNumber);
    });
    if (!alike.length) return;
    throw new Refusal(`${file}: ${alike.length} lines between its rows, such as ${alike[0].slice(0, 80)}, begin with a sign of a comment and have as many `
      + "cells as the rows; remove them if they are comments, and else write the method without that sign");
  }

  function namedColumns(cells, headless, file) {
    if (headless) return cells.length === 1 ? ["value"] : cells.map((_, i) => `column ${i + 1}`);
    const names = cells.map(withoutMarkup), repeated = names.find((name, i) => name && names.indexOf(name) < i);
    if (repeated !== undefined) throw new Refusal(`${file} has two columns ${repeated}; give one of them another name`);
    return names.map((name, i) => name || `Unnamed:${i}`);
  }

  /** Columns of numbers as numbers; one of 'mean ± half-width' gets a second column, named NAME ±. */
  function typedColumns(names, rows, file, notes) {
    const columns = new Map(), found = new Set();
    names.forEach((name, i) => {
      const cells = rows.map(row => row[i]), parsed = parsedCells(cells, note => found.add(`${file}: ${note}`));
      columns.set(name, parsed ? parsed[0] : cells.map(withoutMarkup));
      if (parsed && parsed[1]) columns.set(`${name} ±`, parsed[1]);
    });
    notes.push(...found);
    return columns;
  }

  // ---------------------------------------------------------------- rows

  /** Columns that only number the rows are left out; an unnamed one of text names the data sets. */
  function withoutIndex(columns, file, notes) {
    const out = new Map(columns), meanings = chosenMeanings([...columns.keys()]);
    let key;
    const countsRows = values => values.length > 2 && (values[0] === 0 || values[0] === 1) && values.every((value, i) => value === values[0] + i);
    for (const [name, values] of columns) {
      if (!INDEX_NAME.test(name) && (meanings.has(name) || !countsRows(values))) continue;
      if (!key && isNumeric(values) && (key = rowKey(columns, meanings, [name]))) continue;
      out.delete(name);
      if (isNumeric(values) || values.every(value => value === "")) {
        notes.push(`${file}: column '${name}', which numbers the rows, is left out.`);
        continue;
      }
      const meaning = [...chosenMeanings([...out.keys()]).values()].includes("dataset") ? "method" : "dataset";
      notes.push(`${file}: the column without a name is read as ${meaning === "dataset" ? "data set" : meaning}s.`);
      out.set(meaning, values);
    }
    return out;
  }

  /** The column that names the rows, where no known column does: `row_key` of the command. */
  function rowKey(columns, names, candidates) {
    const keys = [...names.keys()].filter(name => !["accuracy", "half_width"].includes(names.get(name))), meanings = [...names.values()];
    const rows = [...columns.values()][0].map((_, i) => i);
    const different = used => new Set(rows.map(i => JSON.stringify(used.map(name => columns.get(name)[i])))).size;
    const isNeeded = !UNIT_KEYS.some(key => meanings.includes(key)) && (!keys.length || different(keys) < rows.length);
    const isComplete = values => values.every(value => value !== "" && (typeof value === "string" || value % 1 === 0));
    const isKey = name => !isOtherMeasure(name) && different([name]) > 2 && isComplete(columns.get(name))
      && different([...keys, name]) === rows.length && !(meanings.includes("method") && different([name]) === rows.length);
    return isNeeded ? candidates.find(name => !names.has(name) && isKey(name)) : undefined;
  }

  /** A file as rows {method, accuracy, …}, with what else it says of a measurement: of one column of values, or of a column per method or data set. */
  function rowsOf(table, notes) {
    const { name: file } = table;
    if ([...table.columns.keys()].some(name => TRACKED.test(name))) throw notComputed("columns of a tracking tool");
    checkEpochs(table.columns, file, notes);
    const columns = withoutIndex(table.columns, file, notes);
    const names = chosenMeanings([...columns.keys()].filter(name => !name.endsWith(" ±")));
    for (const name of names.keys()) if (plainName(name) === "run" && isNumeric(columns.get(name))) names.set(name, "run"); // numbers name no methods
    const meanings = new Set(names.values()), isLong = meanings.has("accuracy");
    const mayNameRows = name => isLong || ROW_NAME.test(name) || !isNumeric(columns.get(name)) || (columns.get(name).length > 9 && isNumbering(columns.get(name)));
    const key = rowKey(columns, names, [...columns.keys()].filter(name => !name.endsWith(" ±") && (mayNameRows(name))));
    if (key) names.set(key, "task"), meanings.add("task"), notes.push(`${file}: column '${key}' names the rows; methods are paired by it.`);
    let empty = 0;
    const measured = (isLong ? columnOfValues : valueColumns)(columns, names, file, notes);
    const countOfNotes = notes.length;
    const described = isLong ? () => ({}) : nameByColumn(measured, meanings, table.headless, file, notes);
    const isNumbered = !["accuracy", "method", ...UNIT_KEYS, "dataset", "seed", "run"].some(key => meanings.has(key)), rows = [];
    for (const name of measured) {
      const halfWidths = columns.get(`${name} ±`);
      columns.get(name).forEach((accuracy, i) => {
        if (Number.isNaN(accuracy)) empty++;
        const row = isNumbered ? { task: i } : {};
        for (const [key, meaning] of names) if (meaning !== "half_width" || isLong) row[meaning] = columns.get(key)[i];
        if (halfWidths) row.half_width = halfWidths[i];
        if ("backbone" in row) row.method = "method" in row ? `${row.backbone} ${row.method}` : row.backbone;
        Object.assign(row, described(name), { accuracy });
        for (const key of ["ways", "shots", "queries"]) if (key in row) row[key] = Number((String(row[key]).match(/\d+/) || [NaN])[0]);
        row.method = String(row.method ?? stemOf(file)).trim();
        if (!row.method && Number.isNaN(accuracy)) return;
        if (!row.method) throw new Refusal(`${file} has a row without a method; name it, or leave it out`);
        rows.push(row);
      });
    }
    if (empty) notes.splice(countOfNotes, 0, `${file}: ${empty} empty values are left out.`);
    scale(rows, file, notes);
    const withValues = new Set(rows.filter(row => !Number.isNaN(row.accuracy)).map(row => row.method));
    return rows.filter(row => withValues.has(row.method));
  }

  /** Refuses a curve of training, whose rows are epochs; notes that steps may be. */
  function checkEpochs(columns, file, notes) {
    const names = [...columns.keys()], compared = names.map(plainName), meanings = new Set(chosenMeanings(names).values());
    if (compared.some(name => /^epochs?$/.test(name)) && !["task", "item", "seed", "run", "dataset"].some(key => meanings.has(key))) {
      throw new Refusal(`${file} has a row per epoch, and epochs of a training are no tasks; keep the final test, with a row per task, seed or data set`);
    }
    if (compared.includes("step")) notes.push(`${file}: a step is read as the number of a task, and not of a training.`);
  }

  /** The one column of values. */
  function columnOfValues(columns, names, file, notes) {
    const measured = [...names.keys()].find(name => names.get(name) === "accuracy"), values = columns.get(measured);
    if (!isNumeric(values)) {
      const row = values.findIndex(value => Number.isNaN(plainNumber(value)));
      throw new Refusal(`${measured} in row ${row + 1} of ${file} is ${values[row] || "empty"}; a number is needed, or nan`);
    }
    const unread = [...columns.keys()].filter(name => !names.has(name) && name !== `${measured} ±`);
    if (unread.length) notes.push(`${file}: not read: ${unread.join(", ")}.`);
    return [measured];
  }

  /** The columns of values: of numbers, and no other measure, summary or ±. */
  function valueColumns(columns, names, file, notes) {
    const beside = [...columns.keys()].filter(name => !names.has(name) && !name.endsWith(" ±"));
    const numeric = beside.filter(name => isNumeric(columns.get(name)));
    const summaries = numeric.filter(isSummary), measured = numeric.filter(name => !isSummary(name) && !isOtherMeasure(name));
    const unwanted = numeric.filter(name => !summaries.includes(name) && !measured.includes(name));
    const texts = beside.filter(name => !numeric.includes(name)), lower = unwanted.filter(isLowerBetter);
    texts.forEach(name => checkMostlyNumbers(name, columns.get(name), file));
    if (!measured.length && lower.length) {
      throw new Refusal(`${file}: ${lower.join(", ")}: lower is better of an error, a loss or a time; say --lower-is-better to compare methods by it`,
        "--lower-is-better");
    }
    if (!measured.length) {
      throw new Refusal(`${file} has the columns ${[...columns.keys()].join(", ")}; a column accuracy, or a column of numbers per method, is needed`);
    }
    if (summaries.length) notes.push(`${file}: left out, as a summary of the others: ${summaries.join(", ")}.`);
    if (unwanted.length) notes.push(`${file}: left out, as their names are no methods': ${unwanted.join(", ")} (--methods names all methods).`);
    if (texts.length) notes.push(`${file}: not read: ${texts.join(", ")}.`);
    return measured;
  }

  /** Refuses a column of numbers in which a few cells are other text. */
  function checkMostlyNumbers(name, cells, file) {
    const wrong = cells.map(cell => Number.isNaN(plainNumber(cell))), row = wrong.indexOf(true);
    if (wrong.filter(Boolean).length >= DECLARED.MOSTLY_TEXT * cells.length) return;
    throw new Refusal(`${name} in row ${row + 1} of ${file} is ${cells[row] || "empty"}; a number is needed, or nan where a value is missing `
      + `(--drop ${shellWord(name)} leaves the column out)`, `--drop ${shellWord(name)}`);
  }

  /** The key that a word in a column's name stands for. */
  const keyOfWord = word => ([...chosenMeanings([word]).values()][0] || "seed").replace("method", "run");

  /** What the names of the columns of values are, methods, seeds, shots, or data sets: a function of such a name. */
  function nameByColumn(names, meanings, headless, file, notes) {
    const groupsOf = pattern => new Map(names.map(name => [name, (pattern.exec(name) || {}).groups]));
    const [units, methods, shots] = [NUMBERED_UNIT, NUMBERED_METHOD, SHOTS].map(groupsOf);
    const all = (groups, isFine) => [...groups.values()].every(group => group && isFine(group));
    const { word } = units.get(names[0]) || {}, hasMethods = meanings.has("method");
    if (all(units, unit => unit.word === word)) {
      const key = keyOfWord(word || "seed");
      notes.push(`${file}: a column per ${key}.`);
      return name => ({ [key]: Number(units.get(name).number) });
    }
    if (names.length > 1 && all(methods, () => true)) {
      const key = keyOfWord(methods.get(names[0]).word);
      notes.push(`${file}: columns are named after a method and a ${key}.`);
      return name => ({ method: methods.get(name).method, [key]: Number(methods.get(name).number) });
    }
    if (names.length > 1 && all(shots, group => (group.method === undefined) === hasMethods)) {
      notes.push(`${file}: the names of columns hold the number of shots.`);
      return name => ({ shots: shots.get(name).number, ...(hasMethods ? {} : { method: shots.get(name).method }) });
    }
    if (hasMethods) {
      notes.push(`${file}: a row per method and a column per data set.`);
      return name => ({ [meanings.has("dataset") ? "sampling" : "dataset"]: name });
    }
    return names.length === 1 && (headless || chosenMeanings(names).size) ? () => ({}) : method => ({ method });
  }

  /** Puts accuracies in percent. */
  function scale(rows, file, notes) {
    const values = rows.map(row => row.accuracy).filter(value => !Number.isNaN(value));
    if (!values.length) throw new Refusal(`${file} has no number in its columns of values`);
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    if (Math.max(-low, high) === Infinity) throw new Refusal(`${file} has an infinite value; finite numbers are needed, or nan`);
    const most = high <= 1 ? 1 : 100;
    if (low < 0 || high > most) {
      throw new Refusal(`${file} has the value ${Number((low < 0 ? low : high).toPrecision(6))}, and accuracies go from 0 to ${most}; for right answers of 75 `
        + "say --out-of 75, for errors, losses or times --lower-is-better, and leave other columns out with --drop NAME");
    }
    for (const row of rows) {
      row.accuracy *= 100 / most;
      if ("half_width" in row) row.half_width *= 100 / most;
    }
    if (most === 1 && !values.every(value => value === 0 || value === 1)) notes.push(`${file}: values from 0 to 1 are read as shares.`);
    if (high > 1 && values.every(Number.isInteger)) {
      notes.push(`${file}: whole numbers are read as percent; if they count right answers, say --out-of N. Sizes in points change, tests do not.`);
    }
  }

  const distinct = (rows, key) => [...new Set(rows.map(row => row[key]))];

  /** Groups of rows by their values of some keys, in order of appearance. */
  const grouped = (rows, keys) => [...Map.groupBy(rows, row => JSON.stringify(keys.map(key => row[key]))).values()];

  function withoutSummaries(rows, notes) {
    for (const key of ["task", "item", "dataset", "class", "method", "seed", "run"]) {
      const texts = distinct(rows, key).map(String), summaries = texts.filter(isSummary);
      if (!summaries.length || summaries.length === texts.length) continue;
      notes.push(`Left out, as a summary of the others: ${summaries.sort().join(", ")}.`);
      rows = rows.filter(row => !summaries.includes(String(row[key])));
    }
    return rows;
  }

  /** Rows with a value and the key of their unit: where they have none, row k of each method is task k. */
  function withUnits(allRows, notes) {
    const rows = allRows.filter(row => !Number.isNaN(row.accuracy));
    const names = ["method", ...PLACE_KEYS, "seed", "run", "support", ...UNIT_KEYS].filter(key => key in rows[0]);
    if (names.includes("class") && names.includes("task")) throw notComputed("accuracies per class of a task");
    if (names.includes("item") && names.includes("task")) throw notComputed("answers per item of a task");
    if (grouped(rows, names).length === rows.length) return rows;
    if (UNIT_KEYS.some(key => names.includes(key))) throw notComputed("training runs on tasks");
    numberRows(allRows, names, notes);
    return rows;
  }

  /** Gives rows their place as task, rows without a value too; a method with fewer rows than others has its own tasks. */
  function numberRows(rows, names, notes) {
    const groups = grouped(rows, names), place = names.filter(key => key !== "method"), longest = Math.max(...groups.map(group => group.length));
    const methods = distinct(rows, "method");
    notes.push("Rows name no task: row k of each method is read as task k. If they are different tasks, the tests still hold.");
    let isSaid = false;
    groups.forEach(group => {
      const others = groups.filter(other => place.every(key => other[0][key] === group[0][key])), most = Math.max(...others.map(other => other.length));
      const first = group.length < most ? (methods.indexOf(group[0].method) + 1) * longest : 0;
      group.forEach((row, i) => (row.task = first + i));
      if (!first || isSaid) return;
      isSaid = true;
      notes.push(`${group[0].method} has ${thousands(group.length)} rows, another method ${thousands(most)}, and rows name no task: which tasks are the same `
        + "is unknown; number them in a column task, or write nan where a value is missing.");
    });
  }

  /** Refuses values of a method, under one seed, that are one block of values again and again. */
  function checkBlocks(rows) {
    for (const part of grouped(rows, ["method", ...PLACE_KEYS, "seed", "run"])) {
      for (let times = 2; times <= 10; times++) {
        const size = part.length / times;
        if (!part.every((row, i) => row.accuracy === part[i % size]?.accuracy) || distinct(part, "accuracy").length <= DECLARED.FEW_VALUES) continue;
        throw new Refusal(`${part[0].method}: ${part.length} values are the same ${size} values ${times} times; keep each task once, or number runs in a `
          + "column run");
      }
    }
  }

  const notComputed = shape => new Refusal(`these are ${shape}, which the command compares and this page does not`);

  /** What the rows are a sample of. */
  function shapeOf(rows, notes) {
    const several = key => key in rows[0] && distinct(rows, key).length > 1;
    const seeded = ["run", "seed"].find(several), units = UNIT_KEYS.some(key => key in rows[0]);
    if (("support" in rows[0] && (units || several("support"))) || ("group" in rows[0] && units)) throw notComputed("items under supports or in groups");
    if ("item" in rows[0] && "class" in rows[0]) throw notComputed("items of classes");
    if (units) checkBlocks(rows);
    if (units && seeded) throw notComputed("tasks under several seeds or runs");
    if (!units && "half_width" in rows[0]) throw notComputed("printed means");
    if (units && rows.every(row => row.accuracy === 0 || row.accuracy === 100)) throw notComputed("right or wrong answers");
    if (units) return "tasks";
    if (seeded && several("dataset")) return "data sets and seeds";
    if (several("dataset")) return "data sets";
    if (!seeded) {
      throw new Refusal("one number per method: nothing shows how much it varies. Bring a row per task, per seed or per data set, or compare printed figures "
        + "with their ±: fslcore compare 79.59±0.52 76.87±0.56 --tasks 600");
    }
    notes.push("Does a seed here vary the training, the tasks, or both? Verdicts are for whatever it varies.");
    return "seeds";
  }

  /**
   * A file {name, bytes} as {name, shape, rows, reading}: rows hold method, accuracy in percent and the keys of their place and unit. A file without a true
   * reading here throws a Refusal.
   */
  function read(file) {
    const notes = [], table = tableOf(file, notes);
    const rows = withUnits(withoutSummaries(rowsOf(table, notes), notes), notes);
    const shape = shapeOf(rows, notes);
    return { name: file.name, shape, rows, reading: [...new Set(notes)] };
  }

  /** By method, its values by unit: what `rows` of one place hold. */
  function gridOf(rows, unit) {
    const valuesOf = ([method, rowsOfMethod]) => [method, new Map(rowsOfMethod.map(row => [row[unit], row.accuracy]))];
    return new Map([...Map.groupBy(rows, row => row.method)].map(valuesOf));
  }

  Object.assign(report, { PLACE_KEYS, UNIT_KEYS, Refusal, chosenMeanings, isOtherMeasure, isSummary, read, gridOf, grouped, distinct, shellWord });
})();
