"""The cost model against published runs: how far off is each kind of cost?

Run `python -m tests.bench.cost_reality`. Each published run gives tok/s without and with drafting, the depth,
and the mean length (or the ratio of full drafts). The mean length is taken as published, so what is tested is
the cost of a round.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.formats.bench import read_bench
from tui.model.cost import Profile
from tui.model.rates import rate_tok_s
from tui.model.whatif import ASSUMED_ROUND_BAND, ASSUMED_VERIFY_FACTOR

DATA = Path(__file__).parent / "data"
WITHIN = 0.10


@dataclass(frozen=True, slots=True)
class Run:
    """A published run; `mean_length` is None where neither it nor depth and ratio are told."""

    label: str
    setup: tuple[str, ...]
    drafter_class: str
    depth: int | None
    mean_length: float | None
    plain_tok_s: float
    drafted_tok_s: float
    odd: str
    cut_drafts: bool
    pair: bool

    @property
    def round_steps(self) -> float | None:
        """What a round cost, in plain steps, as the run itself shows."""
        if self.mean_length is None:
            return None
        return self.mean_length * self.plain_tok_s / self.drafted_tok_s


@dataclass(frozen=True, slots=True)
class Row:
    """One prediction; None where the model refuses, with the reason."""

    label: str
    predicted: float | None
    published: float
    why: str = ""

    @property
    def error(self) -> float:
        """Relative error of the predicted rate."""
        assert self.predicted is not None
        return self.predicted / self.published - 1


@dataclass(frozen=True, slots=True)
class Summary:
    """Median and worst of the absolute errors, how many lie within a tenth, the median factor."""

    rows: int
    refused: int
    median: float
    within: int
    factor: float
    worst: Row


def runs() -> list[Run]:
    """All published runs."""
    with (DATA / "pairs.csv").open(newline="") as file:
        return [_run(row) for row in csv.DictReader(file)]


def _run(row: dict[str, str]) -> Run:
    depth = int(row["depth"]) if row["depth"] else None
    length = float(row["mean_length"]) if row["mean_length"] else None
    if length is None and depth is not None and row["ratio"]:
        length = 1 + depth * float(row["ratio"])
    setup = tuple(row[name] for name in ("engine", "target", "drafter", "hardware", "plain_tok_s"))
    return Run(
        label=f"{row['engine']} {row['target']} {row['drafter']} K={depth}",
        setup=setup,
        drafter_class=row["drafter_class"],
        depth=depth,
        mean_length=length,
        plain_tok_s=float(row["plain_tok_s"]),
        drafted_tok_s=float(row["drafted_tok_s"]),
        odd=row["odd"],
        cut_drafts=bool(row["cut_drafts"]),
        pair=row["origin"] == "pair",
    )


def usable() -> list[Run]:
    """The pairs whose round cost is known, without those that no chain model describes."""
    return [run for run in runs() if run.pair and run.mean_length is not None and not run.odd]


def at_constant() -> list[Row]:
    """Every usable pair with the usual assumption: a verify pass of 1.1 plain steps and free drafting."""
    return [_row(run, ASSUMED_VERIFY_FACTOR) for run in usable()]


def from_other_depths() -> list[Row]:
    """Round cost interpolated from the same setup's other depths, as a live profile would know it."""
    setups: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in runs():
        if run.round_steps is not None and run.depth is not None and not run.odd and not run.cut_drafts:
            setups[run.setup].append(run)
    rows = []
    for group in setups.values():
        for run in group:
            costs = {other.depth: other.round_steps for other in group if other.depth != run.depth}
            if costs and run.depth is not None:
                rows.append(_at_depth(run, run.depth, {k: c for k, c in costs.items() if k and c}))
    return rows


def _at_depth(run: Run, depth: int, costs: dict[int, float]) -> Row:
    known = sorted(costs)
    profile = Profile(
        run.label, (1, *(k + 1 for k in known)), (1.0, *(costs[k] for k in known)), includes_draft=True
    )
    cost = profile.ratio(depth + 1)
    if cost.value is None:
        return Row(run.label, None, run.drafted_tok_s, cost.note)
    first = depth < known[0]
    why = "below all measured depths: a round's fixed cost is missed" if first else ""
    return _row(run, cost.value, why)


def _row(run: Run, round_steps: float, why: str = "") -> Row:
    assert run.mean_length is not None
    predicted = rate_tok_s(run.mean_length, round_steps * 1000 / run.plain_tok_s)
    return Row(run.label, predicted, run.drafted_tok_s, why)


@dataclass(frozen=True, slots=True)
class Timed:
    """Runs whose setup has a profile.

    Attributes:
        passes: verify pass and draft timed by themselves.
        whole: whole rounds timed, so that only the arithmetic is tested.
        unused: profiles that nothing published can be held against, with the reason.
    """

    passes: list[Row]
    whole: list[Row]
    unused: dict[str, str]


def from_step_times() -> Timed:
    """Every published run on a setup with a profile of its own."""
    timed = Timed([], [], {})
    for stated in json.loads((DATA / "profiles.json").read_text()):
        if "unused" in stated:
            timed.unused[stated["name"]] = stated["unused"]
            continue
        profile = read_bench(json.dumps(stated).encode(), stated["name"]).profiles[0]
        rows = timed.whole if profile.includes_draft else timed.passes
        rows += [_outcome(profile, outcome) for outcome in stated["outcomes"]]
    return timed


def _outcome(profile: Profile, outcome: dict[str, Any]) -> Row:
    label, published = f"{outcome['label']} K={outcome['depth']}", outcome["drafted_tok_s"]
    ratio = profile.ratio(outcome["depth"] + 1)
    if ratio.value is None or profile.target_step_ms is None:
        return Row(label, None, published, ratio.note)
    round_ms = ratio.value * profile.target_step_ms + outcome.get("draft_ms", 0.0)
    return Row(label, rate_tok_s(outcome["mean_length"], round_ms), published, outcome.get("why", ""))


def in_band() -> tuple[int, int]:
    """How many one-pass drafters' round costs lie in the band shown for assumed costs, and of how many."""
    costs = [run.round_steps for run in usable() if run.drafter_class == "head"]
    inside = [c for c in costs if c is not None and ASSUMED_ROUND_BAND.low <= c <= ASSUMED_ROUND_BAND.high]
    return len(inside), len(costs)


def summary(rows: list[Row]) -> Summary:
    """The figures of a set of predictions."""
    told = [row for row in rows if row.predicted is not None]
    errors = [abs(row.error) for row in told]
    return Summary(
        rows=len(told),
        refused=len(rows) - len(told),
        median=statistics.median(errors),
        within=sum(error <= WITHIN for error in errors),
        factor=statistics.median(1 + row.error for row in told),
        worst=max(told, key=lambda row: abs(row.error)),
    )


def main() -> None:
    """Print the table."""
    timed = from_step_times()
    print(f"{'cost of a round':44} rows refused median |error| within 10 % median factor")
    for name, rows in (
        ("constant 1.1, free draft", at_constant()),
        ("verify pass and draft timed", timed.passes),
        ("whole round timed", timed.whole),
        ("interpolated from the setup's other depths", from_other_depths()),
    ):
        s = summary(rows)
        print(f"{name:44} {s.rows:4} {s.refused:7} {s.median:14.1%} {s.within:11} {s.factor:13.2f}")
        print(f"  worst {s.worst.error:+.0%}: {s.worst.label} {s.worst.why}")
    inside, of = in_band()
    print(f"assumed band {ASSUMED_ROUND_BAND.low}..{ASSUMED_ROUND_BAND.high}: holds {inside} of {of} heads")
    print("\nwith a profile")
    for row in (*timed.passes, *timed.whole):
        told = "refused" if row.predicted is None else f"{row.predicted:7.1f} {row.error:+7.1%}"
        print(f"  {row.label:40} published {row.published:7.1f} predicted {told}  {row.why}")
    print("\nprofiles without a test")
    for name, why in timed.unused.items():
        print(f"  {name:24} {why}")


if __name__ == "__main__":
    main()
