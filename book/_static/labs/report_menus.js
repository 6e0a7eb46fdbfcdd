// A menu of roles for each column of a table: roles named by a word are filled in, likely ones are proposed for a user to confirm, and a menu that is
// changed is the user's word. The menus say what the options of the command say.
(function () {
  "use strict";
  const labs = window.fslLabs, report = labs.compute.report, { el } = labs, { DECLARED, BRACKETS, PLUS_MINUS, textOf, distinctOf, knownRoles } = report;

  const MOST_COLUMNS = 60, MOST_VALUES = 12, SHOWN = 3;
  const UNIT_TEXTS = { task: "task or episode", item: "item: a question or an image", class: "class", seed: "random seed", run: "training run", draw: "draw of tasks",
    fold: "fold of a cross-validation", dataset: "data set", support: "support set: examples or a prompt" };
  const SETTING_TEXTS = { ways: "number of ways", shots: "number of shots", queries: "number of queries", sampling: "kind of sampling", group: "group of units that belong together" };
  const SPREAD_TEXTS = { ci: "half of a confidence interval", se: "standard error", sd: "standard deviation" };
  const SINGLE = ["method", "value", "group", "n", "low", "high", "of"];

  // ---------------------------------------------------------------- roles as entries of menus

  /** The entry of a column's menu that these options give it; '' where it has no role. */
  function entryOf(column, roles, options) {
    const chosen = options.where.find(condition => condition.startsWith(`${column}=`));
    if (chosen !== undefined) return `where:${chosen.slice(column.length + 1)}`;
    if (roles.wide.has(column)) {
      const word = [...options.columns].find(([, names]) => names.includes(column))?.[0];
      return word ? `columns:${word}` : options.methods.includes(column) ? "methods" : "header";
    }
    if (roles.keys.has(column)) return roles.keys.get(column) === "group" ? "group" : `unit:${roles.keys.get(column)}`;
    if (roles.blocks.includes(column)) return "by";
    if (roles.spread && roles.spread[1] === column) return `pm:${roles.spread[0]}`;
    if (roles.count === column) return "n";
    for (const role of ["method", "value", "low", "high", "of"]) if (roles[role] === column) return role;
    return roles.ignored.has(column) ? "ignore" : "";
  }

  /** Options in which a column has no role of a user's. */
  function without(options, column, table) {
    const kept = { ...options, unit: new Map([...options.unit].filter(([name]) => name !== column)) };
    for (const name of SINGLE) if (kept[name] === column) kept[name] = null;
    for (const name of ["methods", "by", "ignore"]) kept[name] = options[name].filter(other => other !== column);
    if (column.endsWith(BRACKETS) && options.ignore.includes("()")) {
      kept.ignore = [...kept.ignore.filter(name => name !== "()"), ...table.names.filter(name => name.endsWith(BRACKETS) && name !== column)];
    }
    kept.where = options.where.filter(condition => !condition.startsWith(`${column}=`));
    kept.columns = new Map([...options.columns].map(([word, names]) => [word, names.filter(name => name !== column)]).filter(([, names]) => names.length));
    if (options.pm && options.pm.endsWith(`=${column}`)) kept.pm = null;
    return kept;
  }

  /** Options in which a column has the role of an entry; a role that its word names already needs none. */
  function withEntry(options, column, entry, table) {
    const kept = without(options, column, table);
    if (entry === "" || entry === entryOf(column, knownRoles(table, kept), kept)) return kept;
    const [kind, ...parts] = entry.split(":"), word = parts.join(":");
    if (SINGLE.includes(kind)) return { ...kept, [kind]: column };
    if (kind === "unit") return { ...kept, unit: new Map([...kept.unit, [column, word]]) };
    if (kind === "columns") return { ...kept, columns: new Map([...kept.columns, [word, [...(kept.columns.get(word) || []), column]]]) };
    if (kind === "pm") return { ...kept, pm: `${word}=${column}` };
    if (kind === "where") return { ...kept, where: [...kept.where, `${column}=${word}`] };
    return kind === "header" ? kept : { ...kept, [kind]: [...kept[kind], column] };
  }

  /** The entries of a column's menu by their groups: {group: {entry: text}}. */
  function entriesFor(column, table, current) {
    const isNumeric = table.numeric.has(column), values = distinctOf(table.values.get(column));
    const ofUnits = Object.fromEntries(DECLARED.UNITS.map(word => [`unit:${word}`, UNIT_TEXTS[word]]));
    const groups = { "": { ...(current === "" ? { "": "choose a role" } : {}), method: "method", ignore: "none: leave it out" } };
    if (isNumeric) groups["It holds values"] = { value: "values", methods: "values of one method", "columns:dataset": "values of one data set",
      "columns:seed": "values of one seed", "columns:task": "values of one task", ...(current === "header" ? { header: "as its name says" } : {}) };
    groups["It numbers or names a"] = ofUnits;
    groups["It divides the rows"] = { by: "block: compare within", group: SETTING_TEXTS.group };
    const [kind, word] = current.split(":");
    if (kind === "unit" && word in SETTING_TEXTS) groups["It divides the rows"][current] = SETTING_TEXTS[word];
    if (values.length <= MOST_VALUES) groups["Use only rows with"] = Object.fromEntries(values.map(textOf).map(text => [`where:${text}`, text || "an empty cell"]));
    if (isNumeric) groups["It describes a mean"] = { ...Object.fromEntries(Object.entries(SPREAD_TEXTS).map(([kindOf, text]) => [`pm:${kindOf}`, text])),
      n: "number of values behind the mean", low: "lower end of its interval", high: "upper end of its interval", of: "total of which the values are counts" };
    return groups;
  }

  /** '12 values: a, b, c, …' */
  function shownValues(column, table) {
    const values = distinctOf(table.values.get(column)).map(textOf), more = values.length > SHOWN ? ", …" : "";
    return `${labs.number(values.length)} value${values.length === 1 ? "" : "s"}: ${values.slice(0, SHOWN).map(text => labs.shortened(text, 24) || "empty").join(", ")}${more}`;
  }

  // ---------------------------------------------------------------- menus

  /** A menu {node, input} with a note below it; `mark` says that its entry is proposed. */
  function menu(label, { groups, value, note, isProposed, change }) {
    const option = ([entry, text]) => el("option", { value: entry }, text);
    const made = Object.entries(groups).filter(([, entries]) => Object.keys(entries).length)
      .map(([name, entries]) => (name ? el("optgroup", { label: name }, Object.entries(entries).map(option)) : Object.entries(entries).map(option)));
    const id = labs.unique("note"), input = el("select", { "aria-describedby": id, onchange: () => change(input.value) }, ...made);
    input.value = value;
    const mark = isProposed ? el("strong", { class: "fsl-proposed" }, value === "" ? "no role yet" : "proposed, to be confirmed") : null;
    const below = el("span", { class: "fsl-kind", id }, mark, mark && note ? "; " : "", note || "");
    const control = labs.labelled(input, label, below);
    if (isProposed) control.classList.add("fsl-open");
    return { node: control, input };
  }

  /** What is asked of the table as a whole: entries by option. */
  function questions(table, roles, options) {
    const words = roles.words(), hasUnit = DECLARED.UNITS.some(word => words.has(word)), isSeeded = words.has("seed") && ["task", "item", "class"].some(word => words.has(word));
    const asked = [];
    if (!hasUnit || options.rows !== null) {
      asked.push(["rows", "What is a row? Row k is the same for all methods", { "": "not said", ...UNIT_TEXTS }, options.rows ?? ""]);
    }
    if (isSeeded || options.seed !== "unknown") {
      asked.push(["seed", "What does a seed number?", { unknown: "not said", runs: "trainings", tasks: "draws of tasks" }, options.seed]);
    }
    if (roles.spread && roles.spread[1] === "") asked.push(["pm", "What is ±?", { "": "not said", ...SPREAD_TEXTS }, options.pm ?? ""]);
    const better = options.lower_is_better ? "lower" : options.higher_is_better ? "higher" : "";
    asked.push(["better", "Which values are better?", { "": "as names say, else higher", higher: "higher", lower: "lower: a loss, an error, a time" }, better]);
    const scale = options.out_of === null ? "" : ["1", "100"].includes(String(options.out_of)) ? String(options.out_of) : "n";
    asked.push(["scale", "Scale of accuracies", { "": "shares up to 1, else percent", 1: "shares, 0 to 1", 100: "percent, 0 to 100", n: "right answers out of …" }, scale]);
    return asked;
  }

  /** Options after a question is answered. */
  function answered(options, name, value) {
    if (name === "better") return { ...options, lower_is_better: value === "lower", higher_is_better: value === "higher" };
    if (name === "scale") return { ...options, out_of: value === "" ? null : value === "n" ? 10 : Number(value) };
    return { ...options, [name]: value === "" ? null : value };
  }

  /** A field for a whole number that an option needs. */
  function numberField(label, value, change) {
    const field = labs.field(label, { value: String(value ?? ""), inputmode: "numeric", size: 6 });
    field.input.addEventListener("change", () => {
      if (/^[1-9]\d*$/.test(field.value())) change(Number(field.value()));
    });
    return field;
  }

  /**
   * The menus of a table as a fieldset. `options` are the user's, `proposed` those with proposals (the same where all is named); `change` gets
   * the options after a menu is changed.
   */
  function menus(table, { options, proposed, change }) {
    const roles = knownRoles(table, proposed), named = knownRoles(table, options);
    const columns = table.names.filter(column => !(column.endsWith(PLUS_MINUS) && roles.ignored.get(column) === "±")).slice(0, MOST_COLUMNS);
    const made = columns.map(column => {
      const value = entryOf(column, roles, proposed), isProposed = value === "" || value !== entryOf(column, named, options);
      const why = roles.ignored.get(column), note = `${shownValues(column, table)}${value === "ignore" && why !== "ignored" ? `; ${why}` : ""}`;
      return menu(column, { groups: entriesFor(column, table, value), value, note, isProposed,
        change: entry => change(withEntry(options, column, entry, table), column) });
    });
    const before = new Map(questions(table, named, options).map(([name,,, value]) => [name, value]));
    const general = questions(table, roles, proposed).flatMap(([name, label, entries, value]) => {
      const isProposed = value !== (before.get(name) ?? "") && value !== "unknown";
      const node = menu(label, { groups: { "": entries }, value, isProposed, change: entry => change(answered(options, name, entry), label) });
      if (name === "scale" && value === "n") return [node, numberField("Full score", proposed.out_of, number => change({ ...options, out_of: number }, label))];
      if (name === "pm" && value === "sd") return [node, numberField("Values behind each mean", proposed.n, number => change({ ...options, n: String(number) }, label))];
      return [node];
    });
    const rest = table.names.length > MOST_COLUMNS ? [el("p", {}, `${table.names.length - MOST_COLUMNS} more columns have no menu here; the command names them.`)] : [];
    return el("div", {}, labs.controls("Role of each column", ...made), ...rest, labs.controls("Rows and values", ...general));
  }

  Object.assign(report, { menus, entryOf, withEntry });
})();
