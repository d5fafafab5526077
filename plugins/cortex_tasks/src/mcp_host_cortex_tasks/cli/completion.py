"""ctx completion: what a shell offers while a command is typed"""

import argparse
from collections.abc import Iterator

from ..storage.config import Config
from .answer import Answer, say
from .parser import Parser, make_parser

_BASH = """_ctx() {{
  local words="${{COMP_WORDS[*]:1:COMP_CWORD-1}}" offered=""
  case "$words" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _ctx ctx"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit"


def show(given: argparse.Namespace, config: Config) -> Answer:
    """Print the completion of a shell: `source <(ctx completion bash)`."""
    cases = "\n".join(
        f'    "{words}"{"*" if words else ""}) offered="{" ".join(offered)}" ;;'
        for words, offered in sorted(_offers(make_parser()), key=lambda one: -len(one[0]))
    )
    script = _BASH.format(cases=cases)
    script = f"{_ZSH}\n{script}" if given.shell == "zsh" else script
    return Answer({"success": True, "shell": given.shell, "script": script}, say(script))


def _offers(parser: Parser, before: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield each command with what can follow it: commands, else options."""
    options: list[str] = []
    for action in parser.filled()._actions:
        if isinstance(action, argparse._SubParsersAction):
            options += list(action.choices)
            for name, below in action.choices.items():
                yield from _offers(below, f"{before} {name}".strip())
        else:
            options += [one for one in action.option_strings if one.startswith("--")]
    yield before, options
