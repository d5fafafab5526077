"""A pack that waits for something when it is imported."""

import time

time.sleep(60)
