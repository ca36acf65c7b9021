//! Proposals of IKEv1: phase 1 (RFC 2409, Appendix A) and quick mode (RFC 2407, 4.4 and 4.5).

use machine::Duration;

use crate::config::{Mode, Policy, Profile, ProposalCheck, Protocol};
use crate::message::{Attribute, Offer, Transform};
use crate::suite::{ChildSuite, Cipher, Encryption, Group, Hash, Kind};

/// Maximum number of transforms of a proposal: keeps messages below the size of a fragment.
const MAX_TRANSFORMS: usize = 40;

/// Authentication method of phase 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Pre-shared key.
    Psk,
    /// RSA signatures.
    Rsa,
    /// Pre-shared key with XAuth of the initiator (draft-beaulieu-ike-xauth-02, 7).
    PskLogin,
}

impl Method {
    const fn number(self) -> u64 {
        match self {
            Self::Psk => 1,
            Self::Rsa => 3,
            Self::PskLogin => 65_001,
        }
    }
}

/// Negotiated parameters of phase 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phase1 {
    pub(super) cipher: Cipher,
    pub(super) hash: Hash,
    pub(super) group: Group,
    pub(super) method: Method,
    pub(super) lifetime: Duration,
}

const fn cipher_number(cipher: Cipher) -> (u64, Option<u64>) {
    match cipher {
        Cipher::Des => (1, None),
        Cipher::Blowfish => (3, Some(128)),
        Cipher::TripleDes => (5, None),
        Cipher::Aes128 => (7, Some(128)),
        Cipher::Aes192 => (7, Some(192)),
        Cipher::Aes256 => (7, Some(256)),
        Cipher::Camellia128 => (8, Some(128)),
        Cipher::Camellia192 => (8, Some(192)),
        Cipher::Camellia256 => (8, Some(256)),
    }
}

const fn hash_number(hash: Hash) -> u64 {
    match hash {
        Hash::Md5 => 1,
        Hash::Sha1 => 2,
        Hash::Sha256 => 4,
        Hash::Sha384 => 5,
        Hash::Sha512 => 6,
    }
}

/// Builds the proposal of phase 1: every combination, best first.
pub(super) fn phase1(profile: &Profile, method: Method) -> Vec<Offer> {
    let mut transforms = Vec::new();
    for cipher in &profile.encryption {
        for hash in &profile.hash {
            for group in &profile.groups {
                if transforms.len() == MAX_TRANSFORMS {
                    break;
                }
                let (number, bits) = cipher_number(*cipher);
                let mut attributes = vec![
                    Attribute::number(11, 1),
                    Attribute::number(12, profile.lifetime.as_secs()),
                    Attribute::number(1, number),
                ];
                attributes.extend(bits.map(|bits| Attribute::number(14, bits)));
                attributes.extend([
                    Attribute::number(3, method.number()),
                    Attribute::number(2, hash_number(*hash)),
                    Attribute::number(4, u64::from(group.number())),
                ]);
                if profile.life_bytes > 0 {
                    attributes.push(Attribute::number(11, 2));
                    attributes.push(Attribute::number(12, profile.life_bytes.div_ceil(1024)));
                }
                transforms.push(Transform {
                    kind: transforms.len() as u8 + 1,
                    id: 1,
                    attributes,
                });
            }
        }
    }
    vec![Offer {
        number: 1,
        protocol: 1,
        spi: Vec::new(),
        transforms,
    }]
}

/// Returns the lifetime in seconds from pairs of type and duration attributes.
fn lifetime(attributes: &[Attribute], kind: u16, duration: u16) -> Option<Duration> {
    let mut seconds = false;
    for attribute in attributes {
        if attribute.kind == kind {
            seconds = attribute.value.number() == Some(1);
        } else if attribute.kind == duration && seconds {
            return attribute.value.number().map(Duration::from_secs);
        }
    }
    None
}

/// Returns the effective lifetime; `None` if `proposal-check` rejects the offer.
fn agree(check: ProposalCheck, offered: Option<Duration>, own: Duration) -> Option<Duration> {
    let offered = offered.filter(|offered| !offered.is_zero()).unwrap_or(own);
    match check {
        ProposalCheck::Obey => Some(offered),
        ProposalCheck::Strict | ProposalCheck::Claim => Some(offered.min(own)),
        ProposalCheck::Exact => (offered == own).then_some(own),
    }
}

/// Returns the first transform that a profile accepts, with its parameters.
pub(super) fn choose_phase1(
    offers: &[Offer],
    profile: &Profile,
    methods: &[Method],
) -> Option<(Offer, Phase1)> {
    let offer = offers.iter().find(|offer| offer.protocol == 1)?;
    offer.transforms.iter().find_map(|transform| {
        let number = |kind| transform.value(kind);
        let cipher = profile.encryption.iter().find(|cipher| {
            let (wanted, bits) = cipher_number(**cipher);
            number(1) == Some(wanted) && number(14).or(bits) == bits
        })?;
        let mut hashes = profile.hash.iter();
        let hash = hashes.find(|hash| number(2) == Some(hash_number(**hash)))?;
        let mut groups = profile.groups.iter();
        let group = groups.find(|group| number(4) == Some(u64::from(group.number())))?;
        let mut methods = methods.iter();
        let method = methods.find(|method| number(3) == Some(method.number()))?;
        let offered = lifetime(&transform.attributes, 11, 12);
        let chosen = Phase1 {
            cipher: *cipher,
            hash: *hash,
            group: *group,
            method: *method,
            lifetime: agree(profile.proposal_check, offered, profile.lifetime)?,
        };
        let transforms = vec![transform.clone()];
        Some((
            Offer {
                transforms,
                ..offer.clone()
            },
            chosen,
        ))
    })
}

/// Negotiated parameters of quick mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phase2 {
    pub(super) suite: ChildSuite,
    pub(super) group: Option<Group>,
    pub(super) mode: Mode,
    /// UDP encapsulation.
    pub(super) natt: bool,
    pub(super) lifetime: Duration,
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
        Kind::Camellia => 22,
        Kind::Twofish => 253,
        Kind::ChaCha20Poly1305 => return None,
    })
}

const fn has_length(kind: Kind) -> bool {
    !matches!(kind, Kind::Des | Kind::TripleDes | Kind::Null)
}

/// Returns the numbers of an authentication algorithm: ESP attribute and AH transform ID.
const fn auth_numbers(hash: Hash) -> (u64, u16) {
    match hash {
        Hash::Md5 => (1, 2),
        Hash::Sha1 => (2, 3),
        Hash::Sha256 => (5, 5),
        Hash::Sha384 => (6, 6),
        Hash::Sha512 => (7, 7),
    }
}

/// Returns the protocol number of proposals.
pub(super) const fn protocol_number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Ah => 2,
        Protocol::Esp => 3,
    }
}

/// Returns the encapsulation mode number. `natt`: UDP encapsulation, with the draft's numbers if true; those
/// begin at 61443 (draft-ietf-ipsec-nat-t-ike-02, 5.1).
fn mode_number(mode: Mode, natt: Option<bool>) -> u64 {
    let mode = match mode {
        Mode::Tunnel => 1,
        Mode::Transport => 2,
    };
    match natt {
        None => mode,
        Some(false) => mode + 2,
        Some(true) => mode + 61_442,
    }
}

/// Returns the suites that a policy accepts, best first.
fn suites(policy: &Policy) -> Vec<ChildSuite> {
    let auths = policy.proposal.auth.iter().map(|hash| Some(*hash));
    if policy.ipsec == Protocol::Ah {
        let encryption = Encryption::new(Kind::Null, 0);
        let suites = auths.map(|authentication| ChildSuite {
            encryption,
            authentication,
        });
        return suites.collect();
    }
    let mut found = Vec::new();
    for encryption in &policy.proposal.encryption {
        let none = encryption.is_aead() || policy.proposal.auth.is_empty();
        let auths = if none {
            vec![None]
        } else {
            auths.clone().collect()
        };
        found.extend(auths.into_iter().map(|authentication| ChildSuite {
            encryption: *encryption,
            authentication,
        }));
    }
    found.retain(|suite| kind_number(suite.encryption.kind).is_some());
    found
}

/// Returns transform ID, key length and authentication attribute of a suite.
fn transform_of(protocol: Protocol, suite: ChildSuite) -> Option<(u16, Option<u64>, Option<u64>)> {
    let auth = suite.authentication.map(auth_numbers);
    if protocol == Protocol::Ah {
        let (attribute, id) = auth?;
        return Some((id, None, Some(attribute)));
    }
    let id = kind_number(suite.encryption.kind)?;
    let bits = u64::from(suite.encryption.bits);
    let bits = has_length(suite.encryption.kind).then_some(bits);
    Some((id, bits, auth.map(|(attribute, _)| attribute)))
}

/// Builds the proposal of quick mode. `natt`: `None` without UDP encapsulation, `Some(true)` with the draft's
/// numbers.
pub(super) fn phase2(policy: &Policy, mode: Mode, natt: Option<bool>, spi: u32) -> Vec<Offer> {
    let mut transforms = Vec::new();
    for suite in suites(policy) {
        let Some((id, bits, auth)) = transform_of(policy.ipsec, suite) else {
            continue;
        };
        if transforms.len() == MAX_TRANSFORMS {
            break;
        }
        let mut attributes = vec![
            Attribute::number(1, 1),
            Attribute::number(2, policy.proposal.lifetime.as_secs()),
            Attribute::number(4, mode_number(mode, natt)),
        ];
        attributes.extend(bits.map(|bits| Attribute::number(6, bits)));
        attributes.extend(auth.map(|auth| Attribute::number(5, auth)));
        let group = policy.proposal.pfs;
        attributes.extend(group.map(|group| Attribute::number(3, u64::from(group.number()))));
        transforms.push(Transform {
            kind: transforms.len() as u8 + 1,
            id,
            attributes,
        });
    }
    vec![Offer {
        number: 1,
        protocol: protocol_number(policy.ipsec),
        spi: spi.to_be_bytes().to_vec(),
        transforms,
    }]
}

/// Returns mode and UDP encapsulation of a transform. Transport is the default (RFC 2407, 4.5, leaves it to the
/// host).
fn read_mode(transform: &Transform) -> Option<(Mode, bool)> {
    Some(match transform.value(4) {
        Some(1) => (Mode::Tunnel, false),
        Some(2) | None => (Mode::Transport, false),
        Some(3 | 61_443) => (Mode::Tunnel, true),
        Some(4 | 61_444) => (Mode::Transport, true),
        Some(_) => return None,
    })
}

/// Returns the mode of a proposal's first transform.
pub(super) fn asked_mode(offers: &[Offer]) -> Option<Mode> {
    let offer = offers
        .iter()
        .find(|offer| offer.protocol == 3 || offer.protocol == 2)?;
    read_mode(offer.transforms.first()?).map(|(mode, _)| mode)
}

/// Returns the first transform that a policy accepts, with its parameters.
pub(super) fn choose_phase2(
    offers: &[Offer],
    policy: &Policy,
    mode: Mode,
    check: ProposalCheck,
) -> Option<(Offer, Phase2)> {
    let protocol = protocol_number(policy.ipsec);
    let offers = offers.iter();
    let mut offers = offers.filter(|offer| offer.protocol == protocol && offer.spi32().is_some());
    let suites = suites(policy);
    offers.find_map(|offer| {
        offer.transforms.iter().find_map(|transform| {
            let suite = suites.iter().find(|suite| {
                transform_of(policy.ipsec, **suite).is_some_and(|(id, bits, auth)| {
                    let asked = transform.value(5);
                    transform.id == id && transform.value(6).or(bits) == bits && asked == auth
                })
            })?;
            let (asked, natt) = read_mode(transform)?;
            let group = match transform.value(3) {
                None => None,
                Some(number) => Some(Group::of(u16::try_from(number).ok()?)?),
            };
            let strict = matches!(check, ProposalCheck::Strict | ProposalCheck::Exact);
            if asked != mode || (strict && group != policy.proposal.pfs) {
                return None;
            }
            let offered = lifetime(&transform.attributes, 1, 2);
            let chosen = Phase2 {
                suite: *suite,
                group,
                mode,
                natt,
                lifetime: agree(check, offered, policy.proposal.lifetime)?,
            };
            let transforms = vec![transform.clone()];
            Some((
                Offer {
                    transforms,
                    ..offer.clone()
                },
                chosen,
            ))
        })
    })
}

#[cfg(test)]
mod tests;
