// The lab "Below the paper?": how unusual a difference from a paper is, by what differs, and what to print beside a mean.
// The facts stand in the page, as JSON in #fsl-reproduction-data, which the chapter writes (fslbook.beyond.reproductions,
// of which this computes `of_tasks`, `percentiles`, `split_widths`, `training_widths` and `sentence_to_print`).
(function () {
  "use strict";
  const labs = window.fslLabs, { el, number } = labs;
  const MOST_TASKS = 1000000, MOST_SHOTS = 1000, MOST_TRAININGS = 1000;
  const OTHER = "another data set";
  const plain = x => String(Number(x.toPrecision(12)));
  const normal = level => labs.quantile((1 + level) / 2);

  /** How often other tasks alone give such a gap or a larger one on its side, in percent. */
  function ofTasks(gap, half, paperHalf, level) {
    return 100 * labs.survival(Math.abs(gap) / (Math.hypot(half, paperHalf) / normal(level)));
  }

  /** Where a gap lies among the differences of each kind: {name, pairs, farther, groups, groupsFarther, percentile, withYours}. */
  function percentiles(gap, { kinds, decimals }) {
    const distance = Math.abs(Math.round(gap * 10 ** decimals)) / 10 ** decimals;
    return kinds.map(kind => {
      const { name, is_directed: isDirected, differences } = kind, side = gap > 0 || !isDirected ? 1 : -1;
      if (!differences.length) return { name, pairs: 0, farther: 0, groups: 0, groupsFarther: 0, percentile: NaN, withYours: NaN };
      const counts = new Map();
      let farther = 0;
      for (const [difference, group] of differences) {
        const isFarther = Number(side * difference >= distance), count = counts.get(group) || [0, 0];
        counts.set(group, [count[0] + isFarther, count[1] + 1]);
        farther += isFarther;
      }
      const shares = [...counts.values()].map(([of, all]) => of / all), weight = isDirected ? 100 : 50;
      return {
        name, pairs: differences.length, farther, groups: shares.length, groupsFarther: shares.filter(share => share > 0).length,
        percentile: weight * farther / differences.length,
        withYours: weight * (shares.reduce((a, b) => a + b, 0) + 1) / (shares.length + 1),
      };
    });
  }

  /** Variance of a task's accuracy in squared points: that of its ± as an interval, or the usual one. */
  function taskVariance({ mean, half, tasks }, { between, ways, queries, level }) {
    const answers = ways * queries;
    return half === null ? mean * (100 - mean) * (1 / answers + between * (1 - 1 / answers)) : tasks * (half / normal(level)) ** 2;
  }

  /** What a ± means, by the spread over tasks that it implies (`fslcore.stats.compare_printed`): {meaning, interval}, the half-width. */
  function reading({ mean, half, tasks }, facts) {
    const usual = Math.sqrt(taskVariance({ mean, half: null, tasks }, facts)), quantile = normal(facts.level);
    const factors = { interval: Math.sqrt(tasks) / quantile, "standard error": Math.sqrt(tasks), "standard deviation": 1 };
    const distance = ([, factor]) => Math.abs(Math.log(half * factor / usual));
    const [meaning, factor] = Object.entries(factors).reduce((best, found) => (distance(found) < distance(best) ? found : best));
    return { meaning, interval: half * factor * quantile / Math.sqrt(tasks) };
  }

  /** Half-widths {tasks, images, classes} of a mean; null where the test split is not known or makes fewer than two tasks. */
  function splitWidths(figure, facts) {
    const variance = taskVariance(figure, facts), { tasks, shots } = figure, { ways, queries, level } = facts;
    const [images, classes] = facts.splits[figure.dataset] || [0, 0];
    const bound = count => (count > 1 ? labs.quantile((1 + level) / 2, count - 1) * Math.sqrt(variance * (1 / tasks + 1 / count)) || null : null);
    return {
      tasks: normal(level) * Math.sqrt(variance / tasks),
      images: bound(Math.floor(images / (ways * (shots + queries)))), classes: bound(Math.floor(classes / ways)),
    };
  }

  /** {mean, newRuns, prediction} of the means of several trainings; null of fewer than two. */
  function trainingWidths(means, level) {
    const count = means.length;
    if (count < 2) return null;
    const [mean, deviation] = labs.moments(means), quantile = labs.quantile((1 + level) / 2, count - 1);
    return { mean, newRuns: quantile * deviation / Math.sqrt(count), prediction: quantile * deviation * Math.sqrt(1 + 1 / count) };
  }

  /** What to print beside a mean. */
  function sentenceToPrint(figure, trainings, facts) {
    const widths = splitWidths(figure, facts), percent = plain(100 * facts.level);
    const bounds = [["new images", widths.images], ["new classes", widths.classes]].filter(([, half]) => half !== null)
      .map(([name, half]) => `± ${number(half, 1)} for ${name}`);
    const first = `${number(figure.mean, 2)} % over ${number(figure.tasks)} 5-way ${figure.shots}-shot tasks on ${figure.dataset} (${percent} % intervals: `
      + `${figure.half === null ? "about " : ""}± ${number(widths.tasks, 2)} for other tasks of these images`
      + (bounds.length ? `; at most ${bounds.join(" and ")}).` : ").");
    const means = [figure.mean, ...trainings], of = trainingWidths(means, facts.level);
    const second = of
      ? `Mean of ${means.length} trainings: ${number(of.mean, 2)} ± ${number(of.newRuns, 2)} for new trainings; one more is expected within ± ${number(of.prediction, 2)} of it.`
      : "One training; the effect of another seed was not measured.";
    const count = facts.kinds.find(kind => kind.name === facts.target).differences.length;
    const third = count
      ? `One implementation; of ${count} published reproductions beside the paper's number, ${percent} % differ by up to ${number(facts.usual, 1)} points.`
      : "One implementation.";
    return [first, second, third].join(" ");
  }

  /** What was typed, as numbers. Throws an Error with one line. */
  function checked({ mean, paper, half, paperHalf, tasks, shots, trainings, dataset }, facts) {
    const accuracy = (name, text) => {
      const x = text === "" ? NaN : Number(text.replace(",", "."));
      if (x > 0 && x <= 1) throw new Error(`${name} is ${text}: percent is needed, not a share.`);
      if (!(x > 1 && x < 100)) throw new Error(`${name} is ${text || "empty"}: a number between 1 and 100, in percent, is needed.`);
      return x;
    };
    const halfWidth = (name, text) => {
      if (text === "") return null;
      const x = Number(text.replace(",", "."));
      if (!(x > 0 && x < 100)) throw new Error(`${name} is ${text}: a number over 0, in points, or nothing is needed.`);
      return x;
    };
    const whole = (name, text, least, most) => {
      const x = /^\d+$/.test(text) ? Number(text) : NaN;
      if (!(x >= least && x <= most)) throw new Error(`${name} is ${text || "empty"}: a whole number from ${least} to ${number(most)} is needed.`);
      return x;
    };
    const figure = {
      mean: accuracy("Your mean", mean), half: halfWidth("Your ±", half),
      tasks: whole("The number of tasks", tasks, 2, MOST_TASKS), shots: whole("The number of shots", shots, 1, MOST_SHOTS), dataset,
    };
    const other = { mean: accuracy("The paper's mean", paper), half: halfWidth("The paper's ±", paperHalf) };
    const possible = (name, of) => {
      const largest = normal(facts.level) * Math.sqrt(of.mean * (100 - of.mean) / (figure.tasks - 1));
      if (of.half === null || of.half <= largest) return;
      const deviation = normal(facts.level) * of.half / Math.sqrt(figure.tasks);
      throw new Error(`${name} is ${number(of.half, 2)}: as an interval over ${number(figure.tasks)} tasks it is at most ${number(largest, 1)}`
        + (deviation <= largest ? `; for a standard deviation, type ${number(deviation, 2)}.` : "."));
    };
    possible("Your ±", figure);
    possible("The paper's ±", other);
    const others = trainings.split(/[;\s]+/).filter(text => text).map(text => accuracy("A mean of a training", text));
    if (others.length >= MOST_TRAININGS) throw new Error(`There are ${number(others.length)} other trainings: fewer than ${number(MOST_TRAININGS)} are needed.`);
    return { figure, paper: other, trainings: others };
  }

  labs.compute.reproduction = { ofTasks, percentiles, splitWidths, trainingWidths, sentenceToPrint, reading, checked };

  labs.register("reproduction", root => {
    const facts = JSON.parse(document.getElementById("fsl-reproduction-data").textContent);
    const change = labs.calm(update), says = labs.sentence(), ladder = el("div", {}), note = el("p", { class: "fsl-note" }), print = el("p", { class: "fsl-print" });
    const typed = (label, value, more) => labs.field(label, { value, change, inputmode: "decimal", size: 8, ...more });
    const mean = typed("Your mean, in %", "48.1"), half = typed("Your ± (may be empty)", "0.8");
    const paper = typed("The paper's mean, in %", "49.4"), paperHalf = typed("Its ± (may be empty)", "0.8");
    const tasks = typed("Tasks", "600", { inputmode: "numeric" }), shots = typed("Shots", "1", { inputmode: "numeric" });
    const names = [...Object.keys(facts.splits), OTHER];
    const dataset = labs.select("Data set", { options: Object.fromEntries(names.map(name => [name, name])), value: names[0], change: update });
    const trainings = labs.field("Means of your other trainings (blanks between; may be empty)", { change, size: 20 });
    trainings.node.classList.add("fsl-wide");

    function update() {
      try {
        const fields = { mean, paper, half, paperHalf, tasks, shots, trainings, dataset };
        const of = checked(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value()])), facts);
        tell(of, of.figure.mean - of.paper.mean);
      } catch (error) {
        says.say(error.message, true);
        ladder.replaceChildren();
        note.textContent = print.textContent = "";
      }
    }

    function tell({ figure, paper: other, trainings: others }, gap) {
      const own = splitWidths(figure, facts).tasks;
      const theirs = other.half === null ? splitWidths({ ...figure, mean: other.mean, half: null }, facts).tasks : other.half;
      const found = percentiles(gap, facts), share = ofTasks(gap, own, theirs, facts.level), distance = number(Math.abs(gap), 2);
      const side = number(gap, 2) === "0.00" ? "the same as the paper" : `${distance} points ${gap < 0 ? "below" : "above"} the paper`;
      const target = found.find(({ name }) => name === facts.target);
      says.say(`${number(figure.mean, 2)} is ${side}. Other tasks alone would give this or more in ${chance(share)} of cases`
        + (target.pairs ? `; of ${number(target.pairs)} reproductions beside the paper's number, ${labs.words(target.farther)} differed as much or more on this side.` : "."));
      const rows = found.filter(({ pairs }) => pairs).map(row => {
        const { groups: unit, is_directed: isDirected } = facts.kinds.find(({ name }) => name === row.name);
        return [row.name, chance(row.percentile), chance(row.withYours),
          `${row.farther} of ${row.pairs}${isDirected ? "" : " either way"}, in ${row.groupsFarther} of ${row.groups} ${unit}`];
      });
      ladder.replaceChildren(labs.table(`What differs, and how often it moves a mean by ${distance} points or more to this side`,
        ["what differs", "share", "with yours", "pairs"], [["other tasks, same network", chance(share), "", "computed from both ±"], ...rows]));
      note.textContent = [["Your ±", figure], ["The paper's ±", { ...other, tasks: figure.tasks }]].map(([name, of]) => doubt(name, of)).join(" ").trim();
      print.textContent = sentenceToPrint(figure, others, facts);
    }

    /** A sentence where a ± has the size of something else than an interval, otherwise nothing. */
    function doubt(name, of) {
      if (of.half === null) return "";
      const { meaning, interval } = reading(of, facts);
      return meaning === "interval" ? "" : `${name} has the size of a ${meaning} over ${number(of.tasks)} tasks; if it is one, the interval is ± ${number(interval, 2)}.`;
    }

    const chance = percent => (percent > 0 && percent < 1 ? "under 1 %" : `${number(percent)} %`);

    root.append(
      el("p", { class: "fsl-title" }, "Below the paper? And what to print?"),
      labs.controls("", mean, half, paper, paperHalf, tasks, shots, dataset, trainings), says.node, note, ladder,
      el("p", { class: "fsl-legend" }, "Tasks are 5-way with 15 queries per class, and ± are 95 % intervals; an empty one is replaced by the usual one for this number of tasks. Where neither of two numbers is the original, half of the differences count on each side. "
        + "The column \"with yours\" gives each laboratory (or method) the same weight and counts yours as one more, so that a few laboratories cannot make it small."),
      el("p", { class: "fsl-title" }, "To print"), print,
    );
    return update;
  });
})();
