#!/bin/sh
# Build a release into dist/ and check it: release.sh vX.Y.Z. Nothing is published, and nothing is tagged.
#
# The wheel is one for all machines; it is installed with the hash-checked pins of requirements/runtime.txt into an
# environment of its own (build/release), which runs a suite outside of the checkout.
set -eu
cd "$(dirname "$0")/.."

# Settings of the surroundings that would send pip elsewhere, or Python to other packages.
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_NO_BINARY PIP_REQUIRE_HASHES
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

fail() {
    printf 'rankbench: %s\n' "$@" >&2
    exit 1
}

[ $# -eq 1 ] || fail "which release? sh scripts/release.sh vX.Y.Z"
version=$(.venv/bin/python -m hatchling version)
[ "$1" = "v$version" ] || fail "the tag is $1, and pyproject.toml has the version $version"
grep -qx "version: $version" CITATION.cff || fail "CITATION.cff has another version than $version"
grep -qE "^## \[$version\] - 20[0-9]{2}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md ||
    fail "CHANGELOG.md has no heading '## [$version] - DATE': the day of the release is missing"

rm -rf dist build/release
RANKBENCH_PURE_WHEEL=1 .venv/bin/python -m hatchling build
.venv/bin/python -m venv build/release
build/release/bin/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements/runtime.txt
build/release/bin/python -m pip install --quiet --no-index --no-deps dist/*.whl

outside=$(mktemp -d)
trap 'rm -rf "$outside"' EXIT
rankbench=$(pwd -P)/build/release/bin/rankbench
cd "$outside"
"$rankbench" run --suite demo --reps 2 --out run
"$rankbench" report run --out published >/dev/null
"$rankbench" verify published
"$rankbench" aggregate llmfao --format csv --out ranking.csv
echo "rankbench: $1 is built and checked: dist/"
