//! The host plane: which interfaces need a mirror device, and what the host namespace should have.
//!
//! These are plain values. Whoever holds the namespace carries out the difference between two
//! plans, and gives each mirror's port to [`Control::attach_mirror`](crate::drive::Control).

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use crate::compile::{Addresses, Layout};
use crate::drive::Control;

/// What the host namespace should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorPlan {
    /// The mirrors, by the name of the interface that they mirror.
    pub mirrors: BTreeMap<String, Mirror>,
    /// Where packets leave that no mirror's own network is for: all of them go by the router, which
    /// looks the way up; so any mirror will do. The first that runs, by family.
    pub default4: Option<String>,
    /// The same of IPv6.
    pub default6: Option<String>,
    /// How often one host is told errors, in milliseconds, and which: `icmp-rate-limit` and
    /// `icmp-rate-mask`. What no socket takes is the namespace's to refuse.
    pub errors: (u64, u32),
}

/// One mirror device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// The number of the interface in this process: a name for the device that does not change when
    /// the interface is renamed.
    pub number: u32,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// Whether the device is up.
    pub running: bool,
    /// IPv4 addresses with their prefix lengths.
    pub ipv4: Vec<(Ipv4Addr, u8)>,
    /// IPv6 addresses with their prefix lengths, the link-local one among them.
    pub ipv6: Vec<(Ipv6Addr, u8)>,
}

impl Control {
    /// What the host namespace should have now.
    pub fn mirror_plan(&self) -> MirrorPlan {
        let ipv4 = &self.intent.ipv4;
        let mirrors = plan(&self.layout, &self.addresses, |id, addr| {
            self.is_in_use(id, addr)
        });
        MirrorPlan {
            errors: (
                ipv4.icmp_rate_limit.as_nanos() as u64 / 1_000_000,
                ipv4.icmp_rate_mask,
            ),
            ..mirrors
        }
    }
}

fn plan(
    layout: &Layout,
    addresses: &Addresses,
    in_use: impl Fn(frame::InterfaceId, Ipv6Addr) -> bool,
) -> MirrorPlan {
    let mut plan = MirrorPlan::default();
    for (id, laid) in &layout.interfaces {
        let ipv4: Vec<_> = addresses
            .of4(*id)
            .map(|(addr, own)| (addr, own.len))
            .collect();
        let ipv6: Vec<_> = addresses
            .of6(*id)
            .filter(|(addr, _)| in_use(*id, *addr))
            .map(|(addr, own)| (addr, own.len))
            .collect();
        // A link-local address alone serves nobody but neighbours; it still needs its link.
        if ipv4.is_empty() && ipv6.is_empty() {
            continue;
        }
        let name = laid.name.to_string();
        if laid.link.running && !ipv4.is_empty() && plan.default4.is_none() {
            plan.default4 = Some(name.clone());
        }
        let global = |(addr, _): &(Ipv6Addr, u8)| !addr.is_unicast_link_local();
        if laid.link.running && ipv6.iter().any(global) && plan.default6.is_none() {
            plan.default6 = Some(name.clone());
        }
        let mirror = Mirror {
            number: id.0,
            mtu: laid.link.mtu,
            running: laid.runs(),
            ipv4,
            ipv6,
        };
        plan.mirrors.insert(name, mirror);
    }
    plan
}
