// The role of each column, named by a word of fslcore/report/vocabulary.py or by an option, never by what is left: fslcore/report/roles.py in the page.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report, { DECLARED, Refusal, fully } = report;

  const PLUS_MINUS = " ±", BRACKETS = " ()"; // at the end of columns that cells with two numbers give
  const SETTINGS = ["dataset", "ways", "shots", "queries", "sampling"];
  const KEEP_MEANING = new Set(["method", "value", "task", "item", "class", ...SETTINGS, "group", "support"]);
  const sets = Object.fromEntries(Object.entries(DECLARED.WORDS).map(([name, words]) => [name, new Set(words)]));
  const INDEX_NAME = fully(DECLARED.INDEX_NAME, "i"), NUMBERED = fully(DECLARED.NUMBERED, "i");

  /** Columns without a role, and what else is not named: `missing` has 'value', 'rows', 'pm', 'n' and 'seed'. */
  class Unassigned extends Refusal {
    constructor(message, columns, missing, roles) {
      super(message);
      Object.assign(this, { columns, missing, roles });
    }
  }

  /** A measure whose name says that lower is better, where nothing else says so. */
  class Direction extends Refusal {}

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

  function isSummary(name) {
    const words = String(name).toLowerCase().match(/\p{L}+/gu) || [];
    return words.some(word => sets.SUMMARIES.has(word)) && words.every(word => sets.SUMMARIES.has(word) || sets.BESIDE_SUMMARIES.has(word));
  }

  const isAccuracy = name => roleOf(name) === "value";
  const isSecond = name => name.endsWith(PLUS_MINUS) || name.endsWith(BRACKETS);

  // ---------------------------------------------------------------- columns

  const textOf = value => (typeof value === "number" ? (Number.isNaN(value) ? "nan" : String(Number(value.toPrecision(15)))) : value);
  const varies = values => values.some(value => !Object.is(value, values[0]));
  const present = values => values.filter(value => !Number.isNaN(value));
  const distinctOf = values => [...new Set(present(values))];
  const isBinary = values => present(values).every(value => value === 0 || value === 1);

  /** What a user says of a table, as fslcore/report/options.py: nothing yet. */
  const noOptions = () => ({ method: null, value: null, group: null, methods: [], columns: new Map(), unit: new Map(), rows: null, by: [], where: [], ignore: [],
    pm: null, n: null, low: null, high: null, of: null, lower_is_better: false, higher_is_better: false, out_of: null, seed: "unknown",
    sampling: "unknown", reference: null });

  /** The rows that meet the conditions: any of those of one column, and all of different ones. */
  function chosenRows(table, where) {
    const wanted = Map.groupBy(where.map(condition => /^(.+?)=(.*)$/s.exec(condition)), ([, column]) => column);
    let kept = [...table.places.keys()];
    for (const [column, conditions] of wanted) {
      checkColumn("where", column, table);
      const texts = table.values.get(column).map(textOf), chosen = new Set(conditions.map(([,, value]) => value));
      kept = kept.filter(row => chosen.has(texts[row]));
    }
    if (!kept.length) throw new Refusal(`where = ${where.join(" ")}; no row is left`);
    const values = new Map([...table.values].map(([name, cells]) => [name, kept.map(row => cells[row])]));
    return { ...table, values, places: kept.map(row => table.places[row]), length: kept.length };
  }

  function checkColumn(option, name, table) {
    if (!table.values.has(name)) throw new Refusal(`${option} = ${name}; the columns ${table.names.slice(0, 20).join(", ")} are there`);
  }

  // ---------------------------------------------------------------- roles

  class Roles {
    constructor() {
      Object.assign(this, { method: null, value: null, wide: new Map(), keys: new Map(), blocks: [], spread: null, count: null, low: null, high: null,
        of: null, ignored: new Map() });
    }

    /** The keys that rows have, those in the names of columns included. */
    words() {
      const inside = [...this.wide.values()].flatMap(names => Object.keys(names));
      return new Set([...this.keys.values(), ...inside, ...(this.method ? ["method"] : [])]);
    }

    has(column) {
      return [this.method, this.value, this.count, this.low, this.high, this.of, this.spread && this.spread[1]].includes(column)
        || this.wide.has(column) || this.keys.has(column) || this.blocks.includes(column) || this.ignored.has(column);
    }

    get namesMethods() {
      return [...this.wide.values()].some(names => "method" in names);
    }
  }

  /** The role of each column of a table, or an `Unassigned` error with the columns that vary and have none. */
  function rolesOf(table, options) {
    const roles = declared(table, options);
    leaveOutConstant(table, roles);
    nameByWords(table, roles);
    nameHeaders(table, roles);
    leaveOutMeasures(table, roles);
    addSpread(table, options, roles);
    try {
      checkSample(table, roles);
    } catch (error) {
      error.roles = roles; // for the menus, which may say otherwise
      throw error;
    }
    const unnamed = unnamedColumns(table, roles), missing = [];
    let columns = unnamed;
    if (!roles.value && !roles.wide.size) {
      missing.push("value");
      columns = [...unnamed, ...constantNumbers(table, roles)];
    }
    if (roles.spread && roles.spread[0] === "unknown") missing.push("pm");
    if (!columns.length && !missing.length) return roles;
    let message = columns.length ? `${table.name}: ${columns.join(", ")} ${columns.length > 1 ? "have" : "has"} no role` : `${table.name}: no column is named as values`;
    if (missing.join() === "pm" && !columns.length) message = `${table.name}: what ± is has to be said`;
    throw new Unassigned(message, columns, missing, roles);
  }

  /** The roles that options name; a column has one. */
  function declared(table, options) {
    const roles = new Roles(), given = new Map();
    const use = (option, column) => {
      checkColumn(option, column, table);
      if (given.has(column)) throw new Refusal(`${option} = ${column}; ${given.get(column)} names it too: a column has one role`);
      given.set(column, option);
      return column;
    };
    const isWide = options.methods.length > 0 || options.columns.size > 0;
    if (options.method !== null) roles.method = use("method", options.method);
    if (options.value !== null && (table.values.has(options.value) || !isWide)) roles.value = use("value", options.value);
    for (const name of options.methods) roles.wide.set(use("methods", name), { method: name });
    for (const [word, names] of options.columns) names.forEach(name => roles.wide.set(use("columns", name), { [word]: name }));
    if (roles.value && roles.wide.size) throw new Refusal(`${roles.value} holds values, and so do columns of their own (${[...roles.wide.keys()].join(", ")}): one of the two can`);
    for (const [column, word] of options.unit) roles.keys.set(use("unit", column), word);
    roles.blocks = options.by.map(name => use("by", name));
    if (options.group !== null) roles.keys.set(use("group", options.group), "group");
    for (const role of ["low", "high", "of"]) if (options[role] !== null) roles[role] = use(role, options[role]);
    if ((roles.low === null) !== (roles.high === null)) throw new Refusal("low and high must be given together");
    if (options.n !== null) roles.count = /^[1-9]\d*$/.test(options.n) && !table.values.has(options.n) ? Number(options.n) : use("n", options.n);
    const [, kind, column] = /^(\w*)=?(.*)$/s.exec(options.pm || "");
    if (column) roles.spread = [kind, use("pm", column)];
    for (const name of options.ignore) {
      if (name === BRACKETS.trim()) table.names.filter(other => other.endsWith(BRACKETS)).forEach(other => roles.ignored.set(other, "ignored"));
      else roles.ignored.set(use("ignore", name), "ignored");
    }
    return roles;
  }

  /** Leave out what tells no row from another: constant columns, and an index without a name. */
  function leaveOutConstant(table, roles) {
    for (const [column, values] of table.values) {
      if (roles.has(column)) continue;
      const countsOn = table.numeric.has(column) && values.every((value, i) => i === 0 || value - values[i - 1] === 1);
      if (!varies(values) && !KEEP_MEANING.has(roleOf(column)) && !sets.ANSWERS.has(plainName(column))) roles.ignored.set(column, "constant");
      else if (INDEX_NAME.test(column) && countsOn) roles.ignored.set(column, "an index");
    }
  }

  const unnamedColumns = (table, roles) => table.names.filter(column => !roles.has(column));

  /** The constant columns that may hold the values of a method: numbers, under no known word. */
  function constantNumbers(table, roles) {
    const isOpen = column => roles.ignored.get(column) === "constant" && table.numeric.has(column) && present(table.values.get(column)).length > 0;
    return [...roles.ignored.keys()].filter(column => isOpen(column) && roleOf(column) === undefined);
  }

  /** The columns that may be measurements, in their order. */
  function openColumns(table, roles) {
    const possible = new Set([...unnamedColumns(table, roles), ...constantNumbers(table, roles)]);
    return table.names.filter(column => possible.has(column));
  }

  /** Give roles by the vocabulary; two columns of one role have none. */
  function nameByWords(table, roles) {
    const found = new Map();
    for (const column of table.names) {
      if (roles.has(column) || isSecond(column)) continue;
      const isAnswer = sets.ANSWERS.has(plainName(column)) && isBinary(table.values.get(column)), role = isAnswer ? "value" : roleOf(column);
      if (role) found.set(role, [...(found.get(role) || []), column]);
    }
    const known = roles.words(), hasValues = roles.value !== null || roles.wide.size > 0;
    for (const [role, columns] of found) {
      if (known.has(role) || columns.length > 1) continue;
      if (role === "method") roles.method = columns[0];
      else if (role !== "value") roles.keys.set(columns[0], role);
      else if (!hasValues) roles.value = columns[0];
    }
  }

  /** Columns whose names hold a word and a number: seed0, ours_run2, 5-shot. */
  function nameHeaders(table, roles) {
    if (roles.value || roles.wide.size) return;
    const matches = openColumns(table, roles).filter(column => table.numeric.has(column)).map(column => [column, NUMBERED.exec(column)?.groups]);
    const found = matches.filter(([, groups]) => groups);
    const kinds = new Set(found.map(([, groups]) => JSON.stringify([Boolean(groups.shots), (groups.word || "").toLowerCase(), Boolean(groups.method || groups.of)])));
    if (found.length < 2 || kinds.size !== 1 || (roles.method && (found[0][1].method || found[0][1].of))) return;
    for (const [column, groups] of found) {
      const names = { [groups.shots ? "shots" : roleOf(groups.word)]: Number(groups.shots || groups.number) };
      if (groups.method || groups.of) names.method = groups.method || groups.of;
      roles.wide.set(column, names);
      roles.ignored.delete(column);
    }
  }

  /** Beside a column of values, leave out other measures and facts of a run, which have a name. */
  function leaveOutMeasures(table, roles) {
    if (!roles.value) return;
    for (const column of table.names) {
      if (roles.has(column) || isSecond(column)) continue;
      const words = wordsOf(column), isOfBest = (words.has("best") || words.has("last")) && meets(words, sets.STEPS);
      if (meets(words, sets.OTHER_MEASURES) && table.numeric.has(column)) roles.ignored.set(column, "another measure");
      else if (sets.FACTS.has(plainName(column)) || words.has("time") || isOfBest) roles.ignored.set(column, "a fact of the run");
    }
  }

  /** Find what shows how much a mean varies: ± in its cells, or a column with a known word. */
  function addSpread(table, options, roles) {
    if (roles.low === null) {
      for (const column of table.names.filter(name => name.endsWith(PLUS_MINUS))) {
        const base = column.slice(0, -PLUS_MINUS.length);
        if (base !== roles.value && !roles.wide.has(base)) continue;
        roles.spread = roles.spread || [(options.pm || "unknown").split("=")[0], ""];
        roles.ignored.set(column, "±");
      }
    }
    if (!roles.value) return;
    const isFree = column => !roles.has(column) || roles.ignored.get(column) === "constant";
    for (const column of table.names.filter(isFree)) {
      const plain = plainName(column), ofValue = plainName(roles.value);
      const kind = DECLARED.KIND_OF_SPREAD[plain.startsWith(ofValue) ? plain.slice(ofValue.length) : plain] || DECLARED.KIND_OF_SPREAD[plain];
      if (kind && roles.spread === null && roles.low === null && table.numeric.has(column)) roles.spread = [(options.pm || kind).split("=")[0], column];
    }
    const counts = table.names.filter(column => sets.COUNTS.has(plainName(column)) && isFree(column));
    if (roles.spread && roles.count === null && counts.length === 1) roles.count = counts[0];
    if (roles.spread && roles.spread[0] === "sd" && roles.count === null) {
      throw new Unassigned("A standard deviation beside a mean needs the number of values behind it", [], ["n"], roles);
    }
  }

  /** Refuse what is no sample: curves of training, trials, summaries, shots in headers. */
  function checkSample(table, roles) {
    const { name } = table;
    const units = ["task", "item", "class", "dataset", "seed", "run", "fold", "draw"].filter(word => roles.words().has(word));
    for (const [column, values] of table.values) {
      if (roles.has(column) || !varies(values)) continue;
      const plain = plainName(column);
      if (sets.STEPS.has(plain) && table.numeric.has(column)) {
        throw new Refusal(`${name}: ${column} has ${distinctOf(values).length} values: a training curve, whose steps are no independent sample. Keep the final test `
          + "of each training, with several seeds, tasks or data sets; if each step is a test task of its own, choose task for this column");
      }
      if (sets.TRIALS.has(plain) || column.startsWith("params_") || (column.startsWith("param_") && table.names.includes("params"))) {
        throw new Refusal(`${name}: ${column} numbers the trials of a search: they are no sample, and the best of them is too high. Bring the chosen setting on `
          + "several seeds, tasks or data sets");
      }
    }
    const open = unnamedColumns(table, roles), first = open.find(column => !table.numeric.has(column));
    for (const column of [first, ...roles.keys.keys(), roles.method].filter(Boolean)) {
      const texts = new Set(table.values.get(column).map(value => textOf(value).toLowerCase()));
      if (DECLARED.WORDS.DESCRIBED.every(word => texts.has(word))) {
        throw new Refusal(`${name} is a summary (rows count, mean, std, min, max): bring the rows that it summarises`);
      }
    }
    if (roles.value || roles.wide.size) return;
    const words = new Set(open.flatMap(column => [...wordsOf(column)])), hasAny = (...some) => some.some(word => words.has(word));
    if (hasAny("train", "training") && hasAny("val", "valid", "loss", "lr") && !units.length && !roles.method) {
      throw new Refusal(`${name} has the columns ${open.slice(0, 6).join(", ")}: a log of one training, whose rows are no independent sample. Bring the final test of `
        + "several seeds, tasks or data sets");
    }
    const numbers = openColumns(table, roles).filter(column => /^\d+$/.test(column));
    if (numbers.length > 1 && roles.method) {
      throw new Refusal(`${name}: the columns ${numbers.join(", ")} are numbers of shots, of seeds or of tasks. Seeds and tasks are a sample: choose “values of one `
        + "seed” for each. Numbers of shots are chosen, and one number for each shows nothing of how much it varies");
    }
  }

  /** Whether lower values are better: by an arrow, an option, or the measure's name, which is asked. */
  function isLowerBetter(table, roles, options) {
    if (options.lower_is_better || options.higher_is_better) return options.lower_is_better;
    const chosen = options.where.map(condition => condition.replace(/^.*=/s, ""));
    const names = [roles.value, roles.method, options.value, ...roles.wide.keys(), ...chosen].filter(Boolean);
    if (names.some(name => name.includes("↓"))) return true;
    if (names.some(name => name.includes("↑")) || (roles.value && isAccuracy(roles.value))) return false;
    const unclear = new Set(["time", "times", "error"]);
    const ofFile = roles.value ? undefined : [...wordsOf(table.stem)].find(word => sets.LOWER_IS_BETTER.has(word) && !unclear.has(word));
    const asked = names.find(name => meets(wordsOf(name), sets.LOWER_IS_BETTER)) ?? ofFile;
    if (asked !== undefined) throw new Direction(`${asked}: lower is better of an error, a loss or a time; say which values are better`);
    return false;
  }

  /** The roles that are known, also where some columns have none. */
  function knownRoles(table, options) {
    try {
      return rolesOf(chosenRows(table, options.where), options);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error.roles ?? new Roles();
    }
  }

  Object.assign(report, { SETTINGS, PLUS_MINUS, BRACKETS, Unassigned, Direction, sets, plainName, roleOf, wordsOf, meets, isSummary, isAccuracy, textOf, varies, present,
    distinctOf, isBinary, noOptions, chosenRows, rolesOf, knownRoles, isLowerBetter });
})();
