"""How much memory a model needs, estimated from its header alone: weights, cache, compute margin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.preflight.gguf import BLOCKS

if TYPE_CHECKING:
    from tui.preflight.gguf import Header

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
WINDOW_PERIODS = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "cohere2": 4, "gpt-oss": 2}
"""Architectures whose headers name a window but not which layers use it: all but every n-th do."""
AUTO_SLOTS = 4
"""Slots that llama-server opens by itself; they share one cache."""
CELL_STEP = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How the server would be started.

    Attributes:
        context: tokens over all slots; None means as trained.
        cache_type, draft_cache_type: number format of the caches, one of CACHE_TYPES.
        slots: requests at once; None leaves it to the server.
        unified: whether the slots share one cache.
        batch: tokens in one physical batch.
        depth: draft tokens a round.
    """

    context: int | None = None
    cache_type: str = "f16"
    draft_cache_type: str = "f16"
    slots: int | None = None
    unified: bool = True
    batch: int = 512
    depth: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """An estimate, in bytes.

    Attributes:
        weights: all of them. host_weights: of these, what stays in host memory with every layer offloaded.
        cache: keys, values and recurrent states; None where the header does not tell.
        compute: smallest and largest margin for buffers; old builds, and those without flash attention,
            need more.
        context: the context it holds for, tokens.
        notes: what the estimate leaves open.
    """

    weights: int | None
    host_weights: int
    cache: int | None
    compute: tuple[int, int]
    context: int
    notes: tuple[str, ...] = field(default=())

    def need(self, *, on_host: bool) -> tuple[int, int] | None:
        """Smallest and largest need where it runs: in host memory, or on a device."""
        if self.weights is None or self.cache is None:
            return None
        base = self.weights + self.cache - (0 if on_host else self.host_weights)
        return base + self.compute[0], base + self.compute[1]


def footprint(header: Header, setup: Setup, *, draft: bool = False) -> Footprint:
    """Estimate what a model needs.

    Args:
        header: of the model.
        setup: how the server would be started; a drafter gets the target's context.
        draft: whether it is the drafter.
    """
    shape = Shape(header)
    notes: list[str] = []
    context = setup.context or shape.number("context_length", 0)
    if not context:
        notes.append("no context length is known: the cache is not counted")
    slots = setup.slots or AUTO_SLOTS
    streams = 1 if setup.unified else slots
    cells = _padded(context // streams)
    window = min(cells, _padded(shape.window * (slots if setup.unified else 1) + setup.batch))
    cache_type = setup.draft_cache_type if draft else setup.cache_type
    _, block, size = BLOCKS[cache_type.upper()]
    in_full, in_window = shape.cache_elements()
    cache = (cells * in_full + window * in_window) * streams * size // block + shape.state() * slots
    activations = setup.batch * 4 * (shape.width + 4 * shape.feed_forward())
    mask = 2 * setup.batch * (cells + (window if in_window else 0))
    logits = 4 * shape.vocabulary()
    outputs = slots * (1 if draft else setup.depth + 1)
    weights = header.weights
    embeddings = header.tensors.get("token_embd.weight")
    untied = "output.weight" in header.tensors
    return Footprint(
        weights=weights,
        host_weights=(embeddings.size or 0) if embeddings and untied else 0,
        cache=cache if context else None,
        compute=(mask + max(activations, outputs * logits), mask + activations + setup.batch * logits),
        context=context,
        notes=(*notes, *shape.notes),
    )


def _padded(cells: int) -> int:
    return -(-cells // CELL_STEP) * CELL_STEP


class Shape:
    """What a header says about layers and heads.

    Attributes:
        width: hidden size. window: tokens of the sliding window, 0 without one.
        notes: what the header leaves open.
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        self.prefix = header.architecture or ""
        self.notes: list[str] = []
        self.width = self.number("embedding_length", 0)
        self.heads = max(1, *self.each("attention.head_count", 1, 1))
        self.layers = min(self.number("block_count", 0), 2**12)
        self.window = self.number("attention.sliding_window", 0)
        if f"{self.prefix}.wkv.head_size" in header.metadata:
            self.notes.append("its recurrent state is not counted")

    def number(self, key: str, default: int) -> int:
        """A whole number of this architecture, never negative."""
        value = self.header.number(f"{self.prefix}.{key}")
        return default if value is None else max(0, value)

    def each(self, key: str, default: int, layers: int | None = None) -> list[int]:
        """A value for each layer: one for all, or a list (repeated where it is shorter)."""
        count = self.layers if layers is None else layers
        values = self.header.array(f"{self.prefix}.{key}")
        if values is None:
            return [self.number(key, default)] * count
        whole = [max(0, int(value)) for value in values if isinstance(value, int)] or [default]
        return [whole[i % len(whole)] for i in range(count)]

    def vocabulary(self) -> int:
        """Number of tokens."""
        tokens = self.header.array("tokenizer.ggml.tokens")
        return len(tokens) if tokens else self.number("vocab_size", 0)

    def feed_forward(self) -> int:
        """Widest inner size that one token passes through."""
        experts = self.number("expert_used_count", 0) * self.number("expert_feed_forward_length", 0)
        return max([experts, *self.each("feed_forward_length", 0)])

    def windowed(self) -> list[bool]:
        """Which layers look at the window only."""
        if not self.window:
            return [False] * self.layers
        key = "attention.sliding_window_pattern"
        if self.header.array(f"{self.prefix}.{key}") is not None:
            return [bool(value) for value in self.each(key, 0)]
        period = self.number(key, WINDOW_PERIODS.get(self.prefix, 0))
        if not period:
            self.notes.append("which layers use the window is not in the header: at most")
            return [False] * self.layers
        return [layer % period < period - 1 for layer in range(self.layers)]

    def cache_elements(self) -> tuple[int, int]:
        """Keys and values a token: of layers that keep the whole context, and of those with a window."""
        head = self.width // self.heads
        latent = f"{self.prefix}.attention.key_length_mla" in self.header.metadata
        sizes = {False: "", True: "_swa"}
        totals = {False: 0, True: 0}
        keys, values = self.number("attention.key_length", head), self.number("attention.value_length", head)
        lengths = {
            windowed: self.number(f"attention.key_length{suffix}", keys)
            + (0 if latent else self.number(f"attention.value_length{suffix}", values))
            for windowed, suffix in sizes.items()
        }
        kv_heads = self.each("attention.head_count_kv", self.heads)
        for layer, windowed in enumerate(self.windowed()):
            if self._keeps_keys(layer):
                totals[windowed] += kv_heads[layer] * lengths[windowed]
        return totals[False], totals[True]

    def _keeps_keys(self, layer: int) -> bool:
        """Whether a layer of the trunk has a cache of its own."""
        extra = self.number("nextn_predict_layers", 0)
        trunk = self.layers - (extra if extra < self.layers else 0)
        if layer >= trunk - self.number("attention.shared_kv_layers", 0):
            return False
        fused = self._has(layer, "attn_qkv") and not self._has(layer, "ssm_conv1d")
        return fused or self._has(layer, "attn_k") or self._has(layer, "attn_kv_a_mqa")

    def state(self) -> int:
        """Bytes of recurrent state a slot keeps (32-bit floats)."""
        inner, size = self.number("ssm.inner_size", 0), self.number("ssm.state_size", 0)
        kept = max(0, self.number("ssm.conv_kernel", 1) - 1)
        one = kept * (inner + 2 * self.number("ssm.group_count", 0) * size) + inner * size
        short = max(0, self.number("shortconv.l_cache", 1) - 1) * self.width
        total = 0
        for layer in range(self.layers):
            total += one * self._has(layer, "ssm_conv1d") + short * self._has(layer, "shortconv.conv")
        return 4 * total

    def _has(self, layer: int, name: str) -> bool:
        return f"blk.{layer}.{name}.weight" in self.header.tensors
