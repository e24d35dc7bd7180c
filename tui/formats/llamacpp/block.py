"""The lines that a server prints at the end of a request, put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from tui.formats.events import DrafterShare, Finish, ProblemKind, Request, RoundsFrom
from tui.formats.forms import is_falling
from tui.formats.llamacpp.doubts import doubt_of
from tui.formats.llamacpp.lines import Timing, adds_up, is_possible, is_unfinished
from tui.model.rounds import candidate_rounds, fits_mean

if TYPE_CHECKING:
    from tui.formats.llamacpp.counters import Counted
    from tui.formats.llamacpp.flight import Run
    from tui.formats.llamacpp.lines import DraftCounts, Part
    from tui.formats.prefixes import Line

_MOST_RAW = 40
_CLAMPED_RATE = 1_000_000.0
_LONGEST_MS = 1e9


@dataclass(slots=True)
class Block:
    """One request's lines so far.

    Attributes:
        slot, task: None where the lines carry no tag.
        bare: lines without a tag belong here: the newest tag was an empty one, or there are no tags.
        run: what launch, release and per-round lines told of the request.
        last: the newest line of it that has a clock, if any has.
        sound: the acceptance line contradicts neither itself nor what is possible.
        rate_over: over how many tokens its rates are, where its form tells.
        depth, most_rounds: bounds that a command-line tool prints of its drafts, and of its rounds.
        doubt: why drafting is not to be counted, where the form tells.
    """

    slot: int | None
    task: int | None
    last: Line
    bare: bool = False
    run: Run | None = None
    prompt: Timing | None = None
    decode: Timing | None = None
    drafts: DraftCounts | None = None
    per_position: tuple[float, ...] | None = None
    sound: bool = True
    rate_over: Literal["n", "n-1"] | None = None
    depth: int | None = None
    most_rounds: int | None = None
    doubt: str | None = None
    statistics: list[Counted] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Note a line as one of this block's."""
        if line.clock is not None or self.last.clock is None:
            self.last = line
        self.keep_raw(line)

    def take(self, name: str, value: Part) -> list[ProblemKind]:
        """Take a part that was read.

        Args:
            name: which part, an attribute of this block.
            value: what it says.

        Returns:
            What is wrong with it; nothing is built on what contradicts itself.
        """
        faults: list[ProblemKind] = []
        setattr(self, name, value)
        counts = self.drafts if name == "drafts" else None
        if counts is not None:
            self.sound = is_possible(counts)
            faults += [] if self.sound else ["impossible"]
            faults += [] if not counts.rest else ["cut" if is_unfinished(counts) else "renamed"]
            self.per_position = counts.per_position or self.per_position
        if isinstance(value, Timing) and not (_is_a_time(value.ms) and adds_up(value)):
            # Up to b8663 these could be printed without having been set; quoted ones are made up.
            setattr(self, name, Timing(None, value.tokens, None, None))
            faults.append("impossible")
        if self.per_position and not is_falling(self.per_position):
            self.per_position = ()
            faults.append("impossible")
        return faults

    def keep_raw(self, line: Line) -> None:
        """Keep the line as it was printed, up to some number of them."""
        if len(self.raw) < _MOST_RAW:
            self.raw.append(line.text.rstrip())

    @property
    def empty(self) -> bool:
        """Whether only the tag was seen so far."""
        return (
            self.prompt is None and self.decode is None and self.drafts is None and self.per_position is None
        )


class Known(NamedTuple):
    """What the stream knows beside the block: model, drafters and the depth that no draft exceeds."""

    source: str
    stream: str | None
    model: str | None
    drafter: str | None
    depth: int | None
    build: int | None = None
    replays: bool | None = None


class _Rounds(NamedTuple):
    exact: int | None = None
    span: tuple[int, int] | None = None
    origin: RoundsFrom | None = None
    draft_ms: float | None = None
    shares: tuple[DrafterShare, ...] | None = None


def _is_a_time(ms: float | None) -> bool:
    return ms is None or 0 <= ms <= _LONGEST_MS


def unfinished(known: Known, run: Run, line: Line, finish: Finish) -> Request:
    """A request that was released without its block: cancelled or failed."""
    return Request(
        source=known.source,
        stream=known.stream,
        engine="llama.cpp",
        time=line.time,
        clock_s=line.clock_s,
        slot=run.slot,
        task=run.task,
        model=known.model,
        drafter=known.drafter,
        prompt_tokens=run.prompt_tokens,
        concurrency=run.concurrency,
        finish=finish,
        raw=(line.text.rstrip(),),
    )


def finished(known: Known, block: Block, credit: tuple[DrafterShare, ...] | None) -> Request:
    """The request that a block tells of.

    Args:
        known: what the stream knows beside it.
        block: its lines.
        credit: what the statistics counters prove about each drafter's work in it.
    """
    run, decode, prompt = block.run, block.decode, block.prompt
    tokens = decode.tokens if decode else None
    drafted, accepted, ratio, mean = _counts(block, credit)
    depth = block.depth or _depth(block, known.drafter) or known.depth
    rounds = _rounds(block, credit, depth, drafted, accepted) if drafted is not None else _Rounds()
    if accepted is not None and rounds.exact and mean is None and block.sound:
        mean = 1 + accepted / rounds.exact
    left = None
    if tokens is not None and accepted is not None and rounds.exact is not None:
        left = tokens - 1 - accepted - rounds.exact
    rate, rate_over = _rate(decode), block.rate_over or _rate_over(decode)
    doubt = block.doubt
    if block.drafts is not None and doubt is None:
        doubt = doubt_of(
            block.drafts,
            sound=block.sound,
            build=known.build,
            over_rest=None if rate_over is None else rate_over == "n-1",
            replays=True if run is not None and run.replays else known.replays,
            overshoot=None if left is None else -left,
            depth=depth,
        )
    # Tools disagree on whether the first token is the prompt's.
    countable = left is not None and left >= 0 and doubt is None and block.most_rounds is None
    whole = run.prompt_tokens if run else None
    evaluated = prompt.tokens if prompt else None
    cached = whole - evaluated if whole is not None and evaluated is not None and whole >= evaluated else None
    return Request(
        source=known.source,
        stream=known.stream,
        engine="llama.cpp",
        time=block.last.time,
        clock_s=block.last.clock_s,
        slot=block.slot,
        task=block.task,
        model=known.model,
        drafter=known.drafter,
        prompt_tokens=whole,
        prompt_evaluated_tokens=evaluated,
        prompt_cached_tokens=cached,
        prompt_ms=prompt.ms if prompt else None,
        tokens=tokens,
        decode_ms=decode.ms if decode else None,
        rate_tok_s=rate,
        rate_over=None if rate is None else rate_over,
        drafted=drafted,
        accepted=accepted,
        acceptance_ratio=ratio,
        rounds=rounds.exact,
        rounds_range=rounds.span,
        rounds_from=rounds.origin,
        mean_accepted_length=mean,
        accepted_per_position=(block.per_position or None) if block.sound else None,
        draft_ms=rounds.draft_ms,
        plain_steps=left if countable else None,
        by_drafter=rounds.shares,
        concurrency=run.concurrency if run else None,
        finish="done",
        doubt=doubt,
        raw=tuple(block.raw),
    )


def _counts(
    block: Block, credit: tuple[DrafterShare, ...] | None
) -> tuple[int | None, int | None, float | None, float | None]:
    """Drafted, accepted, ratio and mean accepted length, from the best line that gives them."""
    counts, run = block.drafts, block.run
    if counts is not None:
        if block.sound:
            return counts.drafted, counts.accepted, counts.ratio, counts.mean
        return counts.drafted, counts.accepted, None, None
    if run is not None and run.rounds and run.begun and run.trusted and not run.replays:
        ratio = run.accepted / run.drafted if run.drafted else None
        return run.drafted, run.accepted, ratio, None
    # No acceptance line: nothing was drafted, if the counters prove it; else it is not known.
    if credit is not None and not any(share.drafted for share in credit) and block.decode is not None:
        return 0, 0, None, None
    return None, None, None, None


def _rounds(
    block: Block,
    credit: tuple[DrafterShare, ...] | None,
    depth: int | None,
    drafted: int,
    accepted: int | None,
) -> _Rounds:
    """The request's rounds by the best evidence there is, never against its own mean accepted length."""
    if accepted is None or not block.sound:
        return _Rounds()
    mean = block.drafts.mean if block.drafts else None
    if credit is not None and sum([share.drafted for share in credit]) == drafted:
        count = sum([share.rounds for share in credit])
        if _fits(count, drafted, accepted, mean):
            spent = [share.draft_ms for share in credit if share.draft_ms is not None]
            total = round(sum(spent), 3) if len(spent) == len(credit) else None
            # Their accepted tokens can be one more for each draft that was verified again, until today.
            told = len(credit) > 1 and sum([share.accepted for share in credit]) == accepted
            return _Rounds(count, None, "statistics", total, credit if told else None)
    run = block.run
    counted = run is not None and run.rounds and (run.accepted, run.drafted) == (accepted, drafted)
    if run is not None and counted and _fits(run.rounds, drafted, accepted, mean):
        return _Rounds(run.rounds, None, "per_round_lines")
    left = candidate_rounds(
        drafted=drafted,
        accepted=accepted,
        mean=mean,
        tokens=block.decode.tokens if block.decode else None,
        depth=depth,
        per_position=block.per_position,
    )
    if block.most_rounds is not None:
        left = range(left[0], min(left[-1], block.most_rounds) + 1) if left else left
    if not left:
        return _Rounds()
    origin: Literal["mean_length"] | None = "mean_length" if mean is not None and accepted > 0 else None
    if len(left) == 1:
        return _Rounds(left[0], None, origin)
    return _Rounds(None, (left[0], left[-1]), origin)


def _fits(rounds: int, drafted: int, accepted: int, mean: float | None) -> bool:
    """Whether a count of rounds agrees with the request's other numbers."""
    if not drafted:
        return not rounds
    return 0 < rounds <= drafted and (mean is None or not accepted or fits_mean(rounds, accepted, mean))


def _depth(block: Block, drafter: str | None) -> int | None:
    """Most tokens a draft had, by the per-position list; n-gram drafts can be longer than the list."""
    if not block.per_position or drafter is None or "ngram" in drafter:
        return None
    return len(block.per_position)


def _rate(decode: Timing | None) -> float | None:
    """The printed rate, where there is one: not for one token, and not the bound of a clamped time."""
    if decode is None or decode.tokens <= 1 or decode.rate_tok_s in (None, 0.0, _CLAMPED_RATE):
        return None
    return decode.rate_tok_s


def _rate_over(decode: Timing | None) -> Literal["n", "n-1"] | None:
    """Over how many tokens the printed figures are: one definition must fit them and the other must not."""
    if (
        decode is None
        or decode.tokens <= 1
        or not decode.ms
        or decode.per_token_ms is None
        or not decode.rate_tok_s
    ):
        return None
    over_all = _prints(decode.ms, decode.tokens, decode.per_token_ms, decode.rate_tok_s)
    over_rest = _prints(decode.ms, decode.tokens - 1, decode.per_token_ms, decode.rate_tok_s)
    if over_all == over_rest:
        return None
    return "n" if over_all else "n-1"


def _prints(ms: float, tokens: int, per_token_ms: float, rate: float) -> bool:
    """Whether these figures are printed for so many tokens in a time known to .005 ms."""
    error = 0.0051
    return (
        abs(ms / tokens - per_token_ms) <= error + error / tokens
        and abs(1000 * tokens / ms - rate) <= error + 1000 * tokens / (ms * ms) * error
    )
