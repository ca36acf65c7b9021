//! All labs with a story. Each is a lab of [`crate::LAYOUTS`] as well.

use crate::bridge_stories::{SHARED_LANE_STORY, SLOW_BRIDGING_STORY, TRANSPARENT_QUEUING_STORY};
use crate::firewall_stories::{
    BLIND_QUEUE_STORY, FASTTRACK_BLIND_STORY, FASTTRACK_STORY, LAYER7_STORY,
};
use crate::port_stories::{DHCP_ON_PORT_STORY, ONE_LANE_STORY};
use crate::story::Story;
use crate::vpn_stories::{NAT_BEFORE_IPSEC_STORY, VPN_WAN_CHANGE_STORY};

/// Returns the story of a lab.
pub fn story(lab: &str) -> Option<&'static Story> {
    STORIES.iter().find(|story| story.layout.name == lab)
}

/// All stories.
pub const STORIES: &[Story] = &[
    ONE_LANE_STORY,
    SHARED_LANE_STORY,
    SLOW_BRIDGING_STORY,
    TRANSPARENT_QUEUING_STORY,
    LAYER7_STORY,
    FASTTRACK_BLIND_STORY,
    NAT_BEFORE_IPSEC_STORY,
    FASTTRACK_STORY,
    BLIND_QUEUE_STORY,
    VPN_WAN_CHANGE_STORY,
    DHCP_ON_PORT_STORY,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::End;
    use crate::story::joined;

    #[test]
    fn every_flow_has_hosts_of_its_lab_and_a_receivers_address() {
        for story in STORIES {
            assert!(crate::LAYOUTS.contains(story.layout));
            for flow in story.flows {
                assert!(story.layout.host(flow.from).is_some(), "{flow:?}");
                let mut ends = story.layout.links.iter().flat_map(|link| &link.ends);
                let has = |end: &&End| end.host == flow.to;
                let own = ends.find(has).expect("a wire").addresses;
                assert!(
                    own[0].starts_with(&format!("{}/", flow.address)),
                    "{flow:?}"
                );
            }
        }
    }

    #[test]
    fn a_chip_joins_every_port_to_its_host() {
        for story in STORIES.iter().filter(|story| story.chip.is_some()) {
            let script = joined(story);
            for number in 1..=story.layout.ports().len() {
                let line = format!("ip link set dev c{number} master b{number}\n");
                assert!(script.contains(&line), "{script}");
            }
        }
    }
}
