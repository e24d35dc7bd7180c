"""GGUF headers, versions 2 and 3 in both byte orders, read through a bounded `read(offset, length)`.

Only the header is read, never a weight. Whatever a file claims about itself is checked before anything is
allocated for it, so a hostile header costs a clear error and nothing else.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

Read = Callable[[int, int], bytes]
"""`read(offset, length)`: that many bytes from there, fewer only where the file ends."""
Scalar = int | float | bool | bytes
Value = Scalar | tuple[Scalar, ...]

FIRST_READ = 8 * 2**20
NEXT_READ = 4 * 2**20
MAX_HEADER = 64 * 2**20
MAX_STRING = 4 * 2**20
MAX_KEYS = 2**12
MAX_TENSORS = 2**15
MAX_ELEMENTS = 2**20
MAX_STRINGS = 2**20
MAX_DIMENSIONS = 4
"""Far above any known model: 262,144 tokens with 514,906 merges make a header of about 15 MiB."""

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

BLOCKS = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q4_1": (3, 32, 20),
    "Q5_0": (6, 32, 22),
    "Q5_1": (7, 32, 24),
    "Q8_0": (8, 32, 34),
    "Q8_1": (9, 32, 40),
    "Q2_K": (10, 256, 84),
    "Q3_K": (11, 256, 110),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210),
    "Q8_K": (15, 256, 292),
    "IQ2_XXS": (16, 256, 66),
    "IQ2_XS": (17, 256, 74),
    "IQ3_XXS": (18, 256, 98),
    "IQ1_S": (19, 256, 50),
    "IQ4_NL": (20, 32, 18),
    "IQ3_S": (21, 256, 110),
    "IQ2_S": (22, 256, 82),
    "IQ4_XS": (23, 256, 136),
    "I8": (24, 1, 1),
    "I16": (25, 1, 2),
    "I32": (26, 1, 4),
    "I64": (27, 1, 8),
    "F64": (28, 1, 8),
    "IQ1_M": (29, 256, 56),
    "BF16": (30, 1, 2),
    "TQ1_0": (34, 256, 54),
    "TQ2_0": (35, 256, 66),
    "MXFP4": (39, 32, 17),
    "NVFP4": (40, 64, 36),
    "Q1_0": (41, 128, 18),
}
"""Tensor types: number in the file, elements a block, bytes a block."""
_TYPES = {number: (elements, size) for number, elements, size in BLOCKS.values()}


class GgufError(ValueError):
    """The file is no GGUF that can be read; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as the header describes it.

    Attributes:
        shape: dimensions, the contiguous one first.
        size: bytes of its data; None for a type this reader does not know.
        offset: where its data starts behind the header, bytes.
    """

    name: str
    shape: tuple[int, ...]
    size: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class Header:
    """Everything before the weights.

    Attributes:
        metadata: key to value; strings stay bytes, as the file has them.
        tensors: name to tensor, in the file's order.
        data_offset: where the weights start, bytes.
        file_size: bytes of the whole file; None where the source does not tell.
    """

    version: int
    big_endian: bool
    metadata: dict[str, Value] = field(repr=False)
    tensors: dict[str, Tensor] = field(repr=False)
    data_offset: int
    file_size: int | None

    def text(self, key: str) -> str | None:
        """A string value, or None where the key is absent or something else."""
        value = self.metadata.get(key)
        return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else None

    def number(self, key: str) -> int | None:
        """A whole number, or None where the key is absent or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def array(self, key: str) -> tuple[Scalar, ...] | None:
        """An array, or None where the key is absent or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, tuple) else None

    @property
    def architecture(self) -> str | None:
        """The model's architecture, the prefix of its keys."""
        return self.text("general.architecture")

    @property
    def weights(self) -> int | None:
        """Bytes of all weights; from the file's size where a tensor's type is unknown, else None."""
        sizes = [tensor.size for tensor in self.tensors.values()]
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes):
            return sum(known)
        return None if self.file_size is None else max(0, self.file_size - self.data_offset)

    @property
    def missing(self) -> int:
        """Bytes of weights that the header announces and the file does not hold: a broken download."""
        if self.file_size is None:
            return 0
        ends = (t.offset + t.size for t in self.tensors.values() if t.size is not None)
        return max(0, self.data_offset + max(ends, default=0) - self.file_size)


def read_header(read: Read, file_size: int | None = None) -> Header:
    """Read a header.

    Args:
        read: gives bytes of the file.
        file_size: bytes of the whole file, where known.

    Raises:
        GgufError: no GGUF, cut short, or it claims what no model needs.
    """
    cursor = _Cursor(read, file_size)
    magic = cursor.take(4, "the magic number")
    if magic != b"GGUF":
        page = " (it looks like a web page)" if magic.lstrip()[:1] == b"<" else ""
        raise GgufError(f"not a GGUF file: it starts with {magic!r}{page}")
    version = cursor.order_by_version()
    tensor_count = cursor.count(MAX_TENSORS, "tensors")
    key_count = cursor.count(MAX_KEYS, "metadata keys")
    metadata: dict[str, Value] = {}
    for _ in range(key_count):
        key = cursor.name("a metadata key")
        if key in metadata:
            raise GgufError(f"the metadata key {key!r:.80} appears twice")
        metadata[key] = cursor.value(key)
    tensors: dict[str, Tensor] = {}
    for _ in range(tensor_count):
        tensor = cursor.tensor()
        if tensor.name in tensors:
            raise GgufError(f"the tensor {tensor.name!r:.80} appears twice")
        tensors[tensor.name] = tensor
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1) or alignment > 2**20:
        raise GgufError(f"general.alignment is {alignment!r:.40}, not a small power of two")
    data_offset = (cursor.position + alignment - 1) // alignment * alignment
    return Header(version, cursor.order == ">", metadata, tensors, data_offset, file_size)


class _Cursor:
    """Walks through the header, fetching more of the file only when a value needs it."""

    def __init__(self, read: Read, file_size: int | None) -> None:
        self.read = read
        self.end = MAX_HEADER if file_size is None else min(file_size, MAX_HEADER)
        self.whole = file_size is not None and file_size <= MAX_HEADER
        self.data = b""
        self.position = 0
        self.order = "<"
        self.strings = 0

    def ensure(self, length: int, what: str) -> None:
        """Have the next bytes at hand, or say what is cut."""
        wanted = self.position + length
        if wanted <= len(self.data):
            return
        if wanted > self.end:
            limit = "the file" if self.whole else f"the {MAX_HEADER // 2**20} MiB a header may have"
            raise GgufError(f"cut short or false: {what} at byte {self.position} goes beyond {limit}")
        step = NEXT_READ if self.data else FIRST_READ
        length = min(max(wanted - len(self.data), step), self.end - len(self.data))
        self.data += self.read(len(self.data), length)
        if wanted > len(self.data):
            raise GgufError(f"cut short: the file ends at byte {len(self.data)}, within {what}")

    def take(self, length: int, what: str) -> bytes:
        self.ensure(length, what)
        self.position += length
        return self.data[self.position - length : self.position]

    def scalar(self, code: str, what: str) -> int | float | bool:
        value: int | float | bool
        (value,) = struct.unpack(self.order + code, self.take(struct.calcsize("=" + code), what))
        return value

    def whole_number(self, code: str, what: str) -> int:
        return int(self.scalar(code, what))

    def order_by_version(self) -> int:
        """The version, which also tells the byte order."""
        raw = self.take(4, "the version")
        little, big = int.from_bytes(raw, "little"), int.from_bytes(raw, "big")
        if big < little:
            self.order = ">"
        version = min(little, big)
        if version not in (2, 3):
            raise GgufError(f"GGUF version {version} is not supported (2 and 3 are)")
        return version

    def count(self, limit: int, what: str) -> int:
        number = self.whole_number("Q", f"the number of {what}")
        if number > limit:
            raise GgufError(f"it claims {number} {what}; more than {limit} is not believed")
        return number

    def string(self, what: str, limit: int = MAX_STRING) -> bytes:
        length = self.whole_number("Q", f"the length of {what}")
        if length > limit:
            raise GgufError(f"{what} claims a length of {length} bytes; more than {limit} is not believed")
        return self.take(length, what)

    def name(self, what: str) -> str:
        raw = self.string(what, 2**16)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise GgufError(f"{what} is not UTF-8: {raw[:40]!r}") from None

    def value(self, key: str) -> Value:
        what = f"the value of {key!r:.80}"
        kind = self.whole_number("I", f"the type of {key!r:.80}")
        if kind == _STRING:
            return self.string(what)
        if kind != _ARRAY:
            return self.scalar(self.code(kind, what), what)
        kind = self.whole_number("I", f"the element type of {key!r:.80}")
        number = self.count(MAX_ELEMENTS, f"elements in {key!r:.80}")
        if kind == _STRING:
            return self.string_array(number, what)
        code = self.code(kind, what)
        return struct.unpack(f"{self.order}{number}{code}", self.take(number * struct.calcsize(code), what))

    def code(self, kind: int, what: str) -> str:
        if kind == _ARRAY:
            raise GgufError(f"{what} is an array of arrays; no model has one")
        if kind not in _SCALARS:
            raise GgufError(f"{what} has the unknown type {kind}")
        return _SCALARS[kind]

    def string_array(self, number: int, what: str) -> tuple[bytes, ...]:
        self.strings += number
        if self.strings > MAX_STRINGS:
            raise GgufError(f"{what} brings the header to {self.strings} strings: not believed")
        self.ensure(8 * number, what)
        unpack = struct.Struct(self.order + "Q").unpack_from
        found = []
        for _ in range(number):
            if self.position + 8 > len(self.data):
                self.ensure(8, what)
            (length,) = unpack(self.data, self.position)
            start = self.position + 8
            if length > MAX_STRING:
                raise GgufError(f"{what} holds a string of {length} bytes: not believed")
            if start + length > len(self.data):
                self.ensure(8 + length, what)
            self.position = start + length
            found.append(self.data[start : self.position])
        return tuple(found)

    def tensor(self) -> Tensor:
        name = self.name("a tensor's name")
        dimensions = self.whole_number("I", f"the dimensions of {name!r:.80}")
        if dimensions > MAX_DIMENSIONS:
            raise GgufError(f"the tensor {name!r:.80} claims {dimensions} dimensions; there are at most 4")
        layout = f"{self.order}{dimensions}QIQ"
        *shape, kind, offset = struct.unpack(layout, self.take(8 * dimensions + 12, "the list of tensors"))
        elements = math.prod(shape)
        if elements >= 2**63 or offset >= 2**63:
            raise GgufError(f"the tensor {name!r:.80} claims a size that no machine has")
        if kind not in _TYPES:
            return Tensor(name, tuple(shape), None, offset)
        block, size = _TYPES[kind]
        return Tensor(name, tuple(shape), elements // block * size, offset)
