//! A bridge with VLAN filtering: the kernel pushes and pops tags.

use frame::switch::{MemberTags, VlanPorts};

use crate::bed::*;
use crate::common::*;

/// All three ports are members of VLAN 7: the first two untagged, the third tagged.
fn bed() -> Option<Bed> {
    let bed = Bed::new()?;
    let tags = MemberTags {
        pvid: Some(7),
        admits_tagged: true,
    };
    bed.bridge(Some(tags), 7);
    bed.vlan(7, &[0, 1]);
    Some(bed)
}

#[test]
fn vlan_tags_follow_the_membership_of_ports() {
    in_namespace_as_root(|| {
        let Some(mut bed) = bed() else { return };
        for len in [60, 61, 1500, 1510] {
            let plain = between(mac(0), mac(1), 1, len);
            bed.passes(
                (0, 1),
                std::slice::from_ref(&plain),
                std::slice::from_ref(&plain),
            );
            bed.passes((0, 1), &[tagged(&plain, 7)], std::slice::from_ref(&plain));
            // Priority and drop eligibility are not part of the VLAN id.
            bed.passes((0, 1), &[tagged(&plain, 0xb007)], &[plain]);
            let up = between(mac(0), mac(2), 1, len);
            bed.passes((0, 2), std::slice::from_ref(&up), &[tagged(&up, 7)]);
            let down = between(mac(2), mac(0), 1, len);
            bed.passes((2, 0), &[tagged(&down, 7)], &[down]);
        }
        assert_eq!(bed.switched().iter().map(|s| s.frames).sum::<u64>(), 20);
    });
}

#[test]
fn frames_of_non_member_vlans_go_to_the_worker() {
    in_namespace_as_root(|| {
        let Some(mut bed) = bed() else { return };
        let plain = between(mac(0), mac(1), 1, 60);
        let up = between(mac(0), mac(2), 1, 1512);
        // Another VLAN, a priority tag, and a tag that makes the frame too long.
        bed.is_asked(0, &[tagged(&plain, 8), tagged(&plain, 0xe000), up]);

        // The same hosts are on other ports in another VLAN.
        bed.switch.learn(&host(0, 8), bed.seat(0));
        bed.switch.learn(&host(1, 8), bed.seat(2));
        let trunks = VlanPorts {
            ingress: bed.seats(&[0, 1, 2]),
            egress: bed.seats(&[2]),
            untagged: bed.seats(&[]),
        };
        bed.switch.set_vlan(group(1), 8, &trunks);
        bed.passes((0, 2), &[tagged(&plain, 8)], &[tagged(&plain, 8)]);
        bed.passes(
            (0, 1),
            std::slice::from_ref(&plain),
            std::slice::from_ref(&plain),
        );

        bed.switch.set_vlan(group(1), 8, &VlanPorts::default());
        bed.is_asked(0, &[tagged(&plain, 8)]);
    });
}

#[test]
fn frames_are_admitted_by_their_tags() {
    in_namespace_as_root(|| {
        let Some(mut bed) = bed() else { return };
        let plain = between(mac(0), mac(1), 1, 60);
        let with = |pvid, admits_tagged| {
            Some(MemberTags {
                pvid,
                admits_tagged,
            })
        };
        let port = bed.seat(0);

        let tagged_only = bed.member(with(None, true));
        bed.switch.set_member(port, Some(&tagged_only));
        bed.is_asked(0, std::slice::from_ref(&plain));
        bed.passes((0, 1), &[tagged(&plain, 7)], std::slice::from_ref(&plain));
        let untagged_only = bed.member(with(Some(7), false));
        bed.switch.set_member(port, Some(&untagged_only));
        bed.is_asked(0, &[tagged(&plain, 7)]);
        bed.passes(
            (0, 1),
            std::slice::from_ref(&plain),
            std::slice::from_ref(&plain),
        );
    });
}
