//! BPDU reception: passes the contents to the machines of the port (13.29).

use wire::bpdu::{Flags, Kind, Repr};

use super::port::Message;
use super::vector::{Times, Vector};
use super::{Action, Bridge, MIGRATE, Protocol};

impl Bridge {
    /// Handles a received BPDU.
    pub(super) fn receive(&mut self, number: u16, bytes: &[u8], out: &mut Vec<Action>) {
        let Some(place) = self.place(number) else {
            return;
        };
        let (protocol, max_hops) = (self.config.protocol, self.config.max_hops);
        self.stir(place);
        let port = &mut self.ports[place];
        if !port.is_enabled() || protocol == Protocol::None {
            return;
        }
        let Ok((mut bpdu, instances)) = Repr::parse(bytes) else {
            port.counters.malformed += 1;
            return;
        };
        let is_old = bpdu.kind == Kind::Config && bpdu.times.message_age >= bpdu.times.max_age;
        if is_old {
            // 14.4: a configuration BPDU that exceeds its maximum age is ignored.
            port.counters.malformed += 1;
            return;
        }
        port.counters.received += 1;
        let tells = bpdu.kind == Kind::TopologyChange || bpdu.flags.has(Flags::TOPOLOGY_CHANGE);
        port.counters.changes_received += u64::from(tells);
        if port.config.bpdu_guard {
            port.guarded = true;
            port.disable(protocol >= Protocol::Rstp);
            out.push(Action::Guarded { port: number });
            return;
        }
        if protocol != Protocol::Mstp {
            bpdu.multiple = None;
        }
        let region = &self.region;
        let internal = bpdu.multiple.filter(|multiple| multiple.region == *region);
        port.rcvd_internal = internal.is_some();
        port.oper_edge = false;
        port.edge_delay_while = MIGRATE;
        match bpdu.kind {
            Kind::TopologyChange | Kind::Config => port.rcvd_stp = true,
            Kind::Rapid | Kind::Multiple => port.rcvd_rstp = true,
        }
        if bpdu.kind == Kind::TopologyChange {
            port.rcvd_tcn = true;
            // Instances receive topology changes through the common tree.
            for tree in &mut port.trees[1..] {
                tree.rcvd_tc = true;
            }
            return;
        }
        let flags = meant(&bpdu);
        let hops = internal.map_or(max_hops, |multiple| multiple.hops);
        port.trees[0].message = Some(Message {
            vector: Vector::of_bpdu(&bpdu, internal.as_ref()),
            times: Times::of_bpdu(&bpdu, hops),
            flags,
        });
        let Some(multiple) = internal else { return };
        for instance in instances.iter() {
            let number = instance.number();
            let tree = self.trees[1..].iter().position(|it| it.number == number);
            if let Some(at) = tree {
                port.trees[at + 1].message = Some(Message {
                    vector: Vector::of_instance(&instance, multiple.bridge, bpdu.port),
                    times: Times::of_bpdu(&bpdu, instance.hops),
                    flags: instance.flags,
                });
            }
        }
    }
}

/// Flags of a BPDU that are defined for its type.
fn meant(bpdu: &Repr) -> Flags {
    let flags = bpdu.flags.0;
    if bpdu.kind == Kind::Config {
        // Only designated ports send configuration BPDUs.
        let meant = Flags::TOPOLOGY_CHANGE.0 | Flags::ACKNOWLEDGEMENT.0;
        return Flags(flags & meant).with(Flags::ROLE_DESIGNATED, true);
    }
    Flags(flags & !Flags::ACKNOWLEDGEMENT.0)
}
