#!/bin/sh
# Says how long a first build takes and how much disk, before it begins; silent when there was one.
# $1 is a file that is there after it, $2 minutes on two cores, $3 megabytes, $4 what it is for.
set -eu
cd "$(dirname "$0")/.."

file=$1 minutes=$2 megabytes=$3 what=$4
[ ! -e "$file" ] || exit 0

folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"
cores=$(nproc)
# What is compiled last is one long chain: more than eight cores win little.
[ "$cores" -le 8 ] || cores=8
printf '%s: the first time takes about %d min on this machine (%d cores), and %d MB in %s\n' \
    "$what" $(((minutes * 2 + cores - 1) / cores)) "$(nproc)" "$megabytes" "$folder" >&2

free=$(($(df -Pk "$folder" | awk 'NR == 2 { print $4 }') / 1024))
[ "$free" -ge "$megabytes" ] || printf '%s: only %d MB are free there\n' "$what" "$free" >&2
