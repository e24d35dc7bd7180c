"""Keys never stand on a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.feeds.pages import Page, Pages, serving
from tui.cli import COMMANDS, cli
from tui.feeds.protocol import FeedError
from tui.feeds.sources import read_api_key

if TYPE_CHECKING:
    from pathlib import Path


def test_no_command_takes_a_key_as_an_option() -> None:
    for name in COMMANDS:
        output = CliRunner().invoke(cli, [name, "--help"]).output
        assert "--api-key " not in output
        assert "--api-key=" not in output


def test_the_environment_goes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\n")
    assert read_api_key(None) is None
    assert read_api_key(str(file)) == "from-file"
    monkeypatch.setenv("SPECTOP_API_KEY", "from-environment")
    assert read_api_key(str(file)) == "from-environment"


@pytest.mark.parametrize(
    "arguments",
    [
        ("events",),
        ("report", "--incumbent", "25"),
        ("check", "--incumbent", "25"),
        ("check", "--incumbent", "25", "--for", "1s", "--quiet"),
    ],
)
def test_every_command_that_reads_a_server_gives_it_the_key_of_the_settings(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("from-file\n")
    (tmp_path / "config.toml").write_text(f"api-key-file = '{tmp_path / 'key'}'\n")
    monkeypatch.setenv("SPECTOP_CONFIG", str(tmp_path / "config.toml"))
    with serving(Pages({"/health": Page(status=401)})) as pages:
        CliRunner().invoke(cli, [*arguments, pages.address])
    assert set(pages.keys) == {"Bearer from-file"}


@pytest.mark.parametrize("content", ["", "  \n"])
def test_a_file_without_a_key_is_wrong_usage(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content)
    with pytest.raises(FeedError):
        read_api_key(str(file))
