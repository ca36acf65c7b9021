#!/bin/sh
# Measures how many leases a second a DHCP server gives, with perfdhcp (kea-admin) on a veth pair between two network
# namespaces: ferroute with its leases synced to disk, and dnsmasq with its lease file, in alternation.
#
# Prints for each rate what was asked for, what was answered, and how much was lost. Needs root.
#   packaging/dhcp-bench.sh [BINARY] [RATES] [SECONDS]
set -eu
binary=${1:-target/release/ferroute} rates=${2:-"2000 5000 10000 15000 20000"} seconds=${3:-5}
folder=$(mktemp -d /var/tmp/dhcp-bench.XXXXXX)
server=dhcpb-s$$ client=dhcpb-c$$
running=

finish() {
    [ -z "$running" ] || kill "$running" 2>/dev/null || :
    ip netns del "$server" 2>/dev/null || :
    ip netns del "$client" 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

ip netns add "$server"
ip netns add "$client"
ip -n "$server" link add ether1 type veth peer name eth0 netns "$client"
ip -n "$server" link set ether1 up
ip -n "$client" link set eth0 up
ip -n "$client" address add 10.9.0.2/16 dev eth0

cat >"$folder/config.rsc" <<'END'
/ip/address/add address=10.9.0.1/16 interface=ether1
/ip/pool/add name=lan ranges=10.9.1.0-10.9.255.254
/ip/dhcp-server/add name=lan interface=ether1 address-pool=lan lease-time=1h conflict-detection=no relay=10.9.0.2
/ip/dhcp-server/network/add address=10.9.0.0/16 gateway=10.9.0.1 dns-server=10.9.0.1
END

start_ferroute() {
    rm -rf "$folder/state"
    ip netns exec "$server" "$binary" run --config "$folder/config.rsc" --state "$folder/state" \
        --port ether1=packet:ether1 >"$folder/log" 2>&1 &
    running=$!
}

start_dnsmasq() {
    rm -f "$folder/leases"
    ip -n "$server" address replace 10.9.0.1/16 dev ether1
    ip netns exec "$server" dnsmasq --keep-in-foreground --no-ping --port=0 --interface=ether1 --bind-interfaces \
        --dhcp-range=10.9.1.0,10.9.255.254,255.255.0.0,1h --dhcp-lease-max=70000 --dhcp-authoritative \
        --dhcp-leasefile="$folder/leases" --user=root --log-facility=/dev/null --pid-file="$folder/pid" &
    running=$!
}

stop() {
    kill "$running"
    wait "$running" 2>/dev/null || :
    running=
    ip -n "$server" address flush dev ether1
}

# Waits until the server answers one client.
ready() {
    tries=0
    until ip netns exec "$client" perfdhcp -4 -r 1 -n 1 -W 1 -l eth0 2>/dev/null | grep -q 'received packets: 1'; do
        tries=$((tries + 1))
        [ "$tries" -lt 30 ] || { echo "no server answers" >&2; exit 1; }
    done
}

# The processor's time of the server, in hundredths of a second.
spent() {
    awk '{ print $14 + $15 }' "/proc/$1/stat"
}

printf '%-9s %8s %10s %8s %10s\n' server rate leases/s lost% 'cpu s'
for rate in $rates; do
    for kind in ferroute dnsmasq; do
        "start_$kind"
        ready
        pid=$running
        [ "$kind" = ferroute ] || pid=$(cat "$folder/pid" 2>/dev/null || echo "$running")
        before=$(spent "$pid")
        ip netns exec "$client" perfdhcp -4 -r "$rate" -R 60000 -p "$seconds" -W 1000000 -l eth0 \
            >"$folder/said" 2>&1 || :
        after=$(spent "$pid")
        awk -v kind="$kind" -v rate="$rate" -v seconds="$seconds" -v spent=$((after - before)) '
            /REQUEST-ACK/ { in_ack = 1 }
            in_ack && /received packets:/ { got = $3; in_ack = 0 }
            !sent && /sent packets:/ { sent = $3 }
            END {
                lost = sent ? 100 * (sent - got) / sent : 100
                printf "%-9s %8d %10d %8.1f %10.2f\n", kind, rate, got / seconds, lost, spent / 100
            }' "$folder/said"
        stop
    done
done
