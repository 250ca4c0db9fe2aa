"""The cache of compiled code: it saves time, and whatever happens to it costs only time."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import hornbeam
from hornbeam.runtime import kernel as kernel_module
from hornbeam.runtime.kernel import (
    address_of,
    cache_directory,
    compile_times,
    kernel,
    part,
    source_hash,
    specialise,
)

# --- small kernels, in this process ---------------------------------------------------------------


def add_up(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


VALUES = np.arange(5.0)


def run_anew(function: Callable[..., Any] = add_up, decorate: Any = kernel) -> bool:
    """Use a kernel as a fresh process would; returns whether it had to be compiled."""
    before = compile_times()
    assert decorate(function)(VALUES) == 10.0
    return compile_times() != before


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of our own for one test."""
    root = tmp_path / "cache"
    monkeypatch.setenv("HORNBEAM_CACHE_DIR", str(root))
    monkeypatch.setenv("HORNBEAM_QUIET", "1")
    monkeypatch.setattr(kernel_module, "_compile_times", {})
    cache_directory.cache_clear()
    yield root
    cache_directory.cache_clear()


def umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.bin"))


@pytest.mark.quick
def test_compiled_once(home: Path) -> None:
    assert run_anew()
    assert len(files(home)) == 1 and files(home)[0].name.startswith("test_kernel.add_up-")
    assert not run_anew()
    assert list(compile_times()) == ["test_kernel.add_up"]


@pytest.mark.quick
def test_the_directory_belongs_to_the_user_alone(home: Path) -> None:
    run_anew()
    directory = files(home)[0].parent
    assert directory == cache_directory() == home / source_hash()
    if os.name == "posix":
        for path, mode in ((home, 0o700), (directory, 0o700), (files(home)[0], 0o600)):
            readable = 0o055 if os.geteuid() == 0 else 0  # what root makes all may read
            readable &= 0o777 if path.is_dir() else 0o666
            assert stat.S_IMODE(path.stat().st_mode) == (mode | readable) & ~umask()
    assert not list(home.rglob(".writing-*"))


@pytest.mark.quick
def test_each_signature_has_its_own_code(home: Path) -> None:
    run_anew()
    assert kernel(add_up)(VALUES.astype(np.float32)) == 10.0
    assert kernel(add_up)(VALUES[::2]) == 6.0
    assert len(files(home)) == 3


def scaled(factor: float) -> Callable[..., Any]:
    def times(values):
        return factor * values[0]

    return times


@pytest.mark.quick
def test_closures_are_told_apart_by_their_variant(home: Path) -> None:
    one = np.ones(1)
    for _ in range(2):  # the second time from the files
        assert [specialise(scaled(f), str(f))(one) for f in (2.0, 3.0)] == [2.0, 3.0]
    assert len(files(home)) == 2
    assert specialise(scaled(5.0), None)(one) == 5.0  # unknown dependencies: not stored
    assert specialise(scaled(7.0), None)(one) == 7.0
    assert len(files(home)) == 2


@part
def doubled(x):
    return 2.0 * x


def add_doubled(values):
    total = 0.0
    for i in range(len(values)):
        total += doubled(values[i]) / 2.0
    return total


@pytest.mark.quick
def test_parts_are_stored_with_their_kernel(home: Path) -> None:
    assert run_anew(add_doubled)
    assert [file.name.split("-")[0] for file in files(home)] == ["test_kernel.add_doubled"]
    assert not run_anew(add_doubled)


@pytest.mark.quick
def test_addresses_of_cached_kernels_are_callable(home: Path) -> None:
    signature = numba.float64(numba.types.Array(numba.float64, 1, "C"))
    for _ in range(2):
        assert address_of(kernel(add_up), signature) != 0
    assert len(files(home)) == 1


class Explosive:
    def __reduce__(self) -> Any:
        return (int, ("not a number",))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "only a checksum": lambda content: content[:32],
    "half": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "zeros": lambda content: bytes(len(content)),
    "garbage": lambda content: hashlib.sha256(content).digest() * 200,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_compiled_anew(home: Path, damage: Callable[[bytes], bytes]) -> None:
    run_anew()
    (file,) = files(home)
    good = file.read_bytes()
    file.write_bytes(damage(good))
    assert run_anew()
    assert file.read_bytes() != damage(good)  # and repaired
    assert not run_anew()


BAD_CODE = {
    "no pickle": b"garbage",
    "another pickle": pickle.dumps({"a": 1}),
    "too short a tuple": pickle.dumps((1, 2)),
    "failing pickle": pickle.dumps(Explosive()),
}


@pytest.mark.parametrize("code", BAD_CODE.values(), ids=BAD_CODE.keys())
def test_bad_code_under_a_good_checksum_is_compiled_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch, code: bytes
) -> None:
    identities: list[bytes] = []
    checksum = kernel_module._checksum

    def listen(identity: bytes, payload: bytes) -> bytes:
        identities.append(identity)
        return checksum(identity, payload)

    monkeypatch.setattr(kernel_module, "_checksum", listen)
    run_anew()
    (file,) = files(home)
    file.write_bytes(checksum(identities[0], code) + code)
    assert run_anew()
    assert not run_anew()


def test_every_flipped_bit_is_noticed(home: Path) -> None:
    signature = numba.float64(numba.typeof(VALUES))
    add: Any = kernel(add_up)
    address_of(add, signature)
    (file,) = files(home)
    good = file.read_bytes()

    def read() -> Any:
        return add._cache.read(signature, add.targetctx.codegen())

    assert read() == good[32:]
    for place in [*range(64), *range(64, len(good), 97), len(good) - 1]:
        changed = bytearray(good)
        changed[place] ^= 1 << place % 8
        file.write_bytes(bytes(changed))
        assert read() is None


def count_up(values):
    return len(values) * 2.0


@pytest.mark.quick
def test_a_good_file_under_the_name_of_another_kernel_is_not_used(home: Path) -> None:
    run_anew(add_up), run_anew(count_up)
    one, other = files(home)
    swapped = one.read_bytes(), other.read_bytes()
    other.write_bytes(swapped[0])
    one.write_bytes(swapped[1])
    assert run_anew(add_up) and run_anew(count_up)
    assert (one.read_bytes(), other.read_bytes()) != swapped[::-1]


@pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")
@pytest.mark.parametrize("change", ["link", "linked directory", "mode", "directory", "root"])
def test_what_others_could_have_written_is_not_read(home: Path, change: str) -> None:
    """Each time that a file is read, not only when the directory is chosen."""
    assert run_anew() and not run_anew()
    (file,) = files(home)
    if change in ("link", "linked directory"):
        moved = file if change == "link" else file.parent
        moved.rename(home.parent / "elsewhere")
        moved.symlink_to(home.parent / "elsewhere")
    else:
        {"mode": file, "directory": file.parent, "root": home}[change].chmod(0o777)
    assert run_anew()


def test_a_cache_that_can_only_be_read_is_read(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    assert run_anew()
    cache_directory.cache_clear()
    open_file = os.open

    def open_to_read(path: Any, flags: int, *mode: Any, **where: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY):
            raise OSError(errno.EROFS, "Read-only file system")
        return open_file(path, flags, *mode, **where)

    monkeypatch.setattr(os, "open", open_to_read)
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    assert not run_anew()
    assert cache_directory() is not None and not kernel_module.can_keep_code()
    assert not caplog.records
    assert run_anew(count_up) and run_anew(count_up)  # what it lacks is compiled
    assert len(caplog.records) == 1 and "Read-only file system" in caplog.text


def test_a_directory_in_the_place_of_a_file(home: Path) -> None:
    run_anew()
    (file,) = files(home)
    file.unlink()
    file.mkdir()
    assert run_anew() and run_anew()


def test_a_directory_that_goes_away(home: Path) -> None:
    run_anew()
    shutil.rmtree(home)
    assert run_anew() and run_anew()


@pytest.mark.skipif(os.name != "posix", reason="users have owners")
def test_without_a_home_code_is_kept_among_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    monkeypatch.setenv("HOME", str(no_folder))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("HORNBEAM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    cache_directory.cache_clear()
    kept = tmp_path / f"hornbeam-{os.geteuid()}"
    assert cache_directory() == kept / kernel_module.source_hash() and not caplog.records
    kept.chmod(0o777)  # somebody else could put another directory into it
    cache_directory.cache_clear()
    assert cache_directory() is None and "cannot keep compiled code" in caplog.text
    cache_directory.cache_clear()


def refused(root: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """This cache is not used, one warning says why, and everything works."""
    monkeypatch.setenv("HORNBEAM_CACHE_DIR", str(root))
    cache_directory.cache_clear()
    caplog.clear()
    assert run_anew() and run_anew()
    assert cache_directory() is None
    assert len(caplog.records) == 1
    assert "cannot keep compiled code" in caplog.text and "HORNBEAM_CACHE_DIR" in caplog.text
    assert not files(root.parent)


def test_a_file_where_the_cache_should_be(home: Path, monkeypatch: Any, caplog: Any) -> None:
    home.write_text("")
    refused(home, monkeypatch, caplog)
    refused(home / "below", monkeypatch, caplog)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_directories_that_others_may_write_to(home: Path, monkeypatch: Any, caplog: Any) -> None:
    """Loading compiled code runs it."""
    directory = home / source_hash()
    for mode in (0o777, 0o770, 0o702):
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(mode)
        refused(home, monkeypatch, caplog)
    directory.chmod(0o700)
    home.chmod(0o777)  # others may move our directory away and put theirs in its place
    refused(home, monkeypatch, caplog)
    home.chmod(0o1777)  # not here: the sticky bit, as /tmp has it
    cache_directory.cache_clear()
    assert cache_directory() == directory


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory(home: Path, monkeypatch: Any, caplog: Any) -> None:
    home.mkdir()
    home.chmod(0o500)
    refused(home, monkeypatch, caplog)


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_a_directory_of_somebody_else(home: Path, monkeypatch: Any, caplog: Any) -> None:
    fstat = os.fstat

    def foreign(handle: int) -> Any:
        found = fstat(handle)
        seen = {name: getattr(found, name) for name in dir(found) if name[:3] == "st_"}
        return types.SimpleNamespace(**seen | {"st_uid": os.geteuid() + 1})

    monkeypatch.setattr(os, "fstat", foreign)
    refused(home, monkeypatch, caplog)


def test_a_full_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    assert cache_directory() is not None
    monkeypatch.setattr(os, "replace", fail)
    assert run_anew() and run_anew()
    assert not files(home) and not list(home.rglob(".writing-*"))


def test_old_versions_are_removed_after_a_season(home: Path) -> None:
    old, young = home / ("0" * 16), home / ("1" * 16)
    foreign = [home / "notes", home / "sixteen-letters."]
    long_ago = (time.time() - 100 * 86400,) * 2
    for directory in (old, young, *foreign):
        directory.mkdir(parents=True)
        (directory / "kernel.bin").write_bytes(b"")
        (directory / ".writing-0123").write_bytes(b"")
        os.utime(directory / ".writing-0123", long_ago)
    for directory in (old, *foreign):
        os.utime(directory, long_ago)
    cache_directory()
    assert not old.exists() and young.exists()
    assert all(len(list(directory.iterdir())) == 2 for directory in foreign)


def test_what_a_killed_process_left_is_removed_after_a_day(home: Path) -> None:
    run_anew()
    left = [files(home)[0].parent / f".writing-{age}" for age in ("old", "young")]
    for file in left:
        file.write_bytes(b"")
    os.utime(left[0], (time.time() - 90000,) * 2)
    cache_directory.cache_clear()
    cache_directory()
    assert [file.exists() for file in left] == [False, True]
    assert not run_anew()


def test_any_change_of_a_source_is_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hash_of(package: Path) -> str:
        monkeypatch.setattr(kernel_module, "_PACKAGE", package)
        return str(source_hash.__wrapped__())

    original = Path(hornbeam.__file__).parent
    copied = tmp_path / "hornbeam"
    shutil.copytree(original, copied, ignore=shutil.ignore_patterns("__pycache__"))
    assert hash_of(copied) == hash_of(original)
    seen = {hash_of(copied)}
    for name in ("kernels/grow.py", "runtime/atomics.py", "dtypes.py", "criteria.py"):
        with (copied / name).open("a") as file:
            file.write("# a comment\n")
        seen.add(hash_of(copied))
    (copied / "kernels" / "new.py").write_text("")
    seen.add(hash_of(copied))
    monkeypatch.setattr(kernel_module, "BOUNDS_CHECK", not kernel_module.BOUNDS_CHECK)
    seen.add(hash_of(copied))
    assert len(seen) == 7


def test_the_notice_comes_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for quiet, count in (("1", 0), ("0", 1), ("", 1)):
        monkeypatch.setenv("HORNBEAM_QUIET", quiet)
        monkeypatch.setattr(kernel_module, "_notice", kernel_module._Notice())
        for factor in (2.0, 3.0):
            specialise(scaled(factor), None)(np.ones(1))
        printed = capsys.readouterr()
        assert printed.err.count("hornbeam: compiling") == count
        assert printed.out == ""


def test_many_threads_compile_one_kernel(home: Path) -> None:
    shared = kernel(add_up)
    results: list[float] = []
    threads = [threading.Thread(target=lambda: results.append(shared(VALUES))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [10.0] * 8


# --- the real kernels, in processes of their own ------------------------------------------------

FIT = """
import json
import numpy as np
import hornbeam as hb
from hornbeam.runtime import companion
from hornbeam.runtime.kernel import compile_times

companion._can_help = lambda: False  # all kernels are to be compiled in this process
X = np.random.default_rng(0).normal(size=(200, 3))
tree = hb.DecisionTreeClassifier(random_state=0, n_jobs=2).fit(X, X[:, 0] > X[:, 1])
right = float(np.mean(tree.predict(X) == (X[:, 0] > X[:, 1])))
print(json.dumps([tree.digest(), right, sorted(compile_times())]))
"""


TINY = """
import json
import sys
import time
from hornbeam.runtime.kernel import compile_times, kernel

def one_more(x):
    return x + 1

while time.time() < float(sys.argv[1]):  # so that all start at once
    time.sleep(0.001)
print(json.dumps([kernel(one_more)(41), 1.0, sorted(compile_times())]))
"""


def start(root: Path, code: str, *arguments: str, quiet: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "HORNBEAM_CACHE_DIR": str(root), "HORNBEAM_QUIET": quiet},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[Any, list[str], str]:
    """Result, names of the compiled kernels, and what was printed to stderr."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    result, right, compiled = json.loads(out)
    assert right == 1.0
    return result, compiled, err


def test_processes_that_compile_at_once(tmp_path: Path) -> None:
    soon = str(time.time() + 5)
    processes = [start(tmp_path, TINY, soon, quiet="1") for _ in range(3)]
    assert [finish(process)[0] for process in processes] == [42] * 3
    assert len(files(tmp_path)) == 1 and not list(tmp_path.rglob(".writing-*"))
    assert finish(start(tmp_path, TINY, soon)) == (42, [], "")


AS_ROOT = """
from hornbeam.runtime.kernel import compile_times, kernel

def another(x):
    return x * 2

kernel(another)(1)  # all that is needed is imported now
"""
AS_NOBODY = f"""
{AS_ROOT}
import os
from hornbeam.runtime.kernel import cache_directory
cache_directory.cache_clear()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root to change users")
def test_what_root_compiled_others_read() -> None:
    """As in an image that root builds and somebody else runs."""
    with tempfile.TemporaryDirectory() as folder:  # nobody may look into pytest's
        os.chmod(folder, 0o755)
        root = Path(folder) / "cache"
        first = start(root, AS_ROOT + TINY, "0", quiet="1")
        assert finish(first) == (42, ["__main__.another", "__main__.one_more"], "")
        for path in (root, *root.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        assert finish(start(root, AS_NOBODY + TINY, "0")) == (42, [], "")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, list[str], str]]:
    """A cache that one process has filled, and what that process said."""
    root = tmp_path_factory.mktemp("compiled")
    return root, finish(start(root, FIT))


def test_a_second_process_compiles_nothing(compiled: Any) -> None:
    root, (digest, kernels, printed) = compiled
    assert "driver.drive" in kernels and "traverse.find_leaves" in kernels
    assert printed.count("hornbeam: compiling for this machine") == 1
    assert finish(start(root, FIT)) == (digest, [], "")


def test_a_cache_in_ruins(compiled: Any, tmp_path: Path) -> None:
    """Every file damaged, each in another way: the same result, compiled again."""
    root, (digest, kernels, _) = compiled
    ruined = tmp_path / "ruined"
    shutil.copytree(root, ruined)
    ways = list(DAMAGE.values())
    for number, file in enumerate(files(ruined)):
        file.write_bytes(ways[number % len(ways)](file.read_bytes()))
    again = finish(start(ruined, FIT, quiet="1"))
    assert again == (digest, kernels, "")
    assert finish(start(ruined, FIT)) == (digest, [], "")


@pytest.mark.parametrize("thread", [False, True], ids=["main thread", "another thread"])
def test_ctrl_c_while_a_kernel_is_compiled_is_not_lost(
    home: Path, monkeypatch: pytest.MonkeyPatch, thread: bool
) -> None:
    """Raised in a callback of LLVM it would be printed and ignored."""
    load = kernel_module.KernelCache.load_overload
    finished = []

    def load_and_press(cache: Any, sig: Any, target_context: Any) -> Any:
        if not thread:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        result = load(cache, sig, target_context)
        finished.append(True)
        return result

    monkeypatch.setattr(kernel_module.KernelCache, "load_overload", load_and_press)

    @kernel
    def twice(x):
        return 2.0 * x

    if thread:
        worker = threading.Thread(target=twice, args=(1.0,))
        worker.start()
        worker.join()
    else:
        with pytest.raises(KeyboardInterrupt):
            twice(1.0)
    assert finished and len(twice.overloads) == 1, "it was compiled first"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert twice(3.0) == 6.0


LOCKS_OF_THE_MAIN_THREAD = """
import sys
import numpy as np
import hornbeam as hb

X = np.random.default_rng(0).normal(size=(200, 4))
y, few, taken = X[:, 0], {"n_estimators": 2, "random_state": 0}, set()
classes = (y > 0).astype(int)

def watch(frame, event, value):
    code = frame.f_code
    if "llvmlite" in code.co_filename or code.co_filename.endswith("compiler_lock.py"):
        if code.co_name in ("__enter__", "acquire"):
            taken.add(code.co_filename)

def lopsided(y, score):
    return (y - score) ** 2 if score < y else 2.0 * (y - score) ** 2

for name in hb.__all__:
    getattr(hb, name)  # others import as they like
sys.settrace(watch)
for _ in range(2):
    models = [
        hb.DecisionTreeClassifier().fit(X, classes),
        hb.C45Classifier().fit(X, classes),
        hb.RandomForestRegressor(**few).fit(X, y),
        hb.IsolationForest(contamination=0.1, **few).fit(X),
        hb.GradientBoostingClassifier(**few).fit(X, classes),
        hb.GradientBoostingRegressor(loss=lopsided, **few).fit(X, y),
        hb.BaggingRegressor(hb.DecisionTreeRegressor(), **few).fit(X, y),
    ]
    for model in models:
        model.predict(X)
sys.settrace(None)
print(sorted(taken))
"""


def test_the_main_thread_takes_no_lock_of_the_compiler() -> None:
    """Only the main thread can be interrupted, and they take their locks in Python code.

    An alarm between taking one and using it would let every other thread wait for ever.
    """
    command = [sys.executable, "-W", "ignore", "-c", LOCKS_OF_THE_MAIN_THREAD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "[]\n", done.stderr


WITHOUT_COMPILING = """
import numba
import numpy as np
import hornbeam as hb

X, y = np.arange(60.0).reshape(-1, 2), np.arange(30) % 2
few = {"n_estimators": 2, "random_state": 0}
models = [
    hb.DecisionTreeClassifier(), hb.RandomForestRegressor(**few), hb.C45Classifier(),
    hb.GradientBoostingRegressor(learning_rate=0.1, **few), hb.IsolationForest(**few),
]
for model in models:
    print(model.fit(X, y).digest(), len(model.predict(X)))
function = numba.njit(lambda x: x)
print(hasattr(function, "py_func"))
"""


def test_kernels_are_compiled_where_numba_is_told_not_to() -> None:
    """People switch it off to debug code of their own, and it stays off for that."""
    said = []
    for setting in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": setting}
        command = [sys.executable, "-c", WITHOUT_COMPILING]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        said.append(result.stdout.split())
    assert said[0][:-1] == said[1][:-1]
    assert [words[-1] for words in said] == ["True", "False"]


def test_the_notice_of_compiling_needs_nobody_to_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HORNBEAM_QUIET", raising=False)
    with open(os.devnull, "w") as closed:
        pass
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        notice = kernel_module._Notice()
        notice.announce("oak")
        assert notice._count == 1
