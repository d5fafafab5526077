"""Names the tests that failed in the last run, for another run of them alone.

pytest-xdist adds a test's group to its name (`…::test_it@group`); a run without workers knows the
name alone, so the groups are taken out of what pytest has kept.
"""

import json
import sys
from pathlib import Path

KEPT = Path(".pytest_cache/v/cache/lastfailed")
MOST = 3
"""So many may be what a busy machine did."""


def main() -> int:
    """Name them; 1 where they are too many, or not known."""
    if not KEPT.exists():
        print("the last run was ended before it could tell what failed", file=sys.stderr)
        return 1
    failed = {_without_group(name): True for name in json.loads(KEPT.read_text("utf-8"))}
    KEPT.write_text(json.dumps(failed), "utf-8")
    print("failed before:", *failed, sep="\n  ")
    if len(failed) > MOST:
        print(f"these are too many to try again: {MOST} may be", file=sys.stderr)
        return 1
    return 0


def _without_group(name: str) -> str:
    test, _, group = name.rpartition("@")
    return test if test and "]" not in group else name


if __name__ == "__main__":
    sys.exit(main())
