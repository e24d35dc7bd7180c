"""Small logs as llama-server writes them, with numbers of our own."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class LlamaLog:
    """Lines of one server, which handles a request at a time.

    Attributes:
        drafting: K=3 drafts whose 40 rounds accept 30, 20 and 10 at their positions; else plain steps.
        step_ms: time of a target pass: of a round when drafting.
        spread: the share by which requests are faster and slower by turns.
    """

    drafting: bool
    step_ms: float
    spread: float = 0.02
    lines: list[str] = field(default_factory=list)
    clock_ms: float = 0.0
    task: int = 0

    def __post_init__(self) -> None:
        self.say("srv    load_model: loading model 'target.gguf'")
        if self.drafting:
            self.say("srv    load_model: loading draft model 'draft.gguf'")
            self.say("spec common_specu: adding speculative implementation 'draft-simple'")
            self.say("spec common_specu: - n_max=3, n_min=0, p_min=0.000000")
        self.say("srv  llama_server: model loaded")
        self.say("srv  llama_server: listening on http://127.0.0.1:8080")

    def say(self, text: str) -> None:
        self.clock_ms += 1
        ms = int(self.clock_ms)
        self.lines.append(f"{ms // 60000}.{ms // 1000 % 60:02}.{ms % 1000:03}.000 I {text}")

    def serve(self, requests: int, prompt_ms: float = 500.0) -> LlamaLog:
        """So many requests one after the other, each of 101 tokens."""
        for _ in range(requests):
            self.task += 1
            decode_ms = (
                (40 if self.drafting else 100) * self.step_ms * (1 + self.spread * (self.task % 3 - 1))
            )
            self.say(f"slot launch_slot_: id  0 | task {self.task} | processing task, is_child = 0")
            self.clock_ms += prompt_ms + decode_ms
            at = f"slot print_timing: id  0 | task {self.task} |"
            self.say(
                f"{at} prompt eval time = {prompt_ms:10.2f} ms /    30 tokens"
                f" ( {prompt_ms / 30:7.2f} ms per token, {30000 / prompt_ms:8.2f} tokens per second)"
            )
            self.say(
                f"{at}        eval time = {decode_ms:10.2f} ms /   101 tokens"
                f" ( {decode_ms / 100:7.2f} ms per token, {100000 / decode_ms:8.2f} tokens per second)"
            )
            self.say(f"{at}       total time = {prompt_ms + decode_ms:10.2f} ms /   131 tokens")
            if self.drafting:
                self.say(
                    f"{at} draft acceptance = 0.50000 (   60 accepted /   120 generated), mean len =  2.50"
                )
                self.say(f"{at}      acc per pos = (0.750, 0.500, 0.250)")
            self.say(f"slot      release: id  0 | task {self.task} | stop processing: n_tokens = 130")
        return self

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def incumbent() -> str:
    """25 requests without drafting at 50 tok/s."""
    return LlamaLog(drafting=False, step_ms=20.0).serve(25).text()


def canary(round_ms: float, requests: int = 25, spread: float = 0.02) -> str:
    """Requests that draft, at 2500/round_ms tok/s."""
    return LlamaLog(drafting=True, step_ms=round_ms, spread=spread).serve(requests).text()
