"""What a pack writes: tools, resources, prompts, questions, and what it is given."""
