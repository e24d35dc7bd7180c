"""Incumbent against canary, judged honestly while someone keeps looking."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from tui.model.running import RateSums, half_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "ArmSums",
    "Basis",
    "Judged",
    "Judgement",
    "RateSums",
    "Rules",
    "Stratum",
    "TypedRate",
    "Verdict",
    "judge",
    "stratum_of",
]

Verdict = Literal["PASS", "FAIL", "EVEN", "INCONCLUSIVE", "NO_DATA"]
Basis = Literal["decode", "delivered"]
Stratum = Literal["alone", "2", "3-4", "5+", "unknown"]
STRATA: tuple[Stratum, ...] = get_args(Stratum)

HIGH_CORRELATION = 0.25
"""Lag-1 correlation of x above which the interval errs more often than it says: 9 to 14 % where the rates
correlate by .6, which lengths of every size dilute to about .3 in x."""
OTHER_MIX = 0.2
"""Share of requests at another concurrency from which on the mixes are called different."""
_FORESEEABLE = 100_000


@dataclass(frozen=True, slots=True)
class Rules:
    """What a verdict takes.

    Attributes:
        alpha: error rate under constant looking. tau: standard deviation of expected log effects.
        min_requests: n_effective that each arm needs. effect: difference that does not matter, a fraction.
        short_tokens: answers with fewer decoded tokens count in nothing.
    """

    alpha: float = 0.05
    tau: float = 0.2
    min_requests: float = 20
    effect: float = 0.05
    short_tokens: int = 8


@dataclass(frozen=True, slots=True)
class TypedRate:
    """An incumbent known only by its rate in tok/s, and what that rate counts."""

    rate: float
    basis: Basis = "decode"


@dataclass(frozen=True, slots=True)
class ArmSums:
    """What the comparison needs of an arm: warm-up and short answers are already left out.

    Attributes:
        decode: n - 1 tokens over decode seconds, by concurrency.
        delivered: n tokens over prefill and decode seconds, of the requests whose prefill is known.
        left_out: how many requests were left out, by reason.
        grows: whether more requests may come; not so for another log's arm or a frozen one.
    """

    decode: Mapping[Stratum, RateSums]
    delivered: Mapping[Stratum, RateSums] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    grows: bool = True


@dataclass(frozen=True, slots=True)
class Judged:
    """One arm as the comparison used it.

    Attributes:
        requests: requests counted. n_effective: (sum t)^2/sum(t^2); None for a typed rate.
        left_out: how many were left out, by reason ("warm-up", "short", "other concurrency", ...).
        correlation: lag-1 correlation of the requests; None for a typed rate or fewer than two.
        strata: requests by concurrency, before one was chosen.
    """

    rate_tok_s: float | None
    delivered_tok_s: float | None
    requests: int
    n_effective: float | None
    left_out: dict[str, int]
    correlation: float | None = None
    strata: dict[Stratum, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict with everything that makes it checkable.

    Attributes:
        reason: the verdict in words. ratio: canary over incumbent. interval: always-valid 95 %, None until
            both arms have enough effective requests.
        other_ratio: the ratio on the other basis, when both arms are logs.
        stratum: the concurrency that was compared; None when all of them were pooled.
        requests_needed: more requests per growing arm until a decision is likely; None where none is known.
        warnings: what the reader must know before acting (mixed concurrency, correlation, typed basis).
    """

    verdict: Verdict
    reason: str
    ratio: float | None
    interval: tuple[float, float] | None
    basis: Basis
    other_ratio: float | None
    stratum: Stratum | None
    requests_needed: int | None
    incumbent: Judged
    canary: Judged
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Side:
    """One arm in the chosen stratum; a typed rate has no sums."""

    name: str
    sums: RateSums | None
    rate: float | None
    other_rate: float | None
    grows: bool

    def missing(self, rules: Rules) -> str:
        """What keeps this arm from being judged, in words; empty when nothing does."""
        if self.rate is None:
            return f"no {self.name} request to compare"
        if self.sums is None or (self.sums.n >= 2 and self.sums.n_effective >= rules.min_requests):
            return ""
        # Cut, not rounded: 19.96 must not read as 20.
        effective = math.floor(10 * self.sums.n_effective) / 10
        return f"{self.name} has {effective:.1f} effective requests of {rules.min_requests:g} needed"

    def requests_missing(self, rules: Rules) -> float:
        """More requests of the present lengths until this arm may be judged; infinite if none can come."""
        if not self.missing(rules):
            return 0
        if not self.grows or self.sums is None:
            return math.inf
        per_request = self.sums.n_effective / self.sums.n if self.sums.n else 1.0
        return max(math.ceil(rules.min_requests / per_request), 2) - self.sums.n

    def variance_after(self, more: float) -> float:
        """var(ln r) once `more` requests of the present spread have come."""
        variance = None if self.sums is None else self.sums.log_rate_variance
        if self.sums is None or variance is None:
            return 0.0
        return variance * self.sums.n / (self.sums.n + (more if self.grows else 0))


def stratum_of(concurrency: int | None) -> Stratum:
    """The stratum of a request by the most requests in flight with it, itself included."""
    if concurrency is None:
        return "unknown"
    if concurrency <= 1:
        return "alone"
    return "2" if concurrency == 2 else "3-4" if concurrency <= 4 else "5+"


def judge(
    incumbent: ArmSums | TypedRate, canary: ArmSums, rules: Rules, concurrency: str = "match"
) -> Judgement:
    """The verdict on a canary, valid however often it is asked for.

    Args:
        incumbent: the arm to beat, or its typed rate.
        canary: the arm on trial.
        rules: error rate, smallest n, smallest effect.
        concurrency: "match" compares the stratum with most requests in both arms; "alone", a number of
            requests in flight, or "any" for all pooled.

    Raises:
        ValueError: `concurrency` is none of these.
    """
    basis: Basis = incumbent.basis if isinstance(incumbent, TypedRate) else "decode"
    strata = _choose(incumbent, canary, concurrency)
    old = _side("incumbent", incumbent, strata, basis)
    new = _side("canary", canary, strata, basis)
    ratio = new.rate / old.rate if new.rate is not None and old.rate else None
    logs = isinstance(incumbent, ArmSums)
    other = new.other_rate / old.other_rate if logs and new.other_rate and old.other_rate else None
    outcome = _outcome(old, new, ratio, other, rules)
    if not strata and canary.decode and isinstance(incumbent, ArmSums) and incumbent.decode:
        outcome = outcome._replace(reason=_apart(incumbent, canary), requests_needed=None)
    return Judgement(
        verdict=outcome.verdict,
        reason=outcome.reason,
        ratio=ratio,
        interval=outcome.interval,
        basis=basis,
        other_ratio=other,
        stratum=strata[0] if len(strata) == 1 else None,
        requests_needed=outcome.requests_needed,
        incumbent=_judged(incumbent, strata, basis),
        canary=_judged(canary, strata, basis),
        warnings=tuple(_warnings(incumbent, canary, old, new)),
    )


class _Outcome(NamedTuple):
    verdict: Verdict
    reason: str
    interval: tuple[float, float] | None = None
    requests_needed: int | None = None


def _choose(incumbent: ArmSums | TypedRate, canary: ArmSums, concurrency: str) -> tuple[Stratum, ...]:
    """The strata to compare: one, all of them pooled for "any", none when nothing matches."""
    if concurrency == "any":
        return STRATA
    if concurrency == "alone":
        return ("alone",)
    if concurrency.isdecimal() and int(concurrency) > 0:
        return (stratum_of(int(concurrency)),)
    if concurrency != "match":
        raise ValueError(f"concurrency is match, alone, any or a number of requests, not {concurrency!r}")
    common = {stratum: sums.n for stratum, sums in canary.decode.items()}
    if isinstance(incumbent, ArmSums):
        ours = incumbent.decode
        # Before the canary's first request the incumbent still has its numbers.
        common = {
            stratum: min(common.get(stratum, 0), sums.n) if common else sums.n
            for stratum, sums in ours.items()
        }
    return (max(STRATA, key=lambda stratum: common.get(stratum, 0)),) if any(common.values()) else ()


def _side(name: str, arm: ArmSums | TypedRate, strata: tuple[Stratum, ...], basis: Basis) -> _Side:
    if isinstance(arm, TypedRate):
        return _Side(name, None, arm.rate, None, grows=False)
    decode, delivered = _pooled(arm.decode, strata), _pooled(arm.delivered, strata)
    sums, other = (decode, delivered) if basis == "decode" else (delivered, decode)
    return _Side(name, sums, sums.rate, other.rate, arm.grows)


def _pooled(by_stratum: Mapping[Stratum, RateSums], strata: tuple[Stratum, ...]) -> RateSums:
    parts = [by_stratum[stratum] for stratum in strata if stratum in by_stratum]
    return parts[0] if len(parts) == 1 else RateSums.pooled(parts)


def _outcome(old: _Side, new: _Side, ratio: float | None, other: float | None, rules: Rules) -> _Outcome:
    missing = [words for side in (old, new) if (words := side.missing(rules))]
    if missing or ratio is None:
        closed = [side.name for side in (old, new) if side.requests_missing(rules) == math.inf]
        more = [f"the {name} gets no more requests" for name in closed]
        needed = _requests_needed(old, new, ratio, rules)
        return _Outcome("NO_DATA", "; ".join([*missing, *more]), None, needed)
    half = _half(old, new, 0, rules)
    low, high = (math.exp(math.log(ratio) + end) for end in (-half, half))
    interval = (low, high)
    if 1 - rules.effect <= low and high <= 1 + rules.effect:
        outcome = _Outcome("EVEN", f"the rates differ by less than {rules.effect:.0%}", interval)
    elif low > 1:
        outcome = _Outcome("PASS", f"the canary is faster: at least {low:.2f}x", interval)
    elif high < 1:
        outcome = _Outcome("FAIL", f"the canary is slower: at most {high:.2f}x", interval)
    else:
        words = f"anything from {low:.2f}x to {high:.2f}x is possible"
        return _Outcome("INCONCLUSIVE", words, interval, _requests_needed(old, new, ratio, rules))
    if other is not None and _disagree(ratio, other, rules.effect):
        words = f"decode rate says {ratio:.2f}x, delivered rate {other:.2f}x: they disagree"
        return _Outcome("INCONCLUSIVE", words, interval)
    return outcome


def _disagree(ratio: float, other: float, effect: float) -> bool:
    """Whether the two bases fall on different sides of 1 by more than an effect that does not matter."""
    if (ratio - 1) * (other - 1) >= 0:
        return False
    return max(abs(ratio - 1), abs(other - 1)) > effect


def _half(old: _Side, new: _Side, more: float, rules: Rules) -> float:
    se2 = old.variance_after(more) + new.variance_after(more)
    return half_width(se2, rules.alpha, rules.tau, math.log) if se2 > 0 else 0.0


def _requests_needed(old: _Side, new: _Side, ratio: float | None, rules: Rules) -> int | None:
    """More requests per growing arm until the interval decides, at the present effect and spread."""
    least = max(old.requests_missing(rules), new.requests_missing(rules))
    if math.isinf(least):
        return None
    known = [side for side in (old, new) if side.sums is not None and side.sums.n >= 2]
    if ratio is None or len(known) < sum(side.sums is not None for side in (old, new)):
        return int(least)
    effect = math.log(ratio)
    even = min(math.log(1 + rules.effect) - effect, effect - math.log(1 - rules.effect))
    margin = max(abs(effect), even)
    low, high = int(least), max(int(least), 1)
    while _half(old, new, high, rules) >= margin:
        low, high = high, 2 * high
        if high > _FORESEEABLE:
            return None
    while low < high:
        middle = (low + high) // 2
        if _half(old, new, middle, rules) < margin:
            high = middle
        else:
            low = middle + 1
    return high


def _judged(arm: ArmSums | TypedRate, strata: tuple[Stratum, ...], basis: Basis) -> Judged:
    if isinstance(arm, TypedRate):
        decode, delivered = (arm.rate, None) if arm.basis == "decode" else (None, arm.rate)
        return Judged(decode, delivered, 0, None, {})
    decoded, whole = _pooled(arm.decode, strata), _pooled(arm.delivered, strata)
    counted = {stratum: part.n for stratum, part in arm.decode.items() if part.n}
    sums = decoded if basis == "decode" else whole
    reasons = {
        "other concurrency": sum(counted.values()) - decoded.n,
        "prefill time unknown": decoded.n - sums.n,
    }
    return Judged(
        rate_tok_s=decoded.rate,
        delivered_tok_s=whole.rate,
        requests=sums.n,
        n_effective=sums.n_effective,
        left_out={reason: n for reason, n in {**arm.left_out, **reasons}.items() if n},
        correlation=sums.correlation,
        strata=counted,
    )


def _apart(incumbent: ArmSums, canary: ArmSums) -> str:
    return (
        f"no concurrency in common (incumbent {_mix_in_words(_mix(incumbent))}, canary"
        f" {_mix_in_words(_mix(canary))}): --concurrency any compares them all the same"
    )


def _mix(arm: ArmSums) -> dict[Stratum, float]:
    total = sum(sums.n for sums in arm.decode.values())
    return {stratum: arm.decode[stratum].n / total for stratum in STRATA if stratum in arm.decode and total}


def _mix_in_words(mix: Mapping[Stratum, float]) -> str:
    return ", ".join(f"{share:.0%} {stratum}" for stratum, share in mix.items() if share)


def _warnings(incumbent: ArmSums | TypedRate, canary: ArmSums, old: _Side, new: _Side) -> Iterator[str]:
    ours = _mix(canary)
    if isinstance(incumbent, TypedRate):
        if ours and max(ours.values()) <= 1 - OTHER_MIX:
            yield f"mixed concurrency: canary {_mix_in_words(ours)}, that of a typed rate is unknown"
        yield from _basis_warning(incumbent, new)
    else:
        theirs = _mix(incumbent)
        apart = sum(abs(ours.get(stratum, 0) - theirs.get(stratum, 0)) for stratum in STRATA) / 2
        if ours and theirs and apart >= OTHER_MIX:
            yield (f"different concurrency: incumbent {_mix_in_words(theirs)}, canary {_mix_in_words(ours)}")
    for side in (old, new):
        rho = None if side.sums is None else side.sums.correlation
        if rho is not None and rho > HIGH_CORRELATION:
            yield (
                f"{side.name} requests resemble the one before (correlation {rho:.2f}): the interval errs"
                " more often than it says"
            )


def _basis_warning(typed: TypedRate, canary: _Side) -> Iterator[str]:
    """Told when the other reading of a typed rate would turn the answer round."""
    if canary.rate is None or canary.other_rate is None:
        return
    if (canary.rate - typed.rate) * (canary.other_rate - typed.rate) < 0:
        other: Basis = "delivered" if typed.basis == "decode" else "decode"
        yield (
            f"{typed.rate:g} tok/s is taken as a {typed.basis} rate; as a {other} rate the ratio would be"
            f" {canary.other_rate / typed.rate:.2f}x: say --basis {other} if it is one"
        )
