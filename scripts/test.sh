#!/bin/sh
# The test suite: what can run side by side on every core, then what must run alone (the marker `alone`).
#
# Arguments go to both halves, before what makes them halves: `sh scripts/test.sh tests/stats -k ranks --durations=20`.
# A -m of one's own replaces 'not long and not lint' in both. Fails if a half fails, or if neither has a test to run.
set -eu
cd "$(dirname "$0")/.."

python=.venv/bin/python
no_tests=5 # pytest's exit code
chosen='not long and not lint'
part=

# Takes -m out of the arguments: pytest would believe the last one alone.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
        -m)
            [ "$left" -gt 0 ] || { echo "rankbench: -m wants an expression" >&2; exit 2; }
            chosen=$1
            shift
            left=$((left - 1))
            ;;
        -m?*) chosen=${argument#-m} ;;
        -k* | [!-]*) part=yes; set -- "$@" "$argument" ;;
        *) set -- "$@" "$argument" ;;
    esac
done

# Processes that tests start import rankbench: without bytecode each would compile all of it again.
unset PYTHONDONTWRITEBYTECODE
# As many threads as there are cores are taken by the tests themselves.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

cores=$("$python" -c 'import os
print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)')

half() {
    expression=$1
    shift
    code=0
    "$python" -m pytest --benchmark-skip "$@" -m "$expression" || code=$?
    case $code in
        0) ran=yes ;;
        "$no_tests") ;;
        *) failed=$code ;;
    esac
}

# Processes that start together would compile the same kernels each for itself; a few tests need few.
if [ -z "$part" ]; then
    echo "rankbench: compiling kernels that are not in the cache folder"
    "$python" scripts/kernels.py "$cores"
fi

ran='' failed=''
echo "rankbench: tests side by side, $cores at a time"
half "($chosen) and not alone" --numprocesses "$cores" --dist worksteal "$@"
[ "${failed:-1}" = 1 ] || exit "$failed" # interrupted, or an argument that pytest does not know
echo "rankbench: tests alone"
half "($chosen) and alone" "$@" --numprocesses 0
[ -z "$failed" ] || exit "$failed"
[ -n "$ran" ] || exit "$no_tests"
