"""JSON Lines: one document a line, its text in the field `text`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from ragbed.build.sources.base import Desk, Found, Raw, Source, reject
from ragbed.store import read_lines
from ragbed.web.kinds import TEXT


class _Line(msgspec.Struct):
    """What is looked at; a line may hold more."""

    text: str
    url: str = ""
    title: str = ""
    date: str | None = None
    licence: str | None = None
    license: str | None = None


async def open_records(source: Source, desk: Desk) -> AsyncIterator[Found]:  # noqa: ARG001 - all are called alike
    """The records of a file; a document without an address is known by its line."""
    path = Path(source.place)
    decoder = msgspec.json.Decoder(_Line)
    for number, raw in read_lines(path):
        place = f"{path.name}:{number}"
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield reject(place, "broken", f"expected an object with the field `text`: {error}")
            continue
        yield Raw(
            url=line.url or place,
            body=line.text.encode("utf-8", "replace"),
            kind=TEXT,
            content_type="text/plain; charset=utf-8",
            title=line.title,
            date=line.date,
            licence=line.licence or line.license,
        )
