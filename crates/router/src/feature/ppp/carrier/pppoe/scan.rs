//! `/interface/pppoe-client/scan`: servers and services on an interface.

use std::collections::BTreeMap;

use frame::InterfaceId;
use machine::{Duration, Instant, Rng};
use menu::{Call, Reason, Reply, Row, Value};
use service::pppoe::{initiation, text};
use wire::Mac;
use wire::pppoe::{Discovery, Packet, tag};

use super::Arrival;
use super::ports::Ports;
use crate::feature::hear::Outgoing;
use crate::feature::{Effects, View};
use crate::intent::Name;

/// Interval between two PADI.
const INTERVAL: Duration = Duration::from_secs(2);
/// A scan ends when nobody has looked at it for this long.
const UNUSED: Duration = Duration::from_secs(10);
/// Maximum number of services of a scan.
const SERVICES_MAX: usize = 4096;
/// Maximum number of interfaces that are scanned at a time.
const SCANS_MAX: usize = 64;

/// A scan of an interface.
#[derive(Debug)]
struct Scanning {
    interface: InterfaceId,
    host_uniq: [u8; 8],
    /// Time of the next PADI.
    next: Instant,
    /// When somebody last looked at it.
    used: Instant,
    /// Names of servers by service and address.
    found: BTreeMap<(Box<str>, Mac), Box<str>>,
}

/// All scans, by interface.
#[derive(Debug)]
pub(super) struct Scans {
    all: BTreeMap<Name, Scanning>,
    rng: Rng,
}

impl Scans {
    pub(super) fn new(rng: Rng) -> Self {
        Self {
            all: BTreeMap::new(),
            rng,
        }
    }

    /// Returns the services found so far. The first call starts a scan.
    pub(super) fn act(
        &mut self,
        view: &View<'_>,
        call: &Call<'_>,
        ports: &Ports,
    ) -> Result<Reply, Reason> {
        let mut arguments = call.arguments.iter();
        let interface = arguments.find(|(name, _)| *name == "interface");
        let interface = interface.and_then(|(_, value)| value.as_str());
        let interface = interface.ok_or_else(|| Reason::Missing(vec!["interface"]))?;
        let Some(port) = ports.running(interface) else {
            let text = format!("{interface} does not run, or cannot carry PPPoE");
            return Err(Reason::failure(text));
        };
        let name = Name::from(interface);
        if self
            .all
            .get(&name)
            .is_none_or(|scan| scan.interface != port.id)
        {
            if self.all.len() >= SCANS_MAX {
                return Err(Reason::failure("too many scans"));
            }
            let scan = Scanning {
                interface: port.id,
                host_uniq: self.rng.next_u64().to_be_bytes(),
                next: view.now,
                used: view.now,
                found: BTreeMap::new(),
            };
            self.all.insert(name.clone(), scan);
        }
        let Some(scan) = self.all.get_mut(&name) else {
            return Ok(Reply::default());
        };
        scan.used = view.now;
        let rows = scan.found.iter().map(|((service, mac), server)| {
            let mut row = Row::default();
            row.set("service", Value::text(&**service));
            row.set("mac-address", Value::Mac(mac.0));
            row.set("ac-name", Value::text(&**server));
            row
        });
        Ok(Reply {
            rows: rows.collect(),
            made: None,
        })
    }

    /// Notes the services of an offer to a scan.
    pub(super) fn receive(&mut self, arrival: Arrival, packet: &Packet<'_>) {
        let mut all = self.all.values_mut();
        let Some(scan) = all.find(|scan| scan.interface == arrival.interface) else {
            return;
        };
        let Ok(fields) = Discovery::parse(packet) else {
            return;
        };
        if fields.host_uniq != Some(&scan.host_uniq) {
            return;
        }
        let server = text(fields.ac_name.unwrap_or_default());
        for tag in packet.tags().flatten() {
            let is_name = tag.kind == tag::SERVICE_NAME && !tag.value.is_empty();
            if is_name && scan.found.len() < SERVICES_MAX {
                let key = (text(tag.value), arrival.from);
                scan.found.insert(key, server.clone());
            }
        }
    }

    /// Sends the due PADI, and ends scans that nobody looks at. Returns whether a scan began or ended.
    pub(super) fn tick(&mut self, now: Instant, out: &mut Effects) -> bool {
        let before = self.all.len();
        let is_used = |scan: &Scanning| now.saturating_since(scan.used) < UNUSED;
        self.all.retain(|_, scan| is_used(scan));
        let mut is_changed = before != self.all.len();
        for scan in self.all.values_mut().filter(|scan| scan.next <= now) {
            is_changed = true;
            scan.next = now + INTERVAL;
            out.send(Outgoing::frame(scan.interface, initiation(&scan.host_uniq)));
        }
        is_changed
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let all = self.all.values();
        all.map(|scan| scan.next.min(scan.used + UNUSED)).min()
    }

    /// Returns the interfaces that are scanned.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = InterfaceId> {
        self.all.values().map(|scan| scan.interface)
    }
}
