"""Finds, loads and asks packs, and knows what they contribute."""
