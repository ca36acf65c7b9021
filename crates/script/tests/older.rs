//! Configurations of older versions are converted as RouterOS converts them on an upgrade.

use menu::{Offline, Store};
use script::Session;

fn import(text: &str) -> Result<Store, String> {
    let (mut store, mut session) = (schema::store(), Session::new("admin"));
    let mark = store.begin();
    for name in ["ether1", "ether2", "ether3", "ether4"] {
        store.ensure_port(name, None).expect("a port's name");
    }
    store.commit(mark).expect("no journal");
    let mut out = String::new();
    let done = script::import(&mut store, &mut Offline, &mut session, text, &mut out);
    done.map_err(|refusal| refusal.to_string())?;
    Ok(store)
}

/// The output of a line.
fn put(store: &mut Store, what: &str) -> String {
    let (mut session, mut out) = (Session::new("admin"), String::new());
    let text = format!(":put {what}");
    let done = script::run(store, &mut Offline, &mut session, &text, &mut out);
    done.unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    out.trim_end().to_owned()
}

fn all(store: &mut Store, expected: &[(&str, &str)]) {
    for (what, value) in expected {
        assert_eq!(put(store, what), *value, "{what}");
    }
}

#[test]
fn an_ipsec_peer_before_6_43_becomes_profile_peer_and_identity() {
    let mut store = import(
        "/ip ipsec peer\n\
         add address=192.0.2.1/32 auth-method=pre-shared-key dh-group=modp2048 dpd-interval=20s \\\n\
             enc-algorithm=aes-256,3des exchange-mode=ike2 generate-policy=port-strict \\\n\
             hash-algorithm=sha256 key=none lifetime=8h local-address=:: nat-traversal=no secret=one\n\
         add address=192.0.2.2/32 auth-method=rsa-signature certificate=own disabled=yes \\\n\
             enc-algorithm=aes-128\n\
         /ip ipsec policy\n\
         add dst-address=10.2.0.0/16 sa-dst-address=192.0.2.1 sa-src-address=192.0.2.9 \\\n\
             src-address=10.1.0.0/16 tunnel=yes",
    )
    .expect("an older configuration");

    let peer = "[/ip/ipsec/peer/get peer1";
    let profile = "[/ip/ipsec/profile/get profile_1";
    let identity = "[/ip/ipsec/identity/get [find where peer=peer1]";
    let second = "[/ip/ipsec/identity/get [find where peer=peer2]";
    all(
        &mut store,
        &[
            (&format!("{peer} profile]"), "profile_1"),
            (&format!("{peer} exchange-mode]"), "ike2"),
            (&format!("[:len {peer} local-address]]"), "0"),
            (&format!("{profile} enc-algorithm]"), "aes-256;3des"),
            (&format!("{profile} hash-algorithm]"), "sha256"),
            (&format!("{profile} dh-group]"), "modp2048"),
            (&format!("{profile} dpd-interval]"), "00:00:20"),
            (&format!("{profile} lifetime]"), "08:00:00"),
            (&format!("{profile} nat-traversal]"), "false"),
            (&format!("{identity} secret]"), "one"),
            (&format!("{identity} generate-policy]"), "port-strict"),
            (&format!("{identity} disabled]"), "false"),
            ("[/ip/ipsec/peer/get peer2 profile]", "profile_2"),
            (&format!("{second} auth-method]"), "digital-signature"),
            (&format!("{second} certificate]"), "own"),
            (&format!("{second} disabled]"), "true"),
            ("[:len [/ip/ipsec/policy/find where !template]]", "1"),
        ],
    );
}

#[test]
fn an_ipsec_peer_of_version_7_stays_unchanged() {
    let mut store = import("/ip ipsec peer add address=192.0.2.1/32 name=p disabled=yes comment=x")
        .expect("a configuration");

    all(
        &mut store,
        &[
            ("[:len [/ip/ipsec/identity/find]]", "0"),
            ("[:len [/ip/ipsec/profile/find]]", "1"),
        ],
    );
}

#[test]
fn removed_ciphers_are_refused_with_the_reason() {
    for text in [
        "/ip ipsec peer add address=192.0.2.1/32 enc-algorithm=aes-128,blowfish secret=x",
        "/ip ipsec profile add name=p enc-algorithm=camellia-256",
    ] {
        let refused = import(text).expect_err("no such cipher");
        assert!(
            refused.contains("RouterOS 7 encrypts key exchanges with AES"),
            "{refused}"
        );
    }
    for text in [
        "/ip ipsec peer add address=192.0.2.1/32 dh-group=ec2n155 secret=x",
        "/ip ipsec proposal add name=p pfs-group=ec2n185",
    ] {
        let refused = import(text).expect_err("no such group");
        assert!(
            refused.contains("no groups over binary fields"),
            "{refused}"
        );
    }
    let moved = import("/ip ipsec peer add name=p\n/ip ipsec peer set p secret=x");
    let moved = moved.expect_err("it has moved");
    assert!(
        moved.contains("secret is set in /ip/ipsec/identity now"),
        "{moved}"
    );
}

#[test]
fn a_master_port_becomes_a_bridge_that_takes_over_its_configuration() {
    let mut store = import(
        "/interface ethernet\n\
         set [find default-name=ether2] name=lan\n\
         set [find default-name=ether3] master-port=lan\n\
         set [find default-name=ether4] master-port=lan\n\
         /interface vlan add interface=lan name=guest vlan-id=5\n\
         /ip address add address=192.168.88.1/24 interface=lan\n\
         /ip firewall filter add chain=input in-interface=lan",
    )
    .expect("an older configuration");

    let port = |name: &str| {
        format!("[/interface/bridge/port/get [find where interface={name} bridge=bridge1] hw]")
    };
    all(
        &mut store,
        &[
            ("[/interface/bridge/get bridge1 protocol-mode]", "none"),
            (&port("lan"), "true"),
            (&port("ether3"), "true"),
            (&port("ether4"), "true"),
            ("[/ip/address/get [find] interface]", "bridge1"),
            ("[/interface/vlan/get guest interface]", "bridge1"),
            ("[/ip/firewall/filter/get [find] in-interface]", "bridge1"),
            (
                "[:len [/interface/ethernet/find where master-port~\".\"]]",
                "0",
            ),
        ],
    );
}

#[test]
fn a_check_converts_what_an_import_converts() {
    let mut store = schema::store();
    let mark = store.begin();
    for name in ["ether1", "ether2", "ether3"] {
        store.ensure_port(name, None).expect("a port's name");
    }
    store.commit(mark).expect("no journal");
    let text = "/interface ethernet set ether3 master-port=ether2";
    let report = script::check(&mut store, text);

    assert!(report.refused.is_empty(), "{:?}", report.refused);
    let members = "[:len [/interface/bridge/port/find where bridge=bridge1]]";
    all(&mut store, &[(members, "2")]);
    // Only the conversion detects that a bridge cannot be a port of another one.
    let text = "/interface bridge add name=lan\n/interface ethernet set ether1 master-port=lan";
    let report = script::check(&mut store, text);
    assert_eq!(report.refused.len(), 1, "{:?}", report.refused);
    assert_eq!(report.refused[0].line, 2);
}

#[test]
fn ports_join_the_bridge_that_their_master_port_is_in() {
    let mut store = import(
        "/interface bridge add name=bridge-local\n\
         /interface ethernet set ether3 master-port=ether2\n\
         /interface bridge port add bridge=bridge-local interface=ether2\n\
         /ip address add address=192.168.88.1/24 interface=bridge-local\n\
         /ip settings set max-arp-entries=4096",
    )
    .expect("an older configuration");

    all(
        &mut store,
        &[
            ("[:len [/interface/bridge/find]]", "1"),
            (
                "[/interface/bridge/port/get [find where interface=ether3] bridge]",
                "bridge-local",
            ),
            ("[/ip/settings/get max-neighbor-entries]", "4096"),
        ],
    );
}
