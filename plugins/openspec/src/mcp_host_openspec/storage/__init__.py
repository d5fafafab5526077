"""How a tree is kept: finding it, reading it once, and writing it so that nothing is lost."""
