#!/bin/sh
# Puts the clients of tests/clients into target/clients (Python) and target/clients-node (Node.js),
# where tests look for them. Quick and silent when they are there; needs the network otherwise.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'deps: %s\n' "$*" >&2; }

python_clients() {
    wanted=tests/clients/requirements.txt
    there=target/clients
    cmp -s "$wanted" "$there/requirements.txt" && return
    say "installing the Python clients of $wanted into $there"
    rm -rf "$there"
    mkdir -p target
    if ! python3 -m venv "$there"; then
        rm -rf "$there"
        say 'python3 cannot make a virtual environment (Debian: apt-get install python3-venv)'
        return 1
    fi
    if ! "$there/bin/pip" --quiet --disable-pip-version-check install \
        --require-hashes --only-binary :all: --requirement "$wanted"; then
        rm -rf "$there"
        say 'that failed'
        return 1
    fi
    # Last: what was interrupted is done again.
    cp "$wanted" "$there/requirements.txt"
}

node_clients() {
    wanted=tests/clients/node
    there=target/clients-node
    cmp -s "$wanted/package-lock.json" "$there/installed.json" && return
    say "installing the Node.js clients of $wanted into $there"
    rm -rf "$there"
    mkdir -p "$there"
    cp "$wanted/package.json" "$wanted/package-lock.json" "$there/"
    if ! npm ci --prefix "$there" --ignore-scripts --no-audit --no-fund --silent; then
        rm -rf "$there"
        say 'that failed (Debian: apt-get install nodejs npm)'
        return 1
    fi
    cp "$wanted/package-lock.json" "$there/installed.json"
}

failed=0
python_clients || failed=1
node_clients || failed=1
exit "$failed"
