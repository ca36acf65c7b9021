//! Tests one rule for each action and matcher with an effect that hosts can observe: `rules.rsc`, in one test.

use lab::Lab;

use super::{CLIENT, PEER, SERVER, ask, ask_one, hits, seen, serve};
use crate::world::{PACKET, Router, Server, Start, binary, have, lab, layout, until};

const CONFIG: &str = include_str!("rules.rsc");
const OPEN: &[&str] = &[
    "80", "6008", "6010", "6011", "6030", "6040", "6050", "6060", "6061", "7001", "7002", "7003",
];
/// Timeout in seconds for packets that must not arrive.
const BRIEF: &str = "0.3";

#[test]
fn every_action_has_its_effect_on_real_packets() {
    let test = "every_action_has_its_effect_on_real_packets";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let _server = serve(&lab, "server", OPEN);
    let _client = serve(&lab, "client", &["80"]);
    until("packets pass", || {
        seen(&ask_one(&lab, "client", "tcp 203.0.113.1 80 1")) == "203.0.113.2"
    });

    senders_get_the_errors_of_reject_rules(&lab);
    drops_and_tarpit_send_no_answer(&lab, &router);
    translations_reach_their_targets(&lab, &router);
    lists_and_limits_remember(&lab);
    marks_and_changes_reach_the_packet(&lab, &router);
}

fn senders_get_the_errors_of_reject_rules(lab: &Lab) {
    let from = ["192.168.88.1", "2001:2:0:88::1"];
    let expected: [(usize, &[(u16, u8)]); 2] = [
        (
            3,
            &[
                (6001, 0),
                (6002, 1),
                (6003, 3),
                (6004, 2),
                (6005, 9),
                (6006, 10),
                (6007, 13),
            ],
        ),
        (
            1,
            &[
                (6001, 0),
                (6002, 1),
                (6003, 2),
                (6004, 3),
                (6005, 4),
                (6006, 7),
            ],
        ),
    ];
    for (family, (kind, codes)) in expected.into_iter().enumerate() {
        for (port, code) in codes {
            // ICMP errors are rate limited, so a probe may have to be repeated.
            let probe = format!("udp {} {port} 1", SERVER[family]);
            let answer = format!("icmp {kind} {code} {}", from[family]);
            until(&format!("{probe} leads to {answer}"), || {
                let said = ask_one(lab, "client", &probe);
                assert!(said == answer || said == "nothing", "{probe}: {said}");
                said == answer
            });
        }
        let through = format!("tcp {} 6008", SERVER[family]);
        let to = format!("tcp {} 6009", from[family]);
        assert_eq!(ask(lab, "client", &[through, to]), ["reset", "reset"]);
    }
    // The ICMP error about a packet after NAT comes from the destination address that its sender used.
    until("a rejected translated packet is answered", || {
        ask_one(lab, "server", "udp 203.0.113.2 6070 1") == "icmp 3 3 203.0.113.2"
    });
}

fn drops_and_tarpit_send_no_answer(lab: &Lab, router: &Router) {
    let silent = [
        "udp 203.0.113.1 6011",
        "udp 203.0.113.1 6061",
        "tcp 203.0.113.1 6010",
    ];
    let probes = silent.map(|probe| format!("{probe} {BRIEF}"));

    assert_eq!(ask(lab, "client", &probes), ["nothing"; 3]);

    assert_eq!(hits(router, "/ip/firewall/filter", "dropped"), 1);
    assert_eq!(hits(router, "/ip/firewall/raw", "raw"), 1);
    // The client of a tarpit sends its acknowledgement and window probes: the rule holds them as well.
    assert!(hits(router, "/ip/firewall/filter", "tarpit") >= 2);
}

fn translations_reach_their_targets(lab: &Lab, router: &Router) {
    let mut inside = std::process::Command::new(binary());
    inside
        .args(["host", "exec", "--control"])
        .arg(router.control());
    inside.args(["--", "python3", "-c", PEER, "serve", "6021"]);
    let _inside = Server::begin(inside, "ready");

    let client = ["tcp 203.0.113.2 8080", "tcp 203.0.113.1 6020"].map(str::to_owned);
    let saw = ask(lab, "client", &client);
    // Hairpin NAT: the LAN server sees the router's address, otherwise it would answer the client directly.
    assert_eq!(seen(&saw[0]), "192.168.88.1");
    // Redirect: the router's own server sees the client's address.
    assert_eq!(seen(&saw[1]), CLIENT[0]);
    // From the internet, the LAN server is reached at the router's address and sees the client's address.
    let said = ask_one(lab, "server", "tcp 203.0.113.2 8080");
    assert_eq!(seen(&said), SERVER[0]);

    let rows = router.rows("/ip/firewall/connection/print where dstnat and protocol=tcp");
    assert!(rows.len() >= 3, "{rows:#?}");
    assert!(rows.iter().all(|row| row["dstnat"] == "true"), "{rows:#?}");
}

fn lists_and_limits_remember(lab: &Lab) {
    let knocks = [
        ("tcp", 7003, "reset"),
        // Port knocking in the wrong order does not open the port.
        ("udp", 7002, "203.0.113.2"),
        ("tcp", 7003, "reset"),
        ("udp", 7001, "203.0.113.2"),
        ("tcp", 7003, "reset"),
        ("udp", 7002, "203.0.113.2"),
        ("tcp", 7003, "203.0.113.2"),
        // At most two connections at a time.
        ("tcp", 6030, "203.0.113.2"),
        ("tcp", 6030, "203.0.113.2"),
        ("tcp", 6030, "reset"),
    ];
    let probes = knocks.map(|(how, port, _)| format!("{how} 203.0.113.1 {port}"));

    let said = ask(lab, "client", &probes);

    let said: Vec<_> = said.iter().map(|said| seen(said)).collect();
    assert_eq!(said, knocks.map(|(_, _, expected)| expected));
}

fn marks_and_changes_reach_the_packet(lab: &Lab, router: &Router) {
    let probes = [
        "tcp 198.51.100.80 6040",
        "udp 198.51.100.80 80",
        "tcp 203.0.113.1 6050",
        "udp 203.0.113.1 6060",
    ];

    let mut said = Vec::new();
    until("all four are answered", || {
        said = ask(lab, "client", &probes.map(|probe| format!("{probe} 1")));
        said.iter().all(|said| said != "nothing")
    });

    // Only the marked connection finds a route: the main table has none.
    assert_eq!(seen(&said[0]), "203.0.113.2");
    assert_eq!(said[1], "icmp 3 0 192.168.88.1");
    // TCP timestamps take 12 of the 1,000 bytes.
    let size = said[2]
        .rsplit(' ')
        .next()
        .and_then(|size| size.parse().ok());
    assert!((900..=1000).contains(&size.unwrap_or(0)), "{}", said[2]);
    // An untracked packet is not translated, and has no connection row.
    assert_eq!(seen(&said[3]), CLIENT[0]);
    let rows = router.rows("/ip/firewall/connection/print where dst-port=6060");
    assert!(rows.is_empty(), "{rows:#?}");
}
