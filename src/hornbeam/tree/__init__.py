"""One tree: its storage, how it grows, how it is pruned, and the estimators on it."""
