#!/bin/sh
# Prints the expected time and disk space of a first build, before the build begins. Prints nothing later.
# $1: a file that the build creates, $2: minutes on two cores, $3: megabytes, $4: name of the make target or commit.
set -eu
cd "$(dirname "$0")/.."

file=$1 minutes=$2 megabytes=$3 what=$4
[ ! -e "$file" ] || exit 0

folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"
cores=$(nproc)
# The last crates depend on each other and compile one by one: more than eight cores gain little.
[ "$cores" -le 8 ] || cores=8
printf '%s: the first build takes about %d min on this machine (%d cores), and %d MB in %s\n' \
    "$what" $(((minutes * 2 + cores - 1) / cores)) "$(nproc)" "$megabytes" "$folder" >&2

free=$(($(df -Pk "$folder" | awk 'NR == 2 { print $4 }') / 1024))
[ "$free" -ge "$megabytes" ] || printf '%s: only %d MB are free there\n' "$what" "$free" >&2
