//! AES by processor instructions: packets of several associations advance together, each with its own key.

use core::cmp::Reverse;

use kernels::{Aes, Chain};
use smallvec::SmallVec;

use super::Salt;
use super::gcm::Stream;
use crate::work::Work;

/// Round keys; dropping wipes them.
pub(crate) struct Wide(Aes);

impl Drop for Wide {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

impl Wide {
    /// Returns `None` if the processor lacks the instructions.
    pub(super) fn new(key: &[u8]) -> Option<Box<Self>> {
        Aes::new(key).map(|aes| Box::new(Self(aes)))
    }

    /// CBC encryption; `own` returns the key of an association.
    pub(super) fn chain<'p, S, O>(
        own: impl Fn(&'p S) -> Option<&'p Self>,
        work: &mut [Work<'p, S, O>],
    ) {
        if !work.is_sorted_by(|one, other| one.text_len() >= other.text_len()) {
            work.sort_unstable_by_key(|work| Reverse(work.text_len()));
        }
        for part in work.chunks_mut(CHAINS) {
            kernels::chain(&mut chains(&own, part));
        }
    }

    /// CBC decryption; skips packets with a fault. `own` returns the key of an association.
    pub(super) fn unchain<'p, S, O>(
        own: impl Fn(&'p S) -> Option<&'p Self>,
        work: &mut [Work<'p, S, O>],
    ) {
        for part in work.chunks_mut(CHAINS) {
            kernels::unchain(&mut chains(&own, part));
        }
    }

    /// Counter mode; skips packets with a fault.
    pub(super) fn count<S, O>(&self, salt: &Salt, work: &mut [Work<'_, S, O>]) {
        for packet in work.iter_mut().filter(|packet| packet.fault.is_none()) {
            let nonce = nonce(salt, packet.iv());
            self.0.count(&nonce, None, packet.text());
        }
    }
}

impl Stream for Wide {
    fn hash_key(&self) -> [u8; 16] {
        self.0.encrypt([0; 16])
    }

    fn mix<S, O>(&self, salt: &Salt, work: &mut [Work<'_, S, O>]) {
        for packet in work.iter_mut().filter(|packet| packet.fault.is_none()) {
            let nonce = nonce(salt, packet.iv());
            let rest = packet.bytes.get_mut(packet.front..).unwrap_or_default();
            if let Some((text, mask)) = rest.split_last_chunk_mut() {
                self.0.count(&nonce, Some(mask), text);
            }
        }
    }
}

/// Returns the chains of at most [`CHAINS`] packets without a fault.
fn chains<'w, 'p, S, O>(
    own: impl Fn(&'p S) -> Option<&'p Wide>,
    work: &'w mut [Work<'p, S, O>],
) -> SmallVec<[Chain<'w>; CHAINS]> {
    let whole = work.iter_mut().filter(|packet| packet.fault.is_none());
    let chains = whole.filter_map(|packet| {
        let Wide(aes) = own(packet.sa)?;
        Some(Chain {
            aes,
            vector: vector(packet.iv()),
            text: packet.text(),
        })
    });
    chains.collect()
}

fn vector(iv: &[u8]) -> [u8; 16] {
    iv.first_chunk().copied().unwrap_or_default()
}

pub(super) fn nonce(salt: &Salt, iv: &[u8]) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(salt);
    if let Some(iv) = iv.first_chunk::<8>() {
        nonce[4..].copy_from_slice(iv);
    }
    nonce
}

/// Number of chains that advance together.
const CHAINS: usize = 32;
