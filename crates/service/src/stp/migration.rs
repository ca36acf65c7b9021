//! Protocol migration and bridge detection (13.32, 13.33): finds out whether a port has a neighbour bridge, and
//! whether it uses STP or RSTP.

use super::MIGRATE;
use super::port::{Migration, Port};

impl Port {
    /// Resets the machine: RSTP, if enabled, until an STP BPDU arrives.
    pub(super) fn begin_migration(&mut self, rapid: bool) {
        self.migration = Migration::Checking;
        self.mcheck = false;
        self.send_rstp = rapid;
        self.mdelay_while = MIGRATE;
    }

    /// Resets the variables of a disabled port (13.29 DISCARD, 13.32, 13.34 TRANSMIT_INIT).
    pub(super) fn disable(&mut self, rapid: bool) {
        (self.rcvd_rstp, self.rcvd_stp) = (false, false);
        (self.rcvd_tcn, self.rcvd_tc_ack) = (false, false);
        (self.new_info, self.new_info_msti, self.tx_count) = (true, true, 0);
        for tree in &mut self.trees {
            tree.message = None;
        }
        self.edge_delay_while = MIGRATE;
        self.begin_migration(rapid);
        self.oper_edge = self.config.edge.is_admin();
    }

    /// Runs the port protocol migration machine.
    pub(super) fn migrate(&mut self, rapid: bool) -> bool {
        if !self.is_enabled() {
            return false;
        }
        match self.migration {
            Migration::Checking | Migration::Selecting
                if self.mdelay_while == 0
                    || (self.migration == Migration::Selecting && self.mcheck) =>
            {
                (self.rcvd_rstp, self.rcvd_stp) = (false, false);
                self.migration = Migration::Sensing;
            }
            Migration::Sensing if self.mcheck || (rapid && !self.send_rstp && self.rcvd_rstp) => {
                self.begin_migration(rapid);
            }
            Migration::Sensing if self.send_rstp && self.rcvd_stp => {
                self.send_rstp = false;
                self.mdelay_while = MIGRATE;
                self.migration = Migration::Selecting;
            }
            _ => return false,
        }
        true
    }

    /// Bridge detection machine: a port that proposes and receives no BPDU becomes an edge port.
    pub(super) fn detect_edge(&mut self) -> bool {
        let silent = self.edge_delay_while == 0
            && self.config.edge.is_found()
            && self.send_rstp
            && self.trees.first().is_some_and(|common| common.proposing);
        let found = self.is_enabled() && silent && !self.oper_edge;
        self.oper_edge |= found;
        found
    }
}
