#!/bin/sh
# Puts the clients of tests/clients into target/clients (Python, and in it the collections of Ansible)
# and target/clients-node (Node.js), where tests look for them. Quick and silent when they are there; needs the network otherwise.
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

# Of 54 MB with collections for everything, what RouterOS needs is 5.
ansible_collections() {
    wanted=tests/clients/ansible/collections.txt
    there=target/clients/collections
    cmp -s "$wanted" "$there/collections.txt" && return
    say "installing the collections of $wanted into $there"
    rm -rf "$there"
    mkdir -p "$there"
    if ! target/clients/bin/pip --quiet --disable-pip-version-check download --no-deps \
        --require-hashes --only-binary :all: --dest "$there/wheel" --requirement "$wanted"; then
        rm -rf "$there"
        say 'that failed'
        return 1
    fi
    target/clients/bin/python - "$there" <<'END'
import sys, zipfile
from pathlib import Path

there = Path(sys.argv[1])
names = ["community/routeros", "ansible/netcommon", "ansible/utils"]
wanted = tuple(f"ansible_collections/{name}/" for name in names)
for wheel in (there / "wheel").glob("*.whl"):
    with zipfile.ZipFile(wheel) as names:
        names.extractall(there, [name for name in names.namelist() if name.startswith(wanted)])
END
    rm -r "$there/wheel"
    cp "$wanted" "$there/collections.txt"
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
python_clients && ansible_collections || failed=1
node_clients || failed=1
exit "$failed"
