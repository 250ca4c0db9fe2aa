"""Many estimators made one: bagging, AdaBoost, votes, stacks and blends."""
