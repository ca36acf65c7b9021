//! Variables of a port and of a port in a tree, under the names of the standard (13.27).

use wire::bpdu::{Flags, PortId};

use super::config::{Link, PortConfig};
use super::vector::{Times, Vector};

/// Port role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Disabled.
    #[default]
    Disabled,
    /// Best path to the root.
    Root,
    /// Path to the root for the attached segment.
    Designated,
    /// Alternate path to the root through another bridge.
    Alternate,
    /// Backup for another port of this bridge on the same segment.
    Backup,
    /// In an instance: path out of the region, to the root of the common tree.
    Master,
}

/// Port state in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Neither learns nor forwards.
    #[default]
    Discarding,
    /// Learns addresses.
    Learning,
    /// Learns addresses and forwards.
    Forwarding,
}

/// `infoIs`: origin of the port's information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Info {
    #[default]
    Disabled,
    Aged,
    Mine,
    Received,
}

/// State of the topology change machine (13.38).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Change {
    #[default]
    Inactive,
    Learning,
    Active,
}

/// A received message about one tree.
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
    /// `portPriority`: priority vector of the port, received or of this bridge.
    pub(super) known: Vector,
    pub(super) known_times: Times,
    /// `designatedPriority`: vector that this bridge would announce.
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

    /// Last reported state.
    pub(super) told: Option<State>,
}

impl TreePort {
    /// Resets the variables.
    pub(super) fn begin(&mut self, id: PortId, internal_cost: u32, times: Times) {
        *self = Self {
            id,
            internal_cost,
            sync: true,
            re_root: true,
            rr_while: times.forward_delay,
            fd_while: times.max_age,
            told: self.told,
            ..Self::default()
        };
    }

    /// Port state.
    pub(super) fn state(&self) -> State {
        match (self.learning, self.forwarding) {
            (_, true) => State::Forwarding,
            (true, false) => State::Learning,
            (false, false) => State::Discarding,
        }
    }

    /// True if the role is selected and up to date.
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

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sent BPDUs.
    pub sent: u64,
    /// Received BPDUs.
    pub received: u64,
    /// Malformed frames.
    pub malformed: u64,
    /// Sent BPDUs with a topology change.
    pub changes_sent: u64,
    /// Received BPDUs with a topology change.
    pub changes_received: u64,
    /// Number of transitions to forwarding, in the common tree.
    pub forwarded: u64,
    /// Number of transitions from forwarding, in the common tree.
    pub discarded: u64,
}

/// Port.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    pub(super) number: u16,
    pub(super) config: PortConfig,
    pub(super) link: Link,
    /// Disabled by BPDU guard.
    pub(super) guarded: bool,
    pub(super) external_cost: u32,
    /// By tree, the common one first.
    pub(super) trees: Vec<TreePort>,
    pub(super) counters: Counters,

    /// The neighbour and this bridge agree on the path to the root of the common tree, up to the region.
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

/// State of the protocol migration machine (13.32).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Migration {
    #[default]
    Checking,
    Sensing,
    Selecting,
}

impl Port {
    /// `portEnabled`.
    pub(super) fn is_enabled(&self) -> bool {
        self.link.up && !self.guarded
    }

    /// `operPointToPointMAC`: true for a point-to-point link.
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
