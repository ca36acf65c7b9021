//! Servers that networks announce to this router: DNS and NTP. A feature reports the servers of its network by
//! `Effect::Learn` under an owner of its own; features that use servers follow by `Feature::learn`.

use core::net::{IpAddr, Ipv6Addr};
use std::collections::BTreeMap;

use crate::intent::Name;
use crate::object::Owner;

/// Maximum number of servers of a kind per network.
const MOST: usize = 16;

/// Servers that one network announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The interface towards the servers.
    pub interface: Name,
    /// DNS servers, preferred ones first.
    pub dns: Vec<IpAddr>,
    /// Only these DNS servers are used (`use-peer-dns=exclusively`).
    pub exclusive: bool,
    /// NTP servers.
    pub ntp: Vec<IpAddr>,
    /// Domain of the network's hosts.
    pub domain: Option<String>,
}

/// DNS servers that this router passes on to IPv6 hosts: the configured ones and the learned ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameServers6 {
    learned: Vec<Ipv6Addr>,
    /// The learned servers replace the configured ones.
    is_exclusive: bool,
}

impl NameServers6 {
    /// Returns the servers that networks announce. A link-local address is not valid on other links.
    pub(crate) fn of(learned: &Learned) -> Self {
        let all = learned.dns().into_iter();
        let all = all.filter_map(|(address, _)| match address {
            IpAddr::V6(address) if !address.is_unicast_link_local() => Some(address),
            _ => None,
        });
        Self {
            learned: all.collect(),
            is_exclusive: learned.is_exclusive(),
        }
    }

    /// Returns the configured servers, then the learned ones, without duplicates.
    pub(crate) fn with(&self, configured: &[Ipv6Addr]) -> Vec<Ipv6Addr> {
        let configured = configured.iter().filter(|_| !self.is_exclusive);
        let mut all: Vec<Ipv6Addr> = Vec::new();
        for server in configured.chain(&self.learned) {
            if !all.contains(server) {
                all.push(*server);
            }
        }
        all
    }
}

/// All announced servers, by owner: the name of a feature, then a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned(BTreeMap<Owner, Servers>);

impl Learned {
    /// Sets the servers of an owner, or removes them; returns whether anything changed.
    pub(crate) fn set(&mut self, owner: Owner, servers: Option<Servers>) -> bool {
        let Some(mut servers) = servers else {
            return self.0.remove(&owner).is_some();
        };
        servers.dns.truncate(MOST);
        servers.ntp.truncate(MOST);
        if self.0.get(&owner) == Some(&servers) {
            return false;
        }
        self.0.insert(owner, servers);
        true
    }
}

impl Learned {
    /// Returns the DNS servers without duplicates, with their interfaces: only the exclusive servers, if there are any.
    pub(crate) fn dns(&self) -> Vec<(IpAddr, &Name)> {
        let alone = self.is_exclusive();
        self.each(|servers| (!alone || servers.exclusive).then_some(&servers.dns))
    }

    /// Whether only exclusive DNS servers are used: not even configured ones.
    pub(crate) fn is_exclusive(&self) -> bool {
        { self.0.values() }.any(|servers| servers.exclusive && !servers.dns.is_empty())
    }

    /// Returns the NTP servers without duplicates, with their interfaces.
    pub(crate) fn ntp(&self) -> Vec<(IpAddr, &Name)> {
        self.each(|servers| Some(&servers.ntp))
    }

    /// Returns the domains without duplicates.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "for a resolver with search domains, which does not exist yet"
        )
    )]
    pub(crate) fn domains(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for domain in self.0.values().filter_map(|of| of.domain.as_deref()) {
            if !all.contains(&domain) {
                all.push(domain);
            }
        }
        all
    }

    fn each(&self, of: impl Fn(&Servers) -> Option<&Vec<IpAddr>>) -> Vec<(IpAddr, &Name)> {
        let mut all: Vec<(IpAddr, &Name)> = Vec::new();
        for servers in self.0.values() {
            for address in of(servers).into_iter().flatten() {
                if !all.iter().any(|(known, _)| known == address) {
                    all.push((*address, &servers.interface));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(feature: &'static str, number: u64) -> Owner {
        Owner { feature, number }
    }

    fn servers(interface: &str, dns: &[[u8; 4]]) -> Servers {
        Servers {
            interface: interface.into(),
            dns: dns.iter().map(|four| IpAddr::from(*four)).collect(),
            exclusive: false,
            ntp: Vec::new(),
            domain: Some("lan".to_owned()),
        }
    }

    #[test]
    fn servers_are_listed_in_order_without_repeats_and_removed_with_their_owner() {
        let mut learned = Learned::default();
        let (a, b) = (owner("dhcp-client", 1), owner("dhcp-client", 2));
        assert!(learned.set(b, Some(servers("ether2", &[[9; 4], [1; 4]]))));
        assert!(learned.set(a, Some(servers("ether1", &[[1; 4], [8; 4]]))));
        assert!(!learned.set(a, Some(servers("ether1", &[[1; 4], [8; 4]]))));
        let told: Vec<_> = learned
            .dns()
            .into_iter()
            .map(|(address, _)| address)
            .collect();
        assert_eq!(told, [[1; 4], [8; 4], [9; 4]].map(IpAddr::from));
        assert_eq!(&**learned.dns()[0].1, "ether1");
        assert_eq!(learned.domains(), ["lan"]);

        assert!(learned.set(a, None));
        assert!(!learned.set(a, None));
        assert_eq!(learned.dns().len(), 2);
        assert!(learned.ntp().is_empty());
    }

    #[test]
    fn exclusive_servers_hide_all_others() {
        let mut learned = Learned::default();
        learned.set(owner("a", 1), Some(servers("ether1", &[[1; 4]])));
        let alone = Servers {
            exclusive: true,
            ..servers("ether2", &[[8; 4]])
        };
        learned.set(owner("b", 1), Some(alone));
        let told = |learned: &Learned| -> Vec<_> { learned.dns().iter().map(|of| of.0).collect() };
        assert_eq!(told(&learned), [IpAddr::from([8; 4])]);
        assert!(learned.is_exclusive());

        // An exclusive owner without DNS servers excludes no others.
        let none = Servers {
            exclusive: true,
            ..servers("ether2", &[])
        };
        learned.set(owner("b", 1), Some(none));
        assert_eq!(told(&learned), [IpAddr::from([1; 4])]);
        assert!(!learned.is_exclusive());
    }

    #[test]
    fn one_network_cannot_tell_any_number() {
        let mut learned = Learned::default();
        let many: Vec<_> = (0..200).map(|last| [10, 0, 0, last]).collect();
        learned.set(owner("dhcp-client", 1), Some(servers("ether1", &many)));
        assert_eq!(learned.dns().len(), MOST);
    }
}
