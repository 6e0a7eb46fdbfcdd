"""The table of `make measure` counts what its columns say."""

import shutil

import measure

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


def test_a_table_shows_the_release_beside_and_packages_that_left(tmp_path):
    for version, package, text in (("old", "gone", SOURCE), ("new", "here", "total = 1\n")):
        path = tmp_path / version / "fslcore" / package / "a.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    rows = measure.table(tmp_path / "new", tmp_path / "old").splitlines()
    by_package = {row.split("  ")[0].strip(): row.split() for row in rows}
    assert by_package["fslcore/gone"][1:7] == ["0", "(13)", "0", "(2)", "0.0", "(6.5)"]
    assert by_package["fslcore/here"][1:3] == ["3", "(0)"]
    assert by_package["fslcore, all"][2:5] == ["3", "(13)", "1"]


def test_the_packages_of_a_commit_are_unpacked(tmp_path):
    measure.unpack("HEAD", tmp_path)
    assert (tmp_path / "fslcore" / "errors.py").exists()
    assert (tmp_path / "book" / "fslbook" / "cli.py").exists()


def test_every_package_has_a_row(tmp_path):
    """Of two packages and the tests, each with its first module: the whole tree takes many seconds."""
    packages = {"fslcore/stats", "book/fslbook/oops", "tests/report"}
    for package in packages:
        (tmp_path / package).mkdir(parents=True)
        first = min((measure.ROOT / package).glob("*.py"))
        shutil.copy(first, tmp_path / package)
    assert packages <= {row.split()[0] for row in measure.table(tmp_path).splitlines()}
