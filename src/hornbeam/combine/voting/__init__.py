"""Voting: the members of an ensemble are fitted apart from each other, and vote or are averaged."""
