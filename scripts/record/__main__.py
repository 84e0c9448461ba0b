"""Record what ragbed sends, scores, reports and prints, and print what changed.

    python -m scripts.record [NAME …] [--check]

`make test` fails if the recordings in tests/recordings and tests/transcripts differ from what the code does. If a
change is intended, run this command, check the differences that it prints, and commit the files; a commit that changes
a number says why. At most 200 differences of each recording are printed.
"""

from __future__ import annotations

import argparse

from scripts.record import verdicts
from scripts.record.recordings import recordings

_SHOWN = 200


def main() -> int:
    """Write the recordings that differ; with --check, return 1 instead."""
    known = recordings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[*known], metavar="NAME", help=", ".join(known))
    parser.add_argument("--check", action="store_true", help="only print the differences")
    options = parser.parse_args()
    has_failed = False
    for name in options.names:
        recording = known[name]
        differences = recording.differences()
        print(f"{name}: {len(differences) or 'no'} differences", *differences[:_SHOWN], sep="\n  ", flush=True)
        problem = differences and name == "verdicts" and verdicts.version_problem(*recording.rows())
        if problem:
            print(f"  not written: {problem}")
        elif differences and not options.check:
            recording.write()
        has_failed |= bool(problem or (differences and options.check))
    return int(has_failed)


if __name__ == "__main__":
    raise SystemExit(main())
