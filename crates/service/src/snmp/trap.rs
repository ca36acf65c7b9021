//! Traps (RFC 1157, 4.1.6; RFC 3416, 4.2.6; RFC 3584, 3).

use machine::Instant;

use super::agent::Protects;
use super::ber::Writer;
use super::message::{Bindings, ResponsePdu, kind, write_plain};
use super::{Agent, Fault, Oid, Value, mib};

/// Maximum length of the bindings of a trap.
const ROOM: usize = 1_200;
/// `snmpTraps`: the standard traps.
const COMMON: &[u32] = &[1, 3, 6, 1, 6, 3, 1, 1, 5];
/// Generic trap `enterpriseSpecific` of version 1.
const SPECIFIC: i64 = 6;

/// SNMP version of a trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrapVersion {
    /// Version 1.
    #[default]
    V1,
    /// Version 2c.
    V2,
    /// Version 3.
    V3,
}

/// Trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// `snmpTrapOID`.
    pub oid: Oid,
    /// Bindings.
    pub bindings: Vec<(Oid, Value)>,
}

impl Trap {
    /// Creates a standard trap: `coldStart` is 1, `linkDown` 3, `linkUp` 4 (RFC 3418).
    pub fn common(number: u32, bindings: Vec<(Oid, Value)>) -> Self {
        Self {
            oid: [COMMON, &[number]].concat(),
            bindings,
        }
    }
}

impl Agent {
    /// Builds the datagram of a trap for a community. In version 1 it includes the agent address.
    ///
    /// # Errors
    /// Fails if there is no such community, or if it lacks the keys for its security level.
    pub fn notify(
        &mut self,
        trap: &Trap,
        version: TrapVersion,
        name: &str,
        own: [u8; 4],
        now: Instant,
    ) -> Result<Vec<u8>, Fault> {
        let ticks = self.time(now).saturating_mul(100);
        if version == TrapVersion::V1 {
            let bindings = bindings(&[], trap);
            return Ok(write_plain(0, name.as_bytes(), |writer| {
                old(writer, trap, &bindings, own, ticks);
            }));
        }
        let first = [
            (vec![1, 3, 6, 1, 2, 1, 1, 3, 0], Value::Ticks(ticks)),
            (
                vec![1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0],
                Value::Oid(trap.oid.clone()),
            ),
        ];
        let said = ResponsePdu {
            kind: kind::TRAP,
            id: i64::from(ticks & 0x7fff_ffff),
            status: 0,
            index: 0,
            bindings: bindings(&first, trap),
        };
        if version == TrapVersion::V2 {
            let community = name.as_bytes();
            return Ok(write_plain(1, community, |writer| said.write(writer)));
        }
        let community = self.community(name).ok_or(Fault::User)?.clone();
        let scoped = self.scoped(&[], |writer| said.write(writer));
        self.seal(said.id, now, &Protects::of(name, &community), scoped)
    }
}

fn bindings(first: &[(Oid, Value)], trap: &Trap) -> Bindings {
    let mut bindings = Bindings::with_room(ROOM);
    for (oid, value) in first.iter().chain(&trap.bindings) {
        if !bindings.push(oid, value) {
            break;
        }
    }
    bindings
}

/// Encodes a version 1 trap (RFC 3584, 3.2).
fn old(writer: &mut Writer, trap: &Trap, bindings: &Bindings, own: [u8; 4], ticks: u32) {
    let common = trap.oid.strip_prefix(COMMON);
    let (enterprise, generic, specific) = match (common, &*trap.oid) {
        (Some([number @ 1..=6]), _) => (mib::KIND, i64::from(*number) - 1, 0),
        // Enterprise: the prefix of the last number, without a 0 before it.
        (_, [enterprise @ .., 0, last]) | (_, [enterprise @ .., last]) => {
            (enterprise, SPECIFIC, i64::from(*last))
        }
        (_, []) => (mib::KIND, SPECIFIC, 0),
    };
    let since = writer.len();
    bindings.write(writer);
    writer.value(&Value::Ticks(ticks));
    writer.integer(specific);
    writer.integer(generic);
    writer.value(&Value::Address(own));
    writer.oid(enterprise);
    writer.wrap(kind::TRAP_V1, since);
}
