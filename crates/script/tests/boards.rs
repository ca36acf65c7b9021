//! Settings in exports of boards and of older versions that do not apply to a virtual router of version 7. They
//! are accepted, and an export contains them again.

use menu::{Store, export};

const BOARDS: &str = "\
/interface ethernet
set [ find default-name=ether2 ] poe-out=forced-on power-cycle-interval=none
set [ find default-name=sfp-sfpplus1 ] sfp-shutdown-temperature=95C
/interface w60g
set [ find default-name=wlan60-1 ] disabled=no frequency=auto mode=ap-bridge ssid=roof
/interface w60g station
add mac-address=02:00:00:00:00:01 name=far parent=wlan60-1 remote-address=02:00:00:00:00:02
/interface vlan
add interface=ether2 l3-hw-offloading=no name=vlan7 vlan-id=7
/interface ethernet switch
set 0 bridge-type=service-vid-used-as-lookup-vid forward-unknown-vlan=no
/interface ethernet switch port
set 1 egress-vlan-mode=tagged qos-scheme-precedence=pcp-based,sa-based
/interface ethernet switch qos-group
add dscp=46 name=voice
/interface ethernet switch egress-vlan-tag
add tagged-ports=ether2,switch1-cpu vlan-id=7
/interface ethernet switch ingress-vlan-translation
add customer-vid=0 new-customer-vid=7 ports=ether2
/interface ethernet switch acl policer
add name=slow yellow-action=remark yellow-rate=1000000
/interface ethernet switch acl
add customer-tag=tagged policer=slow src-ports=ether2
/interface ethernet switch dscp-qos-map
set 46 drop-precedence=green priority=7
/interface ethernet switch qos profile
add dscp=46 name=voice pcp=5 traffic-class=5
/interface ethernet switch qos port
set ether2 trust-l3=trust
/interface ethernet switch qos map ip
add dscp=40-46 map=default profile=voice
/system health settings
set fan-full-speed-temp=65C fan-min-speed-percent=12%
/system resource irq rps
set ether2 disabled=no
/system swos
set address-acquisition-mode=static identity=core static-ip-address=10.0.0.2
";

const OLDER: &str = "\
/lora servers
add address=lora.example down-port=1700 name=far up-port=1700
/tool user-manager customer
set admin access=own-routers,own-users
/tool user-manager profile
add name=day name-for-users=\"\" override-shared-users=off owner=admin price=0 validity=1d
/tool user-manager profile limitation
add name=slow owner=admin rate-limit-rx=524288B transfer-limit=0B uptime-limit=0s
/tool user-manager profile profile-limitation
add limitation=slow profile=day
/tool user-manager user
add customer=admin ipv6-dns=:: shared-users=1 username=guest wireless-enc-algo=none
/system lcd
set contrast=0 enabled=no port=parallel type=24x4
/system lcd page
set time disabled=yes display-time=5s
/interface list
add name=discover
/interface list member
add list=discover
add list=discover
/ip dhcp-server network
add dns-server=10.0.0.1
/ipv6 firewall address-list
add list=all
/routing bgp connection
add as=65000 local.role=ebgp name=up remote.address=10.0.0.1
add as=65000 local.role=ebgp name=up remote.address=10.0.0.2
/ip address
add address=10.255.0.1 interface=lo network=10.255.0.1
";

/// The export after these commands. None of the commands may be refused.
fn exported(text: &str) -> String {
    let mut store: Store = schema::store();
    let report = script::check(&mut store, text);
    assert!(report.refused.is_empty(), "{:#?}", report.refused);
    let mut out = String::new();
    let options = export::Options {
        sensitive: true,
        ..export::Options::default()
    };
    let _ = export::export(&store, &options, &mut out);
    out
}

#[test]
fn settings_of_boards_and_older_versions_are_stored() {
    for text in [BOARDS, OLDER] {
        let first = exported(text);

        assert_eq!(exported(&first), first);
    }
}

#[test]
fn values_of_stored_properties_are_checked() {
    for wrong in [
        "/interface ethernet set [find default-name=ether2] poe-out=sometimes",
        "/system health settings set fan-min-speed-percent=101%",
        "/system health settings set fan-full-speed-temp=warm",
        "/interface ethernet switch acl add policer=none-of-that-name",
        "/tool user-manager profile limitation add name=x rate-limit-rx=fast",
    ] {
        let report = script::check(&mut schema::store(), wrong);

        assert_eq!(report.refused.len(), 1, "{wrong}");
    }
}
