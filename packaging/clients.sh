#!/bin/sh
# Puts the Python clients of tests/clients into target/clients, where tests look for them. Quick and
# silent when they are there; needs the network otherwise.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'deps: %s\n' "$*" >&2; }

wanted=tests/clients/requirements.txt
there=target/clients

if cmp -s "$wanted" "$there/requirements.txt"; then
    exit 0
fi
say "installing the Python clients of $wanted into $there"
rm -rf "$there"
mkdir -p target
if ! python3 -m venv "$there"; then
    rm -rf "$there"
    say 'python3 cannot make a virtual environment (Debian: apt-get install python3-venv)'
    exit 1
fi
if ! "$there/bin/pip" --quiet --disable-pip-version-check install \
    --require-hashes --only-binary :all: --requirement "$wanted"; then
    rm -rf "$there"
    say 'that failed'
    exit 1
fi
# Last: what was interrupted is done again.
cp "$wanted" "$there/requirements.txt"
