#!/bin/sh
# Builds the release binary of the commit $1 in a git worktree and prints the binary's path.
# Worktree and binary stay in target/base/<commit>, so a second call builds nothing. The build has a separate target
# folder, removed afterwards: in a shared one Cargo would confuse the crates of the two worktrees.
set -eu
cd "$(dirname "$0")/.."

[ -n "${1:-}" ] || { echo 'which commit? For example: make bench-compare BASE=HEAD~1' >&2; exit 2; }
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "no commit is called $1" >&2; exit 2; }

folder=$PWD/target/base/$commit
binary=$folder/ferroute
if [ ! -e "$binary" ]; then
    packaging/ahead.sh "$binary" 9 2400 "$1"
    # Removes git's records of worktrees that `make clean` has deleted.
    git worktree prune
    [ -e "$folder/tree/.git" ] || git worktree add --quiet --detach "$folder/tree" "$commit"
    (cd "$folder/tree" && cargo build --locked --release --package ferroute --target-dir "$folder/target" >&2)
    cp "$folder/target/release/ferroute" "$binary.new"
    mv "$binary.new" "$binary"
    rm -rf "$folder/target"
fi
printf '%s\n' "$binary"
