//! Leases that an authority grants.

use super::*;

const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);

fn authorized() -> Rig {
    Rig::new(Config {
        is_authorized: true,
        ..config()
    })
}

fn granted(message: Message, grant: Grant) -> Event {
    Event::Request(Box::new(Request {
        grant: Some(Arc::new(grant)),
        ..asked(message)
    }))
}

fn address(address: Ipv4Addr) -> Grant {
    Grant {
        address: Some(address),
        lease_time: Some(Duration::from_secs(120)),
        ..Grant::default()
    }
}

/// Binds client 1 to [`FAR`].
fn bound() -> Rig {
    let mut rig = authorized();
    rig.event(granted(message(1, MessageType::Discover), address(FAR)));
    rig.say(select(1, FAR)).expect("an acknowledgement");
    rig
}

#[test]
fn a_grant_sets_address_and_duration() {
    let mut rig = authorized();
    let discover = message(1, MessageType::Discover);
    assert!(rig.servers.needs_grant(&asked(discover.clone())));
    rig.event(granted(discover.clone(), address(FAR)));
    let (offer, _) = rig.answer().expect("an offer");
    assert_eq!(offer.yiaddr, FAR);
    assert_eq!(offer.options.u32(code::LEASE_TIME), Some(120));
    // A repeated discover, and the request for what was offered, need no further grant.
    assert!(!rig.servers.needs_grant(&asked(discover)));
    assert!(!rig.servers.needs_grant(&asked(select(1, FAR))));
    let (ack, _) = rig.say(select(1, FAR)).expect("an acknowledgement");
    assert_eq!(
        (ack.yiaddr, ack.options.u32(code::LEASE_TIME)),
        (FAR, Some(120))
    );
    assert!(rig.servers.needs_grant(&asked(renew(1, FAR))));
}

#[test]
fn a_pool_of_a_grant_precedes_that_of_the_server() {
    let mut rig = authorized();
    let range = [([10, 0, 0, 200].into(), [10, 0, 0, 200].into())];
    rig.pools.set("gold", &range, None);
    let gold = Grant {
        pool: Some("gold".into()),
        ..Grant::default()
    };
    rig.event(granted(message(1, MessageType::Discover), gold));
    let (offer, _) = rig.answer().expect("an offer");
    assert_eq!(offer.yiaddr, Ipv4Addr::new(10, 0, 0, 200));
    let (ack, _) = rig
        .say(select(1, offer.yiaddr))
        .expect("an acknowledgement");
    assert_eq!(ack.kind(), Some(MessageType::Ack));
}

#[test]
fn an_address_of_another_client_is_not_granted() {
    let mut rig = bound();
    rig.event(granted(message(2, MessageType::Discover), address(FAR)));
    assert_eq!((rig.answer(), rig.why()), (None, Some(Why::NoAddress)));
}

#[test]
fn a_silent_authority_extends_leases_and_begins_none() {
    let mut rig = bound();
    rig.pass(60_000);
    rig.event(Event::Unanswered(Box::new(asked(renew(1, FAR)))));
    let (ack, _) = rig.answer().expect("an acknowledgement");
    assert_eq!((ack.kind(), ack.yiaddr), (Some(MessageType::Ack), FAR));
    let discover = asked(message(2, MessageType::Discover));
    rig.event(Event::Unanswered(Box::new(discover)));
    assert_eq!((rig.answer(), rig.why()), (None, Some(Why::NoGrant)));
}

#[test]
fn a_denied_client_loses_its_lease() {
    let mut rig = bound();
    rig.event(Event::Denied(Box::new(asked(renew(1, FAR)))));
    let (nak, _) = rig.answer().expect("a refusal");
    assert_eq!(nak.kind(), Some(MessageType::Nak));
    assert!(rig.states().is_empty());
    let is_unbound = |of: &Action| matches!(of, Action::Unbound(_));
    assert!(rig.actions.iter().any(is_unbound));
}

#[test]
fn another_address_replaces_the_lease_of_a_client_that_starts_again() {
    let mut rig = bound();
    let other = Ipv4Addr::new(10, 0, 0, 88);
    assert!(
        rig.servers
            .needs_grant(&asked(message(1, MessageType::Discover)))
    );
    rig.event(granted(message(1, MessageType::Discover), address(other)));
    let (offer, _) = rig.answer().expect("an offer");
    assert_eq!(offer.yiaddr, other);
    assert_eq!(rig.states(), ["offered"]);
}
