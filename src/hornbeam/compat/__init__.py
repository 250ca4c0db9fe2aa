"""Scripts of other libraries: their classes, with hornbeam's engine behind them.

Change the import and leave the rest of a script as it is::

    from hornbeam.compat.sklearn import HistGradientBoostingClassifier
"""
