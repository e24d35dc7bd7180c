"""Servers for every test of the pre-flight."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.preflight.fake_server import Answers, FakeServer, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def serve() -> Iterator[Callable[[Answers], FakeServer]]:
    """Start fake servers that live as long as the test."""
    with contextlib.ExitStack() as stack:
        yield lambda answers: stack.enter_context(serving(answers))
