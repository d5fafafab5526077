"""Who works on a task, kept by the remote: `refs/cortex/claims/ID`.

A claim is a tag object. Its message is JSON: whose it is, since when, where the branch began, and
where it and main stood when it was submitted, which is what proves a merge from another clone. It
tags the branch's tip once that was pushed, so that the tip can be fetched after the branch was
deleted. It holds no path, no address and nothing of a file.
"""

import getpass
import json
import time
import uuid
from dataclasses import asdict, dataclass, field, replace

from .files import private_folder, replace_text
from .git import Checkout, refusal

CLAIMS = "refs/cortex/claims/"


@dataclass(frozen=True, slots=True)
class Claim:
    """One task's claim. `clone` tells whose it is, `owner` is a name for people.

    `on` is the branch of the task that this one stands on, `pending` what its last command had
    still to do, as `COMMAND STEP`. `id` is the tag object it was read from.

    Invariants: it never changes. Two claims are equal where all but the tag is.
    """

    task_id: int
    created: str | None
    branch: str
    owner: str
    clone: str
    began: float
    base: str | None = None
    seen: tuple[tuple[str, str], ...] = ()
    tip: str | None = None
    on: str | None = None
    pending: tuple[str, ...] = ()
    id: str = field(default="", compare=False)


class Claims:
    """The claims on one remote, and what is known of them here."""

    def __init__(self, git: Checkout) -> None:
        self._git = git

    def mine(
        self,
        task_id: int,
        created: str | None,
        branch: str,
        base: str | None,
        on: str | None = None,
    ) -> Claim:
        """Return a new claim of this clone."""
        owner = self._git.config("user.name") or getpass.getuser()
        return Claim(task_id, created, branch, owner, self.clone, time.time(), base, on=on)

    @property
    def clone(self) -> str:
        """What tells this clone from every other one."""
        path = self._git.common / "cortex" / "clone"
        try:
            return path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            private_folder(path.parent)
            replace_text(path, f"{uuid.uuid4().hex}\n")
            return path.read_text(encoding="utf-8").strip()

    @property
    def own_clone(self) -> str | None:
        """What tells this clone from others, None while it has none: nothing is written."""
        path = self._git.common / "cortex" / "clone"
        return path.read_text(encoding="utf-8").strip() if path.exists() else None

    def known(self, task_id: int) -> Claim | None:
        """Return the claim as it was last seen here."""
        one = self._git.object_of(CLAIMS + str(task_id))
        return None if one is None else self._read(one)

    def fetch(self, task_id: int) -> Claim | None:
        """Return the remote's claim, None where there is none or it cannot be had."""
        name = CLAIMS + str(task_id)
        if self._git.base is not None:
            self._git.base.fetch_refs(f"+{name}:{name}")
        return self.known(task_id)

    def put(self, claim: Claim, over: str = "") -> str:
        """Push a claim where the remote has `over` ("" for none): `made`, `lost` or `refused`.

        `lost` means that somebody else's is there; `refused` that the remote takes none.
        """
        name = CLAIMS + str(claim.task_id)
        if self._git.base is None:
            return "refused"
        one = self._write(claim)
        answer = self._git.base.push(
            f"--force-with-lease={name}:{over}", "--no-verify", specs=(f"{one}:{name}",)
        )
        if answer.ok:
            self._git.ask("update-ref", name, one)
            return "made"
        there = self._git.base.tips(refs=(name,))
        if not there or name not in there:
            return "refused"
        self.fetch(claim.task_id)
        known = self.known(claim.task_id)
        return "made" if known is not None and known.clone == claim.clone else "lost"

    def drop(self, task_id: int, one: str) -> bool:
        """Delete a claim on the remote where it is still this one, and here."""
        name = CLAIMS + str(task_id)
        if self._git.base is None:
            return False
        answer = self._git.base.push(
            f"--force-with-lease={name}:{one}", "--no-verify", specs=(f":{name}",)
        )
        if answer.ok:
            self._git.run("update-ref", "-d", name)
        return answer.ok

    def with_tip(self, claim: Claim, tip: str, main: str) -> Claim:
        """Return a claim that tells where the branch and main stand now; nothing is pending."""
        seen = dict.fromkeys((*claim.seen, (tip, main)))
        return replace(claim, tip=tip, seen=tuple(seen)[-20:], pending=())

    def _write(self, claim: Claim) -> str:
        data = {key: value for key, value in asdict(claim).items() if key != "id"}
        target = claim.tip or claim.base or self._git.ask("rev-parse", f"refs/heads/{claim.branch}")
        tag = (
            f"object {target}\ntype commit\ntag claim-{claim.task_id}\n"
            f"tagger cortex <cortex@localhost> {int(claim.began)} +0000\n\n{json.dumps(data)}\n"
        )
        answer = self._git.run("mktag", given=tag)
        if not answer.ok:
            raise refusal(answer, "Git does not take the claim")
        return answer.out.strip()

    def _read(self, one: str) -> Claim | None:
        message = self._git.run("cat-file", "tag", one).out.partition("\n\n")[2]
        try:
            data = json.loads(message)
            seen = tuple((str(tip), str(main)) for tip, main in data.pop("seen"))
            pending = tuple(str(name) for name in data.pop("pending"))
            return Claim(**data, seen=seen, pending=pending, id=one)
        except (ValueError, TypeError, KeyError):
            return None  # not one of ours
