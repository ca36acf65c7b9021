//! Proposals of the VPN clients of common operating systems, against a router with default configuration.

use super::*;
use crate::config::{Level, Selector};

/// Default `/ip/ipsec/profile`.
fn profile() -> Profile {
    Profile {
        name: "default".into(),
        hash: vec![Hash::Sha1],
        encryption: vec![Cipher::Aes128, Cipher::TripleDes],
        groups: vec![Group::Modp2048, Group::Modp1024],
        prf: None,
        lifetime: Duration::from_secs(86_400),
        life_bytes: 0,
        nat_traversal: true,
        dpd: None,
        proposal_check: ProposalCheck::Obey,
    }
}

/// Default template and proposal.
fn policy() -> Policy {
    let everything = Selector {
        prefix: ipnet::Ipv4Net::default().into(),
        port: 0,
    };
    let unspecified = core::net::Ipv4Addr::UNSPECIFIED.into();
    Policy {
        peer: None,
        template: Some("default".into()),
        place: 0,
        source: everything,
        destination: everything,
        protocol: 0,
        mode: Mode::Transport,
        ends: (unspecified, unspecified),
        level: Level::Require,
        ipsec: Protocol::Esp,
        proposal: crate::config::Proposal {
            name: "default".into(),
            auth: vec![Hash::Sha1],
            encryption: [256, 192, 128]
                .map(|bits| Encryption::new(Kind::AesCbc, bits))
                .into(),
            lifetime: Duration::from_secs(1800),
            pfs: Some(Group::Modp1024),
        },
    }
}

/// Builds a proposal of these transforms.
fn offer(protocol: u8, transforms: impl IntoIterator<Item = (u16, Vec<Attribute>)>) -> Vec<Offer> {
    let transforms = (1..)
        .zip(transforms)
        .map(|(kind, (id, attributes))| Transform {
            kind,
            id,
            attributes,
        });
    vec![Offer {
        number: 1,
        protocol,
        spi: if protocol == 1 {
            Vec::new()
        } else {
            vec![1, 2, 3, 4]
        },
        transforms: transforms.collect(),
    }]
}

/// Builds a transform of phase 1: cipher and key bits, hash, group; the lifetime comes last, in TLV format.
fn of_phase1(
    (cipher, bits): (u64, u64),
    hash: u64,
    group: u64,
    (method, seconds): (u64, u32),
) -> (u16, Vec<Attribute>) {
    let mut attributes = vec![Attribute::number(1, cipher)];
    attributes.extend((bits > 0).then(|| Attribute::number(14, bits)));
    attributes.extend([
        Attribute::number(2, hash),
        Attribute::number(4, group),
        Attribute::number(3, method),
        Attribute::number(11, 1),
        Attribute::bytes(12, &seconds.to_be_bytes()),
    ]);
    (1, attributes)
}

/// Builds a transform of quick mode: cipher and key bits, mode, authentication, lifetimes in seconds and in KB.
fn of_phase2(
    (cipher, bits): (u16, u64),
    mode: u64,
    auth: u64,
    (seconds, kilobytes): (u32, u32),
) -> (u16, Vec<Attribute>) {
    let mut attributes = vec![Attribute::number(4, mode)];
    attributes.extend((bits > 0).then(|| Attribute::number(6, bits)));
    attributes.extend([
        Attribute::number(5, auth),
        Attribute::number(1, 1),
        Attribute::bytes(2, &seconds.to_be_bytes()),
        Attribute::number(1, 2),
        Attribute::bytes(2, &kilobytes.to_be_bytes()),
    ]);
    (cipher, attributes)
}

const AES: u64 = 7;
const TRIPLE_DES: u64 = 5;
const SHA1: u64 = 2;
const SHA256: u64 = 4;
const SHA384: u64 = 5;
const SHA512: u64 = 6;
const MD5: u64 = 1;

fn chosen1(
    transforms: Vec<(u16, Vec<Attribute>)>,
    profile: &Profile,
    method: Method,
) -> Option<Phase1> {
    choose_phase1(&offer(1, transforms), profile, &[method]).map(|(_, chosen)| chosen)
}

#[test]
fn windows_agrees_on_l2tp_without_configuration() {
    let says = (1, 28_800);
    let lists = [
        vec![
            of_phase1((AES, 256), SHA1, 20, says),
            of_phase1((AES, 128), SHA1, 19, says),
            of_phase1((AES, 256), SHA1, 14, says),
            of_phase1((TRIPLE_DES, 0), SHA1, 14, says),
            of_phase1((TRIPLE_DES, 0), SHA1, 2, says),
        ],
        // Old clients offer only this one.
        vec![of_phase1((TRIPLE_DES, 0), SHA1, 2, says)],
    ];
    let groups = [Group::Modp2048, Group::Modp1024];
    for (list, group) in lists.into_iter().zip(groups) {
        let wanted = Phase1 {
            cipher: Cipher::TripleDes,
            hash: Hash::Sha1,
            group,
            method: Method::Psk,
            lifetime: Duration::from_secs(28_800),
        };
        assert_eq!(chosen1(list, &profile(), Method::Psk), Some(wanted));
    }
    // With NAT (4) and without (2); no PFS group although the proposal has one.
    for (mode, natt) in [(2, false), (4, true)] {
        let says = (3600, 250_000);
        let list = [((12, 256), 2), ((12, 128), 2), ((3, 0), 2), ((2, 0), 2)];
        let list = list.map(|(cipher, auth)| of_phase2(cipher, mode, auth, says));
        let (reply, chosen) = choose_phase2(
            &offer(3, list),
            &policy(),
            Mode::Transport,
            ProposalCheck::Obey,
        )
        .expect("a transform suits");
        assert_eq!(reply.transforms[0].kind, 1);
        let wanted = Phase2 {
            suite: ChildSuite {
                encryption: Encryption::new(Kind::AesCbc, 256),
                authentication: Some(Hash::Sha1),
            },
            group: None,
            mode: Mode::Transport,
            natt,
            lifetime: Duration::from_secs(3600),
        };
        assert_eq!(chosen, wanted);
    }
}

/// Ciphers and hashes of phase 1 for one group, in the client's order.
type Offered = (u64, &'static [((u64, u64), u64)]);

/// macOS and iOS offer 14 transforms: AES with three groups, and 3DES with the weakest.
const APPLE: [Offered; 3] = [
    (
        14,
        &[
            ((AES, 256), SHA256),
            ((AES, 256), SHA1),
            ((AES, 256), MD5),
            ((AES, 256), SHA512),
        ],
    ),
    (
        5,
        &[((AES, 256), SHA256), ((AES, 256), SHA1), ((AES, 256), MD5)],
    ),
    (
        2,
        &[
            ((AES, 256), SHA256),
            ((AES, 256), SHA1),
            ((AES, 256), MD5),
            ((AES, 128), SHA1),
            ((AES, 128), MD5),
            ((TRIPLE_DES, 0), SHA1),
            ((TRIPLE_DES, 0), MD5),
        ],
    ),
];

/// Android 6 to 11.
const ANDROID: [Offered; 1] = [(
    2,
    &[
        ((AES, 256), SHA384),
        ((AES, 256), SHA256),
        ((AES, 256), SHA1),
        ((AES, 256), MD5),
        ((AES, 128), SHA256),
        ((AES, 128), SHA1),
        ((AES, 128), MD5),
        ((TRIPLE_DES, 0), SHA256),
        ((TRIPLE_DES, 0), SHA1),
        ((TRIPLE_DES, 0), MD5),
    ],
)];

/// Android 5 and earlier.
const OLD_ANDROID: [Offered; 1] = [(
    2,
    &[
        ((AES, 256), SHA1),
        ((AES, 256), MD5),
        ((AES, 128), SHA1),
        ((AES, 128), MD5),
        ((TRIPLE_DES, 0), SHA1),
        ((TRIPLE_DES, 0), MD5),
    ],
)];

#[test]
fn phones_agree_on_l2tp_without_configuration() {
    for (lists, seconds) in [
        (&APPLE[..], 3600),
        (&ANDROID[..], 28_800),
        (&OLD_ANDROID[..], 28_800),
    ] {
        let transforms = lists.iter().flat_map(|(group, pairs)| {
            let says = (Method::Psk.number(), seconds);
            let pairs = pairs.iter();
            pairs.map(move |(cipher, hash)| of_phase1(*cipher, *hash, *group, says))
        });
        let transforms: Vec<_> = transforms.collect();
        let wanted = Phase1 {
            cipher: Cipher::Aes128,
            hash: Hash::Sha1,
            group: Group::Modp1024,
            method: Method::Psk,
            lifetime: Duration::from_secs(u64::from(seconds)),
        };
        let chosen = chosen1(transforms.clone(), &profile(), Method::Psk);
        assert_eq!(chosen, Some(wanted));
        // A profile with strong algorithms alone refuses clients of the weak group.
        let strong = Profile {
            hash: vec![Hash::Sha256],
            encryption: vec![Cipher::Aes256],
            groups: vec![Group::Modp2048],
            ..profile()
        };
        let is_apple = lists.len() > 1;
        assert_eq!(
            chosen1(transforms, &strong, Method::Psk).is_some(),
            is_apple
        );
        // Quick mode behind NAT, with the numbers of RFC 3947 and of its drafts; no PFS group.
        for mode in [4, 61_444] {
            let list = [256, 128].map(|bits| of_phase2((12, bits), mode, 2, (seconds, 0)));
            let chosen = choose_phase2(
                &offer(3, list),
                &policy(),
                Mode::Transport,
                ProposalCheck::Obey,
            );
            let (_, chosen) = chosen.expect("a transform suits");
            assert_eq!((chosen.natt, chosen.group), (true, None));
        }
    }
}

#[test]
fn common_client_settings_are_negotiated() {
    // Common settings of servers for Windows, macOS, iOS and Android, each alone.
    for ((cipher, bits), hash) in [
        ((Cipher::Aes256, 256), SHA256),
        ((Cipher::Aes128, 128), SHA256),
        ((Cipher::Aes256, 256), SHA1),
        ((Cipher::Aes128, 128), SHA1),
    ] {
        for method in [Method::Psk, Method::PskLogin] {
            let profile = Profile {
                hash: vec![Hash::Sha1, Hash::Sha256],
                encryption: vec![Cipher::Aes128, Cipher::Aes256],
                ..profile()
            };
            let says = (method.number(), 3600);
            let list = vec![of_phase1((AES, bits), hash, 14, says)];
            let chosen = chosen1(list, &profile, method).expect("it suits");
            assert_eq!((chosen.cipher, chosen.group), (cipher, Group::Modp2048));
            assert_eq!(chosen.lifetime, Duration::from_secs(3600));
        }
    }
    // XAuth must not match a plain pre-shared key, nor the reverse.
    let list = || {
        vec![of_phase1(
            (AES, 128),
            SHA1,
            14,
            (Method::PskLogin.number(), 3600),
        )]
    };
    assert_eq!(chosen1(list(), &profile(), Method::Psk), None);
    assert!(chosen1(list(), &profile(), Method::PskLogin).is_some());
}
