//! Publishes changes to workers: changed interfaces one by one, and the snapshot if it changed.

use std::sync::Arc;

use dataplane::Command;
use dataplane::connection::Purge;
use dataplane::nat;
use dataplane::snapshot::Snapshot;
use frame::InterfaceId;

use super::Control;
use crate::compile::{self, LayoutInputs};

impl Control {
    /// Publishes changed interfaces, then a new snapshot if it differs from the current one.
    pub(super) fn publish(&mut self) {
        self.workers.make_room(self.numbers.last());
        self.published.set_epoch(self.epoch_of_rules());
        self.due
            .interfaces
            .extend(self.firewall.take_reclassified());
        self.publish_interfaces();
        let has_other_rules =
            !Arc::ptr_eq(&self.snapshot.load().firewall, self.firewall.compiled());
        if has_other_rules {
            self.map_endpoints();
        }
        let is_due = core::mem::take(&mut self.due.snapshot) || has_other_rules;
        if is_due && self.publish_snapshot() {
            self.fib.forget_shortcuts();
        }
        self.change_tracking();
    }

    /// Compiles a snapshot, and publishes it if it differs from the last published snapshot. Returns whether it
    /// differs.
    fn publish_snapshot(&mut self) -> bool {
        let ground = LayoutInputs {
            intent: &self.intent,
            ports: &self.ports,
            mirrors: &self.mirrors,
            shared_mirror: self.shared_mirror,
        };
        let compiled = compile::compile(
            self.epoch + 1,
            &ground,
            &self.layout,
            &self.mirror_ports,
            &self.tables,
            self.firewall.compiled(),
        );
        let snapshot = Snapshot {
            zone_seconds: self.clock.now().offset_seconds,
            services: Arc::clone(self.services.table()),
            ..compiled
        };
        self.inactive_rules =
            compile::snapshot::inactive_rules(&self.intent, &self.layout, &self.tables);
        let is_other = !self.snapshot.load().is_like(&snapshot);
        if is_other {
            self.epoch += 1;
            let replaced = self.snapshot.swap(Arc::new(snapshot));
            self.retired.push(replaced);
        }
        is_other
    }

    /// Publishes interfaces that were added, changed or removed.
    fn publish_interfaces(&mut self) {
        for id in core::mem::take(&mut self.due.interfaces) {
            // The counters of a reused slot continue from the last interface in it.
            if id.generation() > 0
                && self.published.get(id).is_none()
                && self.layout.interfaces.contains_key(&id)
            {
                let counted = self.workers.traffic(id, self.now);
                self.reset.insert(id, counted);
            }
            self.publish_interface(id);
        }
    }

    /// Allocates the table of endpoint-independent NAT when the first rule needs it.
    fn map_endpoints(&mut self) {
        let wants =
            |target: &nat::Target| matches!(target.action, nat::Action::EndpointIndependent);
        let targets = &self.firewall.compiled().targets;
        if self.connections.mappings().is_some() || !targets.iter().any(wants) {
            return;
        }
        match nat::Mappings::new(self.rng.next_u64()) {
            Ok(mappings) => self.connections.set_mappings(Arc::new(mappings)),
            // Without the table, these rules masquerade.
            Err(error) => {
                let message = format!("no memory for endpoint-independent-nat: {error}");
                self.features.log.add("firewall,error", message);
            }
        }
    }

    /// Removes all connections when connection tracking is switched off.
    fn change_tracking(&mut self) {
        let compiled = self.firewall.compiled();
        let tracks = compiled.tracks4 || compiled.tracks6;
        if core::mem::replace(&mut self.tracks, tracks) && !tracks {
            self.workers.send_all(|| Command::Purge(Purge::Everything));
        }
    }

    /// Removes the connections that masquerade translated to a lost address or interface.
    // RouterOS: connections of src-nat stay.
    pub(super) fn purge_masquerade(&mut self, id: InterfaceId, address: Option<u128>) {
        if self.tracks {
            let purge = Purge::Masquerade(id, address);
            self.workers.send_all(|| Command::Purge(purge));
        }
    }
}
