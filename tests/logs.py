"""llama.cpp log lines of the newest form, with numbers of our own."""

from __future__ import annotations


def startup(depth: int = 3) -> str:
    """What a server prints while it starts at -lv 4, as far as it matters."""
    return (
        "0.00.004.120 I cmn  common_param: common_params_print_info: build 11500 (abc1234) with GNU\n"
        "0.00.007.220 I srv    load_model: loading model '/srv/target.gguf'\n"
        "0.01.405.397 I common_speculative_init_result: loading draft model '/srv/draft.gguf'\n"
        "0.01.885.284 I srv    load_model: initializing, n_slots = 1, n_ctx_slot = 4096\n"
        "0.01.885.407 I spec common_specu: adding speculative implementation 'draft-simple'\n"
        f"0.01.885.419 I spec common_specu: - n_max={depth}, n_min=0, p_min=0.000000\n"
        "0.01.923.038 I srv  llama_server: listening on http://127.0.0.1:8080\n"
    )


def request(number: int) -> str:
    """The `number`-th request of a server, from 1: 40 rounds of 50 ms that commit 2.5 each."""
    second = f"0.{2 * number + 10:02d}"
    task = 50 * number
    lines = [
        f"slot launch_slot_: id  0 | task {task} | processing task, is_child = 0",
        f"slot print_timing: id  0 | task {task} | prompt eval time =     100.00 ms /    40 tokens"
        " (    2.50 ms per token,   400.00 tokens per second)",
        f"slot print_timing: id  0 | task {task} |        eval time =    2000.00 ms /   101 tokens"
        " (   20.00 ms per token,    50.00 tokens per second)",
        f"slot print_timing: id  0 | task {task} |       total time =    2100.00 ms /   141 tokens",
        f"slot print_timing: id  0 | task {task} | draft acceptance = 0.50000"
        " (   60 accepted /   120 generated), mean len =  2.50",
        f"slot print_timing: id  0 | task {task} |      acc per pos = (0.750, 0.500, 0.250)",
        f"spec common_specu: statistics     draft-simple: #calls(b,g,a) = {number:4} {40 * number:6}"
        f" {40 * number:6}, #gen drafts = {40 * number:6}, #acc drafts = {30 * number:5}, #gen tokens ="
        f" {120 * number:6}, #acc tokens = {60 * number:5}, #mean acc len = 2.50, #acc rate/pos ="
        f" (0.750, 0.500, 0.250), dur(b,g,a) = 0.010, {600 * number:.3f}, 0.080 ms",
        f"slot      release: id  0 | task {task} | stop processing: n_tokens = 140, truncated = 0",
    ]
    return "".join(f"{second}.{n:03d}.000 I {line}\n" for n, line in enumerate(lines))
