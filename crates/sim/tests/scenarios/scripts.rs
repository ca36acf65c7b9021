//! Scheduled scripts.

use machine::Duration;
use sim::World;

use crate::seconds;

#[test]
fn an_event_runs_by_its_interval_and_shares_variables_with_its_owner() {
    let mut world = World::new(1);
    let router = world.router("", 1, 1);
    world.run_on(
        router,
        "/system script add name=count source=\":global runs; :set runs (\\$runs + 1)\"\n\
         /system scheduler add name=tick interval=10s on-event=count",
    );

    world.run(seconds(35));

    assert_eq!(world.run_on(router, ":global runs; :put $runs"), "3\n");
    let seen = world.run_on(
        router,
        ":put [/system scheduler get tick run-count]; :put [/system scheduler get tick next-run]",
    );
    assert_eq!(seen, "3\n1970-01-01 00:00:41\n");
    assert_eq!(world.run_on(router, "/environment print count-only"), "1\n");
}

#[test]
fn a_failed_event_is_logged_and_the_next_one_runs() {
    let mut world = World::new(2);
    let router = world.router("", 1, 1);
    world.run_on(
        router,
        "/system scheduler\n\
         add name=bad interval=10s on-event=\"/ip route get 99\"\n\
         add name=good interval=10s on-event=\":delay 3s; /system identity set name=done\"",
    );

    world.run(Duration::from_secs(15));

    let log = world.run_on(router, "/log print where topics~\"script\"");
    assert!(
        log.contains("no such item (/ip/route/get; line 1 column 15)"),
        "{log}"
    );
    assert_eq!(
        world.run_on(router, ":put [/system identity get name]"),
        "done\n"
    );
}
