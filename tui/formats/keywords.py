"""What every line that matters holds: a line without any of these is never decoded.

They come in groups, because looking for one costs time in every block: most groups are looked for only while
lines of their kind can come.
"""

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

START_MARKS = (b"loading model '", b"build")
"""Where a start of llama.cpp can begin."""

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
        *START_MARKS,
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
}
EVERY_GROUP = sum(KEYWORDS)
