"""`openspec config`: a person's own settings for all projects."""

import json
import math
import os
import shlex
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from ..errors import OpenSpecError
from ..model.assistants import CORE, SKILLS
from ..service.profiles import DELIVERIES, PROFILES, choice_of
from ..storage.files import exists, is_file
from ..storage.preferences import DEFAULTS, Preferences
from .output import CommandError, Data, agreed, complain, failure, print_json, say

_KEYS: Final = (*DEFAULTS, "workflows", "defaultStore", "telemetry")
_UNSAFE: Final = ("__proto__", "constructor", "prototype")


def run(options: Namespace) -> int:
    """Run one of path, list, get, set, unset, reset, edit and profile."""
    if options.scope not in (None, "global"):
        raise CommandError("config_error", "--scope must be global; projects have config.yaml.")
    verbs = {
        "path": _path, "list": _list, "get": _get, "set": _set, "unset": _unset,
        "reset": _reset, "edit": _edit, "profile": _profile,
    }  # fmt: skip
    try:
        return verbs[options.verb](Preferences(os.environ, Path.home()), options)
    except OpenSpecError as error:
        raise failure(error, "config_error") from error


def _path(preferences: Preferences, _: Namespace) -> int:
    say(str(preferences.path))
    return 0


def _list(preferences: Preferences, options: Namespace) -> int:
    settings = preferences.all()
    if not preferences.is_readable:
        complain(f"Warning: {preferences.path} is no JSON object; these are the defaults.")
    if options.json:
        print_json(settings)
        return 0
    said = preferences.explicit()
    sources = {key: "(explicit)" if key in said else "(default)" for key in ("profile", "delivery")}
    say(*_lines(settings), "", "Profile settings:")
    say(*(f"  {key}: {settings[key]} {source}" for key, source in sources.items()))
    workflows = ", ".join(choice_of(preferences).workflows) or "(none)"
    origin = "(from core profile)" if settings["profile"] == "core" else "(explicit)"
    say(f"  workflows: {workflows} {origin}")
    return 0


def _lines(value: Data, indent: str = "") -> list[str]:
    lines = []
    for key, one in value.items():
        if isinstance(one, dict) and one:
            lines += [f"{indent}{key}:", *_lines(one, f"{indent}  ")]
        elif isinstance(one, list) and one:
            lines += [f"{indent}{key}:", *(f"{indent}  - {_shown(item)}" for item in one)]
        else:
            lines.append(f"{indent}{key}: {_shown(one)}")
    return lines


def _get(preferences: Preferences, options: Namespace) -> int:
    value: Any = preferences.all()
    for part in options.key.split("."):
        if not isinstance(value, dict) or part not in value:
            return 1
        value = value[part]
    say(_shown(value))
    return 0


def _shown(value: Any) -> str:
    """A value as the reference tool prints it: a text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _set(preferences: Preferences, options: Namespace) -> int:
    key, value = options.key, options.value if options.string else _coerced(options.value)
    problem = _key_problem(key)
    if problem and (not options.allow_unknown or set(key.split(".")) & set(_UNSAFE)):
        raise CommandError(
            "config_error",
            f'Invalid configuration key "{key}": {problem}',
            fix="openspec config list shows the keys; --allow-unknown goes past this check.",
        )
    settings = preferences.all()
    _put(settings, key.split("."), value)
    if problem := _settings_problem(settings):
        raise CommandError("config_error", f"Invalid configuration: {problem}")
    preferences.save(settings)
    shown = f'"{value}"' if isinstance(value, str) else _shown(value)
    say(f"Set {key} = {shown}")
    return 0


def _key_problem(key: str) -> str | None:
    """Why a key may not be set; None where it may."""
    first, *rest = parts = key.split(".")
    if any(not part.strip() for part in parts):
        return "a key must not be empty"
    if unsafe := next((part for part in parts if part in _UNSAFE), None):
        return f"{unsafe} is not allowed"
    if first not in _KEYS:
        return f"{first} must be one of {', '.join(_KEYS)}"
    if first == "telemetry":
        return None if rest == ["enabled"] else "under telemetry there is only enabled"
    if len(rest) > (1 if first == "featureFlags" else 0):
        return f"{first} has no such keys below it"
    return None


def _settings_problem(settings: Data) -> str | None:
    """What is wrong with the settings; None where nothing is."""
    flags, workflows = settings["featureFlags"], settings.get("workflows", [])
    telemetry = settings.get("telemetry", {})
    if not isinstance(flags, dict) or not all(isinstance(v, bool) for v in flags.values()):
        return "featureFlags must be true or false, each by its name"
    if settings["profile"] not in PROFILES:
        return f"profile must be one of {', '.join(PROFILES)}"
    if settings["delivery"] not in DELIVERIES:
        return f"delivery must be one of {', '.join(DELIVERIES)}"
    if not isinstance(workflows, list) or not all(isinstance(v, str) for v in workflows):
        return "workflows must be a list of names"
    if not isinstance(settings.get("defaultStore", ""), str):
        return "defaultStore must be a name"
    if not isinstance(telemetry, dict) or not isinstance(telemetry.get("enabled", True), bool):
        return "telemetry.enabled must be true or false"
    return None


def _coerced(text: str) -> Any:
    """A value given as text: true, false, a number, a JSON list or object, else the text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text)
        if math.isfinite(number) and "_" not in text:
            return int(number) if number.is_integer() and abs(number) < 2**53 else number
    except ValueError:
        pass
    if text.strip()[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _put(settings: Data, keys: list[str], value: Any) -> None:
    *above, last = keys
    for key in above:
        if not isinstance(settings.get(key), dict):
            settings[key] = {}
        settings = settings[key]
    settings[last] = value


def _unset(preferences: Preferences, options: Namespace) -> int:
    settings: Any = preferences.all()
    whole, (*above, last) = settings, options.key.split(".")
    for key in above:
        settings = settings.get(key) if isinstance(settings, dict) else None
    if not isinstance(settings, dict) or last not in settings:
        say(f'Key "{options.key}" was not set')
        return 0
    del settings[last]
    preferences.save(whole)
    say(f"Unset {options.key} (reverted to default)")
    return 0


def _reset(preferences: Preferences, options: Namespace) -> int:
    if not options.all:
        fix = "openspec config reset --all"
        raise CommandError("config_error", "--all must be given.", fix=fix)
    if not options.yes and not agreed("Reset all settings to their defaults?"):
        say("Nothing was changed.")
        return 0
    preferences.reset()
    say("Configuration reset to defaults")
    return 0


def _edit(preferences: Preferences, _: Namespace) -> int:
    """Open the file in the editor that the environment names; no shell is started."""
    editor = os.environ.get("EDITOR") or os.environ.get("VISUAL")
    if not editor:
        raise CommandError(
            "config_error", "No editor is set.", fix="Set EDITOR, for example: export EDITOR=vim"
        )
    if not exists(preferences.path):
        preferences.reset()
    try:
        whole = Path(editor).is_absolute() and is_file(Path(editor))
        command = [editor] if whole else shlex.split(editor)
        done = subprocess.run([*command, str(preferences.path)], check=False)
    except (OSError, ValueError, IndexError) as error:
        raise CommandError("config_error", f"The editor {editor} did not start: {error}") from error
    if done.returncode:
        raise CommandError("config_error", f"The editor {editor} ended with {done.returncode}.")
    if not preferences.is_readable:
        raise CommandError("config_error", f"{preferences.path} is no JSON object.")
    if problem := _settings_problem(preferences.all()):
        raise CommandError("config_error", f"Invalid configuration: {problem}")
    return 0


def _profile(preferences: Preferences, options: Namespace) -> int:
    """Choose the workflows: the preset `core`, or at a terminal by their names."""
    settings = preferences.all()
    if options.preset not in (None, "core"):
        raise CommandError(
            "config_error", f'Unknown profile preset "{options.preset}".', fix="There is: core"
        )
    if options.preset == "core":
        settings.update(profile="core", workflows=list(CORE))
    elif not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "config_error",
            "Nobody can be asked here.",
            fix='openspec config profile core, or: openspec config set workflows \'["propose", '
            "…]' and openspec config set profile custom",
        )
    else:
        _ask(settings, choice_of(preferences).workflows)
    preferences.save(settings)
    say("Config updated. Run `openspec update` in your projects to apply.")
    return 0


def _ask(settings: Data, current: tuple[str, ...]) -> None:
    """Ask for the workflows and how they are delivered; an empty answer leaves each as it is."""
    say(f"Workflows: {', '.join(SKILLS)}")
    answer = input(f"Which, with commas between [{', '.join(current)}]? ").strip()
    chosen = tuple(one.strip() for one in answer.split(",") if one.strip()) or current
    if unknown := [one for one in chosen if one not in SKILLS]:
        raise CommandError("config_error", f"Unknown workflows: {', '.join(unknown)}.")
    delivery = input(f"Delivery: both, skills or commands [{settings['delivery']}]? ").strip()
    if delivery and delivery not in DELIVERIES:
        raise CommandError("config_error", f"delivery must be one of {', '.join(DELIVERIES)}.")
    profile = "core" if set(chosen) == set(CORE) else "custom"
    settings.update(profile=profile, workflows=[name for name in SKILLS if name in chosen])
    settings["delivery"] = delivery or settings["delivery"]
