//! `updtRolesTree`: selects the role of each port in a tree (13.36).

use wire::bpdu::PortId;

use super::port::{Info, Port, Role};
use super::vector::{Times, Vector};
use super::{Bridge, Tree};

impl Bridge {
    /// Runs the port role selection machine.
    pub(super) fn select_roles(&mut self, tree: usize) -> bool {
        let of_tree = &mut self.trees[tree];
        if !core::mem::take(&mut of_tree.reselect) {
            return false;
        }
        of_tree.reselect_all = false;
        if self.find_root(tree) {
            for place in 0..self.ports.len() {
                self.trees[tree].unselected.insert(place);
            }
        }
        // Without another root, the role of a port follows from its own variables.
        let places = core::mem::take(&mut self.trees[tree].unselected);
        for place in places.iter() {
            self.say_designated(tree, place);
            self.select_role(tree, place);
            self.ports[place].trees[tree].selected = true;
        }
        true
    }

    /// Finds the best path to the root. Returns whether the path or its timer values changed.
    fn find_root(&mut self, at: usize) -> bool {
        let own = Vector::of_root(self.trees[at].bridge, at == 0);
        let (mut best, mut by, mut times) = (own, PortId::default(), self.own_times());
        for place in self.trees[at].informed.iter() {
            let port = &self.ports[place];
            let Some(way) = port.way(at, &self.trees[at]) else {
                continue;
            };
            let its = &port.trees[at];
            if (way, its.id) < (best, by) {
                (best, by) = (way, its.id);
                times = port.times_behind(at, self.own_times());
            }
        }
        let tree = &mut self.trees[at];
        let before = core::mem::replace(&mut tree.root, best);
        let are_others = tree.root_times != times;
        let is_other = are_others || before != best || tree.root_port != by;
        (tree.root_port, tree.root_times) = (by, times);
        if are_others {
            self.stir_all();
        }
        let leads_out = before.external_cost != 0 || best.external_cost != 0;
        if at == 0 && before.regional_root != best.regional_root && leads_out {
            self.sync_masters();
        }
        is_other
    }

    /// Computes the designated vector of a port.
    fn say_designated(&mut self, at: usize, place: usize) {
        let tree = &self.trees[at];
        let port = &mut self.ports[place];
        let mut designated = Vector {
            bridge: tree.bridge,
            port: port.trees[at].id,
            ..tree.root
        };
        if at == 0 && !port.send_rstp {
            // A neighbour that uses STP sees the bridge, not its region.
            designated.regional_root = tree.bridge;
        }
        port.trees[at].designated = designated;
    }

    /// `syncMaster`: instances must agree again, because the regional root changed.
    fn sync_masters(&mut self) {
        for place in 0..self.ports.len() {
            let port = &mut self.ports[place];
            if !port.info_internal {
                continue;
            }
            for its in &mut port.trees[1..] {
                (its.agree, its.agreed, its.synced, its.sync) = (false, false, false, true);
            }
            self.stir(place);
        }
    }

    fn select_role(&mut self, at: usize, place: usize) {
        let tree = &self.trees[at];
        let port = &mut self.ports[place];
        let is_border = at > 0 && port.is_border();
        let common = port.trees[0].selected_role;
        let its = &mut port.trees[at];
        let differs = its.known != its.designated || its.known_times != tree.root_times;
        let own_wins = its.designated < its.known;
        let (role, update) = match its.info {
            Info::Disabled => (Role::Disabled, false),
            // At the border of a region, instances follow the common tree.
            _ if is_border && common == Role::Root => (Role::Master, differs),
            _ if is_border && common == Role::Alternate => (Role::Alternate, differs),
            Info::Aged => (Role::Designated, true),
            Info::Mine => (Role::Designated, differs),
            Info::Received if its.id == tree.root_port => (Role::Root, false),
            Info::Received if own_wins => (Role::Designated, true),
            Info::Received if its.known.bridge.address() == tree.bridge.address() => {
                (Role::Backup, false)
            }
            Info::Received => (Role::Alternate, false),
        };
        let is_other = (its.selected_role, its.update) != (role, update);
        (its.selected_role, its.update) = (role, update);
        if is_other || update {
            self.stir(place);
        }
    }
}

impl Port {
    /// True if the port received the common tree from another region.
    fn is_border(&self) -> bool {
        self.trees[0].info == Info::Received && !self.info_internal
    }

    /// Root path vector through this port; `None` if the port received none.
    fn way(&self, at: usize, tree: &Tree) -> Option<Vector> {
        let its = &self.trees[at];
        let own = its.known.bridge.address() == tree.bridge.address();
        if its.info != Info::Received || own || self.config.restricted_role {
            return None;
        }
        let mut way = its.known;
        if self.is_border() {
            if at > 0 {
                return None;
            }
            way.external_cost = way.external_cost.saturating_add(self.external_cost);
            (way.regional_root, way.internal_cost) = (tree.bridge, 0);
        } else {
            way.internal_cost = way.internal_cost.saturating_add(its.internal_cost);
        }
        Some(way)
    }

    /// Timer values that this bridge announces if this is its root port.
    fn times_behind(&self, at: usize, own: Times) -> Times {
        let mut times = self.trees[at].known_times;
        if self.is_border() {
            times.message_age = times.message_age.saturating_add(1);
            times.hops = own.hops;
        } else {
            times.hops = times.hops.saturating_sub(1);
        }
        times.hello = own.hello;
        times
    }
}
