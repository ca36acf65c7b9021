//! Fuzz targets of key exchanges: IKE and WireGuard process foreign messages, each with a two-byte length.
//! State stays bounded, and no message alone results in keys.

use core::net::{IpAddr, SocketAddr};

use ike::{
    Action, Auth, Cipher, Encryption, Engine, Event, Exchange, GeneratePolicy, Group, Hash,
    Identity, Kind, Level, Mode, Peer, PeerId, Policy, PolicyId, Profile, Proposal, ProposalCheck,
    Protocol, RemoteId, Secret, Selector,
};
use machine::{Duration, Instant, Machine as _, Rng};

/// Addresses of both ends.
const OWN: [u8; 4] = [192, 0, 2, 1];
const FAR: [u8; 4] = [192, 0, 2, 2];
/// Time between two messages.
const STEP: Duration = Duration::from_millis(700);
/// Maximum number of remaining IKE SAs.
const MAX_SAS: usize = 64;

fn end(address: [u8; 4], port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::from(address), port)
}

/// Deterministic random bytes.
fn entropy() -> ike::Entropy {
    let mut rng = Rng::seeded(7);
    Box::new(move |bytes| bytes.fill_with(|| rng.next_u64() as u8))
}

/// Splits the input into messages.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let (len, rest) = bytes.split_first_chunk()?;
        let len = usize::from(u16::from_be_bytes(*len)).min(rest.len());
        let (message, rest) = rest.split_at(len);
        bytes = rest;
        Some(message)
    })
}

fn profile() -> Profile {
    Profile {
        name: "default".into(),
        hash: vec![Hash::Sha1, Hash::Sha256],
        encryption: vec![Cipher::Aes128, Cipher::TripleDes],
        groups: vec![Group::X25519, Group::Modp1024],
        prf: None,
        lifetime: Duration::from_secs(86_400),
        life_bytes: 0,
        nat_traversal: true,
        dpd: Some((Duration::from_secs(8), 4)),
        proposal_check: ProposalCheck::Obey,
    }
}

fn peer(exchange: Exchange) -> Peer {
    Peer {
        name: "far".into(),
        address: IpAddr::from(FAR).into(),
        port: 500,
        local: Some(OWN.into()),
        exchange,
        passive: false,
        send_initial_contact: true,
        profile: profile(),
        identities: vec![Identity {
            auth: Auth::Psk(Secret::new(b"secret".as_slice())),
            my_id: None,
            remote_id: RemoteId::Auto,
            generate_policy: GeneratePolicy::PortStrict,
            template_group: "default".into(),
            mode_config: None,
        }],
    }
}

fn policy() -> Policy {
    let selector = |prefix: &str| Selector {
        prefix: prefix.parse().expect("a prefix"),
        port: 0,
    };
    Policy {
        peer: Some(PeerId(1)),
        template: None,
        place: 0,
        source: selector("10.1.0.0/24"),
        destination: selector("10.2.0.0/24"),
        protocol: 0,
        mode: Mode::Tunnel,
        ends: (OWN.into(), FAR.into()),
        level: Level::Require,
        ipsec: Protocol::Esp,
        proposal: Proposal {
            name: "default".into(),
            auth: vec![Hash::Sha1],
            encryption: vec![Encryption::new(Kind::AesCbc, 128)],
            lifetime: Duration::from_secs(1800),
            pfs: Some(Group::X25519),
        },
    }
}

/// Feeds messages to an IKE engine; the first byte selects the exchange that it initiates itself.
///
/// # Panics
/// Unauthenticated senders exceed the limits, or keys result without knowledge of secrets.
pub fn ike(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else {
        return;
    };
    let exchange = match choice % 3 {
        0 => Exchange::Main,
        1 => Exchange::Aggressive,
        _ => Exchange::Ike2,
    };
    let mut engine = Engine::new(entropy());
    let (mut now, mut out) = (Instant::from_secs(1), Vec::new());
    let peer = Event::Peer(PeerId(1), Some(Box::new(peer(exchange))));
    engine.handle(peer, now, &mut out);
    let policy = Event::Policy(PolicyId(1), Some(Box::new(policy())));
    engine.handle(policy, now, &mut out);
    if choice & 0x80 != 0 {
        engine.handle(Event::Acquire(PolicyId(1)), now, &mut out);
    }
    for (number, message) in (0_u8..).zip(messages(bytes).take(MAX_SAS)) {
        now += STEP;
        let natt = number & 1 != 0;
        let port = if natt { 4500 } else { 500 };
        let datagram = Event::Datagram {
            local: end(OWN, port),
            remote: end(FAR, port + u16::from(number >> 4)),
            natt,
            bytes: message,
        };
        engine.handle(datagram, now, &mut out);
        engine.tick(now, &mut out);
    }
    assert!(
        engine.peers().count() <= 2 * MAX_SAS,
        "strangers leave IKE SAs"
    );
    let made = out
        .iter()
        .any(|action| matches!(action, Action::Install(_)));
    assert!(!made, "keys without the secret");
    let sent: usize = { out.iter() }
        .map(|action| match action {
            Action::Send { bytes, .. } => bytes.len(),
            _ => 0,
        })
        .sum();
    assert!(
        sent <= 64 * (bytes.len() + 8192),
        "{sent} bytes for {}",
        bytes.len()
    );
}

/// Feeds handshake messages to a WireGuard device with one peer, also as responses to its own initiation.
///
/// # Panics
/// More replies than messages, or keys without knowledge of secrets.
pub fn wireguard(bytes: &[u8]) {
    let own = wireguard::Private::new([2; 32]);
    let far = wireguard::Private::new([1; 32]);
    let (mut now, mut out) = (Instant::from_secs(1), Vec::new());
    let mut device = wireguard::Device::new(entropy(), 0, now);
    let id = wireguard::PeerId(1);
    let peer = wireguard::Peer {
        public: far.public(),
        preshared: None,
        endpoint: Some(end(FAR, 51_820)),
        keepalive: None,
        responder: false,
    };
    for event in [
        wireguard::Event::Private(Some(own)),
        wireguard::Event::Peer(id, Some(peer)),
        wireguard::Event::Wanted(id),
    ] {
        device.handle(event, now, &mut out);
    }
    out.clear();
    for message in messages(bytes).take(MAX_SAS) {
        now += STEP;
        let from = end(FAR, 51_820);
        device.handle(
            wireguard::Event::Datagram {
                from,
                bytes: message,
            },
            now,
            &mut out,
        );
        let answers: usize = { out.drain(..) }
            .map(|action| match action {
                wireguard::Action::Send { bytes, .. } => bytes.len(),
                wireguard::Action::Install(pair) => usize::from(pair.is_initiator) * 1000,
                _ => 0,
            })
            .sum();
        assert!(
            answers <= message.len(),
            "{answers} bytes for {}",
            message.len()
        );
        device.tick(now, &mut out);
        out.clear();
    }
}
