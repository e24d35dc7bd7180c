from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

import pytest

from tests.preflight.fake_server import Asked, FakeServer, Reply
from tests.preflight.headers import file
from tests.tiny_models import write_tiny_model
from tui.preflight.gguf import GgufError
from tui.preflight.ranges import RangeError, open_header, open_model
from tui.preflight.tokenizer import compare, read_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[[dict[str, Any]], FakeServer]

HUGE = 200 * 2**20


def ranged(path: Path) -> Callable[[Asked], Reply]:
    """Serve a file by ranges, as a model hub's storage does."""

    def answer(asked: Asked) -> Reply:
        size = path.stat().st_size
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", asked.headers.get("Range", ""))
        assert wanted, "a request without a range would fetch the whole file"
        start, end = int(wanted[1]), min(int(wanted[2]), size - 1)
        if start >= size:
            return Reply(b"", 416, {"Content-Range": f"bytes */{size}"})
        with path.open("rb") as data:
            data.seek(start)
            piece = data.read(end - start + 1)
        return Reply(piece, 206, {"Content-Range": f"bytes {start}-{end}/{size}"})

    return answer


def sparse(path: Path) -> Path:
    """A model file grown to 200 MB; the last weights lie at its end."""
    write_tiny_model(path)
    with path.open("r+b") as data:
        data.truncate(HUGE)
    return path


def test_a_200_mb_file_costs_under_10_mb(serve: Serve, tmp_path: Path) -> None:
    model = sparse(tmp_path / "large.gguf")
    server = serve({"/large.gguf": ranged(model)})
    header = open_header(f"{server.url}/large.gguf")
    assert header.file_size == HUGE
    assert 0 < server.sent < 10_000_000
    assert compare(read_tokenizer(header), read_tokenizer(open_header(str(model)))).interchangeable


def test_more_than_the_first_8_mb_is_fetched_when_the_header_is_larger(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "wide.gguf"
    path.write_bytes(file({"tokenizer.ggml.tokens": [bytes(2000)] * 6000}) + bytes(30_000_000))
    server = serve({"/wide.gguf": ranged(path)})
    assert read_tokenizer(open_header(f"{server.url}/wide.gguf")).vocab_size == 6000
    assert 12_000_000 < server.sent < 20_000_000


def test_a_server_that_ignores_ranges_is_left_early(serve: Serve) -> None:
    server = serve({"/m.gguf": Reply(bytes(30_000_000))})
    with pytest.raises(RangeError, match="ignores range reads: download"):
        open_header(f"{server.url}/m.gguf")
    assert server.sent < 20_000_000


def test_a_server_that_sends_more_than_asked_is_cut_off(serve: Serve, tmp_path: Path) -> None:
    raw = write_tiny_model(tmp_path / "m.gguf").read_bytes()

    def generous(asked: Asked) -> Reply:
        size = len(raw) + HUGE
        return Reply(raw + bytes(30_000_000), 206, {"Content-Range": f"bytes 0-{size - 1}/{size}"})

    server = serve({"/m.gguf": generous})
    assert open_header(f"{server.url}/m.gguf").architecture == "llama"


def test_another_range_than_asked_is_refused(serve: Serve) -> None:
    server = serve({"/m.gguf": Reply(b"GGUF", 206, {"Content-Range": "bytes 4-7/100"})})
    with pytest.raises(RangeError, match="another range"):
        open_header(f"{server.url}/m.gguf")


@pytest.mark.parametrize(
    ("status", "words"), [(401, "login"), (403, "login"), (404, "404"), (500, "500"), (503, "503")]
)
def test_refusals_are_told(serve: Serve, status: int, words: str) -> None:
    server = serve({"/m.gguf": Reply(b"", status)})
    with pytest.raises(RangeError, match=words):
        open_header(f"{server.url}/m.gguf")


def test_no_server_at_all_is_told() -> None:
    with pytest.raises(RangeError, match="cannot be fetched"):
        open_header("http://127.0.0.1:1/m.gguf")


def test_an_empty_remote_file_is_no_gguf(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "empty.gguf").touch()
    server = serve({"/m.gguf": ranged(tmp_path / "empty.gguf")})
    with pytest.raises(GgufError, match="cut short"):
        open_header(f"{server.url}/m.gguf")


def test_a_redirect_on_the_same_server_is_followed(serve: Serve, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.gguf")
    server = serve({"/old": Reply(b"", 302, {"Location": "/new"}), "/new": ranged(path)})
    assert open_header(f"{server.url}/old").architecture == "llama"


@pytest.mark.parametrize(
    "location", ["http://192.0.2.1/m.gguf", "ftp://192.0.2.1/m.gguf", "file:///etc/passwd"]
)
def test_a_redirect_elsewhere_without_https_is_not_followed(serve: Serve, location: str) -> None:
    server = serve({"/m.gguf": Reply(b"", 302, {"Location": location})})
    with pytest.raises(RangeError, match="not https"):
        open_header(f"{server.url}/m.gguf")
    assert server.paths() == ["/m.gguf"]


def test_a_redirect_to_another_local_server_is_not_followed(serve: Serve, tmp_path: Path) -> None:
    other = serve({"/m.gguf": ranged(write_tiny_model(tmp_path / "m.gguf"))})
    server = serve({"/m.gguf": Reply(b"", 302, {"Location": f"{other.url}/m.gguf"})})
    with pytest.raises(RangeError, match="not https"):
        open_header(f"{server.url}/m.gguf")
    assert other.asked == []


def test_a_redirect_to_https_is_followed(serve: Serve) -> None:
    server = serve({"/m.gguf": Reply(b"", 302, {"Location": "https://127.0.0.1:1/m.gguf"})})
    with pytest.raises(RangeError, match="cannot be fetched"):
        open_header(f"{server.url}/m.gguf")


def test_redirects_in_a_circle_end(serve: Serve) -> None:
    server = serve({"/m.gguf": Reply(b"", 302, {"Location": "/m.gguf"})})
    with pytest.raises(RangeError, match="redirected more than 5 times"):
        open_header(f"{server.url}/m.gguf")
    assert len(server.asked) == 6


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing.gguf"):
        with pytest.raises(RangeError, match="cannot be read"):
            open_header(str(place))


def test_a_broken_download_is_told(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.gguf")
    path.write_bytes(path.read_bytes()[:-512])
    assert open_header(str(path)).architecture == "llama"
    with pytest.raises(GgufError, match=r"512 bytes .* broken download"):
        open_model(str(path))


def split_model(folder: Path) -> Path:
    """A model in two pieces, 64 and 128 bytes of weights."""
    for number, shape in ((1, (16,)), (2, (32,))):
        raw = file({"general.architecture": "llama", "split.count": 2}, {f"part{number}": shape})
        raw += bytes(-len(raw) % 32 + 4 * shape[0])
        (folder / f"m-{number:05d}-of-00002.gguf").write_bytes(raw)
    return folder / "m-00001-of-00002.gguf"


def test_a_split_model_is_the_sum_of_its_pieces(tmp_path: Path, serve: Serve) -> None:
    first = split_model(tmp_path)
    assert open_model(str(first)).weights == 192
    server = serve({f"/{path.name}": ranged(path) for path in tmp_path.iterdir()})
    assert open_model(f"{server.url}/{first.name}").weights == 192


def test_a_missing_piece_is_told(tmp_path: Path) -> None:
    first = split_model(tmp_path)
    (tmp_path / "m-00002-of-00002.gguf").unlink()
    with pytest.raises(RangeError, match="cannot be read"):
        open_model(str(first))


def test_a_hostile_header_behind_http_is_left_early(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 100_000_000))
    with path.open("r+b") as data:
        data.truncate(HUGE)
    server = serve({"/m.gguf": ranged(path)})
    with pytest.raises(GgufError, match="not believed"):
        open_header(f"{server.url}/m.gguf")
    assert server.sent < 10_000_000
