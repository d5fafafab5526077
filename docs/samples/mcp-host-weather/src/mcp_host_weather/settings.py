"""What a user can set, in [packs.weather.settings]."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class WeatherSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Path | None = Field(
        None, description="Where readings are kept; else in the pack's data folder"
    )
