"""From how many tasks on a search of PostgreSQL goes another way: measured at a million."""

FEW = 2_000
"""Up to so many tasks that one condition leaves are looked up and sorted."""
SOME = 5_000
"""Up to so many that are held: a walk past all others could go on to its end."""
EXAMINED = 4_000
"""So many tasks are looked at to count those that fulfil other conditions as well."""
TEXTS = 1_000
"""So many texts are looked at for that."""
LOOKED_AT = 20_000
"""So many entries of an index are met on a walk for that."""
SAMPLE = 500
"""So many texts are drawn to learn how many tasks have the words, and for later searches more."""
LIKELY = 23_000
"""More texts are drawn to prove that more than are counted have the words, where those that were
drawn speak of more than so many."""
SURE = 12_500
"""More than are counted have a word of which the database's statistics say more than so many; of
fewer all are listed where nothing else is wanted."""
SORTED = 18_000
"""Where the statistics say of a word that more than so many have it, and other things are wanted as
well, texts tell how many have all of it."""
LONGEST = 30_000
"""A list that is quickly made, as it seems, ends where it is so much longer than was expected."""
LISTED = 60_000
"""Up to so many tasks that have the words and tags are listed where a walk takes longer."""
LIST_TAKES = 2_000
"""To ask for a list takes so long. What each takes is reckoned in microseconds."""
ENTRY_TAKES = 1.7
"""So long takes each task that is listed."""
BEGUN_TAKES = 0.27
"""So long takes it to have the index collect a task for a beginning that is not spelt out."""
LEXEME_TAKES = 0.0165
"""So long takes it to compare one of them with one that is wanted."""
QUICK = 15_000
"""A list that takes no longer is made anyway, since it tells how many there are."""
SOON_TOLD = 22_000
"""So is one that takes no longer where nothing else is wanted. And the index is asked whether more
than are counted have the words, where it tells that in this time."""
FOR_TOTAL = 4
"""Among so many times fewer a total is counted that no page comes with."""
NARROW = 8_000
"""Up to so many texts are read for words that the index is not asked for."""
TEXT_TAKES = 4.5
"""So long takes a text that is looked up on a walk."""
READ_TAKES = 10
"""So long takes one that some of the words have: these stand mostly in long ones."""
STEP_TAKES = 0.3
"""So long takes a step of a walk along an index."""
TAG_TAKES = 2
"""So long takes it to look up whether a task met on it has a tag."""
MONTHS = 3
"""Up to so many months are spelt out in what the index of words is asked for: with each more it
takes as long again."""
FOLLOWED = 40_000
"""So many entries of an index are followed at most to meet a page of what an index in list order
does not have."""
FOLLOWED_BY_KEY = 120_000
"""So many where the index itself tells whether a date fits."""
TAG = 20_000
"""Up to so many tasks with a tag are listed for a walk in list order."""
TAG_LISTED = 60_000
"""Up to so many for a walk by what unblocks most, or to its end."""
CANDIDATES = 60_000
"""Up to so many tasks that are new are sorted: a walk past all others takes longer."""
WALKED = 2_000
"""So many texts at least are looked up on a walk before all that have the words are listed."""
MOST_WALKED = 15_000
"""So many at most."""
STEPS = 100_000
"""So many entries of an index are followed on it."""
DATED = 250_000
"""Up to so many tasks that are new are sorted, where a walk by dates does not soon meet them."""
DATES_DRAWN = 500
"""So many tasks are drawn to learn whether a walk by dates soon meets what is new."""
PASSED = 60_000
"""It does where it passes at most so many that are not."""
PASSED_FOR_EACH = 60
"""Or so many for each that is."""
