"""`scripts/install.sh` with an interpreter that makes a hollow .venv and writes down what pip is asked to do."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = [
    pytest.mark.lint,
    pytest.mark.skipif(os.name == "nt" or not shutil.which("sh"), reason="needs a POSIX shell"),
]

# Answers as the real interpreter does, after PRELUDE; `-m venv` and `-m pip` are played.
INTERPRETER = """#!/bin/sh
case "$1 $2" in
    "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit ;;
    "-m pip") shift 2; echo "$*" >>"$COMMANDS"; exit "${PIP_EXIT:-0}" ;;
esac
exec {python} -c '
import sys
{prelude}
exec(sys.stdin.read() if sys.argv[1] == "-" else sys.argv[2])
' "$@"
"""

HIDE_ENSUREPIP = """
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name == "ensurepip":
            raise ImportError(name)
sys.meta_path.insert(0, Hide())
"""


def interpreter(path: Path, prelude: str = "") -> Path:
    path.write_text(INTERPRETER.replace("{python}", f'"{sys.executable}"').replace("{prelude}", prelude))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a checkout"
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def install(checkout: Path, tmp_path: Path) -> Callable[..., tuple[int, str, list[str]]]:
    """Run the script; return its exit code, its output and the pip commands that it gave."""

    def run(python: Path | str, folder: Path = checkout, **more: str) -> tuple[int, str, list[str]]:
        log = tmp_path / "pip.log"
        log.unlink(missing_ok=True)
        environment = os.environ | {"PYTHON": str(python), "COMMANDS": str(log)} | more
        done = subprocess.run(
            ["sh", "scripts/install.sh"], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr, log.read_text().splitlines() if log.exists() else []

    return run


@pytest.fixture
def python(tmp_path: Path) -> Path:
    (tmp_path / "a folder").mkdir()
    return interpreter(tmp_path / "a folder" / "python3")


def stamps(folder: Path) -> list[Path]:
    return list((folder / ".venv").glob(".installed-*"))


def test_three_stages_then_nothing_to_do(install, checkout: Path, python: Path) -> None:
    """Plugins are installed beside ourselves."""
    for name in ("one", "two"):
        (checkout / "plugins" / name).mkdir(parents=True)
        (checkout / "plugins" / name / "pyproject.toml").write_text("[project]\n")
    (checkout / "plugins" / "not-a-package").mkdir()
    code, _, commands = install(python)
    assert code == 0
    third_party, alone, ours = commands
    for pinned in (third_party, alone):
        assert "--require-hashes" in pinned
        assert "--only-binary :all:" in pinned
    assert "-r requirements/dev.txt" in third_party
    assert "--no-deps" not in third_party
    assert "--no-deps -r requirements/without-deps.txt" in alone
    assert ours.endswith("--no-deps --no-build-isolation -e . -e plugins/one/ -e plugins/two/")
    assert len(stamps(checkout)) == 1

    code, output, commands = install(python)
    assert (code, commands) == (0, [])
    assert "up to date" in output


@pytest.mark.parametrize("edited", ["requirements/dev.txt", "requirements/without-deps.txt", "pyproject.toml"])
def test_an_edit_installs_again_in_place(install, checkout: Path, python: Path, edited: str) -> None:
    install(python)
    (checkout / ".venv" / "added-by-somebody").touch()
    with (checkout / edited).open("a") as file:
        file.write("# edited\n")
    _, _, commands = install(python)
    assert len(commands) == 3
    assert (checkout / ".venv" / "added-by-somebody").exists()
    assert len(stamps(checkout)) == 1
    assert install(python)[2] == []


@pytest.mark.parametrize("damage", ["empty", "killed", "no interpreter"])
def test_a_half_made_environment_is_made_again(install, checkout: Path, python: Path, damage: str) -> None:
    install(python)
    venv = checkout / ".venv"
    (venv / "old").touch()
    if damage == "empty":
        shutil.rmtree(venv)
        venv.mkdir()
    elif damage == "killed":
        (venv / ".installing").touch()
    else:
        (venv / "bin" / "python").unlink()
    code, output, commands = install(python)
    assert (code, len(commands)) == (0, 3)
    assert "making it again" in output
    assert not (venv / "old").exists()
    assert install(python)[2] == []


def test_another_place_and_another_interpreter_have_environments_of_their_own(
    install, checkout: Path, python: Path, tmp_path: Path
) -> None:
    install(python)
    moved = checkout.rename(checkout.with_name("moved"))
    other = interpreter(tmp_path / "other", prelude='sys.base_prefix = "/another/python"')
    for found in (python, other):
        _, output, commands = install(found, moved)
        assert len(commands) == 3
        assert "making it again" in output
    assert install("", moved)[2] == [], "without PYTHON an environment that is sound stays"


def test_pip_failing_is_an_error_and_no_stamp(install, checkout: Path, python: Path) -> None:
    code, output, commands = install(python, PIP_EXIT="1")
    assert code == 1
    assert len(commands) == 1
    assert "could not install the pinned packages" in output
    assert stamps(checkout) == []
    assert install(python)[0] == 0


@pytest.mark.parametrize(
    ("prelude", "said"),
    [
        (HIDE_ENSUREPIP, [f"python{sys.version_info[0]}.{sys.version_info[1]}-venv", "python3-venv"]),
        ("sys.version_info = (3, 10, 13)", ["is Python 3.10; rankbench needs Python 3.11 or newer"]),
        (None, ["python-of-tomorrow"]),
    ],
)
def test_a_python_that_cannot_be_used_is_told(install, checkout: Path, tmp_path: Path, prelude, said) -> None:
    python = "python-of-tomorrow" if prelude is None else interpreter(tmp_path / "other", prelude)
    code, output, commands = install(python)
    assert (code, commands) == (1, [])
    assert all(words in output for words in said)
    assert not (checkout / ".venv").exists()


def test_settings_of_the_surroundings_do_not_lead_pip_astray(install, python: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    spy = python.with_name("spy")
    spy.write_text(python.read_text().replace("shift 2;", f'shift 2; env >>"{seen}";'))
    spy.chmod(python.stat().st_mode)
    install(spy, PIP_TARGET="elsewhere", PIP_USER="1", PYTHONPATH="elsewhere", PIP_REQUIRE_HASHES="1")
    variables = set(seen.read_text().splitlines())
    assert "PIP_USER=0" in variables
    assert not [v for v in variables if v.startswith(("PIP_TARGET=", "PYTHONPATH=", "PIP_REQUIRE_HASHES="))]
