//! Tests IPsec between two sites: two ferroute routers, and ferroute with strongSwan.
//!
//! ```text
//! one ── left (ferroute) ── right (ferroute, or strongSwan) ── two
//! ```

use std::fs;

use lab::{End, Host, Lab, Layout, Link, Offloads, Route};

use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, run, shell, until, works};

pub(crate) const fn host(name: &'static str, routes: &'static [Route]) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes,
    }
}

pub(crate) const fn default(via: &'static str) -> Route {
    Route {
        destination: "default",
        via,
    }
}

pub(crate) const fn link(
    left: (&'static str, &'static str, &'static [&'static str]),
    right: (&'static str, &'static str, &'static [&'static str]),
) -> Link {
    let (host, device, addresses) = left;
    let one = End {
        host,
        device,
        addresses,
    };
    let (host, device, addresses) = right;
    let other = End {
        host,
        device,
        addresses,
    };
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [one, other],
    }
}

pub(crate) const SITES: Layout = Layout {
    name: "ipsec",
    summary: "two sites, a router each, and the net between them",
    hosts: &[
        host("one", &[default("10.1.0.1")]),
        host("two", &[default("10.2.0.1")]),
        host("left", &[]),
        host("right", &[]),
    ],
    links: &[
        link(("one", "eth0", &["10.1.0.2/24"]), ("left", "ether1", &[])),
        link(("left", "ether2", &[]), ("right", "ether2", &[])),
        link(("two", "eth0", &["10.2.0.2/24"]), ("right", "ether1", &[])),
    ],
    config: "",
};

/// Returns the addresses and routes of a site's router.
pub(crate) fn base(site: u8, other: u8) -> String {
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=192.0.2.{other}\n"
    )
}

/// Returns a policy between the networks of both sites.
pub(crate) fn policy(site: u8, other: u8, peer: &str, more: &str) -> String {
    format!(
        "/ip ipsec peer add name=far address=192.0.2.{other}/32 {peer}\n\
         /ip ipsec identity add peer=far secret=\"correct horse\"\n\
         /ip ipsec policy add peer=far tunnel=yes src-address=10.{site}.0.0/24 \
         dst-address=10.{other}.0.0/24 {more}\n"
    )
}

pub(crate) fn router(lab: &Lab, host: &str, config: &str) -> Router {
    Router::start(
        lab,
        &Start {
            host,
            ..Start::with(PACKET, config)
        },
    )
}

/// Starts ferroute on both sites.
fn pair(lab: &Lab, config: impl Fn(u8, u8) -> String) -> [Router; 2] {
    let left = base(1, 2) + &config(1, 2);
    let right = base(2, 1) + &config(2, 1);
    [router(lab, "left", &left), router(lab, "right", &right)]
}

pub(crate) fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1{more} 10.2.0.2"))
}

pub(crate) fn is_established(router: &Router) -> bool {
    let policies = router.rows("/ip/ipsec/policy/print");
    policies.iter().any(|row| row["ph2-state"] == "established")
}

#[test]
fn two_sites_reach_each_other_by_encrypted_packets_only() {
    let test = "two_sites_reach_each_other_by_encrypted_packets_only";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    for exchange in ["main", "aggressive", "ike2"] {
        let peer = format!("exchange-mode={exchange}");
        let routers = pair(&lab, |site, other| policy(site, other, &peer, ""));
        until("a packet gets through", || reaches(&lab, ""));
        for router in &routers {
            until("the policy is established", || is_established(router));
            let peers = router.rows("/ip/ipsec/active-peers/print");
            assert!(
                peers.iter().any(|peer| peer["state"] == "established"),
                "{exchange}: {peers:#?}"
            );
        }
        // Long packets: senders with DF get an error, packets without DF are fragmented.
        assert!(reaches(&lab, " -s 1472 -M dont"), "{exchange}");
        assert!(!reaches(&lab, " -s 1472 -M do"), "{exchange}");
        assert!(reaches(&lab, " -s 1300 -M do"), "{exchange}");
        // Unprotected packets are not accepted.
        let [left, _right] = routers;
        left.exec("/ip/ipsec/policy/disable [find dst-address=10.2.0.0/24]");
        assert!(!reaches(&lab, ""), "{exchange}: in clear");
        left.exec("/ip/ipsec/policy/enable [find dst-address=10.2.0.0/24]");
        until("it is protected again", || reaches(&lab, ""));
    }
}

/// strongSwan with its user-space ESP, which supports only UDP encapsulation and tunnel mode.
pub(crate) struct Swan {
    _server: Server,
    folder: Folder,
}

const PLUGINS: &str = "random nonce aes sha1 sha2 hmac kdf gmp openssl pem pkcs1 pkcs8 pubkey x509 constraints \
                       eap-identity eap-mschapv2 eap-tls xauth-generic unity kernel-libipsec kernel-netlink \
                       socket-default vici updown";

impl Swan {
    pub(crate) fn start(lab: &Lab, connections: &str) -> Self {
        Self::start_in(lab, Folder::new(), connections)
    }

    /// Starts strongSwan with the certificates and keys of a folder.
    pub(crate) fn start_in(lab: &Lab, folder: Folder, connections: &str) -> Self {
        let path = |name: &str| folder.file(name).display().to_string();
        let conf = format!(
            "charon {{\n load_modular = no\n load = {PLUGINS}\n \
             filelog {{\n stderr {{\n default = 1\n }}\n }}\n \
             plugins {{\n vici {{\n socket = unix://{}\n }}\n }}\n}}\n",
            path("vici")
        );
        fs::write(folder.file("strongswan.conf"), conf).expect("a folder of our own");
        fs::write(folder.file("swanctl.conf"), connections).expect("a folder of our own");
        let script = format!(
            "mount -t tmpfs t /run; STRONGSWAN_CONF={} exec /usr/lib/ipsec/charon 2>&1",
            path("strongswan.conf")
        );
        let argv = ["unshare", "-m", "sh", "-c", &script].map(str::to_owned);
        let command = lab
            .command_line("right", &argv)
            .expect("a host of the layout");
        let server = Server::begin(command, "spawning 16 worker threads");
        let swan = Self {
            _server: server,
            folder,
        };
        until("charon takes its connections", || {
            swan.tells(lab, "--load-all --noprompt")
        });
        swan
    }

    pub(crate) fn line(&self, what: &str) -> String {
        let path = |name: &str| self.folder.file(name).display().to_string();
        let file = match what.starts_with("--load") {
            true => format!(" --file {}", path("swanctl.conf")),
            false => String::new(),
        };
        let own = path("vici");
        let own = own.trim_end_matches("/vici");
        format!("env SWANCTL_DIR={own} swanctl {what} --uri unix://{own}/vici{file}")
    }

    pub(crate) fn tells(&self, lab: &Lab, what: &str) -> bool {
        works(lab, "right", &self.line(what))
    }

    pub(crate) fn says(&self, lab: &Lab, what: &str) -> String {
        run(lab, "right", &self.line(what))
    }
}

/// Returns the configuration of strongSwan's connection to the left router.
fn connection(version: u8, proposals: &str, esp: &str) -> String {
    format!(
        "connections {{\n far {{\n version = {version}\n local_addrs = 192.0.2.2\n remote_addrs = 192.0.2.1\n \
         encap = yes\n proposals = {proposals}\n \
         local {{\n auth = psk\n id = 192.0.2.2\n }}\n remote {{\n auth = psk\n id = 192.0.2.1\n }}\n \
         children {{\n net {{\n local_ts = 10.2.0.0/24\n remote_ts = 10.1.0.0/24\n esp_proposals = {esp}\n }}\n }}\n \
         }}\n}}\nsecrets {{\n ike-far {{\n id = 192.0.2.1\n secret = \"correct horse\"\n }}\n}}\n"
    )
}

pub(crate) fn with_swan(test: &str) -> Option<Lab> {
    let lab = have(test, &["ping", "swanctl"]).then(|| lab(test, &SITES))??;
    if !std::path::Path::new("/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so").exists() {
        lab::testing::skip(test, "strongSwan has no ESP of its own (kernel-libipsec)");
        return None;
    }
    shell(
        &lab,
        "right",
        "ip address add 192.0.2.2/24 dev ether2; ip address add 10.2.0.1/24 dev ether1
         echo 1 > /proc/sys/net/ipv4/ip_forward",
    );
    Some(lab)
}

#[test]
fn strongswan_connects_by_both_versions_as_initiator_and_responder() {
    let test = "strongswan_connects_by_both_versions_as_initiator_and_responder";
    let Some(lab) = with_swan(test) else { return };
    for (version, exchange, proposals, esp) in [
        (1, "main", "aes128-sha1-modp2048", "aes256-sha1-modp1024"),
        (2, "ike2", "aes128-sha1-modp2048", "aes256-sha1-modp1024"),
        (2, "ike2", "aes128-sha1-modp2048", "aes256-sha1"),
    ] {
        let swan = Swan::start(&lab, &connection(version, proposals, esp));
        let peer = format!("exchange-mode={exchange}");
        let left = router(&lab, "left", &(base(1, 2) + &policy(1, 2, &peer, "")));
        // This router initiates, since it has packets to send.
        until("a packet gets through", || reaches(&lab, ""));
        let shown = swan.says(&lab, "--list-sas");
        assert!(
            shown.contains("ESTABLISHED") && shown.contains("INSTALLED"),
            "{shown}"
        );
        // strongSwan rekeys both phases.
        assert!(swan.tells(&lab, "--rekey --child net"));
        assert!(reaches(&lab, ""), "{exchange}: after new keys");
        assert!(swan.tells(&lab, "--rekey --ike far"));
        until("it goes on", || reaches(&lab, ""));
        // strongSwan terminates everything, and initiates.
        assert!(swan.tells(&lab, "--terminate --ike far"));
        until("all is gone here, too", || {
            left.rows("/ip/ipsec/installed-sa/print").is_empty()
        });
        assert!(swan.tells(&lab, "--initiate --child net"), "{}", left.log());
        assert!(works(&lab, "two", "ping -q -c 1 -W 2 10.1.0.2"));
        assert!(is_established(&left));
    }
}
