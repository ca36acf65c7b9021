//! Mirror shared by point-to-point interfaces: one TUN device with the addresses of all.
//!
//! Addresses come and go with sessions, by the ten thousand. The kernel walks a device's address list for each
//! change, so most are not assigned to the device: an IPv4 address becomes a route of type `local`, with a
//! route to its network; an IPv6 address beyond the first [`MAX_ADDRESSES6`] becomes a local route. Entries shared
//! by several interfaces are counted and created once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use frame::InterfaceId;
use router::mirror::Mirror;

use super::netlink::{LocalNetwork, Netlink};

/// Number of IPv6 addresses assigned to the device. Only these are source candidates for sockets without a
/// source.
const MAX_ADDRESSES6: usize = 1024;

/// Kernel entry on the device for the addresses of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Share {
    /// Local IPv4 address.
    Local4(Ipv4Addr),
    /// Network of a local IPv4 address. It follows the address, which is its source.
    Network4(LocalNetwork),
    /// IPv6 address assigned to the device, with prefix length.
    Address6(Ipv6Addr, u8),
    /// Local IPv6 address without assignment to the device.
    Local6(Ipv6Addr),
}

impl Share {
    /// Adds or removes the entry. An unchanged state is no error.
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
    /// Device index in the namespace, once created.
    index: Option<u32>,
    /// Member interfaces with their entries.
    members: BTreeMap<InterfaceId, BTreeSet<Share>>,
    /// Number of members per entry.
    counts: BTreeMap<Share, usize>,
    /// Entries whose kernel state may differ from the wanted state.
    unsure: BTreeSet<Share>,
    addresses6: usize,
}

impl SharedMirror {
    /// Returns the device index.
    pub(crate) fn index(&self) -> Option<u32> {
        self.index
    }

    /// Returns true if the device has to be created.
    pub(crate) fn is_missing(&self) -> bool {
        self.index.is_none() && !self.members.is_empty()
    }

    /// Records the created device, or its loss.
    pub(crate) fn made(&mut self, index: Option<u32>) {
        self.index = index;
    }

    /// Returns true if an interface is a member.
    pub(crate) fn has(&self, id: InterfaceId) -> bool {
        self.members.contains_key(&id)
    }

    /// Sets the wanted entries of an interface; `None` removes it.
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
        let mut room = MAX_ADDRESSES6.saturating_sub(self.addresses6);
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

    /// Returns true if kernel entries have to change.
    pub(crate) fn is_due(&self) -> bool {
        self.index.is_some() && !self.unsure.is_empty()
    }

    /// Takes the entries to change, with their wanted state. Removals come first, since an address may change
    /// its type.
    pub(crate) fn take_due(&mut self) -> Vec<(Share, bool)> {
        let due = core::mem::take(&mut self.unsure);
        let all = due
            .into_iter()
            .map(|share| (share, self.counts.contains_key(&share)));
        let (wanted, gone): (Vec<_>, Vec<_>) = all.partition(|(_, wanted)| *wanted);
        gone.into_iter().chain(wanted).collect()
    }

    /// Marks an entry for another attempt.
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
    fn an_entry_of_several_members_is_added_once_and_removed_with_the_last() {
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
        for number in 0..=MAX_ADDRESSES6 as u32 {
            let address = format!("2001:db8:{number:x}::1");
            shared.change(InterfaceId(number + 1), Some(&mirror(&[(&address, 64)])));
        }
        let due = shared.take_due();
        let others = due
            .iter()
            .filter(|(share, _)| matches!(share, Share::Local6(_)));
        assert_eq!((due.len(), others.count()), (MAX_ADDRESSES6 + 1, 1));

        for number in 0..=MAX_ADDRESSES6 as u32 {
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
