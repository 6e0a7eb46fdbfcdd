"""The table of `make measure` counts what its columns say."""

import measure
import pytest

SOURCE = '''"""A docstring that is not counted."""
total = 1  # nor is a comment
of = [total] * bool(total)
'''


def test_a_source_is_measured():
    measures = measure.measure_source(SOURCE)
    assert measures.tokens == 3 + 10
    assert measures.lines == 2
    assert (measures.names, measures.vague_names, measures.products) == (2, 1, 1)


def test_a_function_of_many_names_is_counted():
    names = ", ".join(f"name_{i}" for i in range(measure.MANY_NAMES))
    source = "def f({}): pass\n"
    assert measure.measure_source(source.format(names)).crowded_functions == 0
    assert measure.measure_source(source.format(f"{names}, last")).crowded_functions == 1


@pytest.mark.slow
def test_every_room_has_a_row():
    rows = measure.table().splitlines()
    assert {"fslcore/stats", "book/fslbook/oops", "tests/report"} <= {
        row.split()[0] for row in rows
    }
