//! EAP-TLS (RFC 5216, and RFC 9190 with TLS 1.3), the user's side: records of TLS in messages of EAP, in fragments.

use super::channel::Channel;
use crate::config::{Certified, Secret};

/// Flags of a message (RFC 5216, 3.1): the length of all fragments follows, more fragments follow, start.
const LENGTH: u8 = 0x80;
const MORE: u8 = 0x40;
const START: u8 = 0x20;

/// Bytes of TLS in one message: with the headers of EAP, IKE and UDP it fits a path with an MTU of 1,280 bytes.
const FRAGMENT: usize = 1024;
/// Bytes of TLS that the server may send in one go. A chain of certificates has some thousands.
const FLIGHT_MAX: usize = 64 << 10;

/// The user's side of EAP-TLS.
pub(super) struct Tls {
    channel: Channel,
    /// Fragments of what the server is sending.
    incoming: Vec<u8>,
    /// What is still to be sent, from `sent` on.
    outgoing: Vec<u8>,
    sent: usize,
    has_begun: bool,
}

impl Tls {
    /// A user with a certificate.
    ///
    /// # Errors
    /// TLS cannot be done with this certificate or key.
    pub(super) fn new(certified: &Certified) -> Result<Self, String> {
        Ok(Self {
            channel: Channel::new(certified)?,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            has_begun: false,
        })
    }

    /// Takes the data of a request, which begins with its flags, and gives those of the response.
    ///
    /// # Errors
    /// What is wrong with the server or its message.
    pub(super) fn step(&mut self, data: &[u8]) -> Result<Vec<u8>, String> {
        let (flags, rest) = data.split_first().ok_or("a message of EAP-TLS is short")?;
        let fragment = match flags & LENGTH {
            0 => rest,
            _ => rest.get(4..).ok_or("a message of EAP-TLS is short")?,
        };
        if flags & START != 0 {
            return match std::mem::replace(&mut self.has_begun, true) {
                true => Err("the server starts EAP-TLS twice".into()),
                false => self.exchange(&[]),
            };
        }
        if !self.has_begun {
            return Err("the server goes on with EAP-TLS before it starts".into());
        }
        if self.sent < self.outgoing.len() {
            return match fragment.is_empty() {
                true => Ok(self.fragment()),
                false => Err("the server interrupts a message in fragments".into()),
            };
        }
        if self.incoming.len() + fragment.len() > FLIGHT_MAX {
            return Err("the server sends too much at once".into());
        }
        self.incoming.extend_from_slice(fragment);
        if flags & MORE != 0 {
            return Ok(vec![0]);
        }
        let incoming = std::mem::take(&mut self.incoming);
        self.exchange(&incoming)
    }

    /// Returns the session key (MSK); `None` before the end of the handshake.
    pub(super) fn key(&self) -> Option<Secret> {
        self.channel.key()
    }

    fn exchange(&mut self, records: &[u8]) -> Result<Vec<u8>, String> {
        self.outgoing = self.channel.exchange(records)?;
        self.sent = 0;
        Ok(self.fragment())
    }

    /// The next fragment; an empty message where there is nothing to send.
    fn fragment(&mut self) -> Vec<u8> {
        let rest = &self.outgoing[self.sent..];
        let part = &rest[..rest.len().min(FRAGMENT)];
        let is_first_of_many = self.sent == 0 && part.len() < rest.len();
        let mut flags = 0;
        if part.len() < rest.len() {
            flags |= MORE;
        }
        let mut message = Vec::with_capacity(part.len() + 5);
        if is_first_of_many {
            message.push(flags | LENGTH);
            message.extend_from_slice(&(self.outgoing.len() as u32).to_be_bytes());
        } else {
            message.push(flags);
        }
        message.extend_from_slice(part);
        self.sent += part.len();
        message
    }
}
