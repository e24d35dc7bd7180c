from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.preflight.fake_server import Asked, FakeServer, Reply
from tui.preflight.run import READABLE, Ask, run
from tui.preflight.serverlog import ServerLog
from tui.preflight.speculates import QUESTION, start_up_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.preflight.findings import Finding

    Serve = Callable[[dict[str, Any]], FakeServer]

PROPS = {"default_generation_settings": {"n_ctx": 4096}, "build_info": "b11434-ab12cd3"}
METRICS = """\
# TYPE llamacpp:spec_decode_num_drafts_total counter
llamacpp:spec_decode_num_draft_tokens_total 1.20457e+06
llamacpp:spec_decode_num_accepted_tokens_total 500
llamacpp:spec_decode_num_drafts_total {drafts}
"""
POSITIONS = 'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{}"}} 17\n'
CHAT = "/v1/chat/completions"


def ask(server: FakeServer, **more: Any) -> list[Finding]:
    return [f for f in run(Ask(url=server.url, **more)) if f.question == QUESTION]


def llamacpp(serve: Serve, **answers: Any) -> FakeServer:
    pages = {"/health": {"status": "ok"}, "/props": PROPS} | {f"/{k}": v for k, v in answers.items()}
    return serve({path: v if isinstance(v, Reply) else Reply(v) for path, v in pages.items()})


def slot(speculative: bool, **params: str) -> dict[str, Any]:
    return {"id": 0, "speculative": speculative, "params": params}


def test_slots_that_can_speculate_say_yes_with_their_types(serve: Serve) -> None:
    types = {"speculative.types": "ngram-mod,draft-mtp"}
    found = ask(llamacpp(serve, slots=[slot(True, **types), slot(True, **types)]))
    assert found[0].answer == "yes: 2 of 2 slots can, types draft-mtp, ngram-mod"
    assert (found[0].sure, found[0].ok) == ("certain", None)
    assert "incumbent's rate includes" in found[0].advice


def test_slots_that_cannot_say_no(serve: Serve) -> None:
    found = ask(llamacpp(serve, slots=[slot(False)]))
    assert found[0].answer == "no: none of 1 slots can"
    assert found[0].advice == ""


def test_a_slot_that_never_ran_does_not_tell_its_types(serve: Serve) -> None:
    found = ask(llamacpp(serve, slots=[{"id": 0, "speculative": True}]))
    assert "not told before a first request" in found[0].answer


def test_an_old_spelling_of_the_type_is_read(serve: Serve) -> None:
    found = ask(llamacpp(serve, slots=[slot(True, **{"speculative.type": "ngram_mod"})]))
    assert found[0].answer.endswith("types ngram_mod")


@pytest.mark.parametrize("slots", [[], {}, [{"id": 0}], "text", [1, None], Reply("not json")])
def test_slots_that_do_not_tell_are_unknown(serve: Serve, slots: Any) -> None:
    assert ask(llamacpp(serve, slots=slots))[0].sure == "unknown"


def test_counters_tell_drafts_and_depth(serve: Serve) -> None:
    text = METRICS.format(drafts=16040) + "".join(POSITIONS.format(i) for i in range(3))
    found = ask(llamacpp(serve, metrics=Reply(text)))
    assert found[1].answer == "yes: 16040 drafts since it started, at most 3 tokens a round"
    assert found[1].sure == "certain"


def test_a_text_wrapped_in_json_is_unwrapped(serve: Serve) -> None:
    found = ask(llamacpp(serve, metrics=Reply(json.dumps(METRICS.format(drafts=7)))))
    assert found[1].answer.startswith("yes: 7 drafts")


def test_counters_at_zero_leave_it_open(serve: Serve) -> None:
    found = ask(llamacpp(serve, metrics=Reply(METRICS.format(drafts=0))))
    assert found[1].sure == "unknown"
    assert not found[1].answer.startswith(("yes", "no:"))


def test_endpoints_that_are_off_or_locked_say_what_to_do(serve: Serve) -> None:
    off = {"error": {"code": 501, "message": "Start it with `--metrics`"}}
    found = ask(llamacpp(serve, slots=Reply({}, 401), metrics=Reply(off, 501)))
    assert "API key" in found[0].answer
    assert "Start it with `--metrics`" in found[1].answer
    assert {each.sure for each in found} == {"unknown"}


@pytest.mark.parametrize(("build", "told"), [("b6123-ab12cd3", True), ("b6722-x", True), ("b6723-x", False)])
def test_properties_are_believed_only_where_they_are_the_running_ones(
    serve: Serve, build: str, told: bool
) -> None:
    props = {"build_info": build, "default_generation_settings": {"speculative": True}}
    found = ask(llamacpp(serve, props=props))
    assert ("yes" in [each.answer for each in found]) is told


def test_a_sleeping_server_is_not_woken(serve: Serve) -> None:
    server = llamacpp(serve, props=PROPS | {"is_sleeping": True}, slots=[slot(True)])
    assert "would wake it" in ask(server)[0].answer
    assert server.paths() == ["/health", "/props"]


def test_a_router_is_asked_for_its_models_command_lines(serve: Serve) -> None:
    args = ["llama-server", "--spec-type", "draft-mtp", "--spec-draft-n-max", "2"]
    rows = [
        {"id": "qwen", "status": {"value": "loaded", "args": args}},
        {"id": "plain", "status": {"value": "loaded", "args": ["llama-server"]}},
        {"id": "idle", "status": {"value": "unloaded", "args": args}},
    ]
    server = llamacpp(
        serve, props={"role": "router", "build_info": "b11111-x"}, **{"v1/models": {"data": rows}}
    )
    assert (
        ask(server)[0].answer == "a router; --spec-type of its loaded models: qwen draft-mtp, plain without"
    )


def test_the_key_is_sent_and_never_shown(serve: Serve) -> None:
    server = llamacpp(serve, slots=[slot(True)])
    found = run(Ask(url=server.url, api_key="hush"))
    assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer hush"}
    assert "hush" not in repr(found)


def test_a_password_in_the_address_is_not_shown(serve: Serve) -> None:
    found = run(Ask(url=llamacpp(serve, slots=[slot(True)]).url.replace("//", "//me:secret@")))
    assert len(found) > 2
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (Reply({"error": {"message": "Loading model"}}, 503), "loading"),
        (Reply({"hello": 1}), "404"),
        (Reply("<html>"), "404"),
    ],
)
def test_other_answers_are_unreadable(serve: Serve, health: Reply, words: str) -> None:
    found = run(Ask(url=serve({"/health": health}).url))
    assert [each.question for each in found] == [READABLE]
    assert words in found[0].answer


def test_nobody_there_is_unreadable() -> None:
    (finding,) = run(Ask(url="http://127.0.0.1:1"))
    assert (finding.question, finding.ok) == (READABLE, False)
    assert "cannot be reached" in finding.answer


def test_an_endless_answer_is_left(serve: Serve) -> None:
    found = ask(llamacpp(serve, slots=Reply(b"[" + b" " * 40_000_000)))
    assert found[0].answer == "its answer is too large"


def test_hostile_words_are_made_harmless(serve: Serve) -> None:
    nasty = "\x1b[2J\x07[red]"
    error = Reply({"error": {"message": nasty}}, 500)
    found = run(
        Ask(url=llamacpp(serve, slots=[slot(True, **{"speculative.types": nasty})], metrics=error).url)
    )
    assert all(text.isprintable() for each in found for text in (each.asked, each.answer, each.advice))
    assert any("\\x1b" in each.answer for each in found)


HEALTH = {
    "status": "ok",
    "drafters_available": ["serial", "mtp"],
    "drafter_default": "mtp",
    "drafter_weights_loaded": True,
    "version": {"api": "0.17.4", "engine": "0.17.4", "match": True},
    "prompt_lookup": {"ngram": 3, "chain": 8, "applies_to": "greedy"},
}


def halogen(serve: Serve, health: dict[str, Any], chat: Any = None) -> FakeServer:
    return serve({"/health": Reply(health), CHAT: chat or Reply({}, 500)})


def test_halogen_tells_its_drafters_weights_and_lookup(serve: Serve) -> None:
    server = halogen(serve, HEALTH)
    drafters, weights, lookup = ask(server)
    assert drafters.answer == "yes: drafters available: serial, mtp; default mtp"
    assert weights.answer == "yes: drafter weights are loaded"
    assert lookup.answer.startswith('yes: prompt lookup {"ngram": 3')
    assert {f.sure for f in (drafters, weights, lookup)} == {"certain"}
    assert server.paths() == ["/health"]


def test_halogen_takes_no_external_drafter(serve: Serve) -> None:
    surface = next(f for f in run(Ask(url=halogen(serve, HEALTH).url)) if "attached" in f.question)
    assert (surface.ok, surface.sure) == (False, "certain")


def test_halogen_that_drafts_on_request_only(serve: Serve) -> None:
    found = ask(halogen(serve, HEALTH | {"drafter_default": "serial"}))
    assert found[0].answer.startswith("no, unless a request asks for it")
    found = ask(halogen(serve, HEALTH | {"drafter_default": "serial", "drafters_available": ["serial"]}))
    assert found[0].answer.startswith("no: ")


def test_missing_weights_are_believed_only_where_a_version_is_told(serve: Serve) -> None:
    told = HEALTH | {"drafter_weights_loaded": False}
    untold = {key: value for key, value in told.items() if key != "version"}
    assert ask(halogen(serve, told))[1].answer == "no drafter weights are loaded"
    old = ask(halogen(serve, untold))[1]
    assert old.sure == "unknown"
    assert "0.5.5" in old.answer


def test_a_failed_capability_probe_makes_it_likely_only(serve: Serve) -> None:
    found = ask(halogen(serve, HEALTH | {"capability_probe": "failed"}))
    assert found[0].sure == "likely"
    assert "fallbacks" in found[0].answer


def test_an_unresponsive_engine_is_unknown(serve: Serve) -> None:
    body = {"error": {"message": "no PONG", "code": "engine_unresponsive"}}
    found = ask(serve({"/health": Reply(body, 503)}))
    assert found[0].sure == "unknown"
    assert "no PONG" in found[0].answer


def refusal(message: str, status: int = 400) -> Reply:
    return Reply({"error": {"message": message, "type": "invalid", "param": None, "code": None}}, status)


PROBES = [
    (
        refusal("drafter 'x' unknown; use serial | mtp | dflash2"),
        "unknown: no such drafter",
        "certain",
        False,
    ),
    (refusal("drafter 'x' unavailable: not built in"), "unavailable: known", "certain", False),
    (refusal("the engine refused this request: no room"), "refused by the engine: no room", "likely", False),
    (refusal("max_tokens over the cap"), "refused for another reason: max_tokens", "unknown", None),
    (Reply("what?", 400), "refused for another reason: --", "unknown", None),
    (refusal("key", 401), "it asks for an API key", "unknown", None),
    (refusal("queue", 503), "it answers 503: queue", "unknown", None),
    (Reply({"choices": []}), "served", "certain", True),
]


@pytest.mark.parametrize(("reply", "answer", "sure", "ok"), PROBES)
def test_each_answer_to_a_probe_is_told_apart(
    serve: Serve, reply: Reply, answer: str, sure: str, ok: bool | None
) -> None:
    server = halogen(serve, HEALTH, reply)
    finding = next(f for f in run(Ask(url=server.url, probe="x")) if "serve the drafter" in f.question)
    assert finding.answer.startswith(answer)
    assert (finding.sure, finding.ok) == (sure, ok)
    assert server.paths() == ["/health", CHAT]


def test_an_unknown_drafter_names_the_known_ones(serve: Serve) -> None:
    server = halogen(serve, HEALTH, refusal("drafter 'x' unknown; use serial | mtp"))
    finding = next(f for f in run(Ask(url=server.url, probe="x")) if "serve the drafter" in f.question)
    assert finding.answer.endswith("it knows serial, mtp")


def test_a_probe_is_announced_before_it_is_sent_and_is_short(serve: Serve) -> None:
    said: list[str] = []
    seen: list[list[str]] = []

    def chat(asked: Asked) -> Reply:
        seen.append(list(said))
        return Reply({})

    server = halogen(serve, HEALTH, chat)
    run(Ask(url=server.url, probe="mtp"), said.append)
    assert len(seen) == 1
    assert "one request: POST" in seen[0][0]
    sent = server.asked[-1].body
    assert json.dumps(sent) in seen[0][0]
    assert (sent["drafter"], sent["max_tokens"], sent["stream"]) == ("mtp", 1, False)


def test_without_being_asked_nothing_is_sent(serve: Serve) -> None:
    server = halogen(serve, HEALTH)
    run(Ask(url=server.url))
    assert [each.method for each in server.asked] == ["GET"]


def test_llamacpp_is_never_probed(serve: Serve) -> None:
    said: list[str] = []
    server = llamacpp(serve, slots=[slot(True)])
    run(Ask(url=server.url, probe="mtp"), said.append)
    assert {each.method for each in server.asked} == {"GET"}
    assert "no probe was sent" in said[0]


@pytest.mark.parametrize(
    ("log", "answer", "sure"),
    [
        (
            ServerLog(spec_types=("draft-mtp",), depth=2),
            "yes: draft-mtp, at most 2 tokens a round",
            "certain",
        ),
        (ServerLog(spec_types=()), "no: no implementation was started", "certain"),
        (ServerLog(), "the log does not tell", "unknown"),
        (
            ServerLog(synthetic=True, depth=3),
            "yes: types not told, at most 3 tokens a round; acce",
            "certain",
        ),
    ],
)
def test_start_up_lines(log: ServerLog, answer: str, sure: str) -> None:
    (finding,) = start_up_lines(log, "server.log")
    assert finding.answer.startswith(answer)
    assert finding.sure == sure
