from __future__ import annotations

from tui.formats.keywords import ALWAYS, CRI, JSON, KIN, STARTING, lines_with_keywords
from tui.formats.reader import LogReader

REQUEST = (
    b"slot print_timing: id  0 | task 7 | prompt eval time =  100.00 ms /  40 tokens"
    b" (  2.50 ms per token,  400.00 tokens per second)\n"
    b"slot print_timing: id  0 | task 7 |        eval time = 2000.00 ms / 101 tokens"
    b" ( 20.00 ms per token,   50.00 tokens per second)\n"
)


def lines(data: bytes, groups: int) -> list[tuple[bytes, int]]:
    return [(data[start:end], found) for start, end, found in lines_with_keywords(data, groups)]


def test_a_line_is_found_once_with_the_groups_of_all_its_keywords() -> None:
    data = b"nothing\nprint_timings: eval time = 1, eval time = 2\n\n n_max listening\nbuild"
    assert lines(data, ALWAYS | KIN | STARTING) == [
        (b"print_timings: eval time = 1, eval time = 2", ALWAYS | KIN),
        (b" n_max listening", STARTING),
        (b"build", ALWAYS),
    ]
    assert lines(data, KIN) == [(b"print_timings: eval time = 1, eval time = 2", KIN)]


def test_keywords_that_share_bytes_are_all_found() -> None:
    assert lines(b"1/3 draft tokens in 2 s\n", ALWAYS | KIN) == [(b"1/3 draft tokens in 2 s", ALWAYS | KIN)]


def test_json_counts_where_the_line_begins_like_an_object() -> None:
    data = b'{"MESSAGE":[1]}\nsays "MESSAGE":[1]\nsays "MESSAGE":[1] processing\n'
    assert lines(data, ALWAYS | JSON) == [
        (b'{"MESSAGE":[1]}', JSON),
        (b'says "MESSAGE":[1] processing', ALWAYS),
    ]
    assert lines(b"2025-06-01 stdout P a\n", ALWAYS | JSON) == []
    assert lines(b"2025-06-01 stdout P a\n", CRI) == [(b"2025-06-01 stdout P a", CRI)]


def test_a_stray_part_of_a_record_tells_the_same_however_the_log_is_cut() -> None:
    first = b"serve_api: mtp 153 tok in 2.80s = 54.62 t/s | 81 rounds, commit 1.88/round\n"
    rest = b"2025-06-01T10:02:00.123456789Z stderr P n_draft   = 12\nn_predict = 101\n" + REQUEST
    whole, cut = LogReader("a.log"), LogReader("a.log")
    events = whole.feed(first + rest, 0) + whole.close()
    assert [event.kind for event in events][:1] == ["request"]
    assert cut.feed(first, 0) + cut.feed(rest, len(first)) + cut.close() == events
