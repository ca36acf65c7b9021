//! What networks tell this router of servers: of names, of time. Each feature that learns some tells it by
//! `Effect::Learn` under an owner of its own; who asks such servers follows by `Feature::learn`.

use core::net::IpAddr;
use std::collections::BTreeMap;

use crate::intent::Name;
use crate::object::Owner;

/// How many servers of a kind one network may tell.
const MOST: usize = 16;

/// The servers that one network tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The interface that they are behind.
    pub interface: Name,
    /// Of names, the first one preferred.
    pub dns: Vec<IpAddr>,
    /// Those are asked alone (`use-peer-dns=exclusively`).
    pub exclusive: bool,
    /// Of time.
    pub ntp: Vec<IpAddr>,
    /// The domain of hosts there.
    pub domain: Option<String>,
}

/// All that is learned, by owner, in the owners' order: a feature's name, then its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned(BTreeMap<Owner, Servers>);

impl Learned {
    /// Takes over what an owner tells, or that it tells nothing any more; says whether anything is other.
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
    /// The servers of names, each once, with the interface that they are behind: those that are to be asked alone, if
    /// there are such.
    pub(crate) fn dns(&self) -> Vec<(IpAddr, &Name)> {
        let alone = self.is_exclusive();
        self.each(|servers| (!alone || servers.exclusive).then_some(&servers.dns))
    }

    /// Whether servers of names are to be asked alone: no configured ones either.
    pub(crate) fn is_exclusive(&self) -> bool {
        { self.0.values() }.any(|servers| servers.exclusive && !servers.dns.is_empty())
    }

    /// The servers of time, each once, with the interface that they are behind.
    pub(crate) fn ntp(&self) -> Vec<(IpAddr, &Name)> {
        self.each(|servers| Some(&servers.ntp))
    }

    /// The domains, each once.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what looks for names there is not here yet")
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
    fn servers_are_told_in_order_each_once_and_go_with_their_owner() {
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
    fn servers_that_are_to_be_asked_alone_keep_others_out() {
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

        // Who tells none keeps nobody out.
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
