//! What helpers have a worker remember: the connections that they expect, and what they altered in
//! those that they read. The latter is a table of its own, because hardly any connection needs it:
//! bounded, and freed with the connection.

use packet::Tuple;

use super::draft::{Claims, Draft};
use super::expectation::Expectation;
use super::homes::Homes;
use super::id::{EntryId, Slot, Way};
use super::settings::Tick;
use super::state::{Helper, Refused, TcpState};
use super::tcp::{Segment, flag};
use super::tracker::{Tracker, of_family};
use crate::nat::Shift;

/// The most connections of a worker in which something is altered.
const ALTERED_MAX: usize = 16_384;

/// The calls of a control connection whose numbers are remembered.
const CALLS: usize = 8;

/// A call's number of PPTP (RFC 2637, 2.7), as the side that gave it knows it and as the other does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The side is the one that answers the connection.
    pub reply: bool,
    /// As it gave it.
    pub inside: u16,
    /// As the other side knows it.
    pub outside: u16,
}

/// The calls of a control connection; those that began last, where they are many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    list: [Option<Call>; CALLS],
    next: u8,
}

impl Calls {
    /// Remembers a call.
    pub fn push(&mut self, call: Call) {
        self.list[usize::from(self.next) % CALLS] = Some(call);
        self.next = self.next.wrapping_add(1);
    }

    /// The call to which this side gave a number.
    pub fn inside(&self, reply: bool, number: u16) -> Option<Call> {
        let mut calls = self.list.iter().flatten();
        let found = calls.find(|call| call.reply == reply && call.inside == number);
        found.copied()
    }

    /// The call of this side that the other side knows by a number.
    pub fn outside(&self, reply: bool, number: u16) -> Option<Call> {
        let mut calls = self.list.iter().flatten();
        let found = calls.find(|call| call.reply == reply && call.outside == number);
        found.copied()
    }
}

/// What a helper altered in a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Altered {
    /// What TCP's numbers are off by: of the original direction, of the reply.
    pub shifts: [Shift; 2],
    /// The numbers of PPTP's calls.
    pub calls: Calls,
}

impl Altered {
    /// What a segment of a direction acknowledges, as the other side numbers what it sends: that is
    /// what tracking knows.
    pub(super) fn unshift(&self, reply: bool, segment: &mut Segment) {
        // Some stacks send a RST with ACK and 0.
        if !segment.has(flag::ACK) || segment.has(flag::RST) && segment.ack == 0 {
            return;
        }
        segment.ack = self.shifts[usize::from(!reply)].back(segment.ack);
    }
}

/// The tuples by which one may be expected beside itself: any port, anybody's, both.
pub(super) fn wider(tuple: &Tuple) -> impl Iterator<Item = Tuple> {
    let any_port = Tuple {
        source_port: 0,
        ..*tuple
    };
    let of_anybody = |tuple| Tuple { source: 0, ..tuple };
    [any_port, of_anybody(*tuple), of_anybody(any_port)].into_iter()
}

/// A tuple is not expected any more.
pub(super) fn gone(homes: Option<&Homes>, tuple: &Tuple) {
    if let Some(homes) = homes {
        homes.release_expected(tuple, false);
    }
}

impl Tracker {
    /// Expects a connection. False when too many are expected, or when another worker or connection
    /// expects the same.
    pub fn expect(&mut self, expectation: Expectation, now: Tick) -> bool {
        let tuple = expectation.tuple;
        let renewed = self.expectations.contains(&tuple);
        let homes = self.homes.as_deref();
        if let Some(homes) = homes.filter(|_| !renewed)
            && homes.claim_expected(&tuple, self.worker).is_err()
        {
            return false;
        }
        let expected = self
            .expectations
            .insert(expectation, now, |tuple| gone(homes, tuple));
        if !expected && !renewed {
            gone(homes, &tuple);
        }
        expected
    }

    /// What expects a connection with this tuple.
    #[inline]
    pub fn expected(&self, tuple: &Tuple) -> Option<&Expectation> {
        self.expectations.find(tuple)
    }

    /// What a connection expects.
    pub fn expectations_of(&self, parent: EntryId) -> impl Iterator<Item = &Expectation> {
        self.expectations.of(parent)
    }

    /// Whether what this expectation waits for belongs to another connection, or leads elsewhere.
    pub fn is_expected_by_another(&self, expectation: &Expectation) -> bool {
        let tuple = &expectation.tuple;
        match self.expectations.get(tuple) {
            Some(known) => known.is_apart_from(expectation),
            None => self.owner(tuple).is_some(),
        }
    }

    /// The port to which what is expected with this tuple is translated, if anything is.
    pub fn expected_port(&self, tuple: &Tuple) -> Option<u16> {
        let (_, port) = self.expectations.get(tuple)?.destination?;
        Some(port)
    }

    /// Claims the tuples of a connection that is about to enter, where workers share.
    pub(super) fn claim(&self, draft: &Draft) -> Result<(), Refused> {
        let claims = draft.claims != Claims::None;
        let Some(homes) = self.homes.as_ref().filter(|_| claims) else {
            return Ok(());
        };
        // What is expected with just this tuple is claimed already.
        let claim = |tuple: &Tuple| match self.expectations.contains(tuple) {
            true => Ok(()),
            false => homes.claim(tuple, self.worker),
        };
        claim(&draft.reply)?;
        if draft.claims != Claims::Both {
            return Ok(());
        }
        claim(&draft.original).inspect_err(|_| self.unclaim(&draft.reply))
    }

    /// Gives up the claims of a connection that did not enter.
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

    /// An expected connection came.
    pub(super) fn fulfil(&mut self, draft: &Draft) {
        let homes = self.homes.as_deref();
        let (original, reply) = (&draft.original, &draft.reply);
        self.expectations.fulfil(original, reply, |tuple| {
            let keep = match draft.claims {
                Claims::None => false,
                Claims::Reply => tuple == reply,
                Claims::Both => tuple == original || tuple == reply,
            };
            homes
                .into_iter()
                .for_each(|homes| homes.release_expected(tuple, keep));
        });
    }

    /// Forgets what helpers expect that are not enabled any more.
    pub fn expect_only(&mut self, is_enabled: impl Fn(Helper) -> bool) {
        let homes = self.homes.as_deref();
        let stays = |one: &Expectation| is_enabled(one.helper);
        self.expectations.retain(stays, |tuple| gone(homes, tuple));
    }

    /// What helpers remembered of a connection goes with it.
    pub(super) fn forget_help(&mut self, id: EntryId) {
        let homes = self.homes.as_deref();
        self.expectations.forget(id, |tuple| gone(homes, tuple));
        self.altered.remove(&id.slot);
        self.remainders.forget(id.slot);
    }

    /// What a helper altered in a connection; nothing at first.
    #[inline]
    pub fn altered(&self, slot: Slot) -> Altered {
        self.altered.get(&slot).copied().unwrap_or_default()
    }

    /// Remembers what a helper altered in a connection. False when that is remembered of too many.
    pub fn alter(&mut self, slot: Slot, altered: Altered) -> bool {
        if self.altered.len() >= ALTERED_MAX && !self.altered.contains_key(&slot) {
            return false;
        }
        self.altered.insert(slot, altered);
        true
    }

    /// Sets how long a connection may be silent that is not TCP.
    pub fn set_timeout(&mut self, way: Way, timeout_secs: u32) {
        let place = way.slot().place();
        of_family!(mut self, way.slot().is_ipv6(), part => {
            part.set_state(place, TcpState::None as u8, timeout_secs);
        });
    }
}
