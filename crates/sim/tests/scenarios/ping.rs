//! A router's own echo requests, as scripts send them.

use machine::Duration;
use sim::Line;

use crate::chain;

/// What `ping` with these arguments comes to on the router west of the chain.
fn pinged(arguments: &str) -> String {
    let mut chain = chain(7, Line::default(), 1);
    chain.world.run_on(
        chain.west,
        &format!(
            "/system scheduler add name=once interval=10s on-event=\"\
             :global seen [/ping {arguments}]; :global done yes\""
        ),
    );
    chain.world.run(Duration::from_secs(19));
    let show = ":global done; :global seen; :put \"$done $[:tostr $seen]\"";
    chain.world.run_on(chain.west, show).trim_end().to_owned()
}

/// Some of what came of the only request, in the order of names.
fn only(arguments: &str, names: &[&str]) -> String {
    let all = pinged(&format!("{arguments} count=1 as-value"));
    let cells = all.trim_start_matches("yes ").split(';');
    let named = cells.filter(|cell| names.contains(&cell.split('=').next().unwrap_or_default()));
    named.collect::<Vec<_>>().join(";")
}

const NAMES: &[&str] = &["host", "received", "size", "status", "ttl"];

#[test]
fn hosts_behind_other_routers_answer_and_their_answers_are_counted() {
    assert_eq!(pinged("10.2.0.2 count=3 interval=100ms"), "yes 3");
    assert_eq!(pinged("2001:db8:2::2 count=2 interval=100ms"), "yes 2");
    assert_eq!(
        only("10.2.0.2", NAMES),
        "host=10.2.0.2;received=1;size=56;ttl=63"
    );
    assert_eq!(
        only("10.2.0.2 size=4000", NAMES),
        "host=10.2.0.2;received=1;size=4000;ttl=63"
    );
    assert_eq!(
        only("10.9.0.1", NAMES),
        "host=10.9.0.1;received=1;size=56;ttl=64",
        "this router answers itself"
    );
}

#[test]
fn who_does_not_let_a_request_through_is_named_with_the_reason() {
    assert_eq!(
        only("10.2.0.2 ttl=1", NAMES),
        "host=10.9.0.2;received=0;size=84;status=TTL exceeded;ttl=64"
    );
    assert_eq!(
        only("2001:db8:2::2 ttl=1", NAMES),
        "host=2001:db8:9::2;received=0;size=104;status=TTL exceeded;ttl=64"
    );
    assert_eq!(
        only("10.2.0.2 size=4000 do-not-fragment", NAMES),
        "host=10.9.0.1;received=0;size=4000;status=packet too large and cannot be fragmented;ttl=64"
    );
}

#[test]
fn whoever_is_not_there_is_waited_for_until_the_next_request_is_due() {
    assert_eq!(
        only("10.1.0.77", NAMES),
        "host=10.1.0.77;received=0;status=timeout"
    );
    assert_eq!(
        only("10.1.0.77 interval=5s", NAMES),
        "host=10.1.0.1;received=0;size=56;status=host unreachable;ttl=64"
    );
    assert_eq!(
        only("172.16.0.1", NAMES),
        "received=0;status=no route to host"
    );
}

#[test]
fn an_interface_that_no_route_leads_by_has_the_receiver_as_a_neighbour() {
    assert_eq!(
        only("10.1.0.2 interface=ether1", NAMES),
        "host=10.1.0.2;received=1;size=56;ttl=64"
    );
    assert_eq!(
        only("10.1.0.2 interface=ether2", NAMES),
        "host=10.1.0.2;received=0;status=timeout"
    );
}
