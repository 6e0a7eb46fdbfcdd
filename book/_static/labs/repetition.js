// What does a repetition replace? Forty test sets of a world whose truth is known, each with four intervals of its mean accuracy.
(function () {
  "use strict";
  const L = window.fslLabs;
  const WAYS = 5, SPREAD = 2.2, SETS = 40, PARTS = 50;
  const LONG = 40000; // tasks behind the truth
  const KINDS = [
    ["closed", "closed", "other tasks from these images"],
    ["open", "open", "other images; each is used at most once"],
    ["images", "new images", "other images, from the closed tasks"],
    ["classes", "new classes", "other classes, from the closed tasks"],
  ];

  // ---------------------------------------------------------------- the three intervals

  /** `fslcore.stats.dependence.square`: squared length of a mean of parts, without bias, and its standard error. */
  function square(products, p) {
    let total = 0, rows = 0, squares = 0;
    for (let i = 0; i < p; i++) {
      let row = 0;
      for (let j = 0; j < p; j++) {
        if (i === j) continue;
        const x = products[i * p + j];
        row += x;
        squares += x * x;
      }
      total += row;
      rows += row * row;
    }
    const pairs = p * (p - 1), same = squares / pairs, one = (rows - squares) / (pairs * (p - 2));
    const none = (total * total - 4 * rows + 2 * squares) / (pairs * (p - 2) * (p - 3));
    const variance = 2 / pairs * (2 * (p - 2) * Math.max(one - none, 0) + Math.max(same - none, 0));
    return [total / pairs, Math.sqrt(variance)];
  }

  // A function of its own: engines make fast code of what is called often.
  function dot(x, a, b, n) {
    let even = 0, odd = 0; // two sums at once, since each waits for its own last step
    for (let u = 1; u < n; u += 2) {
      even += x[a + u - 1] * x[b + u - 1];
      odd += x[a + u] * x[b + u];
    }
    return even + odd + (n % 2 ? x[a + n - 1] * x[b + n - 1] : 0);
  }

  /** Squared length of the sum of parts (p × n), less what tasks have with themselves, and the noise of the tasks. */
  function squaredLength(parts, p, n, itself) {
    const products = new Float64Array(p * p);
    let length = 0;
    for (let u = 0; u < n; u++) {
      let sum = 0;
      for (let i = 0; i < p; i++) sum += parts[i * n + u];
      length += sum * sum;
    }
    for (let i = 0; i < p; i++) {
      for (let j = i; j < p; j++) products[i * p + j] = products[j * p + i] = p * p * dot(parts, i * n, j * n, n);
    }
    return [length - itself, square(products, p)[1]];
  }

  /**
   * `fslcore.stats.three_intervals`, of tasks whose images are ordered by class.
   *
   * run: tasks, ways, shots, queries; right (T·K·Q) 0 or 100, support (T·K·S) and query (T·K·Q) images, held (T·K)
   * class of each place; label (N) class of each image, from 0 to C - 1. Returns {closed, images, classes}.
   */
  function threeIntervals(run, label, level = 0.95) {
    const { tasks, ways, shots, queries, right, support, query, held } = run, total = label.length;
    const size = [];
    for (const c of label) size[c] = (size[c] || 0) + 1;
    const classes = size.length, p = Math.min(PARTS, tasks), scales = size.map(n => Math.sqrt(1 - 1 / n));
    const own = new Float64Array(tasks * ways), accuracy = new Float64Array(tasks), holding = new Float64Array(classes);
    for (let t = 0; t < tasks; t++) {
      let sum = 0;
      for (let k = 0; k < ways; k++) {
        let of = 0;
        for (let q = 0; q < queries; q++) of += right[(t * ways + k) * queries + q];
        own[t * ways + k] = of / queries;
        sum += of;
        holding[held[t * ways + k]]++;
      }
      accuracy[t] = sum / (ways * queries);
    }
    // By how much the mean over all tasks changes without an image, as each of its uses tells it.
    const ofSupport = new Float64Array(tasks * ways), meanSupport = new Float64Array(classes), meanQuery = new Float64Array(classes);
    for (let t = 0; t < tasks; t++) {
      for (let k = 0; k < ways; k++) {
        const at = t * ways + k, c = held[at], n = size[c];
        const others = (accuracy[t] * ways - own[at]) / (ways - 1);
        ofSupport[at] = shots * (own[at] / (n - shots - 1) + (ways - 1) * others / (n - shots));
        meanSupport[c] += ofSupport[at] / holding[c];
        meanQuery[c] += own[at] / (n - shots - 1) / holding[c];
      }
    }
    const parts = new Float64Array(p * total), average = new Float64Array(p * classes);
    let itself = 0;
    for (let t = 0; t < tasks; t++) {
      const part = Math.floor(t * p / tasks);
      for (let k = 0; k < ways; k++) {
        const at = t * ways + k, c = held[at], n = size[c], keep = 1 - 1 / n, scale = scales[c];
        const uses = holding[c] * classes / n, asSupport = (ofSupport[at] - meanSupport[c]) / (uses * shots);
        for (let s = 0, i = at * shots; s < shots; s++, i++) parts[part * total + support[i]] += scale * asSupport;
        let sum = shots * asSupport, squares = shots * asSupport * asSupport;
        for (let q = 0, i = at * queries; q < queries; q++, i++) {
          const change = (right[i] / (n - shots - 1) - meanQuery[c]) / (uses * queries);
          parts[part * total + query[i]] += scale * change;
          sum += change;
          squares += change * change;
        }
        itself += keep * squares;
        average[part * classes + c] += sum / n;
        itself -= (n - 1) / (n * n) * sum * sum;
      }
    }
    for (let i = 0; i < p; i++) {
      for (let u = 0; u < total; u++) parts[i * total + u] -= average[i * classes + label[u]] * scales[label[u]];
    }
    const [mean, deviation] = L.moments(accuracy);
    const ofImages = squaredLength(parts, p, total, itself);
    // And without a class.
    const gone = new Float64Array(p * classes), keep = 1 - 1 / classes;
    let alone = 0;
    for (let t = 0; t < tasks; t++) {
      const part = Math.floor(t * p / tasks), gap = (accuracy[t] - mean) * classes / (tasks * Math.max(classes - ways, 1));
      for (let k = 0; k < ways; k++) gone[part * classes + held[t * ways + k]] += Math.sqrt(keep) * gap;
      for (let c = 0; c < classes; c++) gone[part * classes + c] -= Math.sqrt(keep) * gap * ways / classes;
      alone += keep * gap * gap * ways * (1 - ways / classes);
    }
    const ofClasses = squaredLength(gone, p, classes, alone);
    return threeIntervalsOf({
      mean, tasks, sampling: deviation * deviation / tasks, level, found: [ofImages[0], ofClasses[0]],
      noise: [ofImages[1], ofClasses[1]], freedom: [total - 1, ways === classes ? 0 : classes - 1], units: [total, classes],
    });
  }

  /** `fslcore.stats.image_intervals.three_intervals_of`, of accuracies in percent. */
  function threeIntervalsOf({ mean, tasks, sampling, level, found, noise, freedom, units }) {
    const bounds = [0, 100], rounded = (1e-12 * mean) ** 2;
    const seen = x => (Math.abs(x) > rounded ? x : 0);
    sampling = seen(sampling);
    const few = L.closedDf(tasks), closed = made(mean, L.quantile((1 + level) / 2, few) * Math.sqrt(sampling), few, tasks);
    const variance = found.map((x, i) => (freedom[i] > 0 ? Math.max(seen(x), 0) : Infinity));
    if (freedom[0] > 0) variance[1] = Math.max(variance[1], variance[0]);

    function made(mean, half, df, alike, count = 0) {
      const interval = L.interval(mean, half, { df, level, bounds });
      if (half === 0 && (mean === 0 || mean === 100)) { // nothing varies: Clopper and Pearson's of so many
        const reach = 100 * (1 - ((1 - level) / 2) ** (1 / Math.max(alike, 1)));
        [interval.low, interval.high] = mean === 0 ? [0, reach] : [100 - reach, 100];
      }
      if (count) { // as if one more class were at the other bound, if this one is near
        const room = Math.min(mean, 100 - mean), near = Math.max(0, 1 - room / 10) / (count + 1);
        if (mean > room) interval.low = Math.min(interval.low, mean - near * mean);
        else interval.high = Math.max(interval.high, mean + near * (100 - mean));
      }
      return interval;
    }

    function of(i, count) {
      if (!Number.isFinite(variance[i])) return { ...closed, half: Infinity, low: 0, high: 100, df: NaN };
      const total = variance[i] + sampling, off = seen(noise[i]);
      const ofUnits = total ? (variance[i] ** 2 / freedom[i] + sampling ** 2 / (tasks - 1)) / total ** 2 : 0;
      const ofNoise = off ? off ** 2 / (2 * (total + off) ** 2) : 0;
      const df = ofUnits + ofNoise ? 1 / Math.min(ofUnits + ofNoise, 1) : Infinity;
      return made(mean, L.quantile((1 + level) / 2, df) * Math.sqrt(total), df, i ? tasks : Math.min(tasks, count), i * count);
    }

    let images = of(0, units[0]);
    const classes = of(1, Math.min(...units));
    // New classes come with new images, so what holds for them holds for those too.
    if (classes.half < images.half || classes.low > images.low) images = { ...classes };
    return { closed, images, classes };
  }

  // ---------------------------------------------------------------- the world and its tasks

  /** Which queries of task t the nearest support mean gets right, 0 or 100 each, into run.right; the share in percent. */
  function answers(x, run, t, means) {
    const { ways, shots, queries, support, query, right } = run;
    for (let k = 0; k < ways; k++) {
      let first = 0, second = 0;
      for (let s = 0, at = (t * ways + k) * shots; s < shots; s++, at++) {
        first += x[2 * support[at]];
        second += x[2 * support[at] + 1];
      }
      means[2 * k] = first / shots;
      means[2 * k + 1] = second / shots;
    }
    let hits = 0;
    for (let k = 0; k < ways; k++) {
      for (let q = 0, at = (t * ways + k) * queries; q < queries; q++, at++) {
        const hit = nearest(x[2 * query[at]], x[2 * query[at] + 1], means, ways) === k;
        right[at] = hit ? 100 : 0;
        if (hit) hits++;
      }
    }
    return 100 * hits / (ways * queries);
  }

  function nearest(x, y, means, ways) {
    let best = -1, least = Infinity;
    for (let k = 0; k < ways; k++) {
      const a = x - means[2 * k], b = y - means[2 * k + 1], distance = a * a + b * b;
      if (distance < least) { least = distance; best = k; }
    }
    return best;
  }

  /** Classes in the plane: their centres are normal around 0, their images (of deviation 1) around their centres. */
  const centres = (count, random) => Float64Array.from({ length: 2 * count }, () => SPREAD * random.normal());

  /** Points (2N) of n images of each class, class by class. */
  function images(means, classes, n, random) {
    const x = new Float64Array(2 * classes * n);
    for (let c = 0, at = 0; c < classes; c++) {
      for (let i = 0; i < n; i++) {
        x[at++] = means[2 * c] + random.normal();
        x[at++] = means[2 * c + 1] + random.normal();
      }
    }
    return x;
  }

  /** Tasks from n images of each class: closed ones, as many as wanted; or open ones, until too few images are left. */
  function drawn(kind, { classes, n, shots, queries, tasks }, random) {
    const each = shots + queries, open = kind === "open";
    const most = open ? Math.floor(classes * Math.floor(n / each) / WAYS) : tasks;
    const run = {
      ways: WAYS, shots, queries, tasks: 0, held: new Int32Array(most * WAYS),
      support: new Int32Array(most * WAYS * shots), query: new Int32Array(most * WAYS * queries),
    };
    const pools = Array.from({ length: classes }, (_, c) => Int32Array.from({ length: n }, (_, i) => c * n + i));
    if (open) for (const pool of pools) random.some(pool, n);
    const left = new Array(classes).fill(n);
    let able = Array.from({ length: classes }, (_, c) => c);
    while (run.tasks < most && able.length >= WAYS) {
      const chosen = random.some(able, WAYS).slice(0, WAYS).sort((a, b) => a - b);
      chosen.forEach((c, k) => {
        const place = run.tasks * WAYS + k, pool = pools[c];
        run.held[place] = c;
        let from = 0;
        if (open) from = left[c] -= each; else random.some(pool, each);
        for (let s = 0; s < shots; s++) run.support[place * shots + s] = pool[from + s];
        for (let q = 0; q < queries; q++) run.query[place * queries + q] = pool[from + shots + q];
      });
      run.tasks++;
      if (open) able = able.filter(c => left[c] >= each);
    }
    return run;
  }

  /** Fills in run.right and returns the accuracy (percent) of each task. */
  function tested(run, x) {
    const { tasks, ways, queries } = run;
    run.right = new Float64Array(tasks * ways * queries);
    const means = new Float64Array(2 * ways), accuracies = new Float64Array(tasks);
    for (let t = 0; t < tasks; t++) accuracies[t] = answers(x, run, t, means);
    return accuracies;
  }

  /** Mean accuracy (percent) of very many tasks: of images without end, of these classes or (means null) of all. */
  function truth(means, classes, shots, random) {
    const own = new Float64Array(2 * WAYS), support = new Float64Array(2 * WAYS), spread = 1 / Math.sqrt(shots), queries = 2;
    const order = Array.from({ length: classes }, (_, c) => c);
    let hits = 0;
    for (let t = 0; t < LONG; t++) {
      if (means) random.some(order, WAYS);
      for (let i = 0; i < 2 * WAYS; i++) {
        own[i] = means ? means[2 * order[i >> 1] + (i & 1)] : SPREAD * random.normal();
        support[i] = own[i] + spread * random.normal();
      }
      for (let k = 0; k < WAYS; k++) {
        for (let q = 0; q < queries; q++) {
          if (nearest(own[2 * k] + random.normal(), own[2 * k + 1] + random.normal(), support, WAYS) === k) hits++;
        }
      }
    }
    return 100 * hits / (LONG * WAYS * queries);
  }

  /**
   * The forty test sets of a seed, one a call of next(): {truth, next()}; next gives {closed, open, images, classes},
   * or null after the last. ``replaced`` is what differs between test sets: 'tasks', 'images' or 'classes'.
   */
  function study(settings, seed) {
    const { classes, n, shots, replaced, level = 0.95 } = settings, random = L.random(seed);
    let means = centres(classes, random), x = images(means, classes, n, random), at = 0;
    const label = Int32Array.from({ length: classes * n }, (_, i) => Math.floor(i / n));
    let goal;
    if (replaced === "tasks") {
      const many = drawn("closed", { ...settings, tasks: 10000 + 2 * settings.tasks }, random);
      goal = L.moments(tested(many, x))[0];
    } else goal = truth(replaced === "images" ? means : null, classes, shots, random);
    return {
      truth: goal,
      next() {
        if (at++ === SETS) return null;
        if (replaced === "classes") means = centres(classes, random);
        if (replaced !== "tasks") x = images(means, classes, n, random);
        const run = drawn("closed", settings, random);
        tested(run, x);
        const opened = drawn("open", settings, random), found = threeIntervals(run, label, level);
        const accuracies = tested(opened, x);
        found.open = opened.tasks > 1 ? L.intervalOf(accuracies, "open", level, [0, 100]) : null;
        found.openTasks = opened.tasks;
        return found;
      },
    };
  }

  const covers = (interval, goal) => interval.low <= goal && goal <= interval.high;

  /** What to make of the closed interval, which luck alone may let miss often: what is new decides what it tells. */
  function remark(replaced, missed) {
    if (replaced === "tasks") return "Only the tasks differ, which is what the closed interval describes.";
    return missed > SETS / 10 ? "The closed interval describes how the mean moves with other tasks. Here something else differs."
      : "The closed interval rarely misses if its tasks are few for the number of images.";
  }

  L.compute.repetition = { threeIntervals, tested, drawn, study, covers, remark, SETS };

  // ---------------------------------------------------------------- the page

  const REPLACED = {
    tasks: "other tasks from the same images",
    images: "other images of the same classes",
    classes: "other classes",
  };
  const GOALS = {
    tasks: "the mean over all tasks of these images",
    images: "the mean over all images of these classes",
    classes: "the mean over all classes",
  };

  // A place may ask for some kinds of interval alone, and for the picture without its controls: data-kinds="closed images".
  L.register("repetition", root => {
    let seed = 1, found = [], goal = NaN, running = 0;
    const brief = "kinds" in root.dataset, kinds = KINDS.filter(([kind]) => !brief || root.dataset.kinds.split(" ").includes(kind));
    const ROW = brief ? 5 : 6;
    const again = L.calm(() => start());
    const replaced = L.select("From one test set to the next, there are", { options: REPLACED, value: "images", change: again });
    const slide = (label, values, value) => L.slider(label, { values, value, change: again });
    const set = {
      n: slide("Images per class", [30, 40, 60, 100, 150, 200], 30),
      classes: slide("Classes", [5, 6, 8, 10, 15, 20, 30, 40], 20),
      shots: slide("Shots, labelled images per class", [1, 2, 5, 10], 5),
      queries: slide("Queries, test images per class", [1, 2, 5, 10, 15], 5),
      tasks: slide("Closed tasks", [100, 200, 600, 1000, 2000, 5000], 600),
    };
    const says = L.sentence(), note = L.el("p", {});
    const show = L.picture({
      title: () => says.node.textContent || "Forty test sets, each with four intervals",
      margin: [8, 4, 26, 4],
      height: wide => kinds.length / columnsOf(wide) * (SETS * ROW + 62) + (wide < 520 ? 46 : 30),
      draw,
    });

    function columnsOf(wide) {
      return wide < 520 ? 2 : kinds.length;
    }

    function counts(of = kinds) {
      return of.map(([kind]) => {
        const there = found.filter(f => f[kind]);
        return { there: there.length, missed: there.filter(f => !covers(f[kind], goal)).length };
      });
    }

    function draw(chart) {
      if (!found.length) return;
      const columns = columnsOf(chart.width + 8), gap = 12, wide = (chart.width - gap * (columns - 1)) / columns;
      // As wide as lets one see both the narrowest and the widest intervals.
      const middle = kind => {
        const halves = found.map(f => (f[kind] || f.images).half).filter(Number.isFinite).sort((a, b) => a - b);
        return halves[halves.length >> 1] || 1;
      };
      const off = Math.max(...found.map(f => Math.abs(f.closed.mean - goal))) + middle("closed");
      const widest = kinds.some(([kind]) => kind === "open") ? "open" : "images";
      const reach = Math.max(1.1 * off, Math.min(Math.sqrt(off * (off + middle(widest))), 30));
      const low = Math.max(goal - reach, 0), high = Math.min(goal + reach, 100), tall = SETS * ROW;
      counts().forEach(({ there, missed }, i) => {
        const [kind, name] = kinds[i], x = L.scale([low, high], [0, wide]);
        const left = (i % columns) * (wide + gap), top = Math.floor(i / columns) * (tall + 62) + 34;
        const panel = L.svg("g", { transform: `translate(${left},${top})` });
        const add = (tag, attributes, text) => panel.append(L.svg(tag, attributes, text === undefined ? [] : text));
        chart.group.append(panel);
        add("text", { x: 0, y: -19, "font-weight": 700 }, name);
        add("text", { x: 0, y: -4, class: missed > SETS / 10 ? "fsl-b-fill" : "" }, there ? `${missed} of ${there} miss` : "too few images");
        add("line", { class: "fsl-axis", x1: 0, x2: wide, y1: tall + 4, y2: tall + 4 });
        for (const tick of x.ticks(4)) {
          add("line", { class: "fsl-axis", x1: x(tick), x2: x(tick), y1: tall + 4, y2: tall + 8 });
          add("text", { x: Math.min(Math.max(x(tick), 8), wide - 14), y: tall + 21, "text-anchor": "middle" }, L.number(tick));
        }
        add("line", { class: "fsl-base", x1: x(goal), x2: x(goal), y1: -1, y2: tall + 4, "stroke-width": 1.5 });
        found.forEach((f, row) => {
          const interval = f[kind], y = row * ROW + 4;
          if (!interval) return;
          const miss = !covers(interval, goal), from = x(Math.max(interval.low, low)), to = x(Math.min(interval.high, high));
          if (to >= from) add("line", { class: miss ? "fsl-b" : "fsl-a", x1: from, x2: to, y1: y, y2: y, "stroke-width": miss ? 2.4 : 1.6 });
          const on = (edge, way) => add("path", { class: `fsl-on ${miss ? "fsl-b" : "fsl-a"}-fill`, d: `M${edge} ${y}l${way * 5} -2.5v5z` });
          if (interval.low < low) on(0, 1);
          if (interval.high > high) on(wide, -1);
          const m = x(Math.min(Math.max(interval.mean, low), high));
          if (miss) add("path", { class: "fsl-b", "stroke-width": 1.8, d: `M${m - 3} ${y - 3}L${m + 3} ${y + 3}M${m - 3} ${y + 3}L${m + 3} ${y - 3}` });
          else add("circle", { class: "fsl-a-fill", cx: m, cy: y, r: 1.6 });
        });
      });
      const lines = ["accuracy in %; vertical line: the truth;", "cross: a miss; arrow: the interval continues"];
      (columns === 2 ? lines : [lines.join(" ")]).forEach((text, i, all) =>
        chart.add("text", { class: "fsl-label", x: chart.width / 2, y: chart.height + 20 - 16 * (all.length - 1 - i), "text-anchor": "middle" }, text));
    }

    function tell() {
      const [closed, open, images, classes] = counts(KINDS);
      const word = ({ there, missed }) => (there ? L.words(missed) : "–");
      if (brief) {
        says.say(`Forty test sets of other images of the same classes: the closed interval misses the truth in ${word(closed)}, `
          + `the interval for new images in ${word(images)}. About two misses are expected at 95 %.`);
        return;
      }
      const other = open.there ? `the open one in ${word(open)}` : "there is no open one, with fewer than two open tasks";
      says.say(`Of forty test sets with ${REPLACED[replaced.value()]}, the closed interval misses the truth in ${word(closed)}, `
        + `${other}, the one for new images in ${word(images)}, the one for new classes in ${word(classes)}; about two are expected at 95 %.`);
      const halves = kind => {
        const all = found.map(f => f[kind]).filter(Boolean).map(i => i.half).sort((a, b) => a - b);
        return all.length ? `± ${L.number(all[all.length >> 1], 1)}` : "none";
      };
      const tasks = found[0].openTasks;
      note.textContent = `The truth, ${GOALS[replaced.value()]}, is ${L.number(goal, 1)} %. Typical intervals: closed ${halves("closed")}, `
        + `open ${halves("open")} (from ${tasks} task${tasks === 1 ? "" : "s"}), new images ${halves("images")}, new classes ${halves("classes")}. `
        + remark(replaced.value(), closed.missed);
    }

    function start() {
      const token = ++running, limit = L.still() ? 1e9 : 14;
      const settings = { replaced: replaced.value() };
      for (const name in set) settings[name] = set[name].value();
      const of = study(settings, seed);
      found = [];
      goal = of.truth;
      (function more() {
        if (token !== running) return;
        const begun = performance.now();
        let next = null;
        while (performance.now() - begun < limit && (next = of.next())) {
          found.push(next);
          if (brief && !L.still()) break; // one after the other, for the eye
        }
        show.redraw();
        if (found.length < SETS) (document.hidden ? setTimeout : requestAnimationFrame)(more);
        else tell();
      })();
    }

    if (brief) {
      root.append(show.node, says.node, L.button("Draw again", () => { seed += 1; start(); }));
      return start;
    }
    root.append(
      L.el("p", { class: "fsl-title" }, "What does a repetition replace?"),
      L.el("p", {}, `Forty test sets, one below the other. Each was evaluated once, by the nearest class mean on ${WAYS}-way tasks, `
        + "and gave each kind of interval. Which of them contain the truth?"),
      L.controls("", replaced), show.node, says.node, note, L.controls("", ...Object.values(set)),
      L.button("Draw again", () => { seed += 1; start(); }),
    );
    return start;
  });
})();
