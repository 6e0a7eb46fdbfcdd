// How many queries, tasks, images, classes? `fslcore.stats.plan_sample_size` and the models behind it, of a pilot's numbers.
(function () {
  "use strict";
  const L = window.fslLabs, { size } = L;
  const PEAKED = 0.4, MANY_QUERIES = 10000;
  const OF_CLASSES = 4, ofImages = shots => 8 + shots / 2; // by how much variances fall faster than sizes grow

  // ---------------------------------------------------------------- as fslcore.stats.estimate_variance and .power

  /** VarianceModel of moments: gamma follows from alpha and beta. */
  const model = (alpha, beta, shots) => ({ alpha, beta, gamma: beta / shots + shots * alpha, shots });

  const optimum = ({ alpha, beta }) => (alpha > 0 ? Math.sqrt(Math.max(beta, 0) / alpha) : beta > 0 ? Infinity : NaN);

  const variance = ({ alpha, beta, gamma, shots }, queries, tasks) =>
    (alpha * queries + beta / queries + gamma) / ((shots + queries) * tasks);

  const taskCount = (images, ways, shots, queries) => images / (ways * (shots + queries));

  /** `optimal_queries` of a model alone: the better whole neighbour of its optimum. */
  function bestQueries(m) {
    const below = Math.max(1, Math.floor(optimum(m))), at = q => variance(m, q, 1 / (m.shots + q));
    return at(below + 1) < at(below) ? below + 1 : below;
  }

  /** `plan` of a pilot of open tasks whose alpha and beta are taken as known: {tasks, queries, imagesPerClass}. */
  function planOpen(alpha, beta, shots, ways, classes, difference, power = 0.8, level = 0.95) {
    const m = model(Math.max(alpha, 0), beta, shots), best = Math.floor(Math.min(Math.max(optimum(m), 1), MANY_QUERIES)) + 1;
    const tried = new Set([best - 1]);
    for (let i = 0; i < 24; i++) tried.add(i === 23 ? best : Math.floor(10 ** (i * Math.log10(best) / 23)));
    let found = null;
    for (const q of [...tried].sort((a, b) => a - b)) {
      const { size: tasks } = size({
        total: variance(m, q, 1), df: Infinity, least: 2, ofStudy: t => t - 1, difference, power, level,
      });
      if (tasks !== null && (!found || tasks * (shots + q) < found.tasks * (shots + found.queries))) found = { tasks, queries: q };
    }
    if (found) found.imagesPerClass = Math.ceil(found.tasks * ways / classes) * (shots + found.queries);
    return found;
  }

  /**
   * `plan` of three intervals of a difference: half-widths of closed tasks, new images and new classes (Infinity where
   * not known), with degrees of freedom of the last two. Each of tasks, images, classes is {size, low, high} or null.
   */
  function planClosed({ closed, images, classes, tasks, perClass, count, ways, shots, imagesDf, classesDf }, difference, power = 0.8, level = 0.95) {
    const z = L.quantile((1 + level) / 2), sampling = (closed / z) ** 2, wanted = { difference, power, level };
    const of = (half, df, now, least, ofStudy, scatter, curve) => {
      const at = now / (1 + curve / now), total = (half / L.quantile((1 + level) / 2, df)) ** 2 * at;
      return half === Infinity ? null : size({ total, df, least, ofStudy, scatter, curve, less: sampling * at, ...wanted });
    };
    return {
      tasks: size({ total: sampling * tasks, df: tasks - 1, least: 2, ofStudy: t => t - 1, ...wanted }),
      images: of(images, imagesDf, perClass, shots + 2, n => n * count - 1, PEAKED, ofImages(shots)),
      classes: of(classes, classesDf, count, ways + 1, c => c - 1, 1, OF_CLASSES),
    };
  }

  /** A planned size in words. */
  const told = (of, what) =>
    (of === null ? `an unknown number of ${what}` : of.size === null ? `more ${what} than can be counted` : `${L.number(of.size)} ${what}`);

  L.compute.sizing = { model, optimum, variance, taskCount, bestQueries, planOpen, planClosed, told };

  // ---------------------------------------------------------------- the page

  L.register("sizing", root => {
    const change = L.calm(update), say = L.sentence(), note = L.el("p", {});
    const kind = L.select("The pilot", {
      options: { open: "open tasks: α and β of the difference", closed: "closed tasks: three intervals of the difference" },
      value: "open", change: () => { places(); update(); },
    });
    const typed = (label, value) => L.field(label, { value, change, inputmode: "decimal", size: 8 });
    const slide = (label, values, value, show) => L.slider(label, { values, value, show, change });
    const alpha = typed("α, variance of a task's expected difference", "0.0004");
    const beta = typed("β, S times what the draw of a query adds", "0.05");
    const spread = slide("√α in points: how much tasks differ", steps(0.5, 10, 40), 2, x => L.number(x, 2));
    const noise = slide("√(β/S) in points: how much queries differ", steps(1, 30, 40), 10, x => L.number(x, 2));
    const closed = typed("± of these images, in points", "0.5"), images = typed("± of new images", "1.5");
    const classes = typed("± of new classes (empty: not known)", "3"), tasks = typed("Closed tasks of the pilot", "600");
    const difference = slide("Difference to detect, in points", [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 7, 10], 2, x => L.number(x, 2));
    const power = slide("With a chance (power) of", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95], 0.8, x => L.number(100 * x) + " %");
    const shots = slide("Shots", [1, 2, 3, 5, 10, 20], 5), ways = slide("Classes per task", [2, 3, 5, 10, 20], 5);
    const count = slide("Classes in the test set", [5, 10, 16, 20, 30, 40, 64, 100, 200], 20);
    const perClass = slide("Images per class", [10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 400, 600], 60);
    let state = null;

    function steps(low, high, n) { // evenly on a logarithmic scale
      return Array.from({ length: n + 1 }, (_, i) => Number((low * (high / low) ** (i / n)).toPrecision(3)));
    }
    // A slider that is moved fills the field, and a field that is typed in moves the slider.
    const plain = x => String(Number(x.toPrecision(4)));
    spread.input.addEventListener("input", () => alpha.set(plain((spread.value() / 100) ** 2)));
    noise.input.addEventListener("input", () => beta.set(plain(shots.value() * (noise.value() / 100) ** 2)));
    alpha.input.addEventListener("input", () => { if (read(alpha) > 0) spread.set(100 * Math.sqrt(read(alpha))); });
    beta.input.addEventListener("input", () => { if (read(beta) > 0) noise.set(100 * Math.sqrt(read(beta) / shots.value())); });

    const read = f => (f.value() === "" ? NaN : Number(f.value().replace(",", ".")));
    const left = L.picture({
      title: () => (state ? state.leftTitle : "Standard error by queries"), height: 250, margin: [12, 14, 44, 50], draw: chart => state && state.left(chart),
    });
    const right = L.picture({
      title: () => (state ? state.rightTitle : "Power"), height: 250, margin: [12, 14, 44, 50], draw: chart => state && state.right(chart),
    });
    const openOnes = L.controls("", alpha, spread, beta, noise), closedOnes = L.controls("", closed, images, classes, tasks);
    const leftBox = L.el("div", {}, L.el("p", { class: "fsl-legend" }, "Standard error of the mean, if open tasks use these images up"), left.node);
    const rightHead = L.el("p", { class: "fsl-legend" });

    function places() {
      const open = kind.value() === "open";
      openOnes.hidden = leftBox.hidden = !open;
      closedOnes.hidden = open;
    }

    function update() {
      try {
        if (count.value() < ways.value()) throw new Error("The test set needs at least as many classes as a task.");
        state = kind.value() === "open" ? ofOpen() : ofClosed();
        say.say(state.text);
        note.textContent = state.note;
        rightHead.textContent = state.rightTitle;
      } catch (error) {
        state = null;
        say.say(error.message, true);
        note.textContent = "";
      }
      left.redraw();
      right.redraw();
    }

    const needed = (x, name) => {
      if (!Number.isFinite(x)) throw new Error(`${name} must be a number.`);
      return x;
    };
    const positive = (f, name) => {
      if (!(needed(read(f), name) > 0)) throw new Error(`${name} must be over 0.`);
      return read(f);
    };

    function ofOpen() {
      const s = shots.value(), k = ways.value(), c = count.value(), n = perClass.value(), p = power.value(), d = difference.value() / 100;
      const a = needed(read(alpha), "α"), b = positive(beta, "β");
      if (a < 0) throw new Error("α must be 0 or more.");
      const m = model(a, b, s), q = optimum(m), planned = planOpen(a, b, s, k, c, d, p);
      const error = x => 100 * Math.sqrt(variance(m, x, taskCount(c * n, k, s, x)));
      const best = Number.isFinite(q) ? bestQueries(m) : MANY_QUERIES, shown = Math.min(best, Math.max(n - s, 1));
      if (!planned) throw new Error("More tasks would be needed than can be counted; take a larger difference.");
      const chance = x => { // of x images per class, with the planned queries
        const t = x * c / (k * (s + planned.queries));
        return t < 2 ? NaN : L.power(d, Math.sqrt(variance(m, planned.queries, t)), t - 1);
      };
      return {
        text: `The least variance is at Q* = ${Number.isFinite(q) ? L.number(q, 1) : "∞"} queries per class: with ${L.number(c * n)} images, `
          + `${L.number(Math.floor(taskCount(c * n, k, s, shown)))} open tasks and a standard error of ${L.number(error(shown), 2)} points. `
          + `Detecting ${L.number(100 * d, 2)} points with ${L.number(100 * p)} % power takes ${L.number(planned.tasks)} open tasks of ${L.number(planned.queries)} `
          + `${planned.queries === 1 ? "query" : "queries"} per class, ${L.number(planned.imagesPerClass)} images in each of ${L.number(c)} classes.`,
        note: "α and β are those that stats.estimate_variance gives for the differences, as shares. Here they are taken as known; stats.plan_sample_size also "
          + "allows for the error of the pilot.",
        leftTitle: "Standard error of the mean by queries per class",
        rightTitle: `Power to detect ${L.number(100 * d, 2)} points, by images per class`,
        left(chart) {
          const most = Math.max(60, Math.min(4 * shown, 1000)), x = L.scale([1, most], [0, chart.width], true);
          const points = [];
          for (let i = 0; i <= 120; i++) points.push(most ** (i / 120));
          const top = Math.min(Math.max(error(1), error(most)), 3 * error(shown)) * 1.05, y = L.scale([0, top], [chart.height, 0]);
          chart.axis("left", y, { about: 5, label: "points" });
          chart.axis("bottom", x, { about: 8, label: "Q, queries per class" });
          line(chart, points.filter(q => error(q) <= top).map(q => [x(q), y(error(q))]), "fsl-a");
          dot(chart, x(shown), y(error(shown)), `Q = ${L.number(shown)}`);
        },
        right(chart) {
          const most = Math.max(2.2 * planned.imagesPerClass, n * 1.1, 20), x = L.scale([0, most], [0, chart.width]);
          powerAxes(chart, x, "images per class", chance, planned.imagesPerClass, most, p, n);
        },
      };
    }

    function ofClosed() {
      const s = shots.value(), k = ways.value(), c = count.value(), n = perClass.value(), p = power.value(), d = difference.value();
      const given = {
        closed: positive(closed, "± of these images"), images: positive(images, "± of new images"), tasks: read(tasks), perClass: n, count: c,
        classes: classes.value() === "" || c === k ? Infinity : positive(classes, "± of new classes"), ways: k, shots: s,
        imagesDf: n * c - 1, classesDf: c - 1,
      };
      if (!(Number.isInteger(given.tasks) && given.tasks >= 20)) throw new Error("Closed tasks must be a whole number of at least 20.");
      if (given.images < given.closed || given.classes < given.images) throw new Error("Each ± must be at least as large as the one before it.");
      const planned = planClosed(given, d, p), fall = ofImages(s);
      const z = L.quantile(0.975), sampling = (given.closed / z) ** 2;
      const curve = x => {
        const se2 = (given.images / L.quantile(0.975, given.imagesDf)) ** 2 - sampling;
        return se2 > 0 ? L.power(d, Math.sqrt(se2 * n / (1 + fall / n) * (1 + fall / x) / x), Math.max(x * c - 1, 1)) : 1;
      };
      return {
        text: `Detecting ${L.number(d, 2)} points with ${L.number(100 * p)} % power takes ${told(planned.tasks, "closed tasks")} for these images, `
          + `${told(planned.images, "images per class")} for new images, and ${told(planned.classes, "classes")} for new classes.`,
        note: "Each number is for its own claim alone; the last two assume enough tasks. The ± are half-widths of the 95 % intervals that stats.three_intervals gives "
          + "for the difference of two methods. Degrees of freedom follow from the numbers of images and classes; stats.plan_sample_size uses those of the intervals.",
        leftTitle: "", left() {},
        rightTitle: `Power to detect ${L.number(d, 2)} points on new images, by images per class`,
        right(chart) {
          const goal = planned.images && planned.images.size || n, most = Math.max(2.2 * goal, n * 1.1, 20);
          powerAxes(chart, L.scale([0, most], [0, chart.width]), "images per class", curve, goal, most, p, n);
        },
      };
    }

    const line = (chart, points, name) => chart.path(points, name).setAttribute("stroke-width", 2.5);

    function dot(chart, x, y, text) { // the text below, where neither curve is
      chart.add("circle", { class: "fsl-b-fill", cx: x, cy: y, r: 5 });
      chart.add("text", { x: Math.min(x, chart.width - 70), y: y + 20, "font-weight": 700 }, text);
    }

    function powerAxes(chart, x, label, chance, planned, most, wanted, now) {
      const y = L.scale([0, 100], [chart.height, 0]);
      chart.axis("left", y, { marks: [0, 20, 40, 60, 80, 100], label: "power in %" });
      chart.axis("bottom", x, { about: 5, label });
      const points = [];
      for (let i = 1; i <= 120; i++) {
        const of = chance(most * i / 120);
        if (Number.isFinite(of)) points.push([x(most * i / 120), y(100 * of)]);
      }
      line(chart, points, "fsl-a");
      chart.add("line", { class: "fsl-base", x1: 0, x2: chart.width, y1: y(100 * wanted), y2: y(100 * wanted), "stroke-dasharray": "4 3" });
      dot(chart, x(planned), y(100 * wanted), `${L.number(planned)} needed`);
      const there = chance(now);
      if (Number.isFinite(there)) {
        chart.add("rect", { class: "fsl-base-fill", x: x(now) - 4, y: y(100 * there) - 4, width: 8, height: 8 });
        chart.add("text", { x: x(now) + 8, y: y(100 * there) + 16 }, `${L.number(now)} now`);
      }
    }

    root.append(
      L.el("p", { class: "fsl-title" }, "How many queries, tasks, images, classes?"),
      L.controls("", kind), openOnes, closedOnes, L.controls("", difference, power, shots, ways, count, perClass),
      say.node, L.el("div", { class: "fsl-pair" }, leftBox, L.el("div", {}, rightHead, right.node)), note,
    );
    openOnes.classList.add("fsl-two");
    places();
    return update;
  });
})();
