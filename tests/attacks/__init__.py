"""Attacks on hornbeam: random fits, hostile files, interrupts and nasty inputs.

``python -m tests.attacks NAME --rounds N --seed S`` runs one of them (`NAME`: bounds, files,
interrupts, inputs) and prints what came of its rounds. A round depends on nothing but its kind,
the seed and its number (but those of interrupts run one after the other in one process, which is
the point), so ``--kind KIND --first NUMBER --rounds 1 --here`` repeats one that failed.
"""
