//! Key schedules of the ciphers, and their application to batches.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256, Block};
use aws_lc_rs::aead::{
    AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use kernels::{
    Aes, ChaChaKey, ChaChaMessage, Chain, Gcm, GcmMessage, chacha_open, chacha_seal, gcm_open,
    gcm_seal,
};
use smallvec::SmallVec;

use super::{BLOCK_BYTES, Head, TAG_BYTES, TOGETHER, additional};
use crate::suite::{Bits, Cipher, DirectionKeys};

/// Length of the implicit part of a nonce in bytes.
const IMPLICIT_BYTES: usize = 8;
/// Number of packets from which on the kernel of ChaCha20 is faster than the library.
const FEW: usize = 4;

/// Key of an AEAD cipher.
pub(super) struct Aead {
    form: AeadForm,
    implicit: [u8; IMPLICIT_BYTES],
}

enum AeadForm {
    /// AES-GCM by the kernel.
    Gcm(Box<Gcm>),
    /// AES-GCM on processors without the kernel's instructions.
    Library(Box<LessSafeKey>),
    /// ChaCha20-Poly1305 by the library, and by the kernel where the processor has its instructions.
    ChaCha(Box<LessSafeKey>, Option<ChaChaKey>),
}

/// Key of AES in CBC mode.
pub(super) enum Cbc {
    /// By the kernel.
    Kernel(Box<Aes>),
    /// On processors without the kernel's instructions.
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

/// Key of a cipher; dropping wipes it.
pub(super) enum Key {
    None,
    Aead(Aead),
    Cbc(Cbc),
}

impl Drop for Aead {
    fn drop(&mut self) {
        if let AeadForm::Gcm(gcm) = &mut self.form {
            gcm.wipe();
        }
    }
}

impl Drop for Cbc {
    fn drop(&mut self) {
        if let Self::Kernel(aes) = self {
            aes.wipe();
        }
    }
}

impl Key {
    /// Expands the key of a direction. `None` if the library refuses it.
    pub(super) fn new(cipher: Cipher, keys: &DirectionKeys) -> Option<Self> {
        let key = keys.cipher.get(..cipher.key_len())?;
        let library = |algorithm| {
            let key = UnboundKey::new(algorithm, key).ok()?;
            Some(Box::new(LessSafeKey::new(key)))
        };
        let form = match cipher {
            Cipher::None => return Some(Self::None),
            Cipher::AesCbc(bits) => return Cbc::new(bits, key).map(Self::Cbc),
            Cipher::AesGcm(bits) => match (Gcm::new(key), bits) {
                (Some(gcm), _) => AeadForm::Gcm(Box::new(gcm)),
                (None, Bits::B128) => AeadForm::Library(library(&AES_128_GCM)?),
                (None, Bits::B192) => AeadForm::Library(library(&AES_192_GCM)?),
                (None, Bits::B256) => AeadForm::Library(library(&AES_256_GCM)?),
            },
            Cipher::ChaCha20Poly1305 => {
                let kernel = ChaChaKey::new(key.first_chunk()?);
                AeadForm::ChaCha(library(&CHACHA20_POLY1305)?, kernel)
            }
        };
        let implicit = *keys.hmac.first_chunk()?;
        Some(Self::Aead(Aead { form, implicit }))
    }
}

/// A packet of an AEAD cipher.
pub(super) struct AeadPacket<'a> {
    pub(super) aead: &'a Aead,
    pub(super) head: Head,
    pub(super) number: u32,
    /// Tag and text; at least as long as the tag.
    pub(super) sealed: &'a mut [u8],
    /// Result: the tag of a packet to open is wrong.
    pub(super) is_forged: bool,
}

impl AeadPacket<'_> {
    fn nonce(&self) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.number.to_be_bytes());
        nonce[4..].copy_from_slice(&self.aead.implicit);
        nonce
    }

    /// Seals or opens by the library.
    fn by_library(&mut self, key: &LessSafeKey, seals: bool) {
        let nonce = Nonce::assume_unique_for_key(self.nonce());
        let (data, len) = additional(self.head, self.number);
        let aad = Aad::from(&data[..len]);
        if seals {
            let Some((place, text)) = self.sealed.split_first_chunk_mut::<TAG_BYTES>() else {
                return;
            };
            let sealed = key.seal_in_place_separate_tag(nonce, aad, text);
            self.is_forged = sealed.is_err();
            if let Ok(tag) = sealed {
                place.copy_from_slice(tag.as_ref());
            }
        } else {
            // The library wants the tag behind the text.
            let middle = TAG_BYTES.min(self.sealed.len());
            self.sealed.rotate_left(middle);
            self.is_forged = key.open_in_place(nonce, aad, self.sealed).is_err();
            self.sealed.rotate_right(middle);
        }
    }

    /// Returns the text.
    fn text(&mut self) -> &mut [u8] {
        self.sealed.get_mut(TAG_BYTES..).unwrap_or_default()
    }

    /// Stores the computed tag of a sealed packet, or compares it with that of a received one in constant time.
    fn settle<const SEALS: bool>(&mut self, tag: [u8; TAG_BYTES]) {
        let Some(place) = self.sealed.first_chunk_mut::<TAG_BYTES>() else {
            self.is_forged = true;
            return;
        };
        match SEALS {
            true => *place = tag,
            false => {
                let differing = u128::from_ne_bytes(tag) ^ u128::from_ne_bytes(*place);
                self.is_forged = differing != 0;
            }
        }
    }
}

/// Encrypts at most [`TOGETHER`] packets and sets their tags.
pub(super) fn seal_aead(packets: &mut [AeadPacket<'_>]) {
    run::<true>(packets);
}

/// Decrypts at most [`TOGETHER`] packets and marks those whose tag is wrong.
pub(super) fn open_aead(packets: &mut [AeadPacket<'_>]) {
    run::<false>(packets);
}

fn run<const SEALS: bool>(packets: &mut [AeadPacket<'_>]) {
    let form = |packet: &AeadPacket<'_>| core::mem::discriminant(&packet.aead.form);
    for alike in packets.chunk_by_mut(|one, other| form(one) == form(other)) {
        match alike.first().map(|packet| &packet.aead.form) {
            Some(AeadForm::Gcm(_)) => gcm::<SEALS>(alike),
            Some(AeadForm::ChaCha(_, Some(_))) if alike.len() >= FEW => chacha::<SEALS>(alike),
            _ => {
                for packet in alike {
                    if let AeadForm::Library(key) | AeadForm::ChaCha(key, _) = &packet.aead.form {
                        packet.by_library(key, SEALS);
                    }
                }
            }
        }
    }
}

/// AES-GCM by the kernel.
fn gcm<const SEALS: bool>(packets: &mut [AeadPacket<'_>]) {
    let mut messages = SmallVec::<[GcmMessage<'_>; TOGETHER]>::new();
    let mut tags = SmallVec::<[u128; TOGETHER]>::new();
    messages.extend(packets.iter_mut().filter_map(|packet| {
        let AeadForm::Gcm(gcm) = &packet.aead.form else {
            return None;
        };
        let (data, len) = additional(packet.head, packet.number);
        let implicit = u128::from(u64::from_be_bytes(packet.aead.implicit));
        let number = u128::from(packet.number);
        let text = packet.text();
        Some(GcmMessage {
            gcm,
            nonce: number << 96 | implicit << 32,
            first: u128::from(u64::from_be_bytes(data)) << 64,
            last: ((8 * len as u128) << 64) | (8 * text.len() as u128),
            text,
            tag: 0,
        })
    }));
    match SEALS {
        true => gcm_seal(&mut messages),
        false => gcm_open(&mut messages),
    }
    tags.extend(messages.iter().map(|message| message.tag));
    drop(messages);
    for (packet, tag) in packets.iter_mut().zip(tags) {
        packet.settle::<SEALS>(tag.to_be_bytes());
    }
}

/// ChaCha20-Poly1305 by the kernel.
fn chacha<const SEALS: bool>(packets: &mut [AeadPacket<'_>]) {
    let mut messages = SmallVec::<[ChaChaMessage<'_>; TOGETHER]>::new();
    let mut tags = SmallVec::<[[u8; TAG_BYTES]; TOGETHER]>::new();
    messages.extend(packets.iter_mut().filter_map(|packet| {
        let AeadForm::ChaCha(_, Some(key)) = &packet.aead.form else {
            return None;
        };
        let nonce = packet.nonce();
        let (data, len) = additional(packet.head, packet.number);
        Some(ChaChaMessage::new(key, nonce, &data[..len], packet.text()))
    }));
    match SEALS {
        true => chacha_seal(&mut messages),
        false => chacha_open(&mut messages),
    }
    tags.extend(messages.iter().map(|message| message.tag));
    drop(messages);
    for (packet, tag) in packets.iter_mut().zip(tags) {
        packet.settle::<SEALS>(tag);
    }
}

impl Cbc {
    pub(super) fn new(bits: Bits, key: &[u8]) -> Option<Self> {
        if let Some(aes) = Aes::new(key) {
            return Some(Self::Kernel(Box::new(aes)));
        }
        Some(match bits {
            Bits::B128 => Self::Aes128(Box::new(Aes128::new_from_slice(key).ok()?)),
            Bits::B192 => Self::Aes192(Box::new(Aes192::new_from_slice(key).ok()?)),
            Bits::B256 => Self::Aes256(Box::new(Aes256::new_from_slice(key).ok()?)),
        })
    }
}

/// A text of whole blocks in CBC mode.
pub(super) struct CbcText<'a> {
    pub(super) cbc: &'a Cbc,
    pub(super) vector: [u8; BLOCK_BYTES],
    pub(super) text: &'a mut [u8],
}

/// Encrypts at most [`TOGETHER`] texts, whose chains advance together.
pub(super) fn encrypt_cbc(texts: &mut [CbcText<'_>]) {
    cbc::<true>(texts);
}

/// Decrypts at most [`TOGETHER`] texts.
pub(super) fn decrypt_cbc(texts: &mut [CbcText<'_>]) {
    cbc::<false>(texts);
}

fn cbc<const ENCRYPTS: bool>(texts: &mut [CbcText<'_>]) {
    let mut chains = SmallVec::<[Chain<'_>; TOGETHER]>::new();
    for CbcText { cbc, vector, text } in texts {
        let vector = *vector;
        match cbc {
            Cbc::Kernel(aes) => chains.push(Chain { aes, vector, text }),
            Cbc::Aes128(aes) => one_by_one::<ENCRYPTS, _>(&**aes, vector, text),
            Cbc::Aes192(aes) => one_by_one::<ENCRYPTS, _>(&**aes, vector, text),
            Cbc::Aes256(aes) => one_by_one::<ENCRYPTS, _>(&**aes, vector, text),
        }
    }
    match ENCRYPTS {
        true => {
            // Fastest if the longest come first.
            chains.sort_by_key(|chain| core::cmp::Reverse(chain.text.len()));
            kernels::chain(&mut chains);
        }
        false => kernels::unchain(&mut chains),
    }
}

/// CBC by blocks, on any processor.
fn one_by_one<const ENCRYPTS: bool, C>(cipher: &C, vector: [u8; BLOCK_BYTES], text: &mut [u8])
where
    C: BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16>
        + BlockCipherDecrypt<BlockSize = aes::cipher::consts::U16>,
{
    let mut before = u128::from_ne_bytes(vector);
    for bytes in text.as_chunks_mut::<BLOCK_BYTES>().0 {
        let received = u128::from_ne_bytes(*bytes);
        let input = if ENCRYPTS {
            received ^ before
        } else {
            received
        };
        let mut block = Block::from(input.to_ne_bytes());
        match ENCRYPTS {
            true => cipher.encrypt_block(&mut block),
            false => cipher.decrypt_block(&mut block),
        }
        let output = u128::from_ne_bytes(block.into());
        let output = if ENCRYPTS { output } else { output ^ before };
        before = if ENCRYPTS { output } else { received };
        *bytes = output.to_ne_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST SP 800-38A, F.2.1 and F.2.2.
    #[test]
    fn cbc_by_blocks_gives_the_known_answer() {
        let hex = |text: &str| {
            u128::from_str_radix(text, 16)
                .expect("digits")
                .to_be_bytes()
        };
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let plain = hex("6bc1bee22e409f96e93d7e117393172a");
        let aes = Aes128::new_from_slice(&key).expect("a key");
        let vector = core::array::from_fn(|n| n as u8);
        let mut text = plain;
        one_by_one::<true, _>(&aes, vector, &mut text);
        assert_eq!(text, hex("7649abac8119b246cee98e9b12e9197d"));
        one_by_one::<false, _>(&aes, vector, &mut text);
        assert_eq!(text, plain);
    }

    #[test]
    fn the_kernel_and_single_blocks_agree() {
        for bits in [Bits::B128, Bits::B192, Bits::B256] {
            let key: Vec<u8> = (0..bits.bytes() as u8).collect();
            let key_schedule = Cbc::new(bits, &key).expect("a key");
            let plain: Vec<u8> = (0..160).collect();
            let (mut one, mut other) = (plain.clone(), plain.clone());
            encrypt_cbc(&mut [CbcText {
                cbc: &key_schedule,
                vector: [9; 16],
                text: &mut one,
            }]);
            match bits {
                Bits::B128 => one_by_one::<true, _>(
                    &Aes128::new_from_slice(&key).expect("a key"),
                    [9; 16],
                    &mut other,
                ),
                Bits::B192 => one_by_one::<true, _>(
                    &Aes192::new_from_slice(&key).expect("a key"),
                    [9; 16],
                    &mut other,
                ),
                Bits::B256 => one_by_one::<true, _>(
                    &Aes256::new_from_slice(&key).expect("a key"),
                    [9; 16],
                    &mut other,
                ),
            }
            assert_eq!(one, other);
            decrypt_cbc(&mut [CbcText {
                cbc: &key_schedule,
                vector: [9; 16],
                text: &mut one,
            }]);
            assert_eq!(one, plain);
        }
    }
}
