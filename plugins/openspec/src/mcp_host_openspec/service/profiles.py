"""What a person chose for all projects: which workflows assistants get, and as what."""

from typing import Final, cast

from ..model.assistants import Delivery, profile_workflows
from ..storage.preferences import Preferences
from .assistant_files import AssistantFiles, Choice, Installed

PROFILES: Final = ("core", "custom")
DELIVERIES: Final = ("both", "skills", "commands")


def choice_of(preferences: Preferences, profile: str | None = None) -> Choice:
    """The choice in force; `profile` goes before the one of the settings."""
    settings = preferences.all()
    chosen = settings.get("workflows")
    workflows = tuple(one for one in chosen if isinstance(one, str)) if chosen else ()
    delivery = settings["delivery"] if settings["delivery"] in DELIVERIES else "both"
    return Choice(
        profile_workflows(profile or str(settings["profile"]), workflows),
        cast(Delivery, delivery),
    )


def adopt_installed(preferences: Preferences, files: AssistantFiles) -> Installed | None:
    """Keep what is installed where nobody has chosen a profile yet; what was adopted, or None.

    So the first refresh after an upgrade removes no workflow that is in use.
    """
    said = preferences.explicit()
    if "profile" in said or not preferences.is_readable:
        return None
    found = files.installed(files.present())
    if found is None:
        return None
    settings = {**preferences.all(), "profile": "custom", "workflows": list(found.workflows)}
    if "delivery" not in said:
        settings["delivery"] = found.delivery
    preferences.save(settings)
    return found
