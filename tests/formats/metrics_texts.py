"""/metrics as servers print it, with numbers of our own."""

from __future__ import annotations


def llamacpp(
    tokens: float = 0,
    seconds: float = 0,
    drafted: float | None = 0,
    accepted: float = 0,
    rounds: float = 0,
    positions: tuple[int, ...] = (),
    running: int = 0,
) -> str:
    """llama.cpp's text: six digits, positions exact; without drafting counters for `drafted` None."""
    rows = [
        ("prompt_tokens_total", "counter", tokens * 3),
        ("tokens_predicted_total", "counter", tokens),
        ("tokens_predicted_seconds_total", "counter", seconds),
        ("predicted_tokens_seconds", "gauge", 99.5),
        ("requests_processing", "gauge", running),
        ("requests_deferred", "gauge", 0),
        ("n_busy_slots_per_decode", "gauge", float("-nan")),
    ]
    if drafted is not None:
        rows += [
            ("spec_decode_num_draft_tokens_total", "counter", drafted),
            ("spec_decode_num_accepted_tokens_total", "counter", accepted),
            ("spec_decode_num_drafts_total", "counter", rounds),
        ]
    lines = [
        f"# HELP llamacpp:{name} Words about it\n# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value:.6g}"
        for name, kind, value in rows
    ]
    name = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
    if positions:
        lines.append(f"# HELP {name} Accepted tokens per draft position\n# TYPE {name} counter")
    lines += [f'{name}{{position="{place}"}} {count}' for place, count in enumerate(positions)]
    return "\n".join(lines) + "\n"


def halogen(
    requests: int = 0,
    tokens: int = 0,
    seconds: float = 0,
    drafted: int = 0,
    accepted: int = 0,
    running: int = 0,
    gauge: float = 0,
) -> str:
    """halogen's text: whole numbers in full, seconds with six digits, gauges that reset as they are read."""
    rows = [
        ("llamacpp:prompt_tokens_total", "counter", f"{tokens * 4}"),
        ("llamacpp:prompt_seconds_total", "counter", f"{seconds / 3:.6g}"),
        ("llamacpp:tokens_predicted_total", "counter", f"{tokens}"),
        ("llamacpp:tokens_predicted_seconds_total", "counter", f"{seconds:.6g}"),
        ("llamacpp:prompt_tokens_seconds", "gauge", f"{gauge * 10:.6g}"),
        ("llamacpp:predicted_tokens_seconds", "gauge", f"{gauge:.6g}"),
        ("llamacpp:requests_processing", "gauge", f"{running}"),
        ("llamacpp:requests_deferred", "gauge", "0"),
        ("llamacpp:kv_cache_tokens", "gauge", "32768"),
        ("llamacpp:kv_cache_usage_ratio", "gauge", "0.125"),
        ("halogen:requests_total", "counter", f"{requests}"),
        ("halogen:prompt_tokens_cached_total", "counter", "0"),
        ("halogen:draft_tokens_total", "counter", f"{drafted}"),
        ("halogen:draft_tokens_accepted_total", "counter", f"{accepted}"),
        ("halogen:structured_requests_total", "counter", "0"),
        ("halogen:kv_pool_positions", "gauge", "262144"),
        ("halogen:kv_pool_reserved_tokens", "gauge", "0"),
        ("halogen:draft_list_misses_total", "counter", f"{drafted // 3}"),
        ("halogen:draft_list_tokens_total", "counter", f"{drafted * 2}"),
    ]
    return "".join(
        f"# HELP {name} Words about it\n# TYPE {name} {kind}\n{name} {value}\n" for name, kind, value in rows
    )
