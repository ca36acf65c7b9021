//! Address assignment: address of the static lease, previous or requested address, or any free address of the pool.

use core::net::Ipv4Addr;

use machine::Instant;

use super::{Assigned, Client, Lease, MatchedPool, Message, Request, Servers, State, Why};
use super::{OFFER, OWNER, TRIES};
use crate::pool::Use;

impl Servers {
    /// True if the client must give up the address of its lease: another static lease reserves the address, or the
    /// address is outside of the client's pool.
    pub(super) fn is_lost(&self, lease: &Lease, asked: &Request) -> bool {
        let Some(address) = lease.address else {
            return true;
        };
        let fixed = self.leases.fixed_at(address);
        let is_others = fixed.is_some_and(|fixed| fixed != lease.id);
        if let Some(granted) = lease.terms(asked).and_then(|grant| grant.address) {
            return is_others || granted != address;
        }
        let granted = lease.terms(asked).and_then(|grant| grant.pool.clone());
        let pool = || granted.or_else(|| self.pool_of(asked));
        let pool = lease.is_dynamic().then(pool);
        let is_outside = match pool {
            Some(Some(pool)) => !self.pools.contains(&pool, address),
            Some(None) => true,
            None => false,
        };
        is_others || is_outside
    }

    /// Assigns the static lease's address, the requested address if free, or any free address of the pool.
    pub(super) fn assign(
        &mut self,
        asked: &Request,
        wanted: Option<Ipv4Addr>,
        now: Instant,
    ) -> Result<u64, Why> {
        let (fixed, pool) = self.source(asked)?;
        if let Some((id, Some(address))) = fixed {
            return self.assign_fixed(id, asked, address);
        }
        if let Some(address) = granted_address(asked).filter(|_| fixed.is_none()) {
            return self.assign_granted(asked, address, now);
        }
        let pool = pool.ok_or(Why::Unknown)?;
        let of = use_of(&asked.message);
        let wanted = wanted.filter(|wanted| self.is_free(asked, *wanted));
        let wanted = wanted.and_then(|one| Some((one, self.pools.take(&pool, one, &of)?)));
        let found = wanted.or_else(|| self.take_free(&pool, asked, &of));
        let (address, pool) = found.ok_or(Why::NoAddress)?;
        self.enter(fixed.map(|(id, _)| id), asked, address, Some(pool), now)
    }

    /// Takes any free address of a pool. Gives up after [`TRIES`] addresses that are in use.
    pub(super) fn take_free(
        &self,
        pool: &str,
        asked: &Request,
        of: &Use,
    ) -> Option<(Ipv4Addr, Box<str>)> {
        let mut passed = Vec::new();
        let mut found = None;
        while found.is_none() && passed.len() < TRIES {
            let Some((address, pool)) = self.pools.take_any(pool, of) else {
                break;
            };
            match self.is_free(asked, address) {
                true => found = Some((address, pool)),
                false => passed.push((address, pool)),
            }
        }
        // The pool hands out returned addresses last.
        for (address, pool) in passed {
            self.pools.give_back(&pool, address);
        }
        found
    }

    /// Assigns the requested address or fails.
    pub(super) fn assign_just(
        &mut self,
        asked: &Request,
        wanted: Ipv4Addr,
        now: Instant,
    ) -> Result<u64, Why> {
        let (fixed, pool) = self.source(asked)?;
        if let Some((id, Some(address))) = fixed {
            return match address == wanted {
                true => self.assign_fixed(id, asked, address),
                false => Err(Why::NoAddress),
            };
        }
        if let Some(address) = granted_address(asked).filter(|_| fixed.is_none()) {
            return match address == wanted {
                true => self.assign_granted(asked, address, now),
                false => Err(Why::NoAddress),
            };
        }
        let pool = pool.ok_or(Why::Unknown)?;
        let is_free = self.is_free(asked, wanted);
        let of = use_of(&asked.message);
        let taken = is_free
            .then(|| self.pools.take(&pool, wanted, &of))
            .flatten();
        let pool = taken.ok_or(Why::NoAddress)?;
        self.enter(fixed.map(|(id, _)| id), asked, wanted, Some(pool), now)
    }

    /// Returns the source of a client's address: the static lease with its address, if fixed, and the pool otherwise.
    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    pub(super) fn source(
        &self,
        asked: &Request,
    ) -> Result<(Option<(u64, Option<Ipv4Addr>)>, Option<Box<str>>), Why> {
        if let Some(id) = self.fixed(asked) {
            let lease = self.leases.get(id);
            return match lease.and_then(|lease| lease.fixed.as_deref()) {
                Some(fixed) if fixed.is_blocked => Err(Why::Blocked),
                Some(fixed) => Ok(match &fixed.address {
                    Assigned::Address(address) => (Some((id, Some(*address))), None),
                    Assigned::Pool(pool) => (Some((id, None)), Some(pool.clone())),
                }),
                None => Err(Why::Unknown),
            };
        }
        let config = self.servers.get(&asked.server).ok_or(Why::OtherServer)?;
        let mac = asked.message.mac().unwrap_or_default();
        let of_mac = self.leases.of_mac(asked.server, mac);
        if config.mac_limit.is_some_and(|limit| of_mac >= limit) {
            return Err(Why::MacLimit);
        }
        if self.leases.is_full() {
            return Err(Why::NoAddress);
        }
        Ok((None, self.pool_of(asked)))
    }

    /// Returns the pool for a client without static lease: the pool of the grant, else of the first matcher with a
    /// pool, else of the server.
    pub(super) fn pool_of(&self, asked: &Request) -> Option<Box<str>> {
        if let Some(pool) = asked.grant.as_ref().and_then(|grant| grant.pool.clone()) {
            return Some(pool);
        }
        let matched = self
            .matchers_of(asked)
            .find_map(|matcher| match &matcher.pool {
                MatchedPool::Servers => None,
                MatchedPool::StaticOnly => Some(None),
                MatchedPool::Pool(pool) => Some(Some(pool.clone())),
            });
        let config = self.servers.get(&asked.server);
        matched.unwrap_or_else(|| config.and_then(|config| config.pool.clone()))
    }

    pub(super) fn assign_fixed(
        &mut self,
        id: u64,
        asked: &Request,
        address: Ipv4Addr,
    ) -> Result<u64, Why> {
        // A dynamic lease that already holds the address keeps it until its next renewal.
        if { self.leases.at(address) }.is_some_and(|lease| lease.id != id) {
            return Err(Why::NoAddress);
        }
        self.leases.change(id, |lease| {
            lease.address = Some(address);
            lease.server = Some(asked.server);
        });
        Ok(id)
    }

    /// True if no lease holds or reserves the address and the router itself does not own it.
    pub(super) fn is_free(&self, asked: &Request, address: Ipv4Addr) -> bool {
        let is_own = asked.own.iter().any(|(own, _)| *own == address);
        let is_fixed = self.leases.fixed_at(address).is_some();
        !is_own && !is_fixed && self.leases.at(address).is_none()
    }

    pub(super) fn enter(
        &mut self,
        fixed: Option<u64>,
        asked: &Request,
        address: Ipv4Addr,
        pool: Option<Box<str>>,
        now: Instant,
    ) -> Result<u64, Why> {
        let config = self.servers.get(&asked.server).ok_or(Why::OtherServer)?;
        let identifiers = config.identifiers;
        let id = fixed.unwrap_or_else(|| self.leases.next_id());
        if fixed.is_none() {
            self.leases.insert(Lease::new(id, now));
        }
        let client = Client::of(&asked.message, asked.src_mac);
        self.leases.change(id, |lease| {
            lease.address = Some(address);
            lease.pool = pool;
            lease.grant.clone_from(&asked.grant);
            lease.server = Some(asked.server);
            // Every new lease gets an expiry, even if the offer is never sent.
            lease.until = Some(now + OFFER);
            lease.state = State::Offered;
        });
        self.leases
            .set_client(id, Some((&client, asked.server, identifiers)));
        Ok(id)
    }
}

fn granted_address(asked: &Request) -> Option<Ipv4Addr> {
    asked.grant.as_ref()?.address
}

fn use_of(message: &Message) -> Use {
    let mac = message.mac().map(|mac| mac.to_string());
    Use {
        owner: OWNER,
        info: mac.unwrap_or_default().into(),
    }
}
