"""Recording files: what survives a crash, a full disk and a wrong name."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import math
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.session.build import drafted, plain, start
from tui.feeds.protocol import FeedError
from tui.formats.events import Event, Progress
from tui.formats.recording import Entry, Gap
from tui.pipeline import Watch
from tui.recorder import Recorder, is_recording, read_recording
from tui.replay import Replay, read_timeline
from tui.session.session import Policy

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("night.jsonl", "night.jsonl.gz")


def recorded(path: Path, requests: int = 5) -> list[Entry]:
    """A recording of a start, a gap and some requests, an event a second from 100 on."""
    now = iter(range(100, 100_000))
    whats: list[Event | Gap] = [start(), Gap("a.log"), *[drafted(task=n) for n in range(requests)]]
    with Recorder(path, clock=lambda: float(next(now))) as recorder:
        for what in whats:
            if isinstance(what, Gap):
                recorder.gap(what.source)
            else:
                recorder.write([what])
        assert recorder.notice == ""
    return [Entry(100.0 + n, what) for n, what in enumerate(whats)]


@pytest.mark.parametrize("name", NAMES)
def test_what_was_recorded_is_read_back_with_its_times(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    entries = recorded(path)
    recording = read_recording(path)
    assert list(recording.entries) == entries
    assert recording.notes == ()
    assert is_recording(path)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


@pytest.mark.parametrize("name", NAMES)
def test_recording_is_complete_on_disk_after_each_event(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with Recorder(path) as recorder:
        for task in range(3):
            recorder.write([plain(task=task)])
            assert [e.what for e in read_recording(path).entries] == [plain(task=n) for n in range(task + 1)]


@pytest.mark.parametrize("name", NAMES)
def test_killed_while_recording_loses_at_most_the_line_being_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    program = (
        "import itertools, sys\n"
        "from tui.formats.events import Request\n"
        "from tui.recorder import Recorder\n"
        "recorder = Recorder(sys.argv[1])\n"
        "for task in itertools.count():\n"
        "    recorder.write([Request(source='a.log', task=task, tokens=100)])\n"
        "    print(task, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None
    told = -1
    for line in process.stdout:
        told = int(line)
        if told == 300:
            process.send_signal(signal.SIGKILL)
            break
    # What the process had told before it died was on disk by then.
    rest = process.stdout.read().split("\n")[:-1]
    told = int(rest[-1]) if rest else told
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    tasks = [getattr(entry.what, "task", None) for entry in read_recording(path).entries]
    assert tasks == list(range(len(tasks)))
    assert len(tasks) >= told + 1


def test_cut_anywhere_a_recording_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    entries = recorded(whole)
    data = whole.read_bytes()
    cut = tmp_path / "cut.jsonl"
    for end in range(data.index(b"\n") + 1, len(data), 37):
        cut.write_bytes(data[:end])
        recording = read_recording(cut)
        lines = data[: end + 1].count(b"\n") - 1  # a line that lacks but its end is whole
        assert list(recording.entries[:lines]) == entries[:lines]
        assert len(recording.entries) == lines
        assert bool(recording.notes) == (b"\n" not in data[end - 1 : end + 1])
    assert any(f"{lines} entries" in note for note in recording.notes)


def test_gzip_cut_anywhere_gives_the_lines_before_the_cut_and_says_so(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl.gz"
    entries = recorded(whole, requests=20)
    data = whole.read_bytes()
    cut = tmp_path / "cut.jsonl.gz"
    counts = []
    for end in range(len(data) // 3, len(data) - 1, 41):
        cut.write_bytes(data[:end])
        recording = read_recording(cut)
        counts.append(len(recording.entries))
        assert list(recording.entries) == entries[: counts[-1]]
        assert "cut" in recording.notes[0]
        assert f"{counts[-1]} entries" in recording.notes[0]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1]


def test_damaged_lines_inside_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    entries = recorded(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"event": "request", "at": 3}\n'
    lines.insert(4, b"x" * 2_000_000 + b"\n")
    path.write_bytes(b"".join(lines))
    recording = read_recording(path)
    assert list(recording.entries) == [*entries[:2], *entries[3:]]
    assert recording.notes == ("2 lines of the recording could not be read and are left out",)


@pytest.mark.parametrize("content", [b"", b"some log line\n", b'{"event": "request"}\n', b"\x1f\x8bnothing"])
def test_a_file_that_is_no_recording_is_told_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a\x1b[31m.jsonl"
    path.write_bytes(content)
    assert not is_recording(path)
    with pytest.raises(FeedError, match="not a recording") as failure:
        read_recording(path)
    assert "\x1b" not in str(failure.value)


def test_a_missing_recording_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match="no such file"):
        read_recording(tmp_path / "none.jsonl")


def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl"
    recorded(path)
    before = path.read_bytes()
    with pytest.raises(FeedError, match="exists already"):
        Recorder(path)
    assert path.read_bytes() == before


def test_a_path_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match="No such file or directory"):
        Recorder(tmp_path / "no" / "folder.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_full_disk_ends_the_recording_with_words_and_nothing_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    program = (
        "import json, resource, sys\n"
        "from tui.formats.events import Event, Progress\n"
        "from tui.recorder import Recorder\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "with Recorder(sys.argv[1]) as recorder:\n"
        "    for task in range(500):\n"
        "        recorder.write([Progress(source='a.log', task=task)])\n"
        "        last = task if not recorder.notice else last\n"
        "print(json.dumps([last, recorder.notice]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    last, notice = json.loads(done.stdout)
    assert "recording stopped: File too large" in notice
    assert str(path) in notice
    assert f"{last + 1} entries" in notice
    kept = [entry.what for entry in read_recording(path).entries]
    assert kept[: last + 1] == [Progress(source="a.log", task=task) for task in range(last + 1)]


def test_a_compressed_recording_is_small(tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl", requests=200)
    recorded(tmp_path / "a.jsonl.gz", requests=200)
    sizes = [(tmp_path / name).stat().st_size for name in ("a.jsonl", "a.jsonl.gz")]
    assert sizes[1] < sizes[0] / 3
    with gzip.open(tmp_path / "a.jsonl.gz") as file:
        assert len(file.read().splitlines()) == 203


LINE = "serve_api: mtp 88 tok in 2.20s = 40.00 t/s | 52 rounds, commit 1.67/round\n"


async def test_what_a_watch_saw_is_replayed_to_the_same_numbers(tmp_path: Path) -> None:
    log, path = tmp_path / "a.log", tmp_path / "night.jsonl.gz"
    log.write_text(LINE * 6)
    watch = Watch([str(log)], Policy(), backfill=None)
    with Recorder(path) as recorder:
        watch.recorder = recorder
        running = asyncio.create_task(watch.run())
        async with asyncio.timeout(20):
            while watch.snapshot().views[0].source.requests < 6:
                await asyncio.sleep(0.02)
        with log.open("a") as file:
            file.write(LINE.replace("2.20s", "4.40s"))
        async with asyncio.timeout(20):
            while watch.snapshot().views[0].source.requests < 7:
                await asyncio.sleep(0.02)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    (live,) = watch.snapshot().views
    (again,) = Replay(read_timeline(str(path)), Policy(), speed=math.inf).snapshot().views
    assert live.canary is not None
    assert live.canary.decode_tok_s is not None
    assert again.canary == live.canary
    assert again.source.name == live.source.name


def test_a_recording_that_stops_is_told_on_the_screen(tmp_path: Path) -> None:
    watch = Watch([], Policy())
    with Recorder(tmp_path / "a.jsonl") as recorder:
        watch.recorder = recorder
        assert watch.snapshot().notices == ()
        recorder.notice = "recording stopped: disk full"
        assert watch.snapshot().notices == ("recording stopped: disk full",)
