"""`openspec completion`: completion of commands, flags and names in the shell.

What a shell runs is a few lines that ask `openspec __complete`, so a script once installed knows
what later releases bring.
"""

import argparse
import os
import shlex
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..errors import OpenSpecError
from ..storage.files import exists
from ..storage.writes import write_whole
from .arguments import command_line
from .output import CommandError, agreed, say
from .roots import find_root, open_tree

_BASH: Final = """\
_openspec_completion() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\\t'*}")
  done < <(openspec __complete line "$COMP_CWORD" "${COMP_WORDS[@]:1}" 2>/dev/null)
}
complete -o default -F _openspec_completion openspec
"""
_ZSH: Final = """\
#compdef openspec
_openspec() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
  done < <(openspec __complete line "$((CURRENT - 1))" "${(@)words[2,-1]}" 2>/dev/null)
  if (( ${#found} )); then
    _describe 'openspec' found
  else
    _files
  fi
}
compdef _openspec openspec
"""
_FISH: Final = """\
function __openspec_complete
  set -l words (commandline -opc) (commandline -ct)
  openspec __complete line (math (count $words) - 1) $words[2..-1] 2>/dev/null
end
complete -c openspec -a '(__openspec_complete)'
"""
_POWERSHELL: Final = """\
Register-ArgumentCompleter -Native -CommandName openspec -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -eq '') { $words += '' }
  openspec __complete line $words.Count @words 2>$null | ForEach-Object {
    $name, $text = $_ -split "`t", 2
    [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', "$text ")
  }
}
"""
SCRIPTS: Final = {"zsh": _ZSH, "bash": _BASH, "fish": _FISH, "powershell": _POWERSHELL}

_BEGIN: Final = "# OPENSPEC:START"
_END: Final = "# OPENSPEC:END"
_CHANGE: Final = ("archive", "diff", "rebase")
_SPEC: Final = ("spec",)


def run(options: Namespace) -> int:
    """Print, install or remove the script of a shell."""
    shell = (options.shell or _detected()).lower()
    if shell not in SCRIPTS:
        raise CommandError(
            "completion_error",
            f"Shell '{shell}' is not supported." if shell else "The shell must be named.",
            fix=f"Name one of: {', '.join(SCRIPTS)}.",
        )
    if options.verb == "generate":
        print(SCRIPTS[shell], end="")
        return 0
    script, profile = _places(shell)
    if options.verb == "install":
        return _install(shell, script, profile)
    if not options.yes and not agreed(f"Remove the completion of {shell}?"):
        say("Nothing was changed.")
        return 0
    return _uninstall(shell, script, profile)


def _detected() -> str:
    """The shell that the environment names."""
    return Path(os.environ.get("SHELL", "")).name


def _places(shell: str) -> tuple[Path, Path | None]:
    """Where a shell's script is kept, and the file that must load it where that is needed."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    match shell:
        case "bash":
            return data / "bash-completion/completions/openspec", home / ".bashrc"
        case "zsh":
            zsh = Path(os.environ.get("ZDOTDIR") or home)
            return home / ".zsh/completions/_openspec", zsh / ".zshrc"
        case "fish":
            return config / "fish/completions/openspec.fish", None
        case _:
            folder = config / "powershell"
            return folder / "OpenSpecCompletion.ps1", folder / "Microsoft.PowerShell_profile.ps1"


def _install(shell: str, script: Path, profile: Path | None) -> int:
    if profile is not None:
        _rewrite(profile, _loading(shell, script))
    write_whole(script, SCRIPTS[shell].encode())
    say(f"✓ Completion for {shell} is in {script}.")
    if profile is not None:
        say(f"{profile} loads it. Start a new shell to have it.")
    return 0


def _uninstall(shell: str, script: Path, profile: Path | None) -> int:
    there = exists(script) or (profile is not None and _block(_read(profile)) is not None)
    if not there:
        raise CommandError("completion_error", f"No completion is installed for {shell}.")
    if profile is not None:
        _rewrite(profile, None)
    script.unlink(missing_ok=True)
    say(f"✓ The completion of {shell} was removed.")
    return 0


def _loading(shell: str, script: Path) -> str:
    """What makes a shell load its script."""
    path = shlex.quote(str(script))
    match shell:
        case "bash":
            return f"[ -f {path} ] && . {path}"
        case "zsh":
            folder = shlex.quote(str(script.parent))
            return f"fpath=({folder} $fpath)\nautoload -Uz compinit\ncompinit"
        case _:
            quoted = str(script).replace("'", "''")
            return f"if (Test-Path '{quoted}') {{ . '{quoted}' }}"


def _rewrite(profile: Path, loading: str | None) -> None:
    """Put our block into a shell's own file, or take it out; the rest stays as it is."""
    text = _read(profile)
    found = _block(text)
    block = "" if loading is None else f"{_BEGIN}\n{loading}\n{_END}\n"
    if found is not None:
        text = text[: found[0]] + block + text[found[1] :]
    elif block:
        text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{block}"
    else:
        return
    write_whole(profile, text.encode("utf-8", "surrogateescape"))


def _block(text: str) -> tuple[int, int] | None:
    """Where our block stands, with its last line end."""
    begin = text.find(_BEGIN)
    end = text.find(_END, begin)
    if begin < 0 or end < 0:
        return None
    end += len(_END)
    return begin, end + (text[end : end + 1] == "\n")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def complete(arguments: Sequence[str]) -> int:
    """Print what fits, a name and what it is on each line; 1 where nothing can be said."""
    kind, rest = (arguments[0] if arguments else ""), list(arguments[1:])
    try:
        found = _line(rest) if kind == "line" else _names(kind)
    except (OpenSpecError, CommandError, OSError, ValueError):
        return 1
    if found is None:
        return 1
    say(*(f"{name}\t{text}" for name, text in found))
    return 0


def _names(kind: str) -> list[tuple[str, str]] | None:
    """Everything of one kind; None where there is no such kind."""
    if kind not in ("changes", "specs", "schemas", "archived-changes"):
        return None
    find_root(implicit=kind == "schemas")
    service = open_tree(implicit=True)
    match kind:
        case "changes":
            return [(name, "active change") for name in sorted(service.change_ids())]
        case "specs":
            return [(name, "specification") for name in sorted(service.capabilities())]
        case "schemas":
            return [(one.name, "schema") for one in service.tree.schemas.places()]
        case _:
            return [(name, "archived change") for name in service.archived()]


def _line(words: list[str]) -> list[tuple[str, str]]:
    """What may stand at one place of a command line: flags, verbs, or names of the tree."""
    index, line = int(words[0]) - 1, words[1:]
    current = line[index] if index < len(line) else ""
    before = line[:index]
    parser, verbs = command_line(before)
    flags = {
        name: action.help or ""
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for name in action.option_strings
    }
    if current.startswith("-"):
        found = list(flags.items())
    elif before and before[-1] in ("--change", "--schema", "--type"):
        kinds = {"--change": "changes", "--schema": "schemas"}
        kind = kinds.get(before[-1])
        found = (_names(kind) or []) if kind else [("change", ""), ("spec", "")]
    elif verbs:
        found = [(name, text) for name, text in verbs.items() if not name.startswith("_")]
    else:
        found = _items(before)
    return [(name, text.split("\n")[0]) for name, text in found if name.startswith(current)]


def _items(before: Sequence[str]) -> list[tuple[str, str]]:
    """The names that a command may be about."""
    command = before[0] if before else ""
    if command in _CHANGE or command == "change":
        return _names("changes") or []
    if command in _SPEC:
        return _names("specs") or []
    if command in ("show", "validate"):
        return [*(_names("changes") or []), *(_names("specs") or [])]
    if command == "unarchive":
        return _names("archived-changes") or []
    if command == "schema":
        return _names("schemas") or []
    if command == "completion":
        return [(name, "shell") for name in SCRIPTS]
    return []
