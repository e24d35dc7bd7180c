"""Which class a drafter is, and whether a trained head belongs to this target; all from the headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.model.drafters import drafter_class
from tui.preflight.findings import Finding, Sure
from tui.preflight.footprint import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.figures import DrafterClass
    from tui.preflight.gguf import Header

_WORDS: dict[DrafterClass, str] = {
    "plain": "a plain drafter: one forward pass for each draft token",
    "head": "a trained head: about one pass for all draft tokens",
    "ngram": "no model at all: it looks the continuation up in the text",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """What of the target a head was trained on, beside what this target is; None where not told.

    Attributes:
        what: the property in words.
        trained: what the head says. target: what the target says.
        fits: whether they go together.
    """

    what: str
    trained: int | None
    target: int | None
    fits: bool | None


def spec_type_of(header: Header) -> str:
    """The spec type a drafter file is made for; llama.cpp decides by the same tensors."""
    architecture = header.architecture or ""
    if architecture.startswith("eagle3"):
        return "draft-eagle3"
    if "dflash" in architecture or architecture == "dspark":
        return "draft-dspark" if "markov_w1.weight" in header.tensors else "draft-dflash"
    return "draft-mtp" if mtp_layers(header) else "draft-simple"


def _class_of(draft: Header) -> DrafterClass:
    return "plain" if spec_type_of(draft) == "draft-simple" else "head"


def mtp_layers(header: Header) -> int:
    """How many multi-token-prediction layers a file carries."""
    shape = Shape(header)
    announced = shape.number("nextn_predict_layers", 0)
    last = f"blk.{shape.layers - 1}.nextn.eh_proj.weight"
    return announced if last in header.tensors or announced == shape.layers else 0


def classify(draft: Header | None, spec_types: Sequence[str], place: str) -> tuple[Finding, ...]:
    """Tell the class from the spec types and the drafter's header, and whether the two agree.

    Args:
        draft: the drafter's header, where there is one.
        spec_types: what the operator means to start.
        place: where the header came from.
    """
    question = "Which class is the drafter?"
    found = []
    for name in spec_types:
        known = drafter_class(name)
        answer = f"{harmless(name)}: {_WORDS[known]}" if known else f"{harmless(name)}: not a type known here"
        sure: Sure = "certain" if known else "unknown"
        found.append(Finding(question=question, asked="the spec type", answer=answer, sure=sure, ok=None))
    if draft is None:
        return tuple(found)
    made_for = spec_type_of(draft)
    asked_for = [name for name in spec_types if not name.startswith("ngram")]
    agrees = not asked_for or made_for in asked_for or (made_for == "draft-simple" and "draft" in asked_for)
    architecture = harmless(draft.architecture or "--")
    found.append(
        Finding(
            question=question,
            asked=f"the header of {harmless(place)}",
            answer=f"architecture {architecture}, made for {made_for}: {_WORDS[_class_of(draft)]}",
            sure="certain" if made_for != "draft-simple" else "likely",
            ok=None if not asked_for else agrees,
            advice="" if agrees else f"--spec-type {made_for} is what this file is for",
        )
    )
    return tuple(found)


def carries_mtp(target: Header, place: str) -> Finding:
    """Whether a target brings its own multi-token-prediction layers, for draft-mtp without a drafter file."""
    layers = mtp_layers(target)
    return Finding(
        question="Does the target carry MTP layers of its own?",
        asked=f"the header of {harmless(place)}",
        answer=f"yes, {layers}: no weights more, but a second context" if layers else "no",
        sure="certain",
        ok=layers > 0,
        advice=""
        if layers
        else "draft-mtp needs a file converted with its MTP layers, or one beside it (-md)",
    )


def belongs(draft: Header, target: Header, place: str) -> tuple[Finding, ...]:
    """Whether a trained head was made for this target's checkpoint; nothing for plain drafters."""
    if _class_of(draft) != "head":
        return ()
    pairs = (_hidden_size(draft, target), _vocabulary(draft, target), _layers(draft, target))
    told = [pair for pair in pairs if pair.fits is not None]
    wrong = [pair for pair in told if not pair.fits]
    chosen = wrong or told
    words = "; ".join(f"{p.what} {p.trained}, the target has {p.target}" for p in chosen)
    if wrong:
        answer, sure, ok = f"no, it was trained for another checkpoint: {words}", "certain", False
    elif told:
        answer, sure, ok = f"nothing speaks against it: {words}", "likely", True
    else:
        answer, sure, ok = "the headers do not tell", "unknown", None
    return (
        Finding(
            question="Was the head trained for this target?",
            asked=f"the headers of {harmless(place)} and the target",
            answer=answer,
            sure="certain" if sure == "certain" else "likely" if sure == "likely" else "unknown",
            ok=ok,
            advice=""
            if wrong
            else "a fine-tune of the same model has the same header: only acceptance tells",
        ),
    )


def _hidden_size(draft: Header, target: Header) -> Pair:
    """The width of the target's states that the head was trained on, by key or by its input layer."""
    head = Shape(draft)
    trained = head.number("target_hidden_size", 0) or head.number("embedding_length_out", 0)
    layers = target_layers(draft)
    fusion = draft.tensors.get("fc.weight")
    if not trained and fusion and fusion.shape and layers:
        trained = fusion.shape[0] // len(layers)
    if not trained and spec_type_of(draft) == "draft-mtp":
        trained = head.width
    has = Shape(target).width
    return _pair("hidden size", trained, has, trained == has)


def _vocabulary(draft: Header, target: Header) -> Pair:
    trained, has = Shape(draft).vocabulary(), Shape(target).vocabulary()
    return _pair("vocabulary", trained, has, trained == has)


def _layers(draft: Header, target: Header) -> Pair:
    """The deepest target layer it listens to, or for a detached MTP head the depth of its model."""
    layers, has = target_layers(draft), Shape(target).layers
    if layers:
        return _pair("deepest target layer", max(layers), has, max(layers) <= has)
    return _pair("deepest target layer", 0, has, True)


def _pair(what: str, trained: int, target: int, fits: bool) -> Pair:
    return Pair(what, trained or None, target or None, fits if trained and target else None)


def target_layers(draft: Header) -> tuple[int, ...]:
    """Which of the target's layers a head reads, as any build writes it."""
    prefix = draft.architecture or ""
    for key in ("target_layers", "extract_layers", "dflash.target_layer_ids"):
        values = draft.array(f"{prefix}.{key}")
        if values is not None:
            return tuple(value for value in values if isinstance(value, int))
    return ()
