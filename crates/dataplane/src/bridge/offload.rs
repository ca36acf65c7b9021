//! Switch offload of a bridge: its ports and VLANs as a switch needs them, and the hosts that
//! workers teach.
//!
//! The switch forwards only unicast between hosts that it knows. When a worker bridges a frame from
//! one port of a group to another, it teaches both hosts to the switch, which forwards the next
//! frame itself. So routed and flooded frames cost no teaching. A host that has moved is taught or
//! forgotten at once.

use std::collections::BTreeMap;

use frame::InterfaceId;
use frame::switch::{
    BridgeOffload, Group, HostKey, Member, MemberTags, SwitchPort, SwitchPorts, VlanPorts,
};

use super::{self as bridge, Bridge, BridgePort, FrameTypes};
use crate::table::bridge_hosts;

/// Valid VLAN ids, without 0 and the reserved 4095.
const VIDS: core::ops::RangeInclusive<u16> = 1..=4094;

/// The switch port of a bridge port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// The group of ports that exchange frames.
    pub group: Group,
    /// The port of the switch.
    pub seat: SwitchPort,
    /// The longest frame that the port sends, in bytes from the Ethernet header on.
    pub longest: u32,
}

/// The configuration of a switch for a bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offloaded {
    members: BTreeMap<SwitchPort, Member>,
    vlans: BTreeMap<(Group, u16), VlanPorts>,
    limits: BTreeMap<Group, u32>,
}

impl Offloaded {
    /// Returns the configuration for a bridge; empty without switched ports.
    pub fn of(bridge: &Bridge) -> Self {
        let ports = || bridge.ports().iter().enumerate();
        let switched = || ports().filter_map(|(at, port)| Some((at, port, port.switched?)));
        let mut of = Self::default();
        for (from, port, is) in switched() {
            let reached = switched()
                .filter(|(to, other, at)| at.group == is.group && reaches(from, port, *to, other));
            let member = Member {
                group: is.group,
                reaches: reached.map(|(_, _, at)| at.seat).collect(),
                longest: is.longest,
                learns: port.learn,
                tags: bridge.vlans.is_some().then(|| tags(port)),
            };
            of.members.insert(is.seat, member);
            of.limits.insert(is.group, bridge.max_learned);
        }
        for group in of.limits.keys().copied() {
            let those: Vec<_> = switched().filter(|(_, _, at)| at.group == group).collect();
            let vids = match bridge.vlans {
                None => 0..=0,
                Some(_) => VIDS,
            };
            let vlans = vids.map(|vid| ((group, vid), vlan_seats(bridge, vid, &those)));
            of.vlans
                .extend(vlans.filter(|(_, seats)| *seats != VlanPorts::default()));
        }
        of
    }

    /// Changes the configuration of a switch from `before` to this.
    pub fn follow(&self, before: &Self, switch: &dyn BridgeOffload) {
        for (seat, member) in &before.members {
            let now = self.members.get(seat);
            if now.is_none() {
                switch.set_member(*seat, None);
            }
            // Forget the hosts of a port that has left its group.
            if now.is_none_or(|now| now.group != member.group) {
                switch.flush(*seat);
            }
        }
        for at @ (group, vid) in before.vlans.keys() {
            if !self.vlans.contains_key(at) {
                switch.set_vlan(*group, *vid, &VlanPorts::default());
            }
        }
        for (at @ (group, vid), seats) in &self.vlans {
            if before.vlans.get(at) != Some(seats) {
                switch.set_vlan(*group, *vid, seats);
            }
        }
        for (group, hosts) in &self.limits {
            if before.limits.get(group) != Some(hosts) {
                switch.set_limit(*group, *hosts);
            }
        }
        for (seat, member) in &self.members {
            let was = before.members.get(seat);
            // A worker may have taught a host after the port had gone.
            if was.is_none_or(|was| was.group != member.group) {
                switch.flush(*seat);
            }
            if was != Some(member) {
                switch.set_member(*seat, Some(member));
            }
        }
    }
}

/// Returns true if frames may go from one port to another, VLANs and spanning trees aside.
fn reaches(from: usize, port: &BridgePort, to: usize, other: &BridgePort) -> bool {
    let isolated = port.isolated && other.isolated;
    let same_horizon = port.horizon.is_some() && port.horizon == other.horizon;
    let only = port.only_to.as_ref();
    from != to && !isolated && !same_horizon && only.is_none_or(|only| only.has(to))
}

fn tags(port: &BridgePort) -> MemberTags {
    MemberTags {
        pvid: (port.frame_types != FrameTypes::Tagged).then_some(port.pvid),
        admits_tagged: port.frame_types != FrameTypes::UntaggedAndPriority,
    }
}

/// Returns the ports of a VLAN in the switch.
fn vlan_seats(bridge: &Bridge, vid: u16, ports: &[(usize, &BridgePort, Switched)]) -> VlanPorts {
    let mut seats = VlanPorts::default();
    let instance = bridge.vlans.as_ref().map_or(0, |vlans| vlans.instance(vid));
    for (at, port, is) in ports {
        if port.forwarding >> instance & 1 == 0 {
            continue;
        }
        let member = match &bridge.vlans {
            Some(vlans) => vlans.member(vid, *at),
            None => bridge::Member::Tagged,
        };
        let is_member = member != bridge::Member::No;
        if is_member || !port.ingress_filtering {
            seats.ingress = seats.ingress.with(is.seat);
        }
        if is_member {
            seats.egress = seats.egress.with(is.seat);
        }
        if member == bridge::Member::Untagged {
            seats.untagged = seats.untagged.with(is.seat);
        }
    }
    // A VLAN without egress ports is not configured.
    match seats.egress == SwitchPorts::default() {
        true => VlanPorts::default(),
        false => seats,
    }
}

/// Teaches a switch the hosts of a frame that a worker bridged between two ports, if both ports are
/// in one group.
pub fn bridged(
    switch: Option<&dyn BridgeOffload>,
    from: &BridgePort,
    source: &bridge_hosts::HostKey,
    to: &BridgePort,
    destination: &bridge_hosts::HostKey,
) {
    if let (Some(switch), Some(one), Some(other)) = (switch, from.switched, to.switched)
        && one.group == other.group
    {
        if from.learn {
            switch.learn(&key(one.group, source), one.seat);
        }
        switch.learn(&key(other.group, destination), other.seat);
    }
}

/// Updates a switch after a host has moved from one port to another. Otherwise the switch would
/// still send to the old port.
#[cold]
#[inline(never)]
pub fn moved(
    switch: Option<&dyn BridgeOffload>,
    bridge: &Bridge,
    host: &bridge_hosts::HostKey,
    from: InterfaceId,
    to: InterfaceId,
) {
    let Some(switch) = switch else { return };
    let place = |port| bridge.ports().get(bridge.number(port)?)?.switched;
    let (before, now) = (place(from), place(to));
    if let Some(at) = now {
        switch.learn(&key(at.group, host), at.seat);
    }
    if let Some(before) = before
        && now.is_none_or(|now| now.group != before.group)
    {
        switch.forget(&key(before.group, host));
    }
}

/// Returns the key of a host in the switch.
pub fn key(group: Group, host: &bridge_hosts::HostKey) -> HostKey {
    let [_, _, mac @ ..] = host.mac.to_be_bytes();
    HostKey {
        group,
        vid: host.vid,
        mac,
    }
}

#[cfg(test)]
mod tests;
