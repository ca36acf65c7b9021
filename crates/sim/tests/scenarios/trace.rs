//! Packet traces, which send nothing.

use std::sync::Arc;

use dataplane::trace::WorkerTables;
use dataplane::trace_packet;
use dataplane::walk::Stage;
use frame::InterfaceId;
use sim::Line;

use crate::{Chain, chain, seconds};

#[test]
fn a_traced_packet_takes_the_real_path_without_counting() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(1, Line::default(), 1);
    world.at(client).ping("10.2.0.2", 1, 56);
    world.run(seconds(1));
    let mac = world.at(client).mac();
    let counters = |world: &mut sim::World| {
        let shown = world.run_on(west, "/interface print stats-detail");
        let settings = world.run_on(west, "/ip settings print");
        let drops: Vec<u64> = {
            let workers = world.control(west).workers();
            let all = workers.counters();
            all.flat_map(|c| {
                dataplane::DropReason::ALL
                    .iter()
                    .map(|reason| c.drops(*reason))
            })
            .collect()
        };
        (shown, settings, drops)
    };
    let before = counters(&mut world);
    assert!(before.0.contains(" rx-packet="), "{}", before.0);

    let control = world.control(west);
    let (snapshot, fib) = (control.snapshot(), control.fib().clone());
    let interfaces = Arc::clone(control.interfaces());
    // The loopback interface is the first.
    let (ether1, ether2) = (InterfaceId(2), InterfaceId(3));
    let frame = frame_to_server(interfaces.get(ether1).expect("a port").mac, mac);
    let tables = WorkerTables {
        snapshot: &snapshot,
        interfaces: &interfaces,
        fib: &fib,
    };
    let walked = trace_packet(tables, &frame, ether1);

    let stages: Vec<_> = walked.lines.iter().map(|line| line.stage).collect();
    let expected = [
        Stage::Ingress,
        Stage::Prerouting,
        Stage::Routing,
        Stage::Forward,
        Stage::Egress,
    ];
    assert_eq!(stages, expected, "{walked:#?}");
    assert_eq!(walked.end, dataplane::trace::End::Sent(ether2));
    assert_eq!(counters(&mut world), before);
}

#[test]
fn an_interface_without_effect_cannot_be_the_ingress_of_a_trace() {
    let mut chain = chain(1, Line::default(), 1);
    let said = chain.world.run_on(
        chain.west,
        "/interface mesh add name=br1\n\
         :onerror e in={ /tool trace in-interface=br1 src-address=10.1.0.2 dst-address=10.2.0.2 } \
         do={ :put $e }",
    );

    assert!(said.contains("br1 has no effect here"), "{said}");
}

#[test]
fn trace_refuses_fields_that_the_protocol_lacks() {
    let mut chain = chain(1, Line::default(), 1);
    for (said, refusal) in [
        (
            "protocol=udp tcp-flags=ack",
            "tcp-flags is for packets of tcp",
        ),
        ("icmp-type=8", "icmp-type is for packets of icmp"),
        (
            "protocol=gre dst-port=9",
            "dst-port is for packets of tcp, udp, udp-lite, sctp and dccp",
        ),
        ("protocol=icmpv6", "protocol=icmpv6 is for packets of IPv6"),
        ("icmp-id=7", "icmp-id is for packets of icmp"),
        (
            "protocol=icmp icmp-type=3 icmp-id=7",
            "icmp-id is for ICMP requests and replies",
        ),
        ("protocol=icmp icmp-type=8", ""),
        ("protocol=icmp icmp-id=7", ""),
    ] {
        let answer = chain.world.run_on(
            chain.west,
            &format!(
                ":onerror e in={{ /tool trace in-interface=ether1 src-address=10.1.0.2 \
                 dst-address=10.2.0.2 {said} }} do={{ :put \"no: $e\" }}"
            ),
        );
        assert_eq!(
            answer.contains("no: "),
            !refusal.is_empty(),
            "{said}: {answer}"
        );
        assert!(answer.contains(refusal), "{said}: {answer}");
    }
}

#[test]
fn trace_finds_an_echo_connection_by_its_identifier() {
    let mut chain = chain(1, Line::default(), 2);
    // Connections are tracked because a rule matches on them.
    for (menu, family) in [("/ip", ""), ("/ipv6", "v6")] {
        let rule = "firewall filter add chain=forward connection-state=established";
        chain.world.run_on(chain.west, &format!("{menu} {rule}"));
        let server = if family.is_empty() {
            "10.2.0.2"
        } else {
            "2001:db8:2::2"
        };
        for seq in 1..=2 {
            chain.world.at(chain.client).ping(server, seq, 56);
            chain.world.run(seconds(1));
        }
        let known =
            format!(":put [{menu} firewall connection get [find protocol=icmp{family}] icmp-id]");
        let id: u16 = chain
            .world
            .run_on(chain.west, &known)
            .trim()
            .parse()
            .expect("a number");
        let client = if family.is_empty() {
            "10.1.0.2"
        } else {
            "2001:db8:1::2"
        };
        let mut traced = |port: u16, from: &str, to: &str, said: &str| {
            let command = format!(
                "/tool trace in-interface=ether{port} src-address={from} dst-address={to} \
                 protocol=icmp{family} {said}"
            );
            chain.world.run_on(chain.west, &command)
        };
        let answer = if family.is_empty() { 0 } else { 129 };

        let echo = traced(1, client, server, &format!("icmp-id={id}"));
        let other = traced(1, client, server, &format!("icmp-id={}", id ^ 1));
        let reply = traced(
            2,
            server,
            client,
            &format!("icmp-type={answer} icmp-id={id}"),
        );

        assert!(echo.contains("of the connection"), "{echo}");
        assert!(echo.contains("connection-state is established"), "{echo}");
        assert!(other.contains("connection-state is new"), "{other}");
        assert!(reply.contains("a reply in the connection"), "{reply}");
    }
}

#[test]
fn an_address_listed_by_a_rule_matches_in_later_rules_of_the_trace() {
    let mut chain = chain(1, Line::default(), 1);
    let rules = "/ip firewall filter\n\
                 add chain=forward protocol=tcp dst-port=22 action=add-src-to-address-list address-list=a\n\
                 add chain=forward src-address-list=a action=drop";
    chain.world.run_on(chain.west, rules);
    let mut verdict = |port: u16| {
        let traced = format!(
            "/tool trace in-interface=ether1 src-address=10.1.0.2 dst-address=10.2.0.2 protocol=tcp \
             dst-port={port}"
        );
        chain.world.run_on(chain.west, &traced)
    };

    let listed = verdict(22);
    assert!(listed.contains("drop: firewall-filter"), "{listed}");
    let other = verdict(80);
    assert!(other.contains("verdict      sent"), "{other}");
    let listed = ":put [:len [/ip firewall address-list find]]";
    assert_eq!(chain.world.run_on(chain.west, listed).trim(), "0");
}

fn frame_to_server(router: wire::Mac, client: wire::Mac) -> Vec<u8> {
    use wire::{Protocol, ipv4};
    let src = "10.1.0.2".parse().expect("an address");
    let dst = "10.2.0.2".parse().expect("an address");
    let header = ipv4::Repr::new(Protocol::UDP, src, dst).to_bytes(20);
    [&router.0[..], &client.0, &[8, 0], &header, &[0; 20]].concat()
}
