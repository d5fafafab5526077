"""A task and what may be asked of one; where clients read it; and what no text may show."""
