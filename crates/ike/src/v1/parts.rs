//! Helpers of quick mode: selectors as identities, the leading HASH payload, lifetimes, the pair to replace.

use core::net::IpAddr;

use ipnet::IpNet;
use machine::Duration;

use super::{Bad, bodies, chain, kind};
use crate::config::{Id, Policy, PolicyId, Selector};
use crate::engine::core::Context;
use crate::engine::pair_table::PairTraffic;
use crate::event::ChildId;
use crate::message::{
    Identification, Notify, Payload, Version, attributes, id_body, octets, read_id,
};

pub(super) const RESPONDER_LIFETIME: u16 = 24_576;

/// Encodes a selector as a quick mode identity.
pub(super) fn selector_id(selector: &Selector, protocol: u8) -> Vec<u8> {
    let prefix = selector.prefix;
    let host = prefix.prefix_len() == prefix.max_prefix_len();
    if host {
        return id_body(&Id::Address(prefix.addr()), protocol, selector.port);
    }
    let kind = if prefix.addr().is_ipv4() { 4 } else { 6 };
    let mut out = vec![kind, protocol];
    out.extend_from_slice(&selector.port.to_be_bytes());
    out.extend_from_slice(&octets(prefix.network()));
    out.extend_from_slice(&octets(prefix.netmask()));
    out
}

/// Parses a quick mode identity into selector and protocol.
pub(super) fn read_selector(body: &[u8]) -> Result<(Selector, u8), Bad> {
    let (who, protocol, port) = read_id(body)?;
    let prefix = match who {
        Identification::Who(Id::Address(address)) => IpNet::from(address),
        Identification::Addresses(first, last) => {
            let nets: Vec<IpNet> = match (first, last) {
                (IpAddr::V4(first), IpAddr::V4(last)) => ipnet::Ipv4Subnets::new(first, last, 0)
                    .map(IpNet::V4)
                    .take(2)
                    .collect(),
                (IpAddr::V6(first), IpAddr::V6(last)) => ipnet::Ipv6Subnets::new(first, last, 0)
                    .map(IpNet::V6)
                    .take(2)
                    .collect(),
                _ => Vec::new(),
            };
            match nets.as_slice() {
                [net] => *net,
                _ => return Err(Bad::Ignored("ike1-range")),
            }
        }
        Identification::Who(_) => return Err(Bad::Ignored("ike1-identity")),
    };
    Ok((Selector { prefix, port }, protocol))
}

/// Payloads after the HASH, the hash, and the bytes it covers.
type Hashed<'a> = (Vec<Payload<'a>>, &'a [u8], &'a [u8]);

/// Splits a message with a leading HASH payload.
pub(super) fn hashed(first: u8, plain: &[u8]) -> Result<Hashed<'_>, Bad> {
    let found = chain(first, plain)?;
    let (front, rest) = found.split_first().ok_or(Bad::Ignored("ike1-empty"))?;
    if front.kind != kind::HASH {
        return Err(Bad::Ignored("ike1-no-hash"));
    }
    let start = front.whole.len();
    let len: usize = rest.iter().map(|payload| payload.whole.len()).sum();
    let bytes = plain.get(start..start + len).unwrap_or_default();
    let hash = front.body;
    Ok((rest.to_vec(), hash, bytes))
}

/// Returns the lifetime of a RESPONDER-LIFETIME notification.
pub(super) fn claimed_lifetime(found: &[Payload<'_>]) -> Option<Duration> {
    bodies(found, kind::NOTIFY).find_map(|body| {
        let notify = Notify::read(Version::One, body).ok()?;
        let said = attributes(notify.data)
            .ok()
            .filter(|_| notify.kind == RESPONDER_LIFETIME)?;
        let in_seconds = said.first()?.value.number() == Some(1);
        let value = said
            .get(1)?
            .value
            .number()
            .filter(|value| in_seconds && *value > 0)?;
        Some(Duration::from_secs(value))
    })
}

/// Returns the newest pair of a policy for this traffic, which a new pair replaces.
pub(super) fn newest(
    policy: PolicyId,
    traffic: PairTraffic<'_>,
    cx: &Context<'_>,
) -> Option<ChildId> {
    let pairs = cx.core.children.of_traffic(traffic);
    let pairs = pairs.filter(|kept| !kept.replaced && kept.child.policy == policy);
    pairs.map(|kept| kept.child.id).max()
}

/// Returns the policy for a new negotiation and whether it is generated; a generated one comes from the pair to
/// replace.
pub(super) fn asked_policy(
    id: PolicyId,
    replaces: Option<ChildId>,
    cx: &Context<'_>,
) -> Option<(Policy, bool)> {
    let mut policy = Policy::clone(cx.core.policies.get(&id)?);
    let kept = replaces.and_then(|old| cx.core.children.get(&old));
    let Some(child) = kept.map(|kept| &kept.child).filter(|child| child.generated) else {
        return Some((policy, false));
    };
    let Some(selectors) = child.selectors.first() else {
        return Some((policy, false));
    };
    (policy.source, policy.destination) = *selectors;
    (policy.mode, policy.protocol) = (child.mode, child.payload);
    Some((policy, true))
}
