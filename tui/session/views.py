"""From arms to what is shown of them: pure functions, called for each snapshot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from tui.model.comparison import ArmSums, Judgement, TypedRate, judge
from tui.model.figures import Figure
from tui.model.live_cost import PassTimes
from tui.session.arms import NOW, Arm, Checkpoint, Identity
from tui.session.costs import held_against, key_of
from tui.session.incumbent import Choice, DrafterArm, EarlierArm, FrozenArm
from tui.session.inputs import what_if
from tui.session.intervals import beyond_log, interval_view, rate_note, with_counters, without_requests
from tui.session.measures import (
    acceptance,
    acceptance_ratio,
    class_of,
    clock_fault,
    commit_needed,
    coverage,
    depth,
    differing_models,
    mean_accepted_length,
    reached,
    step_times,
    tokens_per_pass,
)
from tui.session.rows import Row, Table
from tui.session.snapshot import (
    ArmView,
    HistoryPoint,
    Incumbent,
    InFlight,
    Load,
    SourceState,
    State,
    VerifyCost,
    View,
)
from tui.session.windows import drift_of, per_second, spread, window

if TYPE_CHECKING:
    from tui.formats.events import Progress
    from tui.session.session import Policy
    from tui.session.sums import Sums


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """All that the session holds of one source, at one moment; `rows` newest first."""

    name: str
    engine: str | None
    identity: Identity
    state: State
    message: str
    server_note: str
    last_line_age_s: float | None
    requests: int
    problems: int
    restarts: int
    restarted: bool
    load: Load
    arms: tuple[Arm, ...]
    rows: tuple[Row, ...]
    in_flight: tuple[Progress, ...]


@lru_cache(maxsize=1024)
def _name(source: str) -> str:
    return PurePath(source).name


@dataclass(frozen=True)
class SourceView:
    """One source held against one incumbent; each part is worked out once."""

    facts: SourceFacts
    policy: Policy
    choice: Choice | None

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """The arms there are; counters beside requests of the same server are no arm of their own."""
        spoken = {(arm.key.stream, arm.key.generation) for arm in self.facts.arms if arm.all.requests}
        return tuple(
            arm
            for arm in self.facts.arms
            if not arm.interval_only or (arm.key.stream, arm.key.generation) not in spoken
        )

    def counted(self, arm: Arm) -> Sums:
        """What the server counted of an arm; of several drafters at one server it is the drafting one's."""
        if arm.key.drafter is None or not arm.all.drafts:
            return arm.counted
        server = (arm.key.stream, arm.key.generation)
        its = [other for other in self.facts.arms if (other.key.stream, other.key.generation) == server]
        if sum(other.all.drafts for other in its) > 1:
            return arm.counted
        return next((other.counted for other in its if other.key.drafter is None), arm.counted)

    @cached_property
    def incumbent_arm(self) -> Arm | None:
        """The arm that the choice means in this source; None for a typed rate."""
        match self.choice:
            case FrozenArm(arm=arm):
                return arm
            case DrafterArm(drafter=name):
                named = [arm for arm in self.arms if arm.drafter == name and arm.finished]
                return max(named, key=lambda arm: arm.order, default=None)
            case EarlierArm(key=key):
                return next((arm for arm in self.facts.arms if arm.key == key), None)
        return None

    @cached_property
    def canary_arm(self) -> Arm | None:
        """The newest arm that is not the incumbent; of one server's drafters, one that drafts."""
        arms = [arm for arm in self.arms if arm is not self.incumbent_arm]
        if isinstance(self.choice, FrozenArm):
            arms = [arm for arm in arms if arm.finished] or arms
        newest = max((arm.key.generation for arm in arms), default=0)
        latest = [arm for arm in arms if arm.key.generation == newest]
        return max(latest, key=lambda arm: (arm.drafts, arm.created, arm.order), default=None)

    @cached_property
    def offered_arm(self) -> Arm | None:
        """An earlier arm of this source that could be the incumbent, one without drafting first."""
        if self.choice is not None:
            return None
        others = [arm for arm in self.arms if arm is not self.canary_arm and arm.finished]
        return max(others, key=lambda arm: (not arm.drafts, arm.order), default=None)

    @cached_property
    def target_step_ms(self) -> Figure:
        """t_s: from the incumbent when it does not draft, else from another such arm of this source."""
        arm = self._plain_arm
        if arm is None:
            return Figure.unknown("no stretch without drafting seen")
        sums, note = arm.step_sums
        if not sums.steps:
            return Figure.unknown("shared: no request without drafting ran alone")
        return Figure(sums.decode_ms / sums.steps, "measured", note)

    @cached_property
    def _plain_arm(self) -> Arm | None:
        """The arm whose plain steps tell t_s, or would if any of its requests had run alone."""
        for arm in [self.incumbent_arm, *self.facts.arms]:
            if arm is None or arm.drafts or (arm is self.canary_arm and arm.identity.spec_types):
                continue
            if self.canary_arm is not None and differing_models(arm, self.canary_arm):
                continue
            if arm.step_sums[0].steps or arm.shared:
                return arm
        return None

    def _cost(self, canary: Arm) -> VerifyCost | None:
        """What a verify pass costs by its size: as the operator gave it, else as the log shows."""
        if self.policy.cost is not None:
            kind = class_of(canary, self.policy.drafter_class)
            factor = step_times(canary, self.target_step_ms, kind).verify_factor
            return held_against(self.policy.cost, canary, factor)
        plain = self._plain_arm
        if plain is None or not plain.alone.steps:
            return None
        step = PassTimes(plain.alone.steps, 1, plain.alone.decode_ms / plain.alone.steps)
        k = depth(canary, self.policy.depth)
        deepest = int(k.value) if k.value is not None and k.provenance != "derived" else None
        grown = canary.costs.profile(key_of(canary), step, deepest)
        return None if grown is None else VerifyCost(grown, typed=False)

    def label_of(self, arm: Arm) -> str:
        """How an arm is named on screen."""
        drafts = arm.drafter or ("no drafting" if not arm.drafts else "drafter unknown")
        k = depth(arm, self.policy.depth)
        known = f" K={k.value:.0f}" if k.value is not None and k.provenance != "derived" else ""
        start = f" #{arm.key.generation}" if len({a.key.generation for a in self.facts.arms}) > 1 else ""
        return f"{_name(arm.key.source)} {drafts}{known}{start}"

    def view(self) -> View:
        """Everything shown of this source."""
        canary = self.canary_arm
        incumbent = self._incumbent()
        cost = None if canary is None else self._cost(canary)
        shown = None if canary is None else self._arm_view(canary, incumbent)
        judgement = None if canary is None or incumbent is None else self._judgement(canary)
        beaten = self.incumbent_arm
        if judgement and shown and canary and (canary.interval_only or (beaten and beaten.interval_only)):
            judgement = without_requests(judgement, shown, incumbent.decode_tok_s if incumbent else None)
        return View(
            source=self._source_state(),
            canary=shown,
            others=tuple(
                self._arm_view(arm, incumbent)
                for arm in self.arms
                if arm is not canary and arm is not self.incumbent_arm and arm.finished
            ),
            ratio=None if judgement is None else judgement.ratio,
            basis="decode" if incumbent is None else incumbent.basis,
            judgement=judgement,
            what_if=None
            if canary is None
            else what_if(canary, self.target_step_ms, incumbent, cost, self.policy),
            in_flight=tuple(
                InFlight(p.stream, p.slot, p.task, p.tokens, p.rate_tok_s, p.rate_recent_tok_s)
                for p in self.facts.in_flight
            ),
            requests=self._rows(),
            history=self._history(canary) if judgement is not None and canary is not None else (),
            offered=None if self.offered_arm is None else self.label_of(self.offered_arm),
            incumbent=incumbent,
            drift="" if canary is None else drift_of(canary, self.target_step_ms.value),
            notes=() if canary is None else self._notes(canary),
            cost=cost,
            fixed_cost="" if canary is None else canary.costs.fixed(self.target_step_ms),
        )

    def _notes(self, canary: Arm) -> tuple[str, ...]:
        rate = rate_note(canary)
        arms = [canary] if self.incumbent_arm is None else [canary, self.incumbent_arm]
        texts = [clock_fault(arm) for arm in arms]
        texts += [f"decode rate from counters: {rate}" if rate else "", beyond_log(canary, canary.counted)]
        return tuple(dict.fromkeys(text for text in texts if text))

    def _source_state(self) -> SourceState:
        facts = self.facts
        arm = self.canary_arm
        counted = [arm.counted for arm in self.arms if arm.interval_only]
        return SourceState(
            name=facts.name,
            engine=facts.engine,
            build=facts.identity.build,
            model=facts.identity.model,
            draft_model=facts.identity.draft_model,
            drafter=None if arm is None else arm.drafter,
            depth=Figure.unknown("nothing finished yet") if arm is None else depth(arm, self.policy.depth),
            synthetic=bool(facts.identity.synthetic),
            state=facts.state,
            message=facts.message,
            server_note=facts.server_note,
            last_line_age_s=facts.last_line_age_s,
            requests=facts.requests + sum(sums.requests for sums in counted),
            problems=facts.problems,
            restarts=facts.restarts,
            restarted=facts.restarted,
            load=facts.load,
            unnumbered=any(sums.unnumbered for sums in counted),
        )

    def _incumbent(self) -> Incumbent | None:
        if self.choice is None:
            return None
        if isinstance(self.choice, TypedRate):
            rate, basis = self.choice.rate, self.choice.basis
            return Incumbent(
                label=f"{rate:g} tok/s, typed",
                kind="typed",
                basis=basis,
                decode_tok_s=rate if basis == "decode" else None,
                delivered_tok_s=rate if basis == "delivered" else None,
                requests=0,
                drafts=None,
                target_step_ms=self.target_step_ms,
            )
        arm = self.incumbent_arm
        kind = self.choice.kind if isinstance(self.choice, FrozenArm) else "drafter"
        if arm is None:
            name = self.choice.drafter if isinstance(self.choice, DrafterArm) else "the earlier arm"
            return Incumbent(
                label=name,
                kind=kind,
                basis="decode",
                decode_tok_s=None,
                delivered_tok_s=None,
                requests=0,
                drafts=None,
                target_step_ms=self.target_step_ms,
                message=f"no request by {name} yet",
            )
        view = self._arm_view(arm, None)
        return Incumbent(
            label=self.choice.label if isinstance(self.choice, FrozenArm) else view.label,
            kind=kind,
            basis="decode",
            decode_tok_s=view.decode_tok_s,
            delivered_tok_s=view.delivered_tok_s,
            requests=view.requests,
            drafts=arm.drafts,
            target_step_ms=self.target_step_ms,
            arm=view,
        )

    def _arm_view(self, arm: Arm, incumbent: Incumbent | None) -> ArmView:
        if arm.interval_only:
            return interval_view(
                arm,
                self.label_of(arm),
                depth(arm, self.policy.depth),
                self.target_step_ms,
                class_of(arm, self.policy.drafter_class),
                "typed" if self.policy.drafter_class else "spec type",
            )
        sums = arm.all
        name = arm.drafter
        steps = step_times(arm, self.target_step_ms, class_of(arm, self.policy.drafter_class))
        beaten = None if incumbent is None else incumbent.decode_tok_s
        commits = sorted(commit for commit in arm.commits if commit is not None)
        view = ArmView(
            label=self.label_of(arm),
            drafter=name,
            drafter_class=class_of(arm, self.policy.drafter_class),
            drafter_class_from="typed" if self.policy.drafter_class else "spec type",
            synthetic=bool(arm.identity.synthetic),
            requests=sums.requests,
            tokens=sums.tokens,
            decode_tok_s=per_second(sums.steps, sums.decode_ms),
            delivered_tok_s=per_second(sums.delivered_tokens, sums.delivered_ms),
            drafted=sums.drafted,
            accepted=sums.accepted,
            acceptance_ratio=acceptance_ratio(arm),
            acceptance=acceptance(arm, self.policy.depth),
            reached=reached(sums),
            depth=depth(arm, self.policy.depth),
            mean_accepted_length=mean_accepted_length(sums),
            commit_spread=spread(commits),
            commit_needed=commit_needed(beaten, arm, steps.pass_ms),
            tokens_per_pass=tokens_per_pass(sums),
            coverage=coverage(sums),
            rounds=sums.rounds if not sums.ranged and not sums.unsettled else None,
            rounds_range=sums.rounds_range,
            plain_steps=None
            if not sums.drafts or sums.ranged or sums.unsettled
            else sums.passes_without_draft,
            head_off_share=sums.head_off / sums.tokens if arm.engine == "halogen" and sums.tokens else None,
            steps=steps,
            now=window(list(arm.recent)[-NOW:], self.target_step_ms.value),
            rates=tuple(arm.rates),
            ratios=tuple(arm.ratios),
            commits=tuple(arm.commits),
        )
        return with_counters(view, self.counted(arm), arm.engine)

    def _judgement(self, arm: Arm) -> Judgement | None:
        judged = self._judge(ArmSums(arm.decode, arm.delivered, arm.left_out))
        beaten = self.incumbent_arm
        if judged is None or beaten is None or not differing_models(beaten, arm):
            return judged
        return replace(judged, warnings=(differing_models(beaten, arm), *judged.warnings))

    def _history(self, arm: Arm) -> tuple[HistoryPoint, ...]:
        """The ratio as it stood at each checkpoint; what was worked out before is kept with the arm.

        Where there was none, a rate that is typed or frozen gives none later either.
        """
        if arm.past_choice is not self.choice:
            arm.past_choice, arm.past = self.choice, {}
        past, grows = arm.past, isinstance(self.choice, (DrafterArm, EarlierArm))
        for checkpoint in arm.checkpoints[0 if grows else len(past) :]:
            if past.get(checkpoint.requests) is None:
                past[checkpoint.requests] = self._point(checkpoint)
        return tuple(point for point in past.values() if point is not None)

    def _point(self, checkpoint: Checkpoint) -> HistoryPoint | None:
        judged = self._judge(ArmSums(checkpoint.decode))
        if judged is None or judged.ratio is None:
            return None
        return HistoryPoint(checkpoint.requests, judged.ratio, judged.interval)

    def _judge(self, canary: ArmSums) -> Judgement | None:
        """The verdict against the chosen incumbent; None while that has no arm here."""
        beaten: ArmSums | TypedRate
        if isinstance(self.choice, TypedRate):
            beaten = self.choice
        elif (arm := self.incumbent_arm) is not None:
            grows = not isinstance(self.choice, FrozenArm)
            beaten = ArmSums(arm.decode, arm.delivered, arm.left_out, grows)
        else:
            return None
        return judge(beaten, canary, self.policy.rules, self.policy.concurrency)

    def _rows(self) -> Table:
        labels = {arm.key: self.label_of(arm) for arm in self.facts.arms}
        return Table(self.facts.rows, labels, self.target_step_ms.value)
