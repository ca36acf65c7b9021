//! The commands of the advice in the home router's configuration: accepted, without mistakes, and alike at both ends.

use std::collections::BTreeSet;

use menu::Store;

use crate::{Client, FarEnd, Keys, Need, VPNS, Who, candidates, figures, secret, texts};

/// Configurations of the lab `home`, and of a site without rules.
const HOME: &str = include_str!("../../lab/configs/home.rsc");
const SITE: &str = "/ip/address/add address=198.51.100.7/24 interface=ether1\n\
                    /ip/address/add address=10.20.0.1/24 interface=ether2\n\
                    /ip/route/add gateway=198.51.100.1\n";

fn check(store: &mut Store, text: &str) {
    let report = script::check(store, text);
    let refused: Vec<_> = report
        .refused
        .iter()
        .map(|refused| (refused.line, &refused.reason))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}

fn mistakes(store: &Store) -> BTreeSet<(&'static str, String)> {
    let findings = doctor::examine(store).into_iter();
    findings
        .map(|finding| (finding.rule.name, finding.said))
        .collect()
}

fn keys() -> Keys {
    let key = |letter: &str| format!("{}E=", letter.repeat(42));
    Keys {
        server: [key("A"), key("B")],
        client: [key("C"), key("D")],
        preshared: key("F"),
        secret: secret([0xA7; 24]),
    }
}

fn public() -> doctor::joined::PublicKeys {
    let keys = keys();
    let pairs = [keys.server, keys.client];
    pairs
        .into_iter()
        .map(|[private, public]| (private, public))
        .collect()
}

fn need(who: Who) -> Need {
    Need {
        who,
        clients: vec![Client::Linux],
        far: FarEnd::RouterOs,
        nat: false,
        only_https: false,
        server: "203.0.113.100".to_owned(),
        client: "198.51.100.7".to_owned(),
        server_network: "192.168.88.0/24".to_owned(),
        client_network: "10.20.0.0/24".to_owned(),
    }
}

#[test]
fn commands_in_the_home_router_are_accepted_and_make_no_mistake() {
    let windows = Need {
        clients: vec![Client::Windows, Client::Apple],
        ..need(Who::RoadWarrior)
    };
    let https = Need {
        only_https: true,
        ..need(Who::RoadWarrior)
    };
    let nat = Need {
        nat: true,
        ..need(Who::Branch)
    };
    let needs = [
        need(Who::RoadWarrior),
        windows,
        https,
        need(Who::Branch),
        nat,
        need(Who::Secret),
    ];
    let mut named = BTreeSet::new();
    for need in needs {
        for (vpn, why) in candidates(&need) {
            assert!(!why.is_empty());
            named.insert(vpn.name);
            let texts = texts(vpn, &need, &keys());
            assert!(texts.len() >= 2, "{}", vpn.name);
            let mut store = schema::store();
            check(&mut store, HOME);
            let before = mistakes(&store);
            check(&mut store, &texts[0].text);
            let after = mistakes(&store);
            let more: Vec<_> = after.difference(&before).collect();
            assert!(more.is_empty(), "{}: {more:?}\n{}", vpn.name, texts[0].text);
        }
    }
    assert_eq!(named, BTreeSet::from(["WireGuard", "IKEv2", "OpenVPN"]));
}

#[test]
fn both_sites_agree_about_the_tunnel() {
    for nat in [false, true] {
        let need = Need {
            nat,
            ..need(Who::Branch)
        };
        for (vpn, _) in candidates(&need) {
            let texts = texts(vpn, &need, &keys());
            let mut stores = [HOME, SITE].map(|base| {
                let mut store = schema::store();
                check(&mut store, base);
                store
            });
            for (store, text) in stores.iter_mut().zip(&texts) {
                check(store, &text.text);
            }
            let found = doctor::joined::compare(&stores[0], &stores[1], &public());
            assert_eq!(found.differences, [], "{} nat={nat}", vpn.name);
            assert!(!found.tunnels.is_empty(), "{} nat={nat}", vpn.name);
            let more: Vec<_> = mistakes(&stores[1])
                .into_iter()
                .filter(|(name, _)| name.contains("ipsec") || name.contains("wireguard"))
                .collect();
            assert!(more.is_empty(), "{more:?}");
        }
    }
}

#[test]
fn figures_are_rows_of_the_benchmark_and_of_the_calculator() {
    let page = include_str!("../../../docs/benchmarks.md");
    for vpn in VPNS {
        let figures = figures(vpn).expect(vpn.name);
        assert!(
            figures.iter().any(|(name, _)| name == "MTU inside"),
            "{}",
            vpn.name
        );
        if let Some(measured) = vpn.measured {
            assert!(page.contains(measured.row), "{}", measured.row);
            let shown = |clocks: u32| match clocks {
                1000.. => format!("{},{:03}", clocks / 1000, clocks % 1000),
                _ => clocks.to_string(),
            };
            for clocks in [measured.clocks_out, measured.clocks_in] {
                assert!(page.contains(&shown(clocks)), "{}: {clocks}", vpn.name);
            }
        }
        if let Some(tcp) = vpn.tcp_mbps {
            let gbps = format!("{}.{:02}", tcp / 1000, tcp % 1000 / 10);
            assert!(page.contains(&gbps), "{}: {gbps}", vpn.name);
        }
    }
}

#[test]
fn other_vendors_get_the_same_algorithms_with_counted_lines() {
    for (far, words) in [
        (FarEnd::Azure, ["GCMAES256", "ECP256"]),
        (FarEnd::Aws, ["AES256-GCM-16", "\"Value\":19"]),
        (FarEnd::Cisco, ["esp-gcm 256", "group19"]),
    ] {
        let need = Need {
            far,
            ..need(Who::Branch)
        };
        let [(vpn, _), _] = candidates(&need);
        let texts = texts(vpn, &need, &keys());
        assert!(texts[1].name.ends_with("lines"), "{}", texts[1].name);
        assert!(
            words.iter().all(|word| texts[1].text.contains(word)),
            "{}",
            texts[1].text
        );
        assert!(texts[1].text.contains(&keys().secret));
    }
}

#[test]
fn the_table_of_characteristics_is_that_of_the_talk() {
    let row = |name: &str| {
        let vpn = VPNS.iter().find(|vpn| vpn.name == name).expect(name);
        let facts = vpn.characteristics;
        (
            facts.interface,
            !facts.encryption.is_empty(),
            !facts.authentication.is_empty(),
            facts.bridged,
        )
    };
    assert_eq!(row("EoIP"), (true, false, false, "yes"));
    assert_eq!(row("IPIP"), (true, false, false, ""));
    assert_eq!(row("PPTP"), (true, true, true, "with BCP"));
    assert_eq!(row("L2TP"), (true, true, true, "with BCP"));
    assert_eq!(row("SSTP"), (true, true, true, "with BCP"));
    assert_eq!(row("GRE"), (true, false, false, ""));
    // The slide has no encryption for IPsec, which exists to encrypt.
    assert_eq!(row("IKEv2"), (false, true, true, ""));
}

#[test]
fn secrets_have_the_characters_that_aws_accepts() {
    for byte in [0, 0x0F, 0xFF] {
        let secret = secret([byte; 24]);
        assert!(secret.starts_with('k') && secret.len() == 49, "{secret}");
        assert!(
            secret.chars().all(|c| c.is_ascii_alphanumeric()),
            "{secret}"
        );
    }
}

#[test]
fn the_profile_for_apple_names_the_kind_of_certificates_and_has_the_authority() {
    let need = need(Who::RoadWarrior);
    let vpn = VPNS.iter().find(|vpn| vpn.name == "IKEv2").expect("IKEv2");
    let texts = texts(vpn, &need, &keys());
    assert!(texts[0].text.contains("key-size=prime256v1"));
    let mut profiles = texts
        .iter()
        .filter(|text| text.name.contains(".mobileconfig"));
    let profile = &profiles.next().expect("a profile").text;
    for part in [
        "<key>CertificateType</key><string>ECDSA256</string>",
        "<string>com.apple.security.root</string>",
        "<data>BASE64 OF vpn-ca.crt (DER)</data>",
    ] {
        assert!(profile.contains(part), "{part}");
    }
    assert_eq!(
        profile.matches("<dict>").count(),
        profile.matches("</dict>").count()
    );
    // Each payload has its own identifier.
    let mut identifiers: Vec<_> = profile
        .split("5C3A5A1F")
        .skip(1)
        .map(|rest| &rest[..4])
        .collect();
    identifiers.sort_unstable();
    assert_eq!(identifiers, ["0001", "0002", "0003", "0003", "0004"]);
}

#[test]
fn time_servers_of_the_router_stay() {
    let vpn = VPNS.iter().find(|vpn| vpn.name == "IKEv2").expect("IKEv2");
    let commands = texts(vpn, &need(Who::RoadWarrior), &keys());
    let servers = |before: &str| {
        let mut store = schema::store();
        check(&mut store, HOME);
        check(&mut store, before);
        check(&mut store, &commands[0].text);
        let client = store.settings("/system/ntp/client").expect("settings");
        assert!(client.is("enabled"));
        client.get("servers").map(ToString::to_string)
    };
    let own = "/system/ntp/client/set enabled=yes servers=192.168.88.2\n";
    assert_eq!(servers(own).as_deref(), Some("192.168.88.2"));
    assert_eq!(servers("").as_deref(), Some("pool.ntp.org"));
}
