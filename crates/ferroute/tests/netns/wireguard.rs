//! Tests WireGuard between two sites: two ferroute routers, and ferroute with wireguard-go.
//!
//! ```text
//! one ── left (ferroute) ── right (ferroute, or wireguard-go) ── two
//! ```

use lab::Lab;

use crate::ipsec::{SITES, router};
use crate::world::{Folder, Router, Server, have, lab, output, run, shell, text, until, works};

/// Returns the configuration of a site's router: its addresses, and a WireGuard interface with a generated key.
pub(crate) fn base(site: u8, other: u8) -> String {
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /interface wireguard add name=wg listen-port=13231\n\
         /ip address add address=10.9.0.{site}/24 interface=wg\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=10.9.0.{other}\n"
    )
}

pub(crate) fn public(router: &Router) -> String {
    router.value("/interface/wireguard/print", "wg", "public-key")
}

/// Adds the other site's router as a peer.
pub(crate) fn meet(router: &Router, other: u8, key: &str, more: &str) {
    router.exec(&format!(
        "/interface/wireguard/peers add interface=wg name=far public-key=\"{key}\" \
         allowed-address=10.{other}.0.0/24,10.9.0.{other}/32 {more}"
    ));
}

pub(crate) fn endpoint(other: u8) -> String {
    format!("endpoint-address=192.0.2.{other} endpoint-port=13231")
}

fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1{more} 10.2.0.2"))
}

pub(crate) fn peer(router: &Router, property: &str) -> String {
    router.value("/interface/wireguard/peers/print", "far", property)
}

#[test]
fn two_sites_reach_each_other_with_generated_keys() {
    let test = "two_sites_reach_each_other_with_generated_keys";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let (left, right) = (
        router(&lab, "left", &base(1, 2)),
        router(&lab, "right", &base(2, 1)),
    );
    let shared = "preshared-key=\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\"";
    meet(
        &left,
        2,
        &public(&right),
        &format!("{} {shared}", endpoint(2)),
    );
    meet(&right, 1, &public(&left), shared);
    // The first packet waits for the handshake and is delivered.
    assert!(
        works(&lab, "one", "ping -q -c 1 -W 5 10.2.0.2"),
        "{}",
        left.log()
    );
    assert_eq!(peer(&right, "current-endpoint-address"), "192.0.2.1");
    assert_ne!(peer(&left, "last-handshake"), "");
    // Long packets: senders with DF get an error, packets without DF are fragmented.
    assert!(reaches(&lab, " -s 1392 -M do"));
    assert!(!reaches(&lab, " -s 1393 -M do"));
    assert!(reaches(&lab, " -s 3000"));
    // Firewall rules do not change the result.
    for router in [&left, &right] {
        router.exec("/ip firewall filter add chain=input protocol=udp dst-port=13231");
        router.exec("/ip firewall filter add chain=forward connection-state=invalid action=drop");
        router.exec("/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade");
    }
    assert!(reaches(&lab, ""));
    // A peer with another key is refused, and the old sessions end.
    right.exec(
        "/interface/wireguard set wg private-key=\"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\"",
    );
    assert!(!reaches(&lab, ""));
    let key = public(&right);
    assert_eq!(key, "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=");
    left.exec(&format!(
        "/interface/wireguard/peers set far public-key=\"{key}\""
    ));
    until("the sites meet by the other key", || reaches(&lab, ""));
}

#[test]
fn a_roaming_peer_is_followed_and_other_addresses_are_refused() {
    let test = "a_roaming_peer_is_followed_and_other_addresses_are_refused";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let (left, right) = (
        router(&lab, "left", &base(1, 2)),
        router(&lab, "right", &base(2, 1)),
    );
    meet(&left, 2, &public(&right), &endpoint(2));
    meet(&right, 1, &public(&left), "");
    until("a packet gets through", || reaches(&lab, ""));
    left.exec("/ip/address set [find address=\"192.0.2.1/24\"] address=192.0.2.9/24");
    until("it gets through from elsewhere", || reaches(&lab, ""));
    until("the other end knows", || {
        peer(&right, "current-endpoint-address") == "192.0.2.9"
    });
    assert!(works(&lab, "two", "ping -q -c 1 -W 2 10.1.0.2"));
    // Packets with source addresses outside of the peer's `allowed-address` are dropped.
    right.exec("/interface/wireguard/peers set far allowed-address=10.9.0.1/32");
    assert!(!reaches(&lab, ""));
    let drops = right.rows("/tool/drop/print");
    assert!(
        drops
            .iter()
            .any(|row| row["reason"] == "wireguard-wrong-source"),
        "{drops:#?}"
    );
    // Packets without a peer for their destination are dropped.
    assert!(!works(&lab, "two", "ping -q -c 1 -W 1 10.1.0.2"));
}

#[test]
fn an_interface_is_exported_and_imported_as_a_wg_quick_file() {
    let test = "an_interface_is_exported_and_imported_as_a_wg_quick_file";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let (left, right) = (
        router(&lab, "left", &base(1, 2)),
        router(&lab, "right", &base(2, 1)),
    );
    meet(&left, 2, &public(&right), "");
    let greets = format!("{} persistent-keepalive=20s", endpoint(1));
    meet(&right, 1, &public(&left), &greets);
    until("a packet gets through", || reaches(&lab, ""));
    right.exec("/interface/wireguard wg-export wg file=site");
    right.exec("/interface/wireguard/peers remove far");
    right.exec("/ip/address remove [find interface=wg]");
    right.exec("/interface/wireguard remove wg");
    assert!(!reaches(&lab, ""));
    right.exec("/interface/wireguard wg-import config-file=site");
    let networks = right.rows("/interface/wireguard/print");
    assert_eq!(networks[0]["name"], "site", "{networks:#?}");
    until("the peer is met as it was", || reaches(&lab, ""));
}

/// Starts wireguard-go on the right, with an interface `wg0` with this key.
fn go(lab: &Lab, folder: &Folder, key: &str, peer: &str) -> Server {
    let private = folder.file("private");
    std::fs::write(&private, format!("{key}\n")).expect("a folder of our own");
    let script = format!(
        "mount -t tmpfs t /run; ip link set lo up
         wireguard-go wg0 >/dev/null 2>&1 || exit 1
         wg set wg0 listen-port 13231 private-key {} || exit 1
         wg set wg0 {peer} || exit 1
         ip address add 10.9.0.2/24 dev wg0; ip link set wg0 mtu 1420 up; ip route add 10.1.0.0/24 dev wg0
         echo up; exec sleep infinity",
        private.display()
    );
    let argv = ["unshare", "-m", "sh", "-c", &script].map(str::to_owned);
    let command = lab.command_line("right", &argv);
    Server::begin(command.expect("a host of the layout"), "up")
}

/// Removes the interface, which ends wireguard-go.
fn end(lab: &Lab, go: Server) {
    run(lab, "right", "ip link delete wg0");
    drop(go);
}

#[test]
fn wireguard_go_connects_as_initiator_and_responder() {
    let test = "wireguard_go_connects_as_initiator_and_responder";
    let programs = ["ping", "wg", "wireguard-go", "iperf3"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    shell(
        &lab,
        "right",
        "ip address add 192.0.2.2/24 dev ether2; ip address add 10.2.0.1/24 dev ether1
         echo 1 > /proc/sys/net/ipv4/ip_forward",
    );
    let left = router(&lab, "left", &base(1, 2));
    let key = run(&lab, "right", "wg genkey");
    let folder = Folder::new();
    let file = folder.file("key");
    std::fs::write(&file, &key).expect("a folder of our own");
    let theirs = shell(&lab, "right", &format!("wg pubkey < {}", file.display()));
    meet(&left, 2, theirs.trim(), &endpoint(2));
    let of_left = format!(
        "peer {} allowed-ips 10.1.0.0/24,10.9.0.1/32 endpoint 192.0.2.1:13231",
        public(&left)
    );
    let first = go(&lab, &folder, key.trim(), &of_left);
    until("a packet gets through", || reaches(&lab, ""));
    assert!(reaches(&lab, " -s 1392 -M do"));
    assert!(reaches(&lab, " -s 3000"));
    let server = Server::start(
        &lab,
        "two",
        "iperf3 -s -1 --forceflush -B 10.2.0.2",
        "listening",
    );
    let sent = output(&lab, "one", "iperf3 -c 10.2.0.2 -n 8M");
    assert!(
        sent.status.success(),
        "{}{:#?}",
        text(&sent.stdout),
        left.rows("/tool/drop/print")
    );
    drop(server);
    end(&lab, first);
    // The peer initiates: the router has no session.
    left.exec("/interface/wireguard/peers remove far");
    let second = go(&lab, &folder, key.trim(), &of_left);
    meet(&left, 2, theirs.trim(), "");
    assert!(!reaches(&lab, ""), "nobody knows where the peer is");
    until("the other end begins", || {
        works(&lab, "two", "ping -q -c 1 -W 1 10.1.0.2")
    });
    assert!(reaches(&lab, ""));
    end(&lab, second);
}

#[test]
fn a_peers_configuration_is_shown_as_text_and_qr_code() {
    let test = "a_peers_configuration_is_shown_as_text_and_qr_code";
    let Some(lab) = lab(test, &SITES) else { return };
    let left = router(&lab, "left", &base(1, 2));
    left.exec(
        "/interface/wireguard/peers add interface=wg name=phone private-key=auto preshared-key=auto \
         allowed-address=10.9.0.7/32 client-address=10.9.0.7/32 client-dns=10.9.0.1 \
         client-endpoint=vpn.example.net client-keepalive=25s",
    );
    let shown = left.exec("/interface/wireguard/peers show-client-config phone");
    for line in [
        "[Interface]",
        "Address = 10.9.0.7/32",
        "DNS = 10.9.0.1",
        "[Peer]",
        "AllowedIPs = 0.0.0.0/0, ::/0",
        "Endpoint = vpn.example.net:13231",
        "PersistentKeepalive = 25",
        &format!("PublicKey = {}", public(&left)),
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(
        shown.contains("PrivateKey = ") && shown.contains('█'),
        "{shown}"
    );
    // Keys of a second peer are generated, too.
    left.exec(
        "/interface/wireguard/peers add interface=wg private-key=auto allowed-address=10.9.0.8/32",
    );
    let peers = left.rows("/interface/wireguard/peers/print");
    assert_ne!(peers[0]["public-key"], peers[1]["public-key"], "{peers:#?}");
    // Malformed keys are refused and change nothing.
    let refused = left.command("/interface/wireguard/peers add interface=wg public-key=short");
    let said = text(&refused.stdout) + &text(&refused.stderr);
    assert!(said.contains("44 characters"), "{said}");
}
