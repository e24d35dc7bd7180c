"""What a command line can name, and which log is which server's."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from tui.feeds.lines import read_file
from tui.feeds.protocol import FeedError
from tui.feeds.sources import (
    Source,
    belong_together,
    is_command,
    is_file,
    is_url,
    otherwise,
    parse_source,
    read_api_key,
)
from tui.formats.events import ServerStart

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("llama.log", Source("llama.log", None)),
        ("mail@box.log", Source("mail@box.log", None)),
        ("http://127.0.0.1:8080", Source(None, "http://127.0.0.1:8080")),
        ("a@b.log@http://[::1]:8080/api", Source("a@b.log", "http://[::1]:8080/api")),
        ("docker:llama@https://box:8443", Source("docker:llama", "https://box:8443")),
        ("journal:llama@1.service", Source("journal:llama@1.service", None)),
        ("-@http://127.0.0.1:8080", Source("-", "http://127.0.0.1:8080")),
    ],
)
def test_a_source_is_a_log_a_server_or_both(text: str, source: Source) -> None:
    assert parse_source(text) == source
    assert source.name == (source.log or source.url)


def test_kinds_of_sources() -> None:
    assert [is_file(text) for text in ("a.log", "-", "docker:a", "http://a")] == [True, False, False, False]
    assert is_command("podman:a")
    assert is_command("journal:a")
    assert not is_command("./docker:a")
    assert is_url("https://a")


def start(listening: str | None, model: str | None = None) -> ServerStart:
    return ServerStart(source="a.log", listening=listening, model=model)


@pytest.mark.parametrize(
    ("listening", "url", "together"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", True),
        ("http://0.0.0.0:8080", "http://localhost:8080/api", True),
        ("http://[::]:8080", "http://[::1]:8080", True),
        ("0.0.0.0:8731", "http://127.0.0.1:8731", True),
        ("0.0.0.0:80", "http://127.0.0.1", True),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081", False),
        ("http://127.0.0.1:8080", "http://192.0.2.7:8080", False),
        ("http://127.0.0.1:8080", "http://gpu-box.example:8080", False),
        ("unix:///run/llama.sock", "http://127.0.0.1:8080", False),
        (None, "http://127.0.0.1:8080", False),
        ("http://127.0.0.1:8080", "http://127.0.0.1:99999", False),
    ],
)
def test_a_log_is_that_of_the_server_on_its_port_of_this_machine(
    listening: str | None, url: str, together: bool
) -> None:
    assert belong_together(start(listening), url, None) == together


def test_another_model_is_another_server() -> None:
    here = "http://127.0.0.1:8080"
    assert belong_together(start(here, "/srv/a.gguf"), here, "/cache/a.gguf")
    assert not belong_together(start(here, "/srv/a.gguf"), here, "/srv/b.gguf")
    # A repository's name and the file it was loaded from can be the same.
    assert belong_together(start(here, "org/a-GGUF:Q4_K_M"), here, "/cache/a.gguf")


def test_this_machines_name_is_here() -> None:
    assert belong_together(start("0.0.0.0:8080"), f"http://{socket.gethostname()}:8080", None)


def test_the_key_comes_from_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("sk-file\n")
    assert read_api_key(None) is None
    assert read_api_key(str(file)) == "sk-file"
    monkeypatch.setenv("SPECTOP_API_KEY", " sk-variable ")
    assert read_api_key(str(file)) == "sk-variable"


def test_a_key_file_that_tells_no_key_is_told(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match="cannot be read"):
        read_api_key(str(tmp_path / "none"))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(FeedError, match="is empty"):
        read_api_key(str(tmp_path / "empty"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FeedError, match="no text"):
        read_api_key(str(tmp_path / "binary"))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("localhost:8080", "http://HOST:PORT"),
        ("[::1]:8080", "http://HOST:PORT"),
        ("HTTP://box:8080", "http://HOST:PORT"),
        ("llama.service", "journal:llama.service"),
        ("llama.log", ""),
        ("/var/log/a:1/llama.log", ""),
    ],
)
def test_what_was_meant_by_a_path_that_is_not_there(path: str, words: str) -> None:
    assert words in otherwise(path)
    assert bool(otherwise(path)) == bool(words)
    with pytest.raises(FeedError, match=f"no such file.*{re.escape(words)}"):
        list(read_file(path, path))
