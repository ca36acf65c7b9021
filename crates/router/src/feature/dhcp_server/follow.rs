//! Side effects of a lease: an ARP entry, address list entries, a queue, a DNS name and the lease
//! script.

use core::fmt::Write as _;
use core::net::Ipv4Addr;
use std::sync::Arc;

use frame::InterfaceId;
use menu::Item;
use queue::Limits;
use service::dhcp::server::{DYNAMIC, Lease, State};
use wire::Mac;

use super::{DhcpServers, Effect, Effects, items};
use crate::feature::LeaseChange;
use crate::feature::queue::LeaseQueue;
use crate::intent::{ItemId, Name};

/// Side effects of one bound lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct With {
    pub(super) address: Ipv4Addr,
    pub(super) mac: Mac,
    /// Interface of the ARP entry.
    pub(super) arp: Option<Name>,
    pub(super) lists: Vec<Name>,
    pub(super) queue: Option<LeaseQueue>,
    /// DNS name of the client.
    pub(super) dns: Option<Arc<str>>,
}

/// Returns the DNS name of a client in a domain, or `None` if its host name is no valid label.
fn dns_name(host: &str, domain: &str) -> Option<Arc<str>> {
    let label = host.split('.').next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_label = !label.is_empty() && label.len() <= 63 && label.chars().all(fits);
    is_label.then(|| format!("{}.{domain}", label.to_ascii_lowercase()).into())
}

/// Queue settings of a static lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueueTerms {
    limits: [Limits; 2],
    parent: Option<Name>,
    kind: Option<Name>,
    first: bool,
}

impl QueueTerms {
    /// Reads the item of a lease. Returns `None` without a valid `rate-limit`.
    pub(super) fn read(item: &Item) -> Option<Self> {
        let name =
            |property| items::name(item, property).filter(|name| !matches!(&**name, "" | "none"));
        Some(Self {
            limits: LeaseQueue::limits(item.text("rate-limit"))?,
            parent: name("parent-queue"),
            kind: name("queue-type"),
            first: item.text("insert-queue-before") == "first",
        })
    }
}

impl DhcpServers {
    /// Handles the start of a lease.
    pub(super) fn begins(&mut self, id: u64, out: &mut Effects) {
        self.renew(id, out);
        if let Some(lease) = self.machine.lease(id) {
            self.run_script(lease, true, out);
        }
    }

    /// Handles the end of a lease.
    pub(super) fn ends(&mut self, lease: &Lease, out: &mut Effects) {
        let with = self.with.remove(&lease.id);
        self.change(lease.id, with.as_ref(), None, out);
        self.run_script(lease, false, out);
    }

    /// Updates the side effects of a server's leases after the server changed.
    pub(super) fn refresh(&mut self, server: ItemId, out: &mut Effects) {
        let of_it = self.with.keys().copied();
        let of_it = of_it.filter(|id| {
            let lease = self.machine.lease(*id);
            lease.is_some_and(|lease| lease.server == Some(server))
        });
        let of_it: Vec<_> = of_it.collect();
        of_it.into_iter().for_each(|id| self.renew(id, out));
    }

    /// Updates the side effects of a lease.
    pub(super) fn renew(&mut self, id: u64, out: &mut Effects) {
        let before = self.with.remove(&id);
        let now = self.machine.lease(id).and_then(|lease| self.wanted(lease));
        self.change(id, before.as_ref(), now.as_ref(), out);
        self.with.extend(now.map(|now| (id, now)));
    }

    fn wanted(&self, lease: &Lease) -> Option<With> {
        if lease.state != State::Bound {
            return None;
        }
        let one = self.all.get(&lease.server?)?;
        let own = (lease.id & DYNAMIC == 0)
            .then(|| self.lists.get(&lease.id))
            .flatten();
        let is_neighbour = one.add_arp && one.relay.is_none() && lease.client.mac != Mac::ZERO;
        let mut lists = own
            .filter(|own| !own.is_empty())
            .unwrap_or(&one.lists)
            .clone();
        lists.sort();
        lists.dedup();
        let address = lease.address?;
        let terms = self.queues.get(&lease.id);
        let queue = terms.map(|terms| LeaseQueue {
            // RouterOS: the name contains the client's address.
            name: format!("dhcp-ds<{}>", lease.client.mac).into(),
            target: address,
            limits: terms.limits,
            parent: terms.parent.clone(),
            kind: terms.kind.clone(),
            first: terms.first,
        });
        let dns = one.dns.as_ref();
        Some(With {
            dns: dns.and_then(|domain| dns_name(&lease.client.host_name, domain)),
            queue,
            address,
            mac: lease.client.mac,
            arp: is_neighbour.then(|| one.interface.clone()),
            lists,
        })
    }

    /// Replaces the side effects of a lease.
    fn change(&self, id: u64, before: Option<&With>, now: Option<&With>, out: &mut Effects) {
        if before == now {
            return;
        }
        let name =
            |with: Option<&With>| with.and_then(|with| Some((with.dns.clone()?, with.address)));
        if name(before) != name(now) {
            out.push(Effect::OfLease(id, LeaseChange::Name(name(now))));
        }
        let queue = |with: Option<&With>| with.and_then(|with| with.queue.clone());
        if queue(before) != queue(now) {
            let queue = queue(now).map(Box::new);
            out.push(Effect::OfLease(id, LeaseChange::Queue(queue)));
        }
        for (with, comes) in [(before, false), (now, true)] {
            let Some(with) = with else { continue };
            for list in &with.lists {
                out.push(Effect::ListEntry {
                    ipv6: false,
                    list: list.clone(),
                    address: with.address.to_bits().into(),
                    comes,
                });
            }
            let interface = with.arp.as_ref().and_then(|name| self.named.get(name));
            if let Some(interface) = interface {
                out.push(Effect::Arp(
                    *interface,
                    with.address,
                    comes.then_some(with.mac),
                ));
            }
        }
    }

    /// Restores the ARP entries of an interface, whose neighbour table may have been cleared.
    pub(super) fn tell_arp(&self, interface: InterfaceId, out: &mut Effects) {
        let Some(link) = self.links.get(&interface) else {
            return;
        };
        let servers = (link.name.clone(), 0)..=(link.name.clone(), ItemId::MAX);
        let adds = |id: &ItemId| self.all.get(id).is_some_and(|one| one.add_arp);
        if !{ self.on.range(servers) }.any(|(_, id)| adds(id)) {
            return;
        }
        for with in self.with.values() {
            if with.arp.as_ref() == Some(&link.name) {
                out.push(Effect::Arp(interface, with.address, Some(with.mac)));
            }
        }
    }

    /// Runs the lease script of a server. RouterOS: the script reads the lease in variables of
    /// these names.
    fn run_script(&self, lease: &Lease, bound: bool, out: &mut Effects) {
        let one = lease.server.and_then(|server| self.all.get(&server));
        let Some(one) = one.filter(|one| !one.script.is_empty()) else {
            return;
        };
        let mut before = String::new();
        let address = lease.address.map(|address| address.to_string());
        let digits = |part: Option<&[u8]>| {
            let part = part.unwrap_or_default().iter();
            part.map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let variables = [
            ("leaseBound", if bound { "1" } else { "0" }.to_owned()),
            ("leaseServerName", one.name.to_string()),
            ("leaseActMAC", lease.client.mac.to_string()),
            ("leaseActIP", address.unwrap_or_default()),
            ("lease-hostname", lease.client.host_name.to_string()),
            ("lease-agent-circuit-id", digits(lease.client.agent_part(1))),
            ("lease-agent-remote-id", digits(lease.client.agent_part(2))),
            ("lease-options", digits(lease.client.id.as_deref())),
        ];
        for (name, value) in variables {
            let value = menu::quote(&value);
            let _ = write!(before, ":local \"{name}\" {value};");
        }
        out.push(Effect::Script {
            kind: "dhcp-server",
            source: one.script.clone(),
            before,
        });
    }
}
