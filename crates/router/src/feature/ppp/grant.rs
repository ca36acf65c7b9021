//! Rights and settings of an authenticated session: RADIUS attribute, then secret, then profile, then default profile;
//! a single address comes before a pool (RouterOS).

use core::net::Ipv4Addr;

use ipnet::Ipv6Net;
use machine::Duration;
use service::pool::{Pools, Use};
use std::sync::Arc;

use super::profile::{AddressSource, Profile};
use super::secret::Secret;
use crate::intent::{ItemId, Name};

/// Who authenticated a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authority {
    /// This router, by a secret.
    Secret(ItemId),
    /// A RADIUS server.
    Radius,
    /// Nobody: the session is one of a client.
    None,
}

/// Settings of a session.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) user: Name,
    pub(super) authority: Authority,
    pub(super) profile: Arc<Profile>,
    pub(super) local: Option<AddressSource>,
    pub(super) remote: Option<AddressSource>,
    pub(super) address_lists: Vec<Name>,
    pub(super) incoming_filter: Option<Name>,
    pub(super) outgoing_filter: Option<Name>,
    pub(super) rate_limit: Option<Box<str>>,
    pub(super) session_timeout: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    /// Maximum bytes from the user; 0 is no limit.
    pub(super) limit_in: u64,
    /// Maximum bytes to the user; 0 is no limit.
    pub(super) limit_out: u64,
    /// IPv6 prefix of the user.
    pub(super) prefix: Option<Ipv6Net>,
    /// Routes through the user.
    pub(super) routes: Box<str>,
    pub(super) ipv6_routes: Box<str>,
    pub(super) comment: Box<str>,
}

impl Grant {
    /// Whether this router authenticated the user.
    pub(super) const fn is_local(&self) -> bool {
        matches!(self.authority, Authority::Secret(_))
    }

    /// Whether the session is up only with IPv4.
    pub(super) const fn awaits_ipv4(&self) -> bool {
        self.local.is_some() && self.remote.is_some() || matches!(self.authority, Authority::None)
    }

    /// Returns the settings of a profile alone, such as for a client.
    pub(super) fn of_profile(user: Name, profile: Arc<Profile>) -> Self {
        Self {
            user,
            authority: Authority::None,
            local: profile.local.clone(),
            remote: profile.remote.clone(),
            address_lists: profile.address_list.iter().cloned().collect(),
            incoming_filter: profile.incoming_filter.clone(),
            outgoing_filter: profile.outgoing_filter.clone(),
            rate_limit: profile.rate_limit.clone(),
            session_timeout: profile.session_timeout,
            idle_timeout: profile.idle_timeout,
            limit_in: 0,
            limit_out: 0,
            prefix: None,
            routes: Box::default(),
            ipv6_routes: Box::default(),
            comment: Box::default(),
            profile,
        }
    }

    /// Returns the settings of a local user with the profile of its secret.
    pub(super) fn of_secret(secret: &Secret, profile: Arc<Profile>) -> Self {
        let fixed = |address: Option<Ipv4Addr>| address.map(AddressSource::Address);
        let base = Self::of_profile(secret.name.clone(), profile);
        Self {
            authority: Authority::Secret(secret.item),
            local: fixed(secret.local).or(base.local),
            remote: fixed(secret.remote).or(base.remote),
            limit_in: secret.limit_in,
            limit_out: secret.limit_out,
            prefix: secret.prefix,
            routes: secret.routes.clone(),
            ipv6_routes: secret.ipv6_routes.clone(),
            comment: secret.comment.clone(),
            ..base
        }
    }
}

/// Addresses of a session, and the pools to return them to.
#[derive(Debug, Default)]
pub(super) struct Leases {
    pub(super) local: Option<Ipv4Addr>,
    pub(super) remote: Option<Ipv4Addr>,
    pools: Vec<(Box<str>, Ipv4Addr)>,
}

impl Leases {
    /// Allocates the addresses of a session.
    ///
    /// # Errors
    /// The pool that has no free address.
    pub(super) fn allocate(grant: &Grant, pools: &Pools) -> Result<Self, Name> {
        let mut leases = Self::default();
        let of = Use {
            owner: "PPP",
            info: (*grant.user).into(),
        };
        for side in [&grant.local, &grant.remote] {
            let address = match side {
                None => None,
                Some(AddressSource::Address(address)) => Some(*address),
                Some(AddressSource::Pool(name)) => match pools.take_any(name, &of) {
                    Some((address, pool)) => {
                        leases.pools.push((pool, address));
                        Some(address)
                    }
                    None => {
                        leases.give_back(pools);
                        return Err(name.clone());
                    }
                },
            };
            match core::ptr::eq(side, &grant.local) {
                true => leases.local = address,
                false => leases.remote = address,
            }
        }
        Ok(leases)
    }

    /// Returns the addresses to their pools.
    pub(super) fn give_back(&mut self, pools: &Pools) {
        for (pool, address) in core::mem::take(&mut self.pools) {
            pools.give_back(&pool, address);
        }
    }
}
