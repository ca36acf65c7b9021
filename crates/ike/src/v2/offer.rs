//! Proposals of IKEv2 (RFC 7296, 3.3): of IKE SAs, and of ESP and AH pairs.

use super::keys::Agreed;
use crate::config::{Policy, Profile, Protocol};
use crate::message::{Attribute, Offer, Transform};
use crate::suite::{ChildSuite, Cipher, Encryption, Group, Hash, Kind};

/// Transform types.
const ENCRYPTION: u8 = 1;
const PRF: u8 = 2;
const INTEGRITY: u8 = 3;
const GROUP: u8 = 4;
const SEQUENCE: u8 = 5;
/// Attribute: key length.
const LENGTH: u16 = 14;

fn transform(kind: u8, id: u16, bits: Option<u16>) -> Transform {
    let attributes = bits.map(|bits| Attribute::number(LENGTH, u64::from(bits)));
    Transform {
        kind,
        id,
        attributes: attributes.into_iter().collect(),
    }
}

const fn cipher_number(cipher: Cipher) -> (u16, Option<u16>) {
    match cipher {
        Cipher::Des => (2, None),
        Cipher::TripleDes => (3, None),
        Cipher::Blowfish => (7, Some(128)),
        Cipher::Aes128 => (12, Some(128)),
        Cipher::Aes192 => (12, Some(192)),
        Cipher::Aes256 => (12, Some(256)),
        Cipher::Camellia128 => (23, Some(128)),
        Cipher::Camellia192 => (23, Some(192)),
        Cipher::Camellia256 => (23, Some(256)),
    }
}

const fn kind_number(kind: Kind) -> Option<u16> {
    Some(match kind {
        Kind::Des => 2,
        Kind::TripleDes => 3,
        Kind::Blowfish => 7,
        Kind::Null => 11,
        Kind::AesCbc => 12,
        Kind::AesCtr => 13,
        Kind::AesGcm => 20,
        Kind::Camellia => 23,
        Kind::ChaCha20Poly1305 => 28,
        Kind::Twofish => return None,
    })
}

const fn prf_number(hash: Hash) -> u16 {
    match hash {
        Hash::Md5 => 1,
        Hash::Sha1 => 2,
        Hash::Sha256 => 5,
        Hash::Sha384 => 6,
        Hash::Sha512 => 7,
    }
}

const fn integrity_number(hash: Hash) -> u16 {
    match hash {
        Hash::Md5 => 1,
        Hash::Sha1 => 2,
        Hash::Sha256 => 12,
        Hash::Sha384 => 13,
        Hash::Sha512 => 14,
    }
}

fn prfs(profile: &Profile) -> Vec<Hash> {
    profile
        .prf
        .map_or_else(|| profile.hash.clone(), |prf| vec![prf])
}

/// Builds the proposal of an IKE SA. `spi` is set for rekeying.
pub(super) fn ike(profile: &Profile, spi: Option<u64>) -> Vec<Offer> {
    let mut transforms = Vec::new();
    for cipher in &profile.encryption {
        let (number, bits) = cipher_number(*cipher);
        transforms.push(transform(ENCRYPTION, number, bits));
    }
    for hash in prfs(profile) {
        transforms.push(transform(PRF, prf_number(hash), None));
    }
    for hash in &profile.hash {
        transforms.push(transform(INTEGRITY, integrity_number(*hash), None));
    }
    for group in &profile.groups {
        transforms.push(transform(GROUP, group.number(), None));
    }
    vec![Offer {
        number: 1,
        protocol: 1,
        spi: spi
            .map(|spi| spi.to_be_bytes().to_vec())
            .unwrap_or_default(),
        transforms,
    }]
}

/// Returns the first of these transforms in the peer's order.
fn first<T: Copy>(
    offer: &Offer,
    kind: u8,
    own: &[T],
    number: impl Fn(T) -> (u16, Option<u16>),
) -> Option<T> {
    let transforms = offer.transforms.iter().filter(|one| one.kind == kind);
    transforms.into_iter().find_map(|one| {
        let bits = one.value(LENGTH);
        let mut own = own.iter().copied();
        own.find(|own| {
            let (id, wanted) = number(*own);
            // Blowfish may be offered with or without its key length.
            id == one.id && (bits == wanted.map(u64::from) || (bits.is_none() && id == 7))
        })
    })
}

/// Selects the algorithms of an IKE SA; prefers the group whose public value was sent.
pub(super) fn choose_ike(
    offers: &[Offer],
    profile: &Profile,
    sent: Option<Group>,
) -> Option<(Offer, Agreed)> {
    offers
        .iter()
        .filter(|offer| offer.protocol == 1)
        .find_map(|offer| {
            let cipher = first(offer, ENCRYPTION, &profile.encryption, cipher_number)?;
            let prf = first(offer, PRF, &prfs(profile), |hash| (prf_number(hash), None))?;
            let integrity = first(offer, INTEGRITY, &profile.hash, |hash| {
                (integrity_number(hash), None)
            })?;
            let number = |group: Group| (group.number(), None);
            let sent = sent.filter(|sent| profile.groups.contains(sent));
            let liked = sent.and_then(|sent| first(offer, GROUP, &[sent], number));
            let group = liked.or_else(|| first(offer, GROUP, &profile.groups, number))?;
            let (cipher_id, bits) = cipher_number(cipher);
            let transforms = vec![
                transform(ENCRYPTION, cipher_id, bits),
                transform(PRF, prf_number(prf), None),
                transform(INTEGRITY, integrity_number(integrity), None),
                transform(GROUP, group.number(), None),
            ];
            let agreed = Agreed {
                cipher,
                integrity,
                prf,
                group,
            };
            Some((
                Offer {
                    transforms,
                    ..offer.clone()
                },
                agreed,
            ))
        })
}

fn encryption_number(encryption: Encryption) -> (u16, Option<u16>) {
    let fixed = matches!(
        encryption.kind,
        Kind::Des | Kind::TripleDes | Kind::Null | Kind::ChaCha20Poly1305
    );
    // Zero is no transform ID of an encryption.
    (
        kind_number(encryption.kind).unwrap_or(0),
        (!fixed).then_some(encryption.bits),
    )
}

/// Builds the proposals of a pair: AEAD ciphers separately, since they have no integrity transform (RFC 7296,
/// 3.3.3).
pub(super) fn child(policy: &Policy, spi: u32, group: Option<Group>) -> Vec<Offer> {
    let known = policy
        .proposal
        .encryption
        .iter()
        .filter(|one| kind_number(one.kind).is_some());
    let (aeads, others): (Vec<&Encryption>, Vec<&Encryption>) =
        known.partition(|one| one.is_aead());
    let protocol = if policy.ipsec == Protocol::Ah { 2 } else { 3 };
    let integrity = policy.proposal.auth.iter();
    let integrity: Vec<_> = integrity
        .map(|hash| transform(INTEGRITY, integrity_number(*hash), None))
        .collect();
    let ends = || {
        let group = group.map(|group| transform(GROUP, group.number(), None));
        group.into_iter().chain([transform(SEQUENCE, 0, None)])
    };
    let mut lists = Vec::new();
    if protocol == 2 {
        lists.push(integrity.clone());
    }
    let of = |list: &[&Encryption]| {
        let numbers = list.iter().map(|one| encryption_number(**one));
        numbers
            .map(|(id, bits)| transform(ENCRYPTION, id, bits))
            .collect::<Vec<_>>()
    };
    if protocol == 3 && !others.is_empty() {
        lists.push([of(&others), integrity].concat());
    }
    if protocol == 3 && !aeads.is_empty() {
        lists.push(of(&aeads));
    }
    // The first cipher of the configuration comes first in the proposals.
    let aead_first = policy
        .proposal
        .encryption
        .first()
        .is_some_and(|one| one.is_aead());
    if aead_first && protocol == 3 {
        lists.reverse();
    }
    let offers = lists.into_iter().enumerate().map(|(at, mut transforms)| {
        transforms.extend(ends());
        Offer {
            number: at as u8 + 1,
            protocol,
            spi: spi.to_be_bytes().to_vec(),
            transforms,
        }
    });
    offers.collect()
}

/// Negotiated algorithms of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) suite: ChildSuite,
    pub(super) group: Option<Group>,
    /// SPI of the peer.
    pub(super) spi: u32,
}

/// Selects the group. The inner `None` means that the peer needs none; the outer one refuses the offer.
fn choose_group(offer: &Offer, policy: &Policy) -> Option<Option<Group>> {
    if let Some(group) = policy.proposal.pfs {
        let number = |group: Group| (group.number(), None);
        return first(offer, GROUP, &[group], number).map(Some);
    }
    // Without a configured group, the peer's group is accepted.
    let groups = offer.transforms.iter().filter(|one| one.kind == GROUP);
    let mut groups = groups.map(|one| (one.id != 0).then_some(one.id));
    groups.find_map(|id| id.map_or(Some(None), |id| Group::of(id).map(Some)))
}

/// Selects the algorithms of a pair. `with_group` is false in IKE_AUTH, which has no groups.
pub(super) fn choose_child(
    offers: &[Offer],
    policy: &Policy,
    with_group: bool,
) -> Option<(Offer, Chosen)> {
    let protocol = if policy.ipsec == Protocol::Ah { 2 } else { 3 };
    offers
        .iter()
        .filter(|offer| offer.protocol == protocol)
        .find_map(|offer| {
            let has = |kind: u8| offer.transforms.iter().any(|one| one.kind == kind);
            let short = offer
                .transforms
                .iter()
                .any(|one| one.kind == SEQUENCE && one.id == 0);
            if has(SEQUENCE) && !short {
                return None;
            }
            let mut transforms = Vec::new();
            let encryption = if protocol == 2 {
                Encryption::new(Kind::Null, 0)
            } else {
                let known = policy
                    .proposal
                    .encryption
                    .iter()
                    .filter(|one| kind_number(one.kind).is_some());
                let known: Vec<_> = known.copied().collect();
                let chosen = first(offer, ENCRYPTION, &known, encryption_number)?;
                let (id, bits) = encryption_number(chosen);
                transforms.push(transform(ENCRYPTION, id, bits));
                chosen
            };
            let none = encryption.is_aead() || (policy.proposal.auth.is_empty() && !has(INTEGRITY));
            let authentication = if none {
                None
            } else {
                let number = |hash| (integrity_number(hash), None);
                let hash = first(offer, INTEGRITY, &policy.proposal.auth, number)?;
                transforms.push(transform(INTEGRITY, integrity_number(hash), None));
                Some(hash)
            };
            let group = match with_group && has(GROUP) {
                true => choose_group(offer, policy)?,
                false => None,
            };
            transforms.extend(group.map(|group| transform(GROUP, group.number(), None)));
            if has(SEQUENCE) {
                transforms.push(transform(SEQUENCE, 0, None));
            }
            let suite = ChildSuite {
                encryption,
                authentication,
            };
            let chosen = Chosen {
                suite,
                group,
                spi: offer.spi32()?,
            };
            Some((
                Offer {
                    transforms,
                    ..offer.clone()
                },
                chosen,
            ))
        })
}
