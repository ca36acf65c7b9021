#!/bin/sh
# Installs the missing packages of the given parts (build, run, test, fuzz) and prints their names.
#
# Prints nothing and needs no network if all packages are installed. Exits with 1 if a required package is missing and
# cannot be installed.
#
# shellcheck disable=SC2046,SC2086 # the lists are split into words on purpose
set -eu
cd "$(dirname "$0")/.."
PATH=$HOME/.cargo/bin:$PATH

# command:package. A package counts as installed if its command exists, from whatever source.
for_build='cc:gcc ld:binutils crt1.o:libc6-dev'
for_run='ip:iproute2 ethtool:ethtool nsenter:util-linux unshare:util-linux ping:iputils-ping
dnsmasq:dnsmasq-base udhcpc:udhcpc'
for_test='iperf3:iperf3 tcpdump:tcpdump traceroute:traceroute nft:nftables python3:python3 venv:python3-venv
dnsmasq:dnsmasq-base udhcpd:udhcpd dhcpd:isc-dhcp-server
ssh:openssh-client node:nodejs curl:curl certificates:ca-certificates keepalived:keepalived
ovs-vswitchd:openvswitch-switch chronyd:chrony nfcapd:nfdump lldpd:lldpd snmpget:snmp snmptrapd:snmptrapd
openssl:openssl freeradius:freeradius radclient:freeradius-utils
rlm_sql_postgresql.so:freeradius-postgresql initdb:postgresql udhcpc:udhcpc dhclient:isc-dhcp-client perfdhcp:kea-admin
dig:bind9-dnsutils dnsperf:dnsperf aiosmtpd:python3-aiosmtpd
charon:strongswan-charon swanctl:strongswan-swanctl kernel-libipsec.so:libcharon-extra-plugins
openssl.so:libstrongswan-standard-plugins curve25519.so:libstrongswan-extra-plugins
eap-mschapv2.so:libcharon-extauth-plugins
wg:wireguard-tools modprobe:kmod pppd:ppp pppoe-server:pppoe xl2tpd:xl2tpd
pptpd:pptpd pptp:pptp-linux sstpc:sstp-client openvpn:openvpn softhsm2-util:softhsm2'
# Peers that some distributions do not package.
for_some='wireguard-go:wireguard-go linux.uml:user-mode-linux'
# Some distributions do not package it; the test of the web page is then skipped.
for_page='chromium:chromium chromedriver:chromium-driver'

say() { printf 'deps: %s\n' "$*" >&2; }

has() {
    case $1 in
        crt1.o) path=$(cc -print-file-name=crt1.o 2>/dev/null) && [ "$path" != crt1.o ] ;;
        venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        charon) [ -x /usr/lib/ipsec/charon ] ;;
        rlm_*.so) [ -e "/usr/lib/freeradius/$1" ] ;;
        initdb) [ -n "$(find /usr/lib/postgresql -name initdb 2>/dev/null)" ] ;;
        *.so) [ -e "/usr/lib/ipsec/plugins/libstrongswan-$1" ] ;;
        certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] ;;
        *) command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] ;;
    esac
}

# Prints the packages of "$@" whose command does not exist.
missing() {
    for pair in "$@"; do
        has "${pair%%:*}" || printf '%s ' "${pair#*:}"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

may_install() {
    command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1; }
}

# Prevents new packages from starting their services. An existing policy stays.
policy=/usr/sbin/policy-rc.d
keep_services_off() {
    [ -e "$policy" ] && return
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    trap 'as_root rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM HUP
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq "$@" >/dev/null
}

install() {
    keep_services_off
    say "installing $*"
    apt install -y --no-install-recommends "$@" && return
    say 'that failed; fetching the package lists and trying again'
    apt update && apt install -y --no-install-recommends "$@"
}

# Installs packages, or prints the command for root.
need() {
    [ $# = 0 ] && return
    may_install && install "$@" && return
    say "missing and not installable from here: $*"
    say "as root: apt-get install $*"
    return 1
}

# Prints those of these packages that the distribution has.
available() {
    for package in "$@"; do
        if apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [0-9]'; then
            printf '%s ' "$package"
        fi
    done
}

wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)

cargo_is_new_enough() {
    command -v cargo >/dev/null 2>&1 || return
    found=$(cargo --version 2>/dev/null | cut -d' ' -f2)
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -1)" = "$wanted" ]
}

# Installs Rust by rustup: the compilers of distributions are too old.
need_cargo() {
    cargo_is_new_enough && return
    command -v rustup >/dev/null 2>&1 || need_rustup
    pinned=$(sed -n 's/^channel *= *"\(.*\)"/\1/p' rust-toolchain.toml)
    say "installing Rust $pinned by rustup"
    rustup toolchain install "$pinned" --profile minimal --component rustfmt --component clippy
    cargo_is_new_enough && return
    say "cargo is still older than $wanted: an older cargo precedes ~/.cargo/bin in PATH, or"
    say 'RUSTUP_TOOLCHAIN or an override of rustup selects an old toolchain'
    return 1
}

# Installs rustup: the distribution's package if it exists, otherwise by rustup's installer.
need_rustup() {
    if may_install && apt-cache policy rustup | grep -q 'Candidate: [0-9]'; then
        install rustup
        return
    fi
    need $(missing curl:curl certificates:ca-certificates)
    say 'installing rustup by its own installer (https://rustup.rs) into ~/.cargo'
    site=https://static.rust-lang.org/rustup/dist/$(uname -m)-unknown-linux-gnu
    mkdir -p target
    curl --proto '=https' --tlsv1.2 -sSf -o target/rustup-init "$site/rustup-init"
    chmod 755 target/rustup-init
    target/rustup-init -y -q --no-modify-path --profile minimal --default-toolchain none
    rm target/rustup-init
}

need_crates() {
    cargo fetch --quiet --locked --offline 2>/dev/null && return
    say 'fetching the crates'
    cargo fetch --locked
}

# Installs the nightly compiler and cargo-fuzz for libFuzzer's targets, and Miri with the standard library's sources.
need_fuzzer() {
    if ! command -v rustup >/dev/null 2>&1; then
        need_rustup
        rustup default stable
    fi
    if ! rustup toolchain list | grep -q '^nightly'; then
        say 'installing the nightly compiler with Miri, by rustup'
        rustup toolchain install nightly --profile minimal --component miri --component rust-src
    fi
    both=$(rustup component list --toolchain nightly --installed | grep -c -e '^miri' -e '^rust-src') || true
    if [ "$both" -lt 2 ]; then
        say 'installing Miri, by rustup'
        rustup component add miri rust-src --toolchain nightly
    fi
    cargo fuzz --version >/dev/null 2>&1 && return
    say 'installing cargo-fuzz'
    cargo install --quiet --locked cargo-fuzz
}

for part in "$@"; do
    case $part in
        build)
            need $(missing $for_build)
            need_cargo
            need_crates
            ;;
        run) need $(missing $for_run) ;;
        # A test without its program is skipped, and prints the program's name.
        test)
            need $(missing $for_test) || say 'tests that need these are skipped'
            need $(available $(missing $for_some)) || say 'tests with these peers are skipped'
            need $(available $(missing $for_page)) || say 'the test of the page is skipped'
            packaging/clients.sh || say 'tests with these clients are skipped'
            ;;
        # libFuzzer is C++ and is compiled with the targets.
        fuzz)
            need $(missing c++:g++)
            need_fuzzer
            ;;
        *)
            say "no such part: $part"
            exit 2
            ;;
    esac
done
