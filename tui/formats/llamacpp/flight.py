"""Which requests are in flight, as far as launch and release lines tell."""

from __future__ import annotations

from dataclasses import dataclass

_MOST_SLOTS = 256


@dataclass(slots=True)
class Run:
    """One task on its slot, from the first line that names it to its release.

    Attributes:
        launched: its launch line was seen. certain: nothing unseen can have run beside it.
        peak: most tasks in flight with it, itself included.
        begun: seen before it generated, so that its per-round lines are all there.
        rounds, accepted, drafted: from its per-round lines. trusted: all of them in the form that counts
            every round. replays: some round was verified again.
        prompt_tokens: the whole prompt, cached tokens included.
        failed: an error line named it. done: its block was read.
    """

    slot: int
    task: int
    launched: bool = False
    certain: bool = False
    peak: int = 0
    begun: bool = False
    rounds: int = 0
    accepted: int = 0
    drafted: int = 0
    trusted: bool = True
    replays: bool = False
    prompt_tokens: int | None = None
    failed: bool = False
    done: bool = False

    def count(self, accepted: int, drafted: int, *, replay: bool, verbose: bool) -> None:
        """Note a per-round line: a round that will be verified again, or one that counts."""
        if replay:
            self.replays = True
        else:
            self.rounds += 1
            self.accepted += accepted
            self.drafted += drafted
        self.trusted = self.trusted and not verbose

    @property
    def concurrency(self) -> int | None:
        """Most requests in flight with it; None when the log cannot tell."""
        return self.peak if self.launched and self.certain else None


class Flight:
    """The tasks in flight in one stream."""

    def __init__(self) -> None:
        self.slots: int | None = None
        self._runs: dict[int, Run] = {}
        self._seen: set[int] = set()
        self._certain = False

    def forget(self, *, certain: bool) -> None:
        """Nothing is known to run any more; `certain`: nothing runs at all."""
        self._runs.clear()
        self._seen.clear()
        self._certain = certain

    def find(self, slot: int, task: int) -> Run | None:
        """The task on its slot, if a line has named it."""
        run = self._runs.get(slot)
        return run if run is not None and run.task == task else None

    def touch(self, slot: int, task: int) -> Run:
        """The task on its slot, noted now if no line has named it before."""
        return self.find(slot, task) or self._add(Run(slot, task))

    def by_task(self, task: int) -> Run | None:
        """The task wherever it runs."""
        return next((run for run in self._runs.values() if run.task == task), None)

    def launch(self, slot: int, task: int) -> None:
        """A slot begins to work on a task."""
        self._note(slot)
        self._add(Run(slot, task, launched=True, certain=self._certain, begun=True))
        launched = [run for run in self._runs.values() if run.launched]
        for run in launched:
            run.peak = max(run.peak, len(launched))

    def release(self, slot: int, task: int) -> Run | None:
        """A slot is done with a task. One that was never seen to start ran beside all others unseen."""
        run = self.find(slot, task)
        self._runs.pop(slot, None)
        if run is None or not run.launched:
            for other in self._runs.values():
                other.certain = False
            if self._certain:
                self._certain = False
                self._seen.clear()
        self._note(slot)
        return run

    def _add(self, run: Run) -> Run:
        if len(self._runs) >= _MOST_SLOTS:
            self.forget(certain=False)
        self._runs[run.slot] = run
        return run

    def _note(self, slot: int) -> None:
        """What a slot does is known from its first launch or release on."""
        if len(self._seen) < _MOST_SLOTS:
            self._seen.add(slot)
        if self.slots is not None and len(self._seen) >= self.slots:
            self._certain = True
