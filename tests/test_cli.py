"""The command line as a shell sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tui import __version__
from tui.cli import COMMANDS, cli


def spectop(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tui", *args],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
        timeout=60,
    )


def test_version_and_help_import_neither_the_screen_nor_arrays() -> None:
    for option, expected in (("--version", __version__), ("--help", "whatif")):
        program = (
            "import sys\nfrom tui.cli import main\n"
            f"try:\n    main([{option!r}])\nexcept SystemExit: pass\n"
            "print(sorted({'textual', 'numpy', 'plotext', 'httpx', 'watchfiles'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert expected in done.stdout
        assert done.stdout.rstrip().endswith("[]")


def test_every_command_has_help() -> None:
    for name in COMMANDS:
        result = CliRunner().invoke(cli, [name, "--help"])
        assert result.exit_code == 0, (name, result.output)
        assert "Usage: " in result.output


@pytest.mark.parametrize("args", [("log.txt",), ("watch", "log.txt"), ("demo",)])
def test_without_a_terminal_the_screen_is_refused_with_a_way_out(args: tuple[str, ...]) -> None:
    done = spectop(*args)
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert "spectop" in done.stderr
    assert done.stdout == ""


def test_no_source_is_wrong_usage() -> None:
    done = spectop()
    assert done.returncode == 2
    assert "spectop demo" in done.stderr


def test_missing_log_is_told_in_words(tmp_path: Path) -> None:
    done = spectop("events", str(tmp_path / "none.log"))
    assert done.returncode == 1
    assert "none.log" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_of_something_else_is_told_beside_the_data(tmp_path: Path) -> None:
    log = tmp_path / "syslog"
    log.write_text("Nov 29 10:00:00 box kernel: nothing of a server\n")
    done = spectop("events", str(log))
    assert (done.returncode, done.stdout) == (0, "")
    assert "no line in it that spectop knows" in done.stderr


def test_reader_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    line = "serve_api: mtp 88 tok in 2.20s = 40.00 t/s | 52 rounds, commit 1.67/round\n"
    log.write_text(line * 5000)
    command = f"{sys.executable} -m tui events {log} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith('{"event": "request"')
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("args", [("--help",), ("config",), ("whatif", "--json")])
def test_a_full_disk_is_told_in_words(args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "tui", *args]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_come_from_file_environment_and_option_in_this_order(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('min-requests = 30\nwarm-up = 2\ntheme = "light"\n')
    done = spectop("config", "--warm-up", "3", SPECTOP_CONFIG=str(config), SPECTOP_THEME="dark")
    rows = {line.split()[0]: line.split(None, 2)[1:] for line in done.stdout.splitlines() if line[0] != "#"}
    assert rows["min-requests"] == ["30", "configuration file"]
    assert rows["theme"] == ["dark", "environment"]
    assert rows["warm-up"] == ["3", "option"]
    assert rows["backfill"] == ["200", "default"]


@pytest.mark.parametrize(
    "text", ["min-reqests = 3", "= nonsense", 'theme = "neon"', "alpha = 0", "effect = 1"]
)
def test_wrong_configuration_file_is_wrong_usage_and_named(tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text)
    done = spectop("config", SPECTOP_CONFIG=str(config))
    assert done.returncode == 2
    assert str(config) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_value_names_the_variable_that_it_came_from() -> None:
    done = spectop("config", SPECTOP_MIN_REQUESTS="many")
    assert done.returncode == 2
    assert "SPECTOP_MIN_REQUESTS: 'many'" in done.stderr
    assert "Invalid value for '--min-requests'" in spectop("config", "--min-requests", "many").stderr


def test_text_without_quotes_in_the_configuration_file_is_explained(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("theme = light\n")
    done = spectop("config", SPECTOP_CONFIG=str(config))
    assert done.returncode == 2
    assert 'theme = "light"' in done.stderr


def test_a_configuration_that_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    done = spectop("config", SPECTOP_CONFIG=str(tmp_path / "fifo"))
    assert done.returncode == 2
    assert "not a file" in done.stderr
