//! Rows and values that programs search for and that no command created.

use sim::World;

#[test]
fn the_router_itself_is_the_vrf_main() {
    let mut world = World::new(1);
    let router = world.router("/ip vrf add name=blue", 1, 1);

    let shown = ":foreach v in=[/ip vrf find] do={:put ([/ip vrf get $v name] . \" \" . \
                 [/ip vrf get $v interfaces])}";
    assert_eq!(world.run_on(router, shown), "blue none\nmain all\n");
    let export = world.run_on(router, "/ip vrf export");
    assert!(!export.contains("main"), "{export}");
}

#[test]
fn a_bridge_vlan_shows_its_current_ports() {
    let mut world = World::new(1);
    let vlan =
        "/interface bridge add name=b\n/interface bridge vlan add bridge=b vlan-ids=10 tagged=b";
    let router = world.router(vlan, 1, 1);

    let get = "[/interface bridge vlan get [find vlan-ids=10]";
    let line = format!(":put ({get} current-tagged] . \"|\" . {get} current-untagged])");
    assert_eq!(world.run_on(router, &line), "|\n");
    let empty = ":put [:len [/interface bridge vlan find current-tagged=\"\"]]";
    assert_eq!(world.run_on(router, empty), "1\n");
}
