//! Floods of discovery beside honest clients.

use super::*;

/// Milliseconds of a flood, in which a client starts every 40.
const MILLIS: u64 = 2000;

/// Runs a flood of frames for each millisecond, beside honest clients. Returns the number of clients.
fn flood(net: &mut Net, mut frames: impl FnMut(&mut Net, u64)) -> usize {
    let mut clients = 0;
    for milli in 0..MILLIS {
        if milli % 40 == 0 {
            net.add_client(clients, client::Config::default());
            clients += 1;
            net.settle();
        }
        frames(net, milli);
        net.pass(Duration::from_millis(1));
    }
    net.pass(Duration::from_secs(4));
    clients
}

fn receive(net: &mut Net, from: Mac, packet: Builder) {
    let bytes = packet.finish();
    let packet = Packet::new_checked(&bytes).expect("well formed");
    let port = PORT;
    net.notify_server(
        server_mac(0),
        server::Event::Received { port, from, packet },
    );
}

fn padi() -> Builder {
    Builder::new(code::PADI, 0).tag(tag::SERVICE_NAME, b"")
}

fn open(net: &Net) -> usize {
    let open = net.clients.values().filter_map(Client::session);
    open.count()
}

#[test]
fn clients_connect_beside_forged_senders_who_send_20_000_packets_a_second() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    let mut rng = Rng::seeded(5);
    let clients = flood(&mut net, |net, _| {
        for at in 0..20_u8 {
            let [a, b, c, d, ..] = rng.next_u64().to_be_bytes();
            let from = Mac([6, a, b, c, d, at]);
            match at % 2 {
                0 => receive(net, from, padi()),
                _ => receive(net, from, request(&[a; 32])),
            }
        }
    });
    assert_eq!((open(&net), net.opened.len()), (clients, clients));
    let forged = net.ignored.iter().filter(|fault| **fault == Fault::Cookie);
    assert_eq!(
        forged.count() as u64,
        MILLIS * 10,
        "each forged request is named"
    );
    assert_eq!(net.servers[&server_mac(0)].sessions().len(), clients);
}

#[test]
fn a_sender_of_10_000_packets_a_second_gets_no_more_answers_than_its_limit() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    let flooder = Mac([6, 0, 0, 0, 0, 1]);
    let mut answers = 0;
    let clients = flood(&mut net, |net, _| {
        for _ in 0..10 {
            answers += net.exchange(flooder, padi()).len();
        }
    });
    assert_eq!(open(&net), clients);
    // The limit starts again each second, and the flood begins within one.
    assert!((100..=150).contains(&answers), "{answers}");
    let refused = net.ignored.iter().filter(|fault| **fault == Fault::Rate);
    assert!(refused.count() as u64 >= MILLIS * 10 - 150);
}

#[test]
fn a_sender_who_opens_sessions_without_end_is_bounded_and_leaves_others_theirs() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    let flooder = Mac([6, 0, 0, 0, 0, 1]);
    let clients = flood(&mut net, |net, _| {
        let offers = net.exchange(flooder, padi());
        let Some(offer) = offers.first() else { return };
        let packet = Packet::new_checked(offer).expect("well formed");
        let fields = Discovery::parse(&packet).expect("well formed");
        let cookie = fields.cookie.expect("offers have a cookie").to_vec();
        net.exchange(flooder, request(&cookie));
    });
    assert_eq!(open(&net), clients);
    let sessions = net.servers[&server_mac(0)].sessions().len();
    // Half of the packets that its limit admits open a session.
    assert!(sessions <= clients + 75, "{sessions}");
}
