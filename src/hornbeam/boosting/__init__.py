"""Gradient boosting: rounds of small trees, each fitted to the slopes of a loss."""
