//! IPsec algorithms and unused items.

use menu::Item;

use crate::config::{Config, shown, title, words};
use crate::rule::{Rule, Severity};

const PEER: &str = "/ip/ipsec/peer";
const IDENTITY: &str = "/ip/ipsec/identity";
const POLICY: &str = "/ip/ipsec/policy";

pub(super) const IPSEC_AUTH_VS_EXCHANGE: Rule = Rule {
    name: "ipsec-auth-vs-exchange",
    severity: Severity::Error,
    cause: "the peer's exchange mode does not support the identity's method: EAP requires IKEv2, XAuth requires IKEv1",
    mend: "set exchange-mode=ike2 for EAP, main or aggressive for XAuth",
    find: |config, found| {
        let peers = config.enabled(PEER);
        for identity in config.enabled(IDENTITY) {
            let method = identity.text("auth-method");
            let of_ike2 = match method {
                "eap" | "eap-radius" => true,
                "pre-shared-key-xauth" | "rsa-signature-hybrid" => false,
                _ => continue,
            };
            let name = identity.text("peer");
            let Some(peer) = peers.iter().find(|peer| peer.text("name") == name) else {
                continue;
            };
            let exchange = shown(peer, "exchange-mode");
            if of_ike2 != (exchange == "ike2") {
                let said = format!("{method} with {name}, whose exchange-mode is {exchange}");
                let wanted = if of_ike2 { "ike2" } else { "main" };
                let fix = format!("{PEER}/set {} exchange-mode={wanted}", peer.id);
                found.fixed(&[identity, peer], said, vec![fix]);
            }
        }
    },
};

/// Obsolete algorithms (RFC 8221, 5 and 6; RFC 8247, 2): 56-bit keys, 64-bit blocks, weak groups, MD5, null
/// encryption.
const WEAK: &[(&str, &[&str])] = &[
    ("enc-algorithm", &["des", "3des", "blowfish"]),
    ("enc-algorithms", &["des", "3des", "blowfish", "null"]),
    ("hash-algorithm", &["md5"]),
    ("auth-algorithms", &["md5"]),
    ("dh-group", &["modp768", "modp1024"]),
    ("pfs-group", &["modp768", "modp1024"]),
];

pub(super) const IPSEC_WEAK_ALGORITHM: Rule = Rule {
    name: "ipsec-weak-algorithm",
    severity: Severity::Warning,
    cause: "attackers who record packets with these ciphers, hashes or groups can read or forge them now or in the \
            near future",
    mend: "use aes-128 or better (aes-128-gcm for packets), sha256, and modp2048, ecp256 or x25519",
    find: |config, found| {
        let profiles = used(config, "/ip/ipsec/profile", PEER, "profile");
        let proposals = used(config, "/ip/ipsec/proposal", POLICY, "proposal");
        for item in profiles.into_iter().chain(proposals) {
            let weak: Vec<_> = WEAK
                .iter()
                .filter_map(|(property, words)| weak(item, property, words))
                .collect();
            if !weak.is_empty() {
                found.add(
                    &[item],
                    format!("{} has {}", title(item), weak.join(" and ")),
                );
            }
        }
    },
};

/// Returns the items of a menu that other items name.
fn used<'c>(config: &Config<'c>, menu: &str, by: &str, property: &str) -> Vec<&'c Item> {
    let by = config.enabled(by);
    let names: Vec<_> = by
        .iter()
        .flat_map(|item| words(item.get(property)))
        .collect();
    let mut items = config.enabled(menu);
    items.retain(|item| names.contains(&item.text("name")));
    items
}

/// Returns a message about weak values that the user set; RouterOS's defaults serve older peers.
fn weak(item: &Item, property: &str, weak_words: &[&str]) -> Option<String> {
    let declared = item.menu.property(property)?;
    let value = item.get(property)?;
    if declared
        .default
        .is_some_and(|usual| usual == value.to_string())
    {
        return None;
    }
    let weak: Vec<_> = words(Some(value))
        .into_iter()
        .filter(|word| weak_words.contains(word))
        .collect();
    (!weak.is_empty()).then(|| format!("{property}={}", weak.join(",")))
}
