//! AES-GCM (RFC 4106) in one pass over each packet, on processors that support it.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::wide::nonce;
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

    /// Encrypts packets and writes their ICVs.
    pub(super) fn lock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for packet in work.iter_mut().filter(|packet| packet.fault.is_none()) {
            let nonce = nonce(&self.salt, packet.iv());
            let (first, last) = Additional::blocks(shared, packet);
            let icv = self.gcm.seal(&nonce, &first, packet.text(), &last);
            packet.icv().copy_from_slice(&icv);
        }
    }

    /// Decrypts packets with valid ICVs; the others get a fault and a zeroed text.
    pub(super) fn unlock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for packet in work.iter_mut().filter(|packet| packet.fault.is_none()) {
            let nonce = nonce(&self.salt, packet.iv());
            let (first, last) = Additional::blocks(shared, packet);
            let icv = self.gcm.open(&nonce, &first, packet.text(), &last);
            if !bool::from(icv.ct_eq(packet.icv())) {
                packet.fault = Some(Fault::Integrity);
                packet.text().zeroize();
            }
        }
    }
}
