// How many tasks? From the standard deviation of per-task differences: `fslcore.stats.plan_sample_size` of closed and open tasks.
// A file of accuracies is read by report_rows.js. What a standard deviation of tasks cannot tell is said, not guessed.
(function () {
  "use strict";
  const L = window.fslLabs, { el } = L;
  const USUAL = 4000; // closed tasks where no difference is named

  /** Differences of two methods, in points, on the tasks that both have; a method maps tasks to accuracies. */
  const differencesOf = (first, second) => [...first.keys()].filter(task => second.has(task)).map(task => first.get(task) - second.get(task));

  /** Open tasks that a test set has images for, if they take all classes equally often. */
  const openTasks = ({ classes, perClass, ways, shots, queries }) =>
    Math.floor(classes * Math.floor(perClass / (shots + queries)) / ways);

  /**
   * What follows from ``deviation`` (points, of ``pilot`` tasks, null: exact). Without a ``difference``: {half}, of
   * USUAL closed tasks. Else {tasks: {size, low, high}, images, inEach}, of as many open tasks; the last two are null
   * where ways, shots and queries, or the classes, are.
   */
  function answer({ deviation, pilot, difference, power, level, ways, shots, queries, classes }) {
    if (difference === null) return { half: L.quantile((1 + level) / 2) * deviation / Math.sqrt(USUAL) };
    const df = pilot === null ? Infinity : pilot - 1;
    const tasks = L.size({ total: deviation ** 2, df, least: 2, ofStudy: t => t - 1, difference, power, level });
    const images = ways === null || tasks.size === null ? null : tasks.size * ways * (shots + queries);
    const inEach = images === null || classes === null ? null : Math.ceil(tasks.size * ways / classes) * (shots + queries);
    return { tasks, images, inEach };
  }

  /** A number that was typed, null if nothing was; an error in a line names what is allowed. */
  function amount(text, name, low, high, whole = false) {
    if (text === "") return null;
    const x = Number(text.replace(",", "."));
    const fine = (whole ? /^\d+$/ : /^(\d+[.,]?\d*|[.,]\d+)$/).test(text) && x >= low && x <= high;
    if (!fine) {
      const kind = whole ? "a whole number, in digits alone," : "a number";
      throw new Error(`${name} = ${text}; ${kind} from ${low} to ${high} is allowed.`);
    }
    return x;
  }

  /** The inputs of `answer`, from texts; ``exact`` is a file's standard deviation, not rounded as it is shown. */
  function checked(texts, exact = null) {
    const whole = (key, name, low, high = 1e6) => amount(texts[key], name, low, high, true);
    const given = {
      deviation: exact === null ? amount(texts.deviation, "Standard deviation", 0.01, 142) : exact,
      pilot: whole("pilot", "Tasks behind it", 2, 1e9),
      difference: amount(texts.difference, "Difference", 0.01, 100),
      power: amount(texts.power, "Power", 1, 99.9) / 100,
      level: amount(texts.level, "Level", 50, 99.99) / 100,
      classes: whole("classes", "Classes", 2), perClass: whole("perClass", "Images per class", 1),
      ways: whole("ways", "Ways", 2), shots: whole("shots", "Shots", 1), queries: whole("queries", "Queries", 1),
    };
    if (given.deviation === null) throw new Error("The standard deviation is missing; type it, or drop a file of per-task accuracies.");
    for (const [key, name] of [["power", "Power"], ["level", "Level"]]) if (texts[key] === "") throw new Error(`${name} is missing; the usual one is ${key === "power" ? 80 : 95} %.`);
    if (!(given.power > 1 - given.level)) throw new Error(`Power = ${texts.power}; more than 100 % minus the level, ${percent(1 - given.level)}, is allowed.`);
    const shape = [given.ways, given.shots, given.queries].filter(x => x !== null).length;
    if (shape % 3) throw new Error("Fill in ways, shots and queries, or none of the three.");
    if (given.classes !== null && given.ways > given.classes) throw new Error(`Classes = ${given.classes}; at least as many as ways, ${given.ways}, are allowed.`);
    return given;
  }

  const many = (n, what) => `${L.number(n)} ${what}${n === 1 ? "" : "s"}`;
  const points = x => `${Number(x.toPrecision(4))} point${x === 1 ? "" : "s"}`;
  const percent = x => `${Number((100 * x).toPrecision(4))} %`;
  const RECORD = "Record which images each task used, in a pilot on the same tasks for both methods; stats.plan_sample_size then gives the number "
    + "from the three intervals of the difference (chapter Planning).";

  /** The answer in words: {text, notes: [[target, sentences], …]}. */
  function told(given) {
    const { tasks, half, images, inEach } = answer(given), { pilot, ways, shots, queries, classes, perClass } = given;
    const open = [], now = ways !== null && classes !== null && perClass !== null ? openTasks(given) : null;
    let text = `Without a difference to find, a few thousand closed tasks usually suffice for these images: with ${L.number(USUAL)} of them, `
      + `the closed ± of the difference is ${L.number(half, 2)} points (level ${percent(given.level)}).`;
    let closed = "Closed tasks may reuse images. Enter the difference worth finding to get a number of tasks.";
    const has = now === null ? "" : ` Your ${many(perClass, "image")} per class allow ${many(now, "open task")}`;
    if (tasks && tasks.size === null) throw new Error("More tasks would be needed than can be counted; take a larger difference.");
    if (tasks) {
      text = `Finding a difference of ${points(given.difference)} with ${percent(given.power)} power (level ${percent(given.level)}) takes `
        + `${L.number(tasks.size)} closed tasks for these images, or at least ${L.number(tasks.size)} open tasks for new images of these classes. `
        + "The number of classes for a claim about new classes does not follow from a standard deviation.";
      closed = `${L.number(tasks.size)} closed tasks, which may reuse images. ` + (pilot === null
        ? "The standard deviation is taken as exact; enter the number of tasks behind it to allow for its own error."
        : `A standard deviation from ${many(pilot, "task")} leaves open ${L.number(tasks.low)} to ${L.number(tasks.high)}.`);
      open.push(images === null
        ? `${L.number(tasks.size)} open tasks, which use each image at most once. Enter ways, shots and queries to get the number of images.`
        : `${L.number(tasks.size)} open tasks, which use each image at most once: ${L.number(tasks.size)} × ${ways} × (${shots} + ${queries}) = `
          + `${L.number(images)} images${inEach === null ? "" : `, or ${L.number(inEach)} in each of ${L.number(classes)} classes`}.`);
      if (has) open.push(`${has.trim()}: ${now >= tasks.size ? "enough" : "too few"}.`);
      open.push("A standard deviation of closed tasks leaves out what they all share: if it comes from few images, more open tasks are needed.");
    } else {
      open.push(has ? `${has.trim()}.` : "Open tasks use each image at most once.", "How many are needed depends on the difference.");
    }
    open.push(`How many images closed tasks need does not follow from this standard deviation. ${RECORD}`);
    return { text, notes: [
      ["These images", `${closed} The result applies to these images only.`],
      ["New images of these classes", open.join(" ")],
      ["New classes", `Their number does not follow from a standard deviation over tasks, which cannot be split into the parts of tasks, images and classes. The same pilot and stats.plan_sample_size give it.`],
    ] };
  }

  L.compute.tasks = { USUAL, answer, checked, openTasks, told };

  // ---------------------------------------------------------------- the page

  L.register("tasks", root => {
    const change = L.calm(update), says = L.sentence(), notes = el("ul", { class: "fsl-notes" });
    const typed = (label, value = "") => L.field(label, { value, change, inputmode: "decimal", size: 8 });
    const fields = {
      deviation: typed("Standard deviation of the differences, in points", "8"), pilot: typed("Tasks behind it (empty: taken as exact)"),
      difference: typed("Difference worth finding, in points", "1"), power: typed("Power, in %", "80"), level: typed("Level, in %", "95"),
      classes: typed("Classes"), perClass: typed("Images per class"), ways: typed("Ways"), shots: typed("Shots"), queries: typed("Queries per class"),
    };
    const choice = el("div", { hidden: true });
    let kept = null; // of a file: the standard deviation, and the text that shows it

    function write(text, more = [], wrong = false) {
      says.say(text, wrong);
      notes.replaceChildren(...more.map(([target, said]) => el("li", {}, el("strong", {}, `${target}: `), said)));
    }

    function update() {
      const texts = Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.value()]));
      try {
        const { text, notes: found } = told(checked(texts, kept && kept.text === texts.deviation ? kept.value : null));
        write(text, found);
      } catch (error) {
        write(error.message, [], true);
      }
    }

    /** Accuracies by method and task, of a file with tasks in one place. */
    function methodsOf(file) {
      const { Refusal, SETTINGS, read, distinct, gridOf } = L.compute.report, { shape, rows, percent } = read(file);
      if (!percent || shape !== "tasks" || !("task" in rows[0])) throw new Refusal(`${file.name} holds ${percent ? shape : "values of another measure"}; accuracies per task are needed.`);
      const several = SETTINGS.find(key => distinct(rows, key).length > 1);
      if (several) throw new Refusal(`${file.name} has ${distinct(rows, several).length} values of ${several}; one is needed.`);
      return gridOf(rows, "task");
    }

    function take(file) {
      const { name } = file;
      let methods;
      choice.hidden = true;
      try {
        methods = [...methodsOf(file)];
      } catch (error) {
        const isUnnamed = error instanceof L.compute.report.Unassigned;
        const known = isUnnamed ? ". This form knows columns by their names, such as method, task and accuracy; that of Your results asks what others are." : "";
        return write(`${error.message}${known}`, [], true);
      }
      if (methods.length < 2) return write(`${name} has one method; two are needed for a difference.`, [], true);
      const options = Object.fromEntries(methods.map(([method], i) => [i, method]));
      const pair = [0, 1].map(value => L.select(value ? "minus" : `Difference in ${name}`, { options, value, change: use }));
      function use() {
        const [[a, first], [b, second]] = pair.map(select => methods[select.value()]), differences = differencesOf(first, second);
        if (differences.length < 2) return write(`${a} and ${b} share ${many(differences.length, "task")}; 2 or more are needed.`, [], true);
        const value = L.moments(differences)[1];
        if (!(value >= 1e-6)) return write(`${a} − ${b} is the same on every task; two methods whose difference varies are needed.`, [], true);
        kept = { value, text: String(Number(value.toPrecision(5))) };
        fields.deviation.set(kept.text);
        fields.pilot.set(differences.length);
        update();
      }
      choice.replaceChildren(L.controls("", ...pair));
      choice.hidden = false;
      use();
    }

    async function open(files) {
      if (files.length > 1) write(`${files.length} files were given; this form reads one.`, [], true);
      else if (files.length) take({ name: files[0].name, bytes: new Uint8Array(await files[0].arrayBuffer()) });
    }

    const { deviation, pilot, difference, power, level, ...set } = fields;
    root.append(
      el("p", { class: "fsl-title" }, "How many tasks?"),
      L.controls("Two methods on the same tasks", deviation, pilot),
      L.dropZone("Or drop a file of per-task accuracies (.csv, .tsv, .txt); it stays in your browser", open), choice,
      L.controls("What you want to find", difference, power, level),
      L.controls("Your test set and tasks, if you want to know the images", ...Object.values(set)),
      says.node, notes,
    );
    return update;
  });
})();
