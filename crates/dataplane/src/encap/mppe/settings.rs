//! Settings of an encrypted PPP session, and the state of its ciphers.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use frame::InterfaceId;
use ppp::{Decryptor, Encryption, Encryptor};

use crate::encap::carrier::Carrier;
use crate::encap::multilink::Multilink;

/// The encryption of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mppe {
    /// The session's interface.
    pub id: InterfaceId,
    /// What carries the session.
    pub carrier: Carrier,
    /// The longest PPP packet in bytes that the link carries whole, without protocol field.
    pub mtu: u16,
    /// Multilink framing below the encryption.
    pub framing: Option<Multilink>,
    /// Keys and counts of both directions.
    pub ciphers: Ciphers,
}

/// Keys and counts of a session, which outlive changes of its settings. One worker uses each direction at a time.
#[derive(Clone, Debug)]
pub struct Ciphers(Arc<SharedCiphers>);

#[derive(Debug)]
struct SharedCiphers {
    transmit: Mutex<Encryptor>,
    receive: Mutex<Decryptor>,
    /// The other end requested a reset of `transmit`.
    is_reset: AtomicBool,
}

impl Ciphers {
    /// Creates the ciphers of a session that begins to encrypt.
    pub fn new(encryption: &Encryption) -> Self {
        Self(Arc::new(SharedCiphers {
            transmit: Mutex::new(Encryptor::new(&encryption.transmit)),
            receive: Mutex::new(Decryptor::new(&encryption.receive)),
            is_reset: AtomicBool::new(false),
        }))
    }

    /// Begins transmission again with the current key, because the other end lost a packet (RFC 3078, 8.2).
    pub fn reset(&self) {
        self.0.is_reset.store(true, Ordering::Release);
    }

    /// Runs with the cipher of transmission; returns `None` at once while another worker has it.
    pub(super) fn transmit<R>(&self, run: impl FnOnce(&mut Encryptor) -> R) -> Option<R> {
        let mut cipher = self.0.transmit.try_lock().ok()?;
        if self.0.is_reset.swap(false, Ordering::Acquire) {
            cipher.flush();
        }
        Some(run(&mut cipher))
    }

    /// Runs with the cipher of reception; returns `None` at once while another worker has it.
    pub(super) fn receive<R>(&self, run: impl FnOnce(&mut Decryptor) -> R) -> Option<R> {
        let mut cipher = self.0.receive.try_lock().ok()?;
        Some(run(&mut cipher))
    }
}

impl PartialEq for Ciphers {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Ciphers {}
