#!/bin/bash
# Long tests: 10,000 kills, libFuzzer on all parsers of foreign bytes, Miri on unsafe code, and rounds of all tests with
# an increasing number of random cases.
#
# KILLS (10000) is the number of kills, FUZZ_SECONDS (60) the time per fuzz target. New rounds begin until HOURS (8)
# have passed since the start; at least one round runs, and a round is never interrupted. A failed random test prints
# its case, and libFuzzer saves the input in fuzz/artifacts. The first failure ends the script.
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${KILLS:-10000}
fuzz_seconds=${FUZZ_SECONDS:-60}
until=$((SECONDS + ${HOURS:-8} * 3600))

# Skipped tests are listed at the end.
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

# Uses the release build: kills hit the binary that users run.
part "$kills kills"
FERROUTE_KILLS=$kills cargo test --locked --release -p ferroute --test netns -- kill

# Builds all targets first, so that a compile error appears before hours of fuzzing.
part 'build the fuzz targets'
cargo +nightly fuzz build
targets=(fuzz/fuzz_targets/*.rs)
for target in "${targets[@]}"; do
    name=$(basename "$target" .rs | tr _ -)
    part "fuzz $name"
    # New inputs go to a separate folder, so that the corpus in the repository stays small.
    mkdir -p "target/fuzz-corpus/$name"
    cargo +nightly fuzz run "$name" "target/fuzz-corpus/$name" "fuzz/corpus/$name" -- \
        -max_total_time="$fuzz_seconds" -max_len=4096 -verbosity=0 -print_final_stats=1
done

# Miri interprets a thousand times slower and supports no assembly: only memory and frames, with baseline instructions.
part 'Miri'
MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 \
    cargo +nightly miri test --locked -p kernels -p frame --lib -- \
    region:: zeroed:: every_level_compares pool:: vector:: fragment:: segment::
# Each seed makes atomic loads return different old values that their ordering permits.
MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-many-seeds=0..16' \
    cargo +nightly miri test --locked -p dataplane --lib -- no_reader_holds_a_reused_item

# Uses the build of `make test`, since a release build checks neither assertions nor overflows. The permitted number of
# rejected cases grows with the number of cases.
round=0
while [ "$round" = 0 ] || [ "$SECONDS" -lt "$until" ]; do
    round=$((round + 1))
    cases=$((round * 4096))
    part "round $round: $cases cases"
    PROPTEST_CASES=$cases PROPTEST_MAX_GLOBAL_REJECTS=$((cases * 4)) \
        cargo test --locked --workspace
done
