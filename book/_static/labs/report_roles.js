// The role of each column: what the user chose in its menu, or what a word of fslcore/report/vocabulary.py names. Every other column has none ("").
(function () {
  "use strict";
  const report = window.fslLabs.compute.report, { DECLARED, Refusal, fully } = report;

  const PLUS_MINUS = " ±", BRACKETS = " ()"; // at the end of columns that cells with two numbers give
  const SETTINGS = ["dataset", "ways", "shots", "queries", "sampling"], KEPT_WORDS = ["method", "value", "task", "item", "class", ...SETTINGS, "group", "support"];
  const RESERVED = ["accuracy", "half_width", "total", "place"];
  const SINGLE = ["method", "value", "group", "of"];
  const sets = Object.fromEntries(Object.entries(DECLARED.WORDS).map(([name, words]) => [name, new Set(words)]));
  const INDEX_NAME = fully(DECLARED.INDEX_NAME, "i"), NUMBERED = fully(DECLARED.NUMBERED, "i");

  /** What has to be said before there is an answer: the role of a column, or what no column shows. */
  class Unassigned extends Refusal {}

  // ---------------------------------------------------------------- words

  /** A column's name as it is compared: lower case, without blanks, separators and remarks. */
  const plainName = name => String(name).replace(/[([].*?[)\]]|[%↑↓]/g, "").replace(/[\s_\-/.]+/g, "").toLowerCase();
  const roleOf = name => (Object.hasOwn(DECLARED.ROLES, plainName(name)) ? DECLARED.ROLES[plainName(name)] : undefined);

  /** The words of a name in lower case, also those that begin with a capital letter. */
  function wordsOf(name) {
    const spaced = String(name).replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
    return new Set([plainName(name), ...(spaced.match(/\p{L}+\p{Nd}*/gu) || [])]);
  }

  const meets = (words, others) => [...words].some(word => others.has(word));
  const isAccuracy = name => roleOf(name) === "value";

  function isSummary(name) {
    const words = String(name).toLowerCase().match(/\p{L}+/gu) || [];
    return words.some(word => sets.SUMMARIES.has(word)) && words.every(word => sets.SUMMARIES.has(word) || sets.BESIDE_SUMMARIES.has(word));
  }

  /** The key of a block: that of the vocabulary, or the column's own name. */
  function blockName(column) {
    if (SETTINGS.includes(roleOf(column))) return roleOf(column);
    return [...RESERVED, ...Object.values(DECLARED.ROLES)].includes(column) ? `${column} ` : column;
  }

  // ---------------------------------------------------------------- cells

  const textOf = value => (typeof value === "number" ? (Number.isNaN(value) ? "nan" : String(Number(value.toPrecision(15)))) : value);
  const varies = values => values.some(value => !Object.is(value, values[0]));
  const present = values => values.filter(value => !Number.isNaN(value));
  const distinctOf = values => [...new Set(present(values))];
  const isBinary = values => present(values).every(value => value === 0 || value === 1);

  // ---------------------------------------------------------------- roles

  /**
   * What a user says of a table: `roles` of columns, which are method, value, methods (the column holds the values of one), columns:WORD (of one data
   * set, seed, …), unit:WORD, by, group, of (totals), ignore and where:VALUE; and answers to what no column shows.
   */
  const noChoices = () => ({ roles: new Map(), rows: null, seed: "unknown", better: "", out_of: null, sampling: "unknown", reference: null });

  /** The rows that a user chose. */
  function chosenRows(table, { roles }) {
    const wanted = [...roles].filter(([, role]) => role.startsWith("where:")).map(([column, role]) => [table.values.get(column), role.slice(6)]);
    const kept = [...table.places.keys()].filter(row => wanted.every(([cells, text]) => textOf(cells[row]) === text));
    const values = new Map([...table.values].map(([name, cells]) => [name, kept.map(row => cells[row])]));
    return { ...table, values, places: kept.map(row => table.places[row]), length: kept.length };
  }

  /** The role of each column, with why those without meaning are left out, and what the names of columns such as seed0 say. */
  class Roles extends Map {
    why = new Map();
    headers = new Map();

    columns(role) {
      return [...this].filter(([, other]) => other === role).map(([column]) => column);
    }

    column(role) {
      return this.columns(role)[0] ?? null;
    }

    /** The name of the column of values; null for that of a file of numbers alone. */
    get measure() {
      const value = this.column("value");
      return value === "numbers" ? null : value;
    }

    /** By column of values, what its name is: {method: "ours"}. */
    get wide() {
      const namesOf = (column, role) => {
        if (role === "header") return this.headers.get(column);
        return role === "methods" ? { method: column } : { [role.slice(8)]: column };
      };
      return [...this].filter(([, role]) => /^(header|methods|columns:.*)$/.test(role)).map(([column, role]) => [column, namesOf(column, role)]);
    }

    /** By column, the key of rows that it holds: a unit, a setting or a group. */
    get keys() {
      return [...this].filter(([, role]) => role === "group" || role.startsWith("unit:")).map(([column, role]) => [column, role.replace("unit:", "")]);
    }

    /** The keys that rows have, those in the names of columns included. */
    get words() {
      return new Set([...this.keys.map(([, key]) => key), ...this.wide.flatMap(([, names]) => Object.keys(names)), ...(this.column("method") === null ? [] : ["method"])]);
    }

    leaveOut(column, why) {
      this.set(column, "ignore");
      this.why.set(column, why);
    }
  }

  /** The roles of a table's columns. */
  function rolesOf(whole, choices) {
    const rows = chosenRows(whole, choices), table = rows.length ? rows : whole, said = [...choices.roles].filter(([, role]) => !role.startsWith("where:")), isSecond = name => name.endsWith(PLUS_MINUS) || name.endsWith(BRACKETS);
    const roles = new Roles([...table.names.map(name => [name, ""]), ...said]), open = () => roles.columns("");
    for (const column of open()) {
      const values = table.values.get(column), countsOn = table.numeric.has(column) && values.every((value, i) => i === 0 || value - values[i - 1] === 1);
      if (!varies(values) && !KEPT_WORDS.includes(roleOf(column)) && !sets.ANSWERS.has(plainName(column))) roles.leaveOut(column, "constant");
      else if (INDEX_NAME.test(column) && countsOn) roles.leaveOut(column, "an index");
    }
    nameByWords(table, roles, open().filter(name => !isSecond(name)));
    leaveOutNumbersOfRows(table, roles, choices);
    if (roles.column("value") === null) {
      if (!roles.wide.length) nameHeaders(table, roles);
    } else {
      for (const column of open().filter(name => !isSecond(name))) leaveOutMeasure(column, table, roles);
      nameSpreads(table, roles);
    }
    for (const column of table.names.filter(name => name.endsWith(PLUS_MINUS))) {
      if ([roles.column("value"), ...roles.wide.map(([name]) => name)].includes(column.slice(0, -PLUS_MINUS.length))) roles.set(column, "spread");
    }
    return roles;
  }

  /** Give roles by the vocabulary; two columns of one role have none. */
  function nameByWords(table, roles, columns) {
    const wordOf = column => (sets.ANSWERS.has(plainName(column)) && isBinary(table.values.get(column)) ? "value" : roleOf(column));
    const { words } = roles, hasValues = roles.column("value") !== null || roles.wide.length > 0;
    for (const [word, named] of Map.groupBy(columns, wordOf)) {
      if (word === undefined || words.has(word) || named.length > 1 || (word === "value" && hasValues)) continue;
      roles.set(named[0], ["method", "value", "group"].includes(word) ? word : `unit:${word}`);
    }
  }

  /** Leave out a run that is another one in every row, where other keys name the row: it numbers rows. */
  function leaveOutNumbersOfRows(table, roles, choices) {
    const run = roles.column("unit:run");
    if (run === null || choices.roles.has(run) || new Set(table.values.get(run)).size < table.length) return;
    const others = [...roles.keys.map(([column]) => column), ...roles.columns("by")].filter(column => column !== run), method = roles.column("method");
    const keys = (method === null ? others : [method, ...others]).map(column => table.values.get(column));
    const namesRows = roles.keys.some(([, key]) => ["task", "item", "class"].includes(key));
    const rowsAreNamed = others.length > 0 && new Set(table.places.map((place, row) => JSON.stringify(keys.map(cells => cells[row])))).size === table.length;
    if (namesRows || rowsAreNamed) roles.leaveOut(run, "a number of rows");
  }

  /** The columns that may be measurements: those without a role, and constant numbers under no known word. */
  const openNumbers = (table, roles) => table.names.filter(column => table.numeric.has(column) && (roles.get(column) === ""
    || (roles.why.get(column) === "constant" && present(table.values.get(column)).length > 0 && roleOf(column) === undefined)));

  /** Columns whose names hold a word and a number: seed0, ours_run2, 5-shot. */
  function nameHeaders(table, roles) {
    const found = openNumbers(table, roles).map(column => [column, NUMBERED.exec(column)?.groups]).filter(([, groups]) => groups);
    const kinds = new Set(found.map(([, groups]) => [Boolean(groups.shots), (groups.word || "").toLowerCase(), Boolean(groups.method || groups.of)].join()));
    if (found.length < 2 || kinds.size !== 1 || (roles.column("method") !== null && (found[0][1].method || found[0][1].of))) return;
    for (const [column, groups] of found) {
      const names = { [groups.shots ? "shots" : roleOf(groups.word)]: Number(groups.shots || groups.number) };
      if (groups.method || groups.of) names.method = groups.method || groups.of;
      roles.headers.set(column, names);
      roles.set(column, "header");
      roles.why.delete(column);
    }
  }

  /** Beside a column of values, leave out another measure or a fact of a run, which has a name. */
  function leaveOutMeasure(column, table, roles) {
    const words = wordsOf(column), isOfBest = (words.has("best") || words.has("last")) && meets(words, sets.STEPS);
    if (meets(words, sets.OTHER_MEASURES) && table.numeric.has(column)) roles.leaveOut(column, "another measure");
    else if (sets.FACTS.has(plainName(column)) || words.has("time") || isOfBest) roles.leaveOut(column, "a fact of the run");
  }

  /** Columns that show how much the values, which are means, vary: by a known word. */
  function nameSpreads(table, roles) {
    const value = roles.column("value"), ofValue = plainName(value), isFree = column => roles.get(column) === "" || roles.why.get(column) === "constant";
    for (const column of table.names.filter(name => isFree(name) && table.numeric.has(name))) {
      const plain = plainName(column), rest = plain.startsWith(ofValue) ? plain.slice(ofValue.length) : plain;
      if (sets.SPREADS.has(rest) || sets.SPREADS.has(plain) || isSpreadOf(column, value)) roles.set(column, "spread");
    }
  }

  /** Whether two names are the same but for a word for a spread in place of one for a mean: acc_std and acc_mean. */
  function isSpreadOf(column, value) {
    const [words, ofValue] = [column, value].map(name => name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []), others = new Set(words.filter(word => !sets.SPREADS.has(word)));
    const ofMeasure = new Set(ofValue.filter(word => !sets.MEANS.has(word)));
    return words.filter(word => sets.SPREADS.has(word)).length === 1 && others.size > 0 && others.size === ofMeasure.size && [...others].every(word => ofMeasure.has(word));
  }

  /** Throw what stands between these roles and an answer. */
  function checkRoles(table, roles) {
    if (!table.length) throw new Refusal("no row is left of those that were chosen");
    const { name } = table, open = roles.columns(""), wide = roles.wide.map(([column]) => column), [value, spread] = [roles.column("value"), roles.column("spread")];
    for (const column of table.names.filter(other => !table.numeric.has(other) && /^(|method|unit:.*)$/.test(roles.get(other)))) {
      const texts = new Set(table.values.get(column).map(text => text.toLowerCase()));
      const isSummary = ["DESCRIBED", "REPORTED"].some(rows => DECLARED.WORDS[rows].every(word => texts.has(word)));
      if (isSummary) throw new Refusal(`${name} is a summary (rows such as mean and std, or macro avg): bring the rows that it summarises, such as the answers to items`);
    }
    if (spread !== null) throw new Refusal(`${spread} shows how much means vary: the command compares such means, and this page does not`);
    if (value !== null && wide.length) throw new Refusal(`${value} holds values, and so do columns of their own (${wide.join(", ")}): one of the two can`);
    if (roles.column("of") !== null && wide.length) throw new Refusal(`${roles.column("of")} holds the totals of one column of values, and ${wide.join(", ")} hold values`);
    if (roles.column("method") !== null && roles.wide.some(([, names]) => "method" in names)) {
      throw new Refusal(`${roles.column("method")} names methods, and so do columns of their own (${wide.join(", ")}): one of the two can`);
    }
    const keys = [...roles.keys.map(([, key]) => key), ...roles.columns("by").map(blockName)], twice = keys.find((key, i) => keys.indexOf(key) < i || roles.wide.some(([, names]) => key in names));
    if (twice !== undefined) throw new Refusal(`two columns, or a column and the names of others, both say the ${twice} of a row: one of them can`);
    if (open.length) throw new Unassigned(`${name}: ${open.join(", ")} ${open.length > 1 ? "have" : "has"} no role`);
    if (value === null && !wide.length) throw new Unassigned(`${name}: no column is named as values`);
  }

  /** Whether lower values are better: by an arrow, an answer, or the measure's name, which is asked. */
  function isLowerBetter(table, roles, { better, roles: said }) {
    if (better) return better === "lower";
    const value = roles.measure, rows = [...said.values()].filter(role => role.startsWith("where:")).map(role => role.slice(6).replace(/^.*=/s, ""));
    const names = [value, roles.column("method"), ...roles.wide.map(([column]) => column), ...rows].filter(Boolean);
    if (names.some(name => name.includes("↓"))) return true;
    if (names.some(name => name.includes("↑")) || (value !== null && isAccuracy(value))) return false;
    const unclear = new Set(["time", "times", "error"]);
    const ofFile = value === null ? [...wordsOf(table.stem)].find(word => sets.LOWER_IS_BETTER.has(word) && !unclear.has(word)) : undefined;
    const asked = names.find(name => meets(wordsOf(name), sets.LOWER_IS_BETTER)) ?? ofFile;
    if (asked !== undefined) throw new Unassigned(`${asked}: lower is better of an error, a loss or a time; say which values are better`);
    return false;
  }

  // ---------------------------------------------------------------- choices

  /** Choices in which a column has a role; one that its word names already needs none. */
  function withRole(table, choices, column, role) {
    const others = { ...choices, roles: new Map([...choices.roles].filter(([name, other]) => name !== column && !(SINGLE.includes(role) && other === role))) };
    if (role !== "" && rolesOf(table, others).get(column) !== role) others.roles.set(column, role);
    return others;
  }

  const shellWord = name => (/^[\w@%+=:,./-]+$/.test(name) ? name : `'${String(name).replace(/'/g, "'\"'\"'")}'`);

  /** The command that says the same. */
  function command({ name }, { roles, rows, seed, better, out_of, sampling, reference }) {
    const parts = ["fslcore report", shellWord(name.startsWith("-") ? `./${name}` : name)];
    const add = (option, ...words) => words.length && parts.push(option, ...words.map(word => shellWord(String(word))));
    const columnsOf = role => [...roles].filter(([, other]) => other === role).map(([column]) => column);
    const pairsOf = kind => [...roles].filter(([, role]) => role.startsWith(kind)).map(([column, role]) => `${column}=${role.slice(kind.length)}`);
    if (sampling !== "unknown") add("--sampling", sampling);
    if (seed !== "unknown") add("--seed", seed);
    if (reference !== null) add("--reference", reference);
    for (const role of [...SINGLE, "methods"]) add(`--${role}`, ...columnsOf(role));
    for (const role of new Set([...roles.values()].filter(other => other.startsWith("columns:")))) add("--columns", role.slice(8), ...columnsOf(role));
    add("--unit", ...pairsOf("unit:"));
    if (rows !== null) add("--rows", rows);
    add("--by", ...columnsOf("by"));
    add("--where", ...pairsOf("where:"));
    add("--ignore", ...columnsOf("ignore"));
    if (better) parts.push(`--${better}-is-better`);
    if (out_of !== null) add("--out-of", out_of);
    return parts.join(" ");
  }

  Object.assign(report, { SETTINGS, PLUS_MINUS, Unassigned, sets, plainName, roleOf, blockName, wordsOf, meets, isSummary, isAccuracy, textOf, distinctOf, noChoices, chosenRows,
    rolesOf, checkRoles, isLowerBetter, openNumbers, withRole, command, shellWord });
})();
