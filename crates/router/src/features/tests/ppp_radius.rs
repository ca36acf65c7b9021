//! PPP users that a RADIUS server authenticates, accounts, changes and disconnects.

use std::sync::{Arc, Mutex};

use service::radius;
use wire::radius::{Builder, Packet, code, kind, vendor};

use super::ppp::World;
use super::rig::{MAC, frame};

const SECRET: &[u8] = b"xyzzy5461";

/// Requests that the server received.
type Requests = Arc<Mutex<Vec<Vec<u8>>>>;

const CONFIGURATION: &str = "\
    /ip/address/add address=192.0.2.1/24 interface=ether1\n\
    /ip/arp/add address=192.0.2.2 mac-address=02:00:00:00:00:09 interface=ether1\n\
    /radius/add service=ppp address=192.0.2.2 secret=xyzzy5461 require-message-auth=no\n\
    /radius/incoming/set accept=yes port=1700\n\
    /ppp/aaa/set use-radius=yes interim-update=10s\n\
    /ppp/profile/add name=home local-address=10.9.0.1\n";

/// Returns a UDP datagram of the server.
fn datagram(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let ports = wire::udp::Repr {
        src_port: from,
        dst_port: to,
    };
    let (server, router) = ([192, 0, 2, 2].into(), [192, 0, 2, 1].into());
    let udp = ports.to_bytes_v4(payload, server, router);
    let ip = wire::ipv4::Repr::new(wire::Protocol::UDP, server, router);
    let head = ip.to_bytes(udp.len() + payload.len());
    frame(MAC, 0x800, &[&head[..], &udp, payload].concat())
}

/// Returns the answer to a request: accounting is noted, rita accepted, all others rejected.
fn answer(sent: &[u8]) -> Option<Vec<u8>> {
    let ports = sent.get(34..38)?;
    let request = Packet::new_checked(sent.get(42..)?).ok()?;
    let built = |code| Builder::new(code, request.id(), request.authenticator());
    let user = request.get(kind::USER_NAME)?.value;
    let built = match request.code() {
        code::ACCOUNTING_REQUEST => built(code::ACCOUNTING_RESPONSE),
        _ if user == b"rita" => built(code::ACCESS_ACCEPT)
            .with(kind::FRAMED_IP_ADDRESS, &[10, 8, 0, 5])
            .with(kind::CLASS, b"gold")
            .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_GROUP, b"home")
            .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_RATE_LIMIT, b"1M/2M")
            .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_ADDRESS_LIST, b"paid"),
        _ => built(code::ACCESS_REJECT),
    };
    let mut bytes = built.finish()?;
    radius::sign_as_server(&mut bytes, SECRET);
    let to = u16::from_be_bytes([ports[0], ports[1]]);
    let from = u16::from_be_bytes([ports[2], ports[3]]);
    Some(datagram(from, to, &bytes))
}

fn world() -> (World, Requests) {
    let requests = Requests::default();
    let mut world = World::new(CONFIGURATION);
    let seen = Arc::clone(&requests);
    world.server = Some(Box::new(move |sent| {
        let is_udp = sent.get(12..14) == Some(&[8, 0]) && sent.get(23) == Some(&17);
        let answer = answer(sent).filter(|_| is_udp);
        if answer.is_some() {
            let mut seen = seen.lock().expect("no test panics with it");
            seen.push(sent[42..].to_vec());
        }
        answer.into_iter().collect()
    }));
    (world, requests)
}

/// Returns the values of an attribute in all requests with this code.
fn values(requests: &Requests, code: u8, kind: u8) -> Vec<Vec<u8>> {
    let requests = requests.lock().expect("no test panics with it");
    let packets = requests
        .iter()
        .filter_map(|bytes| Packet::new_checked(bytes).ok());
    let packets = packets.filter(|packet| packet.code() == code);
    packets
        .filter_map(|packet| Some(packet.get(kind)?.value.to_vec()))
        .collect()
}

/// Sends a request of the server to the router.
fn request(world: &mut World, code: u8, with: impl Fn(Builder) -> Builder) {
    let built = Builder::new(code, code, [0; 16]).with(kind::USER_NAME, b"rita");
    let mut bytes = with(built).finish().expect("it fits");
    radius::sign_as_server(&mut bytes, SECRET);
    world.exchange(vec![datagram(40_000, 1_700, &bytes)]);
}

#[test]
fn a_radius_server_lets_users_in_and_accounts_changes_and_ends_their_sessions() {
    let (mut world, requests) = world();
    world.dial_by_pap(1, "rita", "margarita");
    world.dial_by_pap(2, "carl", "three");

    let ipv4 = world.customers[&1].ipv4.expect("IPCP is open");
    assert_eq!(ipv4.local.to_string(), "10.8.0.5");
    assert!(world.customers[&2].ended.is_some());
    assert!(world.log().contains("user carl authentication failed"));
    assert_eq!(
        world.count("/ppp/active", "name=rita radius address=10.8.0.5"),
        1
    );
    let entry = "dynamic list=paid address=10.8.0.5";
    assert_eq!(world.count("/ip/firewall/address-list", entry), 1);
    let queue = |world: &mut World| world.rig.run("/queue/simple/print detail without-paging");
    assert!(queue(&mut world).contains("max-limit=1M/2M"));
    let calling = values(&requests, code::ACCESS_REQUEST, kind::CALLING_STATION);
    assert_eq!(calling[0], b"02:00:00:00:00:01");

    world.pass_time(10);
    let status = values(&requests, code::ACCOUNTING_REQUEST, kind::STATUS);
    assert_eq!(status, [[0, 0, 0, 1], [0, 0, 0, 3]], "start and interim");
    let classes = values(&requests, code::ACCOUNTING_REQUEST, kind::CLASS);
    assert_eq!(classes, [b"gold", b"gold"]);

    request(&mut world, code::COA_REQUEST, |built| {
        built
            .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_RATE_LIMIT, b"3M/4M")
            .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_ADDRESS_LIST, b"late")
    });
    assert!(queue(&mut world).contains("max-limit=3M/4M"));
    assert_eq!(world.count("/ip/firewall/address-list", entry), 0);
    let late = "dynamic list=late address=10.8.0.5";
    assert_eq!(world.count("/ip/firewall/address-list", late), 1);

    request(&mut world, code::DISCONNECT_REQUEST, |built| built);
    assert_eq!(world.count("/ppp/active", "name=rita"), 0);
    assert!(world.customers[&1].ended.is_some());
    let causes = values(&requests, code::ACCOUNTING_REQUEST, kind::TERMINATE_CAUSE);
    assert_eq!(causes, [[0, 0, 0, 10]], "NAS-Request");
    assert_eq!(world.count("/queue/simple", "dynamic"), 0);
    assert_eq!(world.count("/ip/firewall/address-list", "dynamic"), 0);
}

#[test]
fn a_silent_server_ends_the_session_with_that_reason() {
    let mut world = World::new(CONFIGURATION);
    world.dial_by_pap(1, "rita", "margarita");
    assert_eq!(world.count("/ppp/active", "name=rita"), 0);
    world.pass_time(20);
    assert!(world.customers[&1].ended.is_some());
    let message = "user rita authentication failed - radius timeout";
    assert!(world.log().contains(message), "{}", world.log());
}

#[test]
fn the_end_of_a_session_is_reported_when_a_server_answers_again() {
    let (mut world, requests) = world();
    world.dial_by_pap(1, "rita", "margarita");
    assert_eq!(world.count("/ppp/active", "name=rita"), 1);
    let answering = world.server.take();
    world.rig.run("/ppp/active/remove [find]");
    world.pass_time(60);
    let log = |world: &mut World| world.rig.run("/log/print without-paging");
    let message = "no server answers: reports of ended sessions wait";
    assert!(log(&mut world).contains(message), "{}", log(&mut world));
    world.server = answering;
    (0..200).for_each(|_| world.pass_time(1));
    let of_stops = |kind| {
        let requests = requests.lock().expect("no test panics with it");
        let packets = { requests.iter() }.filter_map(|bytes| Packet::new_checked(bytes).ok());
        let stops = packets.filter(|packet| packet.number(kind::STATUS) == Some(2));
        stops
            .filter_map(|packet| packet.number(kind))
            .collect::<Vec<_>>()
    };
    // The delay counts from the end of the session (RFC 2866, 5.2).
    let [delay] = of_stops(kind::DELAY)[..] else {
        panic!("{:?}", of_stops(kind::DELAY));
    };
    assert!(delay >= 60, "{delay}");
    let message = "all reports of ended sessions were answered";
    assert!(log(&mut world).contains(message), "{}", log(&mut world));
}
