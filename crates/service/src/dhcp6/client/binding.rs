//! A server's reply as a binding: addresses, prefixes and options.

use core::net::Ipv6Addr;

use machine::{Duration, Instant};

use super::super::message::{Association, Options};

/// Infinite lifetime, in seconds.
const INFINITE: u32 = u32::MAX;
/// Maximum number of addresses and prefixes taken from one reply.
const MOST: usize = 16;
/// Minimum time until renewal.
const SOONEST: Duration = Duration::from_secs(1);

/// An assigned address or delegated prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// True for a prefix.
    pub is_prefix: bool,
    /// Address, or first address of the prefix.
    pub address: Ipv6Addr,
    /// Prefix length.
    pub len: u8,
    /// End of the preferred lifetime; `None` is infinite.
    pub preferred: Option<Instant>,
    /// End of the valid lifetime; `None` is infinite.
    pub valid: Option<Instant>,
}

/// Everything that a server assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// DUID of the server.
    pub server: Vec<u8>,
    /// Link-local address of the server.
    pub from: Ipv6Addr,
    /// Addresses and prefixes.
    pub got: Vec<Delegation>,
    /// All options of the reply.
    pub options: Options,
    /// T1: time to renew with this server; `None` is never.
    pub renew: Option<Instant>,
    /// T2: time to rebind with any server; `None` is never.
    pub rebind: Option<Instant>,
}

impl Binding {
    /// Restores a binding from before a restart. The server is unknown, so any server may confirm it.
    pub(super) fn recalled(got: Vec<Delegation>) -> Self {
        Self {
            server: Vec::new(),
            from: Ipv6Addr::UNSPECIFIED,
            got,
            options: Options::default(),
            renew: None,
            rebind: None,
        }
    }

    /// Creates a binding without addresses from the reply to an information request.
    pub(super) fn of_information(server: Vec<u8>, from: Ipv6Addr, options: &Options) -> Self {
        Self {
            server,
            from,
            got: Vec::new(),
            options: options.clone(),
            renew: None,
            rebind: None,
        }
    }

    /// Parses the identity associations of a reply.
    pub(super) fn read(
        server: Vec<u8>,
        from: Ipv6Addr,
        options: &Options,
        own: &[Association],
        now: Instant,
    ) -> Self {
        let mut binding = Self::of_information(server, from, options);
        let until =
            |seconds: u32| (seconds != INFINITE).then(|| now + Duration::from_secs(seconds.into()));
        for association in own {
            let good = association.leased.iter().filter(|leased| {
                let first = leased.address.segments()[0];
                // Rejects link-local, multicast and unspecified addresses.
                let is_global = first != 0 && first & 0xff00 != 0xff00 && first & 0xffc0 != 0xfe80;
                leased.valid > 0
                    && is_global
                    && (leased.len > 0 && leased.len < 128) == association.is_prefixes
            });
            for leased in good.take(MOST.saturating_sub(binding.got.len())) {
                binding.got.push(Delegation {
                    is_prefix: association.is_prefixes,
                    address: leased.address,
                    len: leased.len,
                    preferred: until(leased.preferred),
                    valid: until(leased.valid),
                });
            }
        }
        binding.plan(own, now);
        binding
    }

    /// Sets T1 and T2: the server's values, or 0.5 and 0.8 times the shortest preferred lifetime (RFC 8415, 14.2).
    fn plan(&mut self, own: &[Association], now: Instant) {
        let used = || own.iter().filter(|own| !own.leased.is_empty());
        let shortest = used().flat_map(|own| own.leased.iter().map(|leased| leased.preferred));
        let shortest = shortest
            .filter(|seconds| *seconds > 0)
            .min()
            .unwrap_or(INFINITE);
        let told = |of: fn(&Association) -> u32| {
            let told = used().map(of).filter(|seconds| *seconds > 0).min();
            told.filter(|seconds| *seconds != INFINITE)
                .map(|seconds| Duration::from_secs(seconds.into()))
        };
        let part = |tenths: u32| {
            let whole = Duration::from_secs(shortest.into());
            (shortest != INFINITE).then(|| whole * tenths / 10)
        };
        let (t1, t2) = (told(|own| own.t1), told(|own| own.t2));
        let is_turned = t1.zip(t2).is_some_and(|(t1, t2)| t1 > t2);
        let (t1, t2) = match is_turned {
            true => (part(5), part(8)),
            false => (t1.or_else(|| part(5)), t2.or_else(|| part(8))),
        };
        self.renew = t1.map(|time| now + time.max(SOONEST));
        self.rebind = t2.map(|time| now + time.max(SOONEST));
    }

    /// Keeps earlier addresses and prefixes that are still valid and that the reply does not mention.
    pub(super) fn keep(&mut self, before: &[Delegation], own: &[Association], now: Instant) {
        for old in before {
            let of_it = |association: &&Association| association.is_prefixes == old.is_prefix;
            let spoken = own.iter().filter(of_it).any(|own| {
                own.status != super::Status::Success
                    || own
                        .leased
                        .iter()
                        .any(|leased| leased.address == old.address)
            });
            let holds = old.valid.is_none_or(|at| at > now);
            if holds && !spoken && self.got.len() < MOST {
                self.got.push(*old);
            }
        }
    }

    /// Expiry of the last address or prefix; `None` if never, or if the binding holds information only.
    pub fn end(&self) -> Option<Instant> {
        let mut last = None;
        for got in &self.got {
            last = last.max(Some(got.valid?));
        }
        last
    }

    /// Delegated prefixes.
    pub fn prefixes(&self) -> impl Iterator<Item = &Delegation> {
        self.got.iter().filter(|got| got.is_prefix)
    }

    /// Assigned addresses.
    pub fn addresses(&self) -> impl Iterator<Item = &Delegation> {
        self.got.iter().filter(|got| !got.is_prefix)
    }
}
