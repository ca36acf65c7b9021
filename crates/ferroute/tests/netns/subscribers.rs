//! The lab `subscribers`: customers with profiles and queues, a wrong password, and one who floods PADI.

use lab::{Holding, Lab};

use crate::daemons::Daemons;
use crate::world::{Router, Server, Start, binary, have, lab, layout, run, until, works};

/// A server on the internet.
const INTERNET: &str = "198.51.100.80";

fn start(lab: &Lab, host: &str, config: &str) -> Router {
    let ports = layout("subscribers").ports_of(host);
    let ports = ports.iter().map(|port| format!("{port}=packet:{port}"));
    Router::start(
        lab,
        &Start {
            host,
            ports: ports.collect(),
            ..Start::with("packet", config)
        },
    )
}

/// Sends 300 datagrams at 8 Mbit/s. Returns how many arrived.
fn arrived(lab: &Lab, host: &str) -> u32 {
    let program = binary().display().to_string();
    let line = format!("{program} lab send {INTERNET}:5300 300 8 100");
    let sent = run(lab, host, &line);
    let numbers: Vec<u32> = { sent.split_whitespace() }
        .map(|number| number.parse().expect("a count"))
        .collect();
    numbers[1]
}

fn drops(router: &Router, reason: &str) -> u64 {
    let rows = router.rows("/tool/drop/print");
    let row = rows.iter().find(|row| row["reason"] == reason);
    let packets = row.and_then(|row| row["packets"].as_str()?.parse().ok());
    packets.unwrap_or(0)
}

#[test]
fn nine_customers_of_the_lab_get_in_one_is_refused_and_a_flood_is_counted() {
    let test = "nine_customers_of_the_lab_get_in_one_is_refused_and_a_flood_is_counted";
    let subscribers = layout("subscribers");
    let programs = ["ping", "python3"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, subscribers))
        .flatten()
    else {
        return;
    };
    if lab.holding() != Holding::Named {
        return lab::testing::skip(test, "the flooder's raw socket needs root");
    }
    let _flood = Daemons::start(&lab, subscribers);
    let provider = start(&lab, "router", subscribers.config);
    until("the flood is counted", || {
        drops(&provider, "service-sender-limit") > 1000
    });
    let _customers = start(&lab, "customers", lab::sites(subscribers)[0].config);
    until("nine customers are connected", || {
        provider.rows("/ppp/active/print").len() == 9
    });
    until("the tenth is refused", || {
        let log = provider.exec("/log/print");
        log.contains("user jan authentication failed")
    });
    let log = provider.exec("/log/print");
    assert!(log.contains("<pppoe-anna>: connected"), "{log}");
    assert!(log.contains("anna logged in, 100.64.0."), "{log}");
    assert!(log.contains(" from 02:"), "{log}");

    let queues = provider.rows("/queue/simple/print where dynamic");
    assert_eq!(queues.len(), 9, "{queues:#?}");
    let limit = provider.value("/queue/simple/print", "<pppoe-carla>", "max-limit");
    assert_eq!(limit, "2000000/5000000");
    for host in ["anna", "bert", "carla"] {
        until("a packet gets through", || {
            works(&lab, host, &format!("ping -q -c 1 -W 1 {INTERNET}"))
        });
    }
    let program = binary().display().to_string();
    let listen = format!("{program} lab receive {INTERNET}:5300");
    let _receiver = Server::start(&lab, "server", &listen, "ready");
    let (gold, bronze) = (arrived(&lab, "anna"), arrived(&lab, "carla"));
    assert!(
        bronze > 0 && bronze < gold,
        "{bronze} of bronze, {gold} of gold"
    );
    let dropped = provider.value("/queue/simple/print stats", "<pppoe-carla>", "dropped");
    assert!(!dropped.starts_with("0/"), "{dropped}");

    // Nobody has lost its session.
    assert_eq!(provider.rows("/ppp/active/print").len(), 9);
}
