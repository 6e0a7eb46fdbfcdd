// What the labs in the pages share: distributions, intervals, seeded draws, controls, drawing, and their places.
//
// A page has <div class="fsl-lab" data-lab="NAME">words for readers without scripts</div>, and loads labs.css, labs.js
// and NAME.js, which calls fslLabs.register(NAME, build). Classic scripts without a network, so that they work from a
// file too. What is computed stands on fslLabs without any page, and tests compare it with fslcore.stats and SciPy.
(function () {
  "use strict";
  if (window.fslLabs) return;

  // ---------------------------------------------------------------- distributions

  const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

  function logGamma(z) {
    if (z < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * z)) - logGamma(1 - z);
    let sum = LANCZOS[0];
    for (let i = 1; i < 9; i++) sum += LANCZOS[i] / (z - 1 + i);
    const t = z + 6.5;
    return 0.5 * Math.log(2 * Math.PI) + (z - 0.5) * Math.log(t) - t + Math.log(sum);
  }

  // A continued fraction b0 + a1/(b1 + a2/(b2 + …)) by Lentz's method; step(n) gives [a, b].
  function fraction(first, step) {
    const tiny = 1e-300;
    let f = first || tiny, c = f, d = 0;
    for (let n = 1; n < 100000; n++) {
      const [a, b] = step(n);
      d = 1 / (b + a * d || tiny);
      c = b + a / c || tiny;
      f *= c * d;
      if (Math.abs(c * d - 1) < 1e-15) break;
    }
    return f;
  }

  /** Regularised incomplete gamma functions [P(a, x), Q(a, x)]. */
  function gammas(a, x) {
    if (!(x > 0)) return [0, 1];
    if (x === Infinity) return [1, 0];
    const front = Math.exp(a * Math.log(x) - x - logGamma(a));
    if (x < a + 1) {
      let term = 1 / a, sum = term;
      for (let n = 1; term > sum * 1e-17; n++) sum += term *= x / (a + n);
      return [front * sum, 1 - front * sum];
    }
    const upper = front / fraction(x + 1 - a, n => [n * (a - n), x + 2 * n + 1 - a]);
    return [1 - upper, upper];
  }

  /** Regularised incomplete beta functions [I_x(a, b), 1 - I_x(a, b)]; ``rest`` is 1 - x, where it is known better. */
  function betas(x, a, b, rest = 1 - x) {
    if (x <= 0) return [0, 1];
    if (rest <= 0) return [1, 0];
    if (x > (a + 1) / (a + b + 2)) return betas(rest, b, a, x).reverse();
    const front = Math.exp(a * Math.log(x) + b * Math.log(rest) + logGamma(a + b) - logGamma(a) - logGamma(b)) / a;
    const lower = front / fraction(1, n => {
      const m = n >> 1;
      const up = n % 2 ? -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)) : m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m));
      return [up * x, 1];
    });
    return [lower, 1 - lower];
  }

  /** P(X > x) of the normal (df infinite) or Student's distribution. */
  function survival(x, df = Infinity) {
    if (x < 0) return 1 - survival(-x, df);
    if (df === Infinity) return gammas(0.5, x * x / 2)[1] / 2;
    const all = df + x * x;
    return all === Infinity ? 0 : betas(df / all, df / 2, 0.5, x * x / all)[0] / 2;
  }

  function density(x, df) {
    if (df === Infinity) return Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    const scale = logGamma((df + 1) / 2) - logGamma(df / 2) - 0.5 * Math.log(df * Math.PI);
    return Math.exp(scale - (df + 1) / 2 * Math.log1p(x * x / df));
  }

  const QUANTILES = new Map();

  /** Quantile of the normal (df infinite) or Student's distribution. */
  function quantile(p, df = Infinity) {
    if (p < 0.5) return -quantile(1 - p, df);
    const key = p + "/" + df;
    if (!QUANTILES.has(key)) {
      // The tail is convex: Newton's steps from the left never go too far.
      let x = 0;
      for (let i = 0; i < 500; i++) {
        const step = (survival(x, df) - (1 - p)) / density(x, df);
        x += step;
        if (!(Math.abs(step) > 1e-14 * x)) break;
      }
      if (QUANTILES.size > 20000) QUANTILES.clear();
      QUANTILES.set(key, x);
    }
    return QUANTILES.get(key);
  }

  /** The x between two where a function that rises through 0 does so. */
  function root(f, low, high) {
    for (let i = 0; i < 200 && high - low > 1e-14 * Math.abs(high + low); i++) {
      const middle = (low + high) / 2;
      if (f(middle) < 0) low = middle; else high = middle;
    }
    return (low + high) / 2;
  }

  /** Quantile of the chi-square distribution. */
  function chi2Quantile(p, df) {
    let high = df + 10;
    while (gammas(df / 2, high / 2)[0] < p) high *= 2;
    return root(x => gammas(df / 2, x / 2)[0] - p, 0, high);
  }

  /** P(X > x) of the chi-square distribution. */
  const chi2Survival = (x, df) => gammas(df / 2, x / 2)[1];

  /** P(|T| > limit) of the noncentral Student's distribution: a Poisson mixture of incomplete beta functions. */
  function beyond(limit, df, shift) {
    if (df === Infinity) return survival(limit - shift) + survival(limit + shift);
    if (shift > 1000) return gammas(df / 2, df / 2 * (shift / limit) ** 2)[0]; // only the estimated error varies
    const rate = shift * shift / 2, x = limit * limit / (limit * limit + df), rest = df / (limit * limit + df), b = df / 2;
    const first = Math.max(0, Math.floor(rate - 9 * Math.sqrt(rate)));
    let a = first + 0.5, tail = betas(x, a, b, rest)[1];
    let more = Math.exp(a * Math.log(x) + b * Math.log(rest) + logGamma(a + b) - logGamma(a + 1) - logGamma(b));
    let weight = Math.exp((rate ? first * Math.log(rate) : 0) - rate - logGamma(first + 1)), sum = 0;
    for (let j = first; weight > 1e-18 || j < rate; j++) {
      sum += weight * tail;
      tail += more;
      more *= x * (a + b) / (a + 1);
      a += 1;
      weight *= rate / (j + 1);
    }
    return sum;
  }

  /** `fslcore.stats.power`, of arguments within their bounds. */
  function power(difference, standardError, df = Infinity, level = 0.95) {
    return beyond(quantile((1 + level) / 2, df), df, Math.abs(difference) / standardError);
  }

  const PARTS = 25, MOST = 2 ** 53; // as fslcore.stats.planning has them, the latter as far as numbers here are whole

  /** Mean power over several variances of the mean. */
  function powerOf(difference, variances, df, level) {
    const limit = quantile((1 + level) / 2, df);
    let sum = 0;
    for (const v of variances) sum += beyond(limit, df, v > 0 ? Math.abs(difference) / Math.sqrt(v) : Infinity);
    return sum / variances.length;
  }

  /** The smallest whole number from ``least`` on that is enough, where every larger one is too; null beyond 2^53. */
  function smallest(enough, least) {
    let low = least, high = least;
    while (!enough(high)) {
      if (high >= MOST) return null;
      low = high;
      high *= 2;
    }
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2);
      if (enough(middle)) high = middle; else low = middle + 1;
    }
    return high;
  }

  /** The size at which a variance of (total - less)(1 + curve/size)/size lets a difference be found, and its range. */
  function size({ total, df, least, ofStudy, less = 0, scatter = 1, curve = 0, difference, power, level }) {
    const needed = ratios => {
      const variances = ratios.map(r => Math.max(total / r - less, 0));
      return smallest(n => powerOf(difference, variances.map(v => v * (1 + curve / n) / n), ofStudy(n), level) >= power, least);
    };
    if (df === Infinity) {
      const n = needed([1]);
      return { size: n, low: n, high: n };
    }
    const middles = Array.from({ length: PARTS }, (_, i) => chi2Quantile((i + 0.5) / PARTS, df) / df);
    const found = needed(middles);
    const [low, high] = [(1 + level) / 2, (1 - level) / 2]
      .map(p => needed([Math.max(chi2Quantile(p, scatter * df) / (scatter * df), 2 ** -1022)]));
    return { size: found, low: found === null ? low : Math.min(low, found), high: high === null ? Infinity : Math.max(high, found) };
  }

  // ---------------------------------------------------------------- intervals

  /** Mean and standard deviation, with n - 1 in its denominator. */
  function moments(x) {
    let mean = 0, square = 0;
    for (let i = 0; i < x.length; i++) mean += x[i];
    mean /= x.length;
    for (let i = 0; i < x.length; i++) square += (x[i] - mean) ** 2;
    return [mean, Math.sqrt(square / (x.length - 1))];
  }

  /** `fslcore.stats.limits` of one mean: the ends of its interval. */
  function limits(mean, half, bounds, df = Infinity, level = 0.95) {
    if (!bounds) return [mean - half, mean + half];
    const [lower, upper] = bounds, span = upper - lower;
    const share = Math.min(Math.max((mean - lower) / span, 0), 1), wide = half / span;
    if (half === 0) return [mean, mean];
    const q = quantile((1 + level) / 2, df);
    const errors = (Math.min(share, 1 - share) / wide * q) ** 2;
    const left = Math.max(1 / (1 / df + 1 / (2 * errors + 2)), 1) || 1;
    const width = Math.max(quantile((1 + level) / 2, left) / q, 1) * wide / (share * (1 - share));
    if (!(width < Infinity)) return [lower, upper];
    const centre = Math.log(share / (1 - share));
    const [low, high] = [centre - width, centre + width].map(x => lower + span / (1 + Math.exp(-x)));
    return [Math.min(low, mean), Math.max(high, mean)];
  }

  /** `fslcore.stats.Interval` of a mean: {mean, half, low, high, df, level}. */
  function interval(mean, half, { df = Infinity, level = 0.95, bounds = null } = {}) {
    const [low, high] = limits(mean, half, bounds, df, level);
    return { mean, half, low, high, df, level };
  }

  /** `fslcore.stats.intervals.closed_df`. */
  const closedDf = tasks => (tasks >= 100 ? Infinity : tasks - 1);

  /** Closed (`closedDf`) or open (df = T - 1) interval of accuracies of T tasks; of differences, the paired one. */
  function intervalOf(accuracies, kind, level = 0.95, bounds = null) {
    const [mean, deviation] = moments(accuracies), n = accuracies.length;
    const df = kind === "closed" ? closedDf(n) : n - 1;
    return interval(mean, quantile((1 + level) / 2, df) * deviation / Math.sqrt(n), { df, level, bounds });
  }

  // ---------------------------------------------------------------- seeded draws

  /** Random numbers of a seed: uniform() in [0, 1), normal(), below(n), some(array, k) draws k to the front. */
  function random(seed) {
    let state = seed >>> 0, kept = null;
    const uniform = () => { // mulberry32
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    const normal = () => {
      if (kept !== null) { const x = kept; kept = null; return x; }
      const r = Math.sqrt(-2 * Math.log(1 - uniform())), angle = 2 * Math.PI * uniform();
      kept = r * Math.sin(angle);
      return r * Math.cos(angle);
    };
    const below = n => Math.floor(uniform() * n);
    const some = (array, k) => {
      for (let i = 0; i < k; i++) {
        const j = i + below(array.length - i), x = array[i];
        array[i] = array[j];
        array[j] = x;
      }
      return array;
    };
    return { uniform, normal, below, some };
  }

  // ---------------------------------------------------------------- words and numbers

  /** As Python's format does it: halves go to the even digit. */
  function fixed(x, decimals) {
    const text = x.toFixed(decimals), half = x * 2 ** (decimals + 1);
    if (!Number.isInteger(half) || Number.isInteger(half / 2 ** (decimals + 1) * 10 ** decimals)) return text;
    const shifted = Math.abs(x) * 10 ** decimals, below = Math.floor(shifted);
    if (shifted - below !== 0.5) return text;
    return ((x < 0 ? "-" : "") + ((below + below % 2) / 10 ** decimals).toFixed(decimals));
  }

  /** A number with so many decimals, a true minus and separators of thousands. */
  function number(x, decimals = 0) {
    if (x === Infinity) return "∞";
    if (!Number.isFinite(x)) return "—";
    const text = fixed(Math.abs(x), decimals), [whole, part] = text.split(".");
    const sign = x < 0 && Number(text) !== 0 ? "−" : "";
    return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
  }

  /** 'mean ± half', both with so many decimals. */
  const plusMinus = (mean, half, decimals = 2) => number(mean, decimals) + " ± " + number(half, decimals);

  const WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

  /** A count in words, as far as they are short. */
  const words = n => WORDS[n] || number(n);

  // ---------------------------------------------------------------- elements

  let ids = 0;

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
    return node;
  }

  /** An HTML element; attributes named on… are listeners, children elements or texts (never markup). */
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

  /** An SVG element, likewise; numbers are of pixels, of which two decimals are enough. */
  function svg(tag, attributes, ...children) {
    const short = Object.entries(attributes || {}).map(([name, x]) => [name, typeof x === "number" ? Number(x.toFixed(2)) : x]);
    return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), Object.fromEntries(short), children);
  }

  /** An id that no other element has. */
  const unique = stem => "fsl-" + stem + "-" + ++ids;

  /** Where a control's note or value stands below it: text that belongs to it for screen readers too. */
  function labelled(control, label, after) {
    const id = unique("control");
    control.id = id;
    return el("div", { class: "fsl-control" }, el("label", { for: id }, label), control, after);
  }

  /**
   * A slider with its value beside it. ``values`` is a list of what it steps through, or absent for min, max, step.
   * Returns {node, value(), set(x)}; ``change`` is called after each move.
   */
  function slider(label, { values, min, max, step = 1, value, show = number, change }) {
    const at = x => (values ? values[x] : Number(x));
    const out = el("output", {});
    const input = el("input", {
      type: "range", min: values ? 0 : min, max: values ? values.length - 1 : max, step: values ? 1 : step,
      oninput: () => { tell(); change(); },
    });
    const tell = x => {
      out.textContent = show(x === undefined ? at(input.value) : x);
      input.setAttribute("aria-valuetext", out.textContent);
    };
    const set = x => { // the nearest there is; what is said beside it is x itself
      input.value = values ? values.reduce((best, v, i) => (Math.abs(v - x) < Math.abs(values[best] - x) ? i : best), 0) : x;
      tell(x);
    };
    const node = labelled(input, label, out);
    out.setAttribute("for", input.id);
    set(value);
    return { node, input, value: () => at(input.value), set };
  }

  /** A field for a text or number. Returns {node, value(), set(x)}; empty is ''. */
  function field(label, { value = "", change, ...attributes }) {
    const input = el("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes, oninput: change });
    input.value = value;
    const node = labelled(input, label);
    return { node, input, value: () => input.value.trim(), set: x => { input.value = x; } };
  }

  /** A choice; ``options`` maps values to texts. Returns {node, value(), set(x)}. */
  function select(label, { options, value, change }) {
    const made = Object.entries(options).map(([name, text]) => el("option", { value: name }, text));
    const input = el("select", { onchange: change }, made);
    if (value !== undefined) input.value = value;
    return { node: labelled(input, label), input, value: () => input.value, set: x => { input.value = x; } };
  }

  /** A place to drop or choose files; ``open`` gets them, as the browser's list. */
  function dropZone(label, open) {
    const input = el("input", { type: "file", multiple: true, id: unique("file"), accept: ".csv,.tsv,.txt,.md,text/csv,text/plain" });
    input.addEventListener("change", async () => {
      await open(input.files);
      input.value = "";
    });
    const zone = el("div", { class: "fsl-drop" }, el("label", { for: input.id }, label), input);
    const stop = event => event.preventDefault(), over = on => zone.classList.toggle("fsl-over", on);
    for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, event => { stop(event); over(true); });
    for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => over(false));
    zone.addEventListener("drop", event => { stop(event); open(event.dataTransfer.files); });
    for (const kind of ["dragover", "drop"]) window.addEventListener(kind, stop); // else a miss leaves the page
    return zone;
  }

  const button = (text, press) => el("button", { type: "button", class: "fsl-button", onclick: press }, text);

  /** Controls of one kind together, under a legend. */
  const controls = (legend, ...nodes) =>
    el("fieldset", { class: "fsl-controls" }, el("legend", {}, legend), nodes.map(n => n.node || n));

  /** The sentence that says the result, or what is wrong: read aloud once changes rest. Returns {node, say(text, isWrong)}. */
  function sentence() {
    const node = el("p", { class: "fsl-says", role: "status", "aria-live": "polite" });
    const say = (text, isWrong = false) => {
      node.classList.toggle("fsl-wrong", isWrong);
      const parts = text.split(/(\S+ %)/).map((part, i) => (i % 2 ? el("span", { class: "fsl-percent" }, part) : part));
      if (node.textContent !== text) node.replaceChildren(...parts);
    };
    return { node, say };
  }

  /** A table of texts; ``rows`` start with their heading. A table that is wider than the page scrolls in its box, and shows that it goes on. */
  function table(caption, head, rows) {
    const cells = (tag, row, scope) => row.map((text, i) => el(i ? tag : "th", i && tag === "td" ? {} : { scope: i ? scope : scope === "col" ? "col" : "row" }, text));
    const box = el("div", { class: "fsl-table", tabindex: 0, role: "region", "aria-label": caption },
      el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, cells("th", head, "col"))),
        el("tbody", {}, rows.map(row => el("tr", {}, cells("td", row, "row"))))));
    const look = () => box.classList.toggle("fsl-goes-on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.addEventListener("scroll", look, { passive: true });
    if (window.ResizeObserver) new ResizeObserver(look).observe(box);
    return box;
  }

  /** Calls a function once what happens has rested for a while; at once where ``rest`` is 0. */
  function calm(f, rest = 120) {
    let timer = null;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(f, rest);
    };
  }

  // ---------------------------------------------------------------- drawing

  /** Round numbers between two, about so many. */
  function ticks(low, high, about = 6) {
    const raw = (high - low) / about, power10 = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find(m => m * power10 >= raw * 0.999) * power10;
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
    return found;
  }

  /** How many decimals show the steps between ticks. */
  const decimalsOf = marks =>
    marks.length < 2 ? 0 : Math.max(0, -Math.floor(Math.log10(marks[1] - marks[0]) + 1e-9));

  /**
   * A picture with axes, as wide as the place it stands in; ``draw(chart)`` fills it, again whenever the width changes.
   * Returns {node, redraw()}. ``chart`` has width, height (of the field), x, y (scales, by ``scale``), add(tag,
   * attributes, text), axis(side, scale, {label, about, log}), path(points, class).
   */
  function picture({ title, height = 300, margin = [10, 12, 42, 48], draw }) {
    const id = unique("title");
    const root = svg("svg", { role: "img", "aria-labelledby": id, class: "fsl-picture", focusable: "false" });
    const node = el("div", { class: "fsl-drawing" }, root);
    let last = 0;
    function redraw() {
      const wide = Math.max(280, Math.floor(node.clientWidth || 640));
      const [top, right, bottom, left] = margin;
      const high = typeof height === "function" ? height(wide) : height;
      last = wide;
      root.replaceChildren(svg("title", { id }, typeof title === "function" ? title() : title));
      root.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      root.setAttribute("width", wide);
      root.setAttribute("height", high);
      const group = svg("g", { transform: `translate(${left},${top})` });
      root.append(group);
      const chart = { width: wide - left - right, height: high - top - bottom, group };
      chart.add = (tag, attributes, text) => {
        const made = svg(tag, attributes, text === undefined ? [] : text);
        group.append(made);
        return made;
      };
      chart.path = (points, name) => chart.add("path", {
        class: name, fill: "none", d: points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(2) + " " + y.toFixed(2)).join(""),
      });
      chart.axis = (side, of, { label, about, marks, show } = {}) => axis(chart, side, of, label, marks || of.ticks(about), show);
      draw(chart);
    }
    if (window.ResizeObserver) {
      new ResizeObserver(() => { if (Math.abs((node.clientWidth || last) - last) > 2) redraw(); }).observe(node);
    }
    return { node, redraw };
  }

  /** A scale from numbers to pixels, linear or logarithmic: call it; ``ticks(about)`` are round numbers on it. */
  function scale([low, high], [from, to], log = false) {
    const t = log ? Math.log : x => x;
    const of = x => from + (t(x) - t(low)) / (t(high) - t(low)) * (to - from);
    of.low = low;
    of.high = high;
    of.ticks = about => {
      if (!log) return ticks(low, high, about);
      const found = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) {
        for (const m of [1, 2, 5]) if (m * 10 ** e >= low * 0.999 && m * 10 ** e <= high * 1.001) found.push(m * 10 ** e);
      }
      return found.length > (about || 8) ? found.filter(x => String(x).match(/1/)) : found;
    };
    return of;
  }

  function axis(chart, side, of, label, marks, show) {
    const { width, height, add } = chart, decimals = decimalsOf(marks);
    const text = show || (x => number(x, x < 1 && x > 0 && decimals === 0 ? 1 : decimals));
    if (side === "bottom") {
      add("line", { class: "fsl-axis", x1: 0, x2: width, y1: height, y2: height });
      for (const x of marks) {
        add("line", { class: "fsl-axis", x1: of(x), x2: of(x), y1: height, y2: height + 5 });
        add("text", { class: "fsl-tick", x: of(x), y: height + 18, "text-anchor": "middle" }, text(x));
      }
      if (label) add("text", { class: "fsl-label", x: width / 2, y: height + 36, "text-anchor": "middle" }, label);
    } else {
      for (const y of marks) {
        add("line", { class: "fsl-grid", x1: 0, x2: width, y1: of(y), y2: of(y) });
        add("text", { class: "fsl-tick", x: -6, y: of(y) + 4, "text-anchor": "end" }, text(y));
      }
      if (label) {
        add("text", { class: "fsl-label", transform: `translate(${-36},${height / 2}) rotate(-90)`, "text-anchor": "middle" }, label);
      }
    }
  }

  const ROW = 34; // pixels of a row of `forest`

  /** Height of a picture whose `forest` has so many rows, with the margins that `picture` then needs. */
  const forestShape = count => ({ height: ROW * count + 60, margin: [8, 12, 46, 12] });

  /**
   * Fills a chart with rows {label, isBold, bars, mark}, the first on top, on an axis named ``label``. Bars are [low, high, class,
   * thickness], marks {x, class, path(x, y)}. Names stand above the lines, so that phones have room. ``ends`` must be on the axis.
   */
  function forest(chart, rows, { label, ends, zero, band }) {
    const low = Math.min(...ends), high = Math.max(...ends), room = (high - low) / 20 || 1;
    const x = scale([low - room, high + room], [0, chart.width]), inside = value => Math.min(Math.max(x(value), 0), chart.width);
    if (band) chart.add("rect", { class: "fsl-band", x: inside(band[0]), width: inside(band[1]) - inside(band[0]), y: 0, height: chart.height });
    chart.axis("bottom", x, { label, about: 5 });
    if (zero) chart.add("line", { class: "fsl-axis", x1: x(0), x2: x(0), y1: 0, y2: chart.height });
    rows.forEach((row, i) => {
      const y = ROW * i + 24;
      chart.add("text", { class: "fsl-row-name", x: 0, y: y - 9, "font-weight": row.isBold ? 700 : 400 }, row.label);
      for (const [from, to, color, thickness] of row.bars) {
        chart.add("line", { class: color, x1: inside(from), x2: inside(to), y1: y, y2: y, "stroke-width": thickness });
      }
      chart.add("path", { class: row.mark.class, d: row.mark.path(x(row.mark.x), y) });
    });
  }

  const disc = (x, y) => `M${x - 4.5} ${y}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0`;
  const diamond = (x, y) => `M${x - 6} ${y}L${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}Z`;

  /** A label with its two ends, which tell names apart. */
  const shortened = (label, most) => (label.length <= most ? label : `${label.slice(0, most / 2 - 1)}…${label.slice(-most / 2)}`);

  // ---------------------------------------------------------------- places

  const built = new WeakSet();

  /** Build a lab in each of its places: build(root) fills the emptied element, and may return a function to start. */
  function register(name, build) {
    const place = () => {
      document.querySelectorAll(`.fsl-lab[data-lab="${name}"]`).forEach(root => {
        if (built.has(root)) return;
        built.add(root);
        root.replaceChildren();
        root.classList.add("fsl-live");
        const start = build(root);
        if (start) start();
      });
    };
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", place);
    else place();
  }

  window.fslLabs = {
    betas, survival, quantile, chi2Quantile, chi2Survival, beyond, power, size, root, moments, limits, interval, closedDf,
    intervalOf, random, fixed, number, plusMinus, words, el, svg, unique, labelled, slider, field, select, dropZone, button, controls, sentence,
    table, calm, ticks, scale, picture, forest, forestShape, disc, diamond, shortened, register,
    still: () => matchMedia("(prefers-reduced-motion: reduce)").matches,
    compute: {}, // of each lab, by its name: what tests call
  };
})();
