//! A feature that answers each change of an interface by another change of it.

use core::net::Ipv4Addr;
use std::collections::BTreeSet;

use frame::InterfaceId;

use super::rig::Rig;
use crate::feature::{Effect, Effects, Feature};
use crate::intent::Address4;
use crate::object::{Made, Owner};
use crate::running::Running;

const OWNER: Owner = Owner {
    feature: "restless",
    number: 0,
};

/// Changes the address of `ether1` whenever it changed, up to `left` times.
#[derive(Debug)]
struct Restless {
    left: u32,
    given: u32,
}

impl Feature for Restless {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn lay_out(&mut self, _: &BTreeSet<InterfaceId>, _: &Running<'_>, out: &mut Effects) {
        let Some(left) = self.left.checked_sub(1) else {
            return;
        };
        self.left = left;
        self.given += 1;
        let network = Ipv4Addr::from_bits(0x0a00_0000 + (self.given << 8));
        out.push(Effect::Gone(OWNER));
        let address = Address4 {
            addr: Ipv4Addr::from_bits(network.to_bits() + 1),
            len: 24,
            network,
            interface: "ether1".into(),
            disabled: false,
        };
        out.object(OWNER, Made::Address4(address));
    }
}

#[test]
fn a_chain_of_changes_is_followed_to_its_end() {
    let mut rig = Rig::new(Restless { left: 20, given: 0 });

    let shown = rig.run("/ip/address/print terse without-paging");
    assert!(shown.contains("address=10.0.20.1/24"), "{shown}");
    let log = rig.run("/log/print without-paging");
    assert!(!log.contains("Restless"), "{log}");
}

#[test]
fn an_endless_chain_of_changes_is_stopped_and_its_feature_logged() {
    let left = 1_000_000;
    let mut rig = Rig::new(Restless { left, given: 0 });

    let log = rig.run("/log/print without-paging");
    let said = "feature Restless answers each change of an interface with another one";
    assert!(log.contains(said), "{log}");
    // The router keeps running, and the interface has one of the addresses.
    rig.run("/ip/address/add address=192.0.2.1/24 interface=ether1");
    assert_eq!(rig.run("/ip/address/print count-only").trim(), "2");
}
