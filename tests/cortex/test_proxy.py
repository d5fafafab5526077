"""A real backend behind a proxy that misbehaves: what is said to be done is done, and only that."""

import http.client
import random
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from cortex_lab import Ctx, Repo
from cortex_servers import Asked, Reply, Server

ATTEMPTS = 12
_PASSED = ("authorization", "content-type", "if-match", "accept")


class Proxy:
    """Hands requests on to a backend, and answers back; `mood` says how it treats each."""

    def __init__(self, backend: str) -> None:
        self.server = Server(self._answer)
        self.mood: Callable[[Asked], str] = lambda asked: "honest"
        self._backend = urlsplit(backend)
        self.treated: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.server.url}{self._backend.path}"

    def _answer(self, asked: Asked) -> Reply | None:
        mood = self.mood(asked)
        self.treated.append(mood)
        if mood == "cut before":
            return None
        if mood == "gateway":
            return 502, b"<html>bad gateway</html>", {"Content-Type": "text/html"}
        reply = self._hand_on(asked)
        if mood == "twice":
            reply = self._hand_on(asked)
        if mood == "cut after":
            return None
        status, content, headers = reply
        if mood == "half":
            half = {"Content-Length": str(len(content)), "Connection": "close"}
            return status, content[: len(content) // 2], headers | half
        return status, content, headers

    def _hand_on(self, asked: Asked) -> tuple[int, bytes, dict[str, str]]:
        assert self._backend.hostname
        connection = http.client.HTTPConnection(
            self._backend.hostname, self._backend.port, timeout=60
        )
        headers = {key: value for key, value in asked.headers.items() if key.lower() in _PASSED}
        query = "&".join(f"{key}={value}" for key, value in asked.query.items())
        path = f"{asked.path}?{query}" if query else asked.path
        connection.request(asked.method, path, asked.body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        kind = answer.headers.get("Content-Type", "application/json")
        return answer.status, content, {"Content-Type": kind}


@pytest.fixture
def proxy(online: Ctx, backend: str) -> Iterator[Proxy]:
    """A proxy before the backend; the command knows the proxy alone."""
    made = Proxy(backend)
    with made.server.running():
        online.set(url=made.url)
        words = ("auth", "login", "--email", f"{online.home.parent.name}@example.com")
        assert online(*words, "--password-stdin", stdin="secret words\n").code == 0
        yield made


def through(ctx: Ctx, repo: Repo, *words: str) -> dict[str, Any]:
    """Run a command again until it is through, as a person or an agent would."""
    for _ in range(ATTEMPTS):
        run = ctx(*words, "--json", at=repo.folder)
        if run.code == 0:
            return run.data
        assert run.data["success"] is False
        assert run.data["details"].get("reason") != "bug", run.out + run.err
    raise AssertionError(f"{words} never came through: {run.out}")


def lives(ctx: Ctx, repo: Repo, number: int, name: str) -> None:
    """Take a task from start to DONE, back by undo, and to DONE again."""
    branch = through(ctx, repo, "tasks", "start", str(number))["branch"]
    assert repo.branch() == branch
    repo.commit(name)
    through(ctx, repo, "tasks", "pr")
    assert repo.tip() == repo.git("ls-remote", "origin", f"refs/heads/{branch}").split()[0]
    early = ctx("tasks", "done", "--task", str(number), "--json", at=repo.folder)
    assert early.code != 0  # nothing of it is merged, whatever the proxy makes of the question
    repo.merge_on_remote(branch)
    done = through(ctx, repo, "tasks", "done", "--task", str(number))
    assert done["success"]


@pytest.mark.parametrize("mood", ["cut before", "cut after", "half", "gateway", "twice"])
def test_every_third_request_is_mistreated_and_nothing_untrue_is_said(
    online: Ctx, repo: Repo, proxy: Proxy, mood: str
) -> None:
    number = online.new()
    turns = iter(range(10**6))
    proxy.mood = lambda asked: mood if next(turns) % 3 == 2 else "honest"

    lives(online, repo, number, "work.txt")

    proxy.mood = lambda asked: "honest"
    assert online.task(number)["status"] == "DONE"
    assert mood in proxy.treated


@pytest.mark.parametrize("mood", ["cut before", "cut after", "half", "gateway", "twice"])
def test_delete_restore_and_undo_come_through_and_count_once(
    online: Ctx, repo: Repo, proxy: Proxy, mood: str
) -> None:
    number = online.new("To be deleted")
    turns = iter(range(10**6))
    proxy.mood = lambda asked: mood if next(turns) % 3 == 2 else "honest"

    through(online, repo, "tasks", "start", str(number))
    gone = [online("tasks", "delete", str(number), "--json", at=repo.folder)]
    while gone[-1].code != 0 and gone[-1].data["code"] != "not_found" and len(gone) < ATTEMPTS:
        gone.append(online("tasks", "delete", str(number), "--json", at=repo.folder))
    proxy.mood = lambda asked: "honest"
    listed = online.json("tasks", "list", at=repo.folder)["tasks"]
    assert number not in [task["id"] for task in listed]

    proxy.mood = lambda asked: mood if next(turns) % 3 == 2 else "honest"
    through(online, repo, "undo")
    proxy.mood = lambda asked: "honest"
    assert online.task(number)["title"] == "To be deleted"


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(10))
def test_a_proxy_of_every_mood_hides_no_work_and_invents_none(
    online: Ctx, repo: Repo, proxy: Proxy, seed: int
) -> None:
    dice = random.Random(seed)
    moods = ["honest", "honest", "cut before", "cut after", "half", "gateway", "twice", "late"]

    def treat(asked: Asked) -> str:
        mood = dice.choice(moods)
        if mood == "late":
            time.sleep(dice.uniform(0, 1))
        return mood

    number = online.new()
    proxy.mood = treat
    lives(online, repo, number, f"work{seed}.txt")
    proxy.mood = lambda asked: "honest"
    assert online.task(number)["status"] == "DONE"
