"""A pipe at standard input, with and without a terminal for the keys."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.feeds.items import data, kinds, running
from tui.feeds.protocol import Block
from tui.feeds.stdin import StdinFeed

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_pipe_is_read_as_it_comes_to_its_end() -> None:
    reader, writer = os.pipe()
    async with running(StdinFeed(reader)) as run:
        await run.until(lambda items: kinds(items) == ["opened", "caught_up"])
        os.write(writer, b"one\ntwo")
        await run.until(lambda items: data(items) == b"one\n")
        os.write(writer, b"\r\nlast")
        await run.until(lambda items: data(items) == b"one\ntwo\r\n")
        os.close(writer)
        await run.task
        assert run.items[-2] == Block("-", b"last", 9)
        assert kinds(run.items) == ["opened", "caught_up", "ended"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


async def test_what_is_there_already_comes_before_caught_up() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"old\n" * 1000)
    async with running(StdinFeed(reader)) as run:
        await run.until(lambda items: "caught_up" in kinds(items))
        assert data(run.items) == b"old\n" * 1000
    os.close(writer)


async def test_cancelling_closes_the_pipe() -> None:
    reader, writer = os.pipe()
    async with running(StdinFeed(reader)) as run:
        await run.until(lambda items: "caught_up" in kinds(items))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)
    os.close(writer)


async def test_a_file_put_in_place_of_the_pipe_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\ntwo\n")
    feed = StdinFeed(os.open(tmp_path / "log", os.O_RDONLY))
    items = [item async for item in feed.read()]
    assert data(items) == b"one\ntwo\n"
    assert kinds(items) == ["opened", "ended"]


CHILD = """
import asyncio, fcntl, os, sys, termios
from tui.feeds.protocol import Block
from tui.feeds.stdin import NoTerminalError, StdinFeed, take_over_stdin

if len(sys.argv) > 1:
    fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
try:
    pipe = take_over_stdin()
except NoTerminalError as error:
    print("no terminal:", error)
    sys.exit(2)
print("takes keys:", sys.stdin.isatty(), flush=True)

async def read():
    return [item.data async for item in StdinFeed(pipe).read() if isinstance(item, Block)]

print("key:", sys.stdin.readline().strip(), flush=True)
print("log:", b"".join(asyncio.run(read())), flush=True)
"""


def test_keys_come_from_the_terminal_while_the_log_comes_from_the_pipe() -> None:
    keyboard, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(terminal)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[terminal],
        start_new_session=True,
    ) as child:
        os.write(keyboard, b"k\n")
        out, _ = child.communicate(b"one\ntwo\n", timeout=30)
    os.close(keyboard)
    os.close(terminal)
    assert out.decode().splitlines() == ["takes keys: True", "key: k", "log: b'one\\ntwo\\n'"]


def test_without_a_terminal_it_says_so() -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=b"one\n", capture_output=True, start_new_session=True, timeout=30
    )
    assert child.returncode == 2
    assert b"no terminal for the keys; run it in a terminal" in child.stdout


@pytest.mark.parametrize("use", ["take_over_stdin()", "list(read_stdin())"])
def test_nothing_piped_in_says_how_to_use_it(use: str) -> None:
    keyboard, terminal = pty.openpty()
    code = f"from tui.feeds.stdin import *\ntry: {use}\nexcept FeedError as error: print(error)"
    child = subprocess.run(
        [sys.executable, "-c", code], stdin=terminal, capture_output=True, start_new_session=True, timeout=30
    )
    os.close(keyboard)
    os.close(terminal)
    assert b"podman logs -f NAME | spectop -" in child.stdout


async def test_a_terminal_is_never_read_as_a_log() -> None:
    keyboard, terminal = pty.openpty()
    items = [item async for item in StdinFeed(terminal).read()]
    assert kinds(items) == ["failed"]
    os.close(keyboard)
    os.close(terminal)


def test_commands_that_end_read_standard_input_whole() -> None:
    code = (
        "from tui.feeds.stdin import *\n"
        "print(b''.join(i.data for i in read_stdin() if isinstance(i, Block)).decode(), end='')"
    )
    child = subprocess.run(
        [sys.executable, "-c", code], input=b"one\ntwo\nlast", capture_output=True, timeout=30
    )
    assert child.stdout == b"one\ntwo\nlast"
