"""Draw the README's picture from printed numbers: ``python book/picture.py`` writes ``book/_static/printed.svg``.

Left, two accuracies, each with the interval for the images at hand and the interval for new images (Table 2 of the
OOPS paper). Right, the difference of the two methods on the same tasks (its Table 6). The colours follow the reader's
system, light or dark.
"""

from pathlib import Path

from fslbook import published

TARGET = Path(__file__).resolve().parent / "_static" / "printed.svg"
STYLE = (
    "text{font:14px sans-serif;fill:#222}.head{font-weight:700}.axis{stroke:#888}.bar{stroke-width:3}.ground{fill:#fff}"
    ".lr{stroke:#00629b;fill:#00629b}.ft{stroke:#b34700;fill:#b34700}.ft-lr{stroke:#222;fill:#222}text[class]{stroke:none}"
    "@media(prefers-color-scheme:dark){text,.ft-lr{fill:#ddd}.ft-lr{stroke:#ddd}.ground{fill:#1b1f24}"
    ".lr{stroke:#6cb6ff;fill:#6cb6ff}.ft{stroke:#ff9e64;fill:#ff9e64}}"
)
NAMES = {"lr": "LR", "ft": "fine-tuning"}
QUESTIONS = {"closed": "for these {} images", "open": "for new images of these classes"}


def text(x, y, words, style=""):
    return f'<text class="{style}" x="{x}" y="{y}">{words}</text>'


def axis(ticks, start, width, bottom=250):
    """An axis as SVG, and how many pixels a unit of it has."""
    unit = width / (ticks[-1] - ticks[0])
    lines = [f'<line class="axis" x1="{start}" x2="{start + width}" y1="{bottom}" y2="{bottom}"/>']
    for tick in ticks:
        x = start + (tick - ticks[0]) * unit
        lines.append(
            f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}"/>'
        )
        lines.append(
            f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{minus(tick)}</text>'
        )
    return lines, unit


def interval(x, half, y, style):
    """A mean and its interval as SVG; all in pixels."""
    line = f'<line class="bar {style}" x1="{x - half:.1f}" x2="{x + half:.1f}" y1="{y}" y2="{y}"/>'
    return [line, f'<circle class="{style}" cx="{x:.1f}" cy="{y}" r="5"/>']


def minus(number):
    return str(number).replace("-", "−")


def accuracies(means, start=20, low=74, high=90):
    out, unit = axis(range(low, high + 1, 4), start, 380)
    out.append(text(10, 24, "Accuracy (%), each method with its own ±", "head"))
    for block, (sampling, question) in enumerate(QUESTIONS.items()):
        rows = means[means["sampling"] == sampling]
        top = 52 + 100 * block
        out.append(text(10, top, question.format(rows["n_images"].iloc[0])))
        for y, row in zip((top + 26, top + 58), rows.itertuples()):
            out += interval(start + (row.mean - low) * unit, row.half_width * unit, y, row.learner)
            out.append(
                text(
                    10,
                    y - 8,
                    f"{NAMES[row.learner]} {row.mean:.2f} ± {row.half_width:.2f}",
                    row.learner,
                )
            )
    return out


def differences(rows, start=450, low=-9, high=3):
    out, unit = axis(range(low, high + 1, 3), start, 280)
    zero = start - low * unit
    out.append(
        f'<line class="axis" stroke-dasharray="4" x1="{zero}" x2="{zero}" y1="40" y2="250"/>'
    )
    out.append(text(440, 24, "Fine-tuning − LR, on the same tasks (points)", "head"))
    for y, row in zip((78, 146, 214), rows.itertuples()):
        out += interval(start + (row.mean - low) * unit, row.half_width * unit, y, "ft-lr")
        out.append(
            text(
                440, y - 14, f"{row.shots}-shot: {minus(f'{row.mean:.3f}')} ± {row.half_width:.3f}"
            )
        )
    return out


def picture():
    """The whole SVG file as text."""
    means = published.table(2).query("dataset == 'dtd' and backbone == 'clip'")
    pair = "dataset == 'dtd' and a_backbone == b_backbone == 'clip' and a_learner == 'ft' and b_learner == 'lr'"
    left, right = (
        accuracies(means),
        differences(published.table(6).query(pair).sort_values("shots")),
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 285" width="760" height="285" role="img">'
    title = "Two methods on DTD as printed: intervals of each accuracy, and of their difference on the same tasks"
    ground = '<rect class="ground" width="100%" height="100%" rx="8"/>'
    return "\n".join(
        [f"{head}<style>{STYLE}</style><title>{title}</title>", ground, *left, *right, "</svg>\n"]
    )


if __name__ == "__main__":
    TARGET.write_text(picture(), "utf-8")
