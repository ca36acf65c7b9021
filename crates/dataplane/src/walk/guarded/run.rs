//! Plain packets that follow each other wait in a run, and are routed and looked up together.

use frame::{Frame, InterfaceId};

use super::CHUNK;
use crate::connection::{NatState, Passed, State, Way};
use crate::packet::{Fields, Tuple};
use crate::rule::{Ipsec, Marks, Of, Packets, TOGETHER};
use crate::table::NextHopId;
use crate::walk::Context;
use crate::walk::depart::Near;

/// See the module. They are of one family.
pub(super) struct Run {
    len: usize,
    ipv6: bool,
    /// Their places in the chunk.
    places: [u8; CHUNK],
    ways: [Option<Way>; CHUNK],
    passed: [Passed; CHUNK],
    keys6: [u128; CHUNK],
    hops: [NextHopId; CHUNK],
    columns: Columns,
}

/// The numbers that rules tell packets apart by, as [`Of`] has them; addresses of IPv4 alone.
struct Columns {
    /// Sources and services are among them.
    complete: bool,
    source: [u32; CHUNK],
    destination: [u32; CHUNK],
    service: [u32; CHUNK],
    state: [u32; CHUNK],
    ingress: [u32; CHUNK],
    egress: [u32; CHUNK],
}

/// A packet of a run, when its rules are asked.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    /// Its place in the chunk.
    pub(super) place: usize,
    /// Its connection, if it is tracked.
    pub(super) way: Option<Way>,
    pub(super) passed: Passed,
    pub(super) hop: NextHopId,
}

impl Run {
    pub(super) fn new() -> Self {
        Self {
            len: 0,
            ipv6: false,
            places: [0; CHUNK],
            ways: [None; CHUNK],
            passed: [Passed::default(); CHUNK],
            keys6: [0; CHUNK],
            hops: [NextHopId::NO_ROUTE; CHUNK],
            columns: Columns {
                complete: false,
                source: [0; CHUNK],
                destination: [0; CHUNK],
                service: [0; CHUNK],
                state: [0; CHUNK],
                ingress: [0; CHUNK],
                egress: [0; CHUNK],
            },
        }
    }

    /// Whether a packet of this family has to wait until those before it are gone.
    #[inline(always)]
    pub(super) fn is_full(&self, ipv6: bool) -> bool {
        (self.len >= CHUNK) | ((self.len > 0) & (self.ipv6 != ipv6))
    }

    /// Adds the packet at a place, which goes by this tuple. The run is not full.
    #[inline(always)]
    pub(super) fn push(&mut self, place: usize, way: Option<Way>, passed: Passed, to: &Tuple) {
        let at = self.len % CHUNK;
        self.places[at] = place as u8;
        self.ways[at] = way;
        self.passed[at] = passed;
        self.columns.state[at] = Of::state(state(way), passed.nat);
        match to.ipv6 {
            true => self.keys6[at] = to.destination,
            false => self.columns.destination[at] = to.destination as u32,
        }
        (self.ipv6, self.columns.complete) = (to.ipv6, false);
        self.len = at + 1;
    }

    /// Adds the packets of a whole chunk, of one family and untracked. The run is empty.
    #[inline(always)]
    pub(super) fn fill(&mut self, len: usize, ipv6: bool, fields: &[Fields; CHUNK]) {
        let len = len.min(CHUNK);
        for (at, place) in self.places.iter_mut().enumerate() {
            *place = at as u8;
        }
        self.ways[..len].fill(None);
        self.passed[..len].fill(Passed::default());
        let untracked = Of::state(State::Untracked, NatState::default());
        self.columns.state[..len].fill(untracked);
        for (at, fields) in fields.iter().enumerate().take(len) {
            self.columns.service[at] = Of::service(&fields.tuple);
            if ipv6 {
                self.keys6[at] = fields.tuple.destination;
            } else {
                self.columns.source[at] = fields.tuple.source as u32;
                self.columns.destination[at] = fields.tuple.destination as u32;
            }
        }
        (self.ipv6, self.columns.complete) = (ipv6, true);
        self.len = len;
    }

    /// The next hop of a packet, and the interface that it came by.
    #[inline(always)]
    pub(super) fn between(&self, at: usize) -> (NextHopId, InterfaceId) {
        let at = at % CHUNK;
        (self.hops[at], InterfaceId(self.columns.ingress[at]))
    }

    /// The place of a packet in the chunk.
    #[inline(always)]
    pub(super) fn place(&self, at: usize) -> usize {
        usize::from(self.places[at % CHUNK]) % CHUNK
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn is_ipv6(&self) -> bool {
        self.ipv6
    }

    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Waiting {
        let at = at % CHUNK;
        Waiting {
            place: usize::from(self.places[at]) % CHUNK,
            way: self.ways[at],
            passed: self.passed[at],
            hop: self.hops[at],
        }
    }

    /// All are gone.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Routes all of them.
    #[inline(always)]
    pub(super) fn route(&mut self, cx: &Context<'_>, frames: &[Frame], near: &mut Near) {
        let (main, len) = (cx.fib.main(), self.len.min(CHUNK));
        let hops = &mut self.hops[..len];
        match self.ipv6 {
            true => main.ipv6.lookup_vector(&self.keys6[..len], hops),
            false => main
                .ipv4
                .lookup_vector(&self.columns.destination[..len], hops),
        }
        for at in 0..len {
            let place = usize::from(self.places[at]);
            let ingress = frames
                .get(place)
                .map_or(InterfaceId::NONE, |frame| frame.ingress);
            let next = near.get(cx, self.hops[at], ingress);
            self.columns.ingress[at] = ingress.0;
            self.columns.egress[at] = next.adjacency.egress.0;
        }
    }
}

/// What a packet of a run is to its connection.
#[inline(always)]
fn state(way: Option<Way>) -> State {
    match way {
        Some(_) => State::Established,
        None => State::Untracked,
    }
}

/// The packets of a run as rules are to see them.
pub(super) struct Looked<'a> {
    pub(super) run: &'a Run,
    /// By place in the chunk.
    pub(super) fields: &'a [Fields; CHUNK],
    /// Where they leave by is known.
    pub(super) routed: bool,
}

impl Packets for Looked<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.run.len
    }

    #[inline(always)]
    fn fields(&self, at: usize) -> &Fields {
        &self.fields[self.run.place(at)]
    }

    #[inline(always)]
    fn column(&self, of: Of) -> Option<&[u32; TOGETHER]> {
        let columns = &self.run.columns;
        match of {
            Of::Source | Of::Service if !columns.complete => None,
            Of::Source if !self.run.ipv6 => Some(&columns.source),
            Of::Destination if !self.run.ipv6 => Some(&columns.destination),
            Of::Service => Some(&columns.service),
            Of::State => Some(&columns.state),
            Of::Ingress => Some(&columns.ingress),
            Of::Egress if self.routed => Some(&columns.egress),
            _ => None,
        }
    }

    #[inline(always)]
    fn interfaces(&self, at: usize) -> (InterfaceId, InterfaceId) {
        let columns = &self.run.columns;
        let egress = match self.routed {
            true => InterfaceId(columns.egress[at % CHUNK]),
            false => InterfaceId::NONE,
        };
        (InterfaceId(columns.ingress[at % CHUNK]), egress)
    }

    #[inline(always)]
    fn state(&self, at: usize) -> (State, NatState) {
        let at = at % CHUNK;
        (state(self.run.ways[at]), self.run.passed[at].nat)
    }

    #[inline(always)]
    fn ipsec(&self, _at: usize) -> Ipsec {
        Ipsec::default()
    }

    #[inline(always)]
    fn marks(&self, at: usize) -> Marks {
        Marks {
            connection: self.run.passed[at % CHUNK].mark,
            ..Marks::default()
        }
    }
}
