"""Calls kept in a file, to be made again: fixtures for tests.

A file has a JSON object on each line: `kind`, `name`, `arguments`, `answers` to what was asked, and
the `result` or the `error`.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp_host import SettingsError
from mcp_host.testing import CallFailed, Hosted, Person

ALWAYS = frozenset({"_meta", "request_id", "resultType", "ttlMs", "cacheScope"})
"""Keys that mean nothing for whether two answers are the same."""

Ask = Callable[[str, str, Mapping[str, Any], Sequence[Any]], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True)
class RecordedCall:
    """A call that was made once, and what came of it."""

    kind: str
    name: str
    arguments: Mapping[str, Any]
    answers: Sequence[Mapping[str, Any]] = ()
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.name} {json.dumps(self.arguments, ensure_ascii=False)}"[:120]

    @property
    def outcome(self) -> Mapping[str, Any]:
        """What came of it, in the shape that another outcome has."""
        return {"error": self.error} if self.error is not None else {"result": self.result}

    async def check(self, host: Hosted, ignore: Collection[str] = ()) -> None:
        """Make the call again in a test's host, and assert that the answer is the same.

        `ignore` are keys whose values differ each time: times, for example.
        """
        known, outcome = self, await self._again(host)
        if self.kind == "prompt" and self.result is not None:
            texts = [m["content"].get("text", "") for m in self.result["messages"]]
            known = replace(self, result={"texts": texts})
        assert known.same(outcome, ignore), f"{self}: {known.difference(outcome, ignore)}"

    def same(self, outcome: Mapping[str, Any], ignore: Collection[str] = ()) -> bool:
        """Say whether another outcome of the call is the same."""
        return bool(essence(self.outcome, ignore) == essence(outcome, ignore))

    def difference(self, outcome: Mapping[str, Any], ignore: Collection[str] = ()) -> str:
        """Say what was recorded, and what is there now."""
        before, after = (
            json.dumps(essence(one, ignore), ensure_ascii=False, sort_keys=True)
            for one in (self.outcome, outcome)
        )
        return f"was {before}, is {after}"

    async def _again(self, host: Hosted) -> Mapping[str, Any]:
        host = host.seen_by(person=_Answering(waiting=list(self.answers)))
        try:
            if self.kind == "tool":
                return {"result": await host.call(self.name, **self.arguments)}
            if self.kind == "prompt":
                return {"result": {"texts": await host.prompt(self.name, **self.arguments)}}
            return {"result": {"contents": await host.read(self.name)}}
        except CallFailed as failed:
            return {"error": failed.envelope}


@dataclass
class _Answering(Person):
    """A person who answers as it was recorded."""

    waiting: list[Mapping[str, Any]] = field(default_factory=list)

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(dict(question))
        return dict(self.waiting.pop(0)) if self.waiting else {"action": "cancel"}


def recorded(path: Path | str) -> list[RecordedCall]:
    """Return the calls of a file, in their order; `SettingsError` where it cannot be read."""
    calls = []
    try:
        for line in Path(path).read_text("utf-8").splitlines():
            if line.strip():
                calls.append(RecordedCall(**json.loads(line)))
    except (OSError, ValueError, TypeError) as error:
        raise SettingsError(f"{path} must be a file that `--record` wrote: {error}") from None
    return calls


def essence(value: Any, ignore: Collection[str] = ()) -> Any:
    """Return what counts of an outcome: without keys that differ each time, JSON in texts read."""
    left_out = ALWAYS.union(ignore)
    if isinstance(value, Mapping):
        if "error" in value and isinstance(value["error"], Mapping):
            value = {"error": _envelope(value["error"])}
        return {k: essence(v, ignore) for k, v in value.items() if k not in left_out}
    if isinstance(value, list | tuple):
        return [essence(item, ignore) for item in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return essence(json.loads(value), ignore)
        except ValueError:
            return value
    return value


def _envelope(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a failure says, of a protocol error as of a test's own."""
    data = error.get("data") if isinstance(error.get("data"), Mapping) else error
    assert isinstance(data, Mapping)
    known = ("error", "code", "suggestions", "details")
    return {key: data[key] for key in known if key in data} or dict(error)


class Recorder:
    """Writes each call that ends into a file, from the events of a host's feed."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"cannot write {path}: {error.strerror}") from None
        self._calls: dict[str, dict[str, Any]] = {}
        self._answers: dict[str, list[Any]] = {}

    def event(self, event: Mapping[str, Any]) -> None:
        """Take in an event; values must be in it."""
        what, number = event["event"], event.get("id", "")
        if what == "began" and event["kind"] in ("tool", "resource", "prompt"):
            is_resource = event["kind"] == "resource"
            call = {
                "kind": event["kind"],
                "name": event["target"],
                "arguments": {} if is_resource else event["arguments"],
            }
            self._calls[number] = call
            self._answers.setdefault(_key(call), []).extend(event["answers"].values())
        elif what == "answered" and number in self._calls:
            self._answers[_key(self._calls[number])].append(event["answer"])
        elif what == "ended" and number in self._calls:
            self._end(self._calls.pop(number), event)

    def close(self) -> None:
        self._file.close()

    def _end(self, call: dict[str, Any], event: Mapping[str, Any]) -> None:
        if event["code"] in ("input_required", "cancelled"):
            return  # the same call comes again, with the answers
        answers, result = self._answers.pop(_key(call), []), event.get("result")
        if result is None or "left_out" in result:
            return
        outcome = {"error": result["error"]} if "error" in result else {"result": result}
        line = {**call, **({"answers": answers} if answers else {}), **outcome}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()


def _key(call: Mapping[str, Any]) -> str:
    return json.dumps(call, sort_keys=True)
