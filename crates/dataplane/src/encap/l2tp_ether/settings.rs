//! Settings of L2TPv3 sessions.

use core::net::Ipv4Addr;

use frame::InterfaceId;

/// A cookie of 0, 4 or 8 bytes, which protects a session from packets of others (RFC 3931, 8.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    bytes: [u8; 8],
    len: u8,
}

impl Cookie {
    /// Returns a cookie; `None` for another length than 0, 4 or 8 bytes.
    pub fn new(cookie: &[u8]) -> Option<Self> {
        let mut bytes = [0; 8];
        let is_valid = matches!(cookie.len(), 0 | 4 | 8);
        is_valid.then(|| bytes[..cookie.len()].copy_from_slice(cookie))?;
        Some(Self {
            bytes,
            len: cookie.len() as u8,
        })
    }

    /// Returns the bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A session. Both ends have its numbers and cookies in their configuration, or from a control connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L2tpEther {
    /// The session's interface.
    pub id: InterfaceId,
    /// Local address; unspecified takes the address of the egress interface.
    pub local: Ipv4Addr,
    /// Address of the other end.
    pub remote: Ipv4Addr,
    /// UDP port of the other end; unused in IP.
    pub remote_port: u16,
    /// Packets are UDP datagrams; else IP packets of protocol 115.
    pub in_udp: bool,
    /// Session number of received packets; not 0.
    pub local_session: u32,
    /// Session number of sent packets; not 0.
    pub remote_session: u32,
    /// Cookie of received packets.
    pub local_cookie: Cookie,
    /// Cookie of sent packets.
    pub remote_cookie: Cookie,
    /// Received packets have the sublayer.
    pub local_sublayer: bool,
    /// Sent packets have the sublayer.
    pub remote_sublayer: bool,
    /// Packets pass only while an IPsec policy protects them (`use-ipsec`).
    pub protected: bool,
    /// Whether outer packets may take the fast path (RouterOS: `allow-fast-path`).
    pub fast: bool,
}
