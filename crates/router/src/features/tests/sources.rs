//! Tests of a tunnel's local address where the tunnel leaves it open: the route gives it.

use super::rig::Rig;
use crate::feature::Feature;

/// An empty feature: the test uses the router's own features.
#[derive(Debug)]
struct Nothing;

impl Feature for Nothing {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Returns the local addresses of the policies of tunnels with `ipsec-secret`.
fn sources(rig: &mut Rig, second: u64) -> String {
    rig.go_on_until(second);
    let find = "/ip/ipsec/policy/find dynamic";
    let each = format!(":foreach i in=[{find}] do={{:put [/ip/ipsec/policy/get $i src-address]}}");
    rig.run(&each).trim().to_owned()
}

#[test]
fn a_tunnel_uses_the_source_address_of_its_route_or_none() {
    let mut rig = Rig::new(Nothing);
    for command in [
        "/interface/vlan/add name=other vlan-id=2 interface=ether1",
        "/ip/address/add address=10.1.0.1/24 interface=ether1",
        "/ip/address/add address=10.2.0.1/24 interface=other",
        "/interface/eoip/add name=t remote-address=198.51.100.2 tunnel-id=1 ipsec-secret=secret \
         allow-fast-path=no",
    ] {
        rig.run(command);
    }
    assert_eq!(sources(&mut rig, 2), "", "no route leads there");

    rig.run("/ip/route/add gateway=10.1.0.254 distance=2");
    assert_eq!(sources(&mut rig, 3), "10.1.0.1/32");
    // This route changes no interface.
    rig.run("/ip/route/add gateway=10.2.0.254 distance=1");
    assert_eq!(sources(&mut rig, 4), "10.2.0.1/32");
    rig.run("/ip/route/disable [find distance=1]");
    assert_eq!(sources(&mut rig, 5), "10.1.0.1/32");
    rig.run("/ip/route/disable [find distance=2]");
    assert_eq!(sources(&mut rig, 6), "");
}
