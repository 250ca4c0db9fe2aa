"""Forests: many trees on samples of the rows, grown one by one and put together."""
