// The lab "Lay a trap": a task whose support gives each class a clue, queries with and without it, and who falls in.
// Pictures and answers stand in the page, as JSON in #fsl-trap-data, which the chapter writes (fslbook.fewstab.trap).
(function () {
  "use strict";
  const labs = window.fslLabs, { el } = labs;
  const KINDS = { random: "random", biased: "biased" };

  const digit = (c) => parseInt(c, 32);

  /**
   * How a learner does on the queries of a task of one kind: {of, right, share (percent), worst (percent, of the worst
   * class), wrong, lured (wrong answers that name a class whose clue the query shows)}.
   */
  function summary(task, kind, learner) {
    const answers = task.answers[kind][learner], shows = task.shows[kind], ways = task.classes.length;
    const each = answers.length / ways, rightOf = new Array(ways).fill(0);
    let lured = 0;
    for (let i = 0; i < answers.length; i++) {
      const said = digit(answers[i]), is = Math.floor(i / each);
      if (said === is) rightOf[is] += 1;
      else if (digit(shows[i]) & (1 << said)) lured += 1;
    }
    const right = rightOf.reduce((sum, n) => sum + n, 0), of = answers.length;
    return { of, right, share: (100 * right) / of, worst: (100 * Math.min(...rightOf)) / each, wrong: of - right, lured };
  }

  labs.compute.trap = { summary };

  /** A clue without the kind of thing it is of: 'colour: red' is red, 'ground: red' a red ground. */
  const spoken = (clue) => clue.replace(/^(colour|light|texture|form): /, "").replace(/^ground: (.+)$/, "$1 ground");

  labs.register("trap", (root) => {
    const data = JSON.parse(document.getElementById("fsl-trap-data").textContent);
    const says = labs.sentence(), note = el("p", {}), board = el("div", { class: "fsl-board" }), all = el("div", {});
    const names = Object.keys(data), numbered = (texts) => Object.fromEntries(texts.map((text, i) => [i, text]));
    const set = labs.select("Data set", { options: Object.fromEntries(names.map((n) => [n, n])), value: names[0], change: chosen });
    const clue = labs.select("Clue of one class", { options: {}, change: show });
    const { learners } = data[names[0]];
    const learner = labs.select("Learner that answers", { options: numbered(learners), value: learners.length - 1, change: show });

    function chosen() {
      const { tasks } = data[set.value()];
      clue.input.replaceChildren(...tasks.map((t, i) => el("option", { value: i }, spoken(t.attribute))));
      show();
    }

    function picture(of, number, alt, answer) {
      const right = answer && answer.right, kind = answer ? (right ? " fsl-hit" : " fsl-miss") : "";
      return el("span", { class: `fsl-image${kind}` }, el("img", { src: of.pictures[number], alt, width: 48, height: 48 }),
        answer ? el("span", {}, right ? "✓" : `✗ ${answer.said}`) : null);
    }

    const group = (title, images) => el("div", { class: "fsl-group" }, el("span", { class: "fsl-kind" }, title), el("div", {}, images));

    function show() {
      const of = data[set.value()], task = of.tasks[Number(clue.value())], who = Number(learner.value());
      const each = task.answers.random[who].length / task.classes.length;
      board.replaceChildren(...task.classes.map((name, k) => {
        const queries = Object.keys(KINDS).map((kind) => group(`${KINDS[kind]} queries`, task.query[kind][k].map((number, i) => {
          const answer = digit(task.answers[kind][who][k * each + i]), right = answer === k, said = task.classes[answer];
          return picture(of, number, `${KINDS[kind]} query, ${name}: ${right ? "right" : `taken for ${said}`}`, { right, said });
        })));
        const heading = el("p", { class: "fsl-name" }, el("strong", {}, name), el("span", {}, ` clue: ${spoken(task.clues[k])}`),
          k === task.at ? " (yours)" : "");
        return el("div", { class: "fsl-row" }, heading,
          group("support", task.support[k].map((number) => picture(of, number, `support, ${name}`))), ...queries);
      }));
      const r = summary(task, "random", who), a = summary(task, "biased", who), fall = r.share - a.share;
      const lured = (s) => `${s.lured} of ${s.wrong} wrong answers`;
      const apart = fall > 0 ? "points fewer" : fall < 0 ? "points more" : "points apart";
      says.say(`${of.learners[who]}: ${labs.number(r.share)} % of the random queries right, ${labs.number(a.share)} % of the biased ones, `
        + `${labs.number(Math.abs(fall))} ${apart}.`);
      note.textContent = `On biased queries ${lured(a)} name a class whose clue the query shows, on random ones ${lured(r)}. `
        + `The pictures show the first queries of each class; the numbers are over all ${r.of} of each kind. One task says little about a learner: `
        + "the tables of this chapter rest on many.";
      const rows = of.learners.map((name, i) => {
        const [b, t] = [summary(task, "random", i), summary(task, "biased", i)];
        const numbers = [b.share, t.share, t.share - b.share, b.worst, t.worst].map((x) => labs.number(x));
        return [(i === who ? "▸ " : "") + name, ...numbers, `${t.lured} of ${t.wrong}`];
      });
      const head = ["learner", "random", "biased", "difference", "worst class, random", "worst class, biased", "wrong by a clue, biased"];
      all.replaceChildren(labs.table("Accuracy in percent on this task, by learner", head, rows));
    }

    root.append(
      el("p", { class: "fsl-title" }, "Lay a trap"),
      el("p", {}, "Choose the clue that one class carries in the support. Each other class of the task has one too. Random queries are any other "
        + "images of the classes; biased ones lack the clue of their class and show the clue of another class where possible. ✓ in a solid frame is right, "
        + "✗ in a dashed frame wrong, with the class that the learner predicted. Each learner was trained twice on letters: in any colour, and so that "
        + "the colour indicates the class."),
      labs.controls("", set, clue, learner), says.node, note, board, all,
    );
    return chosen;
  });
})();
