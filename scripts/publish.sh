#!/bin/sh
# Run suites and put what readers need of them into leaderboards/: publish.sh SUITE[@DATASET]... [-- RUN-ARGUMENTS]
#
# A suite on another data set than its own goes to leaderboards/SUITE-DATASET. Real data that may not be shipped is
# looked for in RANKBENCH_DATA; without it such a page is left as it is, and said so. Suites of rankbench-peers run in
# build/peers, which has the libraries that they compare.
set -eu
cd "$(dirname "$0")/.."
# Rankbench chooses the BLAS kernels for this processor; an inherited choice of others would change last digits.
unset OPENBLAS_CORETYPE

pages=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    pages="$pages $1"
    shift
done
[ $# -eq 0 ] || shift

for page in $pages; do
    suite=${page%@*}
    name=$suite
    dataset=
    if [ "$page" != "$suite" ]; then
        dataset=${page#*@}
        name=$suite-$dataset
        if [ ! -e "${RANKBENCH_DATA:-}/$dataset" ]; then
            echo "rankbench: leaderboards/$name stays as it is: no $dataset in the folder that RANKBENCH_DATA names" >&2
            continue
        fi
    fi
    # Without the logs that may not be shipped it would be another page.
    if [ "$suite" = public-logs ] && [ ! -e "${RANKBENCH_DATA:-}/logs" ]; then
        echo "rankbench: leaderboards/$name stays as it is: no logs in the folder that RANKBENCH_DATA names" >&2
        continue
    fi
    rankbench=.venv/bin/rankbench
    case $suite in peers*)
        sh scripts/peers.sh
        rankbench=build/peers/bin/rankbench
        ;;
    esac
    $rankbench run --suite "$suite" ${dataset:+--dataset "$dataset"} --out "runs/$name" "$@"
    $rankbench report "runs/$name" --out "leaderboards/$name" >/dev/null
done
