#!/bin/sh
# Compares the throughput of two ferroutes with that of two OpenVPN processes, per CPU second of both ends, over UDP with
# AES-256-GCM: tests/vpn/compare.sh FERROUTE [SECONDS] [ROUNDS]
#
#   one (iperf3) -- left (client) -- right (server) -- two (iperf3)
#
# Needs root, iproute2, iperf3, openvpn and openssl. All namespaces, processes and files are its own.
set -eu
ferroute=$(readlink -f "$1")
seconds=${2:-5}
rounds=${3:-3}
id=vpn$$
work=$(mktemp -d)
pids=

on() { # NAMESPACE COMMAND...
    space=$1
    shift
    ip netns exec "$id-$space" "$@"
}

end() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    pids=
}

clean() {
    end
    for space in one left right two; do ip netns del "$id-$space" 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean EXIT INT TERM

link() { # NAMESPACE DEVICE NAMESPACE DEVICE
    ip -n "$id-$1" link add "$2" type veth peer name "$4" netns "$id-$3"
    for side in "$1 $2" "$3 $4"; do
        set -- $side
        ip -n "$id-$1" link set "$2" up
        on "$1" ethtool -K "$2" tx off tso off gso off gro off >/dev/null 2>&1 || true
    done
}

for space in one left right two; do
    ip netns add "$id-$space"
    ip -n "$id-$space" link set lo up
done
link one eth0 left lan
link left wan right wan
link right lan two eth0
ip -n "$id-one" address add 10.1.0.2/24 dev eth0
ip -n "$id-one" route add default via 10.1.0.1
ip -n "$id-two" address add 10.2.0.2/24 dev eth0
ip -n "$id-two" route add default via 10.2.0.1

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=vpn \
    -addext extendedKeyUsage=serverAuth -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
printf 'anna\ngeheim\n' > "$work/login"
printf '#!/bin/sh\nexit 0\n' > "$work/accept"
chmod 755 "$work/accept"
cat > "$work/server.conf" <<CONF
dev tun
server 10.8.0.0 255.255.255.0
topology subnet
proto udp4
ca $work/cert.pem
cert $work/cert.pem
key $work/key.pem
dh none
data-ciphers AES-256-GCM
verify-client-cert none
script-security 2
auth-user-pass-verify $work/accept via-file
username-as-common-name
client-config-dir $work/ccd
route 10.1.0.0 255.255.255.0
push "route 10.2.0.0 255.255.255.0"
CONF
mkdir "$work/ccd"
echo 'iroute 10.1.0.0 255.255.255.0' > "$work/ccd/anna"
cat > "$work/client.conf" <<CONF
client
dev tun
nobind
proto udp4
remote 192.0.2.2 1194
ca $work/cert.pem
data-ciphers AES-256-GCM
auth-user-pass $work/login
CONF

ticks() { # PID...: clock ticks of user and kernel
    for pid in "$@"; do
        sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f12,13
    done | awk '{ sum += $1 + $2 } END { print sum }'
}

reaches() {
    tries=0
    until on one ping -q -c 1 -W 1 10.2.0.2 >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 60 ] || { echo "$1: no packet passes" >&2; exit 1; }
    done
}

measure() { # NAME PID PID
    name=$1
    shift
    reaches "$name"
    on two iperf3 -s -1 -D -I "$work/iperf.pid" >/dev/null
    before=$(ticks "$@")
    on one iperf3 -c 10.2.0.2 -t "$seconds" -J > "$work/report.json"
    after=$(ticks "$@")
    awk -v name="$name" -v ticks="$((after - before))" -v hz="$(getconf CLK_TCK)" '
        /"sum_received"/ { inside = 1 }
        inside && /"bytes"/ { sub(/.*:/, ""); bytes = $0 + 0 }
        inside && /"bits_per_second"/ { sub(/.*:/, ""); rate = $0 + 0; exit }
        END { printf "%s %.0f Mbit/s, %.1f CPU seconds, %.0f Mbit per CPU second\n",
              name, rate / 1e6, ticks / hz, bytes * 8 / 1e6 / (ticks / hz) }' "$work/report.json"
}

openvpn_round() {
    for side in left right; do
        on "$side" sysctl -qw net.ipv4.ip_forward=1
    done
    ip -n "$id-left" address add 10.1.0.1/24 dev lan
    ip -n "$id-left" address add 192.0.2.1/24 dev wan
    ip -n "$id-right" address add 10.2.0.1/24 dev lan
    ip -n "$id-right" address add 192.0.2.2/24 dev wan
    ip netns exec "$id-right" openvpn --config "$work/server.conf" > "$work/server.log" 2>&1 &
    server=$!
    pids=$server
    ip netns exec "$id-left" openvpn --config "$work/client.conf" > "$work/client.log" 2>&1 &
    client=$!
    pids="$pids $client"
    measure openvpn "$server" "$client"
    end
    for device in lan wan; do
        for side in left right; do ip -n "$id-$side" address flush dev "$device"; done
    done
}

start_ferroute() { # NAMESPACE CONFIG
    ip netns exec "$id-$1" "$ferroute" run --config "$2" --state :memory: --control "$work/$1.control" \
        --port ether1=packet:lan --port ether2=packet:wan > "$work/$1.log" 2>&1 &
    pids="$pids $!"
}

ask() { # NAMESPACE COMMAND
    tries=0
    until "$ferroute" exec --control "$work/$1.control" "$2" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { echo "$1: $2 fails" >&2; exit 1; }
        sleep 0.1
    done
}

ferroute_round() {
    cat > "$work/right.rsc" <<CONF
/ip address add address=10.2.0.1/24 interface=ether1
/ip address add address=192.0.2.2/24 interface=ether2
/ppp profile add name=home local-address=10.8.0.1 remote-address=10.8.0.2
/ppp secret add name=anna password=geheim profile=home service=ovpn routes=10.1.0.0/24
/interface ovpn-server server add name=ovpn1 protocol=udp cipher=aes256-gcm default-profile=home
CONF
    cat > "$work/left.rsc" <<CONF
/ip address add address=10.1.0.1/24 interface=ether1
/ip address add address=192.0.2.1/24 interface=ether2
/interface ovpn-client add name=vpn connect-to=192.0.2.2 protocol=udp cipher=aes256-gcm user=anna password=geheim disabled=no
/ip route add dst-address=10.2.0.0/24 gateway=vpn
CONF
    pids=
    start_ferroute right "$work/right.rsc"
    ask right '/certificate/add name=vpn common-name=vpn key-usage=key-cert-sign,digital-signature,tls-server key-size=prime256v1'
    ask right '/certificate/sign vpn'
    ask right '/interface/ovpn-server/server/set ovpn1 certificate=vpn disabled=no'
    start_ferroute left "$work/left.rsc"
    # shellcheck disable=SC2086 # a list of numbers
    measure ferroute $pids
    end
}

round=0
while [ "$round" -lt "$rounds" ]; do
    openvpn_round
    ferroute_round
    round=$((round + 1))
done
