"""One file, look by look: no clock, no events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.feeds.items import data, kinds, look, notice, offsets
from tui.feeds.follow import Follower
from tui.feeds.lines import CHUNK
from tui.feeds.protocol import Block

if TYPE_CHECKING:
    from pathlib import Path


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def following(path: Path, content: bytes = b"") -> Follower:
    """A follower that has read the content."""
    path.write_bytes(content)
    follower = Follower("log", str(path))
    assert data(look(follower)) == content[: content.rfind(b"\n") + 1]
    return follower


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_file_that_does_not_exist_yet_is_awaited_and_told_once(tmp_path: Path) -> None:
    log = tmp_path / "later" / "log"
    follower = Follower("log", str(log))
    first = look(follower)
    assert kinds(first) == ["waiting"]
    assert "directory does not exist" in notice(first, "waiting").text
    assert look(follower) == []
    log.parent.mkdir()
    second = look(follower)
    assert "no such file yet" in notice(second, "waiting").text
    assert look(follower) == []
    log.write_bytes(b"one\n")
    third = look(follower)
    assert kinds(third) == ["opened", "caught_up"]
    assert data(third) == b"one\n"
    assert look(follower) == []
    follower.close()


def test_what_is_written_comes_once_with_its_offset(log: Path) -> None:
    follower = following(log, b"one\n")
    append(log, b"two\nthr")
    assert look(follower) == [Block("log", b"two\n", 4)]
    append(log, b"ee")
    assert look(follower) == []
    append(log, b"\r\n\0\xff\xfe\n")
    assert look(follower) == [Block("log", b"three\r\n\0\xff\xfe\n", 8)]
    follower.close()


def test_rotation_by_rename_drains_the_old_file_first(log: Path) -> None:
    follower = following(log, b"one\n")
    append(log, b"two\n")
    log.rename(log.with_suffix(".1"))
    append(log.with_suffix(".1"), b"three\nunfinished")
    log.write_bytes(b"new one\n")
    items = look(follower)
    assert data(items) == b"two\nthree\nunfinishednew one\n"
    assert kinds(items) == ["rotated"]
    assert offsets(items) == [4, 14, 0]
    append(log, b"new two\n")
    assert look(follower) == [Block("log", b"new two\n", 8)]
    follower.close()


def test_while_the_new_file_is_empty_the_server_may_still_write_to_the_old(log: Path) -> None:
    follower = following(log, b"one\n")
    log.rename(log.with_suffix(".1"))
    log.touch()
    assert look(follower) == []
    append(log.with_suffix(".1"), b"late\n")
    assert data(look(follower)) == b"late\n"
    append(log, b"new\n")
    items = look(follower)
    assert data(items) == b"new\n"
    assert kinds(items) == ["rotated"]
    follower.close()


def test_a_gap_without_a_file_loses_nothing(log: Path) -> None:
    follower = following(log, b"one\n")
    log.rename(log.with_suffix(".1"))
    append(log.with_suffix(".1"), b"two\n")
    assert look(follower) == [Block("log", b"two\n", 4)]
    append(log.with_suffix(".1"), b"three\n")
    log.write_bytes(b"new\n")
    items = look(follower)
    assert data(items) == b"three\nnew\n"
    follower.close()


@pytest.mark.parametrize(
    "content", [b"x\n", b"newer line\n", b"a line that is longer than the old ones\nand more\n"]
)
def test_truncation_in_place_is_seen_even_when_the_file_has_grown_again(log: Path, content: bytes) -> None:
    follower = following(log, b"older line\n")
    with log.open("r+b") as file:
        file.truncate(0)
        file.write(content)
    items = look(follower)
    assert kinds(items) == ["truncated"]
    assert notice(items, "truncated").offset == 11
    assert "may be lost" in notice(items, "truncated").text
    assert [i for i in items if isinstance(i, Block)] == [Block("log", content, 0)]
    follower.close()


def test_truncation_drops_an_unfinished_line_rather_than_mend_it_wrongly(log: Path) -> None:
    follower = following(log, b"done\ndraft acceptance = 0.5")
    log.write_bytes(b"")
    items = look(follower)
    assert data(items) == b""
    assert "unfinished line" in notice(items, "truncated").text
    append(log, b"5 is not its end\n")
    assert look(follower) == [Block("log", b"5 is not its end\n", 0)]
    follower.close()


def test_a_server_that_does_not_append_goes_on_behind_a_hole(log: Path) -> None:
    with log.open("wb", buffering=0) as server:
        server.write(b"some line\n" * 500_000)
        follower = Follower("log", str(log))
        look(follower)
        os.truncate(log, 0)
        assert kinds(look(follower)) == ["truncated"]
        server.write(b"after\n")
        items = look(follower)
        if "oversize" in kinds(items):
            pytest.skip("this file system cannot tell holes")
        assert data(items).lstrip(b"\0") == b"after\n"
        server.write(b"more\n")
        assert look(follower) == [Block("log", b"more\n", 5_000_006)]
    follower.close()


def test_deletion_lets_go_of_the_file_and_awaits_the_next(log: Path) -> None:
    follower = following(log, b"one\n")
    append(log, b"two\nunfin")
    log.unlink()
    items = look(follower)
    assert data(items) == b"two\nunfin"
    assert kinds(items) == ["gone"]
    assert follower.position is None
    assert look(follower) == []
    log.write_bytes(b"one\n")
    items = look(follower)
    assert kinds(items) == ["opened", "caught_up"]
    assert data(items) == b"one\n"
    follower.close()


def test_deleted_and_made_anew_between_two_looks(log: Path) -> None:
    follower = following(log, b"one\n")
    append(log, b"two\n")
    log.unlink()
    log.write_bytes(b"")
    assert data(look(follower)) == b"two\n"
    append(log, b"one\nthree\n")
    assert data(look(follower)) == b"one\nthree\n"
    follower.close()


def test_a_file_of_the_same_size_in_its_place_is_a_new_file(log: Path) -> None:
    follower = following(log, b"a" * 99 + b"\n")
    other = log.with_suffix(".new")
    other.write_bytes(b"a" * 99 + b"\n")
    os.utime(other, ns=(log.stat().st_atime_ns, log.stat().st_mtime_ns))
    other.replace(log)
    items = look(follower)
    assert kinds(items) == ["rotated"]
    assert [i for i in items if isinstance(i, Block)] == [Block("log", b"a" * 99 + b"\n", 0)]
    follower.close()


def test_a_link_that_is_pointed_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "run1").write_bytes(b"one\n")
    (tmp_path / "run2").write_bytes(b"two\n")
    link = tmp_path / "latest"
    link.symlink_to("run1")
    follower = Follower("latest", str(link))
    assert data(look(follower)) == b"one\n"
    append(tmp_path / "run1", b"last of one\n")
    (tmp_path / "next").symlink_to("run2")
    (tmp_path / "next").replace(link)
    items = look(follower)
    assert data(items) == b"last of one\ntwo\n"
    assert kinds(items) == ["rotated"]
    follower.close()


def test_a_link_to_nothing_yet(tmp_path: Path) -> None:
    link = tmp_path / "latest"
    link.symlink_to("run1")
    follower = Follower("latest", str(link))
    assert kinds(look(follower)) == ["waiting"]
    (tmp_path / "run1").write_bytes(b"one\n")
    assert data(look(follower)) == b"one\n"
    follower.close()


def test_what_cannot_be_followed_says_why_once_and_may_be_mended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    follower = Follower("log", str(log))
    log.mkdir()
    items = look(follower)
    assert "is a directory; name the logs in it" in notice(items, "failed").text
    assert look(follower) == []
    log.rmdir()
    os.mkfifo(log)
    assert "spectop - <" in notice(look(follower), "failed").text
    log.unlink()
    log.write_bytes(b"one\n")
    assert data(look(follower)) == b"one\n"
    follower.close()


def test_a_compressed_log_is_not_taken_for_lines(tmp_path: Path) -> None:
    log = tmp_path / "log.gz"
    log.write_bytes(b"\x1f\x8bpacked\n")
    items = look(Follower("log.gz", str(log)))
    assert kinds(items) == ["failed"]
    assert data(items) == b""


def test_a_huge_file_is_read_in_bounded_steps(log: Path) -> None:
    line = b"x" * 99 + b"\n"
    log.write_bytes(line * 40_000)
    follower = Follower("log", str(log))
    steps = 0
    got = 0
    while True:
        items = follower.step()
        steps += 1
        got += len(data(items))
        assert len(data(items)) <= 2 * CHUNK
        if not follower.behind:
            break
    assert got == 4_000_000
    assert steps >= 4
    follower.close()


class TestPlan:
    """Only parts are read of what was there at the start."""

    def opened(self, log: Path, content: bytes) -> Follower:
        log.write_bytes(content)
        follower = Follower("log", str(log))
        assert kinds(follower.step()) == ["opened"]
        return follower

    def test_the_ranges_and_then_what_comes(self, log: Path) -> None:
        follower = self.opened(log, b"start\nold\nnew\n")
        follower.plan([(0, 6), (10, 14)], follower.size())
        append(log, b"more\n")
        items = look(follower)
        assert [(b.offset, b.data) for b in items if isinstance(b, Block)] == [
            (0, b"start\n"),
            (10, b"new\nmore\n"),
        ]
        assert kinds(items) == ["caught_up"]
        append(log, b"live\n")
        assert look(follower) == [Block("log", b"live\n", 19)]
        follower.close()

    @pytest.mark.parametrize("end", [10, 13])
    def test_the_unfinished_last_line_is_neither_lost_nor_read_twice(self, log: Path, end: int) -> None:
        follower = self.opened(log, b"skip\nlast\nhal")
        follower.plan([(5, end)], follower.size())
        assert data(look(follower)) == b"last\n"
        append(log, b"f\n")
        assert look(follower) == [Block("log", b"half\n", 10)]
        follower.close()

    @pytest.mark.parametrize(("ranges", "before"), [([], b""), ([(0, 3)], b"aa\n"), ([(0, 4)], b"aa\n")])
    def test_ranges_that_do_not_reach_the_end_leave_out_what_is_between(
        self, log: Path, ranges: list[tuple[int, int]], before: bytes
    ) -> None:
        follower = self.opened(log, b"aa\nbb\ncc\ndd")
        follower.plan(ranges, follower.size())
        assert data(look(follower)) == before
        append(log, b"dd\nee\n")
        assert look(follower) == [Block("log", b"dddd\nee\n", 9)]
        follower.close()

    def test_an_unfinished_line_longer_than_any_is_left_out(self, log: Path) -> None:
        follower = self.opened(log, b"aa\n" + b"x" * (3 << 20))
        follower.plan([], follower.size())
        look(follower)
        append(log, b" rest of it\ngood\n")
        items = look(follower)
        assert kinds(items) == ["oversize"]
        assert [i for i in items if isinstance(i, Block)] == [Block("log", b"good\n", (3 << 20) + 15)]
        follower.close()

    def test_truncation_while_the_ranges_are_read(self, log: Path) -> None:
        follower = self.opened(log, b"y\n" * (1 << 20))
        follower.plan([(0, 1 << 20), (3 << 19, 1 << 21)], follower.size())
        follower.step()
        log.write_bytes(b"new\n")
        items = look(follower)
        assert kinds(items) == ["truncated", "caught_up"]
        assert data(items) == b"new\n"
        follower.close()

    def test_utf16_is_read_whole(self, log: Path) -> None:
        follower = self.opened(log, "one\ntwo\n".encode("utf-16"))
        follower.plan([(10, 18)], follower.size())
        assert data(look(follower)) == b"one\ntwo\n"
        follower.close()


writes = st.lists(
    st.one_of(
        st.sampled_from([b"a\n", b"draft", b"\n", b"x" * 1500, b"y" * 700 + b"\n", b"\0\r\n", b"\xff"]),
        st.sampled_from(["look", "rotate", "replace"]),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(writes)
def test_every_byte_comes_once_and_in_order_through_any_rotation(
    tmp_path_factory: pytest.TempPathFactory, steps: list[bytes | str]
) -> None:
    log = tmp_path_factory.mktemp("d") / "log"
    log.touch()
    follower = Follower("log", str(log))
    items = look(follower)
    written = b""
    for number, step in enumerate(steps):
        if isinstance(step, bytes):
            append(log, step)
            written += step
            continue
        items += look(follower)
        if step == "rotate" and log.exists():
            log.rename(log.with_suffix(f".{number}"))
        elif step == "replace":
            (log.parent / "new").touch()
            (log.parent / "new").replace(log)
    items += look(follower)
    items += look(follower)
    log.touch()
    log.unlink()
    items += look(follower)
    got = data(items)
    follower.close()
    assert got == written[: len(got)]
    assert b"\n" not in written[len(got) :]
