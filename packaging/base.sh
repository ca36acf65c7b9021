#!/bin/sh
# Builds the release binary of the commit $1 in a git worktree and prints the binary's path.
# Both stay in target/base/<commit>: a second call builds nothing. Cargo takes crates of one name in two worktrees for
# the same crate, so the build has a target folder of its own, which goes afterwards.
set -eu
cd "$(dirname "$0")/.."

[ -n "${1:-}" ] || { echo 'which commit? For example: make bench-compare BASE=HEAD~1' >&2; exit 2; }
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "no commit is called $1" >&2; exit 2; }

folder=$PWD/target/base/$commit
binary=$folder/ferroute
if [ ! -e "$binary" ]; then
    packaging/ahead.sh "$binary" 9 2400 "$1"
    # Forgets worktrees that `make clean` has removed.
    git worktree prune
    [ -e "$folder/tree/.git" ] || git worktree add --quiet --detach "$folder/tree" "$commit"
    (cd "$folder/tree" && cargo build --locked --release --package ferroute --target-dir "$folder/target" >&2)
    cp "$folder/target/release/ferroute" "$binary.new"
    mv "$binary.new" "$binary"
    rm -rf "$folder/target"
fi
printf '%s\n' "$binary"
