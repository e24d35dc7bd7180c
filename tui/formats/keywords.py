"""What every line that matters holds: a line without any of these is never decoded.

They come in groups: most are read only while lines of their kind can come.
"""

from __future__ import annotations

from ahocorasick_rs import BytesAhoCorasick

ALWAYS = 1
STARTING = 2
"""While a llama.cpp server starts."""
KIN = 4
"""Until a stream is known as a llama-server of today: older servers, forks, command-line tools."""
MORE = 64
"""What follows such lines, once there was one."""
OLLAMA = 8
"""Ollama's own runner beside llama-server, whose lines have no prefix there."""
ENGINES = 16
"""Engines other than llama.cpp and halogen."""
GAPS = 32
"""Where llama-swap left bytes out for a slow reader."""
CRI = 128
"""Of container runtimes: a record that goes on in the next line, or the last part of one."""
JSON = 256
"""Records of journals and runtimes, a JSON object a line, that go on in the next line or are no text."""

KEYWORDS: dict[int, tuple[bytes, ...]] = {
    ALWAYS: (
        b"slot print_timing: id",
        b"eval time = ",
        b"draft acceptance",
        b"#calls",
        b"processing",
        b"all slots are idle",
        b" draft tokens",
        b"send_error: task id",
        b"request:  {",
        b"new prompt, n_ctx_slot",
        b"restored context checkpoint",
        b"loading model '",
        b"build",
        b"serve_api: ",
        b" tok in ",
        b"halogen-flash-server ",
    ),
    STARTING: (b"speculative ", b"n_max", b"listening", b"draft model", b"n_slots = "),
    KIN: (
        b"print_timings",
        b"slot released",
        b"_perf_",
        b" tokens in ",
        b"n_draft ",
        b"| Generation: ",
        b"CtxLimit:",
        b"Welcome to KoboldCpp",
    ),
    MORE: (
        b"n_predict ",
        b"n_drafted ",
        b"n_accept ",
        b"accept  ",
        b"draft:",
        b"target:",
        b"(Draft Results",
        b"Output: ",
        b"Input: ",
        b"Processing Prompt",
        b"Generating (",
    ),
    OLLAMA: (b"speculative decode stats",),
    ENGINES: (
        b" metrics: ",
        b"Avg prompt throughput: ",
        b" LLM engine (v",
        b"Decode batch",
        b"Prefill batch",
        b"=ServerArgs(",
    ),
    GAPS: (" bytes dropped \N{EM DASH}".encode(),),
    CRI: (b" stdout P", b" stderr P"),
    JSON: (b'"MESSAGE":[', b'"MESSAGE": [', b'"line-max"', b"CONTAINER_PARTIAL_MESSAGE"),
}
EVERY_GROUP = ALWAYS | STARTING | KIN | MORE | OLLAMA | ENGINES | GAPS

_GROUPS = tuple(group for group, keywords in KEYWORDS.items() for _ in keywords)
_FINDER = BytesAhoCorasick(keyword for keywords in KEYWORDS.values() for keyword in keywords)


def lines_with_keywords(data: bytes, groups: int) -> list[tuple[int, int, int]]:
    """The lines that hold a keyword of some groups.

    Args:
        data: whole lines.
        groups: whose keywords count; of JSON only in lines that begin like a JSON object.

    Returns:
        In their order, where each starts and ends (its line end left out), and the groups of its keywords.
    """
    found: list[tuple[int, int, int]] = []
    start = end = -1
    for index, at, _ in _FINDER.find_matches_as_indexes(data, overlapping=True):
        group = _GROUPS[index] & groups
        if not group:
            continue
        if at > end:
            start, end = data.rfind(b"\n", 0, at) + 1, line_end(data, at)
            known = 0
        if group == JSON and not data.startswith(b"{", start):
            continue
        if not known:
            found.append((start, end, group))
        elif known != known | group:
            found[-1] = (start, end, known | group)
        known |= group
    return found


def line_end(data: bytes, position: int) -> int:
    """Where the line ends that holds a position."""
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end
