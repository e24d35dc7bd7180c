"""A server is recognised, asked no more than it may be, and awaited while it is away."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.clock import Clock
from tests.feeds.pages import Page, Pages, off, serving
from tests.formats.metrics_texts import halogen, llamacpp
from tui.feeds.ask import Answer, Connection, SlowError
from tui.feeds.http import LONGEST_WAIT_S, MISSES, PACE_S, HttpFeed
from tui.feeds.protocol import FeedError, Notice
from tui.formats.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

Items = list[Sample | Notice]

OK = Page({"status": "ok"})
PROPS = {
    "build_info": "b11434-9f8e7d6c5",
    "model_path": "/srv/t.gguf",
    "total_slots": 1,
    "is_sleeping": False,
}
HEALTH = {
    "status": "ok",
    "version": {"api": "0.17.4"},
    "drafter_default": "mtp",
    "drafters_available": ["mtp"],
}
CACHE = {"entries": 3, "pool": {"positions": 262144, "usage_ratio": 0.25, "busy_regions": 1}}
LOADING = Page({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, 503)
BUSY = [{"id": 0, "is_processing": True, "id_task": 3, "next_token": [{"n_decoded": 9}]}]


def llama(**other: Any) -> Pages:
    """A llama.cpp server that is doing something."""
    pages = Pages({"/health": OK, "/props": Page(PROPS), "/metrics": Page(llamacpp(9, 1, running=1))})
    pages.pages["/slots"] = Page(BUSY)
    pages.pages.update({f"/{name}": page for name, page in other.items()})
    return pages


class EnoughError(Exception):
    """It has slept often enough."""


class Sleeps(Clock):
    """A clock that remembers how long it slept, and ends the test after so often."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.most = most

    async def sleep(self, seconds: float) -> None:
        if len(self.slept) == self.most:
            raise EnoughError
        self.slept.append(seconds)
        await super().sleep(seconds)


async def items_of(feed: HttpFeed, enough: Callable[[Items], bool]) -> Items:
    """What a feed yields until there is enough of it, it ends, or its clock ends it."""
    items: Items = []
    stream = feed.read()
    with contextlib.suppress(EnoughError):
        async for item in stream:
            items.append(item)
            assert len(items) < 1000
            if enough(items):
                break
    await stream.aclose()
    return items


def never(_: Items) -> bool:
    return False


def feed_of(pages: Pages, clock: Clock | None = None, **other: Any) -> HttpFeed:
    clock = clock or Clock()
    return HttpFeed(pages.address, clock=clock, sleep=clock.sleep, jitter=lambda: 1.0, **other)


def samples(items: Items) -> list[Sample]:
    return [item for item in items if isinstance(item, Sample)]


def notices(items: Items) -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in items if isinstance(item, Notice)]


def after_samples(count: int) -> Callable[[Items], bool]:
    return lambda items: len(samples(items)) >= count


def after_notices(count: int) -> Callable[[Items], bool]:
    return lambda items: len(notices(items)) >= count


async def test_llamacpp_is_recognised_and_asked_in_order() -> None:
    with serving(llama()) as pages:
        items = await items_of(feed_of(pages), after_samples(2))
    assert pages.asked[:5] == ["/health", "/props", "/metrics", "/slots", "/metrics"]
    first, second = samples(items)
    assert (first.engine, first.stream, first.about) == ("llama.cpp", None, PROPS)
    assert first.metrics == llamacpp(9, 1, running=1)
    assert first.slots == BUSY
    assert second.time - first.time == PACE_S
    assert [kind for kind, _ in notices(items)] == ["opened", "caught_up"]


async def test_slots_are_left_alone_while_nothing_is_generated() -> None:
    with serving(llama(metrics=Page(llamacpp()))) as pages:
        await items_of(feed_of(pages), after_samples(6))
    assert pages.count("/slots") == 1


async def test_a_sleeping_model_is_not_asked() -> None:
    asleep = {**PROPS, "build_info": "b10400-9f8e7d6c5", "is_sleeping": True}
    with serving(llama(props=Page(asleep))) as pages:
        items = await items_of(feed_of(pages), after_samples(4))
    assert pages.count("/metrics") == pages.count("/slots") == 0
    assert "sleeps" in notices(items)[-1][1]
    assert all(sample.metrics is None for sample in samples(items))


async def test_one_that_falls_asleep_is_left_alone_from_then_on() -> None:
    awake = {**PROPS, "build_info": "b10400-9f8e7d6c5"}
    states = [awake] * 3 + [{**awake, "is_sleeping": True}] * 100
    with serving(llama()) as pages:
        pages.pages["/props"] = lambda: Page(states.pop(0))
        await items_of(feed_of(pages), after_samples(8))
    assert pages.count("/metrics") == 2


async def test_newer_builds_are_asked_for_counters_while_they_sleep_but_not_for_slots() -> None:
    asleep = {**PROPS, "build_info": "b10600-9f8e7d6c5", "is_sleeping": True}
    with serving(llama(props=Page(asleep))) as pages:
        await items_of(feed_of(pages), after_samples(4))
    assert pages.count("/metrics") == 4
    assert pages.count("/slots") == 0
    assert pages.count("/props") == 1


@pytest.mark.parametrize(
    "answer", [off("This server does not support metrics endpoint."), Page(status=404)], ids=["501", "404"]
)
async def test_metrics_that_are_off_are_told_with_their_flag(answer: Page) -> None:
    with serving(llama(metrics=answer)) as pages:
        items = await items_of(feed_of(pages), after_samples(3))
    assert [text for kind, text in notices(items) if "--metrics" in text and kind == "waiting"] == [
        f"{pages.address}: /metrics is off: start llama-server with --metrics to count what it drafts"
    ]
    assert all(sample.about == PROPS and sample.metrics is None for sample in samples(items))


async def test_metrics_known_to_be_off_are_not_asked() -> None:
    with serving(llama(props=Page({**PROPS, "endpoint_metrics": False}))) as pages:
        await items_of(feed_of(pages), after_samples(2))
    assert pages.count("/metrics") == 0


async def test_slots_that_are_off_are_told_with_their_flag_and_asked_once() -> None:
    with serving(llama(slots=off("This server does not support slots endpoint."))) as pages:
        items = await items_of(feed_of(pages), after_samples(4))
    assert pages.count("/slots") == 1
    assert [text for kind, text in notices(items) if kind == "caught_up" and "--slots" in text]
    assert samples(items)[-1].metrics is not None


async def test_a_loading_server_is_awaited() -> None:
    answers = [LOADING, LOADING, OK]
    with serving(llama()) as pages:
        pages.pages["/health"] = lambda: answers.pop(0) if answers else OK
        items = await items_of(feed_of(pages), after_samples(1))
    assert [kind for kind, _ in notices(items)] == ["waiting"]
    assert "Loading model" in notices(items)[0][1]


async def test_a_refusal_is_told_once_and_tried_again_ever_more_rarely() -> None:
    with serving(Pages()) as gone:
        pass
    clock = Sleeps(most=7)
    items = await items_of(feed_of(gone, clock), never)
    assert [kind for kind, _ in notices(items)] == ["waiting"]
    assert "cannot be reached" in notices(items)[0][1]
    assert clock.slept == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_WAIT_S, LONGEST_WAIT_S]


async def test_watchers_do_not_ask_in_step() -> None:
    with serving(Pages()) as gone:
        pass
    clock = Sleeps(most=3)
    feed = HttpFeed(gone.address, clock=clock, sleep=clock.sleep, jitter=lambda: 0.0)
    await items_of(feed, never)
    assert clock.slept == [0.5, 1.0, 2.0]


async def test_a_flapping_server_is_read_whenever_it_is_there() -> None:
    turns = iter([OK, None, OK, None, None, OK])
    metrics = iter([Page(llamacpp(n, n)) if n % 2 else None for n in range(1, 100)])
    with serving(llama()) as pages:
        pages.pages["/health"] = lambda: next(turns, OK)
        pages.pages["/metrics"] = lambda: next(metrics)
        items = await items_of(feed_of(pages), after_samples(5))
    kinds = [kind for kind, _ in notices(items)]
    assert kinds.count("opened") >= 3
    assert kinds.count("failed") == kinds.count("ended") == 0


async def test_a_key_that_is_missing_is_asked_for_and_nothing_is_tried_again() -> None:
    refused = Page({"error": {"code": 401, "message": "Invalid API Key"}}, 401)
    with serving(llama(props=refused)) as pages:
        items = await items_of(feed_of(pages), never)
        kept = await items_of(feed_of(pages, api_key="sk-secret"), never)
    assert pages.asked == ["/health", "/props"] * 2
    assert notices(items)[-1][0] == notices(kept)[-1][0] == "failed"
    assert "SPECTOP_API_KEY" in notices(items)[-1][1]
    assert "refuses" in notices(kept)[-1][1]
    assert "sk-secret" not in str(kept)
    assert pages.keys == [None, None, "Bearer sk-secret", "Bearer sk-secret"]


@pytest.mark.parametrize("address", ["http://user:word@127.0.0.1:8080", "http://", "http://[::1"])
def test_no_address_and_no_password_on_the_command_line(address: str) -> None:
    with pytest.raises(FeedError) as failure:
        HttpFeed(address)
    assert "word" not in str(failure.value).replace("password", "")


async def test_redirects_stay_on_the_host() -> None:
    with serving(llama()) as other, serving(llama()) as pages:
        pages.pages["/health"] = Page(status=307, headers={"Location": "/here/health"})
        pages.pages["/here/health"] = OK
        pages.pages["/props"] = Page(status=302, headers={"Location": f"{other.address}/props"})
        items = await items_of(feed_of(pages, Sleeps(most=0), api_key="sk-secret"), never)
    assert pages.asked == ["/health", "/here/health", "/props"]
    assert other.asked == []
    assert other.address in notices(items)[-1][1]


async def test_redirects_in_a_circle_end() -> None:
    with serving(llama(health=Page(status=307, headers={"Location": "/health"}))) as pages:
        items = await items_of(feed_of(pages, Sleeps(most=0)), never)
    assert pages.count("/health") == 4
    assert [kind for kind, _ in notices(items)] == ["waiting"]


async def test_an_answer_without_end_is_not_read() -> None:
    with serving(llama(metrics=Page("x" * (17 * 2**20)))) as pages:
        items = await items_of(feed_of(pages, Sleeps(most=1)), never)
    assert "too large" in notices(items)[-1][1]


async def test_an_address_may_have_a_prefix() -> None:
    pages = llama()
    pages.pages = {f"/api{path}": page for path, page in pages.pages.items()}
    with serving(pages):
        feed = HttpFeed(f"{pages.address}/api/", clock=(clock := Clock()), sleep=clock.sleep)
        await items_of(feed, after_samples(1))
    assert pages.asked == ["/api/health", "/api/props", "/api/metrics", "/api/slots"]


async def test_another_process_is_asked_anew_what_it_is() -> None:
    newer = {**PROPS, "build_info": "b11500-0a0b0c0d"}
    processes = iter(["7", "7", "7", "9", "9", "9"])
    answers = [PROPS, newer]

    def metrics() -> Page:
        return Page(llamacpp(9, 1), headers={"Process-Start-Time-Unix": next(processes)})

    with serving(llama(metrics=metrics)) as pages:
        pages.pages["/props"] = lambda: Page(answers.pop(0))
        items = await items_of(feed_of(pages), after_samples(5))
    builds = [sample.about["build_info"][:6] for sample in samples(items)]
    assert builds == ["b11434"] * 3 + ["b11500"] * 2
    assert [sample.process for sample in samples(items)] == ["7", "7", "7", "9", "9"]
    assert pages.count("/health") == 1


async def test_slots_are_asked_for_the_drafters_until_they_tell_them() -> None:
    texts = [llamacpp(n, n) for n in range(1, 9)]
    idle = [{"id": 0, "is_processing": False, "speculative": True}]
    told = [{**idle[0], "params": {"speculative.types": "draft-mtp"}}]
    slots = [idle, told]
    with serving(llama()) as pages:
        pages.pages["/metrics"] = lambda: Page(texts.pop(0))
        pages.pages["/slots"] = lambda: Page(slots.pop(0))
        items = await items_of(feed_of(pages), after_samples(6))
    assert [sample.slots for sample in samples(items)] == [idle, told, None, None, None, None]


def gaps_s(pages: Pages, path: str) -> list[float]:
    """Seconds between askings for a path, by the looks between them: each asks for /metrics once."""
    looks, asked = 0, []
    for each in pages.asked:
        looks += each == "/metrics"
        asked += [looks * PACE_S] if each == path else []
    return [after - before for before, after in itertools.pairwise(asked)]


async def test_what_halogens_engine_has_to_answer_is_asked_seldom() -> None:
    pages = Pages({"/health": Page(HEALTH), "/metrics": Page(halogen(5, 1000, 20.0)), "/cache": Page(CACHE)})
    with serving(pages):
        items = await items_of(feed_of(pages), after_samples(50))
    assert pages.asked[:4] == ["/health", "/metrics", "/cache", "/metrics"]
    assert len(gaps_s(pages, "/health")) > 10
    assert min(gaps_s(pages, "/health")[1:]) >= 5.0
    assert len(gaps_s(pages, "/cache")) > 2
    assert min(gaps_s(pages, "/cache")) >= 30.0
    assert {sample.engine for sample in samples(items)} == {"halogen"}
    assert (samples(items)[0].about, samples(items)[0].cache) == (HEALTH, CACHE)


async def test_halogen_whose_engine_is_silent_is_polled_and_asked_again_no_faster_than_5_s() -> None:
    silent = Page({"error": {"message": "no PONG", "code": "engine_unresponsive"}}, 503)
    answers = [silent, silent, silent]
    pages = Pages({"/metrics": Page(halogen(5, 1000, 20.0)), "/cache": Page(CACHE)})
    pages.pages["/health"] = lambda: answers.pop(0) if answers else Page(HEALTH)
    with serving(pages):
        items = await items_of(feed_of(pages), after_samples(16))
    assert min(gaps_s(pages, "/health")[1:]) >= 5.0
    assert (
        pages.asked.index("/cache")
        > [place for place, path in enumerate(pages.asked) if path == "/health"][2]
    )
    assert [said for said in notices(items) if said[0] == "caught_up"] == [
        ("caught_up", f"{pages.address}: its engine does not answer: a long prefill, or it hangs"),
        ("caught_up", ""),
    ]
    assert {sample.metrics for sample in samples(items)} == {halogen(5, 1000, 20.0)}
    assert samples(items)[-1].about == HEALTH


async def test_a_halogen_that_fails_is_given_the_same_rest() -> None:
    pages = Pages({"/health": Page(HEALTH), "/metrics": Page("", 502)})
    sleeps = Sleeps(most=4)
    with serving(pages):
        await items_of(feed_of(pages, sleeps), never)
    assert sleeps.slept == [5.0, 5.0, 5.0, 8.0]


@pytest.mark.parametrize("answer", [Page("busy", 503), Page("", 500), Page("", 404), Page("[1]"), None])
async def test_a_cache_that_is_not_told_is_unknown(answer: Page | None) -> None:
    pages = Pages({"/health": Page(HEALTH), "/metrics": Page(halogen(5, 1000, 20.0))})
    answers = [Page(CACHE)]
    pages.pages["/cache"] = lambda: answers.pop(0) if answers else answer
    with serving(pages):
        items = await items_of(feed_of(pages), after_samples(20))
    assert [sample.cache for sample in samples(items)][:2] == [CACHE, CACHE]
    assert samples(items)[-1].cache == {}
    assert {sample.metrics for sample in samples(items)} == {halogen(5, 1000, 20.0)}


async def test_another_halogen_process_has_to_tell_its_own_version() -> None:
    texts = [halogen(5, 1000, 20.0), halogen(1, 10, 0.5)]
    pages = Pages({"/health": Page(HEALTH), "/cache": Page(CACHE)})
    pages.pages["/metrics"] = lambda: Page(texts.pop(0) if len(texts) > 1 else texts[0])
    with serving(pages):
        items = await items_of(feed_of(pages), after_samples(5))
    assert [sample.about for sample in samples(items)][:2] == [HEALTH, {}]
    assert samples(items)[-1].about == HEALTH


@pytest.mark.parametrize(
    ("health", "words"),
    [
        ({"version": {"api": "0.17.4", "engine": "0.17.3", "match": False}}, "different versions"),
        (
            {"version": {"api": "0.17.4", "match": True}, "capability_probe": "failed"},
            "capability probe failed",
        ),
        (
            {"version": {"api": "0.17.4", "match": True}, "drafter_weights_loaded": False},
            "weights are not loaded",
        ),
        ({"drafter_weights_loaded": False, "version": None}, ""),
    ],
)
async def test_what_halogen_says_is_wrong_with_it_is_told(health: dict[str, Any], words: str) -> None:
    pages = Pages({"/health": Page({**HEALTH, **health}), "/metrics": Page(halogen(5, 1000, 20.0))})
    with serving(pages):
        items = await items_of(feed_of(pages), after_notices(2))
    said = notices(items)[-1]
    assert said[0] == "caught_up"
    assert words in said[1]
    assert bool(said[1]) == bool(words)


async def test_halogen_without_metrics_is_told() -> None:
    with serving(Pages({"/health": Page(HEALTH)})) as pages:
        items = await items_of(feed_of(pages, Sleeps(most=1)), never)
    assert "0.8.0" in notices(items)[-1][1]


@pytest.mark.parametrize(("text", "engine"), [("vllm:x_total 1\n", "vLLM"), ("sglang:x_total 1\n", "SGLang")])
async def test_others_are_recognised_by_their_counters(text: str, engine: str) -> None:
    pages = Pages({"/health": Page(""), "/metrics": Page(text)})
    pages.pages["/v1/models"] = Page({"data": [{"id": "org/model"}]})
    pages.pages["/version"] = Page({"version": "0.28.1"})
    with serving(pages):
        items = await items_of(feed_of(pages), after_samples(1))
    (sample,) = samples(items)
    assert (sample.engine, sample.about) == (engine, {"model": "org/model", "version": "0.28.1"})


async def test_a_proxy_without_a_server_says_what_it_answers() -> None:
    bad = Page("<html>Bad Gateway</html>", 502)
    pages = Pages(dict.fromkeys(("/health", "/props", "/metrics"), bad))
    with serving(pages):
        items = await items_of(feed_of(pages, Sleeps(most=1)), never)
    assert notices(items)[-1] == ("waiting", f"{pages.address}: it answers 502")


async def test_a_server_of_another_kind_is_told() -> None:
    with serving(Pages({"/health": Page("hello")})) as pages:
        items = await items_of(feed_of(pages, Sleeps(most=1)), never)
    assert "none of llama.cpp" in notices(items)[-1][1]


def row(name: str, value: str, port: int) -> dict[str, Any]:
    return {"id": name, "status": {"value": value, "args": ["llama-server", "--port", str(port)]}}


async def test_a_routers_loaded_children_are_streams_and_no_other_is_asked() -> None:
    models = [row("a", "loaded", 41000), row("b", "unloaded", 0), row("c", "sleeping", 41002)]
    models.append({"id": "d", "status": {"value": "loaded"}})
    pages = Pages({"/health": OK, "/props": Page({"role": "router", "build_info": "b11434-aa"})})
    pages.pages["/v1/models"] = Page({"data": models})
    for name in "ad":
        pages.pages[f"/props?model={name}&autoload=false"] = Page({**PROPS, "model_path": f"/{name}.gguf"})
        pages.pages[f"/metrics?model={name}&autoload=false"] = Page(llamacpp(9, 1))
        pages.pages[f"/slots?model={name}&autoload=false"] = Page(BUSY)
    with serving(pages):
        items = await items_of(feed_of(pages), after_samples(4))
    found = {(sample.stream, sample.about["model_path"]) for sample in samples(items)}
    assert found == {("41000", "/a.gguf"), ("d", "/d.gguf")}
    proxied = [asked for asked in pages.asked if "model=" in asked]
    assert all("autoload=false" in asked for asked in proxied)
    assert not any("model=b" in asked or "model=c" in asked for asked in proxied)


async def test_a_router_without_a_loaded_model_is_told() -> None:
    pages = Pages({"/health": OK, "/props": Page({"role": "router"}), "/v1/models": Page({"data": []})})
    with serving(pages):
        items = await items_of(feed_of(pages), after_notices(2))
    assert "none is loaded by asking" in notices(items)[-1][1]


async def test_a_busy_server_may_miss_some_looks() -> None:
    asked: list[str] = []

    async def get(_: Connection, path: str, *__: object) -> Answer:
        asked.append(path)
        if path == "/metrics":
            raise SlowError("it gives no answer in time")
        return Answer(200, json.dumps(PROPS))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "get", get)
        clock = Sleeps(most=MISSES)
        items = await items_of(HttpFeed("http://127.0.0.1:1", clock=clock, sleep=clock.sleep), never)
    assert asked[:5] == ["/health", "/props", "/metrics", "/metrics", "/metrics"]
    assert clock.slept[: MISSES - 1] == [PACE_S] * (MISSES - 1)
    assert [kind for kind, _ in notices(items)] == ["waiting"]
    assert "in time" in notices(items)[-1][1]


async def test_one_look_for_commands_that_end() -> None:
    with serving(llama()) as pages:
        (sample,) = await feed_of(pages).first_look()
        assert sample.metrics is not None
        pages.pages["/metrics"] = off("off")
        with pytest.raises(FeedError, match="--metrics"):
            await feed_of(pages).first_look()
