#!/bin/sh
# Compile requirements/*.txt: exact versions with the hashes of every file of a release, for every platform.
#
# Keeps the versions that are pinned already; `make pins ARGS=--upgrade` takes the newest, ARGS='--upgrade-package
# polars' those of one package. The files name no index and no folder, whatever this machine's settings are.
set -eu
cd "$(dirname "$0")/.."

tools=build/pins
# Without ourselves and our requirements in the way: uv alone, and hash-checked as everything else is.
if [ ! -x "$tools/bin/uv" ] || ! cmp -s requirements/pins.txt "$tools/installed.txt"; then
    rm -rf "$tools"
    .venv/bin/python -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --require-hashes --only-binary :all: -r requirements/pins.txt
    cp requirements/pins.txt "$tools/installed.txt"
fi

unset UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_DEFAULT_INDEX UV_FIND_LINKS UV_CONSTRAINT UV_OVERRIDE \
    UV_EXCLUDE_NEWER UV_PRERELEASE UV_RESOLUTION
compile() {
    output=$1
    shift
    echo "compiling $output"
    "$tools/bin/uv" pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
        --only-binary :all: --no-header --no-emit-index-url --no-emit-find-links --no-emit-build-options \
        --output-file "$output" "$@"
}
compile requirements/runtime.txt pyproject.toml "$@"
compile requirements/dev.txt pyproject.toml requirements/dev.in --constraint requirements/runtime.txt "$@"
compile requirements/pins.txt requirements/pins.in "$@"
compile requirements/peers.txt pyproject.toml requirements/peers.in --constraint requirements/dev.txt "$@"
compile requirements/docs.txt requirements/docs.in --constraint requirements/dev.txt "$@"
compile requirements/browser.txt requirements/browser.in --constraint requirements/dev.txt "$@"
compile requirements/elsewhere.txt requirements/elsewhere.in --no-emit-package numpy "$@"
compile requirements/without-deps.txt requirements/without-deps.in --no-deps "$@"
