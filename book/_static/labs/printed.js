// What may be said of two printed figures? `fslcore.stats.compare_printed` in the page: the same numbers, the same words.
(function () {
  "use strict";
  const L = window.fslLabs;
  const BETWEEN = 0.0271, CORRELATION = [0.28, 0.71, 0.95]; // as in fslcore/stats/published.py; a test compares
  const READINGS = ["interval", "standard error", "standard deviation"];
  const WHERE = { closed: "on these images", open: "on images such as these", unknown: "on tasks drawn in this way" };
  const two = x => L.fixed(x, 2), signed = x => two(x).replace("-", "−");

  const conclusion = i => (i.mean > i.half ? 1 : i.mean < -i.half ? -1 : 0);

  const inside = end => Math.min(Math.max(end, -100), 100); // of a difference of two percentages

  function difference(gap, spread, tasks, more, same, level) {
    const [first, second] = spread.map((s, i) => s * s * (1 / tasks[i] + (more ? 1 / more : 0)));
    const of = tasks.map(t => more || t), total = first + second;
    const df = total ** 2 / (first ** 2 / (of[0] - 1) + second ** 2 / (of[1] - 1));
    const half = L.quantile((1 + level) / 2, df) * Math.sqrt(total), count = more || tasks[0] + tasks[1];
    const widest = { mean: gap, half, low: inside(gap - half), high: inside(gap + half), df, tasks: count };
    if (!same) return done({ widest, narrowest: widest, paired: [], correlation: null });
    const quantile = L.quantile((1 + level) / 2, of[0] - 1), product = Math.sqrt(first * second);
    const sameTasks = (usual, largest) => {
      const width = Math.min(quantile * Math.sqrt(total - 2 * usual * product), largest);
      return { mean: gap, half: width, low: inside(gap - width), high: inside(gap + width), df: of[0] - 1, tasks: of[0] };
    };
    const narrowest = sameTasks(CORRELATION[2], half), paired = CORRELATION.map(usual => sameTasks(usual, Infinity));
    const correlation = (total - (gap / quantile) ** 2) / (2 * product);
    return done({ widest, narrowest, paired, correlation: Math.abs(correlation) < 1 ? correlation : null });
  }

  function done(found) {
    found.verdict = conclusion(found.widest) ? "better" : conclusion(found.narrowest) ? "open" : "not significantly different";
    found.usuallyDecided = found.paired.length > 0 && found.paired.every(i => conclusion(i) !== 0);
    return found;
  }

  /** As the function of the library; a and b are [mean, ±], ``tasks`` is [T, T]. Throws an Error with one line. */
  function fromPrinted(a, b, tasks, options = {}) {
    const { images = null, classes = null, ways = 5, shots = 5, queries = 15, same_tasks: sameTasks = "unknown", level = 0.95 } = options;
    let sampling = options.sampling || "unknown";
    check(a, b, tasks, { images, classes, ways, shots, queries, sameTasks, sampling });
    let apart = null;
    if (images !== null) {
      apart = Math.floor(images / (ways * (shots + queries)));
      if (sampling === "unknown" && Math.max(...tasks) > apart) sampling = "closed";
    }
    const groups = classes === null ? null : Math.floor(classes / ways);
    const z = L.quantile((1 + level) / 2), n = ways * queries, gap = a[0] - b[0];
    const usual = [a, b].map(([m]) => Math.sqrt(m * (100 - m) * (1 / n + BETWEEN * (1 - 1 / n))));
    const same = sameTasks !== "no" && tasks[0] === tasks[1], off = [];
    const largest = [a, b].map(([m], j) => Math.sqrt((m * (100 - m) * tasks[j]) / (tasks[j] - 1)));
    const readings = READINGS.flatMap((meaning, i) => {
      const spread = [a, b].map(([, h], j) => h * (i === 2 ? 1 : (i ? 1 : 1 / z) * Math.sqrt(tasks[j])));
      if (spread.some((s, j) => s > largest[j])) return [];
      const far = spread.map((s, j) => Math.abs(Math.log(s / usual[j])));
      off.push(far[0] ** 2 + far[1] ** 2);
      const of = more => (more !== null && more < 2 ? null : difference(gap, spread, tasks, more, same, level));
      return {
        meaning, deviations: spread, usual: Math.max(...far) <= Math.log(Math.max(z, 1)) / 2, tasks: of(null),
        images: apart === null || sampling === "open" ? null : of(apart), classes: groups === null ? null : of(groups),
      };
    });
    if (!readings.length) throw new Error("Accuracies with these means cannot vary as much as each reading of ± says.");
    const coarse = [...a, ...b].every(x => Math.round(10 * x) / 10 === x);
    const found = { coarse, difference: gap, readings, likely: readings[off.indexOf(Math.min(...off))], sampling, sameTasks, level,
      tasks, shape: [ways, shots, queries], images, classes, apart };
    found.sentence = sentence(found);
    found.notes = notes(found);
    return found;
  }

  function check(a, b, tasks, { images, classes, ways, shots, queries, sameTasks, sampling }) {
    const fail = text => { throw new Error(text); };
    [["first", a], ["second", b]].forEach(([name, [mean, wide]]) => {
      if (mean > 0 && mean <= 1) fail(`The ${name} mean is ${mean}: percent is needed, not a share.`);
      if (!(mean > 1 && mean < 100)) fail(`The ${name} mean must lie between 1 and 100.`);
      if (!(wide > 0 && wide < 100)) fail(`The ${name} ± must be a number over 0.`);
    });
    const whole = (name, x, least) => {
      if (!(Number.isInteger(x) && x >= least && x <= 2 ** 53)) fail(`${name} must be a whole number of at least ${L.number(least)}.`);
    };
    tasks.forEach(t => whole("Tasks", t, 2));
    whole("Classes per task", ways, 2);
    whole("Shots", shots, 1);
    whole("Queries", queries, 1);
    const need = ways * (shots + queries);
    if (sameTasks === "yes" && tasks[0] !== tasks[1]) fail("The same tasks are equally many.");
    if (images !== null) {
      whole("Images", images, need);
      if (sampling === "open" && Math.max(...tasks) > Math.floor(images / need)) {
        fail(`${L.number(images)} images make at most ${L.number(Math.floor(images / need))} open tasks of this shape.`);
      }
    }
    if (classes !== null) whole("Classes", classes, ways);
  }

  // The sentences are those of fslcore/report/printed.py.

  const MEASURED = "the 5, 50 and 95 % quantiles of 72 measured pairs of methods";
  const share = found => `${Number((100 * found.level).toPrecision(6))} % interval`;

  function range(found, interval) {
    const [low, high] = found.difference >= 0 ? [interval.low, interval.high] : [-interval.high, -interval.low];
    return `${signed(low)} to ${signed(high)}`;
  }

  const between = (found, interval) => `${share(found)} ${range(found, interval)}`;

  /** The intervals on the same tasks: at the lowest and the highest usual correlation, or at every one. */
  function pairedEnds(found, { paired }) {
    return `${range(found, paired[0])} at a correlation of ${two(CORRELATION[0])}, ${range(found, paired[2])} at ${two(CORRELATION[2])}`;
  }

  function pairedAll(found, { paired }) {
    const [low, middle, high] = paired.map(i => range(found, i));
    return `${low} at a correlation of ${two(CORRELATION[0])}, ${middle} at ${two(CORRELATION[1])} and ${high} at ${two(CORRELATION[2])}`;
  }

  function sentence(found) {
    const of = found.likely.tasks, size = `${two(Math.abs(found.difference))} points`, where = WHERE[found.sampling];
    const better = `The ${found.difference > 0 ? "first" : "second"} is better by ${size} ${where}`, ends = between(found, of.widest);
    if (of.verdict === "better") return `${better} (${ends}).`;
    if (of.verdict !== "open") return `The two are not significantly different ${where}: ${size} (${ends}).`;
    const paired = pairedEnds(found, of), unrelated = range(found, of.widest);
    if (!of.usuallyDecided) return `It is open which is better ${where}: ${size} (${ends} on unrelated tasks; on the same tasks ${paired}).`;
    if (found.sameTasks === "yes") {
      return `${better} at every usual correlation of the methods (${share(found)} ${paired}; ${unrelated} without correlation).`;
    }
    return `${better} if both ran on the same tasks, at every usual correlation of the methods (${share(found)} ${paired}); `
      + `on unrelated tasks it is open (${unrelated}).`;
  }

  function pairing(found) {
    const of = found.likely.tasks;
    if (found.sameTasks === "no") return "The tasks differ, so the two figures are taken as independent.";
    if (!of.paired.length) return "The numbers of tasks differ, so the two figures are taken as independent.";
    const same = `On the same tasks the interval is ${pairedAll(found, of)} (${MEASURED})`;
    if (of.verdict === "better") return `${same}; at a negative correlation it is wider than above.`;
    if (of.verdict !== "open") return `${same}: no usual correlation decides it.`;
    const extent = of.usuallyDecided ? ", so every usual one does" : "";
    return `${same}: a correlation above ${two(of.correlation)} decides it${extent}. Accuracies per task would tell.`;
  }

  /** How many tasks the images make, and whether that shows that tasks share images. */
  function sharing(found) {
    if (found.apart === null) return [];
    const most = Math.max(...found.tasks), what = found.apart === 1 ? "task of this shape" : "tasks of this shape that share no image";
    const reused = most > found.apart ? `, so the ${L.number(most)} use images again (closed)` : "";
    return [`${L.number(found.images)} images make at most ${L.number(found.apart)} ${what}${reused}.`];
  }

  function verdict(of) {
    if (of.verdict === "better") return "it holds too";
    return of.usuallyDecided ? "it holds on the same tasks at every usual correlation" : "it is open";
  }

  function bound(found, of) {
    const ends = `at most ${between(found, of.widest)}`;
    return of.paired.length ? `${ends} on unrelated tasks; on the same ones ${pairedEnds(found, of)}` : ends;
  }

  function beyond(found) {
    const fresh = found.likely.images;
    if (found.sampling === "open") return "No image is in two tasks, so this holds for new images of these classes.";
    if (fresh) return `For new images ${verdict(fresh)} (${bound(found, fresh)}): the images count as ${L.number(found.apart)} tasks.`;
    if (found.images !== null) return "For new images nothing follows: two tasks that share no image are needed.";
    const condition = found.sampling === "closed" ? "" : ", if tasks share images";
    return `For new images nothing follows${condition}: ± does not count what they would change. `
      + "The number of images in the test set would bound it.";
  }

  function notes(found) {
    const likely = found.likely, [a, b] = likely.deviations.map(x => L.fixed(x, 1)), [ways, shots, queries] = found.shape;
    const meaning = likely.meaning === "interval" ? `half of a ${share(found)}` : `a ${likely.meaning}`;
    const usual = likely.usual ? "as is usual" : "the nearest to what is usual, yet unusual";
    const out = [`± is read as ${meaning}: accuracies then vary by ${a} and ${b} points from task to task, `
      + `${usual} for ${ways}-way ${shots}-shot tasks with ${queries} queries per class.`, pairing(found), ...sharing(found), beyond(found)];
    if (likely.classes) {
      const of = likely.classes, count = L.number(of.widest.tasks);
      out.push(`For new classes ${verdict(of)} (${bound(found, of)}): ${L.number(found.classes)} classes make ${count} tasks that share no class.`);
    }
    if (found.coarse) out.push("With one decimal the difference may be off by 0.1 points, and each ± by 0.05, from rounding.");
    return out;
  }

  /** Mean and ± from a text such as 71.2 ± 0.4 or 71.2+-0.4; null where it is none, as in brackets. */
  function figure(text) {
    const found = /^\s*\$?(\d+[.,]?\d*)\s*%?\s*(?:±|\+\s*\/?\s*-|\$?\\pm\$?)\s*(\d*[.,]?\d+)\s*%?\$?\s*$/.exec(text);
    return found && [found[1], found[2]].map(part => Number(part.replace(",", ".")));
  }

  L.compute.printed = { fromPrinted, figure, BETWEEN, CORRELATION };

  // ---------------------------------------------------------------- the page

  L.register("printed", root => {
    const change = L.calm(update), say = L.sentence();
    const text = (label, value, more) => L.field(label, { value, change, ...more });
    const count = (label, value) => text(label, value, { inputmode: "numeric", size: 8 });
    const first = text("First method, mean ± half, in %", "79.59 ± 0.52"), second = text("Second method", "76.87 ± 0.56");
    const tasks = count("Tasks", "600");
    const images = count("Images in the test set, if known", ""), classes = count("Classes in it, if known", "");
    const ways = count("Classes per task", "5"), shots = count("Shots", "5"), queries = count("Queries per class", "15");
    const same = L.select("Same tasks for both", { options: { unknown: "not known", yes: "yes", no: "no" }, value: "unknown", change });
    const sampling = L.select("How tasks were drawn", {
      options: { unknown: "not known", closed: "closed: images used again", open: "open: each image once" }, value: "unknown", change,
    });
    let found = null;
    const list = L.el("ul", { class: "fsl-notes" }), rows = L.el("div", {});
    const copied = L.el("span", { role: "status" });
    const show = L.picture({
      title: () => say.node.textContent || "The difference by each reading", ...L.forestShape(3), draw,
    });

    function whole(field) {
      return field.value() === "" ? null : Number(field.value().replace(/[,\s]/g, ""));
    }

    function update() {
      try {
        const pair = [first, second].map((f, i) => {
          const read = figure(f.value());
          if (!read) throw new Error(`The ${["first", "second"][i]} figure is a mean ± something in percent, such as 79.59 ± 0.52.`);
          return read;
        });
        const t = whole(tasks);
        found = fromPrinted(pair[0], pair[1], [t, t], {
          images: whole(images), classes: whole(classes), ways: whole(ways), shots: whole(shots), queries: whole(queries),
          same_tasks: same.value(), sampling: sampling.value(),
        });
      } catch (error) {
        found = null;
        say.say(error.message, true);
        list.replaceChildren();
        rows.replaceChildren();
        show.redraw();
        return;
      }
      say.say(found.sentence);
      list.replaceChildren(...found.notes.map(note => L.el("li", {}, note)));
      rows.replaceChildren(L.table("The difference, by what ± means", ["± is", "unrelated tasks", ...CORRELATION.map(r => `same tasks, r = ${two(r)}`), "task to task"],
        found.readings.map(r => [
          name(r), L.plusMinus(found.difference, r.tasks.widest.half),
          ...CORRELATION.map((_, i) => (r.tasks.paired.length ? L.plusMinus(found.difference, r.tasks.paired[i].half) : "—")),
          r.deviations.map(d => L.number(d, 1)).join(" and "),
        ])));
      show.redraw();
    }

    const name = r => (r.meaning === "interval" ? "half a 95 % interval" : "a " + r.meaning) + (r === found.likely ? " (likely)" : "");

    function draw(chart) {
      if (!found) return;
      const ends = [0, ...found.readings.slice(0, 2).flatMap(r => [r.tasks.widest.low, r.tasks.widest.high])];
      const rows = found.readings.map(r => {
        const { widest, narrowest, paired, verdict } = r.tasks, bars = [[widest.low, widest.high, "fsl-a", 2.5]];
        if (paired.length) bars.push([paired[0].low, paired[0].high, "fsl-a", 5], [narrowest.low, narrowest.high, "fsl-b", 8]);
        const mark = { x: found.difference, class: "fsl-base-fill", path: L.disc };
        return { label: `if ± is ${name(r)}: ${verdict}`, isBold: r === found.likely, bars, mark };
      });
      L.forest(chart, rows, { label: "first − second, in points", ends, zero: true });
    }

    const copy = L.button("Copy the sentence", () => {
      const area = L.el("textarea", { readonly: true });
      area.value = say.node.textContent;
      root.append(area);
      area.select();
      copied.textContent = document.execCommand("copy") ? "copied" : "not copied: select it by hand";
      area.remove();
      copy.focus();
    });
    root.append(
      L.el("p", { class: "fsl-title" }, "What may be said of two printed figures?"),
      L.controls("", first, second, tasks, same, images, classes, sampling),
      L.el("details", {}, L.el("summary", {}, "Shape of the tasks"), L.controls("", ways, shots, queries)),
      L.el("p", { class: "fsl-legend" }, "The sentence to write:"), say.node, copy, copied, show.node,
      L.el("p", {}, "Thin: tasks that have nothing to do with each other. Less thin and thick: the same tasks, where the accuracies of "
        + `both methods correlate by ${two(CORRELATION[0])} and by ${two(CORRELATION[2])}.`),
      list, rows,
    );
    return update;
  });
})();
