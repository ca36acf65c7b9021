//! IPv6 prefixes of users: the prefix of the link, which router advertisements announce, and the DHCPv6 server that
//! delegates prefixes on the link.

use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use ipnet::Ipv6Net;
use machine::Duration;
use service::dhcp6::pool::User;
use service::dhcp6::pools::Pools as PrefixPools;

use super::Ppp;
use super::session::Login;
use crate::feature::dhcp6::server::SessionServer;
use crate::feature::{Effect, Effects};
use crate::intent::Name;

/// Lifetime of delegated prefixes without a configured one. RouterOS: one day.
const LIFETIME: Duration = Duration::from_secs(86_400);

/// Maximum number of users whose last prefix is remembered.
const MAX_LAST_PREFIXES: usize = 65_536;

/// A user and a pool.
type LastPrefixKey = (Name, Name);

/// Last prefix of users whose profile has `remote-ipv6-prefix-reuse=yes`. Above [`MAX_LAST_PREFIXES`] entries the
/// oldest is dropped.
#[derive(Debug, Default)]
pub(super) struct LastPrefixes {
    prefixes: BTreeMap<LastPrefixKey, (u64, Ipv6Addr)>,
    /// Keys in the order of their notes.
    order: BTreeMap<u64, LastPrefixKey>,
    /// Number of the last note.
    last: u64,
}

impl LastPrefixes {
    /// Returns the prefix that a user last had from a pool.
    fn get(&self, user: &Name, pool: &Name) -> Option<Ipv6Addr> {
        let of = self.prefixes.get(&(user.clone(), pool.clone()));
        of.map(|(_, prefix)| *prefix)
    }

    fn note(&mut self, user: &Name, pool: &Name, prefix: Ipv6Addr) {
        self.last += 1;
        let key = (user.clone(), pool.clone());
        if let Some((before, _)) = self.prefixes.insert(key.clone(), (self.last, prefix)) {
            self.order.remove(&before);
        }
        self.order.insert(self.last, key);
        if self.order.len() > MAX_LAST_PREFIXES
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.prefixes.remove(&oldest);
        }
    }
}

/// Returns the user of prefix pools for a session.
fn user(serial: u64) -> User {
    User {
        owner: "PPP",
        key: serial.to_string(),
    }
}

impl Ppp {
    /// Allocates the prefix of the link of a user's session: a fixed one, else one of a pool.
    pub(super) fn allocate_prefix(&mut self, serial: u64, out: &mut Effects) {
        let pools = self.prefix_pools.clone();
        let session = self.sessions.get_mut(&serial).filter(|of| of.is_server());
        let Some(login) = session.and_then(|session| session.login.as_deref_mut()) else {
            return;
        };
        let grant = &login.grant;
        if let Some(prefix) = grant.prefix {
            login.leases.prefix = Some((prefix, None));
            return;
        }
        let Some(pool) = grant.prefix_pool.clone() else {
            return;
        };
        let wish = grant.profile.prefix_reuse.unwrap_or(false);
        let wish = wish.then(|| self.last_prefixes.get(&grant.user, &pool));
        let prefix = pools.allocate(&pool, &user(serial), &grant.user, wish.flatten());
        let prefix = prefix.and_then(|(address, len)| Ipv6Net::new(address, len).ok());
        match prefix {
            Some(prefix) => login.leases.prefix = Some((prefix, Some(pool))),
            None => {
                let name = &login.interface.name;
                let message = format!("{name}: no prefix is left in pool {pool}");
                out.log(self.topics_of(serial, "error"), message);
            }
        }
    }
}

impl Login {
    /// Starts the DHCPv6 server of a session whose user may request prefixes.
    pub(super) fn delegate_prefixes(&self, serial: u64, out: &mut Effects) {
        let grant = &self.grant;
        if grant.delegated_prefixes.is_empty() && grant.delegation_pool.is_none() {
            return;
        }
        let prefixes = grant.delegated_prefixes.iter();
        let server = SessionServer {
            user: grant.user.clone(),
            interface: self.interface.name.clone(),
            pool: grant.delegation_pool.clone(),
            prefixes: prefixes
                .map(|net| (net.network(), net.prefix_len()))
                .collect(),
            lifetime: grant.profile.delegation_lifetime.unwrap_or(LIFETIME),
        };
        out.push(Effect::SessionServer(serial, Some(Box::new(server))));
    }

    /// Returns the prefix of the link to its pool, and ends the DHCPv6 server.
    pub(super) fn release_prefix(
        &mut self,
        serial: u64,
        pools: &PrefixPools,
        last: &mut LastPrefixes,
        out: &mut Effects,
    ) {
        if let Some((prefix, Some(pool))) = self.leases.prefix.take() {
            pools.release(&pool, &user(serial));
            if self.grant.profile.prefix_reuse == Some(true) {
                last.note(&self.grant.user, &pool, prefix.network());
            }
        }
        let grant = &self.grant;
        if !grant.delegated_prefixes.is_empty() || grant.delegation_pool.is_some() {
            out.push(Effect::SessionServer(serial, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_prefix_of_a_user_is_remembered_and_the_oldest_is_forgotten() {
        let mut last = LastPrefixes::default();
        let prefix = |number: usize| Ipv6Addr::from_bits(number as u128);
        let pool = Name::from("pool");
        let name = |number: usize| Name::from(number.to_string());
        last.note(&name(0), &pool, prefix(9));
        for number in 0..=MAX_LAST_PREFIXES {
            last.note(&name(number), &pool, prefix(number));
        }
        assert_eq!(last.get(&name(0), &pool), None);
        assert_eq!(last.get(&name(1), &pool), Some(prefix(1)));
        assert_eq!(last.get(&name(1), &Name::from("other")), None);
        assert_eq!(last.order.len(), MAX_LAST_PREFIXES);
        assert_eq!(last.prefixes.len(), MAX_LAST_PREFIXES);
    }
}
