//! What a server has given: addresses, prefixes, and what else it tells.

use core::net::Ipv6Addr;

use machine::{Duration, Instant};

use super::super::message::{Association, Options};

/// A time without an end, in seconds.
const INFINITE: u32 = u32::MAX;
/// How many addresses and prefixes are taken.
const MOST: usize = 16;
/// The shortest time until what was got is renewed.
const SOONEST: Duration = Duration::from_secs(1);

/// An address or a prefix that was got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Got {
    /// Whether it is a prefix.
    pub is_prefix: bool,
    /// The address, or the first one of the prefix.
    pub address: Ipv6Addr,
    /// The length of the prefix.
    pub len: u8,
    /// Until when it should be used; none is for ever.
    pub preferred: Option<Instant>,
    /// Until when it may be used.
    pub valid: Option<Instant>,
}

/// What a server has given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What names the server.
    pub server: Vec<u8>,
    /// Its address on the link.
    pub from: Ipv6Addr,
    /// Addresses and prefixes.
    pub got: Vec<Got>,
    /// Everything that it told.
    pub options: Options,
    /// When it is asked for longer; never if it is none.
    pub renew: Option<Instant>,
    /// When any server is.
    pub rebind: Option<Instant>,
}

impl Binding {
    /// What was got before a restart. Who gave it is not known any more; any server may confirm it.
    pub(super) fn recalled(got: Vec<Got>) -> Self {
        Self {
            server: Vec::new(),
            from: Ipv6Addr::UNSPECIFIED,
            got,
            options: Options::default(),
            renew: None,
            rebind: None,
        }
    }

    /// What was told to somebody who asked for no address.
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

    /// Reads what the associations of an answer give.
    pub(super) fn read(
        server: Vec<u8>,
        (from, options): (Ipv6Addr, &Options),
        own: &[Association],
        now: Instant,
    ) -> Self {
        let mut binding = Self::of_information(server, from, options);
        let until =
            |seconds: u32| (seconds != INFINITE).then(|| now + Duration::from_secs(seconds.into()));
        for association in own {
            let good = association.leased.iter().filter(|leased| {
                let first = leased.address.segments()[0];
                // Of this link, of groups, or nobody's.
                let is_global = first != 0 && first & 0xff00 != 0xff00 && first & 0xffc0 != 0xfe80;
                leased.valid > 0
                    && is_global
                    && (leased.len > 0 && leased.len < 128) == association.is_prefixes
            });
            for leased in good.take(MOST.saturating_sub(binding.got.len())) {
                binding.got.push(Got {
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

    /// Says when it is renewed: by what the server tells, else after half and four fifths of the shortest preferred
    /// time (RFC 8415, 14.2).
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

    /// Keeps what was there before, is valid, and is not spoken of.
    pub(super) fn keep(&mut self, before: &[Got], own: &[Association], now: Instant) {
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

    /// When the last of it may not be used any more; none if that is never, or if it is information alone.
    pub fn end(&self) -> Option<Instant> {
        let mut last = None;
        for got in &self.got {
            last = last.max(Some(got.valid?));
        }
        last
    }

    /// The prefixes.
    pub fn prefixes(&self) -> impl Iterator<Item = &Got> {
        self.got.iter().filter(|got| got.is_prefix)
    }

    /// The addresses.
    pub fn addresses(&self) -> impl Iterator<Item = &Got> {
        self.got.iter().filter(|got| !got.is_prefix)
    }
}
