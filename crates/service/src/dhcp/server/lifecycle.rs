//! Start and end of leases, and changes of static leases.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::sync::Arc;

use machine::Instant;

use super::{
    Action, Assigned, Client, Lease, MessageType, Request, ServerId, Servers, State, Static,
};
use super::{OFFER, OWNER, PROBE};
use crate::pool::Use;

impl Servers {
    /// Binds a lease or extends it.
    pub(super) fn bind(&mut self, id: u64, asked: &Request, now: Instant, out: &mut Vec<Action>) {
        let Some(config) = self.servers.get(&asked.server) else {
            return;
        };
        let (identifiers, name) = (config.identifiers, config.name.clone());
        let Some(lease) = self.leases.get(id) else {
            return;
        };
        let time = self.time(lease, asked);
        let client = Client::of(&asked.message, asked.src_mac);
        let is_new = lease.state != State::Bound;
        self.leases
            .set_client(id, Some((&client, asked.server, identifiers)));
        let bound = self.leases.change(id, |lease| {
            lease.state = State::Bound;
            lease.seen = Some(now);
            lease.until = time.map(|time| now + time);
            lease.offers = 0;
            if is_new {
                lease.since = now;
            }
            lease.clone()
        });
        let Some(lease) = bound else { return };
        out.push(Action::Keep(id));
        if is_new {
            out.push(Action::Bound(id));
            out.push(Action::Log(false, assigned(&name, "assigned", &lease)));
        }
        out.extend(self.reply(&lease, asked, MessageType::Ack));
    }

    /// Duration of a lease; `None` is infinite.
    pub(super) fn time(&self, lease: &Lease, asked: &Request) -> Option<Duration> {
        let config = self.servers.get(&asked.server)?;
        if asked.message.kind().is_none() {
            return config.bootp_lease_time;
        }
        let fixed = lease.fixed.as_ref().and_then(|fixed| fixed.lease_time);
        let granted = lease.terms(asked).and_then(|grant| grant.lease_time);
        let time = fixed.or(granted).unwrap_or(config.lease_time);
        // RFC 2131, 3.3: 0xffffffff seconds is infinite.
        (time.as_secs() < u64::from(u32::MAX)).then_some(time)
    }

    /// Ends a lease: removes a dynamic one, sets a static one to waiting.
    pub(super) fn end(&mut self, id: u64, now: Instant, out: &mut Vec<Action>) {
        let Some(lease) = self.leases.get(id).cloned() else {
            return;
        };
        match (&lease.pool, lease.address) {
            (Some(pool), Some(address)) => {
                self.pools.give_back(pool, address);
                self.reserve_fixed(address);
            }
            // An address that an authority chose.
            (None, Some(address)) if lease.is_dynamic() => self.pools.release(address),
            _ => {}
        }
        let is_kept = matches!(lease.state, State::Bound);
        match lease.is_dynamic() {
            true => _ = self.leases.remove(id),
            false => _ = self.leases.change(id, |lease| lease.wait(now)),
        }
        if is_kept {
            let server = lease.server.map(|server| self.name(server));
            let name = server.unwrap_or_default();
            out.push(Action::Log(false, assigned(&name, "deassigned", &lease)));
            out.push(Action::Keep(id));
            out.push(Action::Unbound(Box::new(lease)));
        }
    }

    /// Blocks an address that another host uses, for the duration of a lease.
    pub(super) fn set_aside(&mut self, id: u64, state: State, now: Instant, out: &mut Vec<Action>) {
        let Some(lease) = self.leases.get(id).cloned() else {
            return;
        };
        let config = lease.server.and_then(|server| self.servers.get(&server));
        let time = config.map_or(OFFER, |config| config.lease_time);
        if lease.state == State::Bound {
            out.push(Action::Keep(id));
            out.push(Action::Unbound(Box::new(lease.clone())));
        }
        self.leases.change(id, |lease| {
            lease.state = state;
            lease.until = Some(now + time);
            lease.asked = None;
        });
        // The client may get another address.
        if lease.is_dynamic() {
            self.leases.set_client(id, None);
        }
    }

    /// Probes the client of a bound lease by ARP. Clients behind a relay agent cannot be probed.
    pub(super) fn check(&mut self, id: u64, now: Instant, out: &mut Vec<Action>) {
        let lease = self
            .leases
            .get(id)
            .filter(|lease| lease.state == State::Bound);
        let at = lease.and_then(|lease| Some((lease.server?, lease.address?)));
        let Some((server, address)) = at else { return };
        let config = self.servers.get(&server);
        if config.is_some_and(|config| config.relay.is_unspecified()) {
            out.push(Action::Probe(server, address));
            self.checked.insert(id, now + PROBE);
        }
    }

    /// A host answered from this address. If the server probes the address for an offer, it blocks the address and
    /// offers another one.
    pub(super) fn seen(&mut self, address: Ipv4Addr, now: Instant, out: &mut Vec<Action>) {
        let Some(lease) = self.leases.at(address) else {
            return;
        };
        if self.checked.remove(&lease.id).is_some() || lease.state != State::Testing {
            return;
        }
        let (id, asked) = (lease.id, lease.asked.clone());
        let message = format!("{address} is in use by somebody who has no lease");
        out.push(Action::Log(true, message));
        self.set_aside(id, State::Conflict, now, out);
        if let Some(asked) = asked
            && let Err(why) = self.discover(*asked, now, out)
        {
            out.push(Action::Ignored(why));
        }
    }

    pub(super) fn set_static(
        &mut self,
        id: u64,
        fixed: Option<Static>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let fixed = fixed.map(Arc::new);
        let before = self.leases.get(id).and_then(|lease| lease.fixed.clone());
        if let Some(Assigned::Address(address)) = before.as_deref().map(|fixed| &fixed.address)
            && { self.leases.at(*address) }.is_none_or(|lease| lease.pool.is_none())
        {
            self.pools.release(*address);
        }
        self.leases.set_fixed(id, fixed.clone());
        let Some(fixed) = fixed else {
            self.end(id, now, out);
            self.leases.remove(id);
            return;
        };
        let whose = |fixed: &Static| {
            let (mac, id) = (fixed.mac, fixed.client_id.clone());
            let agent = fixed.agent.clone();
            (fixed.address.clone(), mac, id, agent, fixed.server)
        };
        let had_another = before.is_some_and(|before| whose(&before) != whose(&fixed));
        if had_another || fixed.is_blocked {
            self.end(id, now, out);
        }
        if self.leases.get(id).is_none() {
            self.leases.insert(Lease::new(id, now));
        }
        self.leases
            .change(id, |lease| lease.fixed = Some(Arc::clone(&fixed)));
        if let Assigned::Address(address) = fixed.address {
            self.take_over(id, &fixed, address, out);
            let info = fixed.mac.map(|mac| mac.to_string()).unwrap_or_default();
            let info = info.into_boxed_str();
            self.pools.reserve(address, &Use { owner: OWNER, info });
        }
    }

    /// Converts a dynamic lease of the same client into the static lease `id`, which inherits its state.
    pub(super) fn take_over(
        &mut self,
        id: u64,
        fixed: &Static,
        address: Ipv4Addr,
        out: &mut Vec<Action>,
    ) {
        let Some(other) = self.leases.at(address).filter(|lease| lease.is_dynamic()) else {
            return;
        };
        let is_client = fixed.client_id.is_some() && fixed.client_id == other.client.id
            || fixed.client_id.is_none() && fixed.mac == Some(other.client.mac);
        if !is_client || fixed.is_blocked {
            return;
        }
        let Some(other) = self.leases.remove(other.id) else {
            return;
        };
        if let Some(pool) = &other.pool {
            self.pools.give_back(pool, address);
        }
        self.leases.change(id, |lease| {
            lease.address = other.address;
            lease.client = other.client;
            lease.server = other.server;
            (lease.state, lease.until) = (other.state, other.until);
            (lease.since, lease.seen) = (other.since, other.seen);
        });
        out.extend([Action::Keep(other.id), Action::Keep(id)]);
    }

    /// Reserves an address that was returned to its pool for the static lease that names it.
    fn reserve_fixed(&self, address: Ipv4Addr) {
        let fixed = self.leases.fixed_at(address);
        let fixed = fixed.and_then(|id| self.leases.get(id)?.fixed.as_deref());
        if let Some(fixed) = fixed {
            let info = fixed.mac.map(|mac| mac.to_string()).unwrap_or_default();
            let info = info.into_boxed_str();
            self.pools.reserve(address, &Use { owner: OWNER, info });
        }
    }

    /// Reserves all static addresses in the pools, for example after the pools changed.
    pub fn reserve(&self) {
        for lease in self.leases.all().values() {
            if let Some(Assigned::Address(address)) = lease.fixed.as_deref().map(|of| &of.address) {
                let mac = lease.client.mac.to_string().into_boxed_str();
                let info = Use {
                    owner: OWNER,
                    info: mac,
                };
                self.pools.reserve(*address, &info);
            }
        }
    }

    pub(super) fn forget_server(&mut self, server: ServerId, now: Instant, out: &mut Vec<Action>) {
        let of_it = { self.leases.all().values() }.filter(|lease| lease.server == Some(server));
        let of_it: Vec<_> = of_it.map(|lease| lease.id).collect();
        for id in of_it {
            self.end(id, now, out);
        }
        self.servers.remove(&server);
    }
}

impl Lease {
    /// Resets a static lease to waiting.
    fn wait(&mut self, now: Instant) {
        self.state = State::Waiting;
        (self.address, self.pool, self.until) = (None, None, None);
        (self.server, self.offers, self.asked) = (None, 0, None);
        self.since = now;
    }
}

/// Log message for a lease that starts or ends.
fn assigned(server: &str, what: &str, lease: &Lease) -> String {
    let address = lease.address.unwrap_or(Ipv4Addr::UNSPECIFIED);
    // RouterOS: `defconf assigned 192.168.88.254 for 00:00:5E:00:53:01 host`.
    let word = if what == "assigned" { "for" } else { "from" };
    let (mac, name) = (lease.client.mac, &lease.client.host_name);
    let line = format!("{server} {what} {address} {word} {mac} {name}");
    line.trim_end().to_owned()
}
