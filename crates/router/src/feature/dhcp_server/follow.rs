//! Objects of a lease (an ARP entry, address list entries, a queue and a DNS name), and the lease script.

use core::fmt::Write as _;
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeSet;

use ipnet::IpNet;
use menu::{Item, Value};
use queue::Limits;
use schema::RateLimit;
use service::dhcp::server::{DYNAMIC, Lease, State};
use wire::Mac;

use super::{DhcpServer, DhcpServers, Effect, Effects, items};
use crate::feature::NewObject;
use crate::feature::queue::queue_limits;
use crate::intent::{ItemId, Name, Neighbour};
use crate::object::{DynamicName, DynamicQueue, ListEntry, Made, Owner, QueueTarget};
use crate::rib::V4;

/// Objects of one bound lease, by [`PARTS`].
pub(super) type LeaseObjects = [Vec<NewObject>; PARTS.len()];

/// Owners of the objects of a lease, so that the change of one part leaves the others in place.
const PARTS: [&str; 4] = [
    "dhcp-server arp",
    "dhcp-server address-lists",
    "dhcp-server queue",
    "dhcp-server dns",
];

/// Returns objects of a lease, with the cells of their rows.
fn objects(owner: Owner, made: impl IntoIterator<Item = Made>) -> Vec<NewObject> {
    let object = |made| NewObject {
        owner,
        cells: match made {
            Made::Neighbour4(_) => vec![("dhcp", Value::Bool(true))],
            _ => Vec::new(),
        },
        made,
        removable: false,
    };
    made.into_iter().map(object).collect()
}

/// Returns the DNS name of a client in a domain, or `None` if its host name is no valid label.
fn dns_name(host: &str, domain: &str) -> Option<Name> {
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
            limits: queue_limits(RateLimit::parse(item.text("rate-limit")).ok()?),
            parent: name("parent-queue"),
            kind: name("queue-type"),
            first: item.text("insert-queue-before") == "first",
        })
    }
}

impl QueueTerms {
    /// Returns the settings of a lease whose rate limit a RADIUS server sent; `None` if it is malformed.
    fn granted(limit: &str) -> Option<Self> {
        Some(Self {
            limits: queue_limits(RateLimit::parse(limit).ok()?),
            parent: None,
            kind: None,
            first: false,
        })
    }
}

impl DhcpServers {
    /// Handles the start of a lease.
    pub(super) fn begins(&mut self, id: u64, out: &mut Effects) {
        self.renew(id, out);
        self.start_accounting(id, out);
        if let Some(lease) = self.machine.lease(id) {
            self.run_script(lease, true, out);
        }
    }

    /// Handles the end of a lease.
    pub(super) fn ends(&mut self, lease: &Lease, out: &mut Effects) {
        let before = self.with.remove(&lease.id).unwrap_or_default();
        Self::change(lease.id, &before, &LeaseObjects::default(), out);
        self.stop_accounting(lease, out);
        self.run_script(lease, false, out);
    }

    /// Updates the objects of a server's leases after the server changed.
    pub(super) fn refresh(&mut self, server: ItemId, out: &mut Effects) {
        let of_it = self.with.keys().copied();
        let of_it = of_it.filter(|id| {
            let lease = self.machine.lease(*id);
            lease.is_some_and(|lease| lease.server == Some(server))
        });
        let of_it: Vec<_> = of_it.collect();
        of_it.into_iter().for_each(|id| self.renew(id, out));
    }

    /// Updates the objects of a lease.
    pub(super) fn renew(&mut self, id: u64, out: &mut Effects) {
        let before = self.with.remove(&id).unwrap_or_default();
        let lease = self.machine.lease(id);
        let now = lease.map(|lease| self.wanted(lease)).unwrap_or_default();
        Self::change(id, &before, &now, out);
        if lease.is_some_and(|lease| lease.state == State::Bound) {
            self.with.insert(id, now);
        }
    }

    /// Returns the objects of a lease; none of a lease that is not bound.
    fn wanted(&self, lease: &Lease) -> LeaseObjects {
        let none = LeaseObjects::default();
        if lease.state != State::Bound {
            return none;
        }
        let server = lease.server.and_then(|server| self.all.get(&server));
        let (Some(server), Some(address)) = (server, lease.address) else {
            return none;
        };
        let arp = self.neighbour(lease, server, address);
        let own = (lease.id & DYNAMIC == 0)
            .then(|| self.lists.get(&lease.id))
            .flatten();
        let grant = lease.grant.as_deref();
        let granted: Vec<Name> = { grant.iter().flat_map(|of| &of.lists) }
            .map(|list| Name::from(&**list))
            .collect();
        let granted = Some(&granted).filter(|lists| !lists.is_empty());
        let lists = own.filter(|own| !own.is_empty()).or(granted);
        let lists = lists.unwrap_or(&server.lists);
        let lists: BTreeSet<_> = lists.iter().cloned().collect();
        let entry = |list| {
            let address = address.into();
            Made::ListEntry(ListEntry { list, address })
        };
        let granted = || QueueTerms::granted(grant?.rate_limit.as_deref()?);
        let terms = self.queues.get(&lease.id).cloned().or_else(granted);
        let queue = terms.map(|terms| DynamicQueue {
            // RouterOS: the name contains the client's address.
            name: format!("dhcp-ds<{}>", lease.client.mac).into(),
            target: QueueTarget::Network(IpNet::from(IpAddr::V4(address))),
            limits: terms.limits,
            kinds: [terms.kind.clone(), terms.kind],
            parent: terms.parent,
            first: terms.first,
        });
        let domain = server.dns.as_ref();
        let name = domain.and_then(|domain| dns_name(&lease.client.host_name, domain));
        let name = name.map(|name| DynamicName {
            name,
            address: address.into(),
        });
        let number = lease.id;
        let [of_arp, of_lists, of_queue, of_dns] = PARTS.map(|feature| Owner { feature, number });
        [
            objects(of_arp, arp.map(Made::Neighbour4)),
            objects(of_lists, lists.into_iter().map(entry)),
            objects(of_queue, queue.map(|queue| Made::Queue(Box::new(queue)))),
            objects(of_dns, name.map(Made::Name)),
        ]
    }

    /// Returns the ARP entry of a lease, if its server adds them.
    fn neighbour(
        &self,
        lease: &Lease,
        server: &DhcpServer,
        addr: Ipv4Addr,
    ) -> Option<Neighbour<V4>> {
        let is_neighbour = server.relay.is_none() && lease.client.mac != Mac::ZERO;
        (server.add_arp && is_neighbour).then(|| Neighbour {
            addr,
            interface: server.interface.clone(),
            mac: Some(lease.client.mac),
            published: false,
            disabled: false,
        })
    }

    /// Replaces the parts of a lease's objects that changed.
    fn change(id: u64, before: &LeaseObjects, now: &LeaseObjects, out: &mut Effects) {
        for ((feature, before), now) in PARTS.into_iter().zip(before).zip(now) {
            if before == now {
                continue;
            }
            if !before.is_empty() {
                out.push(Effect::Gone(Owner {
                    feature,
                    number: id,
                }));
            }
            let objects = now.iter().cloned().map(Box::new);
            objects.for_each(|object| out.push(Effect::Object(object)));
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
