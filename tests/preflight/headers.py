"""GGUF headers written byte by byte, well formed or not."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from tui.preflight.gguf import Header, read_header

Value = int | float | bool | str | Sequence[int | bool] | Sequence[bytes]


def string(text: str | bytes, order: str = "<") -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(f"{order}Q", len(raw)) + raw


def pair(key: str, value: Value, order: str = "<") -> bytes:
    """A key with its value."""
    return string(key, order) + _value(value, order)


def _value(value: Value, order: str) -> bytes:
    if isinstance(value, bool):
        return struct.pack(f"{order}I?", 7, value)
    if isinstance(value, int):
        return struct.pack(f"{order}II", 4, value)
    if isinstance(value, float):
        return struct.pack(f"{order}If", 6, value)
    if isinstance(value, str):
        return struct.pack(f"{order}I", 8) + string(value, order)
    if value and isinstance(value[0], bytes):
        parts = b"".join(string(part, order) for part in value if isinstance(part, bytes))
        return struct.pack(f"{order}IIQ", 9, 8, len(value)) + parts
    numbers = [int(number) for number in value]
    return struct.pack(f"{order}IIQ{len(numbers)}i", 9, 5, len(numbers), *numbers)


def tensor(name: str, shape: Sequence[int], offset: int = 0, kind: int = 0, order: str = "<") -> bytes:
    """A tensor's entry; kind 0 is 32-bit float."""
    layout = f"{order}I{len(shape)}QIQ"
    return string(name, order) + struct.pack(layout, len(shape), *shape, kind, offset)


def file(
    metadata: Mapping[str, Value],
    tensors: Mapping[str, Sequence[int]] | None = None,
    *,
    version: int = 3,
    order: str = "<",
) -> bytes:
    """A header without weights."""
    tensors = tensors or {}
    start = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(metadata))
    keys = b"".join(pair(key, value, order) for key, value in metadata.items())
    return start + keys + b"".join(tensor(name, shape, order=order) for name, shape in tensors.items())


def header(
    architecture: str,
    metadata: Mapping[str, Value],
    tensors: Mapping[str, Sequence[int]] | None = None,
    tokens: int = 0,
) -> Header:
    """A header read back; keys without a namespace get the architecture's."""
    full: dict[str, Value] = {"general.architecture": architecture}
    full |= {
        key if key.startswith("tokenizer.") else f"{architecture}.{key}": v for key, v in metadata.items()
    }
    if tokens:
        full["tokenizer.ggml.tokens"] = [b"token%d" % number for number in range(tokens)]
    raw = file(full, tensors)
    return read_header(lambda offset, length: raw[offset : offset + length])
