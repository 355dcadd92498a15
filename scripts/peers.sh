#!/bin/sh
# Make build/peers: an environment with the hash-checked peers of requirements/peers.txt, rankbench and the plugin
# rankbench-peers.
set -eu
cd "$(dirname "$0")/.."

# Settings of the surroundings that would send pip elsewhere.
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_NO_BINARY PIP_REQUIRE_HASHES
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

peers=build/peers
wanted=$(cat requirements/peers.txt pyproject.toml plugins/rankbench-peers/pyproject.toml | cksum)
if [ ! -x "$peers/bin/python" ] || [ "$(cat "$peers/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$peers"
    .venv/bin/python -m venv "$peers"
    "$peers/bin/python" -m pip install --quiet --require-hashes --only-binary :all: -r requirements/peers.txt
    "$peers/bin/python" -m pip install --quiet --no-index --no-deps --no-build-isolation \
        -e . -e plugins/rankbench-peers
    echo "$wanted" >"$peers/installed"
fi
