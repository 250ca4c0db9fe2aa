"""Write docs/api.md, the page of every public name, from the docstrings: ``python docs/api.py``."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import hornbeam

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Every public name

Made from the docstrings by `python docs/api.py`; `help(hb.NAME)` has parameters and an example.
Estimators also have what scikit-learn gives all of them: `get_params`, `set_params`, `score`.
"""
SHARED = ("get_params", "set_params", "get_metadata_routing", "score", "set_output")


def main() -> None:
    """Write the page beside this file."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the page as it should be."""
    names = [name for name in hornbeam.__all__ if not name.startswith("__")]
    objects = {name: getattr(hornbeam, name) for name in names}
    classes = {name: thing for name, thing in objects.items() if inspect.isclass(thing)}
    estimators = {name: thing for name, thing in classes.items() if hasattr(thing, "fit")}
    others = {name: thing for name, thing in classes.items() if name not in estimators}
    modules = {name: thing for name, thing in objects.items() if inspect.ismodule(thing)}
    functions = {name: objects[name] for name in objects if name not in classes | modules}
    parts = [HEAD, "## Estimators\n", *(_estimator(*item) for item in estimators.items())]
    parts += ["## Functions\n", _table(functions)]
    parts += ["## Errors and results\n", _table(others)]
    for name, module in modules.items():
        parts += [f"## `hb.{name}`\n", f"{_first_line(module)}\n", _table(_members(module))]
    return "\n".join(parts)


def _estimator(name: str, thing: type) -> str:
    """A class with its methods, inherited ones included, in one paragraph."""
    methods = [
        f"`{method}`"
        for method, function in inspect.getmembers(thing, callable)
        if not method.startswith(("_", "set_")) and method not in SHARED and function.__doc__
    ]
    return f"### {name}\n\n{_first_line(thing)}\n\nMethods: {', '.join(methods)}.\n"


def _members(module: Any) -> dict[str, Any]:
    """The public functions and classes that a module defines or names in ``__all__``."""
    named = getattr(module, "__all__", None)
    names = named if named is not None else [name for name in vars(module) if name[0] != "_"]
    found = {name: getattr(module, name) for name in names}
    return {
        name: thing
        for name, thing in found.items()
        if callable(thing) and (named or getattr(thing, "__module__", "") == module.__name__)
    }


def _table(things: dict[str, Any]) -> str:
    lines = ["| name | what it is |", "|---|---|"]
    lines += [f"| `{name}` | {_first_line(thing)} |" for name, thing in sorted(things.items())]
    return "\n".join(lines) + "\n"


def _first_line(thing: Any) -> str:
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|").replace("``", "`")


if __name__ == "__main__":
    main()
