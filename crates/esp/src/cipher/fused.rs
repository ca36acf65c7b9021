//! AES-GCM (RFC 4106) in one pass over each packet, on processors that support it.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::{Additional, Salt};
use crate::Fault;
use crate::association::Shared;
use crate::work::Work;

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

    /// Prefetches the key.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        self.gcm.prefetch();
    }

    /// Returns salt and initialization vector as the upper 96 bits of a counter block.
    #[inline(always)]
    fn nonce(&self, iv: &[u8]) -> u128 {
        let iv = iv.first_chunk::<8>().copied().unwrap_or_default();
        let salt = u128::from(u32::from_be_bytes(self.salt));
        salt << 96 | u128::from(u64::from_be_bytes(iv)) << 32
    }

    /// Encrypts packets and writes their ICVs.
    pub(super) fn lock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for packet in work.iter_mut().filter(|packet| packet.fault.is_none()) {
            let nonce = self.nonce(packet.iv());
            let (first, last) = Additional::blocks(shared, packet);
            let icv = self.gcm.seal(nonce, first, packet.text(), last);
            if let Some(place) = packet.icv().first_chunk_mut::<16>() {
                *place = icv.to_be_bytes();
            }
        }
    }

    /// Decrypts packets with valid ICVs; the others get a fault and a zeroed text.
    pub(super) fn unlock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for packet in work.iter_mut().filter(|packet| packet.fault.is_none()) {
            let nonce = self.nonce(packet.iv());
            let (first, last) = Additional::blocks(shared, packet);
            let wanted = self.gcm.open(nonce, first, packet.text(), last);
            if !is_equal(packet.icv(), wanted) {
                packet.fault = Some(Fault::Integrity);
                packet.text().zeroize();
            }
        }
    }
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
