//! SNMP agent: access control and request handling.

use core::net::IpAddr;
use std::collections::BTreeMap;

use machine::Instant;

use super::ber::{Reader, Writer, tag};
use super::message::{Bindings, Head, Pdu, ResponsePdu, kind, status, write_plain};
use super::usm::{Cipher, DIGEST, Hash, Occasion};
use super::{Fault, Oid, Value, View, mib};

/// Maximum length of a request and of a response in bytes; a response fits an Ethernet frame.
const ASKED_MAX: usize = 2_048;
const ANSWER_MAX: usize = 1_452;
/// Maximum length of a version 3 response without bindings.
const AROUND: usize = 260;
/// Maximum length of a version 1 or 2c response without bindings and community name.
const AROUND_PLAIN: usize = 44;
/// Time window in seconds (RFC 3414, 2.2.3).
const WINDOW: i64 = 150;
/// Maximum length of a writable text (RFC 3418).
const TEXT_MAX: usize = 255;

/// Message flags of version 3 (RFC 3412, 6.4).
mod flag {
    pub(super) const AUTH: u8 = 1;
    pub(super) const PRIVACY: u8 = 2;
    pub(super) const REPORTABLE: u8 = 4;
}

/// Required security of a community.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Security {
    /// Community or user name only.
    #[default]
    None,
    /// Version 3 with authentication.
    Authorized,
    /// Version 3 with authentication and privacy.
    Private,
}

/// Community of versions 1 and 2c, which is also a user of version 3 (RouterOS).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Community {
    /// Allowed source networks: address and prefix length.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Required security.
    pub security: Security,
    /// Read access.
    pub read: bool,
    /// Write access.
    pub write: bool,
    /// Authentication protocol, and its localized key.
    pub auth: (Hash, Vec<u8>),
    /// Privacy protocol, and its localized key.
    pub privacy: (Cipher, Vec<u8>),
}

impl Community {
    fn may_ask(&self, from: IpAddr) -> bool {
        self.addresses
            .iter()
            .any(|(network, len)| contains(*network, *len, from))
    }
}

fn contains(network: IpAddr, len: u8, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    // RouterOS: `::/0`, the default, includes all IPv4 addresses.
    if len == 0 && matches!(network, IpAddr::V6(_)) {
        return true;
    }
    let ((network, width), (address, other)) = (bits(network), bits(address));
    width == other && (len == 0 || (network ^ address) >> (128 - u32::from(len.min(width))) == 0)
}

/// Received datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Payload.
    pub bytes: &'a [u8],
    /// Source address.
    pub from: IpAddr,
    /// Time of arrival.
    pub now: Instant,
}

/// A value that a set request changed; the response was already built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Object; one of the writable ones in [`mib`].
    pub oid: Oid,
    /// New text.
    pub text: String,
}

/// Statistics of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sent responses, without reports.
    pub answered: u64,
    /// Errors by name.
    pub faults: BTreeMap<&'static str, u64>,
}

/// SNMP agent.
#[derive(Clone, Debug)]
pub struct Agent {
    engine: Vec<u8>,
    boots: u32,
    started: Instant,
    salt: u64,
    communities: BTreeMap<Vec<u8>, Community>,
    /// Statistics.
    pub counters: Counters,
    usm: BTreeMap<u32, u32>,
}

/// Requester, with the security of its response.
struct Asker<'a> {
    community: &'a Community,
    /// Community or user name.
    name: &'a [u8],
    version: i64,
}

impl Agent {
    /// Creates an agent with this engine id. `boots` increases with every start of the router.
    pub fn new(engine: Vec<u8>, boots: u32, now: Instant) -> Self {
        Self {
            engine,
            boots,
            started: now,
            // Salts must never repeat with one key (RFC 3826, 3.1.4.1), so the upper half is the boot count.
            salt: u64::from(boots) << 32,
            communities: BTreeMap::new(),
            counters: Counters::default(),
            usm: BTreeMap::new(),
        }
    }

    /// Engine id; the keys of users are localized for it.
    pub fn engine(&self) -> &[u8] {
        &self.engine
    }

    /// Changes the engine id. The keys of communities must be localized again.
    pub fn set_engine(&mut self, engine: Vec<u8>) {
        self.engine = engine;
    }

    /// Replaces all communities.
    pub fn set_communities(&mut self, all: impl IntoIterator<Item = (String, Community)>) {
        let all = all.into_iter();
        self.communities = all.map(|(name, one)| (name.into_bytes(), one)).collect();
    }

    /// Finds a community by name.
    pub(super) fn community(&self, name: &str) -> Option<&Community> {
        self.communities.get(name.as_bytes())
    }

    /// Engine time: seconds since the start.
    pub(super) fn time(&self, now: Instant) -> u32 {
        u32::try_from(now.saturating_since(self.started).as_secs()).unwrap_or(u32::MAX)
    }

    /// Handles a datagram and returns the response; values to set are added to `sets`.
    ///
    /// # Errors
    /// Returns why there is no response; the error is counted.
    pub fn handle(
        &mut self,
        asked: &Datagram<'_>,
        view: &dyn View,
        sets: &mut Vec<Set>,
    ) -> Result<Vec<u8>, Fault> {
        let answered = self.answer(asked, view, sets);
        match &answered {
            Ok(_) => self.counters.answered += 1,
            Err(fault) => self.count(*fault),
        }
        answered
    }

    fn count(&mut self, fault: Fault) {
        let name = match fault {
            Fault::Malformed => "malformed",
            Fault::Version => "version",
            Fault::Community => "community",
            Fault::Pdu => "pdu",
            Fault::Engine => "engine",
            Fault::User => "user",
            Fault::Level => "level",
            Fault::Digest => "digest",
            Fault::Time => "time",
            Fault::Decryption => "decryption",
        };
        *self.counters.faults.entry(name).or_default() += 1;
    }

    fn answer(
        &mut self,
        asked: &Datagram<'_>,
        view: &dyn View,
        sets: &mut Vec<Set>,
    ) -> Result<Vec<u8>, Fault> {
        if asked.bytes.len() > ASKED_MAX {
            return Err(Fault::Malformed);
        }
        let mut reader = Reader::new(asked.bytes)
            .sequence()
            .ok_or(Fault::Malformed)?;
        match reader.integer().ok_or(Fault::Malformed)? {
            version @ 0..=1 => {
                let name = reader.octets().ok_or(Fault::Malformed)?;
                let community = self.communities.get(name);
                let community = community.filter(|community| {
                    community.security == Security::None && community.may_ask(asked.from)
                });
                let community = community.ok_or(Fault::Community)?;
                let pdu = Pdu::read(&mut reader).ok_or(Fault::Malformed)?;
                let asker = Asker {
                    community,
                    name,
                    version,
                };
                let room = ANSWER_MAX.saturating_sub(AROUND_PLAIN + name.len());
                let said = respond(&asker, &pdu, view, room, sets)?;
                Ok(write_plain(version, asker.name, |writer| {
                    said.write(writer)
                }))
            }
            3 => {
                let head = Head::read(&mut reader).ok_or(Fault::Malformed)?;
                self.answer_user(asked, &head, view, sets)
            }
            _ => Err(Fault::Version),
        }
    }

    /// Handles a version 3 message (RFC 3414, 3.2).
    fn answer_user(
        &mut self,
        asked: &Datagram<'_>,
        head: &Head<'_>,
        view: &dyn View,
        sets: &mut Vec<Set>,
    ) -> Result<Vec<u8>, Fault> {
        let (pdu, context) = match self.open(asked, head) {
            Ok(opened) => opened,
            Err(fault) => return self.report(asked, head, fault),
        };
        let Some(community) = self.communities.get(head.user).cloned() else {
            return Err(Fault::User);
        };
        let asker = Asker {
            community: &community,
            name: head.user,
            version: 3,
        };
        let room = usize::try_from(head.max_size).unwrap_or(0).min(ANSWER_MAX);
        let room = room.saturating_sub(AROUND);
        let said = respond(&asker, &pdu, view, room, sets)?;
        let protects = Protects {
            flags: head.flags & (flag::AUTH | flag::PRIVACY),
            user: head.user,
            community: Some(&community),
        };
        let scoped = self.scoped(&context, |writer| said.write(writer));
        self.seal(head.id, asked.now, &protects, scoped)
    }

    /// Authenticates and decrypts a message.
    fn open(&self, asked: &Datagram<'_>, head: &Head<'_>) -> Result<(Pdu, Vec<u8>), Fault> {
        if head.engine != self.engine {
            return Err(Fault::Engine);
        }
        let community = self.communities.get(head.user);
        let community = community.filter(|community| community.may_ask(asked.from));
        let community = community.ok_or(Fault::User)?;
        let level = match head.flags & (flag::AUTH | flag::PRIVACY) {
            0 => Security::None,
            flag::AUTH => Security::Authorized,
            flag::PRIVACY => return Err(Fault::Malformed),
            _ => Security::Private,
        };
        if level < community.security
            || level >= Security::Authorized && community.auth.1.is_empty()
            || level == Security::Private && community.privacy.1.is_empty()
        {
            return Err(Fault::Level);
        }
        if level >= Security::Authorized {
            self.authenticate(asked, head, community)?;
        }
        let opened;
        let scoped = match level {
            Security::Private => {
                let occasion = Occasion {
                    boots: self.boots,
                    time: u32::try_from(head.time).unwrap_or(0),
                    salt: head.privacy.try_into().map_err(|_| Fault::Decryption)?,
                };
                let (cipher, key) = &community.privacy;
                let plain = cipher.decrypt(key, &occasion, head.data);
                opened = plain.ok_or(Fault::Decryption)?;
                let mut reader = Reader::new(&opened);
                reader.expect(tag::SEQUENCE).ok_or(Fault::Decryption)?
            }
            _ => head.data,
        };
        let mut reader = Reader::new(scoped);
        let _engine = reader.octets().ok_or(Fault::Malformed)?;
        let context = reader.octets().ok_or(Fault::Malformed)?;
        let pdu = Pdu::read(&mut reader).ok_or(Fault::Malformed)?;
        Ok((pdu, context.to_vec()))
    }

    fn authenticate(
        &self,
        asked: &Datagram<'_>,
        head: &Head<'_>,
        community: &Community,
    ) -> Result<(), Fault> {
        if head.auth.len() != DIGEST {
            return Err(Fault::Digest);
        }
        let at = head.auth.as_ptr().addr() - asked.bytes.as_ptr().addr();
        let (before, rest) = asked.bytes.split_at(at);
        let (hash, key) = &community.auth;
        let digest = hash.digest(key, [before, &[0; DIGEST], &rest[DIGEST..]]);
        // Constant-time comparison.
        let differ = digest.iter().zip(head.auth);
        let differ = differ.fold(0, |differ, (own, its)| differ | own ^ its);
        if differ != 0 {
            return Err(Fault::Digest);
        }
        let time = i64::from(self.time(asked.now));
        let is_now = head.boots == i64::from(self.boots) && (time - head.time).abs() <= WINDOW;
        match is_now {
            true => Ok(()),
            false => Err(Fault::Time),
        }
    }

    /// Builds a report if the error allows one (RFC 3414, 3.2).
    fn report(
        &mut self,
        asked: &Datagram<'_>,
        head: &Head<'_>,
        fault: Fault,
    ) -> Result<Vec<u8>, Fault> {
        let number = match fault {
            Fault::Level => 1,
            Fault::Time => 2,
            Fault::User => 3,
            Fault::Engine => 4,
            Fault::Digest => 5,
            Fault::Decryption => 6,
            _ => return Err(fault),
        };
        let count = self.usm.entry(number).or_default();
        *count = count.wrapping_add(1);
        let count = *count;
        if head.flags & flag::REPORTABLE == 0 {
            return Err(fault);
        }
        self.count(fault);
        let mut bindings = Bindings::with_room(ANSWER_MAX);
        let oid = [1, 3, 6, 1, 6, 3, 15, 1, 1, number, 0];
        let _ = bindings.push(&oid, &Value::Counter32(count));
        // The request id is only known if the PDU was not encrypted.
        let id = match head.flags & flag::PRIVACY {
            0 => request_id(head.data),
            _ => 0,
        };
        let said = ResponsePdu {
            kind: kind::REPORT,
            id,
            status: 0,
            index: 0,
            bindings,
        };
        let community = self.communities.get(head.user).cloned();
        // A time window report must be authenticated to be accepted.
        let flags = if fault == Fault::Time { flag::AUTH } else { 0 };
        let protects = Protects {
            flags,
            user: head.user,
            community: community.as_ref().filter(|_| flags != 0),
        };
        let scoped = self.scoped(&[], |writer| said.write(writer));
        self.seal(head.id, asked.now, &protects, scoped)
    }

    /// Builds a scoped PDU: engine id, context and PDU.
    pub(super) fn scoped(&self, context: &[u8], pdu: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::new();
        pdu(&mut writer);
        writer.octets(context);
        writer.octets(&self.engine);
        writer.wrap(tag::SEQUENCE, 0);
        writer.finish()
    }

    /// Builds a version 3 message (RFC 3414, 3.1).
    pub(super) fn seal(
        &mut self,
        id: i64,
        now: Instant,
        protects: &Protects<'_>,
        scoped: Vec<u8>,
    ) -> Result<Vec<u8>, Fault> {
        let mut occasion = Occasion {
            boots: self.boots,
            time: self.time(now),
            salt: [0; 8],
        };
        let mut writer = Writer::new();
        let encrypts = protects.flags & flag::PRIVACY != 0;
        if encrypts {
            self.salt = self.salt.wrapping_add(1);
            let (cipher, key) = &protects.community.ok_or(Fault::User)?.privacy;
            // DES: the salt is the engine's boots and a counter (RFC 3414, 8.1.1.1).
            occasion.salt = self.salt.to_be_bytes();
            let data = cipher.encrypt(key, &occasion, &scoped);
            writer.octets(&data.ok_or(Fault::Level)?);
        } else {
            writer.raw(&scoped);
        }
        let behind = writer.len();
        writer.octets(if encrypts { &occasion.salt } else { &[] });
        let authenticates = protects.flags & flag::AUTH != 0;
        // Distance of the digest from the end.
        let digest_ends = writer.len();
        writer.octets(if authenticates { &[0; DIGEST] } else { &[] });
        writer.octets(protects.user);
        writer.integer(occasion.time.into());
        writer.integer(occasion.boots.into());
        writer.octets(&self.engine);
        writer.wrap(tag::SEQUENCE, behind);
        writer.wrap(tag::OCTETS, behind);
        let global = writer.len();
        writer.integer(3);
        writer.octets(&[protects.flags]);
        writer.integer(ASKED_MAX as i64);
        writer.integer(id);
        writer.wrap(tag::SEQUENCE, global);
        writer.integer(3);
        writer.wrap(tag::SEQUENCE, 0);
        let mut message = writer.finish();
        if authenticates {
            let (hash, key) = &protects.community.ok_or(Fault::User)?.auth;
            let at = message.len() - digest_ends - DIGEST;
            let (before, rest) = message.split_at(at);
            let digest = hash.digest(key, [before, &[0; DIGEST], &rest[DIGEST..]]);
            message[at..at + DIGEST].copy_from_slice(&digest);
        }
        Ok(message)
    }
}

/// Security parameters of an outgoing message.
pub(super) struct Protects<'a> {
    pub(super) flags: u8,
    pub(super) user: &'a [u8],
    pub(super) community: Option<&'a Community>,
}

impl<'a> Protects<'a> {
    /// Derives the parameters from a community.
    pub(super) fn of(user: &'a str, community: &'a Community) -> Self {
        let flags = match community.security {
            Security::None => 0,
            Security::Authorized => flag::AUTH,
            Security::Private => flag::AUTH | flag::PRIVACY,
        };
        Self {
            flags,
            user: user.as_bytes(),
            community: Some(community),
        }
    }
}

/// Request id of a scoped PDU; 0 if it is malformed.
fn request_id(scoped: &[u8]) -> i64 {
    let mut reader = Reader::new(scoped);
    let pdu = (reader.octets(), reader.octets(), Pdu::read(&mut reader)).2;
    pdu.map_or(0, |pdu| pdu.id)
}

/// Handles a request PDU (RFC 3416, 4.2).
fn respond(
    asker: &Asker<'_>,
    pdu: &Pdu,
    view: &dyn View,
    room: usize,
    sets: &mut Vec<Set>,
) -> Result<ResponsePdu, Fault> {
    let mut said = ResponsePdu {
        kind: kind::RESPONSE,
        id: pdu.id,
        status: 0,
        index: 0,
        bindings: Bindings::with_room(room),
    };
    let is_old = asker.version == 0;
    let done = match pdu.kind {
        kind::GET | kind::GET_NEXT | kind::GET_BULK if !asker.community.read => Err((
            if is_old {
                status::NO_SUCH_NAME
            } else {
                status::NO_ACCESS
            },
            1,
        )),
        kind::GET => get(is_old, pdu, view, &mut said.bindings),
        kind::GET_NEXT => get_next(is_old, pdu, view, &mut said.bindings),
        kind::GET_BULK if !is_old => {
            get_bulk(pdu, view, &mut said.bindings);
            Ok(())
        }
        kind::SET => set(asker, pdu, &mut said.bindings, sets),
        _ => return Err(Fault::Pdu),
    };
    if let Err((status, index)) = done {
        (said.status, said.index) = (status, index);
        said.bindings = Bindings::with_room(room);
        // An error response repeats the bindings of the request, except for tooBig.
        let all = pdu.bindings.iter();
        let fits = all.fold(true, |fits, (oid, value)| {
            fits && said.bindings.push(oid, value)
        });
        if !fits || status == status::TOO_BIG && !is_old {
            said.bindings = Bindings::default();
        }
    }
    Ok(said)
}

/// Error status, and index of the binding, from 1.
type Failed = (u8, usize);

fn get(is_old: bool, pdu: &Pdu, view: &dyn View, into: &mut Bindings) -> Result<(), Failed> {
    for (at, (oid, _)) in pdu.bindings.iter().enumerate() {
        let found = view.get(oid);
        let value = match found {
            Ok(Value::Counter64(_)) | Err(_) if is_old => {
                return Err((status::NO_SUCH_NAME, at + 1));
            }
            Ok(value) | Err(value) => value,
        };
        if !into.push(oid, &value) {
            return Err((status::TOO_BIG, 0));
        }
    }
    Ok(())
}

fn get_next(is_old: bool, pdu: &Pdu, view: &dyn View, into: &mut Bindings) -> Result<(), Failed> {
    for (at, (oid, _)) in pdu.bindings.iter().enumerate() {
        let pushed = match view.next(oid, !is_old) {
            Some((next, value)) => into.push(&next, &value),
            None if is_old => return Err((status::NO_SUCH_NAME, at + 1)),
            None => into.push(oid, &Value::EndOfView),
        };
        if !pushed {
            return Err((status::TOO_BIG, 0));
        }
    }
    Ok(())
}

/// RFC 3416, 4.2.3: fills the response as far as possible.
fn get_bulk(pdu: &Pdu, view: &dyn View, into: &mut Bindings) {
    let once = usize::try_from(pdu.once)
        .unwrap_or(0)
        .min(pdu.bindings.len());
    let (once, repeated) = pdu.bindings.split_at(once);
    let mut step = |oid: &mut Oid, ended: &mut bool| {
        let found = view.next(oid, true).filter(|_| !*ended);
        match found {
            Some((next, value)) => {
                *oid = next;
                into.push(oid, &value)
            }
            None => {
                *ended = true;
                into.push(oid, &Value::EndOfView)
            }
        }
    };
    for (oid, _) in once {
        if !step(&mut oid.clone(), &mut false) {
            return;
        }
    }
    let columns = repeated.iter().map(|(oid, _)| (oid.clone(), false));
    let mut columns: Vec<_> = columns.collect();
    for _ in 0..pdu.often {
        if columns.iter().all(|(_, ended)| *ended) {
            return;
        }
        for (oid, ended) in &mut columns {
            if !step(oid, ended) {
                return;
            }
        }
    }
}

/// Sets all values or none (RFC 3416, 4.2.5).
fn set(
    asker: &Asker<'_>,
    pdu: &Pdu,
    into: &mut Bindings,
    sets: &mut Vec<Set>,
) -> Result<(), Failed> {
    let is_old = asker.version == 0;
    let failed = |status, at: usize| (if is_old { status::NO_SUCH_NAME } else { status }, at + 1);
    let mut wanted = Vec::new();
    for (at, (oid, value)) in pdu.bindings.iter().enumerate() {
        if !asker.community.write {
            return Err(failed(status::NO_ACCESS, at));
        }
        if ![mib::NAME, mib::CONTACT, mib::LOCATION].contains(&&**oid) {
            return Err(failed(status::NOT_WRITABLE, at));
        }
        let Value::Octets(bytes) = value else {
            return Err(failed(status::WRONG_TYPE, at));
        };
        let text = core::str::from_utf8(bytes);
        let text = text.map_err(|_| failed(status::WRONG_TYPE, at))?;
        if text.len() > TEXT_MAX || text.chars().any(char::is_control) {
            return Err(failed(status::WRONG_LENGTH, at));
        }
        if !into.push(oid, value) {
            return Err((status::TOO_BIG, 0));
        }
        wanted.push(Set {
            oid: oid.clone(),
            text: text.to_owned(),
        });
    }
    sets.extend(wanted);
    Ok(())
}
