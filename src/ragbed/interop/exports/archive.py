"""Archives: a run as one zip file, with the runs of its judges and interventions, its diagnosis and its labels.

The files have the same names as in the run's folder. Each `run.sqlite` is a consistent copy, also of a run in progress.
A run contains no API keys: requests are stored without headers, and keys are removed from responses and errors.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from struct import Struct
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
from ragbed.analysis.judging import FOLDER as JUDGES
from ragbed.errors import DataError, NoSuchFile, RagbedError, explain_failed_read, refuse_unused
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.io.jsonl import make_folder, write_whole_folder
from ragbed.io.locations import open_regular, place_inside
from ragbed.runs.database import NAME, naming
from ragbed.runs.store import open_store

# The files of a run's folder that belong to it; others, e.g. reports, are neither exported nor imported.
_WORD = r"(?!\.)[\w.,=@+-]+"
_MEMBER = re.compile(
    rf"({JUDGES}/{_WORD}/|{DIAGNOSES}(/{_WORD})+/)?{re.escape(NAME)}|labels\.jsonl|{DIAGNOSES}/{_WORD}\.jsonl"
)
# An archive may decompress to 64 MiB plus this multiple of its size. Runs reach ratios near 50; zip files allow 1,000.
_FREE_BYTES, _MAX_RATIO = 64 << 20, 250
# A zip file ends with the size of its directory, unless it is larger than 4 GiB. The directory of a run has a few KiB.
_END, _END64 = Struct("<4s8xL6x"), Struct("<4s16x")
_MAX_DIRECTORY = 1 << 20
_CHUNK = 1 << 20
_CREATE = "create one with `ragbed export RUN --to archive`"


def write_run(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write a run to a zip file.

    Raises:
        UsageError: An option selects trials, or one of the run's files is a link, which may lead elsewhere.
    """
    for name in ("model", "canonical"):
        if getattr(run, name):
            refuse_unused(name, "an archive contains the complete run as it is")
    written = Written("trials")
    for _ in run.results(written):  # checks all rows, and counts those without a response
        pass
    with ZipFile(sink, "w") as archive, tempfile.TemporaryDirectory(prefix="ragbed-") as temporary:
        for name in _find_members(run.folder):
            path = place_inside(run.folder, *name.split("/"))
            if path.name == NAME:
                path = _copy_database(path, Path(temporary) / NAME)
            member = ZipInfo(name)  # without the time, so that equal runs give equal archives
            member.compress_type = ZIP_DEFLATED
            with open_regular(path) as source, archive.open(member, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, _CHUNK)
    return written


def _find_members(folder: Path) -> list[str]:
    found = [folder / NAME, folder / "labels.jsonl"]
    for top in (JUDGES, DIAGNOSES):
        found += place_inside(folder, top).rglob("*")
    names = [path.relative_to(folder).as_posix() for path in found if path.exists()]
    for name in names:
        place_inside(folder, *name.split("/"))
    return sorted(filter(_MEMBER.fullmatch, names))


def _copy_database(path: Path, copy: Path) -> Path:
    """Copy a run's database without its free pages, which may contain deleted rows."""
    copy.unlink(missing_ok=True)
    with open_store(path.parent, create=False) as store, closing(sqlite3.connect(copy)) as target, naming(path, "read"):
        store.connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        target.execute("VACUUM")
    return copy


def restore_archive(path: Path, folder: Path) -> dict[str, int]:
    """Restore a run to a new folder, which is created only if the archive is complete and valid.

    Returns:
        The numbers of runs, cases, results and other files.

    Raises:
        UsageError: The folder exists, or the archive does not.
        DataError: The archive is damaged, is not an archive of a run, or is too large for its size.
    """
    make_folder(folder.parent)
    counts = {"runs": 0, "cases": 0, "results": 0, "files": 0}
    with _open_archive(path) as archive, write_whole_folder(folder) as inside:
        left = _FREE_BYTES + _MAX_RATIO * path.stat().st_size
        for member in archive.infolist():
            if problem := _find_problem(member, inside):
                raise DataError(path, f"{problem}; {_CREATE}")
            left = _extract(archive, member, inside / member.filename, left)
            if left < 0:
                problem = "decompresses to far more bytes than a run of this file size; use an unmodified copy"
                raise DataError(path, problem)
        if not (inside / NAME).exists():
            raise DataError(path, f"is not the archive of a run (it contains no {NAME}); {_CREATE}")
        for database in inside.rglob(NAME):
            with open_store(database.parent, create=False) as store:  # checks the schema
                counts["runs"] += 1
                if database.parent == inside:
                    counts |= {"cases": store.size(1) + store.infeasible(), "results": store.result_count()}
        counts["files"] = len(archive.namelist()) - counts["runs"]
    return counts


def _find_problem(member: ZipInfo, folder: Path) -> str | None:
    """Return why a member may not be extracted to a folder, or None."""
    name = member.filename
    if not _MEMBER.fullmatch(name):
        return f"contains the file {name[:80]!r}, which does not belong to a run"
    if (folder / name).exists():
        return f"contains {name} twice"
    if member.flag_bits & 1 or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return f"contains {name} encrypted or with another compression"
    return None


def _extract(archive: ZipFile, member: ZipInfo, target: Path, left: int) -> int:
    """Write a member to a file, and return how many further bytes the archive may decompress to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, open(target, "xb") as sink:
        while left >= 0 and (content := source.read(_CHUNK)):
            left -= len(content)
            sink.write(content)
    return left


@contextmanager
def _open_archive(path: Path) -> Iterator[ZipFile]:
    """Open a zip file, and convert errors while it is read."""
    try:
        with open_regular(path, follow_links=True) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END.size - _END64.size))
            end = file.read()
            mark, directory = _END.unpack(end[-_END.size :].rjust(_END.size, b"\0"))
            if mark != b"PK\5\6" or directory > _MAX_DIRECTORY or end.startswith(b"PK\6\7"):
                raise DataError(path, f"is not the archive of a run; {_CREATE}")
            with ZipFile(file) as archive:
                yield archive
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise DataError(path, f"is damaged ({error}); use an unmodified copy") from error
    except OSError as error:
        raise RagbedError(f"{path} cannot be read: {explain_failed_read(error)}.") from error
