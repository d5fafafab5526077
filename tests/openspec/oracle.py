"""Compare the pack with the reference tool's recorded answers, over whole trees.

usage: oracle.py [--corpus DIR] [--oracle DIR] [--quiet] [--one-in N]

Prints every disagreement, every deliberate difference, and as the very last line
`oracle: A of T agree, D deliberate` with A + D = T where all is well. Without folders of its own it
unpacks those of `../shared/openspec-oracle` (or `$MCP_HOST_SHARED/openspec-oracle`).

One comparison is one validated item, one archived change, one list, or one item shown. Message
texts are not compared; levels, paths, lines, contents, exit codes and every byte written are.

With `--one-in N` every list and `validate --all` is compared as always, and of the shown and
archived items one in N: always the same ones.
"""

import argparse
import base64
import contextlib
import datetime
import io
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_host_openspec.cli import main as openspec

Json = dict[str, Any]
MOST_DELIBERATE = 0.03
OURS_ALONE = "archive_would_lose_text"


def shared() -> Path:
    """The folder of shared test data: beside the checkout, unless said otherwise."""
    default = Path(__file__).resolve().parents[3] / "shared"
    return Path(os.environ.get("MCP_HOST_SHARED", default)) / "openspec-oracle"


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for a while; in memory where the system has such, since thousands are written."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


class Score:
    """Counts comparisons and prints what does not agree."""

    def __init__(self, *, quiet: bool, one_in: int = 1) -> None:
        self.agree = self.total = 0
        self.deliberate: Counter[str] = Counter()
        self._quiet = quiet
        self._one_in = one_in

    def takes(self, where: str) -> bool:
        """Whether an item is in the sample."""
        return zlib.crc32(where.encode()) % self._one_in == 0

    def same(self, where: str, ours: object, theirs: object) -> None:
        """One comparison."""
        self.total += 1
        if ours == theirs:
            self.agree += 1
            return
        print(f"DISAGREE {where}")
        for path, mine, other in list(_differences("", ours, theirs))[:4]:
            print(f"  {path or '/'}\n    ours   {_short(mine)}\n    theirs {_short(other)}")

    def on_purpose(self, where: str, number: str) -> None:
        """One comparison that differs as it should."""
        self.total += 1
        self.deliberate[number] += 1
        if not self._quiet:
            print(f"deliberate {number}: {where}")

    def close(self) -> bool:
        """Print the result; say whether all is well."""
        differences = self.deliberate.total()
        if self.deliberate:
            listed = ", ".join(f"{name}: {n}" for name, n in sorted(self.deliberate.items()))
            print(f"deliberate differences by number: {listed}")
        print(f"oracle: {self.agree} of {self.total} agree, {differences} deliberate")
        return (
            self.agree + differences == self.total
            and differences <= MOST_DELIBERATE * self.total
            and self.total > 0
        )


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:600]


def _differences(path: str, ours: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours.keys() | theirs.keys():
            yield from _differences(f"{path}/{key}", ours.get(key), theirs.get(key))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(f"{path}/{index}", mine, other)
    elif ours != theirs:
        yield path, ours, theirs


def run(root: Path, *arguments: str) -> Json:
    """Our command, in this process: its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(root)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = openspec(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        os.chdir(before)
    text = normal(out.getvalue(), root)
    try:
        return {"rc": code, "json": json.loads(text)}
    except ValueError:
        return {"rc": code, "stdout": text, "stderr": normal(err.getvalue(), root)}


def normal(text: str, root: Path) -> str:
    """The text without what differs from run to run."""
    text = text.replace(os.path.realpath(root), "<ROOT>")
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    return re.sub(r'"durationMs": \d+', '"durationMs": 0', text).replace(today, "<DATE>")


def put(root: Path, files: dict[str, Any]) -> Path:
    """Write files given as text or base64."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            path.write_bytes(base64.b64decode(content["b64"]))
        else:
            path.write_bytes(content.encode("utf-8", "surrogateescape"))
    return root


def set_times(root: Path) -> None:
    """Give the files of each change the times they had for the reference tool."""
    changes = root / "openspec/changes"
    if not changes.is_dir():
        return
    folders = sorted(path for path in changes.iterdir() if path.is_dir() and not path.is_symlink())
    for number, folder in enumerate(folders):
        moment = 1700000000 + 60 * number
        for path in [*folder.rglob("*"), folder]:
            os.utime(path, (moment, moment))


def findings(item: Json) -> list[tuple[str, str, int | None]]:
    """An item's findings as a multiset, without their texts."""
    return sorted(
        ((i["level"], i["path"], i.get("line")) for i in item["issues"]), key=lambda f: str(f)
    )


def subset(ours: Any, theirs: Any) -> Any:
    """Ours without the keys that theirs has not."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {key: subset(ours[key], theirs[key]) for key in theirs if key in ours}
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [subset(mine, other) for mine, other in zip(ours, theirs, strict=True)]
    return ours


def plain(answer: Json) -> Any:
    """An answer reduced to what must agree: on failure, exit code and status codes."""
    if answer["rc"] == 0 and "json" in answer:
        return {"rc": 0, "json": _without_texts(answer["json"])}
    if "json" in answer and "status" in answer["json"]:
        rest = {k: v for k, v in answer["json"].items() if k != "status"}
        return {"rc": answer["rc"], **rest, "codes": [s["code"] for s in answer["json"]["status"]]}
    return {"rc": answer["rc"], **({"json": answer["json"]} if "json" in answer else {})}


def _without_texts(data: Json) -> Json:
    """The answer without warnings' messages, which are worded differently."""
    if "warnings" not in data:
        return data
    rest = [{k: v for k, v in w.items() if k != "message"} for w in data["warnings"]]
    return {**data, "warnings": rest}


def compare_plain(score: Score, where: str, ours: Json, theirs: Json) -> None:
    """Compare lists and shown items: all that the reference tool prints, we print."""
    mine, other = plain(ours), plain(theirs)
    score.same(where, subset(mine, other), other)


def compare_items(score: Score, where: str, ours: Json, theirs: Json) -> None:
    """Compare validated items one by one, and the rest of the answer as a whole."""
    if "items" not in theirs.get("json", {}) or "items" not in ours.get("json", {}):
        compare_plain(score, where, ours, theirs)
        return
    mine = {(i["type"], i["id"]): i for i in ours["json"]["items"]}
    for item in theirs["json"]["items"]:
        key = item["type"], item["id"]
        got = mine.get(key)
        score.same(
            f"{where} {key[0]} {key[1]}",
            got and [got["valid"], findings(got)],
            [item["valid"], findings(item)],
        )
    keys = ("rc", "summary", "version", "root", "order")
    mine_rest, other_rest = (
        {**a["json"], "rc": a["rc"], "order": [i["id"] for i in a["json"]["items"]]}
        for a in (ours, theirs)
    )
    score.same(where, *({k: rest[k] for k in keys} for rest in (mine_rest, other_rest)))


def specs_of(root: Path) -> dict[str, bytes]:
    """The main specs of a tree by path."""
    base = root / "openspec/specs"
    if not base.is_dir():
        return {}
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(base.rglob("*"))
        if path.is_file()
    }


def lone_change(source: Path, change: str, root: Path) -> None:
    """Copy what an archive of one change looks at, as it was done for the reference tool."""
    tree, copy = source / "openspec", root / "openspec"
    copy.mkdir(parents=True)
    for name in ("config.yaml", "config.yml", "AGENTS.md", "project.md"):
        if (tree / name).is_file():
            shutil.copy2(tree / name, copy / name)
    for name in ("specs", "schemas"):
        if (tree / name).is_dir():
            shutil.copytree(tree / name, copy / name, symlinks=True, copy_function=os.link)
        elif (tree / name).is_file():
            shutil.copy2(tree / name, copy / name)
    (copy / "changes").mkdir()
    shutil.copytree(tree / "changes" / change, copy / "changes" / change, symlinks=True)
    taken = tree / "changes/archive" / change
    if taken.is_dir():
        shutil.copytree(taken, copy / "changes/archive" / change)


def archive_once(source: Path, change: str, *flags: str) -> Json:
    """Archive one change in a copy: what was printed, written and moved."""
    with scratch() as folder:
        root = Path(folder).resolve()
        lone_change(source, change, root)
        before = specs_of(root)
        answer = run(root, "archive", "--json", *flags, "--", change)
        after = specs_of(root)
        archive = root / "openspec/changes/archive"
        known = source / "openspec/changes/archive"
        entries = list(archive.iterdir()) if archive.is_dir() else []
        moved = [e.name for e in entries if e.is_dir() and not (known / e.name).exists()]
        return {
            **answer,
            "specs": {
                name: _text(after.get(name))
                for name in sorted(before.keys() | after.keys())
                if before.get(name) != after.get(name)
            },
            "moved": normal(moved[0], root) if moved else None,
            "left": sorted(e.name for e in entries if not e.is_dir()),
        }


def _text(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode()}


def outcome(result: Json) -> Json:
    """What of an archive must agree."""
    archived = result.get("json", {}).get("archive") or {}
    return {
        "ok": result["rc"] == 0,
        "specs": result["specs"],
        "moved": result["moved"],
        "left": result["left"],
        "totals": archived.get("totals"),
        "specsUpdated": archived.get("specsUpdated"),
        "archivedAs": archived.get("archivedAs"),
    }


def codes(result: Json) -> list[str]:
    """The status codes of a refused archive."""
    return [s["code"] for s in result.get("json", {}).get("status", [])]


def compare_archive(score: Score, where: str, source: Path, change: str, theirs: Json) -> None:
    """Compare archives: with validation, and where that fails, without."""
    variants = [("yes", ("--yes",)), ("noval", ("--yes", "--no-validate"))]
    for name, flags in variants:
        if name not in theirs:
            continue
        expected = outcome(theirs[name])
        ours = archive_once(source, change, *flags)
        got = outcome(ours)
        if got != expected and (number := deliberate(source, change, flags, ours, theirs[name])):
            score.on_purpose(f"{where} {name}", number)
        elif not got["ok"] and not expected["ok"]:
            # Which of two reasons is told first may differ where one of them is ours alone.
            told = [] if codes(ours) == [OURS_ALONE] else [codes(ours), codes(theirs[name])]
            score.same(f"{where} {name}", [got, told[:1]], [expected, told[1:]])
        else:
            score.same(f"{where} {name}", got, expected)


def deliberate(
    source: Path, change: str, flags: tuple[str, ...], ours: Json, theirs: Json
) -> str | None:
    """The number of the difference that explains a disagreement, checked; None without one."""
    if ours["rc"] == 0:
        if theirs["rc"] == 0:
            return "L1" if _spaced(theirs["specs"]) == ours["specs"] else None
        return "L12" if codes(theirs) == ["archive_spec_validation_failed"] else None
    if codes(ours) != [OURS_ALONE]:
        return None
    numbers = sorted({loss["loss"] for loss in ours["json"]["status"][0]["losses"]})
    accepted = [word for number in numbers for word in ("--accept", number)]
    again = archive_once(source, change, *flags, *accepted)
    if outcome(again) == outcome(theirs) or _spaced(theirs["specs"]) == again["specs"]:
        return "+".join(numbers)
    return None


def _spaced(specs: Json) -> Json:
    return {
        name: re.sub(r"(?mi)^###Requirement:", lambda m: "### " + m[0][3:], text)
        if isinstance(text, str)
        else text
        for name, text in specs.items()
    }


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8", "surrogateescape"))


def compare_tree(score: Score, where: str, root: Path, expected: Path) -> None:
    """Compare everything about one tree."""
    set_times(root)
    for name, arguments in (
        ("list", ("list", "--json")),
        ("list-name", ("list", "--json", "--sort", "name")),
        ("list-specs", ("list", "--specs", "--json")),
    ):
        compare_plain(
            score, f"{where} {name}", run(root, *arguments), read(expected / f"{name}.json")
        )
    for name, arguments in (
        ("validate-all", ("validate", "--all", "--json")),
        ("validate-all-strict", ("validate", "--all", "--strict", "--json")),
        ("validate-archived", ("validate", "--archived", "--json")),
    ):
        compare_items(
            score, f"{where} {name}", run(root, *arguments), read(expected / f"{name}.json")
        )
    for kind in ("change", "spec"):
        for item, theirs in read(expected / f"show-{kind}s.json").items():
            if not score.takes(f"{where} {kind} {item}"):
                continue
            ours = run(root, "show", "--type", kind, "--json", "--", item)
            compare_plain(score, f"{where} show {kind} {item}", ours, theirs)
    flags = expected / "show-spec-flags.json"
    for key, theirs in (read(flags) if flags.exists() else {}).items():
        if not score.takes(f"{where} {key}"):
            continue
        item, _, rest = key.partition(" ")
        ours = run(root, "show", "--type", "spec", "--json", *rest.split(), "--", item)
        compare_plain(score, f"{where} show {key}", ours, theirs)
    archives = expected / "archive.json"
    for change, theirs in (read(archives) if archives.exists() else {}).items():
        if score.takes(f"{where} {change}"):
            compare_archive(score, f"{where} archive {change}", root, change, theirs)
    extra = expected / "extra.json"
    for line, theirs in (read(extra) if extra.exists() else {}).items():
        if not score.takes(f"{where} {line}"):
            continue
        with scratch() as folder:
            copy = Path(folder).resolve() / "t"
            shutil.copytree(root, copy, symlinks=True)
            set_times(copy)
            compare_extra(score, f"{where} {line}", run(copy, *line.split()), theirs)


def compare_extra(score: Score, where: str, ours: Json, theirs: Json) -> None:
    """Compare an odd command: exit code, codes, and contents but for texts of our own."""
    for answer in (ours, theirs):
        for item in answer.get("json", {}).get(
            "items", answer.get("json", {}).get("itemFindings", [])
        ):
            item["issues"] = findings(item)
        for delta in answer.get("json", {}).get("deltas", []):
            for key in ("diff", "warning"):
                if key in delta:
                    delta[key] = bool(delta[key])
    compare_plain(score, where, ours, theirs)


def compare_cases(score: Score, where: str, cases: Json, expected: Json) -> None:
    """Compare changes that each come with a small tree of their own."""
    for name, theirs in expected.items():
        if not score.takes(f"{where} {name}"):
            continue
        with scratch() as folder:
            root = put(Path(folder).resolve(), cases[name]["files"])
            set_times(root)
            validated = run(root, "validate", "--all", "--json")
            compare_items(score, f"{where} {name}", validated, theirs["validate"])
            change = cases[name]["change"]
            compare_archive(score, f"{where} {name} archive", root, change, theirs["archive"])


def compare_all(score: Score, corpus: Path, expected: Path) -> None:
    """Compare everything in a corpus that there are answers for."""
    edge = read(corpus / "edge.json") if (corpus / "edge.json").exists() else {}
    for name in edge:
        if (expected / "edge" / name).is_dir():
            with scratch() as folder:
                root = put(Path(folder).resolve(), edge[name]["files"])
                compare_tree(score, f"edge/{name}", root, expected / "edge" / name)
    for path in sorted((corpus / "replay").glob("*.json")):
        answers = expected / "replay" / path.name
        compare_cases(score, f"replay/{path.stem}", read(path), read(answers))
    if (corpus / "mutants.json").exists():
        compare_cases(
            score, "mutants", read(corpus / "mutants.json"), read(expected / "mutants.json")
        )
    for head in sorted((corpus / "heads").glob("*")):
        with scratch() as folder:
            copy = Path(folder).resolve() / "t"
            shutil.copytree(head, copy, symlinks=True)
            compare_tree(score, f"heads/{head.name}", copy, expected / "heads" / head.name)


@contextlib.contextmanager
def unpacked(corpus: Path | None, oracle: Path | None) -> Iterator[tuple[Path, Path]]:
    """The two folders: those given, or those of the shared test data, unpacked for the while."""
    if corpus and oracle:
        yield corpus, oracle
        return
    with scratch() as folder:
        for name in ("corpus", "oracle"):
            with tarfile.open(shared() / f"{name}.tar.xz") as archive:
                archive.extractall(folder, filter="data")
        yield Path(folder) / "corpus", Path(folder) / "oracle"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--oracle", type=Path)
    parser.add_argument("--quiet", action="store_true", help="do not list deliberate differences")
    parser.add_argument("--one-in", type=int, default=1, help="compare a sample of the items")
    options = parser.parse_args()
    for name in ("OPENSPEC_ROOT", "OPENSPEC_AUTO_PROJECT_ROOT"):
        os.environ.pop(name, None)
    if not (options.corpus and options.oracle) and not shared().is_dir():
        print(f"no shared test data in {shared()}: nothing compared", file=sys.stderr)
        print("oracle: 0 of 0 agree, 0 deliberate")
        return 1
    score = Score(quiet=options.quiet, one_in=options.one_in)
    with unpacked(options.corpus, options.oracle) as (corpus, oracle):
        compare_all(score, corpus, oracle)
    return 0 if score.close() else 1


if __name__ == "__main__":
    sys.exit(main())
