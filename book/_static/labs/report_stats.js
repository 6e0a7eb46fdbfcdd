// What a results table lets one conclude: intervals, paired differences, Holm, Benjamini and Hochberg, and groups, as
// fslcore/tools/report/compare.py and fslcore.stats compute them; tests hold them to tests/site/golden.
(function () {
  "use strict";
  const labs = window.fslLabs,
    report = labs.compute.report;
  const { quantile, survival, betas, moments, interval, closedDf } = labs,
    { round9 } = report;

  const LEVEL = 0.95,
    BOUNDS = [0, 100]; // accuracies in percent
  const ULPS = 4,
    EPS = 2 ** -52,
    EPS32 = 2 ** -23; // what differs by less differs by rounding
  const GROUPS = 200; // sets of methods: they can double with each pair
  const spread = (x) => x.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);

  /** `stats.closed_interval` (df `closedDf`) or `stats.open_interval` of accuracies in percent. */
  function single(x, df) {
    const n = x.length,
      [least, most] = spread(x),
      [mean, sd] = moments(x),
      q = quantile((1 + LEVEL) / 2, df);
    const half = most - least > 2 * ULPS * EPS * most ? (q * sd) / Math.sqrt(n) : 0;
    const out = interval(mean, half, { df, level: LEVEL, bounds: BOUNDS });
    const room = Math.min(mean - BOUNDS[0], BOUNDS[1] - mean);
    out.few = room ** 2 <= (half / q) ** 2 * (1 + 1e-9); // as if at most one error were behind it
    if (half === 0 && room <= 0) {
      // Clopper and Pearson
      const reach = (BOUNDS[1] - BOUNDS[0]) * (1 - ((1 - LEVEL) / 2) ** (1 / n));
      [out.low, out.high] = mean <= BOUNDS[0] ? [BOUNDS[0], BOUNDS[0] + reach] : [BOUNDS[1] - reach, BOUNDS[1]];
    }
    return out;
  }

  /** Methods [{name, x}], the best mean first, each with its mean and its two intervals. */
  function intervals(methods) {
    return methods
      .map(({ name, x }) => ({
        name,
        x,
        mean: moments(x)[0],
        closed: single(x, closedDf(x.length)),
        open: single(x, x.length - 1),
      }))
      .sort((a, b) => round9(b.mean) - round9(a.mean) || (a.name < b.name ? -1 : 1));
  }

  /** Every pair of methods in their order, by a paired t-test; with a reference, those that it belongs to. */
  function pairs(methods, reference) {
    const tasks = methods[0].x.length,
      q = quantile((1 + LEVEL) / 2, tasks - 1),
      out = [];
    methods.forEach(({ name: a, x }, i) =>
      methods.slice(i + 1).forEach(({ name: b, x: y }, k) => {
        if (![undefined, a, b].includes(reference)) return;
        const d = x.map((v, t) => round9(v - y[t]));
        // What 32 bits cannot tell apart is equal: a file may hold one method in 32 bits and another in 64.
        const near = ULPS * EPS32 * Math.fround(Math.max(spread(x)[1], spread(y)[1]));
        const coarse = x.map((v, t) => {
          const off = Math.fround(v) - Math.fround(y[t]);
          return Math.abs(off) <= near ? 0 : off;
        });
        const [low, high] = spread(coarse),
          varies = high - low > 2 * near,
          same = !varies && low <= 0 && high >= 0;
        const [mean, deviation] = moments(d),
          difference = same ? 0 : Math.max(mean, 0),
          sd = varies ? deviation : 0;
        const error = sd / Math.sqrt(tasks);
        const p = sd > 0 ? 2 * survival(difference / error, tasks - 1) : difference > 0 ? 2 ** (1 - tasks) : 1;
        out.push({ a, b, i, j: i + 1 + k, difference, half_width: q * error, p, d: b === reference ? d.map((v) => -v) : d, error });
      }),
    );
    return out;
  }

  const POINTS = 2 ** 14; // directions over which a probability is averaged

  /** By direction, the largest coordinate of a point of radius 1 that is given the correlations of these differences. */
  function reaches(differences) {
    const k = differences.length,
      scaled = (d, [mean, sd] = moments(d)) => d.map((v) => (v - mean) / sd / Math.sqrt(d.length - 1)),
      unit = differences.map((d) => scaled(d)),
      dot = (x, y) => x.reduce((sum, v, t) => sum + v * y[t], 0),
      root = unit.map(() => Array(k).fill(0)); // Cholesky's, also of a matrix of lower rank
    for (let j = 0; j < k; j++) {
      const rest = root.map((row, i) => (i < j ? 0 : (i === j ? 1 : dot(unit[i], unit[j])) - dot(row.slice(0, j), root[j])));
      if (rest[j] > 1e-10) for (let i = j; i < k; i++) root[i][j] = rest[i] / Math.sqrt(rest[j]);
    }
    const primes = [];
    for (let p = 2; primes.length < k + (k % 2); p++) if (primes.every((q) => p % q)) primes.push(p);
    return Float64Array.from({ length: POINTS }, (_, point) => {
      const u = primes.map((prime) => ((point + 1) * Math.sqrt(prime)) % 1), // Richtmyer's sequence
        normal = (turn) => (_, m) => Math.sqrt(-2 * Math.log(u[2 * m])) * turn(2 * Math.PI * u[2 * m + 1]),
        z = [Math.cos, Math.sin].flatMap((turn) => Array.from({ length: u.length / 2 }, normal(turn))).slice(0, k);
      return Math.max(...root.map((row) => Math.abs(dot(row, z)))) / Math.sqrt(dot(z, z));
    });
  }

  /** Adds intervals and p-values that hold for all pairs together, as `stats.simultaneous_intervals` does. */
  function together(found) {
    const varies = found.filter(({ error }) => error > 0),
      [n, k] = [found.length, varies.length];
    for (const pair of found) [pair.half_width_all, pair.p_all] = [0, Math.min(pair.difference > 0 ? n * pair.p : 1, 1)];
    if (!k) return;
    const df = varies[0].d.length - 1,
      reach = reaches(varies.map(({ d }) => d));
    const beyond = (c) =>
      reach.reduce((sum, r) => {
        const [square, all] = [c * c, c * c + df * r * r];
        return sum + betas(square / all, k / 2, df / 2, (df * r * r) / all)[1];
      }, 0) / POINTS;
    const excess = (c) => beyond(c) - (1 - LEVEL),
      [low, high] = [1, k].map((of) => quantile(1 - (1 - LEVEL) / 2 / of, df));
    let [a, c, before, now] = [low, high, excess(low), excess(high)];
    const within = before > 0 && now < 0; // the bounds hold exactly, the average nearly
    if (before <= 0) c = low;
    for (let step = 0; within && step < 50 && now !== before && Math.abs(c - a) > 1e-14 * c; step++) {
      [a, c, before] = [c, c - (now * (c - a)) / (now - before), now];
      now = excess(c);
    }
    for (const pair of varies) {
      pair.half_width_all = c * pair.error;
      pair.p_all = Math.min(Math.max(beyond(pair.difference / pair.error), pair.p), k * pair.p, 1);
    }
  }

  /** p-values adjusted by Holm's method (1979). */
  function holm(p) {
    let most = 0;
    const out = [];
    p.map((_, i) => i)
      .sort((i, j) => p[i] - p[j])
      .forEach((at, rank) => {
        most = Math.max(most, p[at] * (p.length - rank));
        out[at] = Math.min(most, 1);
      });
    return out;
  }

  /** p-values adjusted by Benjamini and Hochberg's method (1995). */
  function benjaminiHochberg(p) {
    let least = 1;
    const out = [];
    p.map((_, i) => i)
      .sort((i, j) => p[j] - p[i])
      .forEach((at, rank) => {
        least = Math.min(least, (p[at] * p.length) / (p.length - rank));
        out[at] = least;
      });
    return out;
  }

  /** Largest sets of n methods of which no two are significantly different, as lists of numbers; none where they are over GROUPS. */
  function groups(n, apart) {
    const told = new Set(apart.flatMap(([i, j]) => [i * n + j, j * n + i]));
    const alike = (v) => (u) => u !== v && !told.has(v * n + u),
      found = [];
    const grow = (clique, left, done) => {
      // Bron and Kerbosch, with a pivot
      if (found.length > GROUPS) return;
      if (!left.length) {
        if (!done.length) found.push(clique.sort((i, j) => i - j));
        return;
      }
      const joined = (u) => left.filter(alike(u)).length;
      const pivot = [...left, ...done].reduce((best, u) => (joined(u) > joined(best) ? u : best));
      let rest = left;
      for (const v of left.filter((u) => !alike(pivot)(u))) {
        grow([...clique, v], rest.filter(alike(v)), done.filter(alike(v)));
        rest = rest.filter((u) => u !== v);
        done = [...done, v];
      }
    };
    grow([], [...Array(n).keys()], []);
    const first = (a, b) => {
      // the first at which two sets differ
      const k = a.findIndex((v, i) => v !== b[i]);
      return a[k] - (b[k] ?? -1);
    };
    return found.length > GROUPS ? [] : found.sort(first);
  }

  /** All of it, of what `report.read` gives; with a reference, of that method against each other one. */
  function conclude({ methods }, reference) {
    const ordered = intervals(methods),
      found = pairs(ordered, reference),
      p = found.map((pair) => pair.p);
    const adjusted = { p_holm: holm(p), p_bh: benjaminiHochberg(p) };
    found.forEach((pair, at) => {
      for (const [how, values] of Object.entries(adjusted)) pair[how] = values[at];
      pair.holm = pair.p_holm < 1 - LEVEL;
      pair.bh = pair.p_bh < 1 - LEVEL;
      const [one, other] = [ordered[pair.i].closed, ordered[pair.j].closed];
      pair.overlap = one.low <= other.high && other.low <= one.high;
    });
    if (reference !== undefined) together(found);
    const apart = found.filter((pair) => pair.holm).map((pair) => [pair.i, pair.j]);
    return { methods: ordered, pairs: found, groups: reference === undefined ? groups(ordered.length, apart) : [] };
  }

  Object.assign(report, { LEVEL, conclude });
})();
