"""The outputs of an executed notebook, so that two runs can be compared."""

from itertools import groupby


def outputs(cell: dict) -> list[dict]:
    """Of a code cell, without the counts of executions.

    What a cell prints comes in one piece or in several, as it falls: pieces that follow each other are one here.
    """
    whole = []
    for stream, pieces in groupby(cell.get("outputs", []), key=lambda output: output.get("name")):
        if stream:
            text = "".join(part for piece in pieces for part in piece["text"])
            whole.append({"output_type": "stream", "name": stream, "text": text})
        else:
            whole += [{k: v for k, v in o.items() if k != "execution_count"} for o in pieces]
    return whole
