"""A picture and a sound, as small as they get."""

import base64

PICTURE = base64.b64decode(  # PNG, one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mPQW+AMAAIRARKKvJdJAAAAAElFTkSuQmCC"
)
SOUND = base64.b64decode(  # WAV, a millisecond of silence
    "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="
)
