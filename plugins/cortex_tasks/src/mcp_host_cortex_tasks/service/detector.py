"""What is a secret: by the detectors of bc-detect-secrets, and by rules for what they do not know.

Tokens are known by the shapes that their makers publish; passwords in YAML, by a value that nobody
would write as an example. Detectors that guess, by entropy or by a variable's name, are left out.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Protocol

_SHAPES = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    rb"|\bgh[pousr]_[A-Za-z0-9]{36,255}\b"
    rb"|\bgithub_pat_[A-Za-z0-9_]{50,255}"
    rb"|\bglpat-[A-Za-z0-9_-]{20,255}"
    rb"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    rb"|(?i:aws[A-Za-z_.-]{0,20}(?:secret|access)[A-Za-z_.-]{0,20}[\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
    rb"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
    rb"|\bxox[abeprs]-[A-Za-z0-9-]{20,255}"
    rb"|hooks\.slack\.com/services/T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,40}"
    rb"|\bsk-ant-[A-Za-z0-9_-]{20,255}"
    rb"|\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,255}"
    rb"|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b"
    rb"|\b[sr]k_live_[A-Za-z0-9]{16,255}"
    rb"|\bnpm_[A-Za-z0-9]{36}\b"
    rb"|:_authToken\s{0,4}=\s{0,4}[\"']?[A-Za-z0-9_-][^\s\"'$]{15,255}"
    rb"|\bpypi-AgE[A-Za-z0-9_-]{50,255}"
    rb"|\bhf_[A-Za-z0-9]{30,64}\b"
    rb"|\bAIza[0-9A-Za-z_-]{35}\b"
    rb"|\bGOCSPX-[A-Za-z0-9_-]{28}\b"
    rb"|\bya29\.[A-Za-z0-9_-]{30,255}"
    rb"|\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"
    rb"|\bdop_v1_[a-f0-9]{64}\b"
    rb"|\beyJhbGciOi[A-Za-z0-9_-]{8,512}\.eyJ[A-Za-z0-9_-]{8,1024}\.[A-Za-z0-9_-]{20,512}"
)
_PASSWORD = re.compile(
    rb"(?im)^[ \t-]{0,40}[\"']?[A-Za-z0-9_.-]{0,40}passw(?:or)?d[\"']?[ \t]{0,4}:[ \t]{1,4}"
    rb"[\"']?([^\s\"'#{}$<>*!&|%]{6,128})"
)
_EXAMPLES = re.compile(rb"(?i)example|change|secret|passw|dummy|sample|test|placeholder|your|xxx")
_YAML = (".yml", ".yaml")
_NOT_REAL = re.compile(
    r"_{0,2}tests?[_-]?(?:ing|data|cases?)?_{0,2}|specs?|e2e|fixtures?|examples?|samples?|docs?"
)


class Detector(Protocol):
    """One of the library's detectors."""

    def analyze_string(self, string: str) -> Iterable[str]: ...


def secret_in(data: bytes, path: str) -> bytes | None:
    """Return the first secret in a piece of a file, None where there is none."""
    for text in _readings(data):
        if shape := _SHAPES.search(text):
            return shape[0]
        for password in _PASSWORD.finditer(text) if _is_configuration(path) else ():
            value = password[1]
            mixed = re.search(rb"[A-Za-z]", value) and re.search(rb"[0-9]", value)
            if mixed and not _EXAMPLES.search(value):
                return value
        words = text.decode("latin-1")
        for detector in _detectors():
            for secret in detector.analyze_string(words):
                return secret.encode("latin-1")
    return None


def is_made_up(path: str) -> bool:
    """Tell whether a file stands in a folder of tests or examples, whose values are none."""
    return any(_NOT_REAL.fullmatch(part) for part in PurePosixPath(path.lower()).parts[:-1])


@cache
def _detectors() -> tuple[Detector, ...]:
    """Return the detectors that know a token by its shape."""
    # Here, since the library brings requests, which takes 0.2 s that only a push has to wait for.
    from detect_secrets.plugins.artifactory import ArtifactoryDetector
    from detect_secrets.plugins.aws import AWSKeyDetector
    from detect_secrets.plugins.discord import DiscordBotTokenDetector
    from detect_secrets.plugins.github_token import GitHubTokenDetector
    from detect_secrets.plugins.jwt import JwtTokenDetector
    from detect_secrets.plugins.mailchimp import MailchimpDetector
    from detect_secrets.plugins.npm import NpmDetector
    from detect_secrets.plugins.private_key import PrivateKeyDetector
    from detect_secrets.plugins.sendgrid import SendGridDetector
    from detect_secrets.plugins.slack import SlackDetector
    from detect_secrets.plugins.square_oauth import SquareOAuthDetector
    from detect_secrets.plugins.stripe import StripeDetector
    from detect_secrets.plugins.twilio import TwilioKeyDetector

    return (
        ArtifactoryDetector(),
        AWSKeyDetector(),
        DiscordBotTokenDetector(),
        GitHubTokenDetector(),
        JwtTokenDetector(),
        MailchimpDetector(),
        NpmDetector(),
        PrivateKeyDetector(),
        SendGridDetector(),
        SlackDetector(),
        SquareOAuthDetector(),
        StripeDetector(),
        TwilioKeyDetector(),
    )


def _readings(data: bytes) -> Iterator[bytes]:
    """Yield the bytes as they are, and as UTF-16 where they may be that."""
    yield data
    if b"\0" in data:
        yield data.replace(b"\0", b"")


def _is_configuration(path: str) -> bool:
    return PurePosixPath(path.lower()).suffix in _YAML and not is_made_up(path)
