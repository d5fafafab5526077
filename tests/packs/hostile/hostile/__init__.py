"""A pack that misbehaves in one way of many; `registry` has them all."""
