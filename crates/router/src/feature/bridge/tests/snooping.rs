use dataplane::bridge::SNOOPED;
use dataplane::{Punt, PuntReason};
use wire::{Protocol, dhcp, ipv4};

use super::Desk;

const PORTS: &str = "\
/interface/bridge/port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
";

fn desk(settings: &str) -> Desk {
    let bridge = format!("/interface/bridge/add name=bridge1 protocol-mode=none {settings}\n");
    Desk::new(&(bridge + PORTS))
}

impl Desk {
    /// Passes an IGMP message that arrived on `port` to the bridge.
    fn igmp(&mut self, port: &str, message: [u8; 8]) {
        let ingress = self.id(port);
        let control = self.router.control();
        let named = { control.services.names() }.find(|(_, name)| *name == SNOOPED);
        let [.., a, b, c, d] = message;
        let header = ipv4::Repr::new(Protocol::IGMP, [10, 0, 0, 9].into(), [a, b, c, d].into());
        let head = [1, 0, 0x5e, b & 0x7f, c, d, 2, 0, 0, 0, 0, 9, 8, 0];
        let bytes = [&head[..], &header.to_bytes(8), &message].concat();
        let mut frame = control.workers.frame(&bytes).expect("room");
        (frame.ingress, frame.l3) = (ingress, 14);
        let why = PuntReason::Service {
            id: named.expect("a bridge snoops").0,
            meets_rules: false,
        };
        control.handle_punt(0, Punt { frame, why });
    }

    fn groups(&mut self) -> String {
        self.run("/interface/bridge/mdb/print terse without-paging")
    }
}

/// Returns an IGMPv2 message with its checksum.
fn message(kind: u8, group: [u8; 4]) -> [u8; 8] {
    let [a, b, c, d] = group;
    let mut message = [kind, 0, 0, 0, a, b, c, d];
    let sum = wire::checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

#[test]
fn a_group_that_is_reported_is_shown_until_nobody_reports_it() {
    let mut desk = desk("igmp-snooping=yes");
    assert!(desk.bridge("bridge1").expect("a bridge").groups.is_some());

    desk.igmp("ether2", message(0x16, [239, 7, 7, 7]));
    let shown = desk.groups();
    assert!(
        shown.contains("239.7.7.7") && shown.contains("on-ports=ether2"),
        "{shown}"
    );

    desk.wait(250);
    assert!(desk.groups().contains("239.7.7.7"));
    desk.wait(15);
    assert!(!desk.groups().contains("239.7.7.7"));
}

#[test]
fn a_leaving_host_is_removed_at_once_on_a_fast_leave_port() {
    let mut desk = desk("igmp-snooping=yes");
    desk.run("/interface/bridge/port/set [find interface=ether2] fast-leave=yes");
    desk.igmp("ether2", message(0x16, [239, 7, 7, 7]));
    desk.igmp("ether2", message(0x17, [239, 7, 7, 7]));
    assert!(!desk.groups().contains("239.7.7.7"));
}

#[test]
fn configured_groups_work_until_snooping_is_disabled() {
    let mut desk = desk("igmp-snooping=yes");
    desk.run("/interface/bridge/mdb/add bridge=bridge1 group=239.1.1.1 interface=ether1,ether4");
    let shown = desk.groups();
    // ether4 is no port of the bridge.
    assert!(
        shown.contains("on-ports=ether1") && !shown.contains("on-ports=ether1,"),
        "{shown}"
    );
    desk.igmp("ether2", message(0x16, [239, 7, 7, 7]));
    assert!(desk.groups().contains("239.7.7.7"));

    desk.run("/interface/bridge/set bridge1 igmp-snooping=no");
    assert!(!desk.groups().contains("239.7.7.7"));
    assert!(desk.bridge("bridge1").expect("a bridge").groups.is_none());
}

#[test]
fn ports_are_trusted_as_is_configured_and_name_themselves_in_requests() {
    let mut desk = desk("dhcp-snooping=yes ra-guard=yes add-dhcp-option82=yes");
    desk.run("/interface/bridge/port/set [find interface=ether2] trusted=yes");

    let bridge = desk.bridge("bridge1").expect("a bridge");
    assert!(bridge.guards.dhcp && bridge.guards.advertisements && !bridge.guards.dhcp6);
    let [one, other] = bridge.ports() else {
        panic!("two ports");
    };
    assert!(!one.trust.dhcp && other.trust.dhcp && !other.trust.advertisements);
    let mac = b"02:00:00:00:00:01";
    let option = dhcp::agent_information(b"ether1", mac).expect("it is short");
    assert_eq!(one.trust.agent.as_deref(), Some(&option[..]));
    assert_eq!(other.trust.agent, None, "requests do not come by it");
    assert!(!bridge.fast_forward);

    desk.run("/interface/bridge/set bridge1 dhcp-agent-circuit-id=hall dhcp-agent-remote-id=ap");
    let bridge = desk.bridge("bridge1").expect("a bridge");
    let option = dhcp::agent_information(b"hall", b"ap").expect("it is short");
    assert_eq!(bridge.ports()[0].trust.agent.as_deref(), Some(&option[..]));
}
