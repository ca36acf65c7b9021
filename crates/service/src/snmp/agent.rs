//! The agent: who may ask, and what he is answered.

use core::net::IpAddr;
use std::collections::BTreeMap;

use machine::Instant;

use super::ber::{Reader, Writer, tag};
use super::message::{Bindings, Head, Pdu, Said, kind, status, write_plain};
use super::usm::{Cipher, DIGEST, Hash, Occasion};
use super::{Fault, Oid, Value, View, mib};

/// Bytes of a datagram that is answered at most, and of its answer: none is cut into fragments on Ethernet.
const ASKED_MAX: usize = 2_048;
const ANSWER_MAX: usize = 1_452;
/// Bytes of an answer of version 3 without its bindings, at most.
const AROUND: usize = 260;
/// Bytes of an answer of versions 1 and 2c without its bindings and the community's name, at most.
const AROUND_PLAIN: usize = 44;
/// Seconds that a message may be old (RFC 3414, 2.2.3).
const WINDOW: i64 = 150;
/// Bytes of the texts that may be set (RFC 3418).
const TEXT_MAX: usize = 255;

/// Flags of messages of version 3 (RFC 3412, 6.4).
mod flag {
    pub(super) const AUTH: u8 = 1;
    pub(super) const PRIVACY: u8 = 2;
    pub(super) const REPORTABLE: u8 = 4;
}

/// What is asked of who asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Security {
    /// His name alone.
    #[default]
    None,
    /// Messages with digests: version 3.
    Authorized,
    /// Encrypted messages: version 3.
    Private,
}

/// A community of versions 1 and 2c, which is a user of version 3 (RouterOS).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Community {
    /// Networks that may ask: address and length of each.
    pub addresses: Vec<(IpAddr, u8)>,
    /// What is asked of it.
    pub security: Security,
    /// Whether values may be read, and written.
    pub read: bool,
    /// See [`Self::read`].
    pub write: bool,
    /// The hash of digests, and the key that it made of the password for this engine.
    pub auth: (Hash, Vec<u8>),
    /// The cipher, and its key.
    pub privacy: (Cipher, Vec<u8>),
}

impl Community {
    fn may_ask(&self, from: IpAddr) -> bool {
        self.addresses
            .iter()
            .any(|network| contains(*network, from))
    }
}

fn contains((network, len): (IpAddr, u8), address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    // RouterOS: `::/0`, the default, is all of both families.
    if len == 0 && matches!(network, IpAddr::V6(_)) {
        return true;
    }
    let ((network, width), (address, other)) = (bits(network), bits(address));
    width == other && (len == 0 || (network ^ address) >> (128 - u32::from(len.min(width))) == 0)
}

/// A datagram.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What it carries.
    pub bytes: &'a [u8],
    /// Who sent it.
    pub from: IpAddr,
    /// When it came.
    pub now: Instant,
}

/// Something that is to be set; it was answered already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The object: one of those that [`mib`] names.
    pub oid: Oid,
    /// Its new text.
    pub text: String,
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Answers, without reports.
    pub answered: u64,
    /// By what was wrong.
    pub faults: BTreeMap<&'static str, u64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Agent {
    engine: Vec<u8>,
    boots: u32,
    started: Instant,
    salt: u64,
    communities: BTreeMap<Vec<u8>, Community>,
    /// What was counted.
    pub counters: Counters,
    usm: BTreeMap<u32, u32>,
}

/// Who asks, and how his answer is protected.
struct Asker<'a> {
    community: &'a Community,
    /// His name.
    name: &'a [u8],
    version: i64,
}

impl Agent {
    /// An agent with this identifier, which has started for the `boots`th time, each time a greater number.
    pub fn new(engine: Vec<u8>, boots: u32, now: Instant) -> Self {
        Self {
            engine,
            boots,
            started: now,
            // Never the same for two messages with one key (RFC 3826, 3.1.4.1): a start has its own upper half.
            salt: u64::from(boots) << 32,
            communities: BTreeMap::new(),
            counters: Counters::default(),
            usm: BTreeMap::new(),
        }
    }

    /// The engine's identifier: keys are made for it.
    pub fn engine(&self) -> &[u8] {
        &self.engine
    }

    /// Gives it another identifier. Keys of communities are to be made anew.
    pub fn set_engine(&mut self, engine: Vec<u8>) {
        self.engine = engine;
    }

    /// Replaces the communities.
    pub fn set_communities(&mut self, all: impl IntoIterator<Item = (String, Community)>) {
        let all = all.into_iter();
        self.communities = all.map(|(name, one)| (name.into_bytes(), one)).collect();
    }

    /// The community of this name.
    pub(super) fn community(&self, name: &str) -> Option<&Community> {
        self.communities.get(name.as_bytes())
    }

    /// Seconds since the start.
    pub(super) fn time(&self, now: Instant) -> u32 {
        u32::try_from(now.saturating_since(self.started).as_secs()).unwrap_or(u32::MAX)
    }

    /// Answers a datagram; what it sets is put into `sets`.
    ///
    /// # Errors
    /// Why it is not answered. It is counted.
    pub fn handle(
        &mut self,
        asked: &Asked<'_>,
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
        asked: &Asked<'_>,
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
                let said = respond(&asker, &pdu, view, (room, sets))?;
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

    /// Answers a message of version 3 (RFC 3414, 3.2).
    fn answer_user(
        &mut self,
        asked: &Asked<'_>,
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
        let said = respond(&asker, &pdu, view, (room, sets))?;
        let protects = Protects {
            flags: head.flags & (flag::AUTH | flag::PRIVACY),
            user: head.user,
            community: Some(&community),
        };
        let scoped = self.scoped(&context, |writer| said.write(writer));
        self.seal((head.id, asked.now), &protects, scoped)
    }

    /// Checks a message, and opens what it says.
    fn open(&self, asked: &Asked<'_>, head: &Head<'_>) -> Result<(Pdu, Vec<u8>), Fault> {
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
        asked: &Asked<'_>,
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
        // In a time that does not tell how much of it is right.
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

    /// Tells the asker what was wrong, where he can do better (RFC 3414, 3.2).
    fn report(
        &mut self,
        asked: &Asked<'_>,
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
        // What was asked is only known where it was not encrypted.
        let id = match head.flags & flag::PRIVACY {
            0 => asked_id(head.data),
            _ => 0,
        };
        let said = Said {
            kind: kind::REPORT,
            id,
            status: 0,
            index: 0,
            bindings,
        };
        let community = self.communities.get(head.user).cloned();
        // That it came at the wrong time is believed by a digest alone.
        let flags = if fault == Fault::Time { flag::AUTH } else { 0 };
        let protects = Protects {
            flags,
            user: head.user,
            community: community.as_ref().filter(|_| flags != 0),
        };
        let scoped = self.scoped(&[], |writer| said.write(writer));
        self.seal((head.id, asked.now), &protects, scoped)
    }

    /// What is said, with the engine and the context that it is about.
    pub(super) fn scoped(&self, context: &[u8], pdu: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::new();
        pdu(&mut writer);
        writer.octets(context);
        writer.octets(&self.engine);
        writer.wrap(tag::SEQUENCE, 0);
        writer.finish()
    }

    /// Makes a message of what is said (RFC 3414, 3.1).
    pub(super) fn seal(
        &mut self,
        (id, now): (i64, Instant),
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
            // DES: the engine's boots, then a number (RFC 3414, 8.1.1.1), which is how it begins here.
            occasion.salt = self.salt.to_be_bytes();
            let data = cipher.encrypt(key, &occasion, &scoped);
            writer.octets(&data.ok_or(Fault::Level)?);
        } else {
            writer.raw(&scoped);
        }
        let behind = writer.len();
        writer.octets(if encrypts { &occasion.salt } else { &[] });
        let authenticates = protects.flags & flag::AUTH != 0;
        // How far the digest is from the end.
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

/// How a message is protected.
pub(super) struct Protects<'a> {
    pub(super) flags: u8,
    pub(super) user: &'a [u8],
    pub(super) community: Option<&'a Community>,
}

impl<'a> Protects<'a> {
    /// As its community wants it.
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

/// The number of what was asked, if it can be read.
fn asked_id(scoped: &[u8]) -> i64 {
    let mut reader = Reader::new(scoped);
    let pdu = (reader.octets(), reader.octets(), Pdu::read(&mut reader)).2;
    pdu.map_or(0, |pdu| pdu.id)
}

/// Answers what was asked (RFC 3416, 4.2).
fn respond(
    asker: &Asker<'_>,
    pdu: &Pdu,
    view: &dyn View,
    (room, sets): (usize, &mut Vec<Set>),
) -> Result<Said, Fault> {
    let mut said = Said {
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
        // What was asked comes back, but for answers that are too long.
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

/// An error status, and the binding that it is about, from 1.
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

/// RFC 3416, 4.2.3: as much as there is room for.
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

/// All is set, or nothing (RFC 3416, 4.2.5).
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
