// What a results table lets one conclude: fslcore/tools/report/compare.py, runs.py and what they call of fslcore.stats.
//
// The long part is a generator, so that a page with thousands of pairs still answers: `drained` runs it in one go.
(function () {
  "use strict";
  const labs = window.fslLabs,
    report = labs.compute.report;
  const { gammas, quantile, survival, power, limits } = labs;
  const { round9 } = report,
    { byCodePoint } = report.python;

  const EPS = 2 ** -52,
    EPS32 = 2 ** -23,
    ULPS = 4;
  const BOUNDS = [0, 100];
  const GROUPS = 200; // sets of methods
  const MOST = 10 ** 6; // tasks; beyond it a number of tasks is no advice
  const MOST_RUNS = 10 ** 6;

  /** The sum in the order in which NumPy adds, so that means that are shown round alike. */
  function summed(x, from = 0, n = x.length) {
    let total = 0;
    if (n > 128) {
      const half = (n >> 1) - ((n >> 1) % 8);
      return summed(x, from, half) + summed(x, from + half, n - half);
    }
    let i = from;
    if (n >= 8) {
      let [a, b, c, d, e, f, g, h] = [x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7]];
      const whole = from + n - (n % 8);
      for (i += 8; i < whole; i += 8) {
        a += x[i];
        b += x[i + 1];
        c += x[i + 2];
        d += x[i + 3];
        e += x[i + 4];
        f += x[i + 5];
        g += x[i + 6];
        h += x[i + 7];
      }
      total = a + b + (c + d) + (e + f + (g + h));
    }
    for (; i < from + n; i++) total += x[i];
    return total;
  }

  let squares = new Float64Array(0);

  /** Standard deviation, with n - 1 in its denominator. */
  function deviation(x, mean) {
    const n = x.length;
    if (squares.length < n) squares = new Float64Array(n);
    for (let i = 0; i < n; i++) squares[i] = (x[i] - mean) ** 2;
    return Math.sqrt(summed(squares, 0, n) / (n - 1));
  }

  /** Mean and standard deviation. */
  function moments(x) {
    const mean = summed(x) / x.length;
    return [mean, deviation(x, mean)];
  }

  const sum = (x) => x.reduce((total, v) => total + v, 0);
  const meanOf = (x) => moments(x)[0];
  const variance = (x) => moments(x)[1] ** 2;

  function extremes(x) {
    let low = Infinity,
      high = -Infinity;
    for (let i = 0; i < x.length; i++) {
      if (x[i] < low) low = x[i];
      if (x[i] > high) high = x[i];
    }
    return [low, high];
  }

  // ---------------------------------------------------------------- what rounding alone makes of equal numbers

  /** Whether all numbers are whole, or have mantissas of so many of their 52 bits. */
  function fits(x, lost) {
    const words = new Uint32Array(x.buffer, x.byteOffset, 2 * x.length);
    for (let i = 0; i < x.length; i++) {
      if (x[i] % 1 === 0) continue;
      const low = words[2 * i],
        high = words[2 * i + 1]; // little-endian, as every browser's machine is
      if (lost > 32 ? low !== 0 || high & (2 ** (lost - 32) - 1) : low & (2 ** lost - 1)) return false;
    }
    return true;
  }

  /** By how much numbers may be off from having been rounded. */
  function fineness(x) {
    const [low, high] = extremes(x);
    const single = fits(x, 21) && !fits(x, 37); // of 32 bits and not of 16
    return ULPS * (single ? EPS32 : EPS) * Math.max(Math.abs(low), Math.abs(high));
  }

  // ---------------------------------------------------------------- intervals of single methods

  /** `closed_interval` (df infinite) or `open_interval`, with bounds or without. */
  function interval(x, closed, level, bounds) {
    const n = x.length,
      df = closed ? Infinity : n - 1,
      [low, high] = extremes(x),
      [mean, sd] = moments(x);
    const q = quantile((1 + level) / 2, df);
    const half = high - low > 2 * fineness(x) ? (q * sd) / Math.sqrt(n) : 0;
    const out = { mean, half, low: mean - half, high: mean + half, n, few: false };
    if (!bounds) return out;
    [out.low, out.high] = limits(mean, half, bounds, df, level);
    const room = Math.min(mean - bounds[0], bounds[1] - mean);
    out.few = room ** 2 <= (half / q) ** 2 * (1 + 1e-9); // one task that errs is just the limit
    if (half === 0 && room <= 0) {
      const reach = (bounds[1] - bounds[0]) * (1 - ((1 - level) / 2) ** (1 / n));
      [out.low, out.high] = mean === bounds[0] ? [bounds[0], bounds[0] + reach] : [bounds[1] - reach, bounds[1]];
    }
    return out;
  }

  /** A setting with its methods in order, the best mean first, and the accuracies that are compared. */
  function grid(setting) {
    const methods = setting.methods.map(({ name, runs }) => {
      const x = new Float64Array(setting.tasks);
      for (let t = 0; t < x.length; t++) {
        for (const [, values] of runs) x[t] += values[t];
        x[t] = round9(x[t] / runs.length);
      }
      const mean = meanOf(x);
      return { name, x, mean, rank: round9(mean), runs: runs.map(([run, values]) => [run, values.map(round9)]) };
    });
    methods.sort((a, b) => b.rank - a.rank || byCodePoint(a.name, b.name));
    return { ...setting, methods };
  }

  const KINDS = { new_images: [false, "closed"], these_images: [true, "open"] }; // is it closed; which sampling forbids it

  function single(setting, level) {
    return setting.methods.map(({ x }) => {
      const of = {};
      for (const [kind, [closed, never]] of Object.entries(KINDS)) {
        if (setting.sampling !== never) of[kind] = interval(x, closed, level, BOUNDS);
      }
      return of;
    });
  }

  // ---------------------------------------------------------------- pairs

  /** Whether two closed intervals do not meet, with the rules of those without a width. */
  function apart(a, b, level) {
    if (a.half > 0 && b.half > 0) return a.low > b.high || b.low > a.high;
    const chance = Math.max(...[a, b].filter((r) => r.half === 0).map((r) => 2 ** (1 - r.n)));
    const meets = a.low <= b.high && b.low <= a.high;
    return !meets && chance < 1 - level && Math.abs(a.mean - b.mean) > 1e-14 * Math.abs(b.mean);
  }

  /** Every pair of one setting; yields now and then. */
  function* compared(setting, level) {
    const { methods, tasks } = setting,
      out = [],
      d = new Float64Array(tasks);
    const closed = methods.map(({ x }) => interval(x, true, level, null));
    const coarse = methods.map(({ x }) => Float64Array.from(x, Math.fround));
    const fine = coarse.map((x) => {
      const [low, high] = extremes(x);
      return ULPS * EPS32 * Math.max(Math.abs(low), Math.abs(high));
    });
    const q = quantile((1 + level) / 2, tasks - 1);
    for (let i = 0; i < methods.length; i++) {
      for (let j = i + 1; j < methods.length; j++) {
        const x = methods[i].x,
          y = methods[j].x,
          cx = coarse[i],
          cy = coarse[j],
          near = Math.max(fine[i], fine[j]);
        let low = Infinity,
          high = -Infinity;
        for (let t = 0; t < tasks; t++) {
          // What 32 bits cannot tell apart is equal: a file may hold one method in 32 bits and another in 64.
          const off = cx[t] - cy[t],
            equal = off <= near && off >= -near ? 0 : off;
          if (equal < low) low = equal;
          if (equal > high) high = equal;
          d[t] = round9(x[t] - y[t]);
        }
        const varies = high - low > 2 * near,
          same = !varies && low <= 0 && high >= 0;
        const off = same ? 0 : summed(d) / tasks,
          sd = varies ? deviation(d, off) : 0,
          mean = Math.max(off, 0);
        const error = sd / Math.sqrt(tasks);
        const p = sd > 0 ? Math.min(1, 2 * survival(mean / error, tasks - 1)) : mean > 0 ? 2 ** (1 - tasks) : 1;
        out.push({
          setting: setting.setting,
          a: methods[i].name,
          b: methods[j].name,
          i,
          j,
          tasks,
          difference: mean,
          half_width: q * error,
          sd,
          p,
          unpaired: apart(closed[i], closed[j], level) && (mean > 0 || sd > 0),
        });
        if (out.length % 50 === 0) yield;
      }
    }
    return out;
  }

  /** p-values adjusted by Holm's method. */
  function holm(p) {
    const order = p.map((_, i) => i).sort((i, j) => p[i] - p[j]),
      out = new Array(p.length);
    let most = 0;
    order.forEach((at, rank) => {
      most = Math.max(most, p[at] * (p.length - rank));
      out[at] = Math.min(most, 1);
    });
    return out;
  }

  /** p-values adjusted by Benjamini and Hochberg's method. */
  function benjaminiHochberg(p) {
    const order = p.map((_, i) => i).sort((i, j) => p[i] - p[j]),
      out = new Array(p.length);
    let least = Infinity;
    for (let rank = p.length; rank > 0; rank--) {
      least = Math.min(least, (p[order[rank - 1]] * p.length) / rank);
      out[order[rank - 1]] = Math.min(Math.max(least, 0), 1);
    }
    return out;
  }

  function verdict(pair) {
    if (pair.equivalent) return pair.holm ? "higher (Holm), by less than the margin" : "equivalent";
    if (pair.holm) return "higher (Holm)";
    if (pair.bh) return "higher (BH only)";
    return pair.paired ? "higher, if compared alone" : "not told apart";
  }

  /** The p-value of `fslcore.stats.equivalence`. */
  function equivalence(pair, margin, level) {
    const inside = margin - pair.difference;
    if (pair.half_width === 0) return inside > 0 ? 2 ** (1 - pair.tasks) / 2 : 1;
    return survival((inside / pair.half_width) * quantile((1 + level) / 2, pair.tasks - 1), pair.tasks - 1);
  }

  /** Largest sets of methods of which no two are told apart; none where they are over GROUPS. */
  function cliques(n, told) {
    const alike = new Uint8Array(n * n).fill(1);
    for (let i = 0; i < n; i++) alike[i * n + i] = 0;
    for (const pair of told) alike[pair] = 0;
    const found = [];
    const beside = (v, of) => of.filter((u) => alike[v * n + u]);
    const grow = (clique, left, done) => {
      // Bron and Kerbosch, with a pivot
      if (found.length > GROUPS) return;
      if (!left.length) {
        if (!done.length) found.push(clique);
        return;
      }
      let pivot = -1,
        most = -1;
      for (const u of [...left, ...done]) {
        let joined = 0;
        for (const v of left) joined += alike[u * n + v];
        if (joined > most) [pivot, most] = [u, joined];
      }
      let rest = left;
      for (const v of left) {
        if (alike[pivot * n + v]) continue;
        grow([...clique, v], beside(v, rest), beside(v, done));
        rest = rest.filter((u) => u !== v);
        done = [...done, v];
      }
    };
    grow(
      [],
      Array.from({ length: n }, (_, i) => i),
      [],
    );
    if (found.length > GROUPS) return [];
    const sorted = found.map((c) => c.sort((a, b) => a - b));
    return sorted.sort((a, b) => {
      for (let k = 0; k < Math.min(a.length, b.length); k++) if (a[k] !== b[k]) return a[k] - b[k];
      return a.length - b.length;
    });
  }

  // ---------------------------------------------------------------- how many tasks would do

  /** The smallest whole number from `least` on that is enough, near a guess; null beyond `most`. */
  function smallest(enough, guess, least, most) {
    let high = Math.min(Math.max(least, Math.round(guess) || least), most),
      width = 1;
    if (!enough(high)) {
      let low = high;
      while (!enough((high = Math.min(high + width, most)))) {
        if (high >= most) return null;
        low = high;
        width *= 2;
      }
      return between(enough, low, high);
    }
    let low = high;
    while (low > least) {
      low = Math.max(least, high - width);
      if (!enough(low)) return between(enough, low, high);
      high = low;
      width *= 2;
    }
    return high;
  }

  /** The same between one that is not enough and one that is. */
  function between(enough, low, high) {
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (enough(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  function tasksFor(effect, level, enough, wanted) {
    if (effect === Infinity) return Math.floor(2 - Math.log2(1 - level)); // told by the sign test
    const z = quantile((1 + level) / 2) + (wanted ? quantile(wanted) : 0);
    if (!(effect > 0)) return null;
    return smallest(enough, (z / effect) ** 2 + 1, 2, MOST);
  }

  /** Tasks at which the paired half-width is below the difference; null where that is beyond a million. */
  const tasksForWidth = (effect, level = 0.95) =>
    tasksFor(effect, level, (t) => quantile((1 + level) / 2, t - 1) / Math.sqrt(t) < effect, 0);

  /** Tasks at which a paired t-test finds the difference in 80 % of the cases. */
  const tasksForPower = (effect, level = 0.95, wanted = 0.8) =>
    tasksFor(effect, level, (t) => power(effect, 1 / Math.sqrt(t), t - 1, level) >= wanted, wanted);

  /** What more tasks would tell of one pair; null is beyond a million. */
  function needed(pair, pairs, level) {
    const effect = pair.sd > 0 ? pair.difference / pair.sd : pair.difference > 0 ? Infinity : 0;
    return {
      width: tasksForWidth(effect, level),
      alone: tasksForPower(effect, level),
      among: tasksForPower(effect, 1 - (1 - level) / Math.max(pairs, 1)),
    };
  }

  // ---------------------------------------------------------------- new training runs

  /** Quantile of the chi-square distribution, from a start that is near. */
  function chi2(p, df) {
    const z = quantile(p),
      h = 2 / (9 * df);
    let x = df * Math.max(1 - h + z * Math.sqrt(h), 1e-3) ** 3; // Wilson and Hilferty
    if (df > 1e5) return x;
    const a = df / 2;
    let logGamma = 0,
      shifted = a; // Stirling, from an argument that is large enough
    for (; shifted < 15; shifted++) logGamma -= Math.log(shifted);
    logGamma +=
      (shifted - 0.5) * Math.log(shifted) -
      shifted +
      0.5 * Math.log(2 * Math.PI) +
      1 / (12 * shifted) -
      1 / (360 * shifted ** 3) +
      1 / (1260 * shifted ** 5);
    let low = 0,
      high = Infinity;
    for (let i = 0; i < 200; i++) {
      const [lower, upper] = gammas(a, x / 2),
        off = p < 0.5 ? lower - p : 1 - p - upper;
      if (off < 0) low = x;
      else high = x;
      const step = off / (0.5 * Math.exp((a - 1) * Math.log(x / 2) - x / 2 - logGamma));
      let next = x - step;
      if (!(next > low && next < high)) next = high < Infinity ? (low + high) / 2 : 2 * x;
      if (Math.abs(next - x) <= 1e-13 * x) return next;
      x = next;
    }
    return x;
  }

  const NODES = new Map();

  function chi2Nodes(df, count) {
    const key = `${df}/${count}`;
    if (!NODES.has(key)) {
      if (NODES.size > 500) NODES.clear();
      NODES.set(
        key,
        Float64Array.from({ length: count }, (_, i) => chi2((i + 0.5) / count, Math.min(df, 1e9))),
      );
    }
    return NODES.get(key);
  }

  const cdf = (x) => survival(-x);

  /** Variance of the means of runs; 0 where they differ by rounding alone. */
  function spread(means) {
    const [low, high] = extremes(means);
    return high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high)) ? 0 : variance(means);
  }

  /** `fslcore.stats.new_runs` of one method (a list of runs) or two. */
  function newRuns(methods, level) {
    const tasks = methods[0][0].length;
    const means = methods.map((x) =>
      Float64Array.from({ length: tasks }, (_, t) => sum(x.map((run) => run[t])) / x.length),
    );
    const ofTasks = means.length > 1 ? means[0].map((v, t) => v - means[1][t]) : means[0];
    const shared = variance(ofTasks) / tasks,
      df = tasks - 1;
    const counts = methods.map((x) => x.length),
      overRuns = methods.map((x) => x.map(meanOf));
    const spreads = overRuns.map(spread);
    const own = methods.map((x, m) => {
      const within = sum(x.map((run) => variance(run.map((v, t) => v - means[m][t])) / tasks)) / (x.length - 1);
      return Math.min(Math.max(within, 0), spreads[m]);
    });
    const added = spreads.map((s, m) => s / counts[m]);
    const rest = Math.max(shared - sum(own.map((j, m) => j / counts[m])), 0);
    const total = Math.max(sum(added) + rest, shared);
    const parts = sum(added.map((v, m) => v ** 2 / (counts[m] - 1))) + shared ** 2 / df;
    const freedom = parts > 0 ? Math.max(total ** 2 / parts, 1) : Infinity;
    const mean = meanOf(ofTasks),
      error = Math.sqrt(total),
      half = quantile((1 + level) / 2, freedom) * error;
    const exact = 2 ** (1 - Math.min(...counts));
    const p =
      half === 0 ? (mean === 0 ? 1 : Math.min(exact, 1)) : Math.min(1, 2 * survival(Math.abs(mean) / error, freedom));
    const below = sum(spreads.map((s, m) => s ** 2 / (counts[m] - 1)));
    const ofSpreads = below > 0 ? sum(spreads) ** 2 / below : Math.min(...counts) - 1;
    const oneMore = sum(spreads.map((s, m) => s * (1 + 1 / counts[m])));
    return {
      mean,
      half,
      p,
      counts,
      spreads,
      rest,
      df,
      ofSpreads,
      sd: Math.sqrt(spreads[0]),
      another: quantile((1 + level) / 2, ofSpreads) * Math.sqrt(oneMore),
    };
  }

  /** `fslcore.stats.chance_better` at 95 %: [value, low, high]. */
  function chanceBetter(a, b) {
    const level = 0.95,
      difference = meanOf(a) - meanOf(b),
      variances = [spread(a), spread(b)],
      counts = [a.length, b.length];
    const total = sum(variances);
    if (total === 0) {
      const value = (1 + Math.sign(difference)) / 2,
        bound = ((1 - level) / 2) ** (1 / Math.min(...counts));
      return [value, value === 1 ? bound : 0, value === 0 ? 1 - bound : 1];
    }
    const df = total ** 2 / sum(variances.map((v, i) => v ** 2 / (counts[i] - 1)));
    const scale = Math.sqrt(total / sum(variances.map((v, i) => v / counts[i]))),
      delta = difference / Math.sqrt(total);
    const ends = [(1 + level) / 2, (1 - level) / 2].map((q) => noncentrality(delta * scale, df, q) / scale);
    return [delta, ...ends].map(cdf);
  }

  /** That of the noncentral t distribution whose value at t is q. */
  function noncentrality(t, df, q) {
    const errors = chi2Nodes(df, 1000).map((x) => Math.sqrt(x / df));
    let low = -(10 + 10 * Math.abs(t)),
      high = -low,
      x = Math.min(Math.max(t - quantile(q), low), high);
    for (let i = 0; i < 100; i++) {
      let value = 0,
        slope = 0;
      for (const e of errors) {
        const z = t * e - x;
        value += cdf(z);
        slope += Math.exp((-z * z) / 2);
      }
      const off = value / errors.length - q;
      if (off > 0) low = x;
      else high = x;
      let next = x + off / (slope / errors.length / Math.sqrt(2 * Math.PI));
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (Math.abs(next - x) < 1e-11) return next;
      x = next;
    }
    return x;
  }

  /** `fslcore.stats.plan_runs`: runs of each of two methods for 80 % power; null where no number has it. */
  function runsNeeded(pilot, difference, level) {
    const of = sum(pilot.spreads),
      df = pilot.ofSpreads,
      variances = chi2Nodes(df, 50).map((x) => (df * of) / x);
    const enough = (n) => meanOf(variances.map((v) => powerOfRuns(v, n, pilot, difference, level))) >= 0.8;
    if (!enough(MOST_RUNS)) return null;
    const z = quantile((1 + level) / 2) + quantile(0.8),
      left = (difference / z) ** 2 - pilot.rest;
    return smallest(enough, left > 0 ? of / left : 100, 2, MOST_RUNS);
  }

  function powerOfRuns(one, n, pilot, difference, level) {
    const added = one / n,
      total = added + pilot.rest;
    if (total === 0) return Number(2 ** (1 - n) < 1 - level);
    const rest = pilot.rest ** 2 / pilot.df;
    const df = Math.max(total ** 2 / (added ** 2 / (pilot.spreads.length * (n - 1)) + rest), 1);
    const t = quantile((1 + level) / 2, df),
      shift = Math.abs(difference) / Math.sqrt(total);
    let found = 0;
    for (const x of chi2Nodes(df, 50)) {
      const limit = t * Math.sqrt(x / df);
      found += survival(limit - shift) + survival(limit + shift);
    }
    return found / 50;
  }

  /** New runs of every method of a setting, and every two recipes that were trained more than once. */
  function* runsOf(setting, level) {
    const several = setting.methods.map(({ name, runs }) => ({ name, x: runs.map(([, values]) => values) }));
    const found = several.map(({ name, x }) => {
      const row = { setting: setting.setting, method: name, mean: meanOf(x.map(meanOf)), runs: x.length };
      const of = x.length > 1 ? newRuns([x], level) : null;
      return { ...row, new_runs: of ? of.half : null, sd: of ? of.sd : null, another: of ? of.another : null };
    });
    const recipes = [];
    for (let i = 0; i < several.length; i++) {
      for (let j = i + 1; j < several.length; j++) {
        const [a, b] = [several[i], several[j]];
        if (a.x.length < 2 || b.x.length < 2) continue;
        const of = newRuns([a.x, b.x], level),
          chance = chanceBetter(a.x.map(meanOf), b.x.map(meanOf));
        recipes.push({
          setting: setting.setting,
          a: a.name,
          b: b.name,
          difference: of.mean,
          half_width: of.half,
          p: of.p,
          chance: chance[0],
          chance_low: chance[1],
          chance_high: chance[2],
          runs_needed: of.mean ? runsNeeded(of, of.mean, level) : null,
        });
        yield;
      }
    }
    return { found, recipes };
  }

  // ---------------------------------------------------------------- the whole

  /** Mean rank of each method, 1 for the highest mean, over data sets; `means` is a list of columns of means. */
  function meanRanks(means) {
    const out = means[0].map(() => 0);
    for (const column of means) {
      const x = column.map(round9);
      x.forEach((v, i) => {
        const above = x.filter((w) => w > v).length,
          ties = x.filter((w) => w === v).length;
        out[i] += (above + (ties + 1) / 2) / means.length;
      });
    }
    return out;
  }

  /** Mean ranks wherever two data sets or more share two methods or more, as `fslcore.tools.report.by_ranks` has them. */
  function ranksOf(settings) {
    if (!settings.length) return [];
    const form = {
      sampling: (v) => v,
      ways: (v) => `${v}-way`,
      shots: (v) => `${v}-shot`,
      queries: (v) => `${v} queries`,
      seed: (v) => `seed ${v}`,
    };
    const varied = Object.keys(form).filter((c) => new Set(settings.map((s) => s[c])).size > 1);
    const groups = new Map();
    for (const s of settings) {
      const name = varied.map((c) => form[c](s[c])).join(", ");
      groups.set(name, [...(groups.get(name) || []), s]);
    }
    const out = [];
    for (const [setting, parts] of groups) {
      const datasets = parts.map((s) => s.dataset);
      const shared = parts[0].methods
        .map((m) => m.name)
        .filter((name) => parts.every((s) => s.methods.some((m) => m.name === name)));
      if (
        new Set(datasets).size !== parts.length ||
        parts.length < 2 ||
        shared.length < 2 ||
        shared.length > report.MANY
      ) {
        continue;
      }
      const means = parts.map((s) => shared.map((name) => s.methods.find((m) => m.name === name).mean));
      const ranks = meanRanks(means),
        order = shared.map((_, i) => i).sort((i, j) => ranks[i] - ranks[j] || i - j);
      out.push({ setting, datasets, methods: order.map((i) => shared[i]), mean_ranks: order.map((i) => ranks[i]) });
    }
    return out;
  }

  /** All that is concluded from what `read` gives; yields now and then, with the share that is done. */
  function* conclude(found, { level = 0.95, margin = 0 } = {}) {
    const settings = found.settings.map(grid),
      pairs = [];
    const all = sum(settings.map((s) => (s.methods.length * (s.methods.length - 1)) / 2)) || 1;
    for (const setting of settings) {
      const work = compared(setting, level);
      let step = work.next();
      for (let done = 0; !step.done; step = work.next(), done += 50) yield (pairs.length + done) / all;
      pairs.push(...step.value);
    }
    const p = pairs.map((pair) => pair.p),
      byHolm = holm(p),
      byBH = benjaminiHochberg(p);
    pairs.forEach((pair, i) =>
      Object.assign(pair, {
        p_holm: byHolm[i],
        holm: byHolm[i] < 1 - level,
        p_bh: byBH[i],
        bh: byBH[i] < 1 - level,
        paired: p[i] < 1 - level,
      }),
    );
    if (margin) {
      const corrected = holm(pairs.map((pair) => equivalence(pair, margin, level)));
      pairs.forEach((pair, i) =>
        Object.assign(pair, {
          margin,
          p_equivalent: corrected[i],
          equivalent: corrected[i] < 1 - level,
        }),
      );
    }
    for (const pair of pairs) Object.assign(pair, { verdict: verdict(pair), changed: pair.unpaired !== pair.holm });
    const runs = { found: [], recipes: [] };
    for (const setting of settings) {
      setting.single = single(setting, level);
      const told = new Set(),
        n = setting.methods.length;
      for (const pair of pairs) {
        if (pair.setting === setting.setting && pair.holm) told.add(pair.i * n + pair.j).add(pair.j * n + pair.i);
      }
      yield 1;
      setting.groups = cliques(n, told);
      yield 1;
      if (!setting.runs) continue;
      const work = runsOf(setting, level);
      let step = work.next();
      for (; !step.done; step = work.next()) yield 1;
      runs.found.push(...step.value.found);
      runs.recipes.push(...step.value.recipes);
    }
    const adjusted = holm(runs.recipes.map((r) => r.p));
    runs.recipes.forEach((r, i) => Object.assign(r, { p_holm: adjusted[i], holm: adjusted[i] < 1 - level }));
    return { level, margin, notes: found.notes, settings, pairs, runs, ranks: ranksOf(settings) };
  }

  Object.assign(report, {
    conclude,
    needed,
    tasksForWidth,
    tasksForPower,
    holm,
    benjaminiHochberg,
    cliques,
    GROUPS,
    MOST,
  });
})();
