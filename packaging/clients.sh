#!/bin/sh
# Installs the clients of tests/clients: the Python clients and Ansible's collections into target/clients, the Node.js
# clients into target/clients-node. Does nothing if they are installed; otherwise it needs the network.
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
    # The copy marks a complete installation, so it is the last step.
    cp "$wanted" "$there/requirements.txt"
}

# Extracts the collections for RouterOS: 5 MB of 54.
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

# Downloads the packages directly: none of them needs a build step, so npm and its 335 packages are not needed.
node_clients() {
    wanted=tests/clients/node/packages.txt
    there=target/clients-node
    cmp -s "$wanted" "$there/packages.txt" && return
    say "fetching the Node.js clients of $wanted into $there"
    rm -rf "$there"
    mkdir -p "$there/node_modules"
    grep -v '^#' "$wanted" | while read -r name version sum; do
        node_package "$name" "$version" "$sum" || exit 1
    done || {
        rm -rf "$there"
        say 'that failed'
        return 1
    }
    cp "$wanted" "$there/packages.txt"
}

node_package() {
    registry=${npm_config_registry:-https://registry.npmjs.org}
    archive=$there/$1.tgz
    curl -sSfL --retry 3 -o "$archive" "${registry%/}/$1/-/$1-$2.tgz" || return
    if ! printf '%s  %s\n' "$3" "$archive" | sha512sum --check --status; then
        say "$1 $2 from $registry is not the archive that $wanted names"
        return 1
    fi
    mkdir "$there/node_modules/$1"
    tar -xzf "$archive" -C "$there/node_modules/$1" --strip-components=1 && rm "$archive"
}

failed=0
python_clients && ansible_collections || failed=1
node_clients || failed=1
exit "$failed"
