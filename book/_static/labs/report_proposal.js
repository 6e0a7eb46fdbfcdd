// What columns without a role most likely are, for a user to confirm, and the command that says the same: fslcore/report/proposal.py in the page.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report;
  const { DECLARED, Refusal, Unassigned, Direction, sets, plainName, wordsOf, meets, isSummary, textOf, varies, present, distinctOf, isBinary, isValue } = report;
  const { noOptions, chosenRows, BRACKETS } = report;

  const ATTEMPTS = 12, { FEW, FEW_VALUES, FEW_KINDS, MOSTLY, LIKE } = DECLARED.LIMITS;
  const UNITS = ["task", "item", "class", "seed", "run", "draw", "fold"];
  const any = (column, ...words) => words.some(word => wordsOf(column).has(word));

  /**
   * The options that are most likely, with `problem` where they do not suffice either: one guess after another, until `measure(table, options)`
   * throws nothing. None is used without a user's word.
   */
  function proposal(table, options, measure) {
    let known = options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        measure(table, known);
        return { options: known, problem: null };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const more = guessOf(error, table, known);
        if (!more || !Object.keys(more).length) return { options: known, problem: error };
        known = merged(known, more);
      }
    }
    return { options: known, problem: new Refusal(`${table.name}: its columns have no likely roles`) };
  }

  function guessOf(error, table, options) {
    if (error instanceof Direction) return { lower_is_better: true };
    if (!(error instanceof Unassigned)) return null;
    const rows = chosenRows(table, options.where);
    return guess({ ...error, columns: likelyColumns(error, rows) }, rows, options);
  }

  /** Options with further ones: lists and maps get longer. */
  function merged(options, more) {
    const join = (known, value) => (Array.isArray(known) ? [...known, ...value] : known instanceof Map ? new Map([...known, ...value]) : value);
    return { ...options, ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, join(options[name], value)])) };
  }

  /** The columns without constant ones that are a setting by their name, or whose number is unlike those that vary. */
  function likelyColumns({ columns, roles }, table) {
    const isConstant = column => roles.ignored.get(column) === "constant";
    const numbers = columns.filter(column => !isConstant(column) && table.numeric.has(column)).flatMap(column => table.values.get(column)).filter(Number.isFinite);
    const low = numbers.reduce((a, b) => Math.min(a, b), Infinity) / LIKE, high = numbers.reduce((a, b) => Math.max(a, b), -Infinity) * LIKE;
    const isUnlike = column => numbers.length > 0 && !(low <= table.values.get(column)[0] && table.values.get(column)[0] <= high);
    const isSetting = column => meets(wordsOf(column), sets.NOT_METHODS) || meets(wordsOf(column), sets.STEPS);
    return columns.filter(column => !isConstant(column) || !(isSetting(column) || isUnlike(column)));
  }

  /** What the next column without a role, or the next role without a column, most likely is. */
  function guess(error, table, options) {
    const { columns, roles, missing } = error;
    if (columns.some(column => column.endsWith(BRACKETS))) return { ignore: ["()"] };
    for (const column of columns) {
      const choice = chosenPart(column, table.values.get(column));
      if (choice) return { where: [choice] };
    }
    for (const ofRole of [methodsOfMean, likelyValue, likelyMethod]) {
      const found = ofRole(error, table);
      if (found) return found;
    }
    if (columns.length) return restOf(columns, roles, table);
    if (missing.includes("pm")) return { pm: "ci" };
    if (missing.includes("n") && roles.spread) return { ignore: [roles.spread[1]] };
    if (missing.includes("rows") && options.rows === null) return { rows: "task" };
    if (missing.includes("seed")) return likelySeed(roles, table);
    return {};
  }

  function likelySeed(roles, table) {
    const columnOf = word => [...roles.keys].find(([, key]) => key === word)?.[0], seed = columnOf("seed"), task = columnOf("task");
    if (seed === undefined) return { seed: "runs" }; // in the names of columns
    if (roles.words().has("item")) return { unit: new Map([[seed, "support"]]) };
    if (task === undefined) return { seed: "runs" };
    const seeds = Map.groupBy(table.values.get(task).map((value, i) => [value, table.values.get(seed)[i]]), ([value]) => value);
    return { seed: [...seeds.values()].every(pairs => new Set(pairs.map(([, number]) => number)).size === 1) ? "tasks" : "runs" };
  }

  /** The rows that a column of metrics or of splits suggests. */
  function chosenPart(column, values) {
    const plain = plainName(column), texts = [...new Set(values)].map(textOf);
    if (sets.METRICS.has(plain)) return `${column}=${texts.find(text => any(text, "acc", "accuracy")) ?? texts[0]}`;
    return ["split", "subset", "phase", "partition"].includes(plain) && texts.includes("test") ? `${column}=test` : null;
  }

  /** The columns of the methods, where the column of values may be their mean. */
  function methodsOfMean({ columns, roles }, table) {
    if (!roles.value || !isSummary(roles.value) || roles.method) return null;
    const likely = likelyValue({ columns, roles, missing: ["value"] }, table);
    return likely && likely.methods ? { ...likely, ignore: [roles.value] } : null;
  }

  /** Whether most cells of a column are numbers. */
  function isNumberlike(column, table) {
    const values = table.values.get(column);
    return table.numeric.has(column) || values.filter(text => isValue(text) && /\d/.test(text)).length > MOSTLY * values.length;
  }

  /** The column of values, or the columns. */
  function likelyValue({ columns, roles, missing }, table) {
    if (!missing.includes("value")) return null;
    const numeric = columns.filter(column => isNumberlike(column, table));
    const isResult = column => !meets(wordsOf(column), sets.OTHER_MEASURES) && !meets(wordsOf(column), sets.NOT_METHODS) && !isSummary(column)
      && !Object.hasOwn(DECLARED.KIND_OF_SPREAD, plainName(column));
    const results = likeEachOther(numeric.filter(isResult), table), named = numeric.filter(column => any(column, "acc", "accuracy"));
    const untrained = named.filter(column => !any(column, "train", "std")), accuracies = untrained.length ? untrained : named;
    const counts = numeric.filter(column => any(column, "successes", "correct", "ncorrect"));
    const totals = table.names.filter(column => table.numeric.has(column) && any(column, "trials", "total", "n", "count"));
    const isPart = () => table.values.get(counts[0]).every((count, i) => count <= table.values.get(totals[0])[i]);
    if (counts.length === 1 && totals.length === 1 && isPart()) return { value: counts[0], of: totals[0] };
    if (accuracies.length === 1) return { value: accuracies[0] };
    const tests = accuracies.filter(column => any(column, "test"));
    if (tests.length === 1 && roles.method) return { value: tests[0] };
    if (accuracies.length > 1 && !roles.method) return { methods: accuracies };
    for (const word of DECLARED.LIKE_VALUES) {
      const likely = numeric.filter(column => any(column, word) && !meets(wordsOf(column), sets.NOT_METHODS));
      if (likely.length === 1) return { value: likely[0] };
    }
    const means = [...results, ...numeric].filter(column => any(column, "mean"));
    if (means.length > 1) return { methods: [...new Set(means)] };
    if (means.length === 1 && roles.method && !results.length) return { value: means[0] };
    const others = columns.filter(column => !results.includes(column)), hasMethods = roles.method || others.some(column => isLikeMethods(column, table));
    if (results.length > 1) {
      const hasTexts = columns.some(column => !isNumberlike(column, table));
      if (hasMethods || (hasTexts && !roles.words().size)) return { columns: new Map([["dataset", results]]) };
      return oneOfEach(results);
    }
    const likely = results.length ? results : numeric.filter(column => meets(wordsOf(column), sets.LOWER_IS_BETTER));
    return likely.length ? { value: likely[0] } : null;
  }

  /** Of columns of numbers those of answers or of measurements, without those that count or number. */
  function likeEachOther(columns, table) {
    const numeric = columns.filter(column => table.numeric.has(column)), answers = numeric.filter(column => isBinary(table.values.get(column)));
    if (answers.length > 1) return answers;
    const isCount = column => varies(table.values.get(column)) && present(table.values.get(column)).every(Number.isInteger);
    const left = columns.filter(column => !(table.numeric.has(column) && isCount(column)));
    return left.length ? left : columns;
  }

  /** Columns as methods; of names of two parts, a method's and a measure's, the first measure. */
  function oneOfEach(columns) {
    const parts = columns.map(column => /^(.+)[ _/-](.+)$/s.exec(column));
    if (parts.every(Boolean)) {
      const methods = new Set(parts.map(([, method]) => method)), measures = [...new Set(parts.map(([,, measure]) => measure))];
      if (Math.min(methods.size, measures.length) > 1 && columns.length === methods.size * measures.length) {
        const chosen = parts.filter(([,, measure]) => measure === measures[0]).map(([column]) => column);
        return { methods: chosen, ignore: columns.filter(column => !chosen.includes(column)) };
      }
    }
    return { methods: columns };
  }

  /** Whether a column's name is often that of methods. */
  function isLikeMethods(column, table) {
    const count = distinctOf(table.values.get(column)).length;
    return count > 1 && count <= FEW && (meets(wordsOf(column), sets.LIKE_METHODS) || sets.LIKE_METHODS.has(column.split(" ")[0]));
  }

  /** Whether each value comes equally often, and more than once. */
  function repeats(values) {
    const counts = [...Map.groupBy(present(values), value => value).values()].map(group => group.length);
    return counts[0] > 1 && counts.every(count => count === counts[0]);
  }

  /** The column of the methods. */
  function likelyMethod({ columns, roles }, table) {
    if (roles.words().has("method")) return null;
    const countOf = column => distinctOf(table.values.get(column)).length, few = columns.filter(column => countOf(column) > 1 && countOf(column) <= FEW);
    const texts = few.filter(column => !table.numeric.has(column));
    const likely = [...few.filter(column => isLikeMethods(column, table)), ...texts.filter(column => repeats(table.values.get(column)) || roles.wide.size),
      ...texts.filter(column => countOf(column) === table.length && !roles.keys.size)];
    return likely.length ? { method: likely[0] } : null;
  }

  /** Of the columns that are left one: what tells rows apart, else left out. */
  function restOf(columns, roles, table) {
    const keys = [roles.method, ...roles.keys.keys(), ...roles.blocks].filter(Boolean), units = new Set([...roles.keys.values()].filter(word => UNITS.includes(word)));
    const isRepeated = names => new Set(table.places.map((_, i) => JSON.stringify(names.map(name => textOf(table.values.get(name)[i]))))).size < table.length;
    const inHeaders = [...roles.wide.values()].flatMap(names => Object.keys(names)), countOf = column => distinctOf(table.values.get(column)).length;
    let isAmbiguous = keys.length ? isRepeated(keys) : table.length > 1;
    if (roles.wide.size && !units.size && ![...roles.keys.values(), ...inHeaders].includes("dataset")) isAmbiguous = true;
    const isNumbered = column => any(column, "id", "uid", "item", "data");
    const ordered = columns.map((column, i) => [!isNumbered(column), countOf(column), i, column]).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    for (const [,, , column] of ordered) {
      const values = table.values.get(column), isNumeric = table.numeric.has(column), words = wordsOf(column), count = countOf(column);
      if (isNumeric && present(values).some(value => !Number.isInteger(value))) continue;
      const isKind = roles.wide.size && !isNumeric && count <= FEW_KINDS;
      if (isKind && [...Map.groupBy(values, value => value).values()].every(group => group.length > 1)) return { by: [column] };
      if (!isAmbiguous) continue;
      if (meets(words, sets.LIKE_RUNS) && !units.has("run") && !units.has("seed")) return { unit: new Map([[column, "run"]]) };
      if (!isRepeated([...keys, column]) && count > (units.size ? FEW_VALUES : 2)) {
        const isOfItems = units.has("task") || !isNumeric || words.has("id") || words.has("uid");
        return { unit: new Map([[column, any(column, "data", "domain", "corpus", "set") ? "dataset" : isOfItems ? "item" : "task"]]) };
      }
      if (count <= FEW_VALUES) return { by: [column] };
    }
    return { ignore: columns };
  }

  // ---------------------------------------------------------------- the command

  const shellWord = name => (/^[\w@%+=:,./-]+$/.test(name) ? name : `'${String(name).replace(/'/g, "'\"'\"'")}'`);

  /** The command with these options. */
  function command(files, options) {
    const parts = ["fslcore report", ...files.map(file => shellWord(file.startsWith("-") ? `./${file}` : file))], usual = noOptions();
    for (const name of DECLARED.OPTIONS.filter(option => option in usual)) {
      const value = options[name], flag = `--${name.replaceAll("_", "-")}`;
      if (name === "columns") value.forEach((columns, word) => parts.push(flag, word, ...columns.map(shellWord)));
      else if (value instanceof Map) parts.push(...(value.size ? [flag, ...[...value].map(([column, word]) => shellWord(`${column}=${word}`))] : []));
      else if (Array.isArray(value)) parts.push(...(value.length ? [flag, ...value.map(shellWord)] : []));
      else if (value !== usual[name]) parts.push(flag, ...(value === true ? [] : [shellWord(String(value))]));
    }
    return parts.join(" ");
  }

  Object.assign(report, { proposal, command, shellWord, merged });
})();
