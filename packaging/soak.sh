#!/bin/bash
# The tests of `make test` for hours: HOURS of rounds, each with other seeds and many more cases.
#
# Every random test prints the seed of a failure; the first failing round ends the soak.
set -euo pipefail
cd "$(dirname "$0")/.."

hours=${HOURS:-8}
until=$(($(date +%s) + hours * 3600))

printf '== 10,000 kills\n'
FERROUTE_KILLS=${KILLS:-10000} cargo test --locked --release -p ferroute --test netns -- kill

round=0
while [ "$(date +%s)" -lt "$until" ]; do
    round=$((round + 1))
    printf '== round %d\n' "$round"
    PROPTEST_CASES=$((round * 4096)) cargo test --locked --release --workspace
done
