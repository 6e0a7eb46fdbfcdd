// A results file as columns: what fslcore/tools/report/files.py reads of a text, by the same rules and with the same errors.
// Columns get the types that pandas gives them, since messages show values and names as these types print.
(function () {
  "use strict";
  const report = (window.fslLabs.compute.report = {});

  /** Bad input: one line, as `fslcore report` says it. */
  class InputError extends Error {}

  // ---------------------------------------------------------------- text as Python has it

  const BLANK = "\\t\\n\\v\\f\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const ENDS = new RegExp(`^[${BLANK}]+|[${BLANK}]+$`, "g");
  const BLANKS = new RegExp(`[${BLANK}]+`);
  const LINES = /\r\n|\r|\n/; // no sign that Windows-1252 has within words

  const strip = (text) => text.replace(ENDS, "");
  const split = (text) => strip(text).split(BLANKS).filter(Boolean);
  const oneLine = (text) => split(text).join(" ");

  /** Order of texts by code point, as Python sorts. */
  function byCodePoint(a, b) {
    if (a === b) return 0;
    const x = Array.from(a),
      y = Array.from(b);
    for (let i = 0; i < Math.min(x.length, y.length); i++) {
      if (x[i] !== y[i]) return x[i].codePointAt(0) - y[i].codePointAt(0);
    }
    return x.length - y.length;
  }

  /** A value in a message: in one line, of 80 characters at most. */
  function shown(text) {
    const line = Array.from(oneLine(text || "''"));
    return line.length <= 80 ? line.join("") : line.slice(0, 77).join("") + "...";
  }

  /** repr of a float. */
  function repr(value) {
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
    const [digits, power] = value.toExponential().split("e");
    const exponent = Number(power);
    if (exponent < -4 || exponent >= 16) {
      return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    }
    const bare = digits.replace("-", "").replace(".", ""),
      sign = value < 0 ? "-" : "";
    if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${bare}`;
    const whole = bare.slice(0, exponent + 1).padEnd(exponent + 1, "0");
    return `${sign}${whole}.${bare.slice(exponent + 1) || "0"}`;
  }

  /** How a value of a column of this type prints. */
  function text(value, kind) {
    if (value === null || (typeof value === "number" && Number.isNaN(value))) return "nan";
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "number") return kind === "int" ? String(value) : repr(value);
    return value;
  }

  /** float() of a text; null where it is none. */
  function number(cell) {
    const bare = strip(cell);
    if (/^[+-]?(inf|infinity)$/i.test(bare)) return bare[0] === "-" ? -Infinity : Infinity;
    if (/^[+-]?nan$/i.test(bare)) return NaN;
    const plain = /^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+(_\d+)*)?$/i;
    return plain.test(bare) ? Number(bare.replace(/_/g, "")) : null;
  }

  // ---------------------------------------------------------------- a near name, as difflib finds it

  function matches(a, b, from, to, low, high, at) {
    let size = 0,
      i = from,
      j = low,
      before = new Map();
    for (let x = from; x < to; x++) {
      const now = new Map();
      for (const y of at.get(a[x]) || []) {
        if (y < low || y >= high) continue;
        const k = (before.get(y - 1) || 0) + 1;
        now.set(y, k);
        if (k > size) [size, i, j] = [k, x - k + 1, y - k + 1];
      }
      before = now;
    }
    if (!size) return 0;
    return size + matches(a, b, from, i, low, j, at) + matches(a, b, i + size, to, j + size, high, at);
  }

  function like(name, known) {
    let best = null;
    const b = Array.from(name),
      at = new Map();
    b.forEach((c, i) => at.set(c, [...(at.get(c) || []), i]));
    if (b.length >= 200) {
      // difflib leaves out what is frequent
      for (const [c, places] of at) if (places.length > Math.floor(b.length / 100) + 1) at.delete(c);
    }
    for (const other of known) {
      const a = Array.from(other),
        all = a.length + b.length;
      const ratio = all ? (2 * matches(a, b, 0, a.length, 0, b.length, at)) / all : 1;
      if (ratio >= 0.6 && (!best || ratio > best[0] || (ratio === best[0] && byCodePoint(other, best[1]) > 0))) {
        best = [ratio, other];
      }
    }
    return best ? ` (did you mean ${best[1]}?)` : "";
  }

  // ---------------------------------------------------------------- bytes to lines to cells

  const LOOKED_AT = 1000; // lines, to tell how a text file is written
  const NAMES = new Set(["method", "backbone", "learner", "dataset"]);
  const COUNTS = new Set(["", "index", "task", "query", "run", "ways", "shots", "queries", "seed"]);
  const TEXT = [".csv", ".tsv", ".txt"];
  const BINARY = [".parquet", ".npz"]; // which the command reads, and a page does not

  function decoded(bytes, name, notes) {
    const starts = (...mark) => mark.every((b, i) => bytes[i] === b);
    const read = (encoding, from) => {
      try {
        return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes.subarray(from));
      } catch (error) {
        return null;
      }
    };
    const marked = starts(0xef, 0xbb, 0xbf)
      ? ["utf-8", 3]
      : starts(0xff, 0xfe)
        ? ["utf-16le", 2]
        : starts(0xfe, 0xff)
          ? ["utf-16be", 2]
          : null;
    if (marked) {
      const found = read(...marked);
      if (found === null) {
        throw new InputError(`results: ${name} cannot be read (it is not ${marked[0]}, as its first bytes say)`);
      }
      return found;
    }
    if (bytes.includes(0)) {
      throw new InputError(`results: ${name} is no text, or UTF-16 without its mark; save it as UTF-8`);
    }
    const found = read("utf-8", 0);
    if (found !== null) return found;
    const open = [0x81, 0x8d, 0x8f, 0x90, 0x9d]; // which Windows-1252 leaves open
    if (!open.some((b) => bytes.includes(b))) {
      notes.push(`${name} is not UTF-8; it is read as Windows-1252.`);
      return read("windows-1252", 0);
    }
    notes.push(`${name} is not UTF-8; it is read as Latin-1.`);
    const parts = [];
    for (let i = 0; i < bytes.length; i += 8192) {
      parts.push(String.fromCharCode.apply(null, bytes.subarray(i, i + 8192)));
    }
    return parts.join("");
  }

  /** Cells of a line; sep null for blanks. */
  function cellsOf(line, sep) {
    if (sep === null) return split(line);
    if (!line.includes('"')) {
      const cells = line.split(sep);
      return sep === "\t" ? cells : cells.map((cell) => cell.replace(/^ +/, ""));
    }
    const out = [];
    let cell = "",
      state = "start";
    for (const c of line) {
      if (state === "quoted") {
        if (c === '"') state = "closing";
        else cell += c;
      } else if (state === "closing" && c === '"') {
        cell += c;
        state = "quoted";
      } else if (c === sep) {
        out.push(cell);
        cell = "";
        state = "start";
      } else if (state === "start" && c === '"') {
        state = "quoted";
      } else if (state === "start" && c === " " && sep !== "\t") {
        continue;
      } else {
        cell += c;
        state = "inside";
      }
    }
    out.push(cell);
    return out;
  }

  /** What parts every line into as many cells; null for blanks. */
  function separator(lines) {
    for (const sep of ["\t", ";", ",", "|", null]) {
      const width = cellsOf(lines[0], sep).length;
      if (width > 1 && lines.every((line) => cellsOf(line, sep).length === width)) return sep;
    }
    return ["\t", ";"].find((sep) => lines[0].includes(sep)) || ",";
  }

  /** Lines without blank ones, but for those that are rows without a value, as `_with_empty` of Python says. */
  function withEmpty(every, header, sep) {
    const there = [...every.keys()].filter((i) => strip(every[i])),
      first = every.indexOf(header),
      width = cellsOf(header, sep).length,
      rows = there.filter((i) => i >= first),
      gaps = new Set(rows.slice(1).map((at, i) => at - rows[i])),
      alone = width === 1 && gaps.size > 1;
    const between = (i) => first < i && i < there[there.length - 1];
    const row = (i) => between(i) && (alone || (width > 1 && sep === "\t" && every[i].includes("\t")));
    const kept = every.map((line, i) => (strip(line) ? line : row(i) ? (alone ? "nan" : line) : null));
    return kept.filter((line) => line !== null);
  }

  /** Header and rows, without comments among them: which lines that begin with # are rows, `_rows` of Python says. */
  function rowsAmong(lines, plain, sep, name, notes) {
    const width = cellsOf(plain[0], sep).length,
      value = (cell) => number(cell.replace(/%$/, "").replace(/,/g, ".")),
      counted = plain.length > 1 && value(strip(cellsOf(plain[1], sep)[0])) !== null;
    let kept = 0,
      out = 0;
    const rows = lines.filter((line) => {
      if (!line.startsWith("#")) return true;
      const cells = cellsOf(line, sep);
      if (cells.length !== width || width === 1) return false;
      const begins = cells[0].replace(/^[# ]+/, "");
      const left = !begins || (counted && value(strip(begins)) !== null);
      if (left) out += 1;
      else kept += 1;
      return !left;
    });
    const what = `lines of ${name} that begin with # and have as many cells as its header`;
    if (kept) notes.push(`Read as rows: ${kept} ${what}.`);
    if (out) notes.push(`Left out as comments: ${out} ${what}.`);
    return rows;
  }

  /** The decimal sign; a comma only where cells show it: 0,697 does where no cell has a point and no column counts. */
  function decimalOf(rows, name) {
    const found = { ",": null, ".": null };
    for (const row of rows) {
      for (const cell of row) {
        const bare = strip(cell);
        if (/^\d{1,3}(,\d{3})+$/.test(bare)) continue; // thousands
        for (const sign of [",", "."]) {
          if (found[sign] === null && (sign === "," ? /^-?\d*,\d+\s*%?$/ : /^-?\d*\.\d+\s*%?$/).test(bare)) {
            found[sign] = bare;
          }
        }
      }
    }
    if (found[","] && found["."]) {
      throw new InputError(`results: ${name} has ${found[","]} and ${found["."]}; one decimal sign is allowed`);
    }
    const header = rows[0].map((cell) => strip(cell).toLowerCase()),
      long = header.includes("accuracy"),
      own = header.map((cell) => (long ? cell === "accuracy" : !COUNTS.has(cell)));
    const three = rows.some((row) => row.some((cell, i) => own[i] && /^\d{1,3},\d{3}$/.test(strip(cell))));
    return found[","] || (three && !found["."]) ? "," : ".";
  }

  /** Rows of cells of a whole text, in which a cell in quotes may go on in the next line. */
  function rowsOf(lines, sep, name) {
    const fault = (what) => {
      throw new InputError(`results: ${name} cannot be read (Error tokenizing data. C error: ${what})`);
    };
    const rows = [];
    let open = null; // the lines of a cell that goes on
    lines.forEach((line, i) => {
      const whole = open === null ? line.replace(sep === "\t" ? /^ +/ : /^[ \t]+/, "") : `${open.text}\n${line}`;
      const cells = tokens(whole, sep);
      if (cells === null) open = { text: whole, row: open === null ? rows.length : open.row };
      else {
        open = null;
        rows.push(cells);
        const width = Math.max(rows[0].length, rows[Math.min(1, rows.length - 1)].length);
        if (rows.length > 2 && cells.length > width) {
          fault(`Expected ${width} fields in line ${i + 1}, saw ${cells.length}`);
        }
      }
    });
    if (open) fault(`EOF inside string starting at row ${open.row}`);
    return rows;
  }

  /** Cells as `pandas.read_csv` takes them; null where a quote is left open. */
  function tokens(line, sep) {
    if (!line.includes('"')) return sep === null ? line.split(/[ \t]+/).filter(Boolean) : cellsOf(line, sep);
    const out = [],
      parts = sep === null ? " \t" : sep;
    let cell = "",
      state = "start";
    for (const c of line) {
      if (state === "quoted") {
        if (c === '"') state = "closing";
        else cell += c;
      } else if (state === "closing" && c === '"') {
        cell += c;
        state = "quoted";
      } else if (parts.includes(c)) {
        if (sep !== null || state !== "start") out.push(cell);
        cell = "";
        state = "start";
      } else if (state === "start" && c === '"') {
        state = "quoted";
      } else if (state === "start" && c === " " && sep !== "\t") {
        continue;
      } else {
        cell += c;
        state = "inside";
      }
    }
    if (state === "quoted") return null;
    if (sep !== null || state !== "start") out.push(cell);
    return out;
  }

  // ---------------------------------------------------------------- cells to typed columns

  const MISSING = new Set([
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
  ]);
  // What is a missing value among names too; NA, None and null may be what a method is called.
  const NAMELESS = new Set(["", "nan", "NaN", "-nan", "-NaN", "<NA>", "#N/A"]);
  const WHOLE = /^[ \t\n\v\f\r]*[+-]?\d+[ \t\n\v\f\r]*$/;
  const FLOAT = {
    ".": /^[ \t\n\v\f\r]*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[ \t\n\v\f\r]*$/i,
    ",": /^[ \t\n\v\f\r]*[+-]?(\d+,?\d*|,\d+)(e[+-]?\d+)?[ \t\n\v\f\r]*$/i,
  };
  const TRUE = new Set(["True", "TRUE", "true"]),
    FALSE = new Set(["False", "FALSE", "false"]);
  const PERCENT = /^\s*-?\d*[.,]?\d+\s*%\s*$/;

  function floatOf(cell, decimal) {
    if (FLOAT[decimal].test(cell)) {
      const value = Number(decimal === "," ? cell.replace(",", ".") : cell);
      return Number.isFinite(value) ? value : null;
    }
    const bare = cell.toLowerCase();
    return /^[+-]?inf(inity)?$/.test(bare) ? (bare[0] === "-" ? -Infinity : Infinity) : null;
  }

  /** One column: its type ('int', 'float', 'bool' or 'object') and its values; null stands for an empty text. */
  function typed(cells, decimal, missing = MISSING) {
    const there = cells.map((cell) => !missing.has(cell));
    const some = there.includes(true),
      full = !there.includes(false);
    if (!some) return { kind: "float", values: cells.map(() => NaN) };
    const values = new Array(cells.length);
    let whole = true,
      numbers = true;
    for (let i = 0; i < cells.length && numbers; i++) {
      if (!there[i]) {
        values[i] = NaN;
        continue;
      }
      whole = whole && WHOLE.test(cells[i]);
      const value = floatOf(cells[i], decimal);
      if (value === null) numbers = false;
      values[i] = value;
    }
    if (numbers && whole && values.some((v) => Math.abs(v) > Number.MAX_SAFE_INTEGER)) numbers = false; // digits lost
    if (numbers && whole && full) return { kind: "int", values: values.map((v) => v + 0) };
    if (numbers) return { kind: "float", values };
    if (cells.every((cell, i) => !there[i] || TRUE.has(cell) || FALSE.has(cell))) {
      return { kind: full ? "bool" : "object", values: cells.map((cell, i) => (there[i] ? TRUE.has(cell) : null)) };
    }
    if (cells.every((cell, i) => !there[i] || PERCENT.test(cell))) {
      const bare = (cell) => Number(cell.replace(/^[ %\t\xa0]+|[ %\t\xa0]+$/g, "").replace(/,/g, "."));
      const found = cells.map((cell, i) => (there[i] ? bare(cell) : NaN));
      // Else it stays text: 0.70% may be 0.70 as well as 70%.
      if (found.some((v) => v > 1) || !found.some((v) => v)) return { kind: "float", values: found };
    }
    return { kind: "object", values: cells.map((cell, i) => (there[i] ? cell : null)) };
  }

  /**
   * What a file holds, and a note for each choice that was taken; yields now and then, as long work does here.
   *
   * bytes: Uint8Array; name: the file's. Returns {columns: [{name, kind, values}], rows, notes}; throws InputError.
   */
  function* framing(bytes, name) {
    const dot = name.lastIndexOf(".");
    const ending = dot > 0 && dot < name.length - 1 ? name.slice(dot).toLowerCase() : "";
    if (BINARY.includes(ending)) {
      throw new InputError(
        `results: ${name}; ${TEXT.join(", ")} are read on this page (\`fslcore report\` reads ${BINARY.join(
          ", " + "",
        )} too)`,
      );
    }
    if (!TEXT.includes(ending)) {
      const table = [".xlsx", ".xls", ".ods"].includes(ending) ? " (save the table as .csv)" : "";
      throw new InputError(`results: ${name}; ${[...TEXT, ...BINARY].join(", ")} are allowed${table}`);
    }
    const notes = [];
    const every = decoded(bytes, name, notes).split(LINES);
    let lines = every.filter((line) => strip(line));
    const told = lines.length ? /^"?sep=(.)"?$/u.exec(lines[0]) : null; // Excel's
    lines = lines.slice(told ? 1 : 0);
    const plain = lines.filter((line) => !line.startsWith("#"));
    if (!plain.length) throw new InputError(`results: ${name} has no rows`);
    const comments = lines.slice(0, lines.indexOf(plain[0]));
    const sep = told ? told[1] : ending === ".tsv" ? "\t" : separator(plain.slice(0, LOOKED_AT));
    lines = withEmpty(every, plain[0], sep).slice((told ? 1 : 0) + comments.length);
    lines = rowsAmong(lines, plain, sep, name, notes);
    const head = lines.slice(0, LOOKED_AT);
    const looked = head.map((line) => cellsOf(line, sep));
    const decimal = decimalOf(looked, name);
    const above = comments.length ? cellsOf(comments[comments.length - 1].replace(/^[# ]+/, ""), sep) : [];
    let header = looked[0].map(strip),
      named = true;
    const numbers = header.map((cell) => number(cell.replace(/%$/, "").split(decimal).join(".")));
    const counts = [0, 1].some((from) => numbers.every((n, i) => n === i + from));
    const part = (n) => n !== null && !(n % 1 === 0);
    if (numbers.every((n) => n !== null) && !counts) {
      // np.savetxt writes the names as a comment
      const taken = above.length === header.length;
      header = taken ? above : header.map((_, i) => `method ${i + 1}`);
      notes.push(
        `${name} has no line of names: ` +
          (taken ? "they are taken from the comment above." : "its methods are numbered by column."),
      );
      named = false;
    } else if (numbers.some(part)) {
      throw new InputError(
        `results: the first line of ${name} has a number, ${header[numbers.findIndex(part)]}, ` +
          "among its names; a line that names the columns is needed",
      );
    }
    const quoted = head.some((line) => line.includes('"')); // a cell in quotes may go on in the next line
    const long = looked.findIndex((row) => row.length > looked[0].length);
    if (long > 0 && !quoted) {
      throw new InputError(
        `results: row ${long} of ${name}, ${shown(lines[long])}, has more cells than its header ` +
          `names columns, ${shown(header.join(", "))}`,
      );
    }
    const again = named ? lines.indexOf(lines[0], 1) : -1;
    if (again > 0) {
      throw new InputError(
        `results: row ${again} of ${name} is its line of names again, as where files were put below one another; name ` +
          "the files instead (fslcore report a.csv b.csv)",
      );
    }
    yield;
    const rows = rowsOf(lines, sep, name);
    const names = named ? rows.shift().map((cell, i) => cell || `Unnamed: ${i}`) : header;
    if (rows.length && rows[0].length > names.length) {
      throw new InputError(`results: rows of ${name} have more cells than its header names columns`);
    }
    const twice = header.find((h, i) => h && header.indexOf(h) < i);
    if (twice) throw new InputError(`results: ${name} has two columns ${twice}; each name may stand once`);
    const columns = [];
    for (const [i, column] of names.entries()) {
      const cells = rows.map((row) => (i < row.length ? row[i] : ""));
      const own = strip(column).toLowerCase();
      let found = typed(cells, decimal);
      if (NAMES.has(own) || (COUNTS.has(own) && found.kind === "object")) found = typed(cells, decimal, NAMELESS);
      columns.push({ name: column, ...found });
      if (i % 10 === 0 || rows.length > 20000) yield;
    }
    if (told || sep !== ",") {
      const kind = sep === null ? "blanks" : { "\t": "tabs", ";": "semicolons", "|": "bars" }[sep] || `'${sep}'`;
      notes.push(`The cells of ${name} are separated by ${kind}.`);
    }
    if (decimal === ",") notes.push("Commas are read as decimal points.");
    return { columns, rows: rows.length, notes };
  }

  /** What a generator returns, run in one go. */
  function drained(work) {
    let step = work.next();
    while (!step.done) step = work.next();
    return step.value;
  }

  Object.assign(report, {
    InputError,
    drained,
    framing,
    python: { byCodePoint, like, number, oneLine, repr, strip, text },
  });
})();
