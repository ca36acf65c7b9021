//! What workers read: the interfaces that may be others, one by one, and the snapshot if something of it may be.

use std::sync::Arc;

use dataplane::Command;
use dataplane::connection::Purge;
use dataplane::nat;
use dataplane::snapshot::Snapshot;
use frame::InterfaceId;

use super::Control;
use crate::compile::{self, Ground};

impl Control {
    /// Tells the workers what has changed of interfaces, and hands them a new snapshot if that is other.
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

    /// Compiles a snapshot, and hands it out if it is other than the last one. Says whether it is.
    fn publish_snapshot(&mut self) -> bool {
        let ground = Ground {
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

    /// Tells the workers of the interfaces that are new, other or gone.
    fn publish_interfaces(&mut self) {
        for id in core::mem::take(&mut self.due.interfaces) {
            // A slot that is given again counts on from where its last interface was.
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

    /// Endpoint-independent translation has memory from the first rule on that wants it.
    fn map_endpoints(&mut self) {
        let wants =
            |target: &nat::Target| matches!(target.action, nat::Action::EndpointIndependent);
        let targets = &self.firewall.compiled().targets;
        if self.connections.mappings().is_some() || !targets.iter().any(wants) {
            return;
        }
        match nat::Mappings::new(self.rng.next_u64()) {
            Ok(mappings) => self.connections.set_mappings(Arc::new(mappings)),
            // Such rules masquerade for as long.
            Err(error) => {
                let message = format!("no memory for endpoint-independent-nat: {error}");
                self.features.log.add("firewall,error", message);
            }
        }
    }

    /// Connections end when they are not tracked any more.
    fn change_tracking(&mut self) {
        let compiled = self.firewall.compiled();
        let tracks = compiled.tracks4 || compiled.tracks6;
        if core::mem::replace(&mut self.tracks, tracks) && !tracks {
            self.workers.send_all(|| Command::Purge(Purge::Everything));
        }
    }

    /// Connections end that were translated by what is gone.
    ///
    // RouterOS: masquerade's do, those of src-nat stay.
    pub(super) fn purge_masquerade(&mut self, id: InterfaceId, address: Option<u128>) {
        if self.tracks {
            let purge = Purge::Masquerade(id, address);
            self.workers.send_all(|| Command::Purge(purge));
        }
    }
}
