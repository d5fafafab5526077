"""Commands for people."""


def main() -> None:
    raise SystemExit("to come")
