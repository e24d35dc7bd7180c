"""A real llama.cpp server in a process of its own, its log in a file: the ground truth for the whole chain.

Run as a module it is that process: it prints its address, and serves until its standard input ends.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.tiny_models import write_tiny_model

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class LlamaServer:
    """A running server: where it listens and where its log goes."""

    address: str
    log: Path

    def complete(self, prompt: str, tokens: int) -> dict[str, Any]:
        """One request; the response's `timings`, which its log lines round."""
        body = {"prompt": prompt, "n_predict": tokens, "ignore_eos": True}
        answer = httpx.post(f"{self.address}/completion", json=body, timeout=120)
        answer.raise_for_status()
        timings: dict[str, Any] = answer.json()["timings"]
        return timings

    def counter(self, name: str) -> float:
        """One counter of /metrics, without labels."""
        text = httpx.get(f"{self.address}/metrics", timeout=30).text
        return next(
            float(line.split()[1]) for line in text.splitlines() if line.split()[0] == f"llamacpp:{name}"
        )


@contextlib.contextmanager
def llama_server(
    folder: Path, *, rates: tuple[float, ...] = (), slots: int = 1, verbosity: int = 3, port: int = 0
) -> Iterator[LlamaServer]:
    """Start a server over a random tiny model.

    Args:
        folder: where models and log go.
        rates: acceptance by position that the server itself decides; their number is the depth. Empty: no
            drafting.
        slots: requests at once.
        verbosity: 3 is the server's default, 4 prints the trace lines.
        port: where it listens; 0 for any. A log that is there goes on.
    """
    target = write_tiny_model(folder / "target.gguf", seed=0, layers=4, width=128)
    draft = write_tiny_model(folder / "draft.gguf", seed=1, layers=1, width=64)
    log = folder / "server.log"
    settings = {
        "target": str(target),
        "draft": str(draft),
        "rates": rates,
        "slots": slots,
        "verbosity": verbosity,
        "port": port,
    }
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.llama_server", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=Path(__file__).parent.parent,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # The server library may print lines of its own first.
            address = next((line for line in process.stdout if line.startswith("http")), "").strip()
            assert address, f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}"
            yield LlamaServer(address, log)
        finally:
            process.stdin.close()
            process.stdout.close()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def serve(settings: dict[str, Any]) -> None:
    """Serve until standard input ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["target"]
    params.n_ctx = 2048 * settings["slots"]
    params.n_parallel = settings["slots"]
    params.cpuparams.n_threads = 1
    params.port = settings["port"]
    params.endpoint_metrics = params.endpoint_slots = True
    params.verbosity = settings["verbosity"]
    if settings["rates"]:
        kinds = xllamacpp.common_speculative_type
        params.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
        params.speculative.draft.mparams.path = settings["draft"]
        params.speculative.draft.n_max = len(settings["rates"])
        params.speculative.synth_rates = settings["rates"]
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
