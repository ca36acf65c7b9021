//! Rights and settings of an authenticated session: RADIUS attribute, then secret, then profile, then default profile;
//! a single address comes before a pool (RouterOS).

use core::net::Ipv4Addr;

use ipnet::Ipv6Net;
use machine::Duration;
use ppp::{EncryptionPolicy, KeyLength, KeyLengths};
use service::pool::{Pools, Use};
use service::radius::authorization::Encryption;
use service::radius::{Accept, Authorization, Prefix6};
use std::sync::Arc;

use super::profile::{AddressSource, Profile};
use super::radius;
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
    /// Encryption of the session, and the lengths of its keys.
    pub(super) encryption: EncryptionPolicy,
    pub(super) key_lengths: KeyLengths,
    pub(super) session_timeout: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    /// Maximum bytes from the user; 0 is no limit.
    pub(super) limit_in: u64,
    /// Maximum bytes to the user; 0 is no limit.
    pub(super) limit_out: u64,
    /// IPv6 prefix of the user.
    pub(super) prefix: Option<Ipv6Net>,
    /// Routes through the user.
    /// Pool of the prefix of the link.
    pub(super) prefix_pool: Option<Name>,
    /// Prefixes that the user may request by DHCPv6.
    pub(super) delegated_prefixes: Vec<Ipv6Net>,
    /// Pool of further prefixes that the user may request by DHCPv6.
    pub(super) delegation_pool: Option<Name>,
    pub(super) routes: Box<str>,
    pub(super) ipv6_routes: Box<str>,
    pub(super) comment: Box<str>,
    /// DNS servers of the user.
    pub(super) dns: Vec<Ipv4Addr>,
    /// Maximum bytes of both directions; 0 is no limit.
    pub(super) limit_total: u64,
    /// Interval of interim updates that the RADIUS server chose.
    pub(super) interim: Option<Duration>,
    /// Maximum number of the user's sessions that the RADIUS server allows.
    pub(super) port_limit: Option<usize>,
    /// Class attributes, to repeat in accounting.
    pub(super) classes: Vec<Vec<u8>>,
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

    /// Returns the grant of a client session, whose settings come from the profile only.
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
            encryption: profile.encryption_policy(),
            key_lengths: KeyLengths::ALL,
            session_timeout: profile.session_timeout,
            idle_timeout: profile.idle_timeout,
            limit_in: 0,
            limit_out: 0,
            prefix: None,
            prefix_pool: profile.prefix_pool.clone(),
            delegated_prefixes: Vec::new(),
            delegation_pool: profile.delegation_pool.clone(),
            routes: Box::default(),
            ipv6_routes: Box::default(),
            comment: Box::default(),
            dns: profile.dns.clone(),
            limit_total: 0,
            interim: None,
            port_limit: None,
            classes: Vec::new(),
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

impl Grant {
    /// Returns the settings of a user whom a RADIUS server accepted, with this profile.
    pub(super) fn of_radius(user: Name, profile: Arc<Profile>, accept: &Accept) -> Self {
        let base = Self::of_profile(user, profile);
        let authorization = &accept.authorization;
        let (ipv4, ipv6) = (&authorization.ipv4, &authorization.ipv6);
        let pool = ipv4
            .pool
            .as_deref()
            .map(|pool| AddressSource::Pool(pool.into()));
        let remote = match (ipv4.address, pool, base.remote) {
            (Some(address), _, _) => Some(AddressSource::Address(address)),
            (None, Some(_), Some(fixed @ AddressSource::Address(_))) => Some(fixed),
            (None, pool, own) => pool.or(own),
        };
        let mut routes = ipv4.routes.clone();
        if let (Some(address), Some(mask)) = (ipv4.address, ipv4.netmask)
            && mask != Ipv4Addr::BROADCAST
        {
            routes.push(format!("{address}/{}", mask.to_bits().leading_ones()));
        }
        let dns: Vec<_> = ipv4.dns.into_iter().flatten().collect();
        let lists = radius::names(&authorization.address_lists);
        let net = |prefix: &Prefix6| Ipv6Net::new(prefix.network, prefix.length).ok();
        let name = |pool: &Option<String>| pool.as_deref().map(Name::from);
        let mut grant = Self {
            authority: Authority::Radius,
            remote,
            address_lists: if lists.is_empty() {
                base.address_lists
            } else {
                lists
            },
            rate_limit: { authorization.rate_limit.as_deref() }
                .map(Into::into)
                .or(base.rate_limit),
            prefix: ipv6.prefixes.first().and_then(net),
            prefix_pool: name(&ipv6.pool).or(base.prefix_pool),
            delegated_prefixes: ipv6.delegated_prefixes.iter().filter_map(net).collect(),
            delegation_pool: name(&ipv6.delegated_pool).or(base.delegation_pool),
            routes: routes.join(",").into(),
            ipv6_routes: ipv6.routes.join(",").into(),
            dns: if dns.is_empty() { base.dns } else { dns },
            interim: radius::seconds(authorization.interim),
            port_limit: authorization.port_limit.map(|limit| limit as usize),
            classes: accept.classes.clone(),
            ..base
        };
        grant.set_encryption(&authorization.encryption);
        grant.set_limits(authorization);
        grant.set_filters(&authorization.filters);
        grant
    }

    /// Sets the encryption that a RADIUS server chose (RFC 2548, 2.4.4 and 2.4.5). RouterOS: key lengths allow
    /// encryption, and the policy requires it. A profile that requires encryption keeps its word.
    fn set_encryption(&mut self, encryption: &Encryption) {
        const REQUIRED: u32 = 2;
        const LENGTHS: [(u32, KeyLength); 3] = [
            (2, KeyLength::Bits40),
            (4, KeyLength::Bits128),
            (8, KeyLength::Bits56),
        ];
        if let Some(types) = encryption.types {
            let named = LENGTHS.into_iter().filter(|(bit, _)| types & bit != 0);
            let none = KeyLengths::NONE;
            self.key_lengths = named.fold(none, |all, (_, length)| all.with(length));
            let chosen = match self.key_lengths.is_empty() {
                true => EncryptionPolicy::Off,
                false => EncryptionPolicy::Allowed,
            };
            if self.encryption != EncryptionPolicy::Required {
                self.encryption = chosen;
            }
        }
        if encryption.policy == Some(REQUIRED) {
            self.encryption = EncryptionPolicy::Required;
        }
    }

    /// Sets the timeouts and byte limits that a RADIUS server gave.
    pub(super) fn set_limits(&mut self, authorization: &Authorization) {
        let limits = &authorization.limits;
        self.session_timeout =
            radius::seconds(authorization.session_timeout).or(self.session_timeout);
        self.idle_timeout = radius::seconds(authorization.idle_timeout).or(self.idle_timeout);
        self.limit_in = limits.input.unwrap_or(self.limit_in);
        self.limit_out = limits.output.unwrap_or(self.limit_out);
        self.limit_total = limits.total.unwrap_or(self.limit_total);
    }

    /// Sets firewall chains (Filter-Id). RouterOS: the last one of each direction counts; without `.in` or `.out`, a
    /// chain is for both directions.
    pub(super) fn set_filters(&mut self, filters: &[String]) {
        for filter in filters {
            match (filter.strip_suffix(".in"), filter.strip_suffix(".out")) {
                (Some(chain), _) => self.incoming_filter = Some(chain.into()),
                (None, Some(chain)) => self.outgoing_filter = Some(chain.into()),
                (None, None) => {
                    self.incoming_filter = Some(filter.as_str().into());
                    self.outgoing_filter = Some(filter.as_str().into());
                }
            }
        }
    }
}

/// Addresses and prefix of a session, and the pools to return them to.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// Prefix of the link, while IPv6 is open, with the pool that it came from.
    pub(super) prefix: Option<(Ipv6Net, Option<Name>)>,
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
