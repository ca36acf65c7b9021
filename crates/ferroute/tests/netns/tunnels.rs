//! Tests tunnels between two sites: EoIP, GRE and IPIP, without and with `ipsec-secret`.
//!
//! The sites are those of `ipsec.rs`.

use lab::Lab;

use crate::ipsec::{SITES, reaches, router};
use crate::world::{Router, have, lab, until, works};

/// Returns the three configuration lines of a tunnel for one side.
fn tunnel(kind: &str, site: u8, other: u8, more: &str) -> String {
    let id = if kind.starts_with("eoip") {
        " tunnel-id=77"
    } else {
        ""
    };
    format!(
        "/interface {kind} add name=t local-address=192.0.2.{site} remote-address=192.0.2.{other}{id} {more}\n\
         /ip address add address=172.16.0.{site}/30 interface=t\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=172.16.0.{other}\n"
    )
}

fn base(site: u8) -> String {
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n"
    )
}

fn pair(lab: &Lab, config: impl Fn(u8, u8) -> String) -> [Router; 2] {
    let left = base(1) + &config(1, 2);
    let right = base(2) + &config(2, 1);
    [router(lab, "left", &left), router(lab, "right", &right)]
}

fn sites(test: &str) -> Option<Lab> {
    have(test, &["ping"]).then(|| lab(test, &SITES))?
}

#[test]
fn tunnels_connect_two_sites_without_and_with_ipsec() {
    let test = "tunnels_connect_two_sites_without_and_with_ipsec";
    let Some(lab) = sites(test) else { return };
    for kind in ["eoip", "gre", "ipip"] {
        for secret in ["", "ipsec-secret=\"correct horse\" allow-fast-path=no"] {
            let routers = pair(&lab, |site, other| tunnel(kind, site, other, secret));
            until("a packet gets through", || reaches(&lab, ""));
            assert!(reaches(&lab, " -s 1472 -M dont"), "{kind} {secret}");
            for router in &routers {
                let pairs = router.rows("/ip/ipsec/installed-sa/print");
                assert_eq!(pairs.is_empty(), secret.is_empty(), "{kind}: {pairs:#?}");
                let made = router.rows("/ip/ipsec/policy/print where dynamic");
                assert_eq!(made.is_empty(), secret.is_empty(), "{kind}: {made:#?}");
            }
        }
    }
}

#[test]
fn eoip_bridges_two_sites_and_fragments_long_packets() {
    let test = "eoip_bridges_two_sites_and_fragments_long_packets";
    let Some(lab) = sites(test) else { return };
    let config = |site: u8, other: u8| {
        format!(
            "/ip address add address=192.0.2.{site}/24 interface=ether2\n\
             /interface eoip add name=t mtu=1500 remote-address=192.0.2.{other} tunnel-id=5\n\
             /interface bridge add name=b protocol-mode=none\n\
             /interface bridge port add bridge=b interface=ether1\n\
             /interface bridge port add bridge=b interface=t\n"
        )
    };
    let _routers = [
        router(&lab, "left", &config(1, 2)),
        router(&lab, "right", &config(2, 1)),
    ];
    for (host, address) in [("one", "10.9.0.1/24"), ("two", "10.9.0.2/24")] {
        assert!(works(
            &lab,
            host,
            &format!("ip address add {address} dev eth0")
        ));
    }
    let ping = |more: &str| works(&lab, "one", &format!("ping -q -c 1 -W 1{more} 10.9.0.2"));
    until("a frame gets through", || ping(""));
    assert!(ping(" -s 1472 -M do"));
}

#[test]
fn a_tunnel_without_keepalive_answers_stops_running_until_answers_return() {
    let test = "a_tunnel_without_keepalive_answers_stops_running_until_answers_return";
    let Some(lab) = sites(test) else { return };
    for kind in ["eoip", "gre"] {
        let config = |site, other| tunnel(kind, site, other, "keepalive=1s,2");
        let [left, right] = pair(&lab, config);
        until("a packet gets through", || reaches(&lab, ""));
        let menu = format!("/interface/{kind}/print");
        let runs = || left.value(&menu, "t", "running") == "true";
        assert!(runs(), "{kind}");
        right.stop();
        until("the tunnel is given up", || !runs());
        let _right = router(&lab, "right", &(base(2) + &config(2, 1)));
        until("it is heard again", runs);
        until("a packet gets through again", || reaches(&lab, ""));
    }
}
