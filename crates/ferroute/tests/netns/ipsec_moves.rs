//! Tests IPsec with changing addresses: the router's own, and that of a road warrior.

use crate::ipsec::{SITES, Swan, base, policy, reaches, router, with_swan};
use crate::world::{Router, have, lab, run, until};

/// Configures a router that accepts peers with the pre-shared key from any address of the network between. Its route to
/// the other site has a gateway that does not exist: IPsec sends protected packets to the peer instead.
fn server(site: u8, other: u8, exchange: &str) -> String {
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /ip arp add address=192.0.2.254 mac-address=02:00:00:00:00:fe interface=ether2\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=192.0.2.254\n\
         /ip ipsec peer add name=far address=192.0.2.0/24 passive=yes exchange-mode={exchange}\n\
         /ip ipsec identity add peer=far secret=\"correct horse\" generate-policy=port-strict\n"
    )
}

/// Returns the remote addresses of established IKE SAs.
fn remotes(router: &Router) -> Vec<String> {
    let rows = router.rows("/ip/ipsec/active-peers/print");
    let there = rows.iter().filter(|row| row["state"] == "established");
    let text = |row: &serde_json::Value| {
        row["remote-address"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    there.map(text).collect()
}

#[test]
fn a_tunnel_follows_the_routers_own_address() {
    let test = "a_tunnel_follows_the_routers_own_address";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    for exchange in ["main", "ike2"] {
        let peer = format!("exchange-mode={exchange}");
        let config = base(1, 2) + &policy(1, 2, &peer, "");
        let left = router(&lab, "left", &config);
        let right = router(&lab, "right", &server(2, 1, exchange));
        until("a packet gets through", || reaches(&lab, ""));
        assert_eq!(remotes(&right), ["192.0.2.1"], "{exchange}");
        let begun = left.rows("/ip/ipsec/active-peers/print")[0]["spii"].clone();

        left.exec("/ip/address/set [find interface=ether2] address=192.0.2.9/24");
        until("a packet gets through from the new address", || {
            reaches(&lab, "") && remotes(&right) == ["192.0.2.9"]
        });
        let now = left.rows("/ip/ipsec/active-peers/print")[0]["spii"].clone();
        // IKEv2 keeps its SAs (MOBIKE, RFC 4555).
        assert_eq!(
            begun == now,
            exchange == "ike2",
            "{exchange}: {}",
            left.log()
        );
    }
}

#[test]
fn a_road_warrior_with_strongswan_changes_networks() {
    let test = "a_road_warrior_with_strongswan_changes_networks";
    let Some(lab) = with_swan(test) else { return };
    let config = server(1, 2, "ike2");
    let left = router(&lab, "left", &config);
    let traveller = "connections {\n far {\n version = 2\n remote_addrs = 192.0.2.1\n encap = yes\n \
         proposals = aes128-sha1-modp2048\n local {\n auth = psk\n id = traveller\n }\n \
         remote {\n auth = psk\n }\n children {\n net {\n local_ts = 10.2.0.0/24\n \
         remote_ts = 10.1.0.0/24\n esp_proposals = aes256-sha1-modp1024\n }\n }\n }\n}\n\
         secrets {\n ike-far {\n secret = \"correct horse\"\n }\n}\n";
    let swan = Swan::start(&lab, traveller);
    until("the traveller is there", || {
        swan.tells(&lab, "--initiate --child net --timeout 5")
    });
    until("a packet gets through", || reaches(&lab, ""));
    let begun = left.rows("/ip/ipsec/active-peers/print")[0]["spii"].clone();

    run(&lab, "right", "ip address del 192.0.2.2/24 dev ether2");
    run(&lab, "right", "ip address add 192.0.2.22/24 dev ether2");
    until("the traveller is heard from its new address", || {
        remotes(&left) == ["192.0.2.22"]
    });
    until("a packet gets through", || reaches(&lab, ""));
    let now = left.rows("/ip/ipsec/active-peers/print")[0]["spii"].clone();
    assert_eq!(begun, now, "the same IKE SA: {}", left.log());
}
