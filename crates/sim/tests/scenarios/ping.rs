//! Echo requests of a router's scripts.

use machine::Duration;
use sim::Line;

use crate::chain;

/// Returns the result of `ping` on the west router.
fn pinged(arguments: &str) -> String {
    pinged_with("", arguments)
}

/// Returns the result of `ping` with additional configuration.
fn pinged_with(configuration: &str, arguments: &str) -> String {
    ran(configuration, &format!("/ping {arguments}"))
}

/// Returns the result of a command on the west router.
fn ran(configuration: &str, command: &str) -> String {
    let mut chain = chain(7, Line::default(), 1);
    chain.world.run_on(chain.west, configuration);
    chain.world.run_on(
        chain.west,
        &format!(
            "/system scheduler add name=once interval=10s on-event=\"\
             :global seen [{command}]; :global done yes\""
        ),
    );
    chain.world.run(Duration::from_secs(19));
    let show = ":global done; :global seen; :put \"$done $[:tostr $seen]\"";
    chain.world.run_on(chain.west, show).trim_end().to_owned()
}

/// Returns selected fields of the result of a single request, ordered by name.
fn only(arguments: &str, names: &[&str]) -> String {
    let all = pinged(&format!("{arguments} count=1 as-value"));
    let cells = all.trim_start_matches("yes ").split(';');
    let named = cells.filter(|cell| names.contains(&cell.split('=').next().unwrap_or_default()));
    named.collect::<Vec<_>>().join(";")
}

const NAMES: &[&str] = &["host", "received", "size", "status", "ttl"];

#[test]
fn ping_counts_replies_of_remote_hosts() {
    assert_eq!(pinged("10.2.0.2 count=3 interval=100ms"), "yes 3");
    assert_eq!(pinged("2001:db8:2::2 count=2 interval=100ms"), "yes 2");
    assert_eq!(
        only("10.2.0.2", NAMES),
        "host=10.2.0.2;received=1;size=56;ttl=63"
    );
    assert_eq!(
        only("2001:db8:2::2", NAMES),
        "host=2001:db8:2::2;received=1;size=56;status=echo reply;ttl=63"
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
fn ping_shows_the_router_that_refuses_and_its_reason() {
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
        "received=0;status=packet too large and cannot be fragmented"
    );
}

#[test]
fn ping_waits_for_a_reply_until_the_next_request() {
    assert_eq!(
        only("10.1.0.77", NAMES),
        "host=10.1.0.77;received=0;status=timeout"
    );
    assert_eq!(
        only("10.1.0.77 interval=5s", NAMES),
        "host=10.1.0.1;received=0;size=84;status=host unreachable;ttl=64"
    );
    assert_eq!(
        only("172.16.0.1", NAMES),
        "received=0;status=no route to host"
    );
}

#[test]
fn ping_with_an_interface_without_route_treats_the_target_as_neighbour() {
    assert_eq!(
        only("10.1.0.2 interface=ether1", NAMES),
        "host=10.1.0.2;received=1;size=56;ttl=64"
    );
    assert_eq!(
        only("10.1.0.2 interface=ether2", NAMES),
        "host=10.1.0.2;received=0;status=timeout"
    );
}

#[test]
fn arp_ping_finds_hosts_that_answer_no_echo() {
    let seen = only("10.1.0.2 arp-ping=yes interface=ether1", NAMES);
    let (host, rest) = seen.split_once(';').unwrap_or_default();
    let octets = host.trim_start_matches("host=").split(':').count();
    assert_eq!((octets, rest), (6, "received=1"), "{seen}");

    assert_eq!(
        pinged("10.1.0.2 arp-ping=yes interface=ether1 count=20 interval=10ms"),
        "yes 20"
    );
    for nobody in [
        "10.1.0.77 arp-ping=yes interface=ether1",
        "10.1.0.2 arp-ping=yes interface=ether2",
    ] {
        let seen = only(nobody, NAMES);
        assert!(seen.ends_with(";received=0;status=timeout"), "{seen}");
    }
}

#[test]
fn ping_follows_routing_rules_for_its_source() {
    // RouterOS: also accepts a routing table that is no VRF.
    let rule = "/routing table add name=other fib\n\
                /ip route add dst-address=172.16.0.0/24 gateway=10.9.0.2 routing-table=other\n\
                /routing rule add src-address=10.1.0.1/32 action=lookup table=other\n";
    let stray = "172.16.0.1 ttl=1 count=1 as-value";
    let without = pinged_with(rule, stray);
    let with = pinged_with(rule, &format!("{stray} src-address=10.1.0.1"));

    assert!(without.contains("status=no route to host"), "{without}");
    assert!(
        with.contains("host=10.9.0.2;") && with.contains("status=TTL exceeded"),
        "{with}"
    );
}

#[test]
fn ping_to_a_multicast_group_uses_the_address_of_the_link() {
    let uplink = "/ipv6 route add gateway=2001:db8:9::2\n";
    for link in ["ether1", "ether2"] {
        let seen = pinged_with(
            uplink,
            &format!("ff02::1 interface={link} count=1 as-value"),
        );
        // Requests to a link-local address are answered from it.
        assert!(
            seen.contains("host=fe80::") && seen.contains("received=1;"),
            "{seen}"
        );
    }
}

#[test]
fn ping_to_a_local_address_sends_nothing() {
    let uplink = "/ip route add gateway=10.9.0.2\n/ipv6 route add gateway=2001:db8:9::2\n";
    for itself in ["127.0.0.1", "127.9.9.9", "::1", "10.1.0.1"] {
        let seen = pinged_with(uplink, &format!("{itself} count=1 as-value"));
        assert!(seen.contains(&format!("host={itself};")), "{seen}");
        assert!(seen.contains("received=1;"), "{seen}");
    }
    for nobody in ["0.0.0.0", "::"] {
        let seen = pinged_with(uplink, &format!("{nobody} count=1 as-value"));
        assert!(seen.contains("status=no route to host"), "{seen}");
    }
}

#[test]
fn invalid_ping_arguments_are_refused() {
    let mut chain = chain(7, Line::default(), 1);
    for (arguments, refusal) in [
        (
            "10.1.0.2 arp-ping=yes",
            "interface needs to be specified for arp ping",
        ),
        (
            "2001:db8::1 arp-ping=yes interface=ether1",
            "arp ping requires an IPv4 address",
        ),
        ("2001:db8::1 size=47", "packet size is too small"),
        (
            "10.1.0.2 vrf=other",
            "input does not match any value of vrf",
        ),
        ("10.1.0.2 vrf=blue", "vrf=blue is not supported here"),
    ] {
        let command = format!(
            ":do {{ /ip vrf add name=blue }} on-error={{}}; \
             :onerror e in={{ /ping {arguments} count=1 }} do={{ :put $e }}"
        );
        let said = chain.world.run_on(chain.west, &command);
        assert!(said.contains(refusal), "{arguments}: {said}");
    }
}

#[test]
fn traceroute_finds_the_routers_on_the_path() {
    let trace = |arguments: &str| {
        let all = ran("", &format!("/tool traceroute {arguments} as-value"));
        let wanted = ["address", "loss", "sent", "status"];
        let cells = all.trim_start_matches("yes ").split(';');
        let named =
            cells.filter(|cell| wanted.contains(&cell.split('=').next().unwrap_or_default()));
        named.collect::<Vec<_>>().join(";")
    };
    assert_eq!(
        trace("10.2.0.2 count=2"),
        "address=10.9.0.2;loss=0;sent=2;status=;address=10.2.0.2;loss=0;sent=2;status="
    );
    assert_eq!(
        trace("2001:db8:2::2 count=1 size=100"),
        "address=2001:db8:9::2;loss=0;sent=1;status=;address=2001:db8:2::2;loss=0;sent=1;status="
    );
    // Nobody has the address: the last router reports it after its solicitations.
    assert_eq!(
        trace("10.2.0.77 count=1 timeout=5s"),
        "address=10.9.0.2;loss=0;sent=1;status=;\
         address=10.9.0.2;loss=0;sent=1;status=host unreachable from 10.9.0.2"
    );
    assert_eq!(
        trace("172.16.0.1 count=1"),
        "loss=100;sent=1;status=no route to host"
    );
    assert_eq!(
        trace("10.2.0.2 count=1 max-hops=1"),
        "address=10.9.0.2;loss=0;sent=1;status="
    );
}
