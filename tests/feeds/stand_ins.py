"""Stand-ins for docker, podman and journalctl: they tell the lines of a file as the real ones would."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

_SCRIPT = """#!{python} -S
import json, os, sys, time
folder = {folder!r}
args = sys.argv[1:]
with open(folder + "/asked", "a") as asked:
    asked.write(json.dumps(args) + "\\n")
if os.path.exists(folder + "/refusal"):
    sys.stderr.write(open(folder + "/refusal").read())
    sys.exit(1)
def option(name):
    for place, word in enumerate(args):
        if word == name:
            return args[place + 1]
        if word.startswith(name + "="):
            return word.partition("=")[2]
since, cursor, tail = option("--since"), option("--after-cursor"), option("--tail") or option("--lines")
def wanted(line):
    if since:
        return line.split(" ")[0] >= since
    return not cursor or json.loads(line)["__CURSOR"] > cursor
def tell(text):
    out = sys.stderr if "stderr" in text else sys.stdout
    out.write(text)
    out.flush()
log = open(folder + "/lines", newline="")
lines = [line for line in log.read().splitlines(True) if wanted(line)]
for line in lines[-int(tail):] if tail else lines:
    tell(line)
while "--follow" in args and not os.path.exists(folder + "/stop"):
    line = log.readline()
    if line:
        tell(line)
    else:
        time.sleep(0.01)
if os.path.exists(folder + "/cut"):
    tell(open(folder + "/cut").read())
if os.path.exists(folder + "/words"):
    sys.stderr.write(open(folder + "/words").read())
    sys.exit(1)
"""


@dataclass
class StandIn:
    """A client on PATH and the files that drive it."""

    folder: Path

    def add(self, *lines: str) -> None:
        """The source says more."""
        with (self.folder / "lines").open("a", newline="") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def set(self, name: str, text: str = "") -> None:
        """`refusal`: words before it ends at once. `stop`: it ends; `cut` and `words` are said before."""
        (self.folder / name).write_text(text)

    def clear(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def wrap(self) -> None:
        """It becomes a script that starts the real client."""
        client = self.folder / self.folder.name
        client.rename(self.folder / "real")
        client.write_text(f"#!/bin/sh\n'{self.folder / 'real'}' \"$@\"\nexit $?\n")
        client.chmod(0o755)

    @property
    def asked(self) -> list[list[str]]:
        """The arguments of each run."""
        path = self.folder / "asked"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def stand_in(program: str, folder: Path, patch: pytest.MonkeyPatch) -> StandIn:
    """Put a client of this name before all others on PATH."""
    place = folder / program
    place.mkdir()
    (place / "lines").touch()
    script = place / program
    script.write_text(_SCRIPT.format(python=sys.executable, folder=str(place)))
    script.chmod(0o755)
    patch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    return StandIn(place)
