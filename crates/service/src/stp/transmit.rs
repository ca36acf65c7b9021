//! BPDU transmission (13.34).

use wire::bpdu::{Flags, Instance, Kind, Multiple, Repr};

use super::port::{Role, TreePort};
use super::{Action, Bridge, HELLO, Protocol};

impl Bridge {
    /// Runs the port transmit machine.
    pub(super) fn transmit(&mut self, place: usize, out: &mut Vec<Action>) -> bool {
        let limit = self.config.transmit_hold_count;
        let port = &mut self.ports[place];
        if !port.is_enabled() || !port.trees.iter().all(TreePort::is_settled) {
            return false;
        }
        let says = |its: &TreePort| match its.role {
            Role::Designated => true,
            Role::Root => its.tc_while != 0,
            Role::Disabled | Role::Alternate | Role::Backup | Role::Master => false,
        };
        if port.hello_when == 0 {
            port.hello_when = HELLO;
            port.new_info |= says(&port.trees[0]);
            port.new_info_msti |= port.trees[1..].iter().any(says);
            return true;
        }
        let news = port.new_info || (port.send_rstp && port.new_info_msti);
        if !news || port.tx_count >= limit {
            return false;
        }
        let role = port.trees[0].role;
        let bpdu = match (port.send_rstp, role) {
            (true, _) => self.rapid_bpdu(place),
            (false, Role::Designated) => self.config_bpdu(place).to_bytes(&[]),
            (false, Role::Root) => Repr::TOPOLOGY_CHANGE.to_bytes(&[]),
            // With STP, only root and designated ports send.
            (false, _) => {
                self.ports[place].new_info = false;
                return true;
            }
        };
        let port = &mut self.ports[place];
        (port.new_info, port.new_info_msti) = (false, false);
        if port.send_rstp || role == Role::Designated {
            port.tc_ack = false;
        }
        port.tx_count += 1;
        port.hello_when = HELLO;
        port.counters.sent += 1;
        port.counters.changes_sent += u64::from(port.trees[0].tc_while != 0);
        out.push(Action::Send {
            port: port.number,
            bpdu,
        });
        true
    }

    fn config_bpdu(&self, place: usize) -> Repr {
        let port = &self.ports[place];
        let its = &port.trees[0];
        let times = self.trees[0].root_times;
        Repr {
            kind: Kind::Config,
            flags: Flags::default()
                .with(Flags::TOPOLOGY_CHANGE, its.tc_while != 0)
                .with(Flags::ACKNOWLEDGEMENT, port.tc_ack),
            root: its.designated.root,
            cost: its.designated.external_cost,
            bridge: its.designated.bridge,
            port: its.designated.port,
            times: times.to_bpdu(),
            multiple: None,
        }
    }

    /// Builds an RST or MST BPDU.
    fn rapid_bpdu(&self, place: usize) -> Vec<u8> {
        let port = &self.ports[place];
        let its = &port.trees[0];
        let mut bpdu = Repr {
            kind: Kind::Rapid,
            flags: its.flags(),
            ..self.config_bpdu(place)
        };
        if self.config.protocol != Protocol::Mstp {
            return bpdu.to_bytes(&[]);
        }
        bpdu.kind = Kind::Multiple;
        bpdu.bridge = its.designated.regional_root;
        bpdu.multiple = Some(Multiple {
            region: self.region,
            internal_cost: its.designated.internal_cost,
            bridge: its.designated.bridge,
            hops: self.trees[0].root_times.hops,
        });
        let instances = self.trees.iter().zip(&port.trees).enumerate().skip(1);
        let instances: Vec<_> = instances
            .map(|(at, (tree, its))| Instance {
                flags: its.flags().with(Flags::MASTER, self.is_mastered(at)),
                root: its.designated.regional_root,
                cost: its.designated.internal_cost,
                bridge_priority: tree.bridge.priority(),
                port_priority: its.id.priority(),
                hops: tree.root_times.hops,
            })
            .collect();
        bpdu.to_bytes(&instances)
    }

    /// True if the instance has a path out of the region through this bridge.
    fn is_mastered(&self, tree: usize) -> bool {
        let mut ports = self.ports.iter().map(|port| &port.trees[tree]);
        ports.any(|its| its.role == Role::Master || its.mastered)
    }
}

impl TreePort {
    fn flags(&self) -> Flags {
        let role = match self.role {
            Role::Designated => Flags::ROLE_DESIGNATED,
            Role::Root => Flags::ROLE_ROOT,
            Role::Alternate | Role::Backup => Flags::ROLE_ALTERNATE,
            Role::Master | Role::Disabled => Flags::ROLE_MASTER,
        };
        role.with(Flags::TOPOLOGY_CHANGE, self.tc_while != 0)
            .with(
                Flags::PROPOSAL,
                self.proposing && self.role == Role::Designated,
            )
            .with(Flags::LEARNING, self.learning)
            .with(Flags::FORWARDING, self.forwarding)
            .with(Flags::AGREEMENT, self.agree)
    }
}
