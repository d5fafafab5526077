"""Run the benchmarks, all of them or one: `python -m benchmarks [--only NAME] [its options]`."""

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec

ALL = (
    "start",
    "warm",
    "lane",
    "host",
    "search",
    "isolation",
    "mount",
    "tasky",
    "openspec",
    "cortex",
    "todo_db",
    "todo_db_load",
    "fairness",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Other options go to the benchmark; `--only NAME --help` lists them.",
        add_help="--only" not in sys.argv,
    )
    parser.add_argument("--only", choices=ALL, help="run this one")
    chosen, rest = parser.parse_known_args()
    for name in [chosen.only] if chosen.only else ALL:
        module = f"{__package__}.{name}"
        if find_spec(module) is None:
            print(f"\n# {name}: there is no such benchmark yet", flush=True)
            continue
        print(f"\n# {name}", flush=True)
        import_module(module).main(rest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
