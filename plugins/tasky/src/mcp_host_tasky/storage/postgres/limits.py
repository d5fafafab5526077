"""From how many tasks on a search of PostgreSQL goes another way: measured at a million."""

EXAMINED = 4_000
"""So many tasks are looked at to count those that fulfil other conditions as well."""
TEXTS = 2_000
"""So many texts are looked at for that."""
LOOKED_AT = 20_000
"""So many entries of an index are met on a walk for that; fewer where each costs a look-up."""
LOOKED_UP = 5_000
SAMPLE = 500
"""So many texts are read to learn whether words are often together."""
COMMON = 0.2
"""From this part of the texts on, enough to count are sooner found by reading texts."""
READ = 100_000
"""So many texts are read for that."""
MANY = 0.016
"""From this part of the texts on, other conditions are asked before the index of words."""
SEVERAL = 0.025
"""As `MANY`, where tags are wanted: what has the words is soon compared with what has a tag."""
RARE = 0.008
"""As `MANY`, where whole rows must be read for the other conditions."""
SORTED = 14_000
"""Up to so many tasks that have the words are sorted: a walk that meets enough takes longer."""
WALKED_PAST = 5_000
"""From so many tasks with the words, a page of them is met on a walk in list order."""
CANDIDATES = 20_000
"""Up to so many tasks that fulfil one condition are sorted: a walk past all others takes longer."""
WALKED = 8_000
"""So many texts are looked up on a walk before all tasks that have the words are gathered."""
