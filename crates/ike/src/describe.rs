//! Log texts: proposals of a peer, configured algorithms, names of errors.

use crate::config::{Profile, Proposal};
use crate::message::{Offer, Transform, Version};
use crate::suite::{Encryption, Group};

/// Maximum lines per message: a peer may offer thousands of combinations.
const MAX_LINES: usize = 16;

/// Describes the proposals of a message, one line each, at most [`MAX_LINES`] and a final note.
pub(crate) fn offers(version: Version, offers: &[Offer]) -> Vec<String> {
    let mut lines = Vec::new();
    for offer in offers {
        match version {
            Version::One => {
                let is_phase1 = offer.protocol == 1;
                let describe = if is_phase1 { phase1 } else { phase2 };
                let all = offer.transforms.iter().map(describe);
                lines.extend(all.map(|text| format!("offered #{}: {text}", offer.number)));
            }
            Version::Two => {
                let texts: Vec<_> = offer.transforms.iter().map(transform).collect();
                let texts = texts.join(" ");
                lines.push(format!("offered #{}: {texts}", offer.number));
            }
        }
        if lines.len() > MAX_LINES {
            lines.truncate(MAX_LINES);
            lines.push("offered: and more".to_owned());
            break;
        }
    }
    lines
}

/// Describes a profile with its menu keywords.
pub(crate) fn profile(profile: &Profile) -> String {
    let hashes = list(profile.hash.iter().map(|hash| hash.name()));
    let ciphers = list(profile.encryption.iter().map(|cipher| cipher.name()));
    let groups = list(profile.groups.iter().map(|group| group.name()));
    format!(
        "configured in profile {}: hash-algorithm={hashes} enc-algorithm={ciphers} dh-group={groups}",
        profile.name
    )
}

/// Describes a proposal with its menu keywords.
pub(crate) fn proposal(proposal: &Proposal) -> String {
    let hashes = list(proposal.auth.iter().map(|hash| hash.name()));
    let ciphers = list(
        proposal
            .encryption
            .iter()
            .map(|cipher| cipher_name(*cipher)),
    );
    let group = proposal.pfs.map_or("none", Group::name);
    format!(
        "configured in proposal {}: auth-algorithms={hashes} enc-algorithms={ciphers} pfs-group={group}",
        proposal.name
    )
}

const fn cipher_name(cipher: Encryption) -> &'static str {
    cipher.name()
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(",")
}

/// Describes a transform of IKEv1, phase 1 (RFC 2409, appendix A).
fn phase1(one: &Transform) -> String {
    let bits = one.value(14);
    let cipher = match one.value(1) {
        Some(1) => named("des", None),
        Some(3) => named("blowfish", bits),
        Some(5) => named("3des", None),
        Some(7) => named("aes", bits),
        Some(8) => named("camellia", bits),
        other => number("encryption", other),
    };
    let hash = match one.value(2) {
        Some(1) => "md5".to_owned(),
        Some(2) => "sha1".to_owned(),
        Some(4) => "sha256".to_owned(),
        Some(5) => "sha384".to_owned(),
        Some(6) => "sha512".to_owned(),
        other => number("hash", other),
    };
    let method = match one.value(3) {
        Some(1) => "pre-shared-key".to_owned(),
        Some(3) => "rsa-signature".to_owned(),
        Some(65_001) => "xauth-psk".to_owned(),
        other => number("method", other),
    };
    format!("{cipher} {hash} {} {method}", group(one.value(4)))
}

/// Describes a transform of IKEv1, phase 2 (RFC 2407, 4.4 and 4.5).
fn phase2(one: &Transform) -> String {
    let bits = one.value(6);
    let cipher = match one.id {
        2 => named("des", None),
        3 => named("3des", None),
        7 => named("blowfish", bits),
        11 => named("null", None),
        12 => named("aes-cbc", bits),
        13 => named("aes-ctr", bits),
        20 => named("aes-gcm", bits),
        22 => named("camellia", bits),
        other => number("transform", Some(other.into())),
    };
    let hash = match one.value(5) {
        None => "no-auth".to_owned(),
        Some(1) => "md5".to_owned(),
        Some(2) => "sha1".to_owned(),
        Some(5) => "sha256".to_owned(),
        Some(6) => "sha384".to_owned(),
        Some(7) => "sha512".to_owned(),
        other => number("auth", other),
    };
    let mode = match one.value(4) {
        Some(1 | 3) => "tunnel".to_owned(),
        Some(2 | 4) => "transport".to_owned(),
        other => number("mode", other),
    };
    let pfs = one
        .value(3)
        .map_or("no-pfs".to_owned(), |id| group(Some(id)));
    format!("{cipher} {hash} {pfs} {mode}")
}

/// Describes a transform of IKEv2 (RFC 7296, 3.3.2).
fn transform(one: &Transform) -> String {
    let bits = one.value(14);
    let id = u64::from(one.id);
    match one.kind {
        1 => match one.id {
            2 => named("des", None),
            3 => named("3des", None),
            7 => named("blowfish", bits),
            11 => named("null", None),
            12 => named("aes-cbc", bits),
            13 => named("aes-ctr", bits),
            18..=20 => named("aes-gcm", bits),
            23 => named("camellia", bits),
            28 => named("chacha20poly1305", None),
            _ => number("encryption", Some(id)),
        },
        2 => match one.id {
            1 => "prf-md5".to_owned(),
            2 => "prf-sha1".to_owned(),
            5 => "prf-sha256".to_owned(),
            6 => "prf-sha384".to_owned(),
            7 => "prf-sha512".to_owned(),
            _ => number("prf", Some(id)),
        },
        3 => match one.id {
            1 => "md5".to_owned(),
            2 => "sha1".to_owned(),
            12 => "sha256".to_owned(),
            13 => "sha384".to_owned(),
            14 => "sha512".to_owned(),
            _ => number("auth", Some(id)),
        },
        4 => group(Some(id)),
        5 => if one.id == 0 { "no-esn" } else { "esn" }.to_owned(),
        kind => format!("type-{kind}:{id}"),
    }
}

fn named(name: &str, bits: Option<u64>) -> String {
    bits.map_or(name.to_owned(), |bits| format!("{name}-{bits}"))
}

fn number(what: &str, value: Option<u64>) -> String {
    value.map_or(format!("no-{what}"), |value| format!("{what}:{value}"))
}

fn group(id: Option<u64>) -> String {
    let known = id.and_then(|id| u16::try_from(id).ok()).and_then(Group::of);
    known.map_or(number("group", id), |group| group.name().to_owned())
}

/// Returns the name of an IKEv2 error (RFC 7296, 3.10.1).
pub(crate) const fn error(number: u16) -> &'static str {
    match number {
        1 => "UNSUPPORTED_CRITICAL_PAYLOAD",
        4 => "INVALID_IKE_SPI",
        5 => "INVALID_MAJOR_VERSION",
        7 => "INVALID_SYNTAX",
        9 => "INVALID_MESSAGE_ID",
        11 => "INVALID_SPI",
        14 => "NO_PROPOSAL_CHOSEN",
        17 => "INVALID_KE_PAYLOAD",
        24 => "AUTHENTICATION_FAILED",
        34 => "SINGLE_PAIR_REQUIRED",
        35 => "NO_ADDITIONAL_SAS",
        36 => "INTERNAL_ADDRESS_FAILURE",
        37 => "FAILED_CP_REQUIRED",
        38 => "TS_UNACCEPTABLE",
        39 => "INVALID_SELECTORS",
        40 => "UNACCEPTABLE_ADDRESSES",
        43 => "TEMPORARY_FAILURE",
        44 => "CHILD_SA_NOT_FOUND",
        _ => "unknown error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Attribute;

    #[test]
    fn offers_are_named_as_menus_name_them() {
        let one = |kind, id, bits: Option<u64>| Transform {
            kind,
            id,
            attributes: bits
                .map(|bits| Attribute::number(14, bits))
                .into_iter()
                .collect(),
        };
        let offer = Offer {
            number: 1,
            protocol: 1,
            spi: Vec::new(),
            transforms: vec![
                one(1, 12, Some(256)),
                one(2, 5, None),
                one(3, 12, None),
                one(4, 14, None),
                one(4, 4711, None),
            ],
        };
        assert_eq!(
            offers(Version::Two, &[offer]),
            ["offered #1: aes-cbc-256 prf-sha256 sha256 modp2048 group:4711"]
        );
        let attributes = [(1, 7), (14, 128), (2, 2), (3, 1), (4, 2)];
        let offer = Offer {
            number: 1,
            protocol: 1,
            spi: Vec::new(),
            transforms: vec![Transform {
                kind: 1,
                id: 1,
                attributes: attributes
                    .map(|(kind, value)| Attribute::number(kind, value))
                    .into(),
            }],
        };
        assert_eq!(
            offers(Version::One, &[offer]),
            ["offered #1: aes-128 sha1 modp1024 pre-shared-key"]
        );
    }
}
