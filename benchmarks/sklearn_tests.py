"""scikit-learn's own tests of trees and ensembles, with only the import changed.

``python -m benchmarks.sklearn_tests [FILE ...]`` takes the test files from the installed
scikit-learn, lets them import from `hornbeam.compat.sklearn` what that has, runs them in a
temporary folder and lists what fails by reason. Nothing of scikit-learn is kept.

Names of private modules stay scikit-learn's own. Tests of these, and of numbers that follow from
one stream of random numbers, say nothing about hornbeam: `OF_INTERNALS` lists them with the
reason, which docs/adr/008 repeats.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import sklearn

import hornbeam.compat.sklearn as compat

ROOT = Path(sklearn.__file__).parent
ROOMS = ("sklearn.tree", "sklearn.ensemble")
_HIST = "ensemble/_hist_gradient_boosting/tests"
FILES = {
    "tree": "tree/tests/test_tree.py",
    "export": "tree/tests/test_export.py",
    "split": "tree/tests/test_split.py",
    "monotonic": "tree/tests/test_monotonic_tree.py",
    "forest": "ensemble/tests/test_forest.py",
    "bagging": "ensemble/tests/test_bagging.py",
    "iforest": "ensemble/tests/test_iforest.py",
    "boosting": "ensemble/tests/test_gradient_boosting.py",
    "hist": f"{_HIST}/test_gradient_boosting.py",
    "hist_monotonic": f"{_HIST}/test_monotonic_constraints.py",
    "warm_start": f"{_HIST}/test_warm_start.py",
}

_PRIVATE = "asks private functions, classes or attributes of scikit-learn"
_STREAM = "asks for numbers that follow from one stream of random numbers, or one order of sums"

# file:test (regular expressions) -> why they say nothing about hornbeam
OF_INTERNALS: dict[str, str] = {
    r"tree:test_(realloc|criterion_copy|splitter_serializable|check_\w+|build_pruned_tree_\w+"
    r"|different_bitness_\w+|absolute_errors_precomputation_function|huge_allocations)": _PRIVATE,
    r"export:test_rgb_to_hexstring": _PRIVATE,
    r"forest:test_(validate_y_class_weight|class_weights_forest|oob_not_computed_twice"
    r"|forest_multioutput_integral_regression_target|max_samples_geq_one|memory_layout"
    r"|mse_criterion_object_segfault_smoke_test|backend_respected)": _PRIVATE,
    r"bagging:test_(max_samples_consistency|draw_indices_using_sample_weight)": _PRIVATE,
    r"iforest:test_(max_samples_consistency|iforest_average_path_length|recalculate_max_depth"
    r"|iforest_chunks_works\d)": _PRIVATE,
    r"boosting:test_(check_inputs_predict_stages|safe_divide|huber_overfit)": _PRIVATE,
    r"hist:test_(binning_train_validation_are_separated|small_trainset|check_interaction_cst"
    r"|sum_hessians_are_sample_weight|max_depth_max_leaf_nodes|single_node_trees|custom_loss"
    r"|early_stopping_with_sample_weights|raw_predict_is_called_with_custom_scorer"
    r"|categorical_encoding_strategies|dataframe_categorical_results_same_as_ndarray"
    r"|categorical_different_order_same_model|different_bitness_\w+)": _PRIVATE,
    r"hist_monotonic:test_(nodes_values|bounded_value_min_gain_to_split)": _PRIVATE,
    r"warm_start:test_(warm_start_max_depth|warm_start_clear|warm_start_equal_n_estimators"
    r"|warm_start_yields_identical_results|random_seeds_warm_start)": _PRIVATE,
    r"forest:test_(distribution|estimators_samples)": _STREAM,
    r"bagging:test_bagging_small_max_features": _STREAM,
    r"iforest:test_iforest_sparse_input_float_contamination": _STREAM,
    r"boosting:test_(oob_improvement|\w+_exact_backward_compat)": _STREAM,
}

# What docs/adr/008 calls the reasons why hornbeam does something else.
_LEAVES = "numbers of nodes, and infinite thresholds"
_BOOLS = "bools are categories"
_EXACT = "numbers as they are"
_WORDS = "words of errors and warnings"
_MORE = "taken here, an error there"
_TIES = "ties"
_FOREST = "defaults of forests"
_ROUNDED = "gradients are whole numbers"
_SIZES = "rows of a leaf in boosting"
_WEIGHTS = "weights in bagging"
_MEMBERS = "members made when they are asked for"
_VERBOSE = "lines of `verbose`"
_FRIEDMAN = "`friedman_mse`"
_WARM = "a warm start looks at its table"
_SPLITS = "`min_samples_split` of boosting"
_STOPS = "where early stopping ends"

# file:test (regular expressions) -> the reason
DIFFERENCES: dict[str, str] = {
    r"tree:test_random_splitter_missing_values_uses_non_missing_min_max": _LEAVES,
    r"forest:test_random_trees_embedding_feature_names_out": _LEAVES,
    r"tree:test_(almost_constant_feature|big_input)": _EXACT,
    r"tree:test_(error|sample_weight_invalid)": _WORDS,
    r"monotonic:test_bad_monotonic_cst_raises": _WORDS,
    r"forest:test_random_trees_embedding_raise_error_oob": _WORDS,
    r"hist:test_(gamma_y_positive|poisson_y_positive|categorical_spec_errors\w*)": _WORDS,
    r"hist_monotonic:test_input_error\w*": _WORDS,
    r"tree:test_missing_value_errors": _MORE,
    r"forest:test_classifier_error_oob_score_multiclass_multioutput": _MORE,
    r"bagging:test_warm_start_with_oob_score_fails": _MORE,
    r"hist:test_(categorical_bad_encoding_errors|dataframe_categorical_errors)": _MORE,
    r"export:test_export_text\w*": _TIES,
    r"forest:test_importances_asymptotic": _BOOLS,
    r"forest:test_forest_classifier_oob": _FOREST,
    r"boosting:test_huber_vs_mean_and_median": _ROUNDED,
    r"boosting:test_max_feature_regression": _SPLITS,
    r"warm_start:test_warm_start_early_stopping": _STOPS,
    r"hist:test_sample_weight_effect": _ROUNDED,
    r"hist:test_X_val_raises_with_early_stopping_false": _WORDS,
    r"hist:test_(early_stopping_classification|missing_values_resilience)": _SIZES,
    r"bagging:test_(invalid_sample_weight_max_samples_bootstrap_combinations"
    r"|warning_bootstrap_sample_weight)": _WEIGHTS,
    r"iforest:test_iforest_warm_start": _MEMBERS,
    r"boosting:test_(more_)?verbose_output": _VERBOSE,
    r"(tree|forest):test_friedman_mse_deprecation": _FRIEDMAN,
    r"forest:test_class_weight_errors": _WARM,
}


@dataclass(frozen=True)
class Outcome:
    """One test: its file and name, how it ended, and what was said if it failed."""

    file: str
    test: str
    result: str  # passed, failed or skipped
    message: str

    @property
    def excuse(self) -> str | None:
        """Why the test says nothing about hornbeam, if it does not."""
        return self._found_in(OF_INTERNALS)

    @property
    def difference(self) -> str | None:
        """Why hornbeam does something else than the test asks for, if that is known."""
        return self._found_in(DIFFERENCES)

    def _found_in(self, reasons: Mapping[str, str]) -> str | None:
        name = f"{self.file}:{self.test.split('[')[0]}"
        return next((why for who, why in reasons.items() if re.fullmatch(who, name)), None)


def with_our_import(source: str) -> str:
    """A test file that imports what `hornbeam.compat.sklearn` has from there."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    for node in reversed([node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]):
        if node.module == "sklearn" and any(name.name == "tree" for name in node.names):
            names = ", ".join(_said(name) for name in node.names if name.name != "tree")
            changed = f"from sklearn import {names}\nimport hornbeam.compat.sklearn as tree\n"
        elif node.module in ROOMS:
            ours = [_said(name) for name in node.names if name.name in compat.__all__]
            theirs = [_said(name) for name in node.names if name.name not in compat.__all__]
            changed = _import("hornbeam.compat.sklearn", ours) + _import(node.module, theirs)
        else:
            continue
        indent = " " * node.col_offset
        assert node.end_lineno is not None
        lines[node.lineno - 1 : node.end_lineno] = [
            indent + line for line in changed.splitlines(keepends=True)
        ]
    return "".join(lines)


def _said(name: ast.alias) -> str:
    return name.name if name.asname is None else f"{name.name} as {name.asname}"


def _import(module: str, names: list[str]) -> str:
    return f"from {module} import {', '.join(names)}\n" if names else ""


def run(names: Iterable[str], options: list[str]) -> list[Outcome]:
    """Run some of the files and read what became of each test."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "conftest.py").write_text("from sklearn.conftest import *\n", encoding="utf-8")
        for name in names:
            source = (ROOT / FILES[name]).read_text(encoding="utf-8")
            (folder / f"test_{name}.py").write_text(with_our_import(source), encoding="utf-8")
        report = folder / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
        command += ["--import-mode=importlib", f"--junitxml={report}", *options, str(folder)]
        environment = {**os.environ, "SKLEARN_SKIP_NETWORK_TESTS": "1"}
        subprocess.run(command, check=False, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        cases = ElementTree.parse(report).getroot().iter("testcase")
        return [_outcome(case) for case in cases]


def _outcome(case: ElementTree.Element) -> Outcome:
    file = (case.get("classname") or "").rpartition("test_")[2]
    for result in ("failure", "error", "skipped"):
        found = case.find(result)
        if found is not None:
            message = (found.get("message") or "").strip() + "\n" + (found.text or "")
            kind = "skipped" if result == "skipped" else "failed"
            return Outcome(file, case.get("name") or "", kind, message)
    return Outcome(file, case.get("name") or "", "passed", "")


def show(outcomes: list[Outcome], verbose: bool) -> None:
    """Print failures by reason, and how many tests pass."""
    reasons = defaultdict(list)
    for outcome in outcomes:
        if outcome.result == "failed" and outcome.excuse is None:
            reasons[outcome.difference or f"NEW: {_reason(outcome.message)}"].append(outcome)
    for reason, failed in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(failed):4}  {reason}")
        names = sorted({f"{outcome.file}:{outcome.test}" for outcome in failed})
        for name in names if verbose else sorted({name.split("[")[0] for name in names}):
            print(f"        {name}")
    excused = [outcome for outcome in outcomes if outcome.excuse is not None]
    counted = [outcome for outcome in outcomes if outcome.excuse is None]
    passed, failed = (
        sum(outcome.result == result for outcome in counted) for result in ("passed", "failed")
    )
    share = passed / max(1, passed + failed)
    print(f"{passed} pass, {failed} fail ({share:.1%} pass); {len(excused)} are of internals")
    for why in sorted({outcome.excuse for outcome in excused if outcome.excuse}):
        few = [outcome.result for outcome in excused if outcome.excuse == why]
        print(f"{len(few):4} ({few.count('passed')} pass)  {why}")


def _reason(message: str) -> str:
    """The first line of an error without the numbers in it."""
    first = message.splitlines()[0] if message else "no message"
    return re.sub(r"\d[\d.e+-]*", "#", re.sub(r"0x[0-9a-f]+", "#", first))[:150]


def main() -> int:
    """Run; the status is 1 if any test fails without a known reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help=f"of {', '.join(FILES)}; none: all")
    parser.add_argument("--verbose", action="store_true", help="each test with its parameters")
    parser.add_argument("--log", type=Path, help="write the messages of all failures there")
    parser.add_argument("-k", help="as in pytest")
    parser.add_argument("-n", default="0", help="processes, as in pytest-xdist")
    chosen = parser.parse_args()
    options = ["-n", chosen.n] + (["-k", chosen.k] if chosen.k else [])
    outcomes = run(chosen.files or FILES, options)
    show(outcomes, chosen.verbose)
    if chosen.log:
        failed = [f"== {o.file}:{o.test}\n{o.message}" for o in outcomes if o.result == "failed"]
        chosen.log.write_text("\n".join(failed), encoding="utf-8")
    known = [o.excuse or o.difference for o in outcomes if o.result == "failed"]
    return int(None in known)


if __name__ == "__main__":
    sys.exit(main())
