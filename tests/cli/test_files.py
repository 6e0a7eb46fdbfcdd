"""Where files are written: checked before the work, whole or absent, and nothing is left behind."""

import errno
import os
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
import torch
from refusal import refuses

from fslcore.paths import _HOST, check_folder, check_output, replace_file, scratch


def test_output_is_checked_and_nothing_left_behind(tmp_path):
    (tmp_path / "in.csv").write_text("")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    assert (
        check_output(tmp_path / "new" / "deep" / "t.csv", [".csv"])
        == tmp_path / "new" / "deep" / "t.csv"
    )
    assert check_output(tmp_path / "in.csv") == tmp_path / "in.csv"  # may be written again
    for path, message in [
        (tmp_path, "got the folder"),
        ("", "name of a file, got ''"),
        (None, "name of a file, got None"),
        ("~nobody here/t.csv", "home"),
        ("t\0.csv", "null"),
        ("/dev/null", "a regular file.*got /dev/null"),
        (tmp_path / "in.csv", "is never overwritten"),
        (tmp_path / "link.csv", "is never overwritten"),
        (tmp_path / "in.csv" / "t.csv", "folder, got the file .*in.csv"),
        ("/proc/1/t.csv", "nothing can be written to /proc/1"),
        ("x" * 254, "File name too long"),
    ]:
        with refuses(message):
            check_output(path, inputs=[tmp_path / "in.csv"])
    with refuses("is never overwritten"):
        check_output(tmp_path / "in.csv", inputs=[tmp_path])  # a folder whose files are read
    assert check_folder(tmp_path / "new") == tmp_path / "new"
    for path in (tmp_path / "in.csv", "/proc/new"):
        with refuses("folder"):
            check_folder(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "link.csv"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    for name in (
        "there/old",
        "there/new",
        "there/made/later",
    ):  # with no ending, which libraries take from the name
        link = tmp_path / f"{name.replace('/', '-')}.csv"
        link.symlink_to(name)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old").write_text("before")
    for link in sorted(tmp_path.glob("*.csv")):
        assert check_output(link, [".csv"]) == link
        replace_file(link, lambda part: part.write_text(part.suffix))
        assert (
            link.is_symlink()
            and link.read_text() == (tmp_path / link.readlink()).read_text() == ".csv"
        )
    assert sorted(p.name for p in (tmp_path / "there").iterdir()) == ["made", "new", "old"]
    (tmp_path / "file.csv").symlink_to(tmp_path / "there" / "old" / "t.csv")
    with refuses("folder, got the file .*there/old"):
        check_output(tmp_path / "file.csv")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_has_the_permissions_of_any_other(tmp_path, mask):
    """The library of safetensors leaves its files to the owner alone, and a shared cache to one person."""
    from safetensors.torch import save_file

    before = os.umask(mask)
    try:
        (tmp_path / "plain").touch()
        replace_file(
            tmp_path / "t.safetensors", lambda part: save_file({"w": torch.zeros(2)}, part)
        )
    finally:
        os.umask(before)
    assert (tmp_path / "t.safetensors").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("library", ["python", "safetensors", "parquet"])
def test_a_full_disk_is_told_with_the_file(tmp_path, library):
    from safetensors import SafetensorError

    def fills(part):
        if library == "safetensors":  # it writes to a name of its own; these are its words
            raise SafetensorError(
                "Error while serializing: I/O error: No space left on device (os error 28)"
            )
        part.symlink_to("/dev/full")
        part.write_text("x") if library == "python" else pd.DataFrame({"x": [1]}).to_parquet(part)

    with pytest.raises(OSError, match="No space left") as error:
        replace_file(tmp_path / "t.csv", fills)
    assert error.value.errno == errno.ENOSPC and error.value.filename == str(tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


def test_a_file_is_whole_or_absent(tmp_path):
    def breaks(part):
        part.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        replace_file(tmp_path / "x", breaks)
    assert not list(tmp_path.iterdir())
    replace_file(tmp_path / "x", lambda part: part.write_text("whole"))
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_threads_that_write_the_same_file_leave_one_of_theirs_whole(tmp_path):
    together = threading.Barrier(2, timeout=60)

    def slowly(letter):
        def write(part):
            with open(part, "a") as file:
                for _ in range(3):
                    together.wait()
                    file.write(letter)
                    file.flush()

        replace_file(tmp_path / "x", write)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(slowly, "ab"))
    assert (tmp_path / "x").read_text() in ("aaa", "bbb") and len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def gone():
    """A process that is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_what_a_killed_process_left_of_a_file_goes_with_the_next_write(tmp_path, gone):
    host, old = _HOST, time.time() - 8 * 24 * 3600
    stale = [f".{gone}-{host}-7.x.csv", f".{os.getppid()}-{host}.x.csv", f".{gone}-00000000.x.csv"]
    remaining = [
        f".{gone}-{host}.x.csv.more",
        f".{gone}-{host}.y.csv",
        f".{gone}-{host}.xxcsv",
        f"{gone}-{host}.x.csv",
        f".{gone}.x.csv",
        f".a{gone}-{host}.x.csv",
        f".1-{host}-3.x.csv",
        f".{gone}-00000001.x.csv",
    ]
    for name in stale + remaining:
        (tmp_path / name).write_text("half")
    for name in stale[
        1:
    ]:  # a number that another process has by now, and another machine's: so old that nobody writes
        os.utime(tmp_path / name, (old, old))
    replace_file(tmp_path / "x.csv", lambda part: part.write_text("whole"))
    assert {p.name for p in tmp_path.iterdir()} == {*remaining, "x.csv"}


def test_a_killed_process_leaves_its_folder_to_the_next(tmp_path, gone, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in (
        f"fslcore.{gone}-{_HOST}.abc",
        f"fslcore.1-{_HOST}.abc",
        f"other.{gone}-{_HOST}.abc",
    ):
        (tmp_path / name).mkdir()
    with scratch() as folder:
        assert folder.parent == tmp_path and len(list(tmp_path.iterdir())) == 3
    assert {p.name for p in tmp_path.iterdir()} == {
        f"fslcore.1-{_HOST}.abc",
        f"other.{gone}-{_HOST}.abc",
    }
