// A row per measurement, and what kind of sample the rows are, from the roles that were named: fslcore/report/shapes.py in the page.
(function () {
  "use strict";
  const labs = window.fslLabs, report = labs.compute.report, { SETTINGS, Refusal, Unassigned, sets } = report;
  const { plainName, roleOf, blockName, wordsOf, meets, isAccuracy, isSummary, textOf, isValue, visible, chosenRows, rolesOf, checkRoles, isLowerBetter, noChoices } = report;

  const UNIT_KEYS = ["task", "item", "class"], COUNT_KEYS = ["ways", "shots", "queries"];
  const SAMPLE_KEYS = ["seed", "draw", "run", "fold", "support"];
  const FEW_VALUES = 4; // different values of a block that may come again by chance

  const isDecimal = text => /^\d+$/.test(text);
  const distinct = (rows, key) => [...new Set(rows.map(row => row[key]))];
  /** Groups of rows by their values of some keys, in order of appearance. */
  const grouped = (rows, keys) => [...Map.groupBy(rows, row => JSON.stringify(keys.map(key => row[key]))).values()];
  const hasKey = (rows, key) => rows.length > 0 && key in rows[0];
  const varying = (rows, key) => hasKey(rows, key) && distinct(rows, key).length > 1;

  /** The numbers of a column of values, or a `Refusal` with the first cell that is none. */
  function numbersOf(table, column) {
    const cells = table.values.get(column);
    if (table.numeric.has(column)) return cells;
    const wrong = cells.findIndex(cell => cell !== "" && !isValue(cell)), row = wrong < 0 ? cells.findIndex(cell => cell !== "") : wrong;
    throw new Refusal(row < 0 ? `${table.name}: ${column} has no value`
      : `${column} must be a number, or nan where a value is missing, got '${cells[row]}' in row ${row + 1}`);
  }

  /** A row per value: method, accuracy, the keys and the blocks, and the row's place in the file. */
  function rowsBy(table, roles) {
    const method = roles.column("method"), [value, total] = [roles.column("value"), roles.column("of")];
    const columns = [...roles.keys, ...roles.columns("by").map(column => [column, blockName(column)]), ...(method === null ? [] : [[method, "method"]])];
    const keyed = table.places.map((place, i) => ({ place, ...Object.fromEntries(columns.map(([column, key]) => [key, table.values.get(column)[i]])) }));
    const unnamed = Object.fromEntries(roles.wide.flatMap(([, names]) => Object.keys(names)).map(key => [key, NaN])); // where columns are named unlike
    if (value === null) return roles.wide.flatMap(([column, names]) => {
      const values = numbersOf(table, column);
      return keyed.map((row, i) => ({ ...row, accuracy: values[i], ...unnamed, ...names }));
    });
    const values = numbersOf(table, value), totals = total !== null && numbersOf(table, total);
    if (totals && values.some((part, i) => part > totals[i] || totals[i] <= 0)) throw new Refusal(`${value} must be counts up to their totals, ${total}, got a larger one`);
    return keyed.map((row, i) => ({ ...row, accuracy: totals ? values[i] / totals[i] : values[i] }));
  }

  /** Rows with the names of their methods, without methods that have no value. */
  function withMethods(rows, table, notes) {
    if (!hasKey(rows, "method")) {
      rows.forEach(row => (row.method = table.stem));
      notes.push("Nothing distinguishes methods: all rows are of one, called after its file.");
    }
    rows.forEach(row => (row.method = visible(textOf(row.method).trim())));
    const isNameless = row => ["", "nan", "None"].includes(row.method);
    if (rows.some(row => isNameless(row) && !Number.isNaN(row.accuracy))) throw new Refusal("a row has no method; name it, or leave it out");
    const measured = new Set(rows.filter(row => !Number.isNaN(row.accuracy)).map(row => row.method));
    if (!measured.size) throw new Refusal("no row has a value");
    const named = rows.filter(row => !isNameless(row)), empty = named.filter(row => Number.isNaN(row.accuracy)).length;
    if (empty) notes.push(`${empty} empty values are left out.`);
    return named.filter(row => measured.has(row.method));
  }

  /** What the values measure: the metric that was chosen, or the name of their column. */
  function measureOf(roles, choices) {
    const chosen = [...choices.roles].find(([column, role]) => role.startsWith("where:") && sets.METRICS.has(plainName(column)));
    return chosen ? chosen[1].slice(6) : roles.measure;
  }

  /** Accuracies in percent, other measures as written: {percent, measure}, what they are in words. */
  function scale(rows, { table, roles, choices, lower, notes }) {
    const { name } = table, values = rows.map(row => row.accuracy).filter(value => !Number.isNaN(value)), whole = values.every(Number.isInteger);
    if (!values.every(Number.isFinite)) throw new Refusal(`values of ${name} must be finite, or nan, got infinity`);
    const multiply = factor => rows.forEach(row => (row.accuracy *= factor));
    if (roles.column("of") !== null) {
      multiply(100);
      notes.push("Counts are divided by their totals; each row weighs the same.");
      return { percent: true, measure: `${roles.column("value")} of ${roles.column("of")} in percent` };
    }
    const measure = measureOf(roles, choices), { better, out_of } = choices, isAnswer = sets.ANSWERS.has(plainName(measure)) && values.every(value => value === 0 || value === 1);
    const isShare = measure === null || isAccuracy(measure) || isAnswer || out_of !== null;
    if (lower || !isShare) return { percent: false, measure: `${measure || "values"} as written (${lower ? "lower" : "higher"} is better)` };
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b)), full = Number(out_of) || (high <= 1 ? 1 : 100);
    if (low < 0 || high > full) {
      throw new Refusal(`${name}: ${measure ?? roles.wide[0][0]} has the value ${low < 0 ? low : high}, and accuracies go from 0 to ${full}; choose the scale, or which `
        + "values are better, if it measures something else");
    }
    if (out_of === null) checkOneUnit(rows, name);
    if (full === 1 && !values.every(value => value === 0 || value === 1)) notes.push("Values from 0 to 1 are read as shares.");
    if (whole && high > 1 && out_of === null) notes.push({ option: "out_of", text: "Whole numbers are read as percent; if they count right answers, say so in the menu “Scale of accuracies”." });
    multiply(100 / full);
    const isNamed = measure !== null || roles.wide.some(([column]) => meets(wordsOf(column), new Set(["acc", "accuracy"])));
    const isSaid = better === "higher" || out_of !== null, isAssumed = !(isNamed || isSaid || values.every(value => value === 0 || value === 1));
    const block = roles.columns("by").find(column => roleOf(column) === undefined && varying(rows, blockName(column)));
    if (isAssumed && block !== undefined) throw new Unassigned(`nothing says what the columns measure, which may differ between blocks of ${block}; say which values are better`);
    return { percent: true, measure: `accuracy in percent${isAssumed ? " (assumed, as no name says so)" : ""}` };
  }

  /** Refuse values of which some are shares and others percent. */
  function checkOneUnit(rows, name) {
    const positive = rows.filter(row => row.accuracy > 0), values = positive.map(row => row.accuracy).sort((a, b) => a - b), most = values.at(-1);
    if (!values.length || most <= 1) return;
    const highest = [...Map.groupBy(positive, row => row.method).values()].map(part => part.reduce((high, row) => Math.max(high, row.accuracy), 0));
    const median = (values[(values.length - 1) >> 1] + values[values.length >> 1]) / 2;
    if (values[0] < 1 || highest.some(high => high <= 1) || median <= 1) {
      throw new Refusal(`${name} has the values ${positive.find(row => row.accuracy <= 1).accuracy} and ${most}: shares and percent are mixed; write one unit, or choose `
        + "the scale 0 to 100 if all are percent", ["--out-of", "100"]);
    }
  }

  /** [rows, names]: the rows without those of means over the others, and what these are called. */
  function withoutSummaries(rows, blocks) {
    const left = [];
    let kept = rows;
    for (const key of ["task", "item", "dataset", "class", "method", "seed", "run", "fold", "draw", ...blocks.filter(block => !SETTINGS.includes(block))]) {
      const names = hasKey(kept, key) ? distinct(kept, key).map(textOf) : [];
      const summaries = names.filter(isSummary);
      if (key !== "method" && !blocks.includes(key)) summaries.push(...meansOfOthers(kept.filter(row => !summaries.includes(textOf(row[key]))), key));
      if (!summaries.length || summaries.length === names.length) continue;
      left.push(...summaries.sort());
      kept = kept.filter(row => !summaries.includes(textOf(row[key])));
    }
    return [kept, left];
  }

  /** Units that have a name and whose values are the means of the others', which hardly comes by chance. */
  function meansOfOthers(rows, key) {
    const names = distinct(rows, key).map(textOf), others = Object.keys(rows[0] ?? {}).filter(name => !["accuracy", "total", "place", key].includes(name));
    if (names.length < FEW_VALUES || names.every(isDecimal)) return [];
    const sum = values => values.reduce((total, value) => total + value, 0);
    const places = grouped(rows, others).map(part => {
      const units = Map.groupBy(part.filter(row => !Number.isNaN(row.accuracy)), row => textOf(row[key]));
      return new Map([...units].map(([name, unit]) => [name, sum(unit.map(row => row.accuracy)) / unit.length]));
    });
    const sums = places.map(place => sum([...place.values()]));
    // A unit is hard for all methods: after the first, only differences from it are evidence.
    const evidence = places.map((place, i) => [...place].map(([name, value]) => (i ? value - places[0].get(name) : value)).filter(Number.isFinite));
    const ranges = evidence.map(values => values.reduce((a, b) => Math.max(a, b), -Infinity) - values.reduce((a, b) => Math.min(a, b), Infinity));
    return names.filter(name => {
      const values = places.map(place => place.get(name));
      if (isDecimal(name) || values.includes(undefined)) return false;
      const areSteps = digits => values.every(value => Math.abs(value * 10 ** digits - Math.round(value * 10 ** digits)) <= 1e-6);
      const unit = 10 ** -([0, 1, 2, 3, 4, 5].find(areSteps) ?? 6), areMeans = places.every((place, i) => Math.abs(values[i] - (sums[i] - values[i]) / (place.size - 1)) <= unit);
      const chance = ranges.reduce((product, range) => product * (range > 0 ? Math.min(1, (2 * unit) / range) : 1), names.length);
      return areMeans && chance < 1e-3;
    });
  }

  /** Rows that have a value, with the key of their unit, and no row twice. */
  function withUnits(rows, choices, blocks, notes) {
    const keys = ["method", ...new Set([...SETTINGS, ...blocks, ...SAMPLE_KEYS, ...UNIT_KEYS])].filter(key => hasKey(rows, key));
    const hasValue = row => !Number.isNaN(row.accuracy);
    if (choices.rows !== null) {
      if (keys.includes(choices.rows)) throw new Refusal(`A column names the ${choices.rows} already: a row is said to be one too`);
      return numberedRows(rows, keys, choices.rows, notes).filter(hasValue);
    }
    const measured = rows.filter(hasValue), parts = { class: "accuracies of the classes", item: "answers to the items" };
    const inTask = Object.keys(parts).filter(key => keys.includes(key));
    if (keys.includes("task") && inTask.length && !keys.includes("support")) {
      inTask.forEach(key => notes.push(`The ${parts[key]} of a task are averaged.`));
      const means = grouped(measured, keys.filter(key => !(key in parts))).map(part => ({ ...part[0], accuracy: part.reduce((sum, row) => sum + row.accuracy, 0) / part.length }));
      means.forEach(row => inTask.forEach(key => delete row[key]));
      return means;
    }
    const repeated = grouped(measured, keys).find(part => part.length > 1);
    if (!repeated) return measured;
    if (!UNIT_KEYS.some(key => keys.includes(key))) {
      throw new Unassigned(`${repeated[0].method} has ${labs.number(repeated.length)} rows, and nothing says what a row is, where row k is the same for all methods`);
    }
    throw new Refusal(`${repeated.length} rows have ${keys.map(key => `${key} ${textOf(repeated[0][key])}`).join(", ")}: keep each once, name what differs, or choose rows`);
  }

  /** Rows with their place as their unit; a method with fewer rows than others has units of its own. */
  function numberedRows(rows, keys, unit, notes) {
    const firstPlace = part => part.reduce((low, row) => Math.min(low, row.place), Infinity);
    const startTogether = new Set(grouped(rows, ["method"]).map(firstPlace)).size === 1;
    const hasPlaces = keys.length === 1 || grouped(rows, [...keys, "place"]).length === rows.length, groups = grouped(rows, keys);
    for (const part of groups) part.forEach((row, i) => (row[unit] = hasPlaces && startTogether ? row.place : i));
    notes.push({ option: "rows", text: `Row k of each method is ${unit} k, as the menu “What is a row?” says.` });
    const others = keys.filter(key => key !== "method");
    let own = rows.length;
    for (const place of grouped(rows, others)) {
      const counts = grouped(place, ["method"]), most = counts.reduce((high, part) => Math.max(high, part.length), 0);
      for (const part of counts.filter(({ length }) => length < most)) {
        notes.push(`${part[0].method} has ${labs.number(part.length)} rows, another method ${labs.number(most)}: which of them are the same is unknown; number them in a column, or write `
          + "nan where a value is missing.");
        part.forEach(row => (row[unit] = own++));
      }
    }
    return rows;
  }

  /** Refuse two seeds of a method with the very same numbers, where another has others. */
  function checkCopies(rows, key, blocks, notes) {
    const equal = [];
    for (const part of grouped(rows, ["method", ...SETTINGS, ...blocks].filter(name => hasKey(rows, name)))) {
      const vectors = Map.groupBy(grouped(part, [key]), seed => JSON.stringify(seed.map(row => row.accuracy)));
      const copies = [...vectors.values()].find(seeds => seeds.length > 1 && distinct(seeds[0], "accuracy").length > FEW_VALUES);
      if (!copies) continue;
      const [first, second] = copies.map(seed => textOf(seed[0][key]));
      if (vectors.size > 1) {
        throw new Refusal(`${part[0].method}: ${key} ${first} and ${key} ${second} have the very same numbers; one is a copy of the other: leave it out, or bring its own results`);
      }
      equal.push(part[0].method);
    }
    if (equal.length) {
      const text = `Every ${key} of ${[...new Set(equal)].join(", ")} has the very same numbers: it is read as a method without randomness. If they are copies of one file, leave them `
        + `out (--where '${key}!=NUMBER' of the command).`;
      notes.push({ option: "where", text });
    }
  }

  /** Refuse values of a method, under one seed, that are one block of values again and again. */
  function checkBlocks(rows, seeded, blocks) {
    for (const part of grouped(rows, ["method", ...SETTINGS, ...blocks, ...seeded].filter(name => hasKey(rows, name)))) {
      const values = part.map(row => row.accuracy);
      for (let times = 2; times <= 10; times++) {
        const size = values.length / times;
        if (!Number.isInteger(size) || new Set(values.slice(0, size)).size <= FEW_VALUES) continue;
        if (values.every((value, i) => value === values[i % size])) {
          throw new Refusal(`${part[0].method}: ${values.length} values are the same ${size} values ${times} times; keep each task once, or number runs in a column run`);
        }
      }
    }
  }

  /** What the rows are a sample of, by the names of fslcore.report.model.Shape. */
  function shapeOf(rows, choices, lower, blocks, notes) {
    const units = UNIT_KEYS.filter(key => hasKey(rows, key)), seeded = ["run", "draw", "seed", "fold"].filter(key => varying(rows, key));
    if (seeded.length > 1) throw new Refusal(`${seeded.join(" and ")} both vary; one of them can be the sample: compare within the other, or choose its rows`);
    if ((hasKey(rows, "support") && (units.length || varying(rows, "support"))) || (units.length && hasKey(rows, "group"))) return "items under supports";
    if (seeded.length) checkCopies(rows, seeded[0], blocks, notes);
    if (!units.length) return shapeOfMeans(rows, seeded, blocks);
    checkBlocks(rows, seeded, blocks);
    if (seeded.length) return shapeOfSeeded(seeded[0], choices.seed);
    if (rows.every(row => row.accuracy === 0 || row.accuracy === 100) && !lower) {
      notes.push("Values are 0 and 1 alone: each is read as one wrong or right answer.");
      return "right or wrong answers";
    }
    return "tasks";
  }

  function shapeOfMeans(rows, seeded, blocks) {
    const hasDatasets = varying(rows, "dataset") && !blocks.includes("dataset");
    if (seeded[0] === "fold" && hasDatasets) throw new Refusal("folds and data sets both vary: compare within each data set");
    if (seeded[0] === "fold") return "folds";
    if (hasDatasets) return seeded.length ? "data sets and seeds" : "data sets";
    if (seeded.length) return "seeds";
    throw new Refusal("one number per method: nothing shows how much it varies. Bring a row per task, per seed or per data set, or compare printed figures with their ±: "
      + "fslcore compare 79.59±0.52 76.87±0.56 --tasks 600");
  }

  function shapeOfSeeded(key, numbered) {
    if (key === "draw" || (key === "seed" && numbered === "tasks")) return "tasks in several draws";
    if (key === "run" || (key === "seed" && numbered === "runs")) return "training runs on tasks";
    if (key === "fold") throw new Refusal("a fold beside tasks or items: compare within each fold, or choose run or draw for it");
    throw new Unassigned("what a seed numbers has to be said: trainings, or draws of tasks");
  }

  const PLURALS = { class: "classes", dataset: "data sets", shots: "numbers of shots", queries: "numbers of queries", ways: "numbers of ways", sampling: "kinds of sampling" };
  const SINGULARS = { "data sets": "data set", classes: "class" };
  const NAMED_KEYS = [...UNIT_KEYS, "support", "seed", "draw", "run", "fold", "group", ...SETTINGS];

  /** What was read as what, with the numbers of each: the second line of every answer. */
  function readingSentence(rows, roles, { measure, choices, summaries }) {
    const count = distinct(rows, "method").length, wide = roles.wide.map(([column]) => column), blocks = roles.columns("by").map(column => [blockName(column), column]);
    const source = roles.column("method") !== null ? ` (column ${roles.column("method")})`
      : roles.words.has("method") ? ` (columns ${wide.slice(0, 4).join(", ")}${wide.length > 4 ? ", …" : ""})` : "";
    const parts = [`${labs.number(count)} method${count === 1 ? "" : "s"}${source}`], columnOf = new Map([...roles.keys.map(([column, key]) => [key, column]), ...blocks]);
    for (const key of new Set([...NAMED_KEYS, ...blocks.map(([name]) => name)])) {
      if (!hasKey(rows, key) || (SETTINGS.includes(key) && !varying(rows, key))) continue;
      const size = distinct(rows, key).length, isKnown = NAMED_KEYS.includes(key), many = isKnown ? PLURALS[key] || `${key}s` : `values of ${key}`;
      const word = size === 1 ? SINGULARS[many] || many.replace(/s$/, "") : many, column = columnOf.get(key);
      const text = `${labs.number(size)} ${word}${column !== undefined && isKnown && plainName(column) !== key ? ` (${column})` : ""}`;
      if (!parts.includes(text)) parts.push(text);
    }
    parts.push(measure, ...[...choices.roles].filter(([, role]) => role.startsWith("where:")).map(([column, role]) => `only ${column}=${role.slice(6)}`));
    const left = roles.columns("ignore").filter(column => !["constant", "an index"].includes(roles.why.get(column)));
    left.push(...summaries.map(name => `rows called ${name}`));
    return `Read: ${parts.join(", ")}${left.length ? `; left out: ${left.join(", ")}` : ""}.`;
  }

  /**
   * The measurements in a table (`report.tableOf`) by a user's choices: {name, shape, rows, percent, lower, blocks, reading}. What has no role or no
   * true reading throws a `Refusal`. A note that a menu or an option would change is {option, text}, others are texts.
   */
  function measure(whole, choices) {
    const table = chosenRows(whole, choices), notes = [...table.notes], roles = rolesOf(whole, choices);
    checkRoles(table, roles);
    const lower = isLowerBetter(table, roles, choices), named = withMethods(rowsBy(table, roles), table, notes);
    const { percent, measure: words } = scale(named, { table, roles, choices, lower, notes });
    const blocks = roles.columns("by").map(blockName), [kept, summaries] = withoutSummaries(named, blocks);
    for (const key of COUNT_KEYS.filter(name => hasKey(kept, name))) {
      const digits = kept.map(row => /\d+/.exec(textOf(row[key]))?.[0]), isNumber = !digits.includes(undefined); // no number is in all, beside 1 and 5
      kept.forEach((row, i) => (row[key] = isNumber ? Number(digits[i]) : digits[i] ?? textOf(row[key])));
    }
    const rows = withUnits(kept, choices, blocks, notes), shape = shapeOf(rows, choices, lower, blocks, notes);
    return { name: table.name, shape, rows, percent, lower, blocks, reading: [readingSentence(rows, roles, { measure: words, choices, summaries }), ...new Set(notes)] };
  }

  /** A file {name, bytes} as its measurements, where words name all its columns. */
  const read = file => measure(report.tableOf(file), noChoices());

  /** By method, its values by unit: what `rows` of one place hold. */
  function gridOf(rows, unit) {
    const valuesOf = ([method, rowsOfMethod]) => [method, new Map(rowsOfMethod.map(row => [row[unit], row.accuracy]))];
    return new Map([...Map.groupBy(rows, row => row.method)].map(valuesOf));
  }

  Object.assign(report, { UNIT_KEYS, measure, read, gridOf, grouped, distinct, hasKey });
})();
