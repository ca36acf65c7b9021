//! State that helpers keep in a worker: expectations, and edits of the payload streams that they read.
//!
//! Edits are in a bounded table apart from the entries, because few connections need them; they are freed
//! with the connection.

use packet::Tuple;

use super::claims::TupleClaims;
use super::draft::{Claims, Draft};
use super::expectation::Expectation;
use super::id::{EntryId, FlowId, Slot};
use super::settings::Tick;
use super::state::{Helper, Refused, TcpState};
use super::tcp::{Segment, flag};
use super::tracker::{Tracker, of_family};
use crate::nat::Shift;

/// Maximum number of connections of a worker with edited payload.
const ALTERED_MAX: usize = 16_384;

/// Number of PPTP calls that a control connection remembers.
const CALLS: usize = 8;

/// A PPTP call ID (RFC 2637, 2.7) before and after translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// True if the responder of the control connection assigned the call ID.
    pub reply: bool,
    /// The call ID as its side assigned it.
    pub inside: u16,
    /// The call ID as the peer sees it.
    pub outside: u16,
}

/// The PPTP calls of a control connection; a new call overwrites the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    list: [Option<Call>; CALLS],
    next: u8,
}

impl Calls {
    /// Adds a call.
    pub fn push(&mut self, call: Call) {
        self.list[usize::from(self.next) % CALLS] = Some(call);
        self.next = self.next.wrapping_add(1);
    }

    /// Finds the call to which a side assigned `number`.
    pub fn inside(&self, reply: bool, number: u16) -> Option<Call> {
        let mut calls = self.list.iter().flatten();
        let found = calls.find(|call| call.reply == reply && call.inside == number);
        found.copied()
    }

    /// Finds the call of a side that the peer knows as `number`.
    pub fn outside(&self, reply: bool, number: u16) -> Option<Call> {
        let mut calls = self.list.iter().flatten();
        let found = calls.find(|call| call.reply == reply && call.outside == number);
        found.copied()
    }
}

/// The edits that a helper made to a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Altered {
    /// TCP sequence offsets: original direction, reply direction.
    pub shifts: [Shift; 2],
    /// The PPTP calls with translated call IDs.
    pub calls: Calls,
}

impl Altered {
    /// Converts a segment's acknowledgement number to the sender's original numbering, which the tracker
    /// uses.
    pub(super) fn unshift(&self, reply: bool, segment: &mut Segment) {
        // Some stacks send a RST with ACK and acknowledgement number 0.
        if !segment.has(flag::ACK) || segment.has(flag::RST) && segment.ack == 0 {
            return;
        }
        segment.ack = self.shifts[usize::from(!reply)].back(segment.ack);
    }
}

/// Returns the wildcard tuples that may also match `tuple`: any port, any source, both.
pub(super) fn wider(tuple: &Tuple) -> impl Iterator<Item = Tuple> {
    let any_port = Tuple {
        source_port: 0,
        ..*tuple
    };
    let of_anybody = |tuple| Tuple { source: 0, ..tuple };
    [any_port, of_anybody(*tuple), of_anybody(any_port)].into_iter()
}

/// Releases the claim of a tuple that is no longer expected.
pub(super) fn gone(tuple_claims: Option<&TupleClaims>, tuple: &Tuple) {
    if let Some(tuple_claims) = tuple_claims {
        tuple_claims.release_expected(tuple, false);
    }
}

impl Tracker {
    /// Adds an expectation. Returns false if there are too many, or if another worker or connection already
    /// expects the tuple.
    pub fn expect(&mut self, expectation: Expectation, now: Tick) -> bool {
        let tuple = expectation.tuple;
        let renewed = self.expectations.contains(&tuple);
        let tuple_claims = self.tuple_claims.as_deref();
        if let Some(tuple_claims) = tuple_claims.filter(|_| !renewed)
            && tuple_claims.claim_expected(&tuple, self.worker).is_err()
        {
            return false;
        }
        let expected = self
            .expectations
            .insert(expectation, now, |tuple| gone(tuple_claims, tuple));
        if !expected && !renewed {
            gone(tuple_claims, &tuple);
        }
        expected
    }

    /// Returns the expectation that matches the tuple, without reservations.
    #[inline]
    pub fn expected(&self, tuple: &Tuple) -> Option<&Expectation> {
        self.expectations.find(tuple)
    }

    /// Returns the expectations of a parent connection.
    pub fn expectations_of(&self, parent: EntryId) -> impl Iterator<Item = &Expectation> {
        self.expectations.of(parent)
    }

    /// Returns true if another connection expects the same tuple, or if it is expected with another
    /// destination.
    pub fn is_expected_by_another(&self, expectation: &Expectation) -> bool {
        let tuple = &expectation.tuple;
        match self.expectations.get(tuple) {
            Some(known) => known.is_apart_from(expectation),
            None => self.owner(tuple).is_some(),
        }
    }

    /// Returns the port to which an expected connection with this tuple is translated, if it is expected.
    pub fn expected_port(&self, tuple: &Tuple) -> Option<u16> {
        let (_, port) = self.expectations.get(tuple)?.destination?;
        Some(port)
    }

    /// Claims the tuples of a new connection; without effect if there is a single worker.
    pub(super) fn claim(&self, draft: &Draft) -> Result<(), Refused> {
        let claims = draft.claims != Claims::None;
        let Some(tuple_claims) = self.tuple_claims.as_ref().filter(|_| claims) else {
            return Ok(());
        };
        // An expectation with exactly this tuple has already claimed it.
        let claim = |tuple: &Tuple| match self.expectations.contains(tuple) {
            true => Ok(()),
            false => tuple_claims.claim(tuple, self.worker),
        };
        claim(&draft.reply)?;
        if draft.claims != Claims::Both {
            return Ok(());
        }
        claim(&draft.original).inspect_err(|_| self.unclaim(&draft.reply))
    }

    /// Releases the claims of a connection that did not enter the table.
    pub(super) fn give_up(&self, draft: &Draft) {
        if draft.claims != Claims::None {
            self.unclaim(&draft.reply);
        }
        if draft.claims == Claims::Both {
            self.unclaim(&draft.original);
        }
    }

    fn unclaim(&self, tuple: &Tuple) {
        if !self.expectations.contains(tuple) {
            self.release(tuple);
        }
    }

    /// Removes the expectations that a new connection fulfils.
    pub(super) fn fulfil(&mut self, draft: &Draft) {
        let tuple_claims = self.tuple_claims.as_deref();
        let (original, reply) = (&draft.original, &draft.reply);
        self.expectations.fulfil(original, reply, |tuple| {
            let keep = match draft.claims {
                Claims::None => false,
                Claims::Reply => tuple == reply,
                Claims::Both => tuple == original || tuple == reply,
            };
            tuple_claims
                .into_iter()
                .for_each(|tuple_claims| tuple_claims.release_expected(tuple, keep));
        });
    }

    /// Removes the expectations of helpers that were disabled.
    pub fn expect_only(&mut self, is_enabled: impl Fn(Helper) -> bool) {
        let tuple_claims = self.tuple_claims.as_deref();
        let stays = |one: &Expectation| is_enabled(one.helper);
        self.expectations
            .retain(stays, |tuple| gone(tuple_claims, tuple));
    }

    /// Frees the helper state of a connection that ends.
    pub(super) fn forget_help(&mut self, id: EntryId) {
        let tuple_claims = self.tuple_claims.as_deref();
        self.expectations
            .forget(id, |tuple| gone(tuple_claims, tuple));
        self.altered.remove(&id.slot);
        self.remainders.forget(id.slot);
    }

    /// Returns the edits that a helper made to a connection; the default if it made none.
    #[inline]
    pub fn altered(&self, slot: Slot) -> Altered {
        self.altered.get(&slot).copied().unwrap_or_default()
    }

    /// Stores the edits of a connection. Returns false if the table is full.
    pub fn alter(&mut self, slot: Slot, altered: Altered) -> bool {
        if self.altered.len() >= ALTERED_MAX && !self.altered.contains_key(&slot) {
            return false;
        }
        self.altered.insert(slot, altered);
        true
    }

    /// Sets the idle timeout of a non-TCP connection.
    pub fn set_timeout(&mut self, way: FlowId, timeout_secs: u32) {
        let place = way.slot().place();
        of_family!(mut self, way.slot().is_ipv6(), part => {
            part.set_state(place, TcpState::None as u8, timeout_secs);
        });
    }
}
