//! The mirror that point-to-point interfaces share: one TUN device with the addresses of all of them.
//!
//! Addresses come and go with sessions, by the ten thousand. The kernel keeps the addresses of a device in a list and
//! walks it for each change, so most are not given to the device: an IPv4 address is a route of type `local`, with a
//! route to its network; an IPv6 address beyond the first [`ADDRESSES6`] is a local route. What several interfaces have
//! is counted and made once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use frame::InterfaceId;
use router::mirror::Mirror;

use super::netlink::{LocalNetwork, Netlink};

/// IPv6 addresses that the device itself has. Only those are chosen as sources for sockets that name none.
const ADDRESSES6: usize = 1024;

/// What the kernel has on the device because of the addresses of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Share {
    /// An IPv4 address of the router.
    Local4(Ipv4Addr),
    /// The network of such an address. It comes after the address, which is the source of its packets.
    Network4(LocalNetwork),
    /// An IPv6 address of the device, with its prefix length.
    Address6(Ipv6Addr, u8),
    /// An IPv6 address of the router that the device does not have.
    Local6(Ipv6Addr),
}

impl Share {
    /// Gives this to the device, or takes it away. What is so already is no error.
    pub(crate) fn set(&self, index: u32, wanted: bool, netlink: &mut Netlink) -> io::Result<()> {
        match (*self, wanted) {
            (Self::Local4(address), _) => netlink.set_local(index, address.into(), wanted),
            (Self::Local6(address), _) => netlink.set_local(index, address.into(), wanted),
            (Self::Network4(network), _) => netlink.set_network(index, &network, wanted),
            (Self::Address6(address, len), true) => netlink.add_address(index, address.into(), len),
            (Self::Address6(address, len), false) => {
                netlink.remove_address(index, address.into(), len)
            }
        }
    }
}

/// The shared mirror and its members.
#[derive(Default)]
pub(crate) struct SharedMirror {
    /// The device's number in the namespace, once it is made.
    index: Option<u32>,
    /// The interfaces that are on the device, with what it has because of them.
    members: BTreeMap<InterfaceId, BTreeSet<Share>>,
    /// How many members have this.
    counts: BTreeMap<Share, usize>,
    /// Shares that the kernel may not have as they are wanted.
    unsure: BTreeSet<Share>,
    addresses6: usize,
}

impl SharedMirror {
    /// The device's number, if there is one.
    pub(crate) fn index(&self) -> Option<u32> {
        self.index
    }

    /// Whether the device has to be made.
    pub(crate) fn is_missing(&self) -> bool {
        self.index.is_none() && !self.members.is_empty()
    }

    /// The device is there, under this number.
    pub(crate) fn made(&mut self, index: Option<u32>) {
        self.index = index;
    }

    /// Whether an interface is on the device.
    pub(crate) fn has(&self, id: InterfaceId) -> bool {
        self.members.contains_key(&id)
    }

    /// Takes over what an interface should have on the device; `None` if nothing.
    pub(crate) fn change(&mut self, id: InterfaceId, wanted: Option<&Mirror>) {
        let before = self.members.remove(&id).unwrap_or_default();
        if let Some(mirror) = wanted {
            let shares = self.shares(mirror, &before);
            for share in &shares {
                self.count(*share);
            }
            self.members.insert(id, shares);
        }
        for share in before {
            self.uncount(share);
        }
    }

    fn shares(&self, mirror: &Mirror, before: &BTreeSet<Share>) -> BTreeSet<Share> {
        let mut shares = BTreeSet::new();
        let mut room = ADDRESSES6.saturating_sub(self.addresses6);
        for (address, len) in &mirror.addresses {
            match *address {
                IpAddr::V4(address) => {
                    shares.insert(Share::Local4(address));
                    let network = LocalNetwork::of(address, *len, mirror.mtu);
                    shares.extend(network.map(Share::Network4));
                }
                IpAddr::V6(address) => {
                    let own = Share::Address6(address, *len);
                    let has_room =
                        room > 0 || before.contains(&own) || self.counts.contains_key(&own);
                    room = room.saturating_sub(1);
                    shares.insert(match has_room {
                        true => own,
                        false => Share::Local6(address),
                    });
                }
            }
        }
        shares
    }

    fn count(&mut self, share: Share) {
        let count = self.counts.entry(share).or_default();
        *count += 1;
        if *count == 1 {
            self.addresses6 += usize::from(matches!(share, Share::Address6(..)));
            self.unsure.insert(share);
        }
    }

    fn uncount(&mut self, share: Share) {
        let Some(count) = self.counts.get_mut(&share) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&share);
            self.addresses6 -= usize::from(matches!(share, Share::Address6(..)));
            self.unsure.insert(share);
        }
    }

    /// Whether the kernel has to be told something.
    pub(crate) fn is_due(&self) -> bool {
        self.index.is_some() && !self.unsure.is_empty()
    }

    /// Takes what the kernel has to be told: shares, and whether each is wanted. Removals come first, as an address may
    /// change its kind.
    pub(crate) fn take_due(&mut self) -> Vec<(Share, bool)> {
        let due = core::mem::take(&mut self.unsure);
        let all = due
            .into_iter()
            .map(|share| (share, self.counts.contains_key(&share)));
        let (wanted, gone): (Vec<_>, Vec<_>) = all.partition(|(_, wanted)| *wanted);
        gone.into_iter().chain(wanted).collect()
    }

    /// The kernel was not told this after all.
    pub(crate) fn failed(&mut self, share: Share) {
        self.unsure.insert(share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(addresses: &[(&str, u8)]) -> Mirror {
        let addresses = addresses.iter();
        let addresses = addresses.map(|(text, len)| (text.parse().expect("an address"), *len));
        Mirror {
            mtu: 1400,
            addresses: addresses.collect(),
            shared: true,
            ..Mirror::default()
        }
    }

    fn local4(text: &str) -> Share {
        Share::Local4(text.parse().expect("an address"))
    }

    #[test]
    fn what_several_members_have_is_made_once_and_goes_with_the_last() {
        let mut shared = SharedMirror::default();
        shared.change(InterfaceId(1), Some(&mirror(&[("10.0.0.1", 32)])));
        assert!(shared.is_missing() && !shared.is_due());
        shared.made(Some(7));
        shared.change(InterfaceId(2), Some(&mirror(&[("10.0.0.1", 32)])));
        assert_eq!(shared.take_due(), [(local4("10.0.0.1"), true)]);

        shared.change(InterfaceId(1), None);
        assert_eq!(shared.take_due(), []);
        shared.change(InterfaceId(2), None);
        assert_eq!(shared.take_due(), [(local4("10.0.0.1"), false)]);
        assert!(shared.counts.is_empty() && shared.members.is_empty());
    }

    #[test]
    fn an_address_that_changes_its_network_stays() {
        let mut shared = SharedMirror::default();
        shared.made(Some(7));
        shared.change(InterfaceId(1), Some(&mirror(&[("10.0.0.1", 30)])));
        let made = shared.take_due();
        assert!(matches!(
            made[..],
            [(Share::Local4(_), true), (Share::Network4(_), true)]
        ));

        shared.change(InterfaceId(1), Some(&mirror(&[("10.0.0.1", 29)])));
        let changed = shared.take_due();
        assert!(
            matches!(
                changed[..],
                [(Share::Network4(_), false), (Share::Network4(_), true)]
            ),
            "{changed:?}"
        );
    }

    #[test]
    fn the_device_has_a_bounded_number_of_ipv6_addresses() {
        let mut shared = SharedMirror::default();
        shared.made(Some(7));
        for number in 0..=ADDRESSES6 as u32 {
            let address = format!("2001:db8:{number:x}::1");
            shared.change(InterfaceId(number + 1), Some(&mirror(&[(&address, 64)])));
        }
        let due = shared.take_due();
        let others = due
            .iter()
            .filter(|(share, _)| matches!(share, Share::Local6(_)));
        assert_eq!((due.len(), others.count()), (ADDRESSES6 + 1, 1));

        for number in 0..=ADDRESSES6 as u32 {
            shared.change(InterfaceId(number + 1), None);
        }
        assert_eq!((shared.addresses6, shared.counts.len()), (0, 0));
    }

    #[test]
    fn what_the_kernel_refused_is_due_again() {
        let mut shared = SharedMirror::default();
        shared.made(Some(7));
        shared.change(InterfaceId(1), Some(&mirror(&[("10.0.0.1", 32)])));
        for (share, _) in shared.take_due() {
            shared.failed(share);
        }
        assert!(shared.is_due());
        assert_eq!(shared.take_due(), [(local4("10.0.0.1"), true)]);
    }
}
