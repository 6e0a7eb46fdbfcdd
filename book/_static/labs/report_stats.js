// Means, paired differences and what they apply to, as fslcore/report/{analysis,results}.py compute them with fslcore.stats; tests hold them to
// tests/site/test_labs_report.py.
(function () {
  "use strict";
  const labs = window.fslLabs, report = labs.compute.report, { DECLARED, SETTINGS, UNIT_KEYS, Refusal, distinct, gridOf, grouped, hasKey } = report;
  const { quantile, survival, moments, interval, closedDf } = labs;

  const LEVEL = 0.95, POWER = 0.8;
  const BOUNDS = [0, 100], DIFFERENCE_BOUNDS = [-100, 100]; // of percentages; other measures have none: null
  const ROUNDING = 4 * 2 ** -52; // relative: accuracies that differ by less are equal

  const least = x => x.reduce((a, b) => Math.min(a, b));
  const largest = x => x.reduce((a, b) => Math.max(a, b));
  const largestSize = x => Math.max(-least(x), largest(x));
  const plural = unit => ({ class: "classes" }[unit] || `${unit}s`);

  // ---------------------------------------------------------------- intervals

  /** Student's interval of a mean, {mean, half, n, df}; values that spread by no more than `fine` are equal. */
  function student(x, fine, df = x.length - 1) {
    const [mean, deviation] = moments(x), spread = largest(x) - least(x) > 2 * fine ? deviation : 0;
    return { mean, half: quantile((1 + LEVEL) / 2, df) * spread / Math.sqrt(x.length), n: x.length, units: x.length, df, rarity: rarityOf(x, 2 * fine) };
  }

  /** `stats.rare.rarity_of`: [unseen, size], how large deviations have to be reckoned with where few values differ from the others. */
  function rarityOf(x, fine) {
    const falling = (value, start, stop) => Math.min(Math.max((stop - value) / (stop - start), 0), 1);
    const ordered = Float64Array.from(x).sort(), middle = (ordered[(x.length - 1) >> 1] + ordered[x.length >> 1]) / 2;
    const deviations = x.map(value => Math.abs(value - middle)).filter(deviation => deviation > fine);
    if (!deviations.length) return [1, 0];
    const weight = falling(deviations.length / x.length, 0.1, 0.25), unseen = falling(deviations.length, 10, 30);
    const sum = values => values.reduce((a, b) => a + b, 0), size = sum(deviations.map(deviation => deviation ** 2)) / sum(deviations);
    return [weight * unseen, weight * (1 - unseen) * size];
  }

  /** `stats.rare.chance_beyond` */
  function chanceBeyond(distance, error, df, size, units) {
    if (!(size > distance && distance > 0)) return survival(distance / error, df);
    const chance = survival(distance / Math.sqrt(error ** 2 + distance * (size - distance) / units), df);
    return Math.max(chance, (1 - distance / size) ** units);
  }

  /** `stats.rare.reach` at the level of the page. */
  function reachOf(error, df, size, units) {
    const q = quantile((1 + LEVEL) / 2, df), half = q ** 2 * size / units / 2, scale = 1 + q ** 2 / units;
    const distance = (half + Math.sqrt(half ** 2 + scale * q ** 2 * error ** 2)) / scale;
    return Math.max(distance > size ? q * error : distance, size * (1 - ((1 - LEVEL) / 2) ** (1 / units)));
  }

  const isRare = rarity => rarity[0] > 0 || rarity[1] > 0;
  const deviationOf = (rarity, room) => rarity[0] * room + rarity[1];

  /** Ends {low, high} between the bounds, with what rare deviations add (`stats.intervals`). */
  function endsWithin({ mean, half, units, df, rarity }, { low, high }, bounds) {
    if (bounds === null) return { low, high };
    const ends = [low, high], error = half / quantile((1 + LEVEL) / 2, df);
    if (isRare(rarity)) {
      for (const side of [0, 1]) {
        const room = Math.abs(bounds[side] - mean), distance = Math.abs(ends[side] - mean);
        if (distance < half * (1 - 1e-9)) continue; // a bound is near on this side
        const [least, most] = [deviationOf(rarity, room), room].map(size => reachOf(error, df, size, units));
        ends[side] = mean + (side ? 1 : -1) * Math.max(Math.min(distance, most), least);
      }
    }
    return { low: Math.max(ends[0], bounds[0]), high: Math.min(ends[1], bounds[1]) };
  }

  /** Where nothing varies, what the bounds leave possible (`stats.chance_of_equal`). */
  function endsOfEqualValues(mean, units, bounds) {
    if (bounds === null) return { low: -Infinity, high: Infinity };
    const [first, last] = bounds;
    const share = 1 - ((1 - LEVEL) / 2) ** (1 / units);
    return { low: mean - share * (mean - first), high: mean + share * (last - mean) };
  }

  /** `stats.closed_task_interval` or `stats.open_task_interval` of values, as a row of methods. */
  function methodRow(method, x, { sampling, bounds }, factor = 1) {
    const found = student(x, ROUNDING * largestSize(x), sampling === "closed" ? closedDf(x.length) : undefined), { mean, n, df } = found, half = found.half * factor;
    const { low, high } = half > 0 ? endsWithin({ ...found, half }, interval(mean, half, { df, level: LEVEL, bounds }), bounds)
      : endsOfEqualValues(mean, n, bounds);
    return { method, mean, low, high, half_width: half, n, variance_units: varianceUnits(x), variance_of: n };
  }

  /** How many units carry the variance of values: their number over their kurtosis; null where nothing varies. */
  function varianceUnits(x) {
    const [mean] = moments(x), deviations = x.map(value => value - mean), most = largest(deviations.map(Math.abs));
    if (most <= 1e-9 * largest(x.map(Math.abs))) return null;
    const squares = deviations.map(deviation => (deviation / most) ** 2), sum = values => values.reduce((a, b) => a + b, 0);
    return sum(squares) ** 2 / sum(squares.map(square => square ** 2));
  }

  /** Differences of two methods on the same units; what differs by rounding alone is equal. */
  function pairedDifferences(x, y, fine) {
    const differences = x.map((value, i) => (Math.abs(value - y[i]) <= fine ? 0 : value - y[i]));
    const low = least(differences), high = largest(differences);
    return high - low <= 2 * fine ? differences.map(() => (low <= 0 && high >= 0 ? 0 : low)) : differences;
  }

  /** `stats.paired_interval`. */
  function pairedInterval(x, y) {
    const fine = ROUNDING * Math.max(largestSize(x), largestSize(y));
    const differences = pairedDifferences(x, y, fine);
    const found = student(differences, ROUNDING * largestSize(differences));
    const most = largest(differences.map(Math.abs)), ordered = Float64Array.from(differences).sort();
    const isZero = ordered[(ordered.length - 1) >> 1] + ordered[ordered.length >> 1] === 0;
    const count = holds => differences.filter(holds).length;
    return { ...found, above: count(value => value > 0), below: count(value => value < 0), largest: most, oneNumber: rarityOf(differences, 1e-9 * most)[0] > 0 && !isZero, effect: "Cohen's d_z", deviation: found.half / quantile((1 + LEVEL) / 2, found.df) * Math.sqrt(found.n),
      variance_units: varianceUnits(differences), variance_of: found.n };
  }

  /** `stats.welch_interval`. */
  function independentInterval(x, y) {
    const fine = [x, y].map(values => ROUNDING * largestSize(values)), [one, other] = [student(x, fine[0]), student(y, fine[1])];
    const variances = [one, other].map(({ half, df }) => (half / quantile((1 + LEVEL) / 2, df)) ** 2), total = variances[0] + variances[1];
    const df = total > 0 ? total ** 2 / (variances[0] ** 2 / one.df + variances[1] ** 2 / other.df) : Infinity;
    const mean = Math.abs(one.mean - other.mean) > Math.max(...fine) ? one.mean - other.mean : 0;
    const counts = [varianceUnits(x), varianceUnits(y)], units = Math.min(one.n, other.n), half = quantile((1 + LEVEL) / 2, df) * Math.sqrt(total);
    const shares = counts.flatMap((count, i) => (count === null ? [] : [count / [one.n, other.n][i]]));
    const deviation = Math.sqrt((variances[0] * one.n + variances[1] * other.n) / 2);
    const rarity = [0, 1].map(i => Math.max(...[one, other].map(sample => sample.rarity[i] * units / sample.n)));
    return { mean, half, n: one.n + other.n, units, df, rarity, effect: "Cohen's d", deviation,
      variance_units: shares.length ? least(shares) * units : null, variance_of: units };
  }

  /** A row of pairs, with the better method first; the interval is of the first minus the second, below 0 where lower is better. */
  function pairRow(a, b, found, test, { lower, bounds }) {
    const { mean, half, n, units, df, rarity, deviation, variance_units, variance_of } = found;
    const { above = null, below = null } = found;
    if (lower ? mean > 0 : mean < 0) return pairRow(b, a, { ...found, mean: -mean, above: below, below: above }, test, { lower, bounds });
    const [units_better, units_worse] = lower ? [below, above] : [above, below];
    const error = half / quantile((1 + LEVEL) / 2, df), size = Math.abs(mean), room = bounds === null ? Infinity : size - bounds[0];
    const chance = chanceBeyond(size, error, df, bounds === null ? 0 : deviationOf(rarity, room), units);
    const p = half > 0 ? Math.min(2 * chance, 1) : Math.min(2 * (1 - size / room) ** units, 1);
    const { low, high } = half > 0 ? endsWithin(found, { low: mean - half, high: mean + half }, bounds) : endsOfEqualValues(mean, units, bounds);
    const [effect, effect_size] = deviation > 0 ? [found.effect, mean / deviation] : ["", null];
    return { a, b, difference: mean, low, high, half_width: half, p, n, units_better, units_worse, standard_error: error, spread_df: df, test, effect, effect_size,
      variance_units, variance_of };
  }

  /** The same over data sets (`stats.across_datasets.interval_over_datasets`). */
  const rowOverDatasets = (a, b, found, { lower, differenceBounds }) =>
    pairRow(a, b, found, "paired t-test", { lower, bounds: found.oneNumber ? [-found.largest, found.largest] : differenceBounds });

  // ---------------------------------------------------------------- samples

  const bestFirst = (methods, lower) => methods.sort((a, b) => (lower ? a.mean - b.mean : b.mean - a.mean));

  function comparedPairs(methods, reference) {
    const pairs = methods.flatMap(({ method }, i) => methods.slice(i + 1).map(other => [method, other.method]));
    return pairs.filter(pair => reference === undefined || pair.includes(reference));
  }

  const OVER_DATASETS = "over data sets"; // the name of a place
  const ofPlace = place => (place.startsWith(OVER_DATASETS) ? ` ${place}` : place && ` in ${place}`);

  /** Values of two methods on the units that both have. */
  function sharedValues(first, second) {
    const shared = [...first.keys()].filter(key => second.has(key));
    return [first, second].map(values => shared.map(key => values.get(key)));
  }

  /** Methods on units, compared unit by unit; on different units, as independent samples. */
  function sampleOfGrid(grid, place, unit, given, sharedOnly = false) {
    const methods = [], ofPair = { lower: given.lower, bounds: given.differenceBounds };
    for (const [name, values] of grid) {
      if (values.size < 2) throw new Refusal(`${name} must have at least 2 ${plural(unit)}${ofPlace(place)}, got ${values.size}`);
      methods.push(methodRow(name, [...values.values()], given));
    }
    bestFirst(methods, given.lower);
    const pairs = comparedPairs(methods, given.reference).map(([a, b]) => {
      const [first, second] = [grid.get(a), grid.get(b)], shared = [...first.keys()].filter(key => second.has(key));
      const isPaired = shared.length === Math.max(first.size, second.size) || (sharedOnly && shared.length > 1);
      if (!isPaired) return pairRow(a, b, independentInterval([...first.values()], [...second.values()]), "Welch's t-test", ofPair);
      const found = pairedInterval(...sharedValues(first, second));
      return sharedOnly ? rowOverDatasets(a, b, found, given) : pairRow(a, b, found, "paired t-test", ofPair);
    });
    return { place, unit, methods, pairs };
  }

  const unitsOf = grid => [...new Set([...grid.values()].flatMap(values => [...values.keys()]))];
  const sharedUnits = grid => unitsOf(grid).filter(unit => [...grid.values()].every(values => values.has(unit)));

  function analyseTasks(rows, place, options, analysis) {
    const unit = UNIT_KEYS.find(key => hasKey(rows, key)), units = plural(unit), grid = gridOf(rows, unit), shared = sharedUnits(grid).length;
    if (shared < unitsOf(grid).length) {
      const advice = shared > 1 ? `${labs.number(shared)} ${units} are shared by all: the option common compares on these.`
        : `Run all methods on the same ${units} for shorter intervals.`;
      analysis.cautions.push(`Methods have different ${units}, so their differences are unpaired (Welch): what makes ${units} hard for all methods does not `
        + `cancel. ${advice}`);
    }
    return [sampleOfGrid(grid, place, unit, options)];
  }

  /** Data sets are the sample. */
  function analyseDatasets(rows, place, options, analysis) {
    const grid = gridOf(rows, "dataset"), sample = sampleOfGrid(grid, place, "data set", options, true);
    for (const pair of sample.pairs) pair.decisive = decisiveDatasets(pair, grid, options);
    analysis.cautions.push(...equalDifferences(sample.pairs, grid, place));
    if (sharedUnits(grid).length < unitsOf(grid).length) {
      analysis.cautions.push("Some methods lack data sets: each pair is compared on those that both have.");
    }
    return [sample];
  }

  /** What is assumed of pairs that differ by one number on nearly all data sets. */
  function equalDifferences(pairs, grid, place) {
    const names = pairs.filter(({ a, b, test }) => test === "paired t-test" && pairedInterval(...sharedValues(grid.get(a), grid.get(b))).oneNumber).map(({ a, b }) => `${a} − ${b}`);
    return names.length ? [`${names[0]}${names.length > 1 ? ` (and ${names.length - 1} more)` : ""} is one number on nearly all data sets${ofPlace(place)}: `
      + "its interval assumes that no difference is larger than those seen, in either direction."] : [];
  }

  /** The data sets without each of which a pair is not significant alone, in words. */
  function decisiveDatasets({ a, b }, grid, options) {
    const [first, second] = [grid.get(a), grid.get(b)], shared = [...first.keys()].filter(key => second.has(key));
    const conclusion = keys => {
      const found = pairedInterval(keys.map(key => first.get(key)), keys.map(key => second.get(key)));
      return rowOverDatasets("", "", found, options).p < 1 - LEVEL ? Math.sign(found.mean) : 0;
    };
    const found = shared.length < 3 ? 0 : conclusion(shared);
    const decisive = found ? shared.filter(key => conclusion(shared.filter(other => other !== key)) !== found) : [];
    return decisive.slice(0, 2).join(" or ") + (decisive.length > 2 ? ` (or ${decisive.length - 2} more)` : "");
  }

  /** Where a method is better, by the corrected test too, because of one data set. */
  function decisiveCautions(pairs) {
    const [first, ...others] = pairs.filter(pair => pair.verdict === "better" && pair.decisive);
    if (first === undefined) return [];
    const count = others.length, more = count ? `, and so for ${count} more ${count === 1 ? "pair" : "pairs"}` : "";
    return [`One data set decides: without ${first.decisive}, ${first.a} − ${first.b} is not significant${ofPlace(first.place)}${more}.`];
  }

  const analyseSeeds = (rows, place, options) => {
    const key = hasKey(rows, "seed") && distinct(rows, "seed").length > 1 ? "seed" : "run";
    return [sampleOfGrid(gridOf(rows, key), place, key, options)];
  };

  /** One mean per fold and method; variances are enlarged, as folds share their training data (Nadeau and Bengio, 2003): by 1 + k / (k - 1) for k folds. */
  function analyseFolds(rows, place, given) {
    const all = gridOf(rows, "fold"), shared = sharedUnits(all), ofPair = { lower: given.lower, bounds: given.differenceBounds };
    if (shared.length < 2) throw new Refusal(`fewer than two folds are shared by all methods${ofPlace(place)}`);
    const grid = new Map([...all].map(([name, values]) => [name, shared.map(fold => values.get(fold))])), factor = Math.sqrt(1 + shared.length / (shared.length - 1));
    const methods = [...grid].map(([name, values]) => ({ ...methodRow(name, values, { ...given, sampling: "open" }, factor), variance_units: null, variance_of: null }));
    const pairs = comparedPairs(bestFirst(methods, given.lower), given.reference).map(([a, b]) => {
      const found = pairedInterval(grid.get(a), grid.get(b)), unknown = { deviation: 0, variance_units: null, variance_of: null };
      return pairRow(a, b, { ...found, ...unknown, half: found.half * factor }, "corrected resampled t-test", ofPair);
    });
    return [{ place, unit: "fold", methods, pairs }];
  }

  /** Over data sets, on means over seeds; and within each data set over its seeds. */
  function analyseDatasetsAndSeeds(rows, place, options, analysis) {
    const means = grouped(rows, ["method", "dataset"]).map(group => ({ ...group[0], accuracy: moments(group.map(row => row.accuracy))[0] }));
    const samples = analyseDatasets(means, place, options, analysis).map(sample => ({ ...sample, place: OVER_DATASETS + ofPlace(place) }));
    for (const part of grouped(rows, ["dataset"])) {
      const inside = place ? `${part[0].dataset}, ${place}` : String(part[0].dataset);
      if (grouped(part, ["method"]).every(group => group.length > 1)) samples.push(...analyseSeeds(part, inside, options));
    }
    return samples;
  }

  const ANALYSES = { "tasks": analyseTasks, "data sets": analyseDatasets, "seeds": analyseSeeds, "folds": analyseFolds, "data sets and seeds": analyseDatasetsAndSeeds };

  // ---------------------------------------------------------------- the answer

  const PLACE_WORDS = { ways: "{}-way", shots: "{}-shot", queries: "{} queries", dataset: "{}", sampling: "{}" };
  const placeWord = (key, value) => (PLACE_WORDS[key] || `${key.trim()} {}`).replace("{}", () => report.textOf(value));

  /** The rows of each place with its name: what differs between places. */
  function places({ rows, shape, blocks }) {
    const isOverDatasets = shape.startsWith("data sets") && !blocks.includes("dataset");
    const keys = [...new Set([...SETTINGS, ...blocks])].filter(key => hasKey(rows, key) && distinct(rows, key).length > 1 && !(isOverDatasets && key === "dataset"));
    return grouped(rows, keys).map(part => [keys.map(key => placeWord(key, part[0][key])).join(", "), part]);
  }

  /** What the verdicts apply to. */
  function appliesTo({ rows, shape }, sampling) {
    if (shape in DECLARED.APPLIES) return DECLARED.APPLIES[shape];
    const unit = UNIT_KEYS.find(key => hasKey(rows, key));
    if (unit in DECLARED.APPLIES) return DECLARED.APPLIES[unit];
    const [only, ...others] = distinct(rows, "sampling");
    return DECLARED.SAMPLING[sampling === "unknown" && !others.length && only in DECLARED.SAMPLING ? only : sampling];
  }

  /** p-values adjusted by Holm's method (1979). */
  function holm(p) {
    const adjusted = [], order = [...p.keys()].sort((i, j) => p[i] - p[j]);
    let most = 0;
    order.forEach((i, rank) => {
      most = Math.max(most, p[i] * (p.length - rank));
      adjusted[i] = Math.min(most, 1);
    });
    return adjusted;
  }

  /** The true difference that the data of a pair show; null where nothing varies. */
  const detectable = ({ standard_error: error, spread_df: df }, level) =>
    (error > 0 ? error * labs.root(shift => labs.power(shift, 1, df, level) - POWER, 1e-6, 2 * (quantile((1 + level) / 2, df) + quantile(POWER, df)) + 10) : null);

  /**
   * Half-widths of bars, by method, that overlap exactly where the interval of a difference holds 0; null where the fit by least squares does not
   * (`stats.simultaneous`, which tries harder).
   */
  function barWidths(methods, pairs) {
    const names = methods.map(row => row.method), towards0 = ({ difference, low, high }) => (difference >= 0 ? difference - low : high - difference);
    const widths = new Map(pairs.map(pair => [[pair.a, pair.b].sort().join("\n"), towards0(pair)]));
    if (![...widths.values()].every(Number.isFinite)) return null;
    const widthOf = (a, b) => widths.get([a, b].sort().join("\n")), mean = x => (x.length ? x.reduce((a, b) => a + b, 0) / x.length : 0);
    const othersOf = name => names.filter(other => other !== name && widthOf(name, other) !== undefined);
    const half = new Map(names.map(name => [name, mean(othersOf(name).map(other => widthOf(name, other))) / 2]));
    for (let round = 0; round < 500; round++) {
      for (const name of names) half.set(name, Math.max(mean(othersOf(name).map(other => widthOf(name, other) - half.get(other))), 0));
    }
    return pairs.every(({ a, b, difference, low, high }) => (half.get(a) + half.get(b) < Math.abs(difference)) === (low > 0 || high < 0)) ? half : null;
  }

  /** What a few units do to an answer. */
  function fewUnits(samples) {
    const fewest = {};
    for (const { unit, methods } of samples) fewest[unit] = Math.min(fewest[unit] ?? Infinity, least(methods.map(row => row.n)));
    return Object.entries(fewest).filter(([, count]) => count < DECLARED.FEW_UNITS).map(([unit, count]) =>
      `Only ${count} ${plural(unit)} carry a verdict: one unusual ${unit} can change it, and intervals are right only if differences are nearly normal.`);
  }

  /** Where few units carry the variance of a difference, or of a mean. */
  function varianceCautions({ place, unit, methods, pairs }) {
    const isFew = row => row.variance_units !== null && row.variance_units < Math.min(DECLARED.FEW_UNITS, row.variance_of / DECLARED.MOST_KURTOSIS);
    const named = [[pairs, row => `difference ${row.a} − ${row.b}`], [methods, row => `mean of ${row.method}`]];
    return named.flatMap(([rows, nameOf]) => {
      const [first, ...others] = rows.filter(isFew);
      if (first === undefined) return [];
      const name = nameOf(first) + (others.length ? ` (and ${others.length} more)` : ""), count = Math.max(Math.floor(first.variance_units + 0.5), 1);
      const what = `carry the ${name}${ofPlace(place)}`, behind = labs.number(first.variance_of);
      const sentence = first.test === "Welch's t-test" ? `Rare values ${what}: about ${count} of ${behind} ${plural(unit)} would have one.`
        : `Few ${plural(unit)} ${what}: its variance comes from about ${count} of ${behind}.`;
      return [`${sentence} One unusual ${unit} can change the answer, and the interval may be too narrow.`];
    });
  }

  /**
   * What a file shows, of what `measure` gives: {methods, pairs, applies, cautions, percent, lower}. Options are `sampling` (how tasks were drawn:
   * 'unknown', 'open', 'closed') and `reference`, the method that is compared with each other one.
   */
  function analyse(measured, { sampling = "unknown", reference: only } = {}) {
    const reference = only ?? undefined;
    const { shape, percent, lower } = measured, hasClasses = hasKey(measured.rows, "item") && hasKey(measured.rows, "class");
    if (!(shape in ANALYSES) || hasClasses) {
      throw new Refusal(`These are ${hasClasses ? "items of classes" : shape}: the command compares them, and this page does not`);
    }
    const names = distinct(measured.rows, "method");
    if (names.length > DECLARED.MOST_METHODS && reference === undefined) {
      throw new Refusal(`${names.length} methods; up to ${DECLARED.MOST_METHODS} are compared two by two, or one with all others (--reference NAME)`);
    }
    const analysis = { cautions: [] }, bounds = percent ? BOUNDS : null, differenceBounds = percent ? DIFFERENCE_BOUNDS : null;
    const given = { sampling, reference, lower, bounds, differenceBounds };
    const samples = places(measured).flatMap(([place, rows]) => ANALYSES[shape](rows, place, given, analysis));
    const pairs = samples.flatMap(({ place, unit, pairs: of }) => of.map(pair => ({ place, unit, ...pair })));
    const adjusted = holm(pairs.map(pair => pair.p)), level = 1 - (1 - LEVEL) / pairs.length;
    pairs.forEach((pair, i) => {
      pair.p_holm = adjusted[i];
      pair.verdict = pair.p_holm < 1 - LEVEL ? "better" : "not significantly different";
      pair.detectable = detectable(pair, level);
    });
    const methods = samples.flatMap(({ place, methods: of }) => of.map(row => {
      if (reference !== undefined) return { place, ...row };
      const decided = pairs.filter(pair => pair.place === place && pair.verdict === "better");
      const beaten = decided.filter(pair => pair.a === row.method).length;
      return { place, ...row, best_rank: 1 + decided.filter(pair => pair.b === row.method).length, worst_rank: of.length - beaten };
    }));
    const cautions = [...new Set([...decisiveCautions(pairs), ...analysis.cautions, ...fewUnits(samples), ...samples.flatMap(varianceCautions)])];
    return { methods, pairs, applies: appliesTo(measured, sampling), cautions, reference, percent, lower };
  }

  Object.assign(report, { LEVEL, analyse, barWidths, holm, pairedInterval, plural });
})();
