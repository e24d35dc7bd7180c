"""llama.cpp of every age: its servers, its tools, its forks and the programs around it."""

from tui.formats.llamacpp.stream import LlamaStream

__all__ = ["LlamaStream"]
