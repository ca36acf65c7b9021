//! Authentication of users, and the settings of clients.

use std::sync::Arc;

use ppp::{Claim, Credentials, EncryptionPolicy, Event, Ipv4Grant, Password, Proof, Settings};

use super::Ppp;
use super::carrier::LinkEnd;
use super::dial::{Dial, PeerDns};
use super::grant::{Grant, Leases};
use super::profile::AddressSource;
use super::session::{Login, Origin, SessionInterface};
use crate::feature::Effects;
use crate::intent::Name;

/// Reason for a refused login.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The user is unknown, or the password is wrong.
    Authentication,
    /// The profile allows one session, and the user has one.
    OnlyOne,
    /// No address is left in this pool.
    NoAddress(Name),
    /// The profile or the RADIUS server requires encryption, and the login gives no keys for it.
    Encryption,
    /// No RADIUS server answered.
    RadiusTimeout,
    /// The RADIUS server's answer lacks its proof of the password.
    RadiusProof,
    /// The user has as many sessions as the RADIUS server allows.
    PortLimit,
}

impl Ppp {
    /// Merges the settings of carrier, client item and profile into the PPP settings of a client session.
    pub(super) fn client_settings(&mut self, dial: &Dial, of_carrier: &Settings) -> Arc<Settings> {
        let profile = self.profiles.merged(&dial.profile, &dial.profile);
        let fixed = |source: &Option<AddressSource>| match source {
            Some(AddressSource::Address(address)) => Some(*address),
            _ => None,
        };
        Arc::new(Settings {
            methods: dial.methods,
            local_name: (*dial.user).into(),
            credentials: Some(Arc::new(Credentials {
                user: dial.user.clone(),
                password: Password::new(&*dial.password),
            })),
            local_address: fixed(&profile.local),
            remote_address: fixed(&profile.remote),
            ipv4: true,
            ipv6: profile.carries_ipv6(),
            bridging: profile.bridge.is_some(),
            request_dns: dial.dns != PeerDns::No,
            encryption: profile.encryption_policy(),
            ..of_carrier.clone()
        })
    }

    /// Returns the state of a client session whose link is open.
    pub(super) fn client_login(&mut self, dial: &Dial) -> Login {
        let profile = self.profiles.merged(&dial.profile, &dial.profile);
        let grant = Grant::of_profile((*dial.user).into(), profile);
        let interface = SessionInterface {
            name: dial.name.clone(),
            origin: Origin::Client(dial.item),
            id: None,
        };
        Login::new(grant, Leases::default(), interface)
    }

    /// Verifies the claim of a user. Returns the answer, unless a RADIUS server has to be asked.
    pub(super) fn verify(
        &mut self,
        serial: u64,
        claim: Claim,
        out: &mut Effects,
    ) -> Option<Event<'static>> {
        let session = self.sessions.get(&serial)?;
        let LinkEnd::Server { profile, .. } = &session.setup.end else {
            return None;
        };
        let user = claim.user();
        let service = self.carriers[session.carrier].service();
        let secret = self.secrets.find(&user, service, &session.setup.caller_id);
        let Some(secret) = secret.cloned() else {
            if self.aaa.use_radius {
                self.query_access(serial, &claim, out);
                return None;
            }
            return Some(self.refuse(serial, &user, &Refusal::Authentication, out));
        };
        let Some(proof) = claim.check(&secret.password) else {
            return Some(self.refuse(serial, &user, &Refusal::Authentication, out));
        };
        let profile = self.profiles.merged(&secret.profile, profile);
        let grant = Grant::of_secret(&secret, profile);
        Some(self.admit(serial, grant, proof, out))
    }

    /// Lets an authenticated user in, unless its profile or its pool is against it.
    pub(super) fn admit(
        &mut self,
        serial: u64,
        grant: Grant,
        proof: Proof,
        out: &mut Effects,
    ) -> Event<'static> {
        let user = grant.user.clone();
        let profile = &grant.profile;
        let session = self.sessions.get(&serial);
        let is_encrypted = session.is_some_and(|session| session.setup.settings.is_encrypted);
        let is_one = grant.is_local() && profile.only_one == Some(true);
        let refusal = match () {
            () if is_one && self.sessions_of_user(&user).next().is_some() => Some(Refusal::OnlyOne),
            () if { grant.port_limit }
                .is_some_and(|limit| self.sessions_of_user(&user).count() >= limit) =>
            {
                Some(Refusal::PortLimit)
            }
            () if !is_encrypted && lacks_encryption(&grant, &proof) => Some(Refusal::Encryption),
            () => None,
        };
        if let Some(refusal) = refusal {
            return self.refuse(serial, &user, &refusal, out);
        }
        let leases = match Leases::allocate(&grant, &self.pools) {
            Ok(leases) => leases,
            Err(pool) => return self.refuse(serial, &user, &Refusal::NoAddress(pool), out),
        };
        let ipv4 = ipv4(&leases, &grant);
        if ipv4.is_none() && profile.bridge.is_none() {
            self.warn_without_ipv4(serial, &grant, out);
        }
        let answer = Box::new(ppp::Grant {
            ipv4,
            ipv6: profile.carries_ipv6(),
            bridging: profile.bridge.is_some(),
            encryption: grant.encryption,
            key_lengths: grant.key_lengths,
            proof,
        });
        self.log_in(serial, grant, leases);
        Event::Granted(answer)
    }

    /// Logs a refused login. Returns the answer for the session.
    pub(super) fn refuse(
        &mut self,
        serial: u64,
        user: &str,
        refusal: &Refusal,
        out: &mut Effects,
    ) -> Event<'static> {
        if let Some(session) = self.sessions.get(&serial) {
            let label = session.label();
            let text = match refusal {
                Refusal::Authentication => format!("user {user} authentication failed"),
                Refusal::RadiusTimeout => {
                    format!("user {user} authentication failed - radius timeout")
                }
                Refusal::RadiusProof => {
                    format!(
                        "user {user} authentication failed - radius answer without MS-CHAP2-Success"
                    )
                }
                Refusal::PortLimit => format!("user {user} has too many sessions"),
                Refusal::OnlyOne => format!("user {user} is already active"),
                Refusal::NoAddress(pool) => {
                    format!("user {user} - no address is left in pool {pool}")
                }
                Refusal::Encryption => format!(
                    "user {user} - encryption is required, and this login gives no keys: use MS-CHAP"
                ),
            };
            let topics = self.topics(session.carrier, "error");
            out.log(topics, format!("{label}: {text}"));
            if matches!(refusal, Refusal::Authentication) {
                self.guesses.note(&session.setup.caller_id);
            }
        }
        Event::Refused("authentication failed".into())
    }

    /// Logs what a session lacks for IPv4.
    fn warn_without_ipv4(&self, serial: u64, grant: &Grant, out: &mut Effects) {
        let Some(session) = self.sessions.get(&serial) else {
            return;
        };
        let missing = match (&grant.local, &grant.remote) {
            (None, None) => "local-address and remote-address",
            (None, Some(_)) => "local-address",
            _ => "remote-address",
        };
        let topics = self.topics(session.carrier, "warning");
        let (label, user) = (session.label(), &grant.user);
        out.log(
            topics,
            format!("{label}: user {user} gets no IPv4: secret and profile have no {missing}"),
        );
    }

    /// Returns the sessions of a user.
    pub(super) fn sessions_of_user(&self, user: &str) -> impl Iterator<Item = u64> {
        let own = self.users.range((user.into(), 0)..=(user.into(), u64::MAX));
        own.map(|(_, serial)| *serial)
    }

    /// Gives a session its user, its addresses and the name of its interface.
    fn log_in(&mut self, serial: u64, grant: Grant, leases: Leases) {
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let service = self.carriers[session.carrier].service();
        let (name, origin) = match self.bindings.assign(service, &grant.user, serial) {
            Some((item, name)) => (name, Origin::Binding(item)),
            None => {
                let (name, suffix) = self.names.give(service, &grant.user);
                (name, Origin::Dynamic(suffix))
            }
        };
        self.users.insert((grant.user.clone(), serial));
        self.addresses
            .extend(leases.remote.map(|address| (address, serial)));
        self.interfaces.insert(name.clone(), serial);
        let interface = SessionInterface {
            name,
            origin,
            id: None,
        };
        session.login = Some(Box::new(Login::new(grant, leases, interface)));
    }
}

/// Returns true if a session must be encrypted, but has no keys. Only MS-CHAP gives keys.
fn lacks_encryption(grant: &Grant, proof: &Proof) -> bool {
    let is_possible = proof.has_keys() && !grant.key_lengths.is_empty();
    grant.encryption == EncryptionPolicy::Required && !is_possible
}

/// Returns the addresses for IPCP; `None` if the session has no local address.
fn ipv4(leases: &Leases, grant: &Grant) -> Option<Ipv4Grant> {
    let two = |list: &[_]| [list.first().copied(), list.get(1).copied()];
    Some(Ipv4Grant {
        local: leases.local?,
        remote: leases.remote?,
        dns: two(&grant.dns),
        wins: two(&grant.profile.wins),
    })
}
