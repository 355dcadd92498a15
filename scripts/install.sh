#!/bin/sh
# Make .venv hold exactly the pinned packages and ourselves; do nothing if it already does.
#
# PYTHON=python3.12 chooses the interpreter. Nothing outside .venv is written, apart from pip's own cache.
set -eu
cd "$(dirname "$0")/.."

# Settings of the surroundings that would send pip elsewhere, or Python to other packages.
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_NO_BINARY PIP_REQUIRE_HASHES
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

venv=.venv
python=$venv/bin/python

fail() {
    printf 'rankbench: %s\n' "$@" >&2
    exit 1
}

# ready | no-venv | old, and the version; nothing if it is not a working Python.
probe() {
    "$1" - 2>/dev/null <<'PY' || true
import sys
version = "%d.%d" % sys.version_info[:2]
if sys.version_info < (3, 11):
    print("old " + version)
else:
    try:
        import ensurepip, venv
        print("ready " + version)
    except ImportError:
        print("no-venv " + version)
PY
}

# Sets $base to the first Python that can make a virtual environment, or explains and leaves.
choose_python() {
    base='' lacking='' old=''
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3 python3.13 python3.12 python3.11 python3.14 python
    fi
    for candidate; do
        answer=$(probe "$candidate")
        case $answer in
            ready*) base=$candidate && return ;;
            no-venv*) lacking=${lacking:-"$candidate ${answer#* }"} ;;
            old*) old=${old:-"$candidate is Python ${answer#* }"} ;;
        esac
    done
    if [ -n "$lacking" ]; then
        version=${lacking##* }
        fail "${lacking% *} (Python $version) has no venv module." \
            "Install it: on Debian and Ubuntu 'apt install python$version-venv' (or python3-venv)," \
            "or name another Python: PYTHON=/path/to/python3 make install"
    fi
    [ -z "$old" ] || fail "$old; rankbench needs Python 3.11 or newer." \
        "Name one: PYTHON=python3.12 make install"
    fail "no working Python${PYTHON:+ called '$PYTHON'} was found; rankbench needs Python 3.11 or newer, with venv." \
        "Name one: PYTHON=/path/to/python3 make install"
}

# Which interpreter a Python belongs to; the same for it and for its virtual environments.
identity() {
    "$1" -c 'import sys; print(sys.base_prefix, sys.version)' 2>/dev/null || true
}

# Whether .venv is whole, was made here (scripts and editable installs hold its path), and by the Python asked for.
venv_is_sound() {
    [ ! -e "$venv/.installing" ] || return 1
    "$python" -c 'import importlib.util as u, sys; sys.exit(sys.version_info < (3, 11) or not u.find_spec("pip"))' \
        2>/dev/null || return 1
    [ -z "${PYTHON:-}" ] || [ "$(identity "$PYTHON")" = "$(identity "$python")" ] || return 1
    [ ! -e "$venv/.made-in" ] || [ "$(cat "$venv/.made-in")" = "$(pwd -P)" ] || return 1
}

if ! venv_is_sound; then
    choose_python
    [ ! -e "$venv" ] || echo "rankbench: .venv is unfinished, moved or of another Python: making it again"
    echo "rankbench: making .venv with $base ($(probe "$base" | cut -d' ' -f2))"
    rm -rf "$venv"
    "$base" -m venv "$venv" || fail "'$base -m venv .venv' failed (see above)."
    pwd -P >"$venv/.made-in"
fi

key=$({
    cat requirements/dev.txt requirements/without-deps.txt pyproject.toml plugins/*/pyproject.toml 2>/dev/null || true
    identity "$python"
} | cksum | tr -s ' \t' '-')
stamp=$venv/.installed-$key
if [ -e "$stamp" ]; then
    echo "rankbench: .venv is up to date"
    exit 0
fi

quiet=--quiet
if [ -t 1 ]; then
    quiet=
fi
echo "rankbench: installing the packages pinned in requirements/dev.txt into .venv"
rm -f "$venv"/.installed-*
touch "$venv/.installing"
# Wheels only: building from source would fetch build tools that no hash covers.
"$python" -m pip install $quiet --require-hashes --only-binary :all: -r requirements/dev.txt ||
    fail "pip could not install the pinned packages (see above)." \
        "Without a network, put pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS) to a mirror: the hashes stay valid." \
        "'No matching distribution' means that a package has no wheel for this Python or platform; README.md lists" \
        "those that have, PYTHON=python3.12 make install chooses another Python."
"$python" -m pip install $quiet --require-hashes --only-binary :all: --no-deps -r requirements/without-deps.txt ||
    fail "pip could not install the packages of requirements/without-deps.txt (see above)."
rm -f "$venv/.installing"

set -- -e .
for plugin in plugins/*/; do
    [ ! -f "${plugin}pyproject.toml" ] || set -- "$@" -e "$plugin"
done
echo "rankbench: installing rankbench itself, editable"
"$python" -m pip install $quiet --no-index --no-deps --no-build-isolation "$@" ||
    fail "pip could not install rankbench from this checkout (see above)."

touch "$stamp"
echo "rankbench: ready, see .venv/bin/rankbench --help"
