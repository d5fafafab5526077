"""The page kit: one local page of a pack, offline and live, which no other site can reach."""
