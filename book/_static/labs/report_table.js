// A text as a table: its coding, its separator and its cells, which Papa Parse splits, and columns of numbers or of text as
// fslcore/report/{text,tables}.py read them. What a column means is decided in report_roles.js.
(function () {
  "use strict";
  const report = window.fslLabs.compute.report, { DECLARED } = report;

  const MOST_BYTES = 2e7, SAMPLE = 60; // lines by which the separator is chosen
  const ENDINGS = [".csv", ".tsv", ".txt", ".dat", ".md"];
  const SEPARATORS = { tab: "\t", semicolon: ";", comma: ",", bar: "|", blanks: "\t" }; // in the order in which they are tried
  const PLAIN_NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const EMPTY_CELLS = new Set(DECLARED.EMPTY_CELLS);
  const fully = (pattern, flags = "") => new RegExp(`^(?:${pattern})$`, flags);
  const CELL = fully(DECLARED.CELL), THOUSANDS = new RegExp(DECLARED.THOUSANDS, "g"), LINK = new RegExp(DECLARED.LINK, "g"), MARKUP = new RegExp(DECLARED.MARKUP, "g"), SIGN = new RegExp(`\\s*(${DECLARED.PLUS_MINUS})\\s*`, "g");

  /** What has no true reading here; `options` are those that the command needs to read it. */
  class Refusal extends Error {
    constructor(message, options = []) {
      super(message);
      this.options = options;
    }
  }

  // ---------------------------------------------------------------- cells

  const withoutMarkup = text => text.replace(MARKUP, (whole, ...groups) => groups.find(group => typeof group === "string") ?? "").trim();
  const numberIn = text => CELL.exec(withoutMarkup(text.replace(LINK, (whole, shown) => shown ?? "").replaceAll("−", "-")));
  const isValue = text => numberIn(text) !== null || (text.trim() !== "" && EMPTY_CELLS.has(text.trim().toLowerCase()));

  /** The text with each control character as its escape: those that change the direction of text included. */
  const visible = text => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, sign => {
    if (sign === "\u200c" || sign === "\u200d") return sign;
    const code = sign.codePointAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });

  /** The number of a cell, the one behind ± and the one in brackets, as texts; null for other text. Brackets are never ±. */
  function partsOfCell(text) {
    const word = text.trim().toLowerCase();
    if (EMPTY_CELLS.has(word)) return ["", "", ""];
    if (Object.hasOwn(DECLARED.TRUTH, word)) return [String(DECLARED.TRUTH[word]), "", ""];
    const found = numberIn(text);
    if (found === null) return null;
    const { half, rank, sign, inside } = found.groups, halfWidth = half || (sign ? inside : "") || "";
    return [found[1], halfWidth, (halfWidth ? rank : inside) || ""];
  }

  const toNumber = text => (PLAIN_NUMBER.test(text) ? Number(text) : NaN);

  /** Numbers of cells, by the sign behind which others stand: {"": …, "±": …, "()": …}, and notes; null where a cell is other text. */
  function numbersOf(texts, notes) {
    const commas = texts.filter(text => text.includes(","));
    if (commas.length && commas.every(text => !text.replace(THOUSANDS, "").includes(","))) {
      const isSure = texts.some(text => /\d\.\d|,\d{3},/.test(text)); // otherwise they may be decimal commas as well
      const columns = isSure ? numbersOf(texts.map(text => text.replaceAll(",", "")), notes) : null;
      if (columns !== null) notes.add("commas are read as those between thousands.");
      return columns;
    }
    const unusual = new Map();
    for (const text of texts) {
      if (PLAIN_NUMBER.test(text) || unusual.has(text)) continue;
      const parts = partsOfCell(text);
      if (parts === null) return null;
      unusual.set(text, parts);
    }
    const found = [...unusual.values()].map(([number]) => number);
    if (found.some(number => number.includes(","))) {
      if (found.some(number => number.includes("."))) return null;
      notes.add("commas are read as decimal commas.");
    }
    if ([...unusual.keys()].some(text => text.includes("%"))) notes.add("percent signs are left out.");
    if ([...unusual.keys()].some(text => Object.hasOwn(DECLARED.TRUTH, text.trim().toLowerCase()))) notes.add("true and false are read as 1 and 0.");
    const column = place => texts.map(text => (unusual.has(text) ? toNumber(unusual.get(text)[place].replace(",", ".")) : place ? NaN : Number(text)));
    const columns = { "": column(0), "±": column(1), "()": column(2) };
    return columns[""].some(number => !Number.isNaN(number)) ? columns : null;
  }

  // ---------------------------------------------------------------- lines and names

  /** The text of a file in UTF-8, UTF-16 or Windows-1252, and a note on what is unusual. */
  function decoded({ name, bytes }) {
    if (!ENDINGS.some(ending => name.toLowerCase().endsWith(ending))) throw new Refusal(`${name}: ${ENDINGS.join(", ")} are read on this page`);
    if (bytes.length > MOST_BYTES) throw new Refusal(`${name} has over 20 MB, and this page reads no more`);
    const mark = (bytes[0] === 0xff && bytes[1] === 0xfe && "utf-16le") || (bytes[0] === 0xfe && bytes[1] === 0xff && "utf-16be");
    try {
      if (mark) return [new TextDecoder(mark, { fatal: true }).decode(bytes), [`${name} is read as UTF-16.`]];
      if (bytes.subarray(0, 1000).includes(0)) throw new TypeError();
    } catch (error) {
      throw new Refusal(`${name} must be a table of text, got other bytes`);
    }
    try {
      return [new TextDecoder("utf-8", { fatal: true }).decode(bytes), []];
    } catch (error) {
      return [new TextDecoder("windows-1252").decode(bytes), [`${name} is read as Windows-1252.`]];
    }
  }

  const isComment = cells => /^(#|\/\/)/.test(cells[0].trim());

  /** Whether a line separates rows; dashes for missing values do not. */
  function isRule(cells, kind, rows) {
    const line = cells.join("|");
    if (kind === "comma" || kind === "semicolon" || !line.includes("-") || !/^[\s|:+-]+$/.test(line)) return false;
    if (kind === "one") return rows.length === 1 && !isValue(rows[0][0]) && /^-{3,}$/.test(line);
    return line.includes("---") || line.includes("+") || (kind === "bar" && rows.length === 1);
  }

  const isEmpty = cells => cells.every(cell => cell.trim() === "");

  /** The lines of a text as one kind of separator needs them. */
  function prepared(text, kind) {
    if (kind === "bar") return text.replace(/^[ \t]*\|?|\|?[ \t]*$/gm, "");
    if (kind === "blanks") return text.replace(/^.*$/gm, line => line.replace(SIGN, "$1").trim().split(/\s+/).join("\t"));
    return text;
  }

  /** The rows of cells, with their places: an empty line between rows has one too. Rules and comments are no rows. */
  function split(text, kind, preview = 0) {
    const options = { delimiter: kind === "one" ? "\u001f" : SEPARATORS[kind], preview, header: false, skipEmptyLines: false };
    const { data, errors } = window.Papa.parse(prepared(text, kind), options);
    const lines = data.map(cells => cells.map(cell => cell.trim()));
    const hasOther = lines.some(cells => !isEmpty(cells) && !isComment(cells));
    const rows = [], places = [], comments = [];
    let place = 0;
    for (const cells of lines) {
      if (cells.length === 1 && cells[0] === "") place += rows.length ? 1 : 0;
      else if (hasOther && isComment(cells)) comments.push({ cells, row: rows.length });
      else if (!isRule(cells, kind, rows)) {
        rows.push(cells);
        places.push(place++);
      }
    }
    return { rows, places, comments, errors: errors.filter(({ type }) => type === "Quotes") };
  }

  /** The kind of separator that splits the lines into equally many cells; 'one' for a cell per line, null for no table. */
  function separatorOf(text) {
    const widths = kind => split(text, kind, SAMPLE).rows.map(cells => cells.length);
    for (const kind of Object.keys(SEPARATORS)) {
      const [first, ...others] = widths(kind);
      if (first > 1 && others.every(width => width === first)) return kind;
    }
    const { rows } = split(text, "one", SAMPLE);
    if (rows.length > 1 && !/[\t;,]/.test(rows[0][0]) && rows.slice(1, 6).every(([cell]) => isValue(cell))) return "one";
    // One row may be damaged: then most lines still agree.
    return ["tab", "semicolon", "comma"].find(kind => {
      const found = widths(kind);
      return found[0] > 1 && found.filter(width => width === found[0]).length > found.length / 2;
    }) ?? null;
  }

  const entity = text => new DOMParser().parseFromString(text, "text/html").documentElement.textContent;

  /** The names of columns; each may stand once. */
  function checkedNames(cells, file) {
    const names = cells.map(cell => withoutMarkup(cell.replace(/&(#\d+|#x[\da-f]+|\w+);/gi, entity)));
    const repeated = names.find((name, i) => name && names.indexOf(name) < i);
    if (repeated !== undefined && !names[0]) {
      throw new Refusal(`${file} has several lines of names, as pandas writes them: df.columns = ["_".join(names) for names in df.columns] and `
        + "df.reset_index() before .to_csv make one line");
    }
    if (repeated !== undefined) throw new Refusal(`${file} has two columns ${repeated}; give one of them another name`);
    return names.map((name, i) => name || `column ${i + 1}`);
  }

  /** A row with another number of cells than the first, comments between rows, and quotes without an end. */
  function checkRows({ rows, comments, errors }, file) {
    const width = rows[0].length, uneven = rows.findIndex(cells => cells.length !== width);
    if (errors.length) throw new Refusal(`${file}: a quotation mark in row ${errors[0].row} has no end, or text stands behind it`);
    if (uneven >= 0) {
      throw new Refusal(`row ${uneven} of ${file} has ${rows[uneven].length} cells and its first line ${width}; write nan where a value is missing, `
        + "and quote cells that contain the separator");
    }
    const inside = comments.filter(({ row }) => row > 0 && row < rows.length);
    if (inside.length) {
      throw new Refusal(`${file}: ${inside.length} lines between its rows, such as ${inside[0].cells.join(" ")}, begin with a sign of a comment: remove them, `
        + "write nan where a value is missing, write in a column what they mean for the rows below, or write a method without that sign");
    }
  }

  /**
   * A file {name, bytes} as a table {name, stem, names, values, numeric, places, length, notes}: `values` maps names of columns to their cells,
   * numbers (NaN where none is) for those in `numeric`, else texts.
   */
  function tableOf(file) {
    const [text, notes] = decoded(file), { name } = file, kind = separatorOf(text);
    if (!text.trim()) throw new Refusal(`${name} has no rows`);
    if (kind === null) throw new Refusal(`${name} is no table: its lines do not have equally many cells; it must have a line of names and a row per task`);
    const lines = split(text, kind);
    checkRows(lines, name);
    if (lines.comments.length) notes.push(`Lines that begin with # are left out of ${name}: ${lines.comments.length}.`);
    if (kind !== "comma" && kind !== "one") notes.push(`${name}: ${kind.replace(/s$/, "")}s separate the cells.`);
    const first = lines.rows[0], isHeadless = first.every(isValue);
    if (isHeadless && kind === "comma" && first.length === 2) {
      throw new Refusal(`${name}: ${first.join(",")} may be two numbers, or one with a decimal comma; write a line of names`);
    }
    if (isHeadless) notes.push(`${name} has no line of names.`);
    const names = isHeadless ? first.map((cell, i) => (first.length > 1 ? `column ${i + 1}` : "numbers")) : checkedNames(first, name);
    const rows = isHeadless ? lines.rows : lines.rows.slice(1), places = isHeadless ? lines.places : lines.places.slice(1);
    if (!rows.length) throw new Refusal(`${name} has no rows`);
    const more = new Set();
    const table = withToolMethods(typed(names, rows, more));
    notes.push(...[...more].map(note => `${name}: ${note}`));
    return { name, stem: name.replace(/\.[^.]*$/, "") || name, ...table, places, length: rows.length, notes };
  }

  /** Columns as numbers, or as text; one of 'mean ± half' gets a second column, named NAME ±, and one of 'number (number)' NAME (). */
  function typed(names, rows, notes) {
    const values = new Map(), numeric = new Set();
    names.forEach((name, i) => {
      const texts = rows.map(cells => cells[i]), columns = numbersOf(texts, notes);
      if (columns === null) return values.set(name, texts.map(text => visible(withoutMarkup(text))));
      for (const [sign, numbers] of Object.entries(columns)) {
        if (sign && numbers.every(Number.isNaN)) continue;
        values.set(sign ? `${name} ${sign}` : name, numbers);
        numeric.add(sign ? `${name} ${sign}` : name);
      }
    });
    return { names: [...values.keys()], values, numeric };
  }

  /** A table of `fslcore evaluate`, whose backbone and learner together are the method. */
  function withToolMethods(table) {
    const { values, names, numeric } = table;
    if (!values.has("backbone") || !values.has("learner") || values.has("method")) return table;
    const methods = values.get("backbone").map((backbone, i) => `${backbone} ${values.get("learner")[i]}`);
    const kept = names.filter(name => name !== "backbone" && name !== "learner");
    const left = new Map(kept.map(name => [name, values.get(name)]));
    return { names: [...kept, "method"], values: left.set("method", methods), numeric };
  }

  Object.assign(report, { Refusal, tableOf, isValue, visible, fully });
})();
