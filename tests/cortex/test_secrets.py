"""What looks like a secret is not pushed: in files to commit, and in commits made by hand."""

import random
import string
import tracemalloc
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo
from mcp_host_cortex_tasks.service.secrets import in_files

LETTERS = string.ascii_letters + string.digits


def some(count: int, alphabet: str = LETTERS) -> str:
    """Made up, and each run otherwise: no real secret, and none that a scanner finds here."""
    return "".join(random.Random(count).choices(alphabet, k=count))


HEADER = "eyJhbGciOi" + some(20)
KINDS = {
    "GitHub": ("app.py", f"TOKEN = 'ghp_{some(36)}'"),
    "GitLab": ("app.py", f"glpat-{some(20)}"),
    "AWS key": ("app.py", "AKIA" + some(16, string.ascii_uppercase)),
    "AWS secret": ("config", f"aws_secret_access_key = {some(40)}"),
    "Anthropic": ("app.py", f"sk-ant-api03-{some(80)}"),
    "OpenAI": ("app.py", f"sk-proj-{some(60)}"),
    "Stripe": ("app.py", f"sk_live_{some(24)}"),
    "npm": ("app.py", f"npm_{some(36)}"),
    "npmrc": (".npmrc", f"//registry.npmjs.org/:_authToken={some(36)}"),
    "PyPI": ("app.py", f"pypi-AgEIcHlwaS5vcmc{some(80)}"),
    "Hugging Face": ("app.py", f"hf_{some(34)}"),
    "Google": ("app.py", f"AIza{some(35)}"),
    "Slack token": ("app.py", f"xoxb-{some(30)}"),
    "Slack hook": (
        "app.py",
        f"https://hooks.slack.com/services/T{some(9, string.ascii_uppercase)}"
        f"/B{some(10, string.ascii_uppercase)}/{some(24)}",
    ),
    "JWT": ("app.py", f"{HEADER}.eyJ{some(40)}.{some(43)}"),
    "private key": ("notes.txt", "-----BEGIN " + "OPENSSH PRIVATE KEY-----"),
    "password": ("deploy.yaml", "db:\n  password: hunter" + "2-kLq9"),
    "prod.env": ("prod.env", "A=1"),
    "id_rsa.bak": ("id_rsa.bak", "x"),
    ".htpasswd": (".htpasswd", "x"),
    "Twilio": ("app.py", "SK" + some(32, "0123456789abcdef")),
    "Discord": ("app.py", f"M{some(23)}.{some(6)}.{some(27)}"),
    "Mailchimp": ("app.py", some(32, "0123456789abcdef") + "-us12"),
    "Square": ("app.py", f"sq0csp-{some(43)}"),
    "tfstate": ("main.tfstate", "{}"),
}
HARMLESS = {
    "README": "Set AWS_SECRET_ACCESS_KEY and the password: it is asked for.",
    "compose.yaml": "db:\n  POSTGRES_PASSWORD: postgres\n  password: ${DB_PASSWORD}\n",
    "tests/fixture.yaml": "password: abc123def\n",
    ".npmrc": "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n",
    "hash.txt": "0123456789abcdef0123456789abcdef01234567\n",
    ".env.example": "KEY=\n",
    "key.pub": "ssh-ed25519 AAAA\n",
    "e2e/testdata/.env": "KEY=1\n",
    "app.py": "token = os.environ['GITHUB_TOKEN']\nsk_test_key = 'x'\n",
}


@pytest.fixture
def task(ctx: Ctx, repo: Repo) -> str:
    branch: str = ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)["branch"]
    return branch


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_found_in_a_file(kind: str, tmp_path: Path) -> None:
    name, text = KINDS[kind]
    (tmp_path / name).write_text(f"first\n{text}\n")
    assert [one.path for one in in_files(tmp_path, [name])] == [name]


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_none_is_left_alone(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(HARMLESS[name])
    assert in_files(tmp_path, [name]) == []


def test_a_secret_is_found_in_utf_16_and_after_megabytes_in_memory_of_fixed_size(
    tmp_path: Path,
) -> None:
    token = KINDS["GitHub"][1]
    (tmp_path / "wide.txt").write_text(f"first\n{token}\n", "utf-16")
    with (tmp_path / "long.txt").open("w") as file:
        for _ in range(3):
            file.write("x" * (1024 * 1024 - 1) + "\n")
        file.write(token)
    tracemalloc.start()
    found = in_files(tmp_path, ["wide.txt", "long.txt"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one.path for one in found] == ["wide.txt", "long.txt"]
    assert peak < 12 * 1024 * 1024


def test_a_secret_that_was_committed_by_hand_is_not_pushed(ctx: Ctx, repo: Repo, task: str) -> None:
    token = KINDS["GitHub"][1]
    repo.commit("app.py", f"{token}\n")
    secret = repo.tip()
    repo.commit("app.py", "TOKEN = None\n")

    run = ctx.fails("tasks", "pr", at=repo.folder)

    assert run.reason == "looks_like_secret"
    (found,) = run.data["details"]["found"]
    assert (found["path"], found["commit"]) == ("app.py", secret)
    assert token not in run.out
    assert task not in repo.remote_branches()
    ctx.json("tasks", "pr", "--allow", "app.py", at=repo.folder)


def test_a_secret_at_the_end_of_a_long_line_of_a_commit_is_found(
    ctx: Ctx, repo: Repo, task: str
) -> None:
    repo.commit("long.min.js", "x=1;" * 300_000 + f"'{KINDS['GitHub'][1]}'")
    repo.commit("many.txt", "some line of text\n" * 100_000)
    found = ctx.fails("tasks", "pr", at=repo.folder).data["details"]["found"]
    assert [one["path"] for one in found] == ["long.min.js"]


@pytest.mark.parametrize("by", ["path", "fingerprint"])
def test_the_allow_list_of_the_main_branch_counts_and_that_of_the_branch_does_not(
    ctx: Ctx, repo: Repo, by: str
) -> None:
    token = KINDS["GitHub"][1]
    start = ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.commit("app.py", f"{token}\n")
    found = ctx.fails("tasks", "pr", at=repo.folder).data["details"]["found"][0]
    repo.commit(".cortex-secrets-allow", f"# known\n{found[by]}\n")
    assert ctx.fails("tasks", "pr", at=repo.folder).reason == "looks_like_secret"

    repo.git("switch", "-q", "main")
    repo.commit(".cortex-secrets-allow", f"# known\n{found[by]}\n")
    repo.git("push", "-q", "origin", "main")
    repo.git("switch", "-q", start["branch"])
    assert ctx.json("tasks", "pr", at=repo.folder)["success"]


def test_a_secret_that_main_has_already_keeps_nobody_from_pushing(ctx: Ctx, repo: Repo) -> None:
    repo.commit("app.py", f"{KINDS['GitHub'][1]}\n")
    repo.git("push", "-q", "origin", "main")
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.commit("other.py", "x = 1\n")
    assert ctx.json("tasks", "pr", at=repo.folder)["success"]
