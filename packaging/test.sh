#!/bin/bash
# Runs all tests; at the end prints the result line of each test binary and all skipped tests.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

mkdir -p target
log=$PWD/target/test.log
export FERROUTE_SKIPS=$PWD/target/skips
: >"$FERROUTE_SKIPS"

# Incremental compilation would store 4 GB that no later build here uses.
export CARGO_INCREMENTAL=0

# Most namespace tests wait for events, so more tests than cores can run at a time.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}

cargo test --locked --workspace --no-fail-fast "$@" 2>&1 | tee "$log"
status=$?

printf '\n== tests\n'
# A result line does not contain the name of its test binary: the name is in an earlier line.
awk '/^ +Running |^ +Doc-tests / { name = ($1 == "Running") ? $(NF > 2 && $2 == "unittests" ? 4 : 3) : $2 " (docs)"
                                  sub(/^\(.*\//, "", name); sub(/-[0-9a-f]+\)$/, "", name) }
     /^test result:/ && !/ 0 passed; 0 failed; 0 ignored/ { printf "%-24s %s\n", name, $0 }' "$log"
# Each failed test with the first lines of its output, which have the panic, and the last ones, which have the logs.
awk '/^---- .* stdout ----$/ { show(); name = $2; count = 0; next }
     /^failures:$/ { show(); next }
     name { lines[count++] = substr($0, 1, 400) }
     function show(   i) {
         if (name) print "failed: " name
         for (i = 0; name && i < count; i++) if (i < 20 || i >= count - 20) print "    " lines[i]
         name = ""
     }' "$log"
awk '/^test result:/ { for (i = 2; i < NF; i++) { if ($(i + 1) ~ /^passed/) p += $i; if ($(i + 1) ~ /^failed/) f += $i } }
     END { printf "%-24s %d passed; %d failed\n", "all", p, f }' "$log"
sort -u "$FERROUTE_SKIPS"
exit "$status"
