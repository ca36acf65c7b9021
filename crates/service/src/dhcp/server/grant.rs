//! Leases that an authority outside of the router grants: a RADIUS server (`use-radius=yes`).
//!
//! The owner asks the authority about the requests for which [`Servers::needs_grant`] is true, and passes the result
//! as [`Event::Request`](super::Event::Request) with terms, [`Event::Denied`](super::Event::Denied), or
//! [`Event::Unanswered`](super::Event::Unanswered) if the authority is silent.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::sync::Arc;

use machine::Instant;

use super::{Action, Client, Lease, MessageType, OWNER, Request, Servers, State, Use, Why};

/// Terms of a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Address of the client; `None` selects one of the pool.
    pub address: Option<Ipv4Addr>,
    /// Pool of the client; `None` is that of matcher or server.
    pub pool: Option<Box<str>>,
    /// Duration of the lease, after which the authority decides again; `None` uses the server's.
    pub lease_time: Option<Duration>,
    /// Rate limit of the client.
    pub rate_limit: Option<Box<str>>,
    /// Address lists of the client's address; empty uses the server's.
    pub lists: Box<[Box<str>]>,
    /// Values that reports about the lease repeat.
    pub classes: Box<[Vec<u8>]>,
}

impl Servers {
    /// True if an authority decides about the request: a request for a new lease, or for the extension of a lease whose
    /// duration the authority limited. Static leases need no authority.
    pub fn needs_grant(&self, asked: &Request) -> bool {
        let message = &asked.message;
        let Some(config) =
            { self.servers.get(&asked.server) }.filter(|config| config.is_authorized)
        else {
            return false;
        };
        let is_new = message.ciaddr.is_unspecified();
        let is_early = is_new && Duration::from_secs(message.secs.into()) < config.delay_threshold;
        if message.is_reply || is_early || self.fixed(asked).is_some() {
            return false;
        }
        let lease = self.lease_of(asked);
        let grant = lease.and_then(|lease| lease.grant.as_deref());
        match message.kind() {
            None => grant.is_none(),
            // A repeated discover gets the same offer.
            Some(MessageType::Discover) => {
                grant.is_none() || lease.is_some_and(|lease| lease.state == State::Bound)
            }
            Some(MessageType::Request) => {
                grant.is_none_or(|grant| !is_new && grant.lease_time.is_some())
            }
            Some(_) => false,
        }
    }

    /// Returns the dynamic lease of the client.
    pub fn lease_of(&self, asked: &Request) -> Option<&Lease> {
        let config = self.servers.get(&asked.server)?;
        let client = Client::of(&asked.message, asked.src_mac);
        let identifiers = config.identifiers;
        let id = self.leases.of_client(&client, asked.server, identifiers)?;
        self.leases.get(id)
    }

    /// Handles a request that the authority denied: the client loses its lease.
    pub(super) fn denied(&mut self, asked: &Request, now: Instant, out: &mut Vec<Action>) {
        if let Some(id) = self.lease_of(asked).map(|lease| lease.id) {
            self.end(id, now, out);
        }
        if asked.message.kind() == Some(MessageType::Request) {
            out.extend(self.refuse(asked));
        }
    }

    /// Handles a request about which the authority said nothing: a bound lease goes on, others do not begin.
    pub(super) fn unanswered(
        &mut self,
        mut asked: Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Why> {
        let lease = self
            .lease_of(&asked)
            .filter(|lease| lease.state == State::Bound);
        let lease = lease.ok_or(Why::NoGrant)?;
        let present = || {
            Arc::new(Grant {
                address: lease.address,
                ..Grant::default()
            })
        };
        asked.grant = Some(lease.grant.clone().unwrap_or_else(present));
        self.handle_request(asked, now, out)
    }

    /// Replaces the terms of a bound lease; address and pool stay.
    pub fn change_grant(&mut self, id: u64, change: impl FnOnce(&mut Grant)) {
        self.leases.change(id, |lease| {
            if let Some(grant) = &mut lease.grant {
                change(Arc::make_mut(grant));
            }
        });
    }

    /// Enters the terms of a request into the lease of its client.
    pub(super) fn enter_grant(&mut self, id: u64, asked: &Request) {
        if let Some(grant) = &asked.grant {
            let grant = Some(Arc::clone(grant));
            self.leases.change(id, |lease| lease.grant = grant);
        }
    }

    /// Assigns the address of a grant.
    pub(super) fn assign_granted(
        &mut self,
        asked: &Request,
        address: Ipv4Addr,
        now: Instant,
    ) -> Result<u64, Why> {
        if !self.is_free(asked, address) {
            return Err(Why::NoAddress);
        }
        let mac = asked.message.mac().map(|mac| mac.to_string());
        let info = mac.unwrap_or_default().into();
        self.pools.reserve(address, &Use { owner: OWNER, info });
        self.enter(None, asked, address, None, now)
    }
}

impl Lease {
    /// Terms of the client's request, else those of the lease.
    pub(super) fn terms<'a>(&'a self, asked: &'a Request) -> Option<&'a Grant> {
        asked.grant.as_deref().or(self.grant.as_deref())
    }
}
