#!/bin/sh
# Make build/peers: an environment with the hash-checked peers of requirements/peers.txt, and nothing of ours.
set -eu
cd "$(dirname "$0")/.."

peers=build/peers
if [ ! -x "$peers/bin/python" ] || ! cmp -s requirements/peers.txt "$peers/installed.txt"; then
    rm -rf "$peers"
    .venv/bin/python -m venv "$peers"
    "$peers/bin/python" -m pip install --quiet --require-hashes --only-binary :all: -r requirements/peers.txt
    cp requirements/peers.txt "$peers/installed.txt"
fi
