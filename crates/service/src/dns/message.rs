//! Filters server answers (RFC 2181, 5.4.1; RFC 2308) and follows CNAME chains.
//!
//! The cache keeps the aliases that lead from the queried name to the final name, and the final name's records.
//! Without records it keeps the SOA record that gives the negative TTL, if its zone contains the name. All other
//! records are discarded, so that a server cannot inject records of other names.

use core::net::IpAddr;
use core::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query as Question};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{
    BinDecodable as _, BinDecoder, BinEncodable as _, Restrict,
};
use machine::Instant;

use super::question::{HEAD, Key};
use super::stored::{MESSAGE_MAX, Stored};

/// Maximum length of a CNAME chain.
pub(super) const CHAIN_MAX: usize = 16;
/// Maximum number of records of an answer.
const RECORDS_MAX: usize = 4096;
/// Maximum negative TTL in seconds (RFC 2308, 5).
const NOTHING_MAX: u32 = 10_800;

/// Response code NXDOMAIN (RFC 1035, 4.1.1).
pub(super) const NO_NAME: u8 = 3;

/// A server's answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The part to cache.
    pub(super) stored: Stored,
    /// TTL; zero if the answer must not be cached.
    pub(super) holds: Duration,
}

/// A cached record in text form, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Owner name.
    pub name: String,
    /// Type.
    pub kind: String,
    /// Data.
    pub data: String,
    /// Remaining TTL in seconds.
    pub ttl: u32,
}

/// Parses an answer that was matched to the query for `key`. TTLs are limited to `longest`.
///
/// Returns `None` if the answer is malformed.
pub(super) fn read(message: &[u8], key: &Key, longest: Duration) -> Option<Answer> {
    let mut lower = message.to_vec();
    // Names in the answer may point into the question, whose case is random.
    lower
        .get_mut(HEAD..HEAD + key.name().len())?
        .copy_from_slice(key.name());
    let said = Message::from_vec(&lower).ok()?;
    let longest = u32::try_from(longest.as_secs()).unwrap_or(u32::MAX);
    let asked = name(key)?;
    let kind = RecordType::from(key.kind());
    let (mut answers, end) = follow(&asked, kind, said.answers);
    let mut holds = answers.iter().map(|record| record.ttl).min();
    let has_data = answers.iter().any(|record| is_of(record, &end, kind));
    let mut authorities = Vec::new();
    if !has_data {
        let soa = said.authorities.into_iter().find_map(|mut record| {
            let RData::SOA(soa) = &record.data else {
                return None;
            };
            let least = record.ttl.min(soa.minimum).min(NOTHING_MAX);
            let fits = record.dns_class == DNSClass::IN && record.name.zone_of(&end);
            record.name = end.trim_to(record.name.num_labels().into());
            fits.then_some((record, least))
        });
        holds = soa
            .as_ref()
            .map(|(_, least)| holds.unwrap_or(*least).min(*least));
        authorities.extend(soa.map(|(mut record, least)| {
            record.ttl = least;
            record
        }));
    }
    for record in answers.iter_mut().chain(&mut authorities) {
        record.ttl = record.ttl.min(longest);
    }
    let code = said.metadata.response_code.low();
    // An answer with data counts as success, whatever its response code.
    let code = if has_data { 0 } else { code };
    let holds = holds.unwrap_or(0).min(longest);
    Some(Answer {
        stored: encode(key, code, answers, authorities)?,
        holds: Duration::from_secs(holds.into()),
    })
}

/// Returns the aliases from a name on, the records of the final name, and the final name. Owner names are spelled as
/// in the query, because servers may repeat its random case.
fn follow(asked: &Name, kind: RecordType, records: Vec<Record>) -> (Vec<Record>, Name) {
    let mut at = asked.clone();
    let mut kept = Vec::new();
    let mut rest: Vec<_> = records.into_iter().take(RECORDS_MAX).collect();
    for _ in 0..CHAIN_MAX {
        let (own, others): (Vec<_>, Vec<_>) =
            { rest.into_iter() }.partition(|record| is_of(record, &at, kind));
        rest = others;
        if !own.is_empty() {
            kept.extend(own.into_iter().map(|record| owned_by(record, &at)));
            break;
        }
        let alias = { rest.iter() }.position(|record| is_of(record, &at, RecordType::CNAME));
        let Some(alias) = alias.map(|place| rest.swap_remove(place)) else {
            break;
        };
        let RData::CNAME(to) = &alias.data else { break };
        let to = to.0.clone();
        kept.push(owned_by(alias, &at));
        at = to;
    }
    (kept, at)
}

/// Replaces the owner name of a record.
fn owned_by(mut record: Record, name: &Name) -> Record {
    record.name = name.clone();
    record
}

/// True if the record belongs to the name and has the type, or is its signature.
fn is_of(record: &Record, name: &Name, kind: RecordType) -> bool {
    let own = record.record_type();
    let signs = own == RecordType::RRSIG && signed_type(record) == Some(kind);
    record.dns_class == DNSClass::IN && (own == kind || signs) && record.name == *name
}

/// Type covered by an RRSIG record (RFC 4034, 3.1).
fn signed_type(record: &Record) -> Option<RecordType> {
    let RData::Unknown { rdata, .. } = &record.data else {
        return None;
    };
    let first = rdata.anything.first_chunk::<2>()?;
    Some(RecordType::from(u16::from_be_bytes(*first)))
}

fn name(key: &Key) -> Option<Name> {
    name_of(key.name())
}

fn name_of(wire: &[u8]) -> Option<Name> {
    Name::read(&mut BinDecoder::new(wire)).ok()
}

/// Encodes an answer.
fn encode(key: &Key, code: u8, answers: Vec<Record>, authorities: Vec<Record>) -> Option<Stored> {
    let count = |records: &[Record]| u16::try_from(records.len()).ok();
    let counts = (count(&answers)?, count(&authorities)?);
    let mut message = Message::new(0, MessageType::Response, OpCode::Query);
    message.add_query(Question::query(name(key)?, RecordType::from(key.kind())));
    message.insert_answers(answers);
    message.insert_authorities(authorities);
    let bytes = message.to_bytes().ok()?;
    let body = bytes.get(HEAD + key.name().len() + 4..)?;
    (bytes.len() <= MESSAGE_MAX).then_some(())?;
    Stored::new(key, code, counts, body)
}

/// Decodes all records of a cached answer. `name` is the queried name in the spelling to use.
fn decode(name: &[u8], key: &Key, stored: &Stored) -> Option<Message> {
    let mut bytes = vec![0; HEAD];
    bytes[2] = 0x80;
    bytes[5] = 1;
    bytes[6..8].copy_from_slice(&stored.counts.0.to_be_bytes());
    bytes[8..10].copy_from_slice(&stored.counts.1.to_be_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&key.kind().to_be_bytes());
    bytes.extend_from_slice(&[0, 1]);
    bytes.extend_from_slice(&stored.body);
    Message::from_vec(&bytes).ok()
}

/// Builds the answer to the query for `key`, an alias chain whose final name has this answer.
pub(super) fn join(
    key: &Key,
    aliases: &[(Key, u32)],
    of: &Key,
    end: &Stored,
    now: Instant,
) -> Option<Stored> {
    let mut answers = Vec::new();
    let mut from = name(key)?;
    for (to, ttl) in aliases {
        let to = name(to)?;
        let data = RData::CNAME(hickory_proto::rr::rdata::CNAME(to.clone()));
        answers.push(Record::from_rdata(from, *ttl, data));
        from = to;
    }
    let said = decode(of.name(), of, end)?;
    let age = end.age(now);
    let aged = |mut record: Record| {
        record.ttl = record.ttl.saturating_sub(age);
        record
    };
    answers.extend(said.answers.into_iter().map(aged));
    let authorities = said.authorities.into_iter().map(aged).collect();
    encode(key, end.code, answers, authorities)
}

/// Addresses in an answer, with their remaining TTL in seconds.
pub(super) fn addresses(key: &Key, stored: &Stored, now: Instant) -> Vec<(IpAddr, u32)> {
    let said = decode(key.name(), key, stored).map(|said| said.answers);
    let age = stored.age(now);
    let found = said.into_iter().flatten().filter_map(|record| {
        let address = match &record.data {
            RData::A(address) => address.0.into(),
            RData::AAAA(address) => address.0.into(),
            _ => return None,
        };
        Some((address, record.ttl.saturating_sub(age)))
    });
    found.collect()
}

/// Returns the records of an answer as text, and true if the answer is negative.
pub(super) fn lines(key: &Key, stored: &Stored, now: Instant) -> (Vec<Line>, bool) {
    let name = stored.spelling.as_deref().unwrap_or(key.name());
    let Some(said) = decode(name, key, stored) else {
        return (Vec::new(), false);
    };
    let age = stored.age(now);
    let line = |record: &Record| Line {
        name: { record.name.to_ascii() }.trim_end_matches('.').to_owned(),
        kind: record.record_type().to_string(),
        data: data_of(record),
        ttl: record.ttl.saturating_sub(age),
    };
    let is_negative = said.answers.is_empty();
    let all = said.answers.iter().chain(&said.authorities);
    (all.map(line).collect(), is_negative)
}

/// Formats type and data of a record.
pub fn record_text(kind: u16, data: &[u8]) -> (String, String) {
    let kind = RecordType::from(kind);
    let mut decoder = BinDecoder::new(data);
    let length = Restrict::new(u16::try_from(data.len()).unwrap_or(u16::MAX));
    let text = match RData::read(&mut decoder, kind, length) {
        Ok(data) => data_of(&Record::from_rdata(Name::root(), 0, data)),
        Err(_) => String::new(),
    };
    (kind.to_string(), text)
}

/// RouterOS: names in record data have no trailing dot.
fn data_of(record: &Record) -> String {
    let text = record.data.to_string();
    match record.record_type() {
        RecordType::CNAME | RecordType::NS | RecordType::PTR | RecordType::MX | RecordType::SRV => {
            text.strip_suffix('.').unwrap_or(&text).to_owned()
        }
        _ => text,
    }
}
