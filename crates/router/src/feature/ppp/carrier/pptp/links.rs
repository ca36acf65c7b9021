//! PPTP calls by link number: those of clients, and those of the server.

use core::net::Ipv4Addr;

use dataplane::encap::pptp::Numbers;
use pptp::gre::{MAX_HEADER, write};
use pptp::{CallId, Opened};
use wire::{Protocol, ipv4};

use super::super::LinkSetup;
use super::super::budget::Budget;
use super::super::links::LinkState;
use crate::intent::ItemId;
use crate::kind::pptp as kind;

/// Address and control field of PPP (RFC 1662, 3.1).
pub(super) const PPP_ADDRESS: [u8; 2] = [0xff, 0x03];

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) call: CallId,
    remote_call: u16,
    local: Ipv4Addr,
    pub(super) remote: Ipv4Addr,
    /// Client item that dialled; `None` for a call to the server.
    pub(super) client: Option<ItemId>,
    pub(super) numbers: Numbers,
    pub(super) budget: Budget,
    /// Setup of a call to the server that waits for the first packet of the client: PPP has not begun.
    pub(super) pending: Option<Box<LinkSetup>>,
}

impl Link {
    /// Returns the link of a new call.
    pub(super) fn new(opened: &Opened) -> Self {
        Self {
            call: opened.call,
            remote_call: opened.remote_call,
            local: opened.local,
            remote: opened.remote,
            client: opened.client,
            numbers: Numbers::default(),
            budget: Budget::default(),
            pending: None,
        }
    }

    /// Returns the IP packet of a PPP packet, which begins with its protocol field.
    pub(super) fn packet(&self, packet: &[u8]) -> Vec<u8> {
        let payload = [&PPP_ADDRESS, packet].concat();
        let mut header = [0; MAX_HEADER];
        let length = write(
            &mut header,
            self.remote_call,
            payload.len() as u16,
            Some(self.numbers.next()),
            self.numbers.unacknowledged(),
        );
        let ip = ipv4::Repr::new(Protocol::GRE, self.local, self.remote);
        let header = &header[..length];
        [&ip.to_bytes(length + payload.len())[..], header, &payload].concat()
    }

    /// Returns the interface kind of the session.
    pub(super) fn kind(&self) -> kind::Pptp {
        kind::Pptp {
            local: self.local,
            remote: self.remote,
            call: self.call,
            remote_call: self.remote_call,
            numbers: self.numbers.clone(),
        }
    }
}

impl LinkState for Link {
    type Key = CallId;

    fn key(&self) -> CallId {
        self.call
    }

    fn client(&self) -> Option<ItemId> {
        self.client
    }
}
