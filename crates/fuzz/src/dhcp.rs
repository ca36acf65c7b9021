//! Fuzz target of DHCP servers: messages of any kind, time, and configuration changes.
//!
//! An event's data are `| client | flags | options |`; the last byte tells how much time passes.

use core::net::Ipv4Addr;

use machine::{Duration, Instant};
use service::dhcp::Message;
use service::dhcp::server::{
    Action, Assigned, Config, DYNAMIC, Event, Network, Record, Request, Servers, State, Static,
};
use service::pool::Pools;
use wire::Mac;

use super::script::{events, span};

const OWN: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 1), 24);
const SERVER: u64 = 1;
const STATIC: u64 = 2;

/// Runs a server with a pool of eight addresses and a static lease.
pub fn server(script: &[u8]) {
    let pools = Pools::default();
    let range = (Ipv4Addr::new(10, 0, 0, 10), Ipv4Addr::new(10, 0, 0, 17));
    pools.set("pool", &[range], None);
    let mut servers = Servers::new(pools.clone());
    let mut now = Instant::from_secs(1);
    let mut out = Vec::new();
    let config = |probes| Config {
        pool: Some("pool".into()),
        lease_time: Duration::from_secs(40),
        conflict_detection: probes,
        mac_limit: Some(3),
        ..Config::default()
    };
    servers.handle(Event::Server(SERVER, Some(config(true))), now, &mut out);
    for (what, data) in events(script) {
        let first = data.first().copied().unwrap_or(0);
        let address = Ipv4Addr::new(10, 0, 0, 10 + (first & 15));
        let event = match what % 8 {
            0 => Event::Server(SERVER, Some(config(first & 1 != 0))),
            1 => Event::Static(STATIC, (first & 0x80 != 0).then(|| fixed(address, data))),
            2 => Event::Networks(vec![Network {
                prefix: (OWN.0.to_bits(), first % 33),
                gateways: vec![OWN.0; usize::from(first >> 5)],
                ..Network::default()
            }]),
            3 => Event::AddressInUse(address),
            4 => Event::Remove(DYNAMIC | u64::from(first)),
            _ => match asked(what, data) {
                Some(asked) => Event::Request(Box::new(asked)),
                None => continue,
            },
        };
        out.clear();
        servers.handle(event, now, &mut out);
        check(&servers, &pools, &out, now);
        now += span(data);
        out.clear();
        servers.tick(now, &mut out);
        check(&servers, &pools, &out, now);
        assert!(
            servers.deadline().is_none_or(|due| due > now),
            "a tick leaves nothing undone"
        );
    }
}

fn fixed(address: Ipv4Addr, data: &[u8]) -> Static {
    let client = data.get(1).copied().unwrap_or(0);
    Static {
        address: match client & 0x40 {
            0 => Assigned::Address(address),
            _ => Assigned::Pool("pool".into()),
        },
        mac: Some(Mac([2, 0, 0, 0, 0, client & 7])),
        use_src_mac: client & 8 != 0,
        client_id: (client & 16 != 0).then(|| vec![client & 7].into()),
        agent: Default::default(),
        server: (client & 32 != 0).then_some(SERVER),
        is_blocked: client & 0x80 != 0,
        lease_time: None,
        always_broadcast: None,
        options: Vec::new(),
    }
}

/// Builds a message and parses it; `None` if it is malformed.
fn asked(what: u8, data: &[u8]) -> Option<Request> {
    let [client, flags, options @ ..] = data else {
        return None;
    };
    let mut bytes = vec![0; 236];
    bytes[..4].copy_from_slice(&[1 + (flags >> 7), 1, 6, 0]);
    bytes[9] = flags & 15;
    bytes[28..34].copy_from_slice(&[2, 0, 0, 0, 0, client & 7]);
    if flags & 0x10 != 0 {
        bytes[12..16].copy_from_slice(&[10, 0, 0, 10 + (client >> 4)]);
    }
    if flags & 0x20 != 0 {
        bytes[24..28].copy_from_slice(&[10, 0, 0, 2]);
    }
    if what % 8 != 5 {
        bytes.extend([99, 130, 83, 99]);
    }
    bytes.extend(options);
    let message = Message::decode(&bytes).ok()?;
    Some(Request {
        server: SERVER,
        src_mac: Mac([2, 0, 0, 0, 0, client >> 3]),
        message,
        own: vec![OWN],
        grant: None,
    })
}

/// Checks invariants: each address has one lease, the pool knows it, and replies can be parsed.
fn check(servers: &Servers, pools: &Pools, out: &[Action], now: Instant) {
    let mut of_pool = 0;
    for (id, lease) in servers.leases() {
        assert_eq!(*id, lease.id);
        if let Some(address) = lease.address {
            assert_eq!(servers.lease_at(address).map(|at| at.id), Some(*id));
        }
        of_pool += u64::from(lease.pool.is_some() && lease.address.is_some());
        assert!(lease.fixed.is_some() == (id & DYNAMIC == 0));
        assert!(lease.state != State::Waiting || !lease.is_dynamic());
        if let Some(record) = Record::of(lease, now, 0) {
            assert_eq!(Record::read(&record.to_bytes()), Some(record));
        }
    }
    let reserved = servers.leases().values().filter(|lease| {
        matches!(
            lease.fixed.as_deref().map(|fixed| &fixed.address),
            Some(Assigned::Address(_))
        )
    });
    let used = pools.counts("pool").map_or(0, |counts| counts.used);
    assert!(
        used >= of_pool && used <= of_pool + reserved.count() as u64,
        "{used} {of_pool}"
    );
    for action in out {
        if let Action::Send(reply) = action {
            let message = Message::decode(&reply.message).expect("what is sent is well-formed");
            assert!(message.is_reply);
        }
    }
}
