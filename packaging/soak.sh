#!/bin/bash
# What takes hours: 10,000 kills, libFuzzer on every reader of foreign bytes, and rounds of the
# random tests with many more cases.
#
# HOURS (8), KILLS (10000) and FUZZ_SECONDS (60, per target) bound it. Every random test prints the
# seed of a failure, and libFuzzer leaves the input in fuzz/artifacts; the first failure ends it.
set -euo pipefail
cd "$(dirname "$0")/.."

hours=${HOURS:-8}
until=$(($(date +%s) + hours * 3600))

# What was skipped was not tested, for hours or not.
mkdir -p target
export FERROUTE_SKIPS=$PWD/target/skips
: >"$FERROUTE_SKIPS"
trap 'sort -u "$FERROUTE_SKIPS"' EXIT

printf '== %s kills\n' "${KILLS:-10000}"
FERROUTE_KILLS=${KILLS:-10000} cargo test --locked --release -p ferroute --test netns -- kill

for target in fuzz/fuzz_targets/*.rs; do
    name=$(basename "$target" .rs | tr _ -)
    printf '== fuzz %s\n' "$name"
    # What it finds out goes to a folder of its own; the corpus in the repository stays small.
    mkdir -p "target/fuzz-corpus/$name"
    cargo +nightly fuzz run "$name" "target/fuzz-corpus/$name" "fuzz/corpus/$name" -- \
        -max_total_time="${FUZZ_SECONDS:-60}" -max_len=4096
done

round=0
while [ "$(date +%s)" -lt "$until" ]; do
    round=$((round + 1))
    printf '== round %d\n' "$round"
    PROPTEST_CASES=$((round * 4096)) cargo test --locked --release --workspace
done
