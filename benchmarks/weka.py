"""Compare `C45Classifier` with Weka's J48, tree by tree: ``python -m benchmarks.weka``.

J48 is Weka's rewriting of C4.5 release 8, and the live reference for ours. It is run
headless, from Debian's package ``weka`` and any Java; ``WEKA_CLASSPATH`` says where the
jars are if not in ``/usr/share/java``::

    apt-get install weka default-jre-headless

Both get the same training and test rows of the shared data sets. Unpruned trees are to
have the same size and errors. Pruned ones may differ, for one because J48 prefers a leaf
that is worse by up to 0.1 errors.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import hornbeam as hb
from benchmarks import shared
from benchmarks.datasets import Array, DataSet

SETS = (
    "house_votes_84", "uci_soybean", "uci_labor", "uci_hypothyroid", "credit_card_default",
    "car_evaluation", "mushroom", "nursery", "tic_tac_toe", "uci_glass", "uci_ionosphere",
    "uci_segment", "uci_sonar", "uci_vehicle", "uci_vowel", "adult",
)  # fmt: skip
CLASSPATH = "/usr/share/java/weka.jar:/usr/share/java/java-cup-runtime.jar"


@dataclass(frozen=True)
class Fit:
    """Size and errors (percent) of one tree."""

    leaves: int
    nodes: int
    training: float
    test: float

    def __str__(self) -> str:
        return f"{self.leaves} | {self.nodes} | {self.training:.2f} | {self.test:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of all chosen sets; 1 when there is no Weka."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weka", description=__doc__)
    parser.add_argument("names", nargs="*", default=SETS, help="shared data sets")
    names = parser.parse_args(arguments).names
    classpath = os.environ.get("WEKA_CLASSPATH", CLASSPATH)
    if shutil.which("java") is None or not Path(classpath.partition(":")[0]).is_file():
        print(f"No java, or no Weka at {classpath}; set WEKA_CLASSPATH.", file=sys.stderr)
        return 1
    print("| data | tree | leaves | nodes | training error % | test error % |")
    print("|---|---|---|---|---|---|")
    for name in names:
        for row in compare(name, classpath):
            print(f"| {name} | {row}", flush=True)
    return 0


def compare(name: str, classpath: str) -> Iterator[str]:
    """Fit both on a set, unpruned and pruned."""
    whole = shared.load(name)
    if whole is None:
        return
    data = whole.split(0)
    for words, options, parameters in (
        ("unpruned", ["-U"], {"pruning": None}),
        ("pruned", [], {}),
    ):
        yield f"J48 {words} | {j48(data, whole.n_classes, classpath, options)} |"
        yield f"C45Classifier {words} | {ours(data, parameters)} |"


def ours(data: DataSet, parameters: dict[str, Any]) -> Fit:
    """Fit hornbeam's tree."""
    tree = hb.C45Classifier(**parameters).fit(data.X, data.y)
    errors = [
        100 * float((tree.predict(X) != y).mean())
        for X, y in ((data.X, data.y), (data.X_test, data.y_test))
    ]
    return Fit(tree.get_n_leaves(), tree.tree_.node_count, *errors)


def j48(data: DataSet, n_classes: int, classpath: str, options: list[str]) -> Fit:
    """Fit Weka's tree in a process of its own, and read what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        files = {"-t": Path(folder) / "train.arff", "-T": Path(folder) / "test.arff"}
        write_arff(files["-t"], data.X, data.y, n_classes)
        write_arff(files["-T"], data.X_test, data.y_test, n_classes)
        command = ["java", "-Xmx3g", "-cp", classpath, "weka.classifiers.trees.J48"]
        command += [str(part) for pair in files.items() for part in pair]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    text = done.stdout
    shares = [
        float(x) for x in re.findall(r"\nCorrectly Classified Instances +\d+ +([\d.]+)", text)
    ]
    if len(shares) != 2:
        raise RuntimeError(f"J48 printed no two results: {done.stderr[:300]} {text[:300]}")
    size = [
        int(re.findall(rf"{what}\s*:\s*(\d+)", text)[0])
        for what in ("Number of Leaves", "Size of the tree")
    ]
    return Fit(size[0], size[1], 100 - shares[0], 100 - shares[1])


def write_arff(path: Path, X: Any, y: Array, n_classes: int) -> None:
    """Write a table in Weka's format; categories and classes are called by their numbers."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    lines, columns = ["@relation shared"], []
    for number, name in enumerate(frame):
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            labels = ",".join(f"v{i}" for i in range(len(column.cat.categories)))
            lines.append(f"@attribute a{number} {{{labels}}}")
            columns.append(["?" if code < 0 else f"v{code}" for code in column.cat.codes])
        else:
            lines.append(f"@attribute a{number} numeric")
            columns.append(["?" if value != value else repr(float(value)) for value in column])
    lines.append(f"@attribute class {{{','.join(f'c{i}' for i in range(n_classes))}}}")
    lines.append("@data")
    rows = zip(*columns, (f"c{label}" for label in y), strict=True)
    path.write_text("\n".join([*lines, *map(",".join, rows), ""]), encoding="ascii")


if __name__ == "__main__":
    sys.exit(main())
