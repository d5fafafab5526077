"""The settings of one pack, checked by the pack's own model."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ..errors import SettingsError
from .explaining import explain, unknown_key
from .loading import Settings


def pack_settings(
    name: str, model: type[BaseModel] | None, settings: Settings, root: Path | None
) -> BaseModel | None:
    """A pack's own settings, checked by its model; `SettingsError` names the key.

    Relative paths start at the settings file's folder. A field `root` of type Path is filled with
    `root` where the pack's settings do not name one.
    """
    if name in settings.problems:
        raise SettingsError(settings.problems[name])
    given = dict(settings.packs[name].settings) if name in settings.packs else {}
    if model is None:
        if given:
            raise SettingsError(f"packs.{name}.settings: this pack has no settings")
        return None
    try:
        given = _placed(given, model, settings.folder)
    except RuntimeError as error:  # "~nobody/x"
        raise SettingsError(f"packs.{name}.settings: {error}") from None
    if about_project(model) and given.get("root") is None:
        given["root"] = root
    known = {n for key, info in model.model_fields.items() for n in (key, info.alias) if n}
    if model.model_config.get("extra") is None:  # a model that does not say it wants more
        for key in given.keys() - known:
            raise SettingsError(f"packs.{name}.settings.{key}: {unknown_key(key, sorted(known))}")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise SettingsError(f"packs.{name}.settings.{explain(error, model)}") from None


def about_project(model: type[BaseModel] | None) -> bool:
    """Whether a pack's settings have a `root`, which the host fills in."""
    if model is None or "root" not in model.model_fields:
        return False
    return wants_path(model.model_fields["root"].annotation)


def wants_path(annotation: Any) -> bool:
    """Whether a value of this type is a path."""
    return annotation is Path or any(wants_path(arm) for arm in get_args(annotation))


class NoProjectError(SettingsError):
    """A pack is about a project, and none is named."""


def project_root(settings: Settings, name: str) -> Path:
    """The folder a pack about a project works in; `NoProjectError` where none can be assumed."""
    if settings.host.root is not None:
        return settings.host.root
    here = settings.here
    if here in (Path(here.anchor), Path.home()):
        raise NoProjectError(
            f"which project? The working directory is {here}, which is nobody's project; start "
            f"the server in the project's folder or with --root FOLDER, or set root in [host] or "
            f"in [packs.{name}.settings]"
        )
    return here


def _placed(value: Any, annotation: Any, folder: Path) -> Any:
    """The value with its relative paths made absolute, wherever the annotation wants a path."""
    arms = [arm for arm in _arms(annotation) if arm is not type(None)]
    if isinstance(value, str):
        return folder / Path(value).expanduser() if Path in arms else value
    for arm in arms:
        inner = get_args(arm)
        if isinstance(value, list) and inner and get_origin(arm) is not dict:
            return [_placed(item, inner[0], folder) for item in value]
        if isinstance(value, dict) and get_origin(arm) is dict:
            return {key: _placed(item, inner[1], folder) for key, item in value.items()}
        if isinstance(value, dict) and isinstance(arm, type) and issubclass(arm, BaseModel):
            wanted = {info.alias or key: info.annotation for key, info in arm.model_fields.items()}
            return {key: _placed(item, wanted.get(key), folder) for key, item in value.items()}
    return value


def _arms(annotation: Any) -> tuple[Any, ...]:
    """What a value may be: the arms of a union, or the annotation itself."""
    if get_origin(annotation) is Annotated:
        return _arms(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(arm for each in get_args(annotation) for arm in _arms(each))
    return (annotation,)
