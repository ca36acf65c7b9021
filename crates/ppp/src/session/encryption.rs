//! Encryption of the data packets: CCP with MPPE (RFC 1962, RFC 3078).
//!
//! The network protocols negotiate at the same time as CCP, and are reported up once CCP is open, or once it has
//! failed and the policy allows a session without encryption.

use machine::Instant;

use super::{Phase, Session};
use crate::ccp::Choice;
use crate::encryption::EncryptionState;
use crate::event::Action;
use crate::mppe::{Encryption, KeyLengths, Mppe, MppeKeys, StartKey};
use crate::negotiation::Signals;
use crate::packet::{CCP, Control, RESET_ACK, RESET_REQUEST};
use crate::reason::{DownReason, Fault};
use crate::settings::EncryptionPolicy;

impl Session {
    /// Prepares CCP. Returns false if the policy requires encryption and there are no keys for it.
    pub(super) fn prepare_encryption(
        &mut self,
        policy: EncryptionPolicy,
        lengths: KeyLengths,
        keys: Option<MppeKeys>,
    ) -> bool {
        if self.settings.is_encrypted {
            return true;
        }
        let encrypts = self.settings.can_encrypt && !lengths.is_empty();
        let keys = keys.filter(|_| policy != EncryptionPolicy::Off && encrypts);
        self.encryption = keys.map(|keys| Box::new(EncryptionState::new(policy, lengths, keys)));
        policy != EncryptionPolicy::Required || self.encryption.is_some()
    }

    pub(super) fn open_ccp(&mut self, now: Instant, out: &mut Vec<Action>) {
        if let Some(encryption) = &mut self.encryption {
            encryption.ccp.open(now, out);
        }
    }

    /// Returns true if the network protocols may be reported up.
    pub(super) fn permits_data(&self) -> bool {
        let encryption = self.encryption.as_deref();
        encryption.is_none_or(EncryptionState::permits_data)
    }

    pub(super) fn receive_ccp(
        &mut self,
        control: Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let Some(encryption) = &mut self.encryption else {
            return;
        };
        match control.code {
            RESET_REQUEST if encryption.is_up => {
                let answer = Control {
                    code: RESET_ACK,
                    ..control
                };
                out.push(Action::FlushEncryption);
                out.push(Action::Send(answer.build(CCP)));
            }
            RESET_ACK if encryption.is_up => match encryption.reset.expires {
                Some(_) if control.id == encryption.reset.id => encryption.reset.expires = None,
                _ => out.push(Action::Count(Fault::Mismatch)),
            },
            RESET_REQUEST | RESET_ACK => out.push(Action::Count(Fault::Phase)),
            _ => {
                let signals = encryption.ccp.receive(control, &self.settings, now, out);
                self.follow_ccp(signals, now, out);
            }
        }
    }

    pub(super) fn follow_ccp(&mut self, signals: Signals, now: Instant, out: &mut Vec<Action>) {
        let Some(encryption) = &mut self.encryption else {
            return;
        };
        if signals.down && encryption.is_up {
            // Packets in clear text must not follow encrypted ones.
            return self.close(DownReason::EncryptionLost, now, out);
        }
        if signals.up && !encryption.is_up {
            match encryption.ccp.options.agreed() {
                Some([transmit, receive]) => {
                    encryption.is_up = true;
                    encryption.is_stateful = !receive.is_stateless;
                    out.push(Action::EncryptionUp(Box::new(Encryption {
                        transmit: mppe(transmit, &encryption.keys.transmit),
                        receive: mppe(receive, &encryption.keys.receive),
                    })));
                }
                None => drop(encryption.ccp.close(now, out)),
            }
        }
        let fails = encryption.policy == EncryptionPolicy::Required
            && !encryption.is_up
            && encryption.ccp.is_at_rest();
        match fails || signals.finished && encryption.policy == EncryptionPolicy::Required {
            true => self.close(DownReason::EncryptionRequired, now, out),
            false => self.raise_networks(now, out),
        }
    }

    pub(super) fn expire_ccp(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some(encryption) = &mut self.encryption else {
            return;
        };
        encryption.repeat_reset(now, out);
        if encryption.ccp.expires().is_some_and(|at| at <= now) {
            let signals = encryption.ccp.expire(now, out);
            self.follow_ccp(signals, now, out);
        }
    }

    /// Handles an encrypted packet that the owner could not decrypt: a packet before it was lost.
    pub(super) fn receive_encrypted(&mut self, now: Instant, out: &mut Vec<Action>) {
        let encryption = self.encryption.as_deref_mut();
        let its = encryption.filter(|of| of.is_up && of.is_stateful);
        match its.filter(|_| self.phase == Phase::Network) {
            Some(encryption) if encryption.reset.expires.is_none() => {
                encryption.request_reset(now, out);
            }
            Some(_) => {}
            None => out.push(Action::Count(Fault::Data)),
        }
    }
}

fn mppe(choice: Choice, key: &StartKey) -> Mppe {
    Mppe {
        length: choice.length,
        is_stateless: choice.is_stateless,
        key: key.clone(),
    }
}
