//! Tests tunnels and IPsec with Linux' own: the right site's router is a guest whose kernel supports them.
//!
//! ```text
//! one ── left (ferroute) ── right (the guest, with 10.2.0.1 behind it)
//! ```

use std::fs;

use lab::Lab;

use crate::guest::{Guest, guest};
use crate::ipsec::{SITES, router};
use crate::world::{Folder, Router, have, lab, shell, until, works};

/// Starts the guest on the link between both sites.
fn peer(test: &str, programs: &[&str], folder: Folder) -> Option<(Lab, Guest)> {
    let lab = have(test, programs).then(|| lab(test, &SITES))??;
    // Only the guest uses the link.
    shell(
        &lab,
        "right",
        "echo 1 > /proc/sys/net/ipv6/conf/ether2/disable_ipv6; ip link set ether2 promisc on",
    );
    let mut guest = guest(test, &lab, ("right", "ether2"), folder)?;
    guest.load("ipv6");
    guest.run(
        "ip link set vec0 up; ip address add 192.0.2.2/24 dev vec0; ip address add 2001:db8::2/64 dev vec0 nodad
         ip address add 10.2.0.1/32 dev lo; ip address add 2001:db8:2::1/128 dev lo nodad
         echo 1 > /proc/sys/net/ipv4/ip_forward",
    );
    Some((lab, guest))
}

fn base() -> String {
    "/ip address add address=10.1.0.1/24 interface=ether1\n\
     /ip address add address=192.0.2.1/24 interface=ether2\n\
     /ipv6 address add address=2001:db8::1/64 interface=ether2 advertise=no\n"
        .to_owned()
}

fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 2{more} 10.2.0.1"))
}

/// A kind of tunnel: the configuration of the guest and of the router.
struct Kind {
    menu: &'static str,
    ipv6: bool,
    link: &'static str,
    modules: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        menu: "gre",
        ipv6: false,
        link: "type gre local 192.0.2.2 remote 192.0.2.1 ttl 64",
        modules: "ip_gre",
    },
    Kind {
        menu: "ipip",
        ipv6: false,
        link: "type ipip local 192.0.2.2 remote 192.0.2.1 ttl 64",
        modules: "ipip",
    },
    Kind {
        menu: "gre6",
        ipv6: true,
        link: "type ip6gre local 2001:db8::2 remote 2001:db8::1 encaplimit none",
        modules: "ip6_gre",
    },
    Kind {
        menu: "ipipv6",
        ipv6: true,
        link: "type ip6tnl mode any local 2001:db8::2 remote 2001:db8::1 encaplimit none",
        modules: "ip6_tunnel",
    },
];

#[test]
fn tunnels_of_linux_carry_packets_of_every_length_both_ways() {
    let test = "tunnels_of_linux_carry_packets_of_every_length_both_ways";
    let Some((lab, mut guest)) = peer(test, &["ping"], Folder::new()) else {
        return;
    };
    for kind in KINDS {
        let (local, remote) = match kind.ipv6 {
            true => ("2001:db8::1", "2001:db8::2"),
            false => ("192.0.2.1", "192.0.2.2"),
        };
        let config = format!(
            "/interface {} add name=t local-address={local} remote-address={remote} !keepalive\n\
             /ip address add address=172.16.0.1/30 interface=t\n\
             /ip route add dst-address=10.2.0.0/24 gateway=172.16.0.2\n",
            kind.menu
        );
        let left = router(&lab, "left", &(base() + &config));
        guest.load(kind.modules);
        guest.run(&format!(
            "ip link add name tun7 {}; ip link set tun7 up; ip address add 172.16.0.2/30 dev tun7
             ip route add 10.1.0.0/24 dev tun7",
            kind.link
        ));
        until("a packet gets through", || reaches(&lab, ""));
        for more in [" -s 1400 -M do", " -s 1472 -M dont", " -s 4000"] {
            assert!(reaches(&lab, more), "{}{more}: {}", kind.menu, left.log());
        }
        assert!(
            guest.works("ping -q -c 1 -W 2 -s 4000 10.1.0.2"),
            "{}",
            kind.menu
        );
        guest.run("ip link delete tun7");
    }
}

#[test]
fn ipv6_goes_through_6to4_of_linux() {
    let test = "ipv6_goes_through_6to4_of_linux";
    let Some((lab, mut guest)) = peer(test, &["ping"], Folder::new()) else {
        return;
    };
    let config = "/interface 6to4 add name=t local-address=192.0.2.1 remote-address=192.0.2.2\n\
                  /ipv6 address add address=2001:db8:1::1/64 interface=t advertise=no\n\
                  /ipv6 route add dst-address=2001:db8:2::/64 gateway=t\n";
    let left = router(&lab, "left", &(base() + config));
    guest.load("sit");
    guest.run(
        "ip link add name tun7 type sit local 192.0.2.2 remote 192.0.2.1 ttl 64; ip link set tun7 up
         ip address add 2001:db8:1::2/64 dev tun7 nodad",
    );
    until("a packet gets through", || {
        guest.works("ping -q -c 1 -W 2 2001:db8:1::1")
    });
    assert!(
        guest.works("ping -q -c 1 -W 2 -s 3000 2001:db8:1::1"),
        "{}",
        left.log()
    );
}

/// Configuration of the guest's strongSwan, with ESP of the guest's kernel.
const CHARON: &str = "charon {\n load_modular = no\n \
    load = random nonce aes sha1 sha2 hmac kdf gmp openssl pem pkcs1 x509 kernel-netlink socket-default vici updown\n \
    filelog {\n charon {\n path = /mnt/charon.log\n default = 1\n }\n }\n \
    plugins {\n vici {\n socket = unix:///run/vici\n }\n }\n}\n";

/// Addresses of the guest and of the router, on the link between both sites.
const ENDS: (&str, &str) = ("192.0.2.2", "192.0.2.1");
const ENDS6: (&str, &str) = ("2001:db8::2", "2001:db8::1");

/// Returns a connection of the guest to the router with ESP.
fn connection(version: u8, mode: &str, esp: &str, selectors: (&str, &str)) -> String {
    let proposals = format!("esp_proposals = {esp}");
    connection_of(ENDS, (version, mode), &proposals, selectors)
}

/// Returns a connection of the guest to the router between these addresses.
fn connection_of(
    (here, there): (&str, &str),
    (version, mode): (u8, &str),
    proposals: &str,
    selectors: (&str, &str),
) -> String {
    format!(
        "connections {{\n far {{\n version = {version}\n local_addrs = {here}\n remote_addrs = {there}\n \
         proposals = aes128-sha1-modp2048\n \
         local {{\n auth = psk\n id = {here}\n }}\n remote {{\n auth = psk\n id = {there}\n }}\n \
         children {{\n net {{\n mode = {mode}\n local_ts = {}\n remote_ts = {}\n {proposals}\n \
         replay_window = 64\n }}\n }}\n }}\n}}\n\
         secrets {{\n ike-far {{\n id = {there}\n secret = \"correct horse\"\n }}\n}}\n",
        selectors.0, selectors.1
    )
}

/// Creates a folder with the configuration of the guest's strongSwan.
fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.file("strongswan.conf"), CHARON).expect("a folder of our own");
    folder
}

/// Returns a swanctl command line for the guest.
fn swanctl(what: &str) -> String {
    format!("swanctl {what} --uri unix:///run/vici")
}

/// Starts strongSwan in the guest.
fn begin(guest: &mut Guest) {
    guest.load(
        "af_key xfrm_user esp4 esp6 ah4 ah6 xfrm4_tunnel cbc gcm ctr hmac authenc seqiv echainiv",
    );
    guest.run("STRONGSWAN_CONF=/mnt/strongswan.conf setsid /usr/lib/ipsec/charon >/dev/null 2>&1 </dev/null &");
    let stats = format!("[ -S /run/vici ] && {}", swanctl("--stats"));
    until("charon listens", || guest.works(&stats));
}

/// Replaces the connection of the guest's strongSwan.
fn connect(guest: &mut Guest, connection: &str) {
    fs::write(guest.folder.file("swanctl.conf"), connection).expect("a folder of our own");
    _ = guest.tell(&swanctl("--terminate --ike far --force --timeout 2"));
    guest.run(&swanctl("--load-all --noprompt --file /mnt/swanctl.conf"));
}

fn identity(exchange: &str) -> String {
    identity_of("192.0.2.2/32", exchange)
}

fn identity_of(address: &str, exchange: &str) -> String {
    format!(
        "/ip ipsec peer add name=far address={address} exchange-mode={exchange}\n\
         /ip ipsec identity add peer=far secret=\"correct horse\"\n"
    )
}

fn established(left: &Router) -> bool {
    let policies = left.rows("/ip/ipsec/policy/print");
    policies.iter().any(|row| row["ph2-state"] == "established")
}

#[test]
fn esp_of_linux_and_of_the_router_decrypt_each_others_packets() {
    let test = "esp_of_linux_and_of_the_router_decrypt_each_others_packets";
    let Some((lab, mut guest)) = peer(test, &["ping", "swanctl"], folder()) else {
        return;
    };
    begin(&mut guest);
    for (version, exchange, encryption, hash, theirs) in [
        (2, "ike2", "aes-128-gcm", "null", "aes128gcm16-modp1024"),
        (2, "ike2", "aes-256-cbc", "sha256", "aes256-sha256-modp1024"),
        (2, "ike2", "aes-192-ctr", "sha1", "aes192ctr-sha1-modp1024"),
        (1, "main", "aes-128-cbc", "sha1", "aes128-sha1-modp1024"),
        (1, "main", "aes-256-cbc", "sha512", "aes256-sha512-modp1024"),
    ] {
        let config = identity(exchange)
            + &format!(
                "/ip ipsec proposal set [find default] enc-algorithms={encryption} auth-algorithms={hash}\n\
                 /ip ipsec policy add peer=far tunnel=yes src-address=10.1.0.0/24 dst-address=10.2.0.0/24\n\
                 /ip route add dst-address=10.2.0.0/24 gateway=192.0.2.2\n"
            );
        let left = router(&lab, "left", &(base() + &config));
        let selectors = ("10.2.0.0/24", "10.1.0.0/24");
        connect(
            &mut guest,
            &connection(version, "tunnel", theirs, selectors),
        );
        until("a packet gets through", || reaches(&lab, ""));
        assert!(established(&left), "{encryption} {hash}");
        for more in [" -s 1300 -M do", " -s 1472 -M dont", " -s 4000"] {
            assert!(
                reaches(&lab, more),
                "{encryption} {hash}{more}: {}",
                left.log()
            );
        }
        assert!(
            guest.works("ping -q -c 1 -W 2 -I 10.2.0.1 -s 4000 10.1.0.2"),
            "{encryption}"
        );
        // Rekeying during traffic loses no packet.
        guest.run(&swanctl("--rekey --child net"));
        assert!(
            works(&lab, "one", "ping -q -c 20 -i 0.05 -W 2 10.2.0.1"),
            "{encryption}"
        );
    }
}

/// A policy with AH.
struct Signed {
    ends: (&'static str, &'static str),
    version: u8,
    mode: &'static str,
    auth: &'static str,
}

#[test]
fn ah_of_linux_and_of_the_router_verify_each_others_packets() {
    let test = "ah_of_linux_and_of_the_router_verify_each_others_packets";
    let Some((lab, mut guest)) = peer(test, &["ping", "swanctl"], folder()) else {
        return;
    };
    begin(&mut guest);
    let signed = |ends, version, mode, auth| Signed {
        ends,
        version,
        mode,
        auth,
    };
    for one in [
        signed(ENDS, 2, "tunnel", "sha256"),
        signed(ENDS, 1, "tunnel", "sha1"),
        signed(ENDS, 2, "transport", "sha512"),
        signed(ENDS6, 2, "tunnel", "sha256"),
        signed(ENDS6, 2, "transport", "sha1"),
    ] {
        signed_both_ways(&lab, &mut guest, &one);
    }
}

fn signed_both_ways(lab: &Lab, guest: &mut Guest, one: &Signed) {
    let (there, here) = one.ends;
    let bits = if here.contains(':') { 128 } else { 32 };
    let exchange = if one.version == 1 { "main" } else { "ike2" };
    let (host, far) = (format!("{here}/{bits}"), format!("{there}/{bits}"));
    let (tunnel, selectors) = match one.mode {
        "tunnel" => ("yes", ("10.2.0.0/24", "10.1.0.0/24")),
        _ => ("no", (&*far, &*host)),
    };
    let config = identity_of(&far, exchange)
        + &format!(
            "/ip ipsec proposal set [find default] auth-algorithms={}\n\
             /ip ipsec policy add peer=far tunnel={tunnel} ipsec-protocols=ah src-address={} dst-address={}\n\
             /ip route add dst-address=10.2.0.0/24 gateway=192.0.2.2\n",
            one.auth, selectors.1, selectors.0
        );
    let left = router(lab, "left", &(base() + &config));
    let proposals = format!("ah_proposals = {}-modp1024", one.auth);
    let connection = connection_of(one.ends, (one.version, one.mode), &proposals, selectors);
    connect(guest, &connection);
    let said = |what: &str| format!("{:?} {} {what}: {}", one.ends, one.mode, left.log());
    match one.mode {
        "tunnel" => {
            until("a packet gets through", || reaches(lab, ""));
            for more in [" -s 1300 -M do", " -s 4000"] {
                assert!(reaches(lab, more), "{}", said(more));
            }
            let back = "ping -q -c 1 -W 2 -I 10.2.0.1 -s 4000 10.1.0.2";
            assert!(guest.works(back), "{}", said(back));
        }
        _ => {
            until("the router answers", || {
                guest.works(&format!("ping -q -c 1 -W 2 {here}"))
            });
            let long = format!("ping -q -c 1 -W 2 -s 4000 {here}");
            assert!(guest.works(&long), "{}", said(&long));
        }
    }
    let rows = left.rows("/ip/ipsec/installed-sa/print");
    assert!(rows.iter().all(|row| row["AH"] == "true"), "{rows:?}");
    let used = rows.iter().filter(|row| row["seen-traffic"] == "true");
    assert!(used.count() >= 2, "{rows:?}");
}

#[test]
fn tunnels_of_linux_with_ipsec_need_only_a_secret() {
    let test = "tunnels_of_linux_with_ipsec_need_only_a_secret";
    let Some((lab, mut guest)) = peer(test, &["ping", "swanctl"], folder()) else {
        return;
    };
    begin(&mut guest);
    for kind in &KINDS[..2] {
        let config = format!(
            "/interface {} add name=t local-address=192.0.2.1 remote-address=192.0.2.2 !keepalive \
             ipsec-secret=\"correct horse\" allow-fast-path=no\n\
             /ip address add address=172.16.0.1/30 interface=t\n\
             /ip route add dst-address=10.2.0.0/24 gateway=172.16.0.2\n",
            kind.menu
        );
        let left = router(&lab, "left", &(base() + &config));
        guest.load(kind.modules);
        guest.run(&format!(
            "ip link add name tun7 {}; ip link set tun7 up mtu 1400; ip address add 172.16.0.2/30 dev tun7
             ip route add 10.1.0.0/24 dev tun7",
            kind.link
        ));
        let protocol = if kind.menu == "gre" { "gre" } else { "4" };
        let local = format!("192.0.2.2/32[{protocol}]");
        let remote = format!("192.0.2.1/32[{protocol}]");
        let selectors = (&*local, &*remote);
        let esp = "aes256-sha1-modp1024,aes128-sha1-modp1024,aes256-sha1,aes128-sha1";
        connect(&mut guest, &connection(1, "transport", esp, selectors));
        until("a packet gets through", || reaches(&lab, ""));
        assert!(reaches(&lab, " -s 4000"), "{}: {}", kind.menu, left.log());
        assert!(
            guest.works("ping -q -c 1 -W 2 -s 4000 10.1.0.2"),
            "{}",
            kind.menu
        );
        assert!(!left.rows("/ip/ipsec/installed-sa/print").is_empty());
        guest.run("ip link delete tun7");
    }
}
