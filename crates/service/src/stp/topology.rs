//! Topology changes: detection, propagation, and flushing of learnt addresses (13.40).

use machine::Instant;

use super::port::{Change, Role};
use super::{Bridge, HELLO};

impl Bridge {
    /// Runs one step of the topology change machine.
    pub(super) fn change_topology(&mut self, tree: usize, place: usize, now: Instant) -> bool {
        let port = &mut self.ports[place];
        let common = tree == 0;
        let told = common && (port.rcvd_tcn || port.rcvd_tc_ack);
        let edge = port.oper_edge;
        let its = &mut port.trees[tree];
        let takes_part = matches!(its.role, Role::Root | Role::Designated | Role::Master);
        let heard = its.rcvd_tc || its.tc_prop || told;
        match its.change {
            Change::Inactive if its.learn => its.change = Change::Learning,
            Change::Learning if takes_part && its.forward && !edge => {
                its.change = Change::Active;
                self.notice(tree, place);
                self.pass_on(tree, place);
                self.changes += u64::from(common);
                self.changed_at = Some(now);
            }
            Change::Learning if !takes_part && !its.learn && !its.learning && !heard => {
                its.change = Change::Inactive;
                its.flush = true;
                its.tc_while = 0;
                port.tc_ack &= !common;
            }
            Change::Learning | Change::Inactive if heard => {
                (its.rcvd_tc, its.tc_prop) = (false, false);
                if common {
                    (port.rcvd_tcn, port.rcvd_tc_ack) = (false, false);
                }
            }
            Change::Active if !takes_part || edge => its.change = Change::Learning,
            Change::Active if common && port.rcvd_tcn => {
                port.rcvd_tcn = false;
                its.rcvd_tc = true;
                self.notice(tree, place);
            }
            Change::Active if its.rcvd_tc => {
                its.rcvd_tc = false;
                if common {
                    port.rcvd_tcn = false;
                    port.tc_ack |= port.trees[0].role == Role::Designated;
                }
                self.changes += u64::from(common);
                self.changed_at = Some(now);
                self.pass_on(tree, place);
            }
            Change::Active if its.tc_prop => {
                its.tc_prop = false;
                its.flush = true;
                self.notice(tree, place);
            }
            Change::Active if common && port.rcvd_tc_ack => {
                its.tc_while = 0;
                port.rcvd_tc_ack = false;
            }
            Change::Inactive | Change::Learning | Change::Active => return false,
        }
        true
    }

    /// `newTcWhile`: the port announces a topology change for a while.
    fn notice(&mut self, tree: usize, place: usize) {
        let times = self.trees[0].root_times;
        let port = &mut self.ports[place];
        if port.trees[tree].tc_while != 0 {
            return;
        }
        if port.send_rstp {
            port.trees[tree].tc_while = HELLO + 1;
            port.mark_new_info(tree);
        } else {
            port.trees[tree].tc_while = times.max_age + times.forward_delay;
        }
        port.mark_new_info(tree);
    }

    /// `setTcPropTree`: all other ports announce the topology change, too.
    fn pass_on(&mut self, tree: usize, place: usize) {
        if self.ports[place].config.restricted_tcn {
            return;
        }
        for (at, port) in self.ports.iter_mut().enumerate() {
            port.trees[tree].tc_prop |= at != place;
            self.schedule.add(at);
        }
    }
}
