//! Rows of interfaces and their addresses.

use core::net::Ipv6Addr;

use dataplane::counters::InterfaceTraffic;
use frame::InterfaceId;
use ipnet::{IpNet, Ipv6Net};
use menu::{Id, Row, Value};

use super::{bit_rate, number};
use crate::compile::LayoutEntry;
use crate::drive::Control;

/// Cell names of packets and bits in one direction.
type Names = [&'static str; 2];

const RX: Names = ["rx-packets-per-second", "rx-bits-per-second"];
const FP_RX: Names = ["fp-rx-packets-per-second", "fp-rx-bits-per-second"];
const TX: Names = ["tx-packets-per-second", "tx-bits-per-second"];
const FP_TX: Names = ["fp-tx-packets-per-second", "fp-tx-bits-per-second"];

fn sum(mut all: InterfaceTraffic, one: InterfaceTraffic) -> InterfaceTraffic {
    all.rx += one.rx;
    all.tx += one.tx;
    all.fp_rx += one.fp_rx;
    all.fp_tx += one.fp_tx;
    all.rx_drop += one.rx_drop;
    all.tx_drop += one.tx_drop;
    all
}

impl Control {
    /// Returns the interface of an item.
    fn laid(&self, id: Id) -> Option<(InterfaceId, &LayoutEntry)> {
        let id = self.numbers.known(id.0)?;
        Some((id, self.layout.interfaces.get(&id)?))
    }

    /// Returns the traffic of an interface since its counters were last reset.
    pub(crate) fn traffic(&self, id: InterfaceId) -> InterfaceTraffic {
        self.running().counted.traffic(id, self.now)
    }

    /// Samples the counters of all interfaces.
    pub(crate) fn look_at_counters(&mut self) {
        let (workers, now) = (&self.workers, self.now);
        let all = self.layout.interfaces.keys();
        let counted = all.map(|id| (*id, workers.traffic(*id, now)));
        self.rates.look(counted, self.now);
    }

    /// Returns the traffic per second of an interface, or of all interfaces, as a monitor row.
    pub(crate) fn rate_row(&self, interface: Option<&str>) -> Option<Row> {
        let rate = match interface {
            Some(name) => self.rates.of(self.layout.named(name)?.0),
            None => {
                let all = self.layout.interfaces.keys();
                all.map(|id| self.rates.of(*id))
                    .fold(InterfaceTraffic::default(), sum)
            }
        };
        let mut row = Row::default();
        for (names, traffic) in [(RX, rate.rx), (FP_RX, rate.fp_rx)] {
            row.set(names[0], number(traffic.packets));
            row.set(names[1], bit_rate(traffic.bytes.saturating_mul(8)));
        }
        row.set("rx-drops-per-second", number(rate.rx_drop));
        // Drivers keep counts of damaged frames to themselves, and no queue holds packets back yet.
        row.set("rx-errors-per-second", number(0));
        for (names, traffic) in [(TX, rate.tx), (FP_TX, rate.fp_tx)] {
            row.set(names[0], number(traffic.packets));
            row.set(names[1], bit_rate(traffic.bytes.saturating_mul(8)));
        }
        row.set("tx-drops-per-second", number(rate.tx_drop));
        row.set("tx-queue-drops-per-second", number(0));
        row.set("tx-errors-per-second", number(0));
        Some(row)
    }

    /// Whether packets pass an interface, so that its row shows state and counters.
    pub(super) fn has_traffic(&self, id: Id) -> bool {
        let interface = self.intent.interfaces.get(&id.0);
        interface.is_some_and(|interface| interface.kind.has_traffic())
    }

    pub(super) fn annotate_interface(&self, item: Id, row: &mut Row) {
        let Some((id, laid)) = self.laid(item) else {
            return;
        };
        row.flag("running", laid.runs());
        if let Some(why) = laid.held {
            row.set(Row::ABOUT, Value::text(why));
        }
        row.flag("slave", laid.is_slave());
        row.set("actual-mtu", number(laid.link.mtu.into()));
        let interface = self.intent.interfaces.get(&item.0);
        let l2mtu = interface.and_then(|interface| interface.kind.l2mtu());
        if let Some(l2mtu) = l2mtu.filter(|_| !laid.disabled) {
            row.set("l2mtu", number(l2mtu.into()));
        }
        row.set("vrf", Value::Reference("main".into()));
        // An interface without effect shows the configured address, if any.
        // A session has the source address of the interface below, but none of its own.
        let has_mac = laid.link.session.is_none();
        if has_mac && (laid.link.mac.0 != [0; 6] || row.get("mac-address").is_none()) {
            row.set("mac-address", Value::Mac(laid.link.mac.0));
        }
        if let Some(times) = self.links.get(&id) {
            row.set("link-downs", number(times.downs));
            if let Some(at) = times.up {
                row.set("last-link-up-time", Value::text(at.date_time()));
            }
            if let Some(at) = times.down {
                row.set("last-link-down-time", Value::text(at.date_time()));
            }
        }
        let traffic = self.traffic(id);
        for (name, count) in [
            ("rx-byte", traffic.rx.bytes),
            ("tx-byte", traffic.tx.bytes),
            ("rx-packet", traffic.rx.packets),
            ("tx-packet", traffic.tx.packets),
            ("rx-drop", traffic.rx_drop),
            ("tx-drop", traffic.tx_drop),
            // No queue holds packets back yet, and drivers keep counts of damaged frames to themselves.
            ("tx-queue-drop", 0),
            ("rx-error", 0),
            ("tx-error", 0),
            ("fp-rx-byte", traffic.fp_rx.bytes),
            ("fp-tx-byte", traffic.fp_tx.bytes),
            ("fp-rx-packet", traffic.fp_rx.packets),
            ("fp-tx-packet", traffic.fp_tx.packets),
        ] {
            row.set(name, number(count));
        }
    }

    pub(super) fn annotate_address4(&self, item: Id, row: &mut Row) {
        row.flag("invalid", self.addresses.invalid4.contains(&item.0));
        self.annotate_owner(row);
    }

    pub(super) fn annotate_address6(&self, item: Id, row: &mut Row) {
        row.flag("invalid", self.addresses.invalid6.contains(&item.0));
        self.annotate_owner(row);
        // With `eui-64` the address in use differs from the configured one.
        let interface = self.interface_of(row);
        let mut own = interface.into_iter().flat_map(|id| self.addresses.of6(id));
        let own = own.find(|(_, own)| own.item == Some(item.0));
        if let (Some(id), Some((addr, _))) = (interface, own)
            && self.is_duplicate(id, addr)
        {
            row.flag("invalid", true);
        }
        if let Some((addr, own)) = own
            && let Ok(net) = Ipv6Net::new(addr, own.len)
        {
            row.set("address", Value::Prefix(IpNet::V6(net)));
        }
        let is_link_local = matches!(
            row.get("address").and_then(Value::as_prefix),
            Some(IpNet::V6(net)) if net.addr().is_unicast_link_local()
        );
        row.flag("link-local", is_link_local);
        row.flag("global", !is_link_local);
    }

    fn interface_of(&self, row: &Row) -> Option<InterfaceId> {
        let name = row.get("interface")?.as_str()?;
        let (id, _) = self.layout.named(name)?;
        Some(self.layout.owner(id))
    }

    fn annotate_owner(&self, row: &mut Row) {
        if let Some(name) = row.get("interface").and_then(Value::as_str) {
            let named = self.layout.named(name);
            let is_slave = named.is_some_and(|(_, laid)| laid.is_slave());
            let owner = named.map(|(id, _)| self.layout.name(self.layout.owner(id)));
            let owner = Value::Reference(owner.unwrap_or(name).into());
            row.flag("slave", is_slave);
            row.set("actual-interface", owner);
        }
        row.set("vrf", Value::Reference("main".into()));
    }

    /// Builds the row of an automatic link-local address.
    pub(super) fn link_local_row(
        &self,
        interface: InterfaceId,
        addr: Ipv6Addr,
        row: &mut Row,
    ) -> Option<()> {
        let own = self.addresses.ipv6.get(&(interface, addr))?;
        let net = Ipv6Net::new(addr, own.len).ok()?;
        let name = self.layout.name(interface);
        row.set("address", Value::Prefix(IpNet::V6(net)));
        row.set("from-pool", Value::text(""));
        row.set("interface", Value::Reference(name.into()));
        row.set("actual-interface", Value::Reference(name.into()));
        row.set("eui-64", Value::Bool(false));
        row.set("advertise", Value::Bool(false));
        row.set("no-dad", Value::Bool(false));
        row.set("vrf", Value::Reference("main".into()));
        row.flag("link-local", true);
        Some(())
    }
}
