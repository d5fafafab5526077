"""How things are kept and reached: settings, tasks, git, forges, the journal. The only I/O."""
