"""A package of which one module was imported is whole for whoever else imports it, in whatever order and thread."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from rankbench.lone_modules import lone_functions, lone_module

WHOLE = """
import sys
from rankbench.lone_modules import lone_module
assert "{package}" not in sys.modules
lone = lone_module("{package}", "{module}")
assert "{unneeded}" not in sys.modules
{then}
import {package}
for name in {package}.__all__:
    getattr({package}, name)
assert {package}.{module} is lone
assert "{unneeded}" in sys.modules
assert not hasattr({package}, "no_such_name") and "__getattr__" not in vars({package})
print(sorted(name for name in vars({package}) if not name.startswith("__")))
"""

PLAIN = "import {package}; print(sorted(name for name in vars({package}) if not name.startswith('__')))"

PACKAGES = (
    ("scipy.special", "_ufuncs", "scipy.special._orthogonal", "expit"),
    ("scipy.linalg", "_flapack", "scipy.linalg._basic", "solve"),
)


def printed(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("package", "module", "unneeded", "name"), PACKAGES)
@pytest.mark.parametrize("then", ["", "from {package} import {name}", "from {package} import *", "import scipy.stats"])
def test_a_package_is_whole_when_it_is_asked_for_more(package, module, unneeded, name, then):
    then = then.format(package=package, name=name)
    program = WHOLE.format(package=package, module=module, unneeded=unneeded, then=then)
    found = set(eval(printed(program)))
    plain = set(eval(printed(f"{then}\n{PLAIN}".format(package=package))))
    # What modules of the package others have imported follows from the order.
    assert found >= plain
    assert all(extra.startswith("_") for extra in found - plain)


@pytest.mark.parametrize(
    ("package", "module", "inner"),
    [
        ("scipy.linalg", "_flapack", "blas"),
        ("scipy.linalg", "_flapack", "lapack"),
        ("scipy.linalg", "_flapack", "_basic"),
        ("scipy.special", "_ufuncs", "_basic"),
    ],
)
def test_other_modules_of_a_package_are_imported_after_it(package, module, inner):
    """``scipy.linalg.blas`` asks for a function of its own, and the package that is executed then asks for `blas`."""
    program = f"""
import sys
from rankbench.lone_modules import lone_module
lone_module("{package}", "{module}")
import {package}.{inner}
inner = {package}.{inner}
assert sys.modules["{package}.{inner}"] is inner
print(inner.__spec__.loader.__class__.__name__, {package}.__all__)
"""
    plain = f"""
import {package}.{inner}
inner = {package}.{inner}
print(inner.__spec__.loader.__class__.__name__, {package}.__all__)
"""
    assert printed(program) == printed(plain)


@pytest.mark.parametrize(("package", "module"), [each[:2] for each in PACKAGES])
def test_a_list_of_names_is_whole(package, module):
    program = f"""
from rankbench.lone_modules import lone_module
lone_module("{package}", "{module}")
import {package}
found = dir({package})
assert found == sorted(vars({package})) and "__dir__" not in found
print(set({package}.__all__) <= set(found))
"""
    assert printed(program) == "True\n"


def test_threads_that_want_a_package_at_once_all_find_it_whole():
    program = """
import threading
from rankbench.lone_modules import lone_module
lone_module("scipy.special", "_ufuncs")
import scipy.special
barrier, found = threading.Barrier(8), []
def look(name):
    barrier.wait()
    found.append(getattr(scipy.special, name))
names = ["logsumexp", "softmax", "roots_legendre", "comb", "lambertw", "ellip_harm", "factorial", "zeta"]
threads = [threading.Thread(target=look, args=[name]) for name in names]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(found))
"""
    assert printed(program) == "8\n"


def test_what_is_there_already_is_left_as_it_is():
    import scipy.special

    before = scipy.special.logsumexp
    assert lone_module("scipy.special", "_ufuncs") is scipy.special._ufuncs
    assert scipy.special.logsumexp is before


def test_what_is_not_there_is_an_import_error(tmp_path, monkeypatch):
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        lone_module("no_such_package", "module")
    (tmp_path / "half_a_package").mkdir()
    (tmp_path / "half_a_package" / "__init__.py").write_text("raise ImportError('it is broken')\n")
    (tmp_path / "half_a_package" / "whole.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert lone_module("half_a_package", "whole").number == 1
    for _ in range(2):
        with pytest.raises(ImportError, match="it is broken"):
            importlib.import_module("half_a_package")
    with pytest.raises(ModuleNotFoundError, match="none"):
        lone_module("half_a_package", "none")


@pytest.mark.parametrize(("module", "name"), [("_no_such_module", "expit"), ("_ufuncs", "logsumexp")])
def test_functions_that_a_version_has_elsewhere_are_those_that_everybody_imports(module, name):
    import scipy.special

    assert lone_functions("scipy.special", module, [name], public="scipy.special") == [getattr(scipy.special, name)]
