//! QUIC Initial packets: their keys are derived from a connection id in the packet, so that any router on the
//! path can read the ClientHello (RFC 9001, 5.2; version 2: RFC 9369, 3.3).

use core::ops::Range;

use aes_gcm::aead::AeadInOut as _;
use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::BlockCipherEncrypt as _;
use aes_gcm::{Aes128Gcm, KeyInit as _};
use hkdf::Hkdf;
use sha2::Sha256;

use super::pieces::Pieces;

/// Minimum size of a client's first datagrams; servers drop shorter ones (RFC 9000, 14.1).
pub(super) const DATAGRAM_MIN: usize = 1200;
/// Maximum length of a packet to decrypt, in bytes.
const PACKET_MAX: usize = 2048;
/// Maximum length of a connection id (RFC 9000, 17.2).
const ID_MAX: usize = 20;
/// Maximum number of packets per datagram that are read (RFC 9000, 12.2).
const COALESCED_MAX: usize = 4;
/// Length of the AEAD tag.
const TAG: usize = 16;

/// Parameters of a QUIC version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    number: u32,
    /// Type bits of the first byte that mark an Initial packet.
    initial: u8,
    salt: [u8; 20],
    key: &'static [u8],
    iv: &'static [u8],
    hp: &'static [u8],
}

/// RFC 9001, 5.2; RFC 9369, 3.2 and 3.3.
static VERSIONS: [Version; 2] = [
    Version {
        number: 1,
        initial: 0x00,
        salt: [
            0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8,
            0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a,
        ],
        key: b"tls13 quic key",
        iv: b"tls13 quic iv",
        hp: b"tls13 quic hp",
    },
    Version {
        number: 0x6b33_43cf,
        initial: 0x10,
        salt: [
            0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26,
            0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
        ],
        key: b"tls13 quicv2 key",
        iv: b"tls13 quicv2 iv",
        hp: b"tls13 quicv2 hp",
    },
];

/// An Initial packet in its datagram.
#[derive(Clone, Copy, Debug)]
pub struct Initial<'a> {
    version: &'static Version,
    /// The destination connection id, from which the keys are derived.
    id: &'a [u8],
    /// The bytes of the packet.
    packet: &'a [u8],
    /// Offset of the packet number.
    number_at: usize,
}

/// Iterates over the Initial packets of a datagram, as far as it can be parsed without keys.
pub fn initials(datagram: &[u8]) -> impl Iterator<Item = Initial<'_>> {
    let mut rest = datagram;
    let packets = core::iter::from_fn(move || {
        let (initial, behind) = packet(rest)?;
        rest = behind;
        Some(initial)
    });
    packets.take(COALESCED_MAX).flatten()
}

/// Parses the first packet: returns the packet if it is an Initial, and the following bytes; `None` unless it has a
/// long header of a known version.
fn packet(bytes: &[u8]) -> Option<(Option<Initial<'_>>, &[u8])> {
    let ([first, a, b, c, d], mut rest) = bytes.split_first_chunk()?;
    let number = u32::from_be_bytes([*a, *b, *c, *d]);
    let version = VERSIONS.iter().find(|version| version.number == number)?;
    if first & 0x80 == 0 {
        return None;
    }
    let id = identifier(&mut rest)?;
    identifier(&mut rest)?;
    let initial = first & 0x30 == version.initial;
    if initial {
        let token = varint(&mut rest)?;
        rest = rest.get(usize::try_from(token).ok()?..)?;
    }
    let len = usize::try_from(varint(&mut rest)?).ok()?;
    let number_at = bytes.len() - rest.len();
    let behind = rest.get(len..)?;
    let packet = &bytes[..bytes.len() - behind.len()];
    let found = initial.then_some(Initial {
        version,
        id,
        packet,
        number_at,
    });
    Some((found, behind))
}

fn identifier<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, behind) = rest.split_first()?;
    let len = usize::from(*len);
    if len > ID_MAX {
        return None;
    }
    let (id, behind) = behind.split_at_checked(len)?;
    *rest = behind;
    Some(id)
}

/// Reads a variable-length integer of one, two, four or eight bytes (RFC 9000, 16).
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.first()?;
    let (bytes, behind) = rest.split_at_checked(1 << (first >> 6))?;
    *rest = behind;
    let tail = bytes[1..].iter();
    Some(tail.fold(u64::from(first & 0x3f), |number, byte| {
        number << 8 | u64::from(*byte)
    }))
}

/// Keys of a client's Initial packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    key: [u8; 16],
    iv: [u8; 12],
    /// Header protection key.
    hp: [u8; 16],
}

impl Keys {
    /// Derives the keys from the connection id of a client's first packet.
    pub fn new(initial: &Initial<'_>) -> Option<Self> {
        let version = initial.version;
        let (_, first) = Hkdf::<Sha256>::extract(Some(&version.salt), initial.id);
        let secret: [u8; 32] = expand(&first, b"tls13 client in")?;
        let secret = Hkdf::<Sha256>::from_prk(&secret).ok()?;
        Some(Self {
            key: expand(&secret, version.key)?,
            iv: expand(&secret, version.iv)?,
            hp: expand(&secret, version.hp)?,
        })
    }

    /// Decrypts an Initial packet into `room`; returns the range of its payload, or `None` if it is not
    /// protected by these keys.
    pub fn open(&self, initial: &Initial<'_>, room: &mut Vec<u8>) -> Option<Range<usize>> {
        let at = initial.number_at;
        let sample: [u8; 16] = *initial.packet.get(at + 4..)?.first_chunk()?;
        if initial.packet.len() > PACKET_MAX {
            return None;
        }
        let mut mask = sample.into();
        Aes128::new(&self.hp.into()).encrypt_block(&mut mask);
        room.clear();
        room.extend_from_slice(initial.packet);
        room[0] ^= mask[0] & 0x0f;
        let len = usize::from(room[0] & 3) + 1;
        let mut nonce = self.iv;
        for place in 0..len {
            room[at + place] ^= mask[1 + place];
            // Packet numbers of a client's first packets are small: the omitted bytes are 0.
            nonce[12 - len + place] ^= room[at + place];
        }
        let (header, sealed) = room.split_at_mut(at + len);
        let (inside, tag) = sealed.split_last_chunk_mut::<TAG>()?;
        let cipher = Aes128Gcm::new(&self.key.into());
        let opened = cipher.decrypt_inout_detached(
            &nonce.into(),
            header,
            (&mut *inside).into(),
            &(*tag).into(),
        );
        opened.ok()?;
        Some(at + len..initial.packet.len() - TAG)
    }
}

/// HKDF-Expand-Label without context (RFC 8446, 7.1); `label` includes the prefix.
fn expand<const N: usize>(secret: &Hkdf<Sha256>, label: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    let lengths = ([0, N as u8], [label.len() as u8]);
    let info = [&lengths.0[..], &lengths.1, label, &[0]];
    secret.expand_multi_info(&info, &mut out).ok()?;
    Some(out)
}

/// Adds the CRYPTO frames of an Initial packet to the pieces; returns false if they exceed the limits. Skips
/// the other frames that an Initial may contain (RFC 9000, 12.4).
pub fn gather(mut frames: &[u8], pieces: &mut Pieces) -> bool {
    loop {
        let Some((kind, rest)) = frames.split_first() else {
            return true;
        };
        frames = rest;
        let taken = match kind {
            // PADDING, PING.
            0 | 1 => Some(true),
            2 | 3 => acknowledgement(&mut frames, *kind == 3).map(|()| true),
            6 => crypto(&mut frames).map(|(at, piece)| pieces.put(at, piece)),
            _ => None,
        };
        match taken {
            Some(true) => {}
            Some(false) => return false,
            None => return true,
        }
    }
}

/// CRYPTO (RFC 9000, 19.6): returns offset and data.
fn crypto<'a>(frames: &mut &'a [u8]) -> Option<(usize, &'a [u8])> {
    let at = usize::try_from(varint(frames)?).ok()?;
    let len = usize::try_from(varint(frames)?).ok()?;
    let (piece, behind) = frames.split_at_checked(len)?;
    *frames = behind;
    Some((at, piece))
}

/// ACK (RFC 9000, 19.3).
fn acknowledgement(frames: &mut &[u8], counts: bool) -> Option<()> {
    varint(frames)?;
    varint(frames)?;
    let ranges = varint(frames)?;
    varint(frames)?;
    for _ in 0..ranges.checked_mul(2)? {
        varint(frames)?;
    }
    if counts {
        for _ in 0..3 {
            varint(frames)?;
        }
    }
    Some(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    impl Keys {
        /// Encrypts an Initial packet of a client with a four-byte packet number and these frames.
        pub(in super::super) fn seal(
            version: usize,
            keys_of: &[u8],
            id: &[u8],
            token: &[u8],
            number: u32,
            frames: &[u8],
        ) -> Vec<u8> {
            let version = &VERSIONS[version];
            let mut packet = vec![0xc3 | version.initial];
            packet.extend(version.number.to_be_bytes());
            packet.extend([&[id.len() as u8], id, &[0], &[token.len() as u8], token].concat());
            packet.extend(((frames.len() + 4 + TAG) as u16 | 0x4000).to_be_bytes());
            let number_at = packet.len();
            packet.extend(number.to_be_bytes());
            let initial = Initial {
                version,
                id: keys_of,
                packet: &[],
                number_at,
            };
            let keys = Self::new(&initial).expect("an identifier");
            let mut nonce = keys.iv;
            for (at, byte) in number.to_be_bytes().into_iter().enumerate() {
                nonce[8 + at] ^= byte;
            }
            let mut inside = frames.to_vec();
            let cipher = Aes128Gcm::new(&keys.key.into());
            let tag = cipher
                .encrypt_inout_detached(&nonce.into(), &packet, inside.as_mut_slice().into())
                .expect("it is short");
            packet.extend(inside);
            packet.extend(tag);
            let sample: [u8; 16] = *packet[number_at + 4..].first_chunk().expect("a sample");
            let mut mask = sample.into();
            Aes128::new(&keys.hp.into()).encrypt_block(&mut mask);
            packet[0] ^= mask[0] & 0x0f;
            for place in 0..4 {
                packet[number_at + place] ^= mask[1 + place];
            }
            packet
        }
    }

    /// Builds a CRYPTO frame.
    pub(in super::super) fn crypto_frame(at: usize, piece: &[u8]) -> Vec<u8> {
        let varint = |number: usize| (number as u16 | 0x4000).to_be_bytes();
        [&[6][..], &varint(at), &varint(piece.len()), piece].concat()
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
        digits.map(|pair| byte(pair).expect("hex")).collect()
    }

    const ID: &str = "8394c8f03e515708";
    /// The CRYPTO frame of both appendices.
    const FRAME: &str = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868\
        04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578\
        616d706c652e636f6dff01000100000a00080006001d00170018001000070005\
        04616c706e000500050100000000003300260024001d00209370b2c9caa47fba\
        baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400\
        0d0010000e0403050306030203080408050806002d00020101001c0002400100\
        3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000\
        75300901100f088394c8f03e51570806048000ffff";

    /// RFC 9001, A.2 and RFC 9369, A.2: the header and the first bytes of the protected packet, and the tag
    /// at its end.
    #[test]
    fn packets_of_both_rfc_appendices_are_encrypted_and_decrypted() {
        let ends = [
            (
                "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9b",
                "e221af44860018ab0856972e194cd934",
            ),
            (
                "d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485dd04de806071",
                "a18b2faa745b6fe189cf772a9f84cbfc",
            ),
        ];
        let (id, mut frames) = (hex(ID), hex(FRAME));
        let frame = frames.clone();
        frames.resize(1162, 0);
        for (version, (first, last)) in ends.into_iter().enumerate() {
            let packet = Keys::seal(version, &id, &id, &[], 2, &frames);
            assert!(packet.starts_with(&hex(first)) && packet.ends_with(&hex(last)));
            assert_eq!(packet.len(), DATAGRAM_MIN);
            is_in_corpus(["initial-9001", "initial-9369"][version], &packet);

            let initial = initials(&packet).next().expect("an Initial");
            let keys = Keys::new(&initial).expect("keys");
            let mut room = Vec::new();
            let inside = keys.open(&initial, &mut room).expect("it is right");
            assert_eq!(room[inside.clone()], frames);
            let mut pieces = Pieces::default();
            assert!(gather(&room[inside], &mut pieces));
            assert_eq!(pieces.beginning(), &frame[4..]);
        }
    }

    /// Checks that the fuzzing corpus contains the packet; `UPDATE=1` writes it.
    fn is_in_corpus(name: &str, packet: &[u8]) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/streams");
        let path = std::path::Path::new(folder).join(name);
        let seed = [&[2], packet].concat();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(folder).expect("a folder of this repository");
            std::fs::write(&path, &seed).expect("as above");
        }
        assert!(
            std::fs::read(&path).is_ok_and(|stored| stored == seed),
            "{path:?}"
        );
    }

    /// RFC 9001, A.1 and RFC 9369, A.1.
    #[test]
    fn keys_match_both_rfc_appendices() {
        let keys = [
            (
                "1f369613dd76d5467730efcbe3b1a22d",
                "fa044b2f42a3fd3b46fb255c",
                "9f50449e04a0e810283a1e9933adedd2",
            ),
            (
                "8b1a0bc121284290a29e0971b5cd045d",
                "91f73e2351d8fa91660e909f",
                "45b95e15235d6f45a6b19cbcb0294ba9",
            ),
        ];
        let id = hex(ID);
        for (version, (key, iv, hp)) in VERSIONS.iter().zip(keys) {
            let initial = Initial {
                version,
                id: &id,
                packet: &[],
                number_at: 0,
            };
            let made = Keys::new(&initial).expect("keys");
            assert_eq!(made.key[..], hex(key));
            assert_eq!(made.iv[..], hex(iv));
            assert_eq!(made.hp[..], hex(hp));
        }
    }

    #[test]
    fn random_bytes_are_harmless_and_every_change_is_detected() {
        let id = hex(ID);
        let mut frames = hex(FRAME);
        frames.resize(1162, 0);
        let packet = Keys::seal(0, &id, &id, b"token", 7, &frames);
        let mut room = Vec::new();
        for at in 0..packet.len() {
            let mut other = packet.clone();
            other[at] ^= 1;
            for initial in initials(&other) {
                let opened = Keys::new(&initial).and_then(|keys| keys.open(&initial, &mut room));
                assert_eq!(opened, None, "{at}");
            }
            for initial in initials(&packet[..at]) {
                let opened = Keys::new(&initial).and_then(|keys| keys.open(&initial, &mut room));
                assert_eq!(opened, None, "{at}");
            }
            gather(&packet[at..], &mut Pieces::default());
        }
    }
}
