//! AES-GCM (RFC 4106) in one pass over each packet, on processors that support it. Packets of any associations are
//! processed together.

use kernels::GcmMessage;
use smallvec::SmallVec;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::{Additional, Salt};
use crate::Fault;
use crate::association::Shared;
use crate::work::{CHUNK_PACKETS, Work};

/// Key and salt; dropping wipes them.
pub(crate) struct Fused {
    gcm: kernels::Gcm,
    salt: Salt,
}

impl Drop for Fused {
    fn drop(&mut self) {
        self.gcm.wipe();
    }
}

impl Fused {
    /// Returns `None` if the processor lacks the instructions.
    pub(super) fn new(key: &[u8], salt: Salt) -> Option<Box<Self>> {
        kernels::Gcm::new(key).map(|gcm| Box::new(Self { gcm, salt }))
    }

    /// Prefetches the key for a text of `len` bytes.
    #[inline(always)]
    pub(super) fn prefetch(&self, len: usize) {
        self.gcm.prefetch(len);
    }

    /// Returns salt and initialization vector as the upper 96 bits of a counter block.
    #[inline(always)]
    fn nonce(&self, iv: &[u8]) -> u128 {
        let iv = iv.first_chunk::<8>().copied().unwrap_or_default();
        let salt = u128::from(u32::from_be_bytes(self.salt));
        salt << 96 | u128::from(u64::from_be_bytes(iv)) << 32
    }
}

/// Encrypts packets and writes their ICVs. `own` returns the key of an association.
#[inline(always)]
pub(super) fn lock<'p, S: AsRef<Shared>, O>(
    own: impl Fn(&'p S) -> &'p Fused,
    work: &mut [Work<'p, S, O>],
) {
    for part in work.chunks_mut(CHUNK_PACKETS) {
        let icvs = tags(kernels::gcm_seal, &own, part);
        for (packet, icv) in part.iter_mut().zip(icvs) {
            if packet.fault.is_none()
                && let Some(place) = packet.icv().first_chunk_mut::<16>()
            {
                *place = icv.to_be_bytes();
            }
        }
    }
}

/// Decrypts packets with valid ICVs; the others get a fault and a zeroed text. `own` returns the key of an association.
#[inline(always)]
pub(super) fn unlock<'p, S: AsRef<Shared>, O>(
    own: impl Fn(&'p S) -> &'p Fused,
    work: &mut [Work<'p, S, O>],
) {
    for part in work.chunks_mut(CHUNK_PACKETS) {
        let icvs = tags(kernels::gcm_open, &own, part);
        for (packet, icv) in part.iter_mut().zip(icvs) {
            if packet.fault.is_none() && !is_equal(packet.icv(), icv) {
                packet.fault = Some(Fault::Integrity);
                packet.text().zeroize();
            }
        }
    }
}

/// Processes the texts of at most [`CHUNK_PACKETS`] packets, and returns their tags. The text of a packet with a fault
/// counts as empty.
#[inline(always)]
fn tags<'p, S: AsRef<Shared>, O>(
    process: impl Fn(&mut [GcmMessage<'_>]),
    own: impl Fn(&'p S) -> &'p Fused,
    work: &mut [Work<'p, S, O>],
) -> SmallVec<[u128; CHUNK_PACKETS]> {
    let mut messages = SmallVec::<[_; CHUNK_PACKETS]>::new();
    // The iterator has an exact length, which saves a check per packet.
    messages.extend(work.iter_mut().map(
        #[inline(always)]
        |packet| {
            let fused = own(packet.sa);
            let (first, last) = Additional::blocks(packet.sa.as_ref(), packet);
            GcmMessage {
                gcm: &fused.gcm,
                nonce: fused.nonce(packet.iv()),
                first,
                text: match packet.fault {
                    None => packet.text(),
                    Some(_) => &mut [],
                },
                last,
                tag: 0,
            }
        },
    ));
    process(&mut messages);
    messages.iter().map(|message| message.tag).collect()
}

/// Compares an ICV in constant time, in words.
#[inline(always)]
fn is_equal(icv: &[u8], wanted: u128) -> bool {
    let Some(icv) = icv.first_chunk::<16>() else {
        return false;
    };
    let differing = u128::from_be_bytes(*icv) ^ wanted;
    bool::from((differing as u64 | (differing >> 64) as u64).ct_eq(&0))
}
