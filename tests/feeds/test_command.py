"""Containers and journals: both streams, through restarts of the client, nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.feeds.items import Items, data, kinds, notice, offsets, running
from tests.feeds.stand_ins import StandIn, stand_in
from tui.feeds.command import CommandFeed, client_of, read_command
from tui.feeds.protocol import Block, FeedError
from tui.formats.events import Request
from tui.formats.reader import LogReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def stamped(number: int, text: str) -> str:
    return f"2026-10-09T11:22:33.{number:09}Z {text}"


def halogen(number: int) -> str:
    said = f"serve_api: mtp {100 + number} tok in 2.00s = {50 + number / 2:.2f} t/s"
    return f"{said} | 50 rounds, commit 2.00/round | prompt 700, prefill 0.80s | detok 20us/tok"


def record(number: int, text: str, unit: str = "llama.service") -> str:
    return json.dumps({"__CURSOR": f"s=a;i={number:06}", "MESSAGE": text, "_SYSTEMD_UNIT": unit})


def feed_of(source: str, lines: int | None = None) -> CommandFeed:
    return CommandFeed(source, lines=lines, sleep=lambda _: asyncio.sleep(0.01), jitter=lambda: 1.0)


def clients(word: str) -> list[psutil.Process]:
    """Our children whose command line holds a word."""
    return [child for child in psutil.Process().children() if word in " ".join(child.cmdline())]


def has(text: str) -> Callable[[Items], bool]:
    return lambda items: text.encode() in data(items)


def said(kind: str, times: int = 1) -> Callable[[Items], bool]:
    return lambda items: kinds(items).count(kind) >= times


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return stand_in("docker", tmp_path, monkeypatch)


async def test_both_streams_come_in_order_as_they_are(docker: StandIn) -> None:
    docker.add(stamped(1, "one"), stamped(2, "two by stderr"), stamped(3, "three"))
    async with running(feed_of("docker:llama", lines=200)) as run:
        await run.until(said("caught_up"))
        docker.add(stamped(4, "four\rwith a carriage return"))
        await run.until(has("four"))
    assert data(run.items).decode().splitlines()[:3] == [
        stamped(1, "one"),
        stamped(2, "two by stderr"),
        stamped(3, "three"),
    ]
    assert b"four\rwith a carriage return\n" in data(run.items)
    assert kinds(run.items) == ["opened", "caught_up"]
    assert docker.asked == [["logs", "--timestamps", "--follow", "--tail", "200", "--", "llama"]]


async def test_a_client_that_ends_goes_on_without_counting_twice(docker: StandIn) -> None:
    there = [stamped(n, f"line {n}.") for n in range(5)]
    there += [there[-1], stamped(4, "other 4.")]
    docker.add(*there)
    async with running(feed_of("docker:llama")) as run:
        await run.until(has("other 4."))
        docker.set("stop")
        docker.set("cut", stamped(9, "half a li"))
        # Several runs of the client that find nothing new.
        await run.until(lambda _: len(docker.asked) >= 4)
        docker.clear("cut")
        new = [stamped(4, "late 4."), stamped(10, "line 10.")]
        docker.add(*new)
        docker.clear("stop")
        await run.until(has("line 10."))
        docker.set("stop")
        await run.until(lambda _: len(docker.asked) >= 8)
        docker.add(stamped(11, "line 11."))
        docker.clear("stop")
        await run.until(has("line 11."))
    assert data(run.items).decode().splitlines() == [*there, *new, stamped(11, "line 11.")]


async def test_offsets_have_no_gap_over_restarts(docker: StandIn) -> None:
    docker.add(stamped(1, "one"))
    async with running(feed_of("docker:llama")) as run:
        await run.until(has("one"))
        docker.set("stop")
        await run.until(said("gone"))
        docker.add(stamped(2, "two"))
        docker.clear("stop")
        await run.until(has("two"))
    blocks = [item for item in run.items if isinstance(item, Block)]
    assert offsets(run.items) == [0, len(blocks[0].data)]


async def test_requests_are_counted_once_whatever_the_client_does(docker: StandIn) -> None:
    docker.add(*[stamped(n, halogen(n)) for n in range(3)])
    reader = LogReader("docker:halogen")
    async with running(feed_of("docker:halogen")) as run:
        await run.until(lambda items: data(items).count(b"\n") >= 3)
        docker.set("stop")
        docker.add(*[stamped(n, halogen(n)) for n in range(3, 6)])
        await run.until(said("gone"))
        docker.clear("stop")
        await run.until(lambda items: data(items).count(b"\n") >= 6)
    blocks = [item for item in run.items if isinstance(item, Block)]
    events = [event for block in blocks for event in reader.feed(block.data, block.offset)]
    assert [event.tokens for event in events if isinstance(event, Request)] == [100, 101, 102, 103, 104, 105]
    assert all(event.time is not None for event in events)


async def test_a_container_that_is_not_there_yet_is_awaited(docker: StandIn) -> None:
    docker.set("refusal", "Error response from daemon: No such container: llama\n")
    async with running(feed_of("docker:llama")) as run:
        await run.until(lambda _: len(docker.asked) >= 3)
        docker.add(stamped(1, "one"))
        docker.clear("refusal")
        await run.until(has("one"))
    assert kinds(run.items)[:2] == ["waiting", "opened"]
    assert "none of that name" in notice(run.items, "waiting").text


async def test_a_missing_permission_is_explained_and_ends(docker: StandIn) -> None:
    docker.set("refusal", "permission denied while trying to connect to the Docker daemon socket\n")
    async with running(feed_of("docker:llama")) as run:
        await asyncio.wait_for(run.task, 30)
    assert kinds(run.items) == ["failed"]
    assert "join its group" in notice(run.items, "failed").text
    assert len(docker.asked) == 1


async def test_a_missing_client_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with running(feed_of("podman:llama")) as run:
        await asyncio.wait_for(run.task, 30)
    assert "podman is not on this machine's PATH" in notice(run.items, "failed").text


async def test_what_the_client_says_itself_is_told_and_is_no_line(docker: StandIn) -> None:
    docker.add(stamped(1, "one"))
    docker.set("stop")
    docker.set("words", "error from daemon in stream: \x1b[31mlost\n")
    async with running(feed_of("docker:llama")) as run:
        await run.until(said("gone"))
    text = notice(run.items, "gone").text
    assert "error from daemon" in text
    assert "\x1b" not in text
    assert b"error" not in data(run.items)


async def test_lines_out_of_order_are_counted_once(docker: StandIn) -> None:
    there = [stamped(1, "one"), stamped(3, "three of stdout"), stamped(2, "two of stderr")]
    docker.add(*there)
    async with running(feed_of("docker:llama")) as run:
        await run.until(has("two of stderr"))
        docker.set("stop")
        await run.until(said("gone"))
        docker.add(stamped(4, "four"))
        docker.clear("stop")
        await run.until(has("four"))
    assert data(run.items).decode().splitlines() == [*there, stamped(4, "four")]


async def test_one_that_never_pauses_is_live_all_the_same(
    docker: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.feeds.command.SILENCE_S", 60.0)
    monkeypatch.setattr("tui.feeds.command.CATCHING_UP_S", 0.0)
    docker.add(stamped(1, "one"))
    async with running(feed_of("docker:llama")) as run:
        await run.until(said("caught_up"))
        docker.add(stamped(2, "two"))
        await run.until(has("two"))
    assert kinds(run.items) == ["opened", "caught_up"]


async def test_words_of_a_client_that_shows_nothing_are_told(journal: StandIn) -> None:
    journal.add("Hint: You are currently not seeing messages of the system.")
    async with running(feed_of("journal:llama.service")) as run:
        await run.until(said("waiting"))
    assert "not seeing messages" in notice(run.items, "waiting").text


async def test_a_users_journal_that_may_not_be_read_is_explained(journal: StandIn) -> None:
    journal.set("refusal", "No journal files were opened due to insufficient permissions.\n")
    async with running(feed_of("journal:user/llama.service")) as run:
        await asyncio.wait_for(run.task, 30)
    assert "journal:user/" not in notice(run.items, "failed").text
    assert "join it" in notice(run.items, "failed").text


async def test_leaving_ends_a_client_behind_a_script(docker: StandIn) -> None:
    docker.wrap()
    async with running(feed_of("docker:llama")) as run:
        docker.add(stamped(1, "one"))
        await run.until(has("one"))
        inside = [child for client in clients(str(docker.folder)) for child in client.children()]
        assert inside
    psutil.wait_procs(inside, timeout=10)
    assert not any(child.is_running() for child in inside)


async def test_leaving_ends_the_client(docker: StandIn) -> None:
    async with running(feed_of("docker:llama")) as run:
        await run.until(said("waiting"))
    assert clients(str(docker.folder)) == []


async def test_podman_stamps_in_local_time_without_trailing_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    podman = stand_in("podman", tmp_path, monkeypatch)
    zone = "2026-10-09T13:22:33{}+02:00 {}"
    podman.add(zone.format(".5", "one"), zone.format(".55", "two"))
    async with running(feed_of("podman:llama")) as run:
        await run.until(has("two"))
        podman.set("stop")
        await run.until(said("gone"))
        podman.add(zone.format(".550000001", "three"), zone.format(".6", "four"))
        podman.clear("stop")
        await run.until(has("four"))
    words = [line.split(" ")[1] for line in data(run.items).decode().splitlines()]
    assert words == ["one", "two", "three", "four"]
    assert podman.asked[-1][3:5] == ["--since", "2026-10-09T13:22:33.55+02:00"]


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return stand_in("journalctl", tmp_path, monkeypatch)


async def test_a_journal_goes_on_behind_its_cursor(journal: StandIn) -> None:
    journal.add(*[record(n, halogen(n)) for n in range(3)])
    journal.add(record(3, '"__CURSOR":"s=a;i=999999"'))
    reader = LogReader("journal:llama.service")
    async with running(feed_of("journal:llama.service", lines=50)) as run:
        await run.until(has("i=000003"))
        journal.set("stop")
        journal.add(record(4, halogen(4)))
        await run.until(said("gone"))
        journal.clear("stop")
        journal.add(record(5, halogen(5)))
        await run.until(has("i=000005"))
    assert "--lines=50" in journal.asked[0]
    assert "--unit=llama.service" in journal.asked[0]
    assert "--after-cursor=s=a;i=000003" in journal.asked[1]
    assert "--user" not in journal.asked[0]
    blocks = [item for item in run.items if isinstance(item, Block)]
    events = [event for block in blocks for event in reader.feed(block.data, block.offset)]
    requests = [event for event in events if isinstance(event, Request)]
    assert [request.tokens for request in requests] == [100, 101, 102, 104, 105]
    assert {request.stream for request in requests} == {"llama.service"}


async def test_a_user_unit_is_read_from_the_users_journal(journal: StandIn) -> None:
    async with running(feed_of("journal:user/llama.service")) as run:
        await run.until(said("waiting"))
        journal.add(record(1, "one"))
        await run.until(said("caught_up"))
    assert "--user" in journal.asked[0]
    assert "--unit=llama.service" in journal.asked[0]
    assert kinds(run.items) == ["waiting", "opened", "caught_up"]
    assert "no line yet" in notice(run.items, "waiting").text


async def test_a_journal_that_may_not_be_read_is_explained(journal: StandIn) -> None:
    journal.set("refusal", "No journal files were opened due to insufficient permissions.\n")
    async with running(feed_of("journal:llama.service")) as run:
        await asyncio.wait_for(run.task, 30)
    assert "systemd-journal" in notice(run.items, "failed").text


@pytest.mark.parametrize("source", ["docker:", "podman:", "journal:", "journal:user/"])
def test_a_name_is_needed(source: str) -> None:
    with pytest.raises(FeedError, match="needs a name"):
        client_of(source)


def test_other_sources_are_no_commands() -> None:
    assert client_of("llama.log") is None
    assert client_of("/srv/docker:llama") is None
    with pytest.raises(FeedError):
        CommandFeed("llama.log")


def test_whole_logs_for_commands_that_end(docker: StandIn) -> None:
    docker.add(stamped(1, "one"), stamped(2, "two"))
    assert data(read_command("docker:llama")).decode().splitlines() == [stamped(1, "one"), stamped(2, "two")]
    assert "--follow" not in docker.asked[0]
    docker.set("refusal", "Error response from daemon: No such container: llama\n")
    with pytest.raises(FeedError, match="No such container"):
        list(read_command("docker:llama"))


NAMESPACE = f"spectop{os.getpid()}"
JOURNALD = Path("/usr/lib/systemd/systemd-journald")


@pytest.fixture
def real_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A journal of our own by the machine's journald, which journalctl reads, by identifier for unit."""
    journalctl = shutil.which("journalctl")
    if journalctl is None or not JOURNALD.exists() or os.geteuid() != 0:
        pytest.skip("needs journald, and the right to start one for a namespace")
    script = tmp_path / "journalctl"
    words = 'for word; do shift; set -- "$@" "$(printf %s "$word" | sed s/^--unit=/--identifier=/)"; done'
    script.write_text(f'#!/bin/sh\n{words}\nexec {journalctl} --namespace={NAMESPACE} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    place = Path(f"/run/systemd/journal.{NAMESPACE}")
    process = subprocess.Popen([JOURNALD, NAMESPACE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        deadline = time.monotonic() + 20
        while sender.connect_ex(str(place / "socket")):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.skip("journald does not start here")
            time.sleep(0.02)

        kept = [journalctl, f"--namespace={NAMESPACE}", "--identifier=llama", "--output=cat", "--quiet"]

        def send(text: str) -> None:
            sender.send(f"SYSLOG_IDENTIFIER=llama\nMESSAGE={text}\n".encode())
            # journald writes when it gets to it; what is read before is another test's matter.
            patience = time.monotonic() + 20
            while text not in subprocess.run(kept, capture_output=True, text=True, check=False).stdout:
                if time.monotonic() > patience:
                    pytest.skip("journald keeps nothing here")
                time.sleep(0.02)

        yield send
    finally:
        sender.close()
        process.terminate()
        process.wait()
        shutil.rmtree(place, ignore_errors=True)
        for folder in (Path("/run/log/journal"), Path("/var/log/journal")):
            for mine in folder.glob(f"*.{NAMESPACE}"):
                shutil.rmtree(mine, ignore_errors=True)


async def test_the_real_journalctl_is_followed_and_resumed(real_journal: Callable[[str], None]) -> None:
    for number in range(3):
        real_journal(halogen(number))
    reader = LogReader("journal:llama")
    async with running(feed_of("journal:llama", lines=2)) as run:
        await run.until(lambda items: data(items).count(b"MESSAGE") >= 2)
        real_journal(halogen(3))
        await run.until(has("mtp 103 tok"))
        for client in clients(f"--namespace={NAMESPACE}"):
            client.kill()
        await run.until(said("gone"))
        real_journal(halogen(4))
        await run.until(has("mtp 104 tok"))
    blocks = [item for item in run.items if isinstance(item, Block)]
    events = [event for block in blocks for event in reader.feed(block.data, block.offset)]
    requests = [event for event in events if isinstance(event, Request)]
    assert [request.tokens for request in requests] == [101, 102, 103, 104]
    assert {request.stream for request in requests} == {"llama"}
