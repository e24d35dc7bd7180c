"""llama.cpp's llama-server, builds b3761 to b11434 and the forks that print its lines."""

from tui.formats.llamacpp.stream import LlamaStream

__all__ = ["LlamaStream"]
