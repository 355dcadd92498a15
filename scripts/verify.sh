#!/bin/sh
# Verify what is published: every folder of leaderboards/ against its rows, and blocks of the suites that take seconds.
#
# A number that changed must be deliberate: `make leaderboards` (or `sh scripts/publish.sh SUITE`) publishes it.
set -u
cd "$(dirname "$0")/.."
unset OPENBLAS_CORETYPE

wrong=0
for list in leaderboards/*/digests.json; do
    [ -e "$list" ] || continue
    folder=${list%/digests.json}
    if [ ! -e "$folder/rows" ] && [ ! -e "$folder-rows" ]; then
        echo "rankbench: $folder: its rows are an asset of the release, and not here: not verified" >&2
        continue
    fi
    case ${folder##*/} in
    after-2013 | arena | u-statistics) again="--rerun 2" ;;
    *) again= ;;
    esac
    # shellcheck disable=SC2086  # two words, or none
    .venv/bin/rankbench verify "$folder" $again || wrong=1
done
[ "$wrong" -eq 0 ] || echo "rankbench: what is published is not what comes out; if it should change: sh scripts/publish.sh SUITE" >&2
exit "$wrong"
