#!/bin/bash
# What takes hours: 10,000 kills, libFuzzer on every reader of foreign bytes, Miri on unsafe code, and
# rounds of all tests with more cases of the random ones in each.
#
# KILLS (10000) and FUZZ_SECONDS (60, per target) bound theirs. Rounds begin until HOURS (8) have
# passed since the start; there is one in any case, and what has begun is finished. Every random test
# prints the case that failed, and libFuzzer leaves the input in fuzz/artifacts; the first failure
# ends it.
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${KILLS:-10000}
fuzz_seconds=${FUZZ_SECONDS:-60}
until=$((SECONDS + ${HOURS:-8} * 3600))

# What was skipped was not tested, for hours or not.
mkdir -p target
export FERROUTE_SKIPS=$PWD/target/skips
: >"$FERROUTE_SKIPS"

part() {
    part=$1
    printf '\n== %s\n' "$part"
}

at_exit() {
    local status=$?
    printf '\n'
    sort -u "$FERROUTE_SKIPS"
    if [ "$status" = 0 ]; then
        printf 'all well, after %d s; kills: %s, fuzz targets: %d, rounds: %d\n' \
            "$SECONDS" "$kills" "${#targets[@]}" "$round"
    else
        printf 'FAILED, after %d s: %s\n' "$SECONDS" "$part"
    fi
}
part='to begin'
trap at_exit EXIT

# Of what is delivered: it is killed where a user's would be.
part "$kills kills"
FERROUTE_KILLS=$kills cargo test --locked --release -p ferroute --test netns -- kill

# All at once, so that one that does not build is known of before the others take their time.
part 'build the fuzz targets'
cargo +nightly fuzz build
targets=(fuzz/fuzz_targets/*.rs)
for target in "${targets[@]}"; do
    name=$(basename "$target" .rs | tr _ -)
    part "fuzz $name"
    # What it finds out goes to a folder of its own; the corpus in the repository stays small.
    mkdir -p "target/fuzz-corpus/$name"
    cargo +nightly fuzz run "$name" "target/fuzz-corpus/$name" "fuzz/corpus/$name" -- \
        -max_total_time="$fuzz_seconds" -max_len=4096 -verbosity=0 -print_final_stats=1
done

# It interprets, a thousand times slower, and knows no assembly: memory and frames, by the baseline.
part 'Miri'
MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 \
    cargo +nightly miri test --locked -p kernels -p frame --lib -- \
    region:: zeroed:: every_level_compares pool:: vector:: fragment:: segment::
# With each seed, loads see other old values of those that their orderings allow.
MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-many-seeds=0..16' \
    cargo +nightly miri test --locked -p dataplane --lib -- nobody_holds_what_comes_back

# The build of `make test`, because a release checks neither assertions nor overflows. As many cases may
# be rejected as where their number is the usual one.
round=0
while [ "$round" = 0 ] || [ "$SECONDS" -lt "$until" ]; do
    round=$((round + 1))
    cases=$((round * 4096))
    part "round $round: $cases cases"
    PROPTEST_CASES=$cases PROPTEST_MAX_GLOBAL_REJECTS=$((cases * 4)) \
        cargo test --locked --workspace
done
