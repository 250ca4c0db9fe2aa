"""Bagging: any estimator, fitted many times on samples of the rows and the columns."""
