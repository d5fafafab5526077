"""A person logs in at a mounted server; the host shows the token there, and nowhere else."""

import json
import socket
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from core_home import Done, Home
from core_web import Web
from mcp.shared.auth import OAuthClientInformationFull
from oauth_servers import People, address, listener, serving, two_servers
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

LONGEST = 60.0
KEYRINGS = Path(__file__).parent / "keyrings"
SECRET = "the-secret-of-a-known-client"


@pytest.fixture(scope="module")
def servers() -> Iterator[People]:
    with two_servers() as people:
        yield people


@pytest.fixture
def people(servers: People, home: Home) -> People:
    """The servers with a memory that is empty, and a host that mounts the one."""
    for memory in (servers.clients, servers.access, servers.refresh, servers.heard):
        memory.clear()
    servers.seconds, servers.refuses = 3600, False
    home.write(f'[packs.tracker]\nurl = "{servers.url}"\n')
    return servers


def login(home: Home, *more: str) -> "subprocess.Popen[str]":
    """Begin to log in; its standard error says where."""
    return subprocess.Popen(
        home.argv("login", "tracker", "--no-browser", "--config", "mcp-host.toml", *more),
        cwd=home.project,
        env=home.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def log_in(home: Home, *more: str) -> Done:
    """Log in as a person does, whose browser follows where it is sent."""
    with login(home, *more) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        if said.startswith("Log in at: "):
            with urllib.request.urlopen(said.removeprefix("Log in at: "), timeout=LONGEST) as page:
                assert page.status == 200
        out, err = process.communicate(timeout=LONGEST)
    return Done(process.returncode, out, said + err)


def run(home: Home, *arguments: str) -> Done:
    return home.run(*arguments, "--config", "mcp-host.toml")


def login_file(home: Home) -> Path:
    (file,) = (home.folder / "data/mcp-host/logins").glob("*.json")
    return file


def test_a_person_logs_in_and_the_token_is_kept_renewed_and_forgotten(
    home: Home, people: People
) -> None:
    before = run(home, "doctor")
    logged_in = log_in(home)
    assert logged_in.code == 0, logged_in.err
    file = login_file(home)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)]
    kept = json.loads(file.read_text())
    called = run(home, "call", "tracker_whoami")
    file.write_text(json.dumps({**kept, "expires_at": 1.0}))
    renewed = run(home, "call", "tracker_whoami")
    people.access.clear()  # the server has revoked it, and nobody said so
    revoked = run(home, "call", "tracker_whoami")
    now = json.loads(file.read_text())
    again = log_in(home)
    forgotten = run(home, "logout", "tracker")
    after = run(home, "doctor")

    assert before.code == 1
    assert f"{people.url} wants a login" in before.out
    assert "log in: mcp-host login tracker" in before.out
    assert logged_in.out.startswith("tracker is logged in.\nA host that runs takes it up")
    assert modes == [0o600, 0o700]
    for done in (called, renewed, revoked):
        assert done.out == "somebody who is logged in\n", done.err
    assert len({kept["tokens"]["refresh_token"], now["tokens"]["refresh_token"]}) == 2
    assert again.code == 0 and len(people.clients) == 1  # the same client logs in again
    assert forgotten.out == "tracker is logged out.\n"
    assert "log in: mcp-host login tracker" in after.out
    everything = "".join(done.out + done.err for done in (before, logged_in, called, after))
    assert kept["tokens"]["access_token"] not in everything


@pytest.fixture
def known(home: Home, people: People, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server knows the host as a client, whose login goes into the keyring: a file."""
    file = home.folder / "keyring.json"
    home.packs.append(KEYRINGS)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "file_keyring.FileKeyring")
    monkeypatch.setenv("FILE_KEYRING", str(file))
    monkeypatch.setenv("TRACKER_SECRET", SECRET)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    people.clients["known"] = OAuthClientInformationFull(
        client_id="known",
        client_secret=SECRET,
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/callback")],
        token_endpoint_auth_method="client_secret_basic",
    )
    home.write(
        f'[packs.tracker]\nurl = "{people.url}"\n[packs.tracker.oauth]\nkeyring = true\n'
        f'client_id = "known"\nclient_secret = {{ env = "TRACKER_SECRET" }}\nport = {port}\n'
    )
    return file


async def test_a_login_in_the_keyring_is_shown_and_no_callers_token_is_passed_on(
    home: Home, people: People, known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged_in = log_in(home)
    assert logged_in.code == 0, logged_in.err
    kept = known.read_text()
    settings = (home.project / "mcp-host.toml").read_text()
    home.write(
        f'{settings}[http]\ntokens = [{{ token = {{ env = "ANN" }}, subject = "ann", '
        'scopes = ["*"] }]\n'
    )
    token = "a-callers-own-token"
    people.heard.clear()
    async with (
        home.http("--config", "mcp-host.toml", env={"ANN": token}) as server,
        Web(server.url, token) as ann,
    ):
        answer = await ann.value("tracker_whoami")
    monkeypatch.setenv("ANN", token)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    refused = run(home, "logout", "tracker")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "file_keyring.FileKeyring")
    forgotten = run(home, "logout", "tracker")

    assert answer == "somebody who is logged in"
    assert list(people.clients) == ["known"]  # the host did not register itself
    assert not list((home.folder / "data/mcp-host/logins").glob("*.json"))
    assert "access_token" in kept and known.read_text() == "{}"
    assert refused.code == 1 and "the system's keyring refuses" in refused.err
    assert forgotten.out == "tracker is logged out.\n"
    shown = {given.get("authorization", "") for given in people.heard}
    assert shown and all(each.startswith("Bearer access-") for each in shown), shown
    assert token not in json.dumps(people.heard)


def test_what_stands_in_the_way_of_a_login_is_told(home: Home, people: People) -> None:
    people.refuses = True
    refused = log_in(home)
    elsewhere = home.write('[packs.tracker]\nurl = "http://tracker.example.org/mcp"\n')
    plain = run(home, "login", "tracker")
    elsewhere.write_text('[packs.tracker]\ncommand = ["x"]\n[packs.far]\nurl = "https://x.org"\n')
    local = run(home, "login", "tracker")
    unknown = run(home, "login", "nothing")
    out = run(home, "logout", "far")

    assert refused.code == 1
    assert "tracker: the login was refused: access_denied" in refused.err
    assert "Traceback" not in refused.err
    assert "is not https: others could read the login" in plain.err
    assert "packs.tracker has no url" in local.err
    assert "no pack 'nothing' is in" in unknown.err and "with an address: far" in unknown.err
    assert out.out == "far was not logged in.\n"


def test_a_redirect_to_another_address_takes_no_key_along(home: Home, people: People) -> None:
    def away(_: Request) -> Response:
        return RedirectResponse(people.url, 307)

    with listener() as at, serving(Starlette(routes=[Route("/mcp", away, methods=["POST"])]), at):
        home.write(f'[packs.tracker]\nurl = "{address(at)}/mcp"\nheaders = {{ X-Key = "mine" }}\n')
        done = log_in(home)

    assert (done.code, people.heard) == (1, [])
    assert "has answered with HTTP 307" in done.err


@pytest.mark.parametrize("lie", ["issuer", "token_endpoint", "authorization_endpoint"])
def test_a_server_that_lies_about_who_logs_in_gets_no_login(home: Home, lie: str) -> None:
    asked: list[str] = []

    def answer(request: Request) -> Response:
        asked.append(request.url.path)
        if request.url.path == "/mcp":
            return Response(status_code=401)
        if "protected" in request.url.path:
            return JSONResponse({"resource": f"{here}/mcp", "authorization_servers": [here]})
        if request.url.path == "/register":
            given = {"client_id": "one", "redirect_uris": ["http://127.0.0.1/callback"]}
            return JSONResponse(given, 201)
        metadata = {
            "issuer": f"{here}/",
            "authorization_endpoint": f"{here}/authorize",
            "token_endpoint": f"{here}/token",
            "registration_endpoint": f"{here}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        return JSONResponse({**metadata, lie: "http://elsewhere.example.org/"})

    every = Route("/{path:path}", answer, methods=["GET", "POST"])
    with listener() as at, serving(Starlette(routes=[every]), at):
        here = address(at)
        home.write(f'[packs.tracker]\nurl = "{here}/mcp"\n')
        done = log_in(home)

    assert done.code == 1
    assert "Log in at" not in done.err and "Traceback" not in done.err
    assert "/mcp" in asked and "/token" not in asked
    assert not list((home.folder / "data").glob("mcp-host/logins/*.json"))


def test_another_address_of_the_pack_gets_none_of_its_login(home: Home, people: People) -> None:
    assert log_in(home).code == 0
    moved = people.url.replace("127.0.0.1", "localhost")
    home.write(f'[packs.tracker]\nurl = "{moved}"\n')
    people.heard.clear()

    done = run(home, "packs")

    assert "wants a login" in done.out + done.err
    assert people.heard and not any("authorization" in given for given in people.heard)


def test_a_stranger_who_knows_the_way_back_ends_no_login(home: Home, people: People) -> None:
    with login(home) as process:
        assert process.stderr is not None
        address = process.stderr.readline().removeprefix("Log in at: ")
        (way_back,) = next(iter(people.clients.values())).redirect_uris or []
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{way_back}?code=x&state=guessed", timeout=LONGEST)
        with urllib.request.urlopen(address, timeout=LONGEST):
            process.communicate(timeout=LONGEST)

    assert refused.value.code == 404
    assert process.returncode == 0
