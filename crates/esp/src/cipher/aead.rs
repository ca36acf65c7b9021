//! ChaCha20-Poly1305 (RFC 7634): the nonce is salt and initialization vector; SPI and sequence number are
//! authenticated.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use kernels::{ChaChaKey, ChaChaMessage, chacha_open, chacha_seal};
use smallvec::SmallVec;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::{Additional, CHECKED, Salt, wide};
use crate::Fault;
use crate::association::Shared;
use crate::work::{CHUNK_PACKETS, Work};

/// Key and salt; dropping wipes them.
pub(crate) struct ChaCha {
    library: LessSafeKey,
    /// The key for several packets at once; `None` if the processor lacks the instructions.
    kernel: Option<ChaChaKey>,
    salt: Salt,
}

impl ChaCha {
    /// Panics unless the key has 32 bytes.
    pub(super) fn new(key: &[u8], salt: Salt) -> Box<Self> {
        let library = UnboundKey::new(&CHACHA20_POLY1305, key).expect(CHECKED);
        Box::new(Self {
            library: LessSafeKey::new(library),
            kernel: ChaChaKey::new(key.first_chunk().expect(CHECKED)),
            salt,
        })
    }

    /// Encrypts packets and writes their ICVs.
    pub(super) fn lock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for part in work.chunks_mut(CHUNK_PACKETS) {
            let Some(kernel) = self.kernel.as_ref().filter(|_| part.len() >= FEW) else {
                let whole = part.iter_mut().filter(|packet| packet.fault.is_none());
                whole.for_each(|packet| self.lock_one(shared, packet));
                continue;
            };
            let icvs = self.tags(chacha_seal, kernel, shared, part);
            let whole = part.iter_mut().filter(|packet| packet.fault.is_none());
            for (packet, icv) in whole.zip(icvs) {
                match packet.icv().first_chunk_mut() {
                    Some(place) => *place = icv,
                    None => packet.fault = Some(Fault::Room),
                }
            }
        }
    }

    /// Decrypts packets with valid ICVs; the others get a fault and a zeroed text.
    pub(super) fn unlock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for part in work.chunks_mut(CHUNK_PACKETS) {
            let Some(kernel) = self.kernel.as_ref().filter(|_| part.len() >= FEW) else {
                part.iter_mut()
                    .for_each(|packet| self.unlock_one(shared, packet));
                continue;
            };
            let icvs = self.tags(chacha_open, kernel, shared, part);
            let whole = part.iter_mut().filter(|packet| packet.fault.is_none());
            for (packet, icv) in whole.zip(icvs) {
                if !bool::from(packet.icv().ct_eq(&icv)) {
                    packet.fault = Some(Fault::Integrity);
                    packet.text().zeroize();
                }
            }
        }
    }

    /// Processes the texts of at most [`CHUNK_PACKETS`] packets; skips packets with a fault. Returns the tags.
    fn tags<S, O>(
        &self,
        process: impl Fn(&mut [ChaChaMessage<'_>]),
        kernel: &ChaChaKey,
        shared: &Shared,
        work: &mut [Work<'_, S, O>],
    ) -> SmallVec<[[u8; 16]; CHUNK_PACKETS]> {
        let whole = work.iter_mut().filter(|packet| packet.fault.is_none());
        let messages = whole.map(|packet| {
            let additional = Additional::of(packet.bytes, shared.implied(packet.number));
            let nonce = wide::nonce(&self.salt, packet.iv());
            ChaChaMessage::new(kernel, nonce, additional.as_ref(), packet.text())
        });
        let mut messages: SmallVec<[_; CHUNK_PACKETS]> = messages.collect();
        process(&mut messages);
        messages.iter().map(|message| message.tag).collect()
    }

    fn lock_one<S, O>(&self, shared: &Shared, packet: &mut Work<'_, S, O>) {
        let additional = Additional::of(packet.bytes, shared.implied(packet.number));
        let nonce = self.nonce(packet);
        let additional = Aad::from(additional);
        let sealed = self
            .library
            .seal_in_place_separate_tag(nonce, additional, packet.text());
        match (sealed, packet.icv().first_chunk_mut::<16>()) {
            (Ok(icv), Some(place)) => place.copy_from_slice(icv.as_ref()),
            _ => packet.fault = Some(Fault::Room),
        }
    }

    fn unlock_one<S, O>(&self, shared: &Shared, packet: &mut Work<'_, S, O>) {
        let additional = Additional::of(packet.bytes, shared.implied(packet.number));
        let nonce = self.nonce(packet);
        let rest = packet.bytes.get_mut(packet.front..).unwrap_or_default();
        let opened = self
            .library
            .open_in_place(nonce, Aad::from(additional), rest);
        if opened.is_err() {
            packet.fault = Some(Fault::Integrity);
        }
    }

    fn nonce<S, O>(&self, packet: &Work<'_, S, O>) -> Nonce {
        Nonce::assume_unique_for_key(wide::nonce(&self.salt, packet.iv()))
    }
}

/// Number of packets from which on the kernel is faster than the library.
const FEW: usize = 4;
