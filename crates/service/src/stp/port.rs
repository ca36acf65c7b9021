//! What a bridge knows of a port, and of a port in a tree. Names are those of the standard (13.27).

use wire::bpdu::{Flags, PortId};

use super::config::{Link, PortConfig};
use super::vector::{Times, Vector};

/// What a port is to a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It takes no part.
    #[default]
    Disabled,
    /// It leads to the root.
    Root,
    /// It is the way to the root for what is behind it.
    Designated,
    /// Another way to the root, by another bridge.
    Alternate,
    /// Another way to what is behind another port of this bridge.
    Backup,
    /// In an instance: it leads out of the region, to the root of the common tree.
    Master,
}

/// What a port does in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It takes and sends nothing.
    #[default]
    Discarding,
    /// It learns addresses.
    Learning,
    /// It learns addresses and forwards.
    Forwarding,
}

/// Where what a port knows of a tree comes from (`infoIs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Info {
    #[default]
    Disabled,
    Aged,
    Mine,
    Received,
}

/// What the topology change machine does (13.38).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Change {
    #[default]
    Inactive,
    Learning,
    Active,
}

/// A message about one tree, as it was received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message {
    pub(super) vector: Vector,
    pub(super) times: Times,
    pub(super) flags: Flags,
}

/// A port in one tree.
#[derive(Clone, Debug, Default)]
pub(super) struct TreePort {
    pub(super) id: PortId,
    pub(super) internal_cost: u32,
    pub(super) role: Role,
    pub(super) selected_role: Role,
    pub(super) info: Info,
    pub(super) change: Change,
    /// What the port knows: received, or this bridge's own.
    pub(super) known: Vector,
    pub(super) known_times: Times,
    /// What this bridge would say there.
    pub(super) designated: Vector,
    pub(super) message: Option<Message>,

    pub(super) agree: bool,
    pub(super) agreed: bool,
    pub(super) disputed: bool,
    pub(super) flush: bool,
    pub(super) forward: bool,
    pub(super) forwarding: bool,
    pub(super) learn: bool,
    pub(super) learning: bool,
    pub(super) mastered: bool,
    pub(super) proposed: bool,
    pub(super) proposing: bool,
    pub(super) rcvd_tc: bool,
    pub(super) re_root: bool,
    pub(super) reselect: bool,
    pub(super) selected: bool,
    pub(super) sync: bool,
    pub(super) synced: bool,
    pub(super) tc_prop: bool,
    pub(super) update: bool,

    pub(super) fd_while: u16,
    pub(super) rr_while: u16,
    pub(super) rb_while: u16,
    pub(super) tc_while: u16,
    pub(super) rcvd_info_while: u16,

    /// What the owner was told last.
    pub(super) told: Option<State>,
}

impl TreePort {
    /// As the machines begin.
    pub(super) fn begin(&mut self, (id, internal_cost): (PortId, u32), times: Times) {
        *self = Self {
            id,
            internal_cost,
            reselect: true,
            sync: true,
            re_root: true,
            rr_while: times.forward_delay,
            fd_while: times.max_age,
            told: self.told,
            ..Self::default()
        };
    }

    /// What it does.
    pub(super) fn state(&self) -> State {
        match (self.learning, self.forwarding) {
            (_, true) => State::Forwarding,
            (true, false) => State::Learning,
            (false, false) => State::Discarding,
        }
    }

    /// Whether its role may be acted upon.
    pub(super) fn is_settled(&self) -> bool {
        self.selected && !self.update
    }

    pub(super) fn count_down(&mut self) {
        for timer in [
            &mut self.fd_while,
            &mut self.rr_while,
            &mut self.rb_while,
            &mut self.tc_while,
            &mut self.rcvd_info_while,
        ] {
            *timer = timer.saturating_sub(1);
        }
    }
}

/// What a port sent, received and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// BPDUs sent.
    pub sent: u64,
    /// BPDUs received.
    pub received: u64,
    /// Frames that are none.
    pub malformed: u64,
    /// BPDUs sent that tell of a topology change.
    pub changes_sent: u64,
    /// BPDUs received that do.
    pub changes_received: u64,
    /// How often it began to forward, in the common tree.
    pub forwarded: u64,
    /// How often it ended.
    pub discarded: u64,
}

/// A port.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    pub(super) number: u16,
    pub(super) config: PortConfig,
    pub(super) link: Link,
    /// A BPDU came in where none was to come.
    pub(super) guarded: bool,
    pub(super) external_cost: u32,
    /// By tree, the common one first.
    pub(super) trees: Vec<TreePort>,
    pub(super) counters: Counters,
    /// The round of [`super::Bridge`] up to which its machines run: nothing that they look at has changed since.
    pub(super) runs_until: u64,

    /// The neighbour and this bridge agree on the way to the root of the common tree, as far as the region.
    pub(super) common_agrees: bool,
    pub(super) info_internal: bool,
    pub(super) rcvd_internal: bool,
    pub(super) oper_edge: bool,
    pub(super) new_info: bool,
    pub(super) new_info_msti: bool,
    pub(super) send_rstp: bool,
    pub(super) rcvd_rstp: bool,
    pub(super) rcvd_stp: bool,
    pub(super) rcvd_tcn: bool,
    pub(super) rcvd_tc_ack: bool,
    pub(super) tc_ack: bool,
    pub(super) mcheck: bool,
    pub(super) migration: Migration,

    pub(super) edge_delay_while: u16,
    pub(super) hello_when: u16,
    pub(super) mdelay_while: u16,
    pub(super) tx_count: u16,
}

/// What the protocol migration machine does (13.32).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Migration {
    #[default]
    Checking,
    Sensing,
    Selecting,
}

impl Port {
    /// Whether it takes part (`portEnabled`).
    pub(super) fn is_enabled(&self) -> bool {
        self.link.up && !self.guarded
    }

    /// Whether at most one bridge is behind it (`operPointToPointMAC`).
    pub(super) fn is_point_to_point(&self) -> bool {
        self.config.point_to_point.unwrap_or(self.link.full_duplex)
    }

    pub(super) fn count_down(&mut self) {
        for timer in [
            &mut self.hello_when,
            &mut self.mdelay_while,
            &mut self.edge_delay_while,
            &mut self.tx_count,
        ] {
            *timer = timer.saturating_sub(1);
        }
        for tree in &mut self.trees {
            tree.count_down();
        }
    }
}
