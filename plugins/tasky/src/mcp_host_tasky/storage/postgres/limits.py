"""From how many tasks on a search of PostgreSQL goes another way: measured at a million."""

EXAMINED = 4_000
"""So many tasks are looked at to count those that fulfil other conditions as well."""
TEXTS = 1_000
"""So many texts are looked at for that."""
LOOKED_AT = 20_000
"""So many entries of an index are met on a walk for that; fewer where each costs a look-up."""
LOOKED_UP = 5_000
SAMPLE = 1_000
"""So many texts are read to learn how many tasks have the words."""
LARGER_SAMPLE = 2_000
"""So many where that leaves in doubt that more than are counted have them."""
LIKELY = 20_000
"""It is looked for only where the sample speaks of more than so many."""
SURE = 12_500
"""More than are counted have a word of which the database's statistics say more than so many; of
fewer all are listed where nothing else is wanted."""
SOON_MET = 18_000
"""If more than so many have the words, a page of them is met sooner on a walk than from a list."""
LISTED = 60_000
"""Up to so many tasks that have the words are expected in a list that is made of them."""
LIST_TAKES = 3_000
"""To ask for a list takes as long as so many of its entries."""
TEXT_TAKES = 6
"""A text is looked up in the time that so many entries of such a list take."""
STEP_TAKES = 0.5
"""So long takes a step of a walk along an index past what has not the tags or dates."""
LOOK_UP_TAKES = 2
"""So long takes a task whose place in the order is looked up by its number."""
SORTED = 18_000
"""Up to so many tasks that have the words are listed."""
OF_DATES = 20_000
"""Up to so many tasks with such dates are listed for that."""
LOOKED_FOR = 2_000
"""Up to so many of a list are looked up and sorted; more are met on a walk in the wanted order."""
STEPS_OF_LOOK_UP = 6
"""So many entries of an index are followed in the time in which one task is looked up."""
FOLLOWED = 40_000
"""So many entries of an index are met on such a walk at most, before all of the list are looked
up; half as many where the page is expected to be full by then, which take a third of the time."""
MET = 500
"""So many matches are counted on such a walk."""
TAG = 20_000
"""Up to so many tasks with a tag are listed for a walk that looks at no words."""
CANDIDATES = 20_000
"""Up to so many tasks that fulfil one condition are sorted: a walk past all others takes longer."""
WALKED = 2_000
"""So many texts are looked up on a walk before all tasks that have the words are listed."""
STEPS = 100_000
"""So many entries of an index are followed on it."""
DATED = 150_000
"""Up to so many tasks that a condition of dates leaves are sorted, where a walk meets too few."""
