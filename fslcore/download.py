"""Download a file over HTTP: complete and of the listed length, or not at all.

The protocol itself is httpx's. A kept part is continued only if the server confirms that the file
is still the same (RFC 9110, section 13.1.5, If-Range); otherwise the download starts again.
"""

from __future__ import annotations

import email.utils
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

import httpx
from tqdm import tqdm

from . import sources
from .errors import InputError, reason, shown

TIMEOUT = 60  # seconds without an answer
WAITS = (1, 2, 4, 8, 16)  # seconds before each retry
LONGEST_WAIT = 300  # seconds that a server may ask to wait before a retry
LEAST_PROGRESS = 10_000  # a try that adds less than the file's size by this counts as a failure
WINDOW, SLOWEST = 60, 1_000  # seconds, and bytes per second that arrive in each at least
MOST_UNLISTED = 2**30  # bytes of a file whose length neither the answer nor the manifest says
TEMPORARY = {408, 425, 429, 500, 502, 503, 504}  # status codes after which a retry may succeed


class _WrongAnswer(Exception):
    """An answer that is not the file."""


class _NoNetwork(_WrongAnswer):
    """A host whose name cannot be resolved."""


class _Interruption(_WrongAnswer):
    """One after which a retry may succeed, at the earliest after ``wait`` seconds."""

    wait = 0.0


def http_client() -> httpx.Client:
    """A client that keeps its connections; to be closed.

    Raises
    ------
    InputError
        The proxy that the environment names cannot be used.
    """
    headers = {"User-Agent": "fslcore", "Accept-Encoding": "identity"}
    try:
        return httpx.Client(headers=headers, timeout=TIMEOUT, follow_redirects=True)
    except (ValueError, ImportError) as error:
        raise InputError(
            f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used ({reason(error)})"
        ) from None


def download(
    client: httpx.Client, url: str, target: Path, *, size: int | None = None, progress: bool = False
) -> None:
    """Fetch a file to ``target``, through ``target.part``, which a later call can resume.

    Parameters
    ----------
    client : httpx.Client
        From `http_client`.
    url : str
    target : path
    size : int, optional
        The listed number of bytes.
    progress : bool
        Show a progress bar if it takes more than a second.

    Raises
    ------
    InputError
        No connection, or one lost at every try; another status than 200, or than 206 where a part
        was requested; another length than is listed, or none at all; a compressed transfer; a web
        page; more bytes than are listed, or than `MOST_UNLISTED` of unlisted ones; fewer bytes per
        second than `SLOWEST`; a server that asks to wait for longer than `LONGEST_WAIT`. The part
        is kept, unless it is too long.
    OSError
        The file cannot be written, for example because the disk is full.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        _receive_with_retries(client, url, part, size, progress)
    except (_WrongAnswer, httpx.HTTPError, httpx.InvalidURL) as error:
        problem = f"{url}: {error if isinstance(error, _WrongAnswer) else reason(error)}"
        if isinstance(error, _NoNetwork):
            problem = str(error)
        if _mark(part):
            progress_made = f"{bytes_of(part):,} bytes are kept"
            problem += f"; {progress_made}, and the same command resumes from there"
        raise InputError(problem) from None
    _mark_file(part).unlink(missing_ok=True)
    os.replace(part, target)


def bytes_of(path: Path) -> int:
    """The size of a file; 0 if there is none."""
    return path.stat().st_size if path.is_file() else 0


def _receive_with_retries(
    client: httpx.Client, url: str, part: Path, size: int | None, progress: bool
) -> None:
    """Receive until the part is complete; `WAITS` limits the tries that add nothing to it.

    A host whose name cannot be resolved is tried once more: mostly there is no network at all.
    """
    furthest, failures = bytes_of(part), 0
    while True:
        try:
            return _receive(client, url, part, size, progress)
        except (_Interruption, httpx.TransportError) as error:
            least = max(1, (size or 0) // LEAST_PROGRESS)
            failures = 0 if bytes_of(part) >= furthest + least else failures + 1
            furthest = max(furthest, bytes_of(part))
            if failures > len(WAITS):
                raise
            if failures > 1 and isinstance(error, httpx.ConnectError):
                problem = sources.network_problem(str(error.request.url))
                if problem:
                    raise _NoNetwork(problem) from None
            wait = WAITS[failures - 1] if failures else 0
            time.sleep(max(wait, getattr(error, "wait", 0)))


def _receive(client: httpx.Client, url: str, part: Path, size: int | None, progress: bool) -> None:
    """Append the missing bytes to a part, or start again if the server does not confirm it."""
    start = bytes_of(part)
    if start and start == size:
        return
    known_mark = _mark(part)
    headers = {}
    if known_mark:
        headers = {"Range": f"bytes={start}-", "If-Range": known_mark.partition("\n")[0]}
    with client.stream("GET", url, headers=headers) as response:
        _check_status(response, part, bool(headers))
        _check_form(response, part.stem)
        if response.status_code == 200:
            start = 0
        total = _total_length(response, start, size)
        if size and total not in (None, size):
            raise _WrongAnswer(f"it answers with {total:,} bytes, and {size:,} are listed")
        new_mark = _new_mark(response, total)
        if start and new_mark != known_mark:
            part.unlink()
            raise _Interruption(
                "the file has changed, or another part was sent than the one requested"
            )
        if not start:
            # Before the mark changes, so that no old bytes get a new mark.
            part.unlink(missing_ok=True)
            _mark_file(part).write_text(new_mark, "ascii")
        _append(part, response.iter_raw(), size if total is None else total, progress)


def _mark_file(part: Path) -> Path:
    return part.with_suffix(".tag")


def _mark(part: Path) -> str:
    """What identifies the file of which a part is kept; empty if nothing can be resumed."""
    file = _mark_file(part)
    return file.read_text("ascii") if bytes_of(part) and file.is_file() else ""


def _check_status(response: httpx.Response, part: Path, part_requested: bool) -> None:
    status = response.status_code
    if status == 200 or (status == 206 and part_requested):
        return
    answer = f"it answers {status} {response.reason_phrase}".strip()
    if status == 416 and part_requested:
        part.unlink()
    elif status not in TEMPORARY:
        raise _WrongAnswer(answer)
    interruption = _Interruption(answer)
    interruption.wait = _asked_wait(response.headers.get("retry-after", ""))
    if interruption.wait > LONGEST_WAIT:
        raise _WrongAnswer(f"{answer}, and asks to wait for {interruption.wait:,.0f} seconds")
    raise interruption


def _asked_wait(retry_after: str) -> float:
    """Seconds that a server asks to wait: a number, or until a date (RFC 9110, section 10.2.3)."""
    if re.fullmatch(r"\d{1,9}", retry_after):
        return float(retry_after)
    try:
        until = email.utils.parsedate_to_datetime(retry_after).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, until - time.time())


def _check_form(response: httpx.Response, name: str) -> None:
    """Refuse an answer whose bytes are not those of the file."""
    encoding = response.headers.get("content-encoding", "identity")
    # Some servers give the archive's own compression as the encoding of the transfer.
    if encoding != "identity" and not name.endswith((".gz", ".tgz")):
        raise _WrongAnswer(
            f"it answers with Content-Encoding {shown(encoding)}, which was not requested"
        )
    if response.headers.get("content-type", "").lower().startswith("text/html"):
        raise _WrongAnswer(f"it sends a web page in place of {name}, as a login or a portal does")


def _total_length(response: httpx.Response, start: int, size: int | None) -> int | None:
    """Bytes of the whole file; None if the answer does not say, or does not continue the part."""
    if start:
        content_range = response.headers.get("content-range", "")
        match = re.fullmatch(rf"bytes {start}-\d+/(\d{{1,18}})", content_range)
        return int(match[1]) if match else None
    if "transfer-encoding" in response.headers:  # in chunks, whose end is marked
        return None
    if "content-length" in response.headers:
        return int(response.headers["content-length"])
    if size is None:
        raise _WrongAnswer("it does not say how long the file is, and no length is listed")
    return None


def _new_mark(response: httpx.Response, total: int | None) -> str:
    """A strong entity tag or else the time of the last change, and the length; empty without."""
    entity_tag = response.headers.get("etag", "")
    validator = entity_tag or response.headers.get("last-modified", "")
    usable = re.fullmatch(r'"[!#-~]*"' if entity_tag else r"[ -~]+", validator)
    return f"{validator}\n{total}" if usable and total else ""


def _append(part: Path, blocks: Iterable[bytes], expected: int | None, progress: bool) -> None:
    length = bytes_of(part)
    scale = {"unit": "B", "unit_scale": True, "delay": 1}
    bar = tqdm(desc=part.stem, total=expected, initial=length, disable=not progress, **scale)
    most = MOST_UNLISTED if expected is None else expected
    window_end, received = time.monotonic() + WINDOW, 0
    with bar, open(part, "ab") as file:
        for block in blocks:
            length += len(block)
            received += len(block)
            if length > most:
                break
            file.write(block)
            file.flush()
            bar.update(len(block))
            if time.monotonic() > window_end:
                if received < WINDOW * SLOWEST:
                    raise _WrongAnswer(f"it sends fewer than {SLOWEST:,} bytes per second")
                window_end, received = time.monotonic() + WINDOW, 0
    if not length:
        raise _WrongAnswer("it sends nothing")
    if length > most:
        part.unlink()
        raise _WrongAnswer(f"it sends more than {most:,} bytes")
    if expected is not None and length < expected:
        raise _Interruption(f"the connection was cut after {length:,} of {expected:,} bytes")
