//! The engine on real sockets against strongSwan's charon, each in its own network namespace.
//!
//! A ping through the SAs proves that both agree; the test encrypts and decrypts its side of ESP itself.
//! Without charon, swanctl, or the right to create namespaces, the tests are skipped with a message.

#![expect(
    clippy::disallowed_methods,
    reason = "a real peer needs real time, and has no event that could be waited for"
)]

mod driver;
mod esp;
mod peer;

use ike::{
    Auth, Cipher, Encryption, Event, Exchange, GeneratePolicy, Group, Hash, Id, Identity, Kind,
    Level, Mode, Peer, PeerId, Policy, PolicyId, Profile, Proposal, ProposalCheck, Protocol,
    RemoteId, Secret, Selector, State,
};
use machine::Duration;

use crate::driver::Driver;
use crate::peer::{Charon, OURS, THEIRS};

const PEER: PeerId = PeerId(1);
const POLICY: PolicyId = PolicyId(1);

fn identity() -> Identity {
    Identity {
        auth: Auth::Psk(Secret::new(b"secret".as_slice())),
        my_id: None,
        remote_id: RemoteId::Is(Id::Address(THEIRS.parse().expect("an address"))),
        generate_policy: GeneratePolicy::No,
        template_group: "default".into(),
        mode_config: None,
    }
}

fn peer(exchange: Exchange, group: Group) -> Peer {
    let profile = Profile {
        name: "default".into(),
        hash: vec![Hash::Sha1],
        encryption: vec![Cipher::Aes128, Cipher::TripleDes],
        groups: vec![group, Group::Modp1024],
        prf: None,
        lifetime: Duration::from_secs(86_400),
        life_bytes: 0,
        nat_traversal: true,
        dpd: Some((Duration::from_secs(2), 4)),
        proposal_check: ProposalCheck::Obey,
    };
    Peer {
        name: "charon".into(),
        address: THEIRS
            .parse::<std::net::IpAddr>()
            .expect("an address")
            .into(),
        port: 500,
        local: OURS.parse().ok(),
        exchange,
        passive: false,
        send_initial_contact: true,
        profile,
        identities: vec![identity()],
    }
}

fn policy() -> Policy {
    let selector = |prefix: &str| Selector {
        prefix: prefix.parse().expect("a prefix"),
        port: 0,
    };
    let cbc = |bits| Encryption::new(Kind::AesCbc, bits);
    Policy {
        peer: Some(PEER),
        template: None,
        place: 0,
        source: selector("10.1.0.0/16"),
        destination: selector("10.2.0.0/16"),
        protocol: 0,
        mode: Mode::Tunnel,
        ends: (
            OURS.parse().expect("an address"),
            THEIRS.parse().expect("an address"),
        ),
        level: Level::Require,
        ipsec: Protocol::Esp,
        proposal: Proposal {
            name: "default".into(),
            auth: vec![Hash::Sha1],
            encryption: vec![cbc(256), cbc(192), cbc(128)],
            lifetime: Duration::from_secs(1800),
            pfs: Some(Group::Modp1024),
        },
    }
}

/// Builds a charon connection from the settings that the tests share.
fn connection(version: u8, auth: &str, extra: &str) -> String {
    format!(
        "connections {{ c {{\n version = {version}\n local_addrs = {THEIRS}\n remote_addrs = {OURS}\n encap = yes\n \
         proposals = aes128-sha1-modp2048,aes128-sha1-ecp256\n {extra}\n {auth}\n \
         children {{ c {{\n local_ts = 10.2.0.0/16\n remote_ts = 10.1.0.0/16\n \
         esp_proposals = aes256-sha1-modp1024\n }} }} }} }}\n\
         secrets {{ ike-1 {{ secret = secret }} }}\n"
    )
}

fn psk(version: u8, extra: &str) -> String {
    let auth = format!(
        "local {{ auth = psk\n id = {THEIRS}\n }}\n remote {{ auth = psk\n id = {OURS}\n }}"
    );
    connection(version, &auth, extra)
}

/// Initiates, rekeys from both sides and deletes from both sides; a ping after each step.
fn whole_life(test: &str, version: u8, exchange: Exchange, extra: &str) {
    let Some(charon) = Charon::start(test, &psk(version, extra)) else {
        return;
    };
    let mut driver = Driver::new(&charon);
    driver.event(Event::Policy(POLICY, Some(Box::new(policy()))));
    driver.event(Event::Peer(
        PEER,
        Some(Box::new(peer(exchange, Group::Modp2048))),
    ));
    driver.until("a pair", |driver| driver.active().is_some());
    driver.ping();
    println!("{}", charon.swanctl("--list-sas"));

    let first = driver.active().expect("a pair").id;
    charon.swanctl("--rekey --child c");
    driver.until("charon's new pair", |driver| {
        driver.active().is_some_and(|child| child.id > first)
    });
    driver.ping();
    let second = driver.active().expect("a pair").id;
    driver.event(Event::Spent(second));
    driver.until("our new pair", |driver| {
        driver.active().is_some_and(|child| child.id > second)
    });
    driver.ping();
    driver.until("the old one is gone", |driver| {
        !driver.children.contains_key(&second)
    });

    let sa = driver.engine.peers().next().expect("a peer").id;
    charon.swanctl(if version == 1 {
        "--rekey --ike c --reauth"
    } else {
        "--rekey --ike c"
    });
    driver.until("another IKE SA, and only that", |driver| {
        driver.established() == 1
            && driver
                .engine
                .peers()
                .all(|row| row.id != sa || row.state == State::Expired)
            && driver.active().is_some()
    });
    driver.ping();

    let heard = driver.asked;
    driver.until("peers ask each other whether they live", |driver| {
        driver.asked > heard + 2
    });
    assert_eq!(driver.established(), 1);

    let child = driver.active().expect("a pair").id;
    driver.event(Event::Remove(child));
    driver.until("it is made again", |driver| driver.active().is_some());
    driver.ping();
    charon.begin("--terminate --child c");
    driver.until("it is removed", |driver| driver.active().is_none());
    driver.until("it is made again", |driver| driver.active().is_some());
    driver.ping();
    let sas = charon.swanctl("--list-sas");
    println!("{sas}");
    assert_eq!(sas.matches("INSTALLED").count(), 1, "{sas}");

    charon_begins(&charon, &mut driver, exchange);
}

fn charon_begins(charon: &Charon, driver: &mut Driver<'_>, exchange: Exchange) {
    let mut passive = peer(exchange, Group::Modp2048);
    passive.passive = true;
    driver.event(Event::Peer(PEER, Some(Box::new(passive))));
    assert!(driver.active().is_none());
    charon.begin("--initiate --child c");
    driver.until("a pair", |driver| driver.active().is_some());
    driver.ping();
    assert_eq!(
        driver.engine.peers().next().expect("a peer").side,
        ike::Side::Responder
    );
}

#[test]
fn ikev1_works_with_charon_through_its_whole_life() {
    let test = "ikev1_works_with_charon_through_its_whole_life";
    whole_life(test, 1, Exchange::Main, "dpd_delay = 2s");
}

#[test]
fn ikev1_aggressive_mode_works_with_charon_through_its_whole_life() {
    let test = "ikev1_aggressive_mode_works_with_charon_through_its_whole_life";
    whole_life(
        test,
        1,
        Exchange::Aggressive,
        "dpd_delay = 2s\n aggressive = yes",
    );
}

#[test]
fn ikev2_works_with_charon_through_its_whole_life() {
    let test = "ikev2_works_with_charon_through_its_whole_life";
    whole_life(test, 2, Exchange::Ike2, "dpd_delay = 2s");
}

#[test]
fn ikev2_retries_with_the_group_of_charon() {
    let test = "ikev2_retries_with_the_group_of_charon";
    let Some(charon) = Charon::start(test, &psk(2, "")) else {
        return;
    };
    let mut driver = Driver::new(&charon);
    let mut peer = peer(Exchange::Ike2, Group::Modp3072);
    peer.profile.groups.push(Group::Modp2048);
    driver.event(Event::Policy(POLICY, Some(Box::new(policy()))));
    driver.event(Event::Peer(PEER, Some(Box::new(peer))));
    driver.until("a pair", |driver| driver.active().is_some());
    driver.ping();
}
