//! Tunnels between two addresses: `/interface/eoip`, `gre`, `ipip` and theirs over IPv6, and `6to4`. Each is an
//! interface; of those that say so, the other end is asked from time to time whether it is there (`keepalive`).
//!
//! Of EoIP a packet without a frame says so, and nobody answers it. Of GRE a packet carries its own answer, which the
//! other end sends back as it sends any packet.

use core::net::IpAddr;
use std::collections::BTreeMap;

use dataplane::interface::{Between, Carries, Heard};
use frame::InterfaceId;
use machine::{Duration, Instant};
use menu::{Changes, Item, Value};
use wire::{Mac, checksum};

use super::hear::Outgoing;
use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{Class, Interface, InterfaceKind, ItemId, Wanted};
use crate::read;

const EOIP: &str = "/interface/eoip";
const EOIP6: &str = "/interface/eoipv6";
const GRE: &str = "/interface/gre";
const GRE6: &str = "/interface/gre6";
const IPIP: &str = "/interface/ipip";
const IPIP6: &str = "/interface/ipipv6";
const SIX_TO_FOUR: &str = "/interface/6to4";
const MENUS: [&str; 7] = [EOIP, EOIP6, GRE, GRE6, IPIP, IPIP6, SIX_TO_FOUR];

/// The lifetime of outer packets (RouterOS: that of EoIP was seen).
const TTL: u8 = 255;
/// The MTU of the way to the other end.
const WAY: u32 = 1500;
/// What a packet may have between the headers of IP in ESP as `ipsec-secret` makes it (AES-CBC, SHA-1), on such a way
/// over IPv4, and over IPv6.
const PROTECTED: [u32; 2] = [1438, 1422];
/// Why a tunnel is held down.
const SILENT: &str = "the other end sends no keepalives";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    all: BTreeMap<ItemId, One>,
    /// The addresses that this router reaches other ends from.
    sources: BTreeMap<IpAddr, IpAddr>,
    asks: bool,
}

/// A tunnel.
#[derive(Debug)]
struct One {
    carries: Carries,
    local: IpAddr,
    remote: IpAddr,
    heard: Heard,
    watch: Option<Watch>,
}

/// Whether the other end is there.
#[derive(Debug)]
struct Watch {
    interval: Duration,
    /// How long it may be silent.
    patience: Duration,
    /// Packets of it that were seen.
    seen: u64,
    /// When it is asked again, and when it was silent for too long.
    next: Option<Instant>,
    until: Instant,
    is_held: bool,
}

impl Tunnels {
    /// The other ends of which this router's own end is to be found, if it is now.
    pub(crate) fn take_asked(&mut self) -> Option<Vec<IpAddr>> {
        let asks = core::mem::take(&mut self.asks);
        let open = self.all.values().filter(|one| one.local.is_unspecified());
        asks.then(|| open.map(|one| one.remote).collect())
    }

    /// Routes changed: the addresses that this router reaches other ends from may be others.
    pub(crate) fn routes_changed(&mut self) {
        self.asks |= self.all.values().any(|one| one.local.is_unspecified());
    }

    /// Takes over by which addresses this router reaches other ends.
    pub(crate) fn set_sources(&mut self, sources: BTreeMap<IpAddr, IpAddr>) {
        self.sources = sources;
    }

    fn put(&mut self, id: ItemId, item: &Item, out: &mut Effects) {
        let before = self.all.remove(&id);
        let was_held = { before.as_ref() }
            .and_then(|one| one.watch.as_ref())
            .is_some_and(|watch| watch.is_held);
        if was_held {
            out.push(hold(id, false));
        }
        let heard = before.map(|one| one.heard).unwrap_or_default();
        let Some((interface, one)) = tunnel(item, heard) else {
            return out.push(Effect::Item(id, Wanted::Interface(None)));
        };
        out.push(Effect::Item(id, Wanted::Interface(Some(interface))));
        if let Some(one) = one {
            self.asks |= one.local.is_unspecified();
            self.all.insert(id, one);
        }
    }
}

/// A tunnel is held down, or not any more.
const fn hold(item: ItemId, is_held: bool) -> Effect {
    Effect::Hold {
        item,
        why: SILENT,
        is_held,
    }
}

impl Feature for Tunnels {
    fn menus(&self) -> &'static [&'static str] {
        &MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        for menu in MENUS {
            each_item(view, menu, changes, |id, item| match item {
                Some(item) => self.put(id, item, out),
                None => {
                    if let Some(watch) = self.all.remove(&id).and_then(|one| one.watch)
                        && watch.is_held
                    {
                        out.push(hold(id, false));
                    }
                    out.push(Effect::Item(id, Wanted::Interface(None)));
                }
            });
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        for (id, one) in &mut self.all {
            let Some(watch) = &mut one.watch else {
                continue;
            };
            if watch.next.is_some_and(|next| next > now) {
                continue;
            }
            // The first time, the other end has all of its time.
            let first = watch.next.replace(now + watch.interval).is_none();
            let heard = one.heard.count();
            if core::mem::replace(&mut watch.seen, heard) != heard || first {
                watch.until = now + watch.patience;
            }
            let is_silent = watch.until <= now;
            if core::mem::replace(&mut watch.is_held, is_silent) != is_silent {
                out.push(hold(*id, is_silent));
            }
            let local = match one.local.is_unspecified() {
                true => self.sources.get(&one.remote).copied(),
                false => Some(one.local),
            };
            if let Some(bytes) = local.and_then(|local| keepalive(one.carries, local, one.remote)) {
                out.send(Outgoing::packet(InterfaceId::NONE, bytes));
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let watches = self.all.values().filter_map(|one| one.watch.as_ref());
        let next = watches
            .map(|watch| watch.next.unwrap_or(Instant::ZERO))
            .min();
        match self.asks {
            true => Some(Instant::ZERO),
            false => next,
        }
    }

    fn lay_out(
        &mut self,
        _: &std::collections::BTreeSet<InterfaceId>,
        _: &crate::running::Running<'_>,
        _: &mut Effects,
    ) {
        self.routes_changed();
    }
}

/// What an item says: the interface, and what is watched of it.
fn tunnel(item: &Item, heard: Heard) -> Option<(Interface, Option<One>)> {
    let menu = item.menu.path;
    let address = |name| item.get(name).and_then(Value::as_address);
    let known = |address: &IpAddr| !address.is_unspecified();
    let idle = || {
        Some((
            read::interface_of(item, InterfaceKind::Idle, Class::Other)?,
            None,
        ))
    };
    let Some(remote) = address("remote-address").filter(known) else {
        return idle();
    };
    let number = item
        .number("tunnel-id")
        .and_then(|number| u16::try_from(number).ok());
    let carries = match menu {
        EOIP | EOIP6 => Carries::Frames(number.unwrap_or(0)),
        GRE | GRE6 => Carries::Gre,
        _ => Carries::Packets,
    };
    let ipv6 = remote.is_ipv6();
    let unspecified = if ipv6 {
        IpAddr::from([0u16; 8])
    } else {
        IpAddr::from([0u8; 4])
    };
    let local = address("local-address").unwrap_or(unspecified);
    let secret = !item.text("ipsec-secret").is_empty();
    let auto = mtu(carries, ipv6, secret);
    let mtu = item
        .number("mtu")
        .and_then(|mtu| u32::try_from(mtu).ok())
        .unwrap_or(auto);
    let tunnel = Between {
        id: InterfaceId::NONE,
        carries,
        local,
        remote,
        ttl: TTL,
        dscp: item.number("dscp").and_then(|dscp| u8::try_from(dscp).ok()),
        inherits_dont_fragment: item.text("dont-fragment") == "inherit",
        fast: item.is("allow-fast-path"),
        clamp: item.is("clamp-tcp-mss").then_some(mtu),
        heard: heard.clone(),
    };
    let kind = InterfaceKind::Between {
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        tunnel: Box::new(tunnel),
    };
    let interface = Interface {
        mtu,
        ..read::interface_of(item, kind, Class::Other)?
    };
    let watch = match carries {
        Carries::Packets => None,
        Carries::Gre | Carries::Frames(_) => watch(item).filter(|_| !item.is("disabled")),
    };
    let one = One {
        carries,
        local,
        remote,
        heard,
        watch,
    };
    Some((interface, Some(one)))
}

/// `keepalive=10s,10`: how often, and how many times nothing may come.
fn watch(item: &Item) -> Option<Watch> {
    let Value::Tuple(_, parts) = item.get("keepalive")? else {
        return None;
    };
    let [interval, retries] = &**parts else {
        return None;
    };
    let interval = interval
        .as_nanos()
        .and_then(|nanos| u64::try_from(nanos).ok())?;
    let retries = retries
        .as_number()
        .and_then(|retries| u32::try_from(retries).ok())?;
    let interval = Duration::from_nanos(interval);
    (interval > Duration::ZERO && retries > 0).then(|| Watch {
        interval,
        patience: interval.saturating_mul(retries),
        seen: 0,
        next: None,
        until: Instant::ZERO,
        is_held: false,
    })
}

/// The layer-3 MTU that fits the way to the other end.
const fn mtu(carries: Carries, ipv6: bool, secret: bool) -> u32 {
    let outer = if ipv6 { 40 } else { 20 };
    let room = match secret {
        true => PROTECTED[ipv6 as usize],
        false => WAY - outer,
    };
    room - match (carries, ipv6) {
        (Carries::Packets, _) => 0,
        (Carries::Gre, _) => 4,
        (Carries::Frames(_), false) => 8 + 14,
        (Carries::Frames(_), true) => 2 + 14,
    }
}

/// A packet that asks the other end whether it is there, or says that this one is.
fn keepalive(carries: Carries, local: IpAddr, remote: IpAddr) -> Option<Vec<u8>> {
    let ipv6 = remote.is_ipv6();
    let behind = match (carries, ipv6) {
        (Carries::Frames(number), false) => {
            let [low, high] = number.to_le_bytes();
            vec![0x20, 0x01, 0x64, 0x00, 0, 0, low, high]
        }
        (Carries::Frames(number), true) => {
            let [high, low] = number.to_be_bytes();
            vec![high << 4 | 3, low]
        }
        (Carries::Gre, _) => {
            // RouterOS: the answer names no protocol over IPv4, and IPv6 over IPv6.
            let (kind, answer) = match ipv6 {
                false => ([0x08, 0x00], [0, 0, 0, 0]),
                true => ([0x86, 0xdd], [0, 0, 0x86, 0xdd]),
            };
            let answer = packet(47, remote, local, &answer)?;
            [&[0, 0], &kind[..], &answer].concat()
        }
        (Carries::Packets, _) => return None,
    };
    let protocol = match (carries, ipv6) {
        (Carries::Frames(_), true) => 97,
        _ => 47,
    };
    packet(protocol, local, remote, &behind)
}

/// A packet with these bytes behind its header; none where both ends are not of one family.
fn packet(protocol: u8, from: IpAddr, to: IpAddr, behind: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut header = vec![0x45, 0, 0, 0, 0, 0, 0, 0, TTL, protocol, 0, 0];
            header[2..4].copy_from_slice(&(20 + behind.len() as u16).to_be_bytes());
            header.extend(from.octets());
            header.extend(to.octets());
            let sum = !checksum::sum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            header
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let [a, b] = (behind.len() as u16).to_be_bytes();
            let mut header = vec![0x60, 0, 0, 0, a, b, protocol, TTL];
            header.extend(from.octets());
            header.extend(to.octets());
            header
        }
        _ => return None,
    };
    bytes.extend(behind);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn keepalives_are_the_bytes_that_routers_send() {
        let eoip = keepalive(Carries::Frames(100), v4(1), v4(2)).expect("one family");
        assert_eq!(eoip[20..], [0x20, 0x01, 0x64, 0x00, 0, 0, 0x64, 0]);
        assert_eq!((eoip.len(), eoip[8], eoip[9]), (28, 255, 47));
        let gre = keepalive(Carries::Gre, v4(1), v4(2)).expect("one family");
        assert_eq!(gre.len(), 48);
        assert_eq!(gre[20..24], [0, 0, 0x08, 0]);
        // The answer goes the other way.
        assert_eq!(gre[36..44], [192, 0, 2, 2, 192, 0, 2, 1]);
        assert_eq!(gre[44..], [0; 4]);
        let [a, b] = [1u16, 2].map(|last| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]));
        let eoip6 = keepalive(Carries::Frames(1234), a, b).expect("one family");
        assert_eq!(eoip6[40..], [0x43, 0xd2]);
        assert_eq!(keepalive(Carries::Packets, a, b), None);
        assert_eq!(keepalive(Carries::Gre, a, v4(1)), None);
    }

    #[test]
    fn the_mtu_is_what_routeros_shows() {
        assert_eq!(mtu(Carries::Frames(1), false, false), 1458);
        assert_eq!(mtu(Carries::Frames(1), false, true), 1416);
        assert_eq!(mtu(Carries::Frames(1), true, false), 1444);
        assert_eq!(mtu(Carries::Gre, false, false), 1476);
        assert_eq!(mtu(Carries::Packets, false, false), 1480);
    }
}
