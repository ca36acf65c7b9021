//! Messages of clients (RFC 8415, 18.3).

use core::net::Ipv6Addr;

use machine::{Duration, Instant};

use super::super::message::{Association, Kind, Leased, Message, Options, Status, code};
use super::super::pool::{User, first, join};
use super::binding::INFINITE;
use super::{
    Action, Binding, Config, DECLINED, DYNAMIC, Fault, Identity, MAX_BINDINGS, MAX_DECLINED, Reply,
    Request, ServerId, Servers, hex,
};

/// Length of a DUID in bytes (RFC 8415, 11.1).
const DUID: core::ops::RangeInclusive<usize> = 3..=130;
/// Maximum number of identity associations that are handled in a message.
const MAX_ASSOCIATIONS: usize = 8;
/// Maximum number of subnets that are withheld before an allocation gives up.
const MAX_WITHHELD: usize = 64;

/// Client of a message.
#[derive(Clone, Copy)]
struct Client<'a> {
    server: ServerId,
    config: &'a Config,
    duid: &'a [u8],
    request: &'a Request,
    now: Instant,
}

/// Subnet for an identity association, before it is stored.
struct Choice {
    /// The existing binding.
    id: Option<u64>,
    identity: Identity,
    subnet: (Ipv6Addr, u8),
    pool: Option<Box<str>>,
}

impl Servers {
    /// Handles a message.
    ///
    /// # Errors
    /// Returns why the message gets no answer; the bindings are unchanged.
    pub fn receive(
        &mut self,
        request: &Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let server = request.server;
        let config = self.servers.get(&server).cloned();
        let config = config.ok_or(Fault::OtherServer)?;
        let kind = request.message.kind;
        let duid = identify(request)?;
        let client = Client {
            server,
            config: &config,
            duid,
            request,
            now,
        };
        let mut answer = Message::new(Kind::Reply, request.message.xid);
        let options = &mut answer.options;
        if !duid.is_empty() {
            options.add(code::CLIENT_ID, duid);
        }
        options.add(code::SERVER_ID, request.duid.clone());
        let commits = config.rapid_commit && request.message.options.contains(code::RAPID_COMMIT);
        match kind {
            Kind::Solicit if commits => {
                options.add(code::RAPID_COMMIT, []);
                self.assign_all(&client, options, out)?;
            }
            Kind::Solicit => {
                answer.kind = Kind::Advertise;
                if config.preference > 0 {
                    options.add(code::PREFERENCE, [config.preference]);
                }
                self.offer_all(&client, options);
            }
            Kind::Request | Kind::Renew | Kind::Rebind => {
                self.assign_all(&client, options, out)?;
            }
            Kind::Release | Kind::Decline => self.return_all(&client, options, out),
            Kind::Confirm => self.confirm(&client, options)?,
            _ => {}
        }
        self.add_options(&client, options);
        out.push(Action::Send(Box::new(Reply {
            server,
            to: request.from,
            mac: request.mac,
            message: answer.encode(),
        })));
        Ok(())
    }

    /// Adds the configured options, and the DNS servers if the client requests them.
    fn add_options(&self, client: &Client<'_>, options: &mut Options) {
        let mut own: Vec<(u16, &[u8])> = Vec::new();
        let fixed = self.statics_of(client).flat_map(|fixed| &fixed.options);
        for (code, value) in fixed.chain(&client.config.options) {
            if !own.iter().any(|(other, _)| other == code) {
                own.push((*code, value));
            }
        }
        let requested = client.request.message.options.get(code::REQUEST);
        let (requested, _) = requested.unwrap_or_default().as_chunks::<2>();
        let wants_dns = requested.contains(&code::DNS.to_be_bytes());
        let dns = &client.request.dns;
        if wants_dns && !dns.is_empty() && !own.iter().any(|(code, _)| *code == code::DNS) {
            let octets: Vec<u8> = dns.iter().flat_map(Ipv6Addr::octets).collect();
            options.add(code::DNS, octets);
        }
        for (code, value) in own {
            options.add(code, value);
        }
    }

    /// Returns the configuration of the client's static bindings.
    fn statics_of(&self, client: &Client<'_>) -> impl Iterator<Item = &super::Static> {
        let associations = associations(client).into_iter();
        let ids = associations.filter_map(|association| self.find(client, &association));
        ids.filter_map(|id| self.statics.get(&id))
    }

    /// Returns the binding of an identity association. Bindings of this server precede static bindings of all servers.
    fn find(&self, client: &Client<'_>, association: &Association) -> Option<u64> {
        let mut identity = identity(client, association);
        if let Some(id) = self.by_identity.get(&identity) {
            return Some(*id);
        }
        identity.server = None;
        self.by_identity.get(&identity).copied()
    }

    fn offer_all(&mut self, client: &Client<'_>, options: &mut Options) {
        for association in associations(client) {
            let id = self.find(client, &association);
            let choice = self.choose(client, &association, id, false);
            let answer = match choice {
                Some(choice) => self.granted(client, &association, &choice),
                None => refused(&association),
            };
            options.add_association(&answer);
        }
    }

    /// Assigns or extends what a client requests.
    fn assign_all(
        &mut self,
        client: &Client<'_>,
        options: &mut Options,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let associations = associations(client);
        let kind = client.request.message.kind;
        let mut has_any = associations.is_empty();
        for association in associations {
            let answer = self.assign(client, &association, out);
            has_any |= answer.leased.iter().any(|leased| leased.valid > 0);
            options.add_association(&answer);
        }
        // A server that has nothing for the client leaves a rebinding client to other servers.
        match kind == Kind::Rebind && !has_any {
            true => Err(Fault::Exhausted),
            false => Ok(()),
        }
    }

    fn assign(
        &mut self,
        client: &Client<'_>,
        association: &Association,
        out: &mut Vec<Action>,
    ) -> Association {
        let id = self.find(client, association);
        let is_new = id.is_none();
        if is_new {
            self.end_elsewhere(client, association, out);
        }
        let full = is_new && !self.has_room(client);
        let choice = match full {
            true => None,
            false => self.choose(client, association, id, true),
        };
        let Some(choice) = choice else {
            let mut answer = refused(association);
            if matches!(client.request.message.kind, Kind::Renew) {
                answer.status = Status::NoBinding;
            }
            return answer;
        };
        let mut answer = self.granted(client, association, &choice);
        // The client stops to use what it does not have here (RFC 8415, 18.3.4).
        let others = association.leased.iter().filter(|leased| {
            !leased.address.is_unspecified() && (leased.address, leased.len) != choice.subnet
        });
        if matches!(client.request.message.kind, Kind::Renew | Kind::Rebind) {
            answer.leased.extend(others.map(|leased| Leased {
                preferred: 0,
                valid: 0,
                ..*leased
            }));
        }
        let valid = answer.leased.first().map_or(0, |leased| leased.valid);
        self.bind(client, choice, valid, out);
        answer
    }

    /// Ends the binding that the client has at another session of its user.
    fn end_elsewhere(
        &mut self,
        client: &Client<'_>,
        association: &Association,
        out: &mut Vec<Action>,
    ) {
        if client.config.user.is_none() {
            return;
        }
        let first = Identity {
            server: None,
            ..identity(client, association)
        };
        let mut of_client = self.by_identity.range(first.clone()..);
        let other = of_client.find_map(|(other, id)| {
            let is_client = Identity {
                server: None,
                ..other.clone()
            } == first;
            if !is_client {
                return Some(None);
            }
            let config = self.servers.get(&other.server?)?;
            (config.user == client.config.user).then_some(Some(*id))
        });
        if let Some(Some(id)) = other {
            self.end(id, out);
        }
    }

    /// True if the client's server may have another binding.
    fn has_room(&self, client: &Client<'_>) -> bool {
        let max = client.config.max_bindings.unwrap_or(MAX_BINDINGS);
        let own = || self.of_server(client.server).take(max).count();
        self.dynamic < MAX_BINDINGS && (max >= MAX_BINDINGS || own() < max)
    }

    /// Stores a binding with its subnet, for this many seconds.
    fn bind(&mut self, client: &Client<'_>, choice: Choice, valid_s: u32, out: &mut Vec<Action>) {
        let before = choice.id.and_then(|id| self.bindings.get(&id));
        let before = before.filter(|of| of.is_bound());
        let has_moved = before.is_some_and(|of| {
            (of.subnet, of.active_server) != (Some(choice.subnet), Some(client.server))
        });
        let is_same = !has_moved && before.is_some_and(|of| of.client == client.request.from);
        let moved = before.filter(|_| has_moved).cloned();
        let id = choice.id.unwrap_or_else(|| {
            self.last += 1;
            self.dynamic += 1;
            self.last | DYNAMIC
        });
        let lifetime = Duration::from_secs(valid_s.into());
        self.insert_bound(Binding {
            subnet: Some(choice.subnet),
            pool: choice.pool,
            active_server: Some(client.server),
            until: (valid_s != INFINITE).then(|| client.now + lifetime),
            seen: Some(client.now),
            client: client.request.from,
            ..Binding::new(id, choice.identity)
        });
        if let Some(moved) = moved {
            out.push(Action::Unbound(Box::new(moved)));
        }
        out.push(match is_same {
            true => Action::Extended(id),
            false => Action::Bound(id),
        });
    }

    /// Chooses the subnet of an identity association, and allocates it if `allocates` is set.
    fn choose(
        &mut self,
        client: &Client<'_>,
        association: &Association,
        id: Option<u64>,
        allocates: bool,
    ) -> Option<Choice> {
        let identity = match id.and_then(|id| self.bindings.get(&id)) {
            Some(binding) => binding.identity.clone(),
            None => identity(client, association),
        };
        let (user, info) = (identity.user(), hex(client.duid));
        let bound = id
            .and_then(|id| self.bindings.get(&id))
            .filter(|of| of.is_bound());
        let bound = bound.and_then(|of| Some((of.subnet?, of.pool.clone())));
        let fixed = id
            .and_then(|id| self.statics.get(&id))
            .and_then(|fixed| fixed.subnet);
        let pool = self.pool_for(&identity, client.server, id.unwrap_or(DYNAMIC));
        let chosen = |subnet, pool| Choice {
            id,
            identity,
            subnet,
            pool,
        };
        if let Some(subnet) = fixed {
            // A client that had the subnet before it was given to this one keeps it until its binding ends.
            let is_free = pool.as_deref().is_none_or(|pool| {
                self.forget_withheld_subnet(pool, subnet.0);
                match allocates {
                    true => self.pools.reserve(pool, &user, &info, subnet),
                    false => self.pools.preview(pool, &user, Some(subnet.0)) == Some(subnet),
                }
            });
            return is_free.then(|| chosen(subnet, pool));
        }
        if let Some((subnet, own)) = bound {
            // Without its pool the subnet stays, as the pool may come back; another prefix of the pool replaces it.
            let is_kept = own.as_deref().is_none_or(|pool| {
                !self.pools.has(pool) || self.pools.reserve(pool, &user, &info, subnet)
            });
            if is_kept {
                return Some(chosen(subnet, own));
            }
        }
        if let Some(subnet) = self.unused_prefix(client, association) {
            return Some(chosen(subnet, None));
        }
        let pool = pool?;
        let subnet = self.allocate(client, association, &pool, &user, allocates)?;
        Some(chosen(subnet, Some(pool)))
    }

    /// Returns a prefix of the server's own list that no binding has.
    fn unused_prefix(
        &self,
        client: &Client<'_>,
        association: &Association,
    ) -> Option<(Ipv6Addr, u8)> {
        let mut prefixes = client
            .config
            .prefixes
            .iter()
            .filter(|_| association.is_prefixes);
        let is_used = |prefix| {
            self.of_server(client.server)
                .any(|of| of.subnet == Some(prefix))
        };
        prefixes.find(|prefix| !is_used(**prefix)).copied()
    }

    /// Takes a subnet of a pool, preferably the one that the client asks for. Skips subnets of static bindings and
    /// addresses of this router, which stay withheld from the pool.
    fn allocate(
        &mut self,
        client: &Client<'_>,
        association: &Association,
        pool: &str,
        user: &User,
        allocates: bool,
    ) -> Option<(Ipv6Addr, u8)> {
        let mut wishes = association.leased.iter().map(|leased| leased.address);
        let mut wish = wishes.find(|address| !address.is_unspecified());
        for _ in 0..MAX_WITHHELD {
            let (address, len) = self.pools.preview(pool, user, wish)?;
            // An address needs all bits.
            if !association.is_prefixes && len != 128 {
                return None;
            }
            wish = None;
            if self.is_withheld(client, (address, len)) {
                let holder = holder(address);
                self.pools
                    .reserve(pool, &holder, "reserved", (address, len));
                self.withheld.insert((pool.into(), holder));
                continue;
            }
            if allocates {
                let info = hex(client.duid);
                return self.pools.allocate(pool, user, &info, Some(address));
            }
            return Some((address, len));
        }
        None
    }

    /// Releases a subnet of a pool, if it is withheld.
    fn forget_withheld_subnet(&mut self, pool: &str, address: Ipv6Addr) {
        let withheld = (pool.into(), holder(address));
        if self.withheld.remove(&withheld) {
            self.pools.release(pool, &withheld.1);
        }
    }

    /// True if a subnet contains an address of this router, belongs to a static binding, or is the anycast address of
    /// routers (RFC 4291, 2.6.1).
    fn is_withheld(&self, client: &Client<'_>, subnet: (Ipv6Addr, u8)) -> bool {
        let (address, len) = subnet;
        let is_unbound = |id: u64| !self.bindings.get(&id).is_some_and(Binding::is_bound);
        let is_local = |(local, net): &(Ipv6Addr, u8)| {
            let anycast = first(*local, *net);
            first(*local, len) == address || len == 128 && *net < 127 && anycast == address
        };
        self.statics_overlapping(subnet).any(is_unbound)
            || client.request.local.iter().any(is_local)
    }

    /// Returns the static bindings whose subnets are within this one or contain it.
    fn statics_overlapping(&self, subnet: (Ipv6Addr, u8)) -> impl Iterator<Item = u64> {
        let (address, len) = (first(subnet.0, subnet.1), subnet.1);
        let last = join(address, len, Ipv6Addr::from_bits(u128::MAX));
        let within = (address, 0, 0)..=(last, u8::MAX, u64::MAX);
        let around = (0..len).flat_map(move |shorter| {
            let network = first(address, shorter);
            let range = (network, shorter, 0)..=(network, shorter, u64::MAX);
            self.static_subnets.range(range)
        });
        let all = self.static_subnets.range(within).chain(around);
        all.map(|(_, _, id)| *id)
    }

    /// Returns the association of an answer that grants a subnet.
    fn granted(
        &self,
        client: &Client<'_>,
        association: &Association,
        choice: &Choice,
    ) -> Association {
        let fixed = choice.id.and_then(|id| self.statics.get(&id));
        let lifetime = fixed.map_or(client.config.lifetime, |fixed| fixed.lifetime);
        let until = choice
            .pool
            .as_deref()
            .and_then(|pool| self.pools.until(pool));
        let (preferred, valid) = until.unwrap_or_default();
        let within = |until: Option<Instant>| {
            let left = until.map(|until| until.saturating_since(client.now));
            let span = left.map_or(lifetime, |left| left.min(lifetime));
            u32::try_from(span.as_secs()).unwrap_or(INFINITE)
        };
        let (preferred, valid) = (within(preferred), within(valid));
        let preferred = preferred.min(valid);
        // RFC 8415, 14.2: T1 and T2 are 0.5 and 0.8 of the preferred lifetime.
        let part = |tenths: u64| match preferred {
            INFINITE => INFINITE,
            seconds => (u64::from(seconds) * tenths / 10) as u32,
        };
        Association {
            is_prefixes: association.is_prefixes,
            id: association.id,
            t1: part(5),
            t2: part(8),
            leased: vec![Leased {
                address: choice.subnet.0,
                len: choice.subnet.1,
                preferred,
                valid,
            }],
            status: Status::Success,
        }
    }

    /// Ends the bindings that a client releases, or whose addresses other hosts use.
    fn return_all(&mut self, client: &Client<'_>, options: &mut Options, out: &mut Vec<Action>) {
        let declines = client.request.message.kind == Kind::Decline;
        for association in associations(client) {
            let id = self.find(client, &association);
            let binding = id.and_then(|id| self.bindings.get(&id));
            let Some(binding) = binding.filter(|of| of.active_server == Some(client.server)) else {
                options.add_association(&Association {
                    leased: Vec::new(),
                    status: Status::NoBinding,
                    ..association
                });
                continue;
            };
            let (id, subnet, pool) = (binding.id, binding.subnet, binding.pool.clone());
            let ends = association.leased.iter();
            let mut ends = ends.map(|leased| Some((leased.address, leased.len)));
            if declines && association.is_prefixes || !ends.any(|leased| leased == subnet) {
                continue;
            }
            self.end(id, out);
            if let (true, Some(pool), Some(subnet)) = (declines, pool, subnet) {
                self.hold_back(pool, subnet, client.now);
            }
        }
        options.add_status(Status::Success, "");
    }

    /// Withholds a declined address for a while.
    fn hold_back(&mut self, pool: Box<str>, subnet: (Ipv6Addr, u8), now: Instant) {
        let user = User {
            owner: "declined",
            key: subnet.0.to_string(),
        };
        if self.declined.len() < MAX_DECLINED
            && self.pools.reserve(&pool, &user, "declined", subnet)
        {
            self.declined.push_back((now + DECLINED, pool, user));
        }
    }

    /// Tells whether the addresses of a client fit its link (RFC 8415, 18.3.3).
    fn confirm(&self, client: &Client<'_>, options: &mut Options) -> Result<(), Fault> {
        let addresses = associations(client)
            .into_iter()
            .filter(|of| !of.is_prefixes);
        let addresses: Vec<_> = { addresses.flat_map(|of| of.leased) }
            .map(|leased| leased.address)
            .collect();
        if addresses.is_empty() {
            return Err(Fault::Unknown);
        }
        let fits = |address: &Ipv6Addr| {
            let pool = client.config.address_pool.as_deref();
            let mut local = client.request.local.iter();
            pool.is_some_and(|pool| self.pools.contains(pool, *address))
                || local.any(|(own, len)| first(*own, *len) == first(*address, *len))
        };
        match addresses.iter().all(fits) {
            true => options.add_status(Status::Success, ""),
            false => options.add_status(Status::NotOnLink, "the address does not fit this link"),
        }
        Ok(())
    }
}

/// Checks the identifiers of a message (RFC 8415, 16); returns the DUID of the client, empty without one.
fn identify(request: &Request) -> Result<&[u8], Fault> {
    let options = &request.message.options;
    let duid = options.get(code::CLIENT_ID);
    let server = options.get(code::SERVER_ID);
    if duid.is_some_and(|duid| !DUID.contains(&duid.len())) {
        return Err(Fault::Malformed);
    }
    match (request.message.kind, duid, server) {
        (Kind::Solicit | Kind::Confirm | Kind::Rebind, Some(duid), None) => Ok(duid),
        (Kind::Request | Kind::Renew | Kind::Release | Kind::Decline, Some(duid), Some(server))
            if server == request.duid =>
        {
            Ok(duid)
        }
        (
            Kind::Request | Kind::Renew | Kind::Release | Kind::Decline | Kind::Information,
            _,
            Some(server),
        ) if server != request.duid => Err(Fault::OtherServer),
        (Kind::Information, duid, _) => Ok(duid.unwrap_or_default()),
        (Kind::Advertise | Kind::Reply | Kind::Other(_), ..) => Err(Fault::Type),
        _ => Err(Fault::Malformed),
    }
}

/// Returns the identity associations that the server handles.
fn associations(client: &Client<'_>) -> Vec<Association> {
    let options = &client.request.message.options;
    let addresses = options.associations(code::IA_NA);
    let addresses = addresses.filter(|_| !client.config.ignores_addresses);
    let prefixes = options.associations(code::IA_PD);
    addresses.chain(prefixes).take(MAX_ASSOCIATIONS).collect()
}

fn identity(client: &Client<'_>, association: &Association) -> Identity {
    Identity {
        server: Some(client.server),
        duid: client.duid.into(),
        iaid: association.id,
        is_prefix: association.is_prefixes,
    }
}

/// Returns the answer to an identity association for which no subnet is left.
fn refused(association: &Association) -> Association {
    Association {
        is_prefixes: association.is_prefixes,
        id: association.id,
        t1: 0,
        t2: 0,
        leased: Vec::new(),
        status: match association.is_prefixes {
            true => Status::NoPrefix,
            false => Status::NoAddress,
        },
    }
}

/// Returns the user of a pool that stands for a withheld subnet.
fn holder(address: Ipv6Addr) -> User {
    User {
        owner: "reserved",
        key: address.to_string(),
    }
}
