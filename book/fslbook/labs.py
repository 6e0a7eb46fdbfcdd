"""The place of a lab in a page; its script is in ``book/_static/labs``."""

from __future__ import annotations

import json
from collections.abc import Sequence

__all__ = ["html"]


def html(name: str, words: str, data: object, styles: Sequence[str] = ("labs.css",)) -> str:
    """A lab's place, with its data, so that it fetches nothing.

    Parameters
    ----------
    name : str
        Of the script, which reads the JSON in ``#fsl-NAME-data``.
    words : str
        For readers without scripts.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return "\n".join(
        [
            *(f'<link rel="stylesheet" href="_static/labs/{style}">' for style in styles),
            f'<div class="fsl-lab" data-lab="{name}"><p>{words}</p></div>',
            f'<script type="application/json" id="fsl-{name}-data">{text}</script>',
            *(f'<script src="_static/labs/{file}.js" defer></script>' for file in ("labs", name)),
        ]
    )
