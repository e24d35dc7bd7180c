"""`spectop tokenizer`: whether the token ids of models are interchangeable."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tui.preflight.tokenizer import Comparison, Tokenizer

SCHEMA_VERSION = 1


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="TARGET.gguf DRAFT.gguf...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(files: tuple[str, ...], as_json: bool) -> None:
    """Compare the tokenizers of GGUF files, each against the first, over all tokens.

    Files are local paths or http(s) URLs; of a URL only the header is fetched, by byte ranges.
    """
    from tui.commands.failures import failures
    from tui.formats.events import harmless
    from tui.preflight.gguf import GgufError
    from tui.preflight.ranges import RangeError, open_header
    from tui.preflight.tokenizer import compare, read_tokenizer

    read: list[tuple[str, Tokenizer]] = []
    refused: list[dict[str, str]] = []
    with failures():
        for file in files:
            try:
                read.append((file, read_tokenizer(open_header(file))))
            except (GgufError, RangeError) as error:
                refused.append({"path": file, "reason": str(error)})
                click.echo(f"spectop: {harmless(file)}: {harmless(str(error), 400)}", err=True)
        compared = {}
        if read and read[0][0] == files[0]:
            compared = {file: compare(read[0][1], other) for file, other in read[1:]}
        if as_json:
            click.echo(json.dumps(_object(read, refused, compared), indent=2))
        else:
            click.echo(_text(read, compared), nl=False)
    if refused:
        sys.exit(1)


def _object(
    read: list[tuple[str, Tokenizer]], refused: list[dict[str, str]], compared: dict[str, Comparison]
) -> dict[str, Any]:
    comparisons = [
        {
            "path": file,
            "interchangeable": result.interchangeable,
            "first_difference": result.first_difference and asdict(result.first_difference),
            "differing_ids": result.differing,
            "only_special_tokens_differ": result.only_special_tokens_differ,
            "special_ids_differ": list(result.special_ids_differ),
        }
        for file, result in compared.items()
    ]
    complete = bool(comparisons) and not refused
    differing = [each["first_difference"] for each in comparisons if not each["interchangeable"]]
    return {
        "schema_version": SCHEMA_VERSION,
        "files": [
            {
                "path": file,
                "vocab_size": side.vocab_size,
                "merges": side.merges,
                "model": side.model,
                "pre": side.pre,
                "sha256_first_2000": side.sha256_first_2000,
                "special_ids": side.special_ids,
            }
            for file, side in read
        ],
        "interchangeable": False if differing else True if complete else None,
        "first_difference": differing[0] if differing else None,
        "comparisons": comparisons,
        "refused": refused,
    }


def _text(read: list[tuple[str, Tokenizer]], compared: dict[str, Comparison]) -> str:
    from tui.formats.events import harmless
    from tui.preflight.tokenizer import describe

    lines = []
    for file, side in read:
        special = ", ".join(f"{harmless(role)} {number}" for role, number in side.special_ids.items())
        lines += [
            harmless(file),
            f"  vocabulary   {side.vocab_size}, merges {side.merges}",
            f"  tokenizer    {harmless(side.model or '--')}, pre {harmless(side.pre or '--')}",
            f"  sha256       {side.sha256_first_2000} (first 2,000 tokens)",
            f"  special ids  {special or '--'}",
        ]
        if file in compared:
            lines.append(f"  {describe(compared[file])}")
            if compared[file].special_ids_differ:
                roles = ", ".join(harmless(role) for role in compared[file].special_ids_differ)
                lines.append(f"  special ids differ from the target's: {roles}")
    return "".join(f"{line}\n" for line in lines)
