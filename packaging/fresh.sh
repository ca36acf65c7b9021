#!/bin/bash
# Runs commands in a fresh root file system of Debian with the minimal set of packages:
#
#     packaging/fresh.sh bookworm|trixie [COMMAND]
#
# COMMAND is a shell command line; the default is `make run` with commands piped in, then `make test`. debootstrap
# creates the root from the mirror in /etc/apt. The root stays in FRESH (/var/tmp/ferroute-fresh) for the next run;
# remove it for a new start. This checkout appears in the root under the same path; writes to it stay in the root.
#
# The root uses the Rust toolchain and the downloaded crates of this machine, read-only; with RUST=own it downloads
# them. With BUILT=1 the root also uses this checkout's target folder and recompiles nothing; otherwise the target
# folder is empty.
# Needs root, mount and PID namespaces, overlayfs, and the network.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'fresh: %s\n' "$*" >&2; }

checkout=$PWD
release=${1:-}
case $release in
    bookworm | trixie) shift ;;
    *)
        say 'usage: packaging/fresh.sh bookworm|trixie [COMMAND]'
        exit 2
        ;;
esac
[ "$(id -u)" = 0 ] || { say 'needs root permissions: sudo packaging/fresh.sh …'; exit 1; }
kept=${FRESH:-/var/tmp/ferroute-fresh}/$release
root=$kept/root
cargo=${CARGO_HOME:-$HOME/.cargo} rustup=${RUSTUP_HOME:-$HOME/.rustup}

# The first commands of a new user, each with its duration.
# shellcheck disable=SC2016 # expanded in the root
both='set -e
begin=$(date +%s)
printf "/system/resource/print\n/ip/address/print\n" | make run
echo "fresh: make run: $(($(date +%s) - begin)) s"
begin=$(date +%s)
make test
echo "fresh: make test: $(($(date +%s) - begin)) s"'

mirror() {
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -n 's,^\(URIs:\|deb\) *\(\[[^]]*\] *\)\?\(https\?://[^ ]*/debian\)/\?\( .*\)\?$,\3,p' | head -1)
    printf '%s' "${found:-http://deb.debian.org/debian}"
}

make_root() {
    [ -e "$root/etc/debian_version" ] && return
    command -v debootstrap >/dev/null || {
        say 'installing debootstrap'
        apt-get -qq install -y --no-install-recommends debootstrap >/dev/null
    }
    say "creating a root file system of $release in $root"
    rm -rf "$root.part"
    mkdir -p "$kept"
    # README requires make; packaging/deps.sh installs everything else.
    debootstrap --variant=minbase --include=make "$release" "$root.part" "$(mirror)" >"$kept/debootstrap.log"
    mv "$root.part" "$root"
}

# Enters the root and runs a command. Needs a separate mount namespace, whose end removes all mounts.
enter() {
    mount --make-rprivate /
    # Programs in the root create mount namespaces, for which the root has to be a mount point.
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/run"
    cp /etc/resolv.conf "$root/etc/resolv.conf"

    mkdir -p "$root$checkout" "$kept/changed" "$kept/work" "$kept/target"
    mount -t overlay overlay -o "lowerdir=$checkout,upperdir=$kept/changed,workdir=$kept/work" "$root$checkout"
    if [ -n "${BUILT:-}" ]; then
        # The Python clients fit only this machine's Python: the root installs them again.
        [ -e "$kept/changed/target/clients" ] || rm -rf "$root$checkout/target/clients"
    else
        mkdir -p "$root$checkout/target"
        mount --bind "$kept/target" "$root$checkout/target"
    fi
    if [ "${RUST:-}" != own ]; then
        mkdir -p "$root/root/.rustup" "$root/root/.cargo/bin" "$root/root/.cargo/registry"
        mount -o bind,ro "$rustup" "$root/root/.rustup"
        mount -o bind,ro "$cargo/bin" "$root/root/.cargo/bin"
        mount -o bind,ro "$cargo/registry" "$root/root/.cargo/registry"
    fi
    # A proxy with a private certificate authority: SSL_CERT_FILE names the authority's certificate.
    local trusts=()
    if [ -n "${SSL_CERT_FILE:-}" ]; then
        cp "$SSL_CERT_FILE" "$root/etc/fresh-authorities.crt"
        for name in SSL_CERT_FILE CURL_CA_BUNDLE PIP_CERT; do
            trusts+=("$name=/etc/fresh-authorities.crt")
        done
    fi
    # Not chroot: Linux refuses to create user namespaces in a chroot (user_namespaces(7)).
    cd "$root"
    pivot_root . .
    umount -l .
    hash -r
    exec env -i "${trusts[@]}" HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        sh -c "cd '$checkout' && $1"
}

make_root
export -f enter
export root kept checkout cargo rustup BUILT RUST
exec unshare --mount --pid --fork --kill-child bash -c 'set -euo pipefail; enter "$1"' enter "${*:-$both}"
