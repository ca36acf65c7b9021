//! A batch: plain packets that follow each other, routed by one lookup and classified together.

use core::ops::Range;

use frame::{Frame, InterfaceId, IpsecState};

use super::columns::Columns;
use super::next_hop_cache::NextHopCache;
use crate::connection::{FlowId, NatState, Passed, State, Tracker};
use crate::out::OutId;
use crate::packet::{Fields, Tuple};
use crate::rule::{Class, Ipsec, Marks, Of, Packets, TOGETHER};
use crate::table::NextHopId;
use crate::walk::Context;
use crate::walk::decide::CHUNK;
use crate::walk::decide::chains::ipsec_state;
use crate::walk::decide::passage::PreroutingResult;
use crate::walk::decide::translation::turn_destination;
use crate::walk::routing;
use crate::walk::routing::{Address, Flow};

/// Consecutive plain packets of one family, with one array per field.
pub(in crate::walk) struct FlowBatch {
    len: usize,
    ipv6: bool,
    /// Positions in the chunk.
    places: [u8; CHUNK],
    ways: [Option<FlowId>; CHUNK],
    passed: [Passed; CHUNK],
    lens: [u32; CHUNK],
    hops: [NextHopId; CHUNK],
    /// All packets share ingress interface and next hop.
    alike: bool,
    /// Union of the packets' translations.
    nat: NatState,
    /// One bit per packet whose prerouting rules were evaluated; `early` has the results.
    evaluated: u64,
    early: [PreroutingResult; CHUNK],
    /// Columns of the packets in the batch, followed by those of later packets of the chunk at their
    /// positions in the chunk.
    pub(in crate::walk) columns: Columns,
    state: [u32; CHUNK],
    /// Classes of the egress interfaces.
    egress: [u32; CHUNK],
    /// One bit per packet that an IPsec policy protects or stops.
    policed: u64,
    /// The outs of protected packets; [`OutId::NONE`] for packets that a policy stops.
    protects: [OutId; CHUNK],
}

/// An IPsec policy stops the packet, or may stop it.
pub(in crate::walk) struct Unadmitted;

/// A packet of a batch.
#[derive(Clone, Copy)]
pub(in crate::walk) struct BatchedPacket {
    /// Position in the chunk.
    pub(in crate::walk) place: usize,
    /// The connection, if the packet is tracked.
    pub(in crate::walk) way: Option<FlowId>,
    pub(in crate::walk) passed: Passed,
    pub(in crate::walk) hop: NextHopId,
    /// Length in bytes, as [`Fields::len`].
    pub(in crate::walk) len: u32,
}

impl FlowBatch {
    pub(in crate::walk) fn new() -> Self {
        const NOTHING: Passed = Passed {
            nat: NatState(0),
            mark: 0,
        };
        Self {
            len: 0,
            ipv6: false,
            places: [0; CHUNK],
            ways: [None; CHUNK],
            passed: [NOTHING; CHUNK],
            lens: [0; CHUNK],
            hops: [NextHopId::NO_ROUTE; CHUNK],
            alike: false,
            nat: NatState(0),
            evaluated: 0,
            early: [PreroutingResult::default(); CHUNK],
            columns: Columns::new(),
            state: [0; CHUNK],
            egress: [0; CHUNK],
            policed: 0,
            protects: [OutId::NONE; CHUNK],
        }
    }

    /// Returns true if the batch holds packets of the other family and must be finished first.
    #[inline(always)]
    pub(in crate::walk) fn is_closed(&self, ipv6: bool) -> bool {
        (self.len > 0) & (self.ipv6 != ipv6)
    }

    /// Stores a packet at index `at` of the batch, with its position in the chunk (not below `at`)
    /// and its length in bytes. The caller then [closes](Self::close) the batch. The batch must not
    /// hold packets of the other family.
    #[inline(always)]
    pub(in crate::walk) fn put<const IPV6: bool>(
        &mut self,
        at: usize,
        place: usize,
        len: u32,
        way: Option<FlowId>,
        passed: Passed,
    ) {
        let at = at % CHUNK;
        self.places[at] = place as u8;
        self.ways[at] = way;
        self.passed[at] = passed;
        self.nat.0 |= passed.nat.0;
        self.lens[at] = len;
        self.state[at] = Of::state(state(way), passed.nat);
        if at != place {
            self.columns.copy::<IPV6>(place, at);
        }
    }

    /// Writes the translated destinations of the packets to the columns, and to the fields whose
    /// bit in `read` is set. Not inlined: keeps the hot loop within its registers.
    #[inline(never)]
    pub(in crate::walk) fn turn<const IPV6: bool>(
        &mut self,
        fields: &mut [Fields; CHUNK],
        read: u64,
        tracker: &Tracker,
    ) {
        for at in 0..self.len.min(CHUNK) {
            let (Some(way), true) = (self.ways[at], self.passed[at].nat != NatState::default())
            else {
                continue;
            };
            let mut tuple = self.columns.tuple::<IPV6>(at);
            turn_destination(tracker, way, &mut tuple);
            self.columns.set_destination::<IPV6>(at, &tuple);
            let place = self.place(at);
            if read >> place & 1 != 0 {
                fields[place].tuple = tuple;
            }
        }
    }

    /// Determines the IPsec processing of translated packets by their translated destinations.
    #[inline(never)]
    pub(in crate::walk) fn turn_ipsec(&mut self, cx: &Context<'_>, frames: &[Frame]) {
        let policies = &cx.snapshot.ipsec.policies;
        for at in 0..self.len.min(CHUNK) {
            let frame = frames.get(self.place(at));
            let Some(frame) = frame.filter(|_| self.passed[at].nat != NatState::default()) else {
                continue;
            };
            let concerned = match self.ipv6 {
                true => self.columns.may_go_in::<true>(at, policies),
                false => self.columns.may_go_in::<false>(at, policies),
            };
            let state = match concerned | (frame.guarded != IpsecState::Clear) {
                true => ipsec_state(cx, &self.tuple(at), frame.guarded),
                false => Ipsec::default(),
            };
            self.columns.set_ipsec(at, state);
        }
    }

    /// Returns the addresses, ports and protocol of a packet, with its translated destination.
    pub(in crate::walk) fn tuple(&self, at: usize) -> Tuple {
        match self.ipv6 {
            true => self.columns.tuple::<true>(at),
            false => self.columns.tuple::<false>(at),
        }
    }

    /// Returns true if any packet is translated.
    #[inline(always)]
    pub(in crate::walk) fn translates(&self) -> bool {
        self.nat != NatState::default()
    }

    /// Sets the number of packets in the batch and their family.
    #[inline(always)]
    pub(in crate::walk) fn close<const IPV6: bool>(&mut self, len: usize) {
        (self.len, self.ipv6) = (len.min(CHUNK), IPV6);
    }

    /// Stores the connection's answer for the packet that will be at index `at` of the batch.
    #[inline(always)]
    pub(in crate::walk) fn keep(&mut self, at: usize, passed: Passed) {
        self.passed[at % CHUNK] = passed;
    }

    /// Appends the packets at these positions, which are not before the batch's end, with their
    /// lengths in bytes. `ways` has the connections of tracked packets, whose results
    /// [`Self::keep`] has stored; `None` for untracked packets.
    #[inline(always)]
    pub(in crate::walk) fn add<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        lens: &[u32],
        ways: Option<&[Option<FlowId>]>,
    ) {
        let from = self.len;
        let to = from..from + places.len();
        self.lens[to.clone()].copy_from_slice(lens);
        let is = match ways {
            Some(ways) => {
                self.ways[to.clone()].copy_from_slice(ways);
                State::Established
            }
            None => {
                self.ways[to.clone()].fill(None);
                self.passed[to.clone()].fill(Passed::default());
                State::Untracked
            }
        };
        let passed = &self.passed[to.clone()];
        let mut nat = 0;
        for (state, passed) in self.state[to.clone()].iter_mut().zip(passed) {
            *state = Of::state(is, passed.nat);
            nat |= passed.nat.0;
        }
        self.nat.0 |= nat;
        for (to, place) in self.places[to.clone()].iter_mut().zip(places.clone()) {
            *to = place as u8;
        }
        if from != places.start {
            self.columns.copy_all::<IPV6>(places, from);
        }
        self.close::<IPV6>(to.end);
    }

    /// Returns the positions in the chunk and the lengths of packets.
    #[inline(always)]
    pub(in crate::walk) fn simply(&self, which: Range<usize>) -> impl Iterator<Item = (&u8, &u32)> {
        let places = self.places.get(which.clone()).unwrap_or_default();
        places.iter().zip(self.lens.get(which).unwrap_or_default())
    }

    /// Returns true if all packets in the range are at most `mtu` bytes long and not translated.
    #[inline(always)]
    pub(in crate::walk) fn is_simple(&self, which: Range<usize>, mtu: u32) -> bool {
        let longest = self.lens[which.clone()]
            .iter()
            .fold(0, |most, len| *len.max(&most));
        let passed = &self.passed[which];
        let nat = passed.iter().fold(0, |nat, passed| nat | passed.nat.0);
        (longest <= mtu) & (nat == 0)
    }

    /// Returns the next hop and the ingress interface of a packet.
    #[inline(always)]
    pub(in crate::walk) fn between(&self, at: usize) -> (NextHopId, InterfaceId) {
        let at = at % CHUNK;
        (self.hops[at], InterfaceId(self.columns.ingress[at]))
    }

    /// Returns the position of a packet in the chunk.
    #[inline(always)]
    pub(in crate::walk) fn place(&self, at: usize) -> usize {
        usize::from(self.places[at % CHUNK]) % CHUNK
    }

    #[inline(always)]
    pub(in crate::walk) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(in crate::walk) fn is_ipv6(&self) -> bool {
        self.ipv6
    }

    #[inline(always)]
    pub(in crate::walk) fn get(&self, at: usize) -> BatchedPacket {
        let at = at % CHUNK;
        BatchedPacket {
            place: usize::from(self.places[at]) % CHUNK,
            way: self.ways[at],
            passed: self.passed[at],
            hop: self.hops[at],
            len: self.lens[at],
        }
    }

    /// Empties the batch.
    #[inline(always)]
    pub(in crate::walk) fn clear(&mut self) {
        (self.len, self.nat, self.evaluated, self.policed) = (0, NatState::default(), 0, 0);
    }

    /// Returns the end of the packets from `from` on that share ingress interface and next hop, and that no IPsec
    /// policy protects or stops.
    #[inline(always)]
    pub(in crate::walk) fn stretch(&self, from: usize) -> usize {
        let clear = (self.policed >> (from % CHUNK)).trailing_zeros() as usize;
        let end = self.len.min(from + clear);
        if self.alike {
            return end;
        }
        let both = self.between(from);
        let others = (from..end).find(|at| self.between(*at) != both);
        others.unwrap_or(end)
    }

    /// Sets the out of a packet's IPsec policy: `None` if the policy stops the packet or may stop it.
    #[inline(always)]
    pub(in crate::walk) fn police(&mut self, at: usize, out: Option<OutId>) {
        let at = at % CHUNK;
        self.policed |= u64::from(out != Some(OutId::NONE)) << at;
        self.protects[at] = out.unwrap_or(OutId::NONE);
    }

    /// Returns the out by which a packet leaves if an IPsec policy protects it, else [`OutId::NONE`].
    ///
    /// # Errors
    /// A policy stops the packet, or may stop it: the decider must decide.
    #[inline(always)]
    pub(in crate::walk) fn protects(&self, at: usize) -> Result<OutId, Unadmitted> {
        let at = at % CHUNK;
        match (self.policed >> at & 1, self.protects[at]) {
            (0, _) => Ok(OutId::NONE),
            (_, OutId::NONE) => Err(Unadmitted),
            (_, out) => Ok(out),
        }
    }

    /// Stores the prerouting result of a packet.
    #[inline(always)]
    pub(in crate::walk) fn remember(&mut self, at: usize, early: PreroutingResult) {
        self.evaluated |= 1 << (at % CHUNK);
        self.early[at % CHUNK] = early;
    }

    /// Sets the connection mark of the packet at `from` and of all later packets of its connection.
    /// Returns a bit for each of the later packets.
    pub(in crate::walk) fn mark(&mut self, from: usize, way: FlowId, mark: u32) -> u64 {
        let mut others = 0;
        for at in from % CHUNK..self.len.min(CHUNK) {
            if self.ways[at].is_some_and(|other| other.slot() == way.slot()) {
                self.passed[at].mark = mark;
                others |= u64::from(at > from) << at;
            }
        }
        others
    }

    /// Returns the prerouting result of a packet, if its rules were evaluated.
    #[inline(always)]
    pub(in crate::walk) fn early(&self, at: usize) -> Option<&PreroutingResult> {
        let at = at % CHUNK;
        (self.evaluated >> at & 1 != 0).then(|| &self.early[at])
    }

    /// Routes packets with a routing mark by the marked table, where that has a route, and the others by routing rules.
    /// The decider decides about packets that a rule discards: they get no route.
    #[inline(never)]
    fn route_by_rules(&mut self, cx: &Context<'_>) {
        let has_rules = !cx.snapshot.rules.is_empty();
        let mut last: Option<(Flow, NextHopId)> = None;
        for at in 0..self.len.min(CHUNK) {
            let flow = self.flow(at);
            if flow.mark != 0 {
                let hop = routing::lookup(cx, flow.mark as u16, flow.destination);
                if hop != NextHopId::NO_ROUTE {
                    self.hops[at] = hop;
                    continue;
                }
            }
            if !has_rules {
                continue;
            }
            let hop = match last {
                Some((before, hop)) if before == flow => hop,
                _ => {
                    let found = routing::beside_main(cx, &flow, self.hops[at]);
                    found.map_or(NextHopId::NO_ROUTE, |(_, hop)| hop)
                }
            };
            last = Some((flow, hop));
            self.hops[at] = hop;
        }
    }

    /// Returns the properties of a packet that routing rules match.
    #[inline(always)]
    fn flow(&self, at: usize) -> Flow {
        let at = at % CHUNK;
        let columns = &self.columns;
        let (source, destination) = match self.ipv6 {
            true => (
                Address::V6(columns.sources6[at]),
                Address::V6(columns.destinations6[at]),
            ),
            false => (
                Address::V4(columns.source[at]),
                Address::V4(columns.destination[at]),
            ),
        };
        Flow {
            ingress: InterfaceId(columns.ingress[at]),
            source,
            destination,
            mark: self.early(at).map_or(0, |early| early.marks.routing),
        }
    }

    /// Routes all packets of the batch.
    #[inline(always)]
    pub(in crate::walk) fn route(&mut self, cx: &Context<'_>, next_hops: &mut NextHopCache) {
        let (main, len) = (cx.fib.main(), self.len.min(CHUNK));
        let hops = &mut self.hops[..len];
        match self.ipv6 {
            true => main
                .ipv6
                .lookup_vector(&self.columns.destinations6[..len], hops),
            false => main
                .ipv4
                .lookup_vector(&self.columns.destination[..len], hops),
        }
        if self.evaluated != 0 || !cx.snapshot.rules.is_empty() {
            self.route_by_rules(cx);
        }
        let hops = &self.hops[..len];
        let ingress = &self.columns.ingress[..len];
        let (hop, by) = (hops[0].0, ingress[0]);
        let hops = hops.iter().fold(0, |others, one| others | (one.0 ^ hop));
        let others = ingress.iter().fold(0, |others, one| others | (one ^ by));
        self.alike = (hops == 0) & (others == 0);
        let mut egress = |at: usize| u32::from(next_hops.get(cx, self.hops[at]).class.0);
        if self.alike {
            self.egress[..len].fill(egress(0));
            return;
        }
        for at in 0..len {
            self.egress[at] = egress(at);
        }
    }
}

/// Returns the connection state of a packet of a batch.
#[inline(always)]
fn state(way: Option<FlowId>) -> State {
    match way {
        Some(_) => State::Established,
        None => State::Untracked,
    }
}

/// The packets of a batch as rules match them.
pub(in crate::walk) struct BatchView<'a> {
    pub(in crate::walk) batch: &'a FlowBatch,
    /// Header fields, by position in the chunk.
    pub(in crate::walk) fields: &'a [Fields; CHUNK],
    /// The packets are routed: their egress interfaces are known.
    pub(in crate::walk) routed: bool,
}

impl Packets for BatchView<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.batch.len
    }

    #[inline(always)]
    fn fields(&self, at: usize) -> &Fields {
        &self.fields[self.batch.place(at)]
    }

    #[inline(always)]
    fn column(&self, of: Of) -> Option<&[u32; TOGETHER]> {
        match of {
            Of::State => Some(&self.batch.state),
            Of::Egress if self.routed => Some(&self.batch.egress),
            _ => self.batch.columns.column(of, self.batch.ipv6),
        }
    }

    #[inline(always)]
    fn addresses(&self, of: Of) -> Option<&[u128; TOGETHER]> {
        self.batch.columns.addresses(of, self.batch.ipv6)
    }

    #[inline(always)]
    fn classes(&self, at: usize) -> (Class, Class) {
        let egress = match self.routed {
            true => Class(self.batch.egress[at % CHUNK] as u16),
            false => Class::NONE,
        };
        (self.batch.columns.class(at), egress)
    }

    #[inline(always)]
    fn state(&self, at: usize) -> (State, NatState) {
        let at = at % CHUNK;
        (state(self.batch.ways[at]), self.batch.passed[at].nat)
    }

    #[inline(always)]
    fn ipsec(&self, at: usize) -> Ipsec {
        self.batch.columns.ipsec(at)
    }

    #[inline(always)]
    fn marks(&self, at: usize) -> Marks {
        match self.batch.early(at) {
            Some(early) => early.marks,
            None => Marks {
                connection: self.batch.passed[at % CHUNK].mark,
                ..Marks::default()
            },
        }
    }
}
