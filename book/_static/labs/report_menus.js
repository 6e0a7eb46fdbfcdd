// A menu of roles for each column of a table, filled in where a word names the role, and else for the user to choose: the options of the command.
(function () {
  "use strict";
  const labs = window.fslLabs, report = labs.compute.report, { el } = labs, { DECLARED, PLUS_MINUS, textOf, distinctOf, rolesOf, withRole, sets, plainName } = report;

  const MOST_COLUMNS = 60, MOST_VALUES = 12, SHOWN = 3;
  const UNIT_TEXTS = { task: "task or episode", item: "item: a question or an image", class: "class", seed: "random seed", run: "training run", draw: "draw of tasks",
    fold: "fold of a cross-validation", dataset: "data set", support: "support set: examples or a prompt" };
  const SETTING_TEXTS = { "unit:ways": "number of ways", "unit:shots": "number of shots", "unit:queries": "number of queries", "unit:sampling": "kind of sampling" };
  const ADVICE = { STEPS: "steps of a training are no independent sample", TRIALS: "trials of a search are no sample, and the best of them is too high" };

  /** The entries of a column's menu by their groups: {group: {role: text}}. */
  function entriesFor(column, table, current) {
    const isNumeric = table.numeric.has(column), values = distinctOf(table.values.get(column)).map(textOf), named = { "": "choose a role", header: "as its name says",
      spread: "spread of means, which the command compares" };
    const values_ = { value: "values", methods: "values of one method", "columns:dataset": "values of one data set", "columns:seed": "values of one seed", "columns:task": "values of one task" };
    return {
      "": { ...(current in named ? { [current]: named[current] } : {}), method: "method", ignore: "none: leave it out" },
      "It holds values": isNumeric ? { ...values_, of: "total of which the values are counts" } : {},
      "It numbers or names a": Object.fromEntries(DECLARED.UNITS.map(word => [`unit:${word}`, UNIT_TEXTS[word]])),
      "It divides the rows": { by: "block: compare within", group: "group of units that belong together", ...(current in SETTING_TEXTS ? { [current]: SETTING_TEXTS[current] } : {}) },
      "Use only rows with": values.length <= MOST_VALUES ? Object.fromEntries(values.map(text => [`where:${text}`, text || "an empty cell"])) : {},
    };
  }

  /** '12 values: a, b, c, …', and why a column is left out or is no sample. */
  function noteOn(column, table, why) {
    const values = distinctOf(table.values.get(column)).map(textOf), shown = values.slice(0, SHOWN).map(text => labs.shortened(text, 24) || "empty").join(", ");
    const advice = Object.keys(ADVICE).filter(name => sets[name].has(plainName(column))).map(name => ADVICE[name]);
    return [`${labs.number(values.length)} value${values.length === 1 ? "" : "s"}: ${shown}${values.length > SHOWN ? ", …" : ""}`, why, ...advice].filter(Boolean).join("; ");
  }

  /** A menu with a note below it. */
  function menu(label, { groups, value, note = "", isOpen, change }) {
    const option = ([entry, text]) => el("option", { value: entry }, text);
    const made = Object.entries(groups).filter(([, entries]) => Object.keys(entries).length)
      .map(([name, entries]) => (name ? el("optgroup", { label: name }, Object.entries(entries).map(option)) : Object.entries(entries).map(option)));
    const id = labs.unique("note"), input = el("select", { "aria-describedby": id, onchange: () => change(input.value) }, ...made);
    input.value = value;
    const mark = isOpen ? el("strong", {}, `no role yet${note && "; "}`) : null, control = labs.labelled(input, label, el("span", { class: "fsl-kind", id }, mark, note));
    if (isOpen) control.classList.add("fsl-open");
    return control;
  }

  /** Menus of what is asked of the table as a whole. */
  function questions({ words }, choices, change) {
    const ask = (name, label, entries, usual, value = choices[name]) =>
      menu(label, { groups: { "": entries }, value: value ?? usual, change: entry => change({ ...choices, [name]: entry === usual && name !== "seed" ? null : entry }, label) });
    const asked = [], isSeeded = words.has("seed") && ["task", "item", "class"].some(word => words.has(word));
    if (!DECLARED.UNITS.some(word => words.has(word)) || choices.rows !== null) {
      asked.push(ask("rows", "What is a row? Row k is the same for all methods", { "": "not said", ...UNIT_TEXTS }, ""));
    }
    if (isSeeded) asked.push(ask("seed", "What does a seed number?", { unknown: "not said", runs: "trainings", tasks: "draws of tasks" }, "unknown"));
    asked.push(ask("better", "Which values are better?", { "": "as names say, else higher", higher: "higher", lower: "lower: a loss, an error, a time" }, ""));
    const scales = { "": "shares up to 1, else percent", 1: "shares, 0 to 1", 100: "percent, 0 to 100", 10: "right answers out of …" }, full = choices.out_of;
    asked.push(ask("out_of", "Scale of accuracies", scales, "", full !== null && !(full in scales) ? "10" : full));
    if (full !== null && !["1", "100"].includes(full)) {
      const field = labs.field("Full score", { value: full, inputmode: "numeric", size: 6 });
      field.input.addEventListener("change", () => /^[1-9]\d*$/.test(field.value()) && change({ ...choices, out_of: field.value() }, "Full score"));
      asked.push(field);
    }
    return asked;
  }

  /** A button that gives a role of several columns to the others that have none. */
  function forOthers(column, table, choices, change) {
    const role = choices.roles.get(column) ?? "", roles = rolesOf(table, choices);
    const isAlike = name => !report.meets(report.wordsOf(name), new Set([...sets.OTHER_MEASURES, ...sets.STEPS]));
    const others = /^(methods|columns:.*)$/.test(role) ? report.openNumbers(table, roles).filter(isAlike) : role === "ignore" ? roles.columns("") : [];
    if (!others.length) return [];
    const shown = others.slice(0, 4).join(", ") + (others.length > 4 ? `, … (${others.length})` : "");
    return [labs.button(`The same for ${shown}`, () => change(others.reduce((next, other) => withRole(table, next, other, role), choices), column))];
  }

  /** The menus of a table; `change` gets the choices after one is changed, and its label. `changed` is the label of the last. */
  function menus(table, choices, { change, changed }) {
    const roles = rolesOf(table, choices), columns = table.names.filter(name => !(name.endsWith(PLUS_MINUS) && roles.get(name) === "spread"));
    const made = columns.slice(0, MOST_COLUMNS).map(column => {
      const chosen = choices.roles.get(column) ?? "", value = chosen.startsWith("where:") ? chosen : roles.get(column);
      return menu(column, { groups: entriesFor(column, table, value), value, note: noteOn(column, table, chosen ? "" : roles.why.get(column)), isOpen: value === "",
        change: role => change(withRole(table, choices, column, role), column) });
    });
    const more = columns.length - MOST_COLUMNS, rest = more > 0 ? [el("p", {}, `${more} more columns have no menu here; the command names them.`)] : [];
    return el("div", {}, labs.controls("Role of each column", ...made), ...forOthers(changed, table, choices, change), ...rest, labs.controls("Rows and values", ...questions(roles, choices, change)));
  }

  Object.assign(report, { menus, entriesFor });
})();
