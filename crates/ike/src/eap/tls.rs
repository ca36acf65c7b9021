//! EAP-TLS client (RFC 5216; TLS 1.3: RFC 9190): fragments TLS records into EAP messages and reassembles them.

use super::channel::Channel;
use crate::config::{Certified, Secret};

/// Flags (RFC 5216, 3.1): total length follows, more fragments follow, start.
const LENGTH: u8 = 0x80;
const MORE: u8 = 0x40;
const START: u8 = 0x20;

/// TLS bytes per message: with the headers of EAP, IKE and UDP below an MTU of 1,280 bytes.
const FRAGMENT_BYTES: usize = 1024;
/// Maximum TLS bytes of one server flight. A certificate chain has some thousands.
const MAX_FLIGHT_BYTES: usize = 64 << 10;

/// EAP-TLS client of one login.
pub(super) struct Tls {
    channel: Channel,
    /// Received fragments of the current server flight.
    incoming: Vec<u8>,
    /// Flight to send; `sent` bytes of it are sent.
    outgoing: Vec<u8>,
    sent: usize,
    has_begun: bool,
}

impl Tls {
    /// Creates a client with a certificate.
    ///
    /// # Errors
    /// Certificate or key cannot be used for TLS.
    pub(super) fn new(certified: &Certified) -> Result<Self, String> {
        Ok(Self {
            channel: Channel::new(certified)?,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            has_begun: false,
        })
    }

    /// Processes the data of a request, beginning with its flags, and returns the data of the response.
    ///
    /// # Errors
    /// The server violates EAP-TLS, or TLS fails.
    pub(super) fn step(&mut self, data: &[u8]) -> Result<Vec<u8>, String> {
        let (flags, rest) = data
            .split_first()
            .ok_or("a message of EAP-TLS is truncated")?;
        let fragment = match flags & LENGTH {
            0 => rest,
            _ => rest.get(4..).ok_or("a message of EAP-TLS is truncated")?,
        };
        if flags & START != 0 {
            return match std::mem::replace(&mut self.has_begun, true) {
                true => Err("the server starts EAP-TLS twice".into()),
                false => self.exchange(&[]),
            };
        }
        if !self.has_begun {
            return Err("the server continues EAP-TLS without a start".into());
        }
        if self.sent < self.outgoing.len() {
            return match fragment.is_empty() {
                true => Ok(self.fragment()),
                false => Err("the server interrupts a message in fragments".into()),
            };
        }
        if self.incoming.len() + fragment.len() > MAX_FLIGHT_BYTES {
            return Err("the server's message is too long".into());
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

    /// Returns the next fragment; flags alone if nothing is left to send.
    fn fragment(&mut self) -> Vec<u8> {
        let rest = &self.outgoing[self.sent..];
        let part = &rest[..rest.len().min(FRAGMENT_BYTES)];
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
