//! Plain packets that follow each other wait in a run, and are routed and looked up together.

use frame::{Frame, InterfaceId};
use kernels::{Lanes, Work};

use super::{CHUNK, fasttrack};
use crate::connection::{NatState, Passed, State, Way};
use crate::packet::Fields;
use crate::rule::{Ipsec, Marks, Of, Packets, TOGETHER};
use crate::table::NextHopId;
use crate::walk::Context;
use crate::walk::depart::{self, Near};
use crate::walk::passes::Lane;

/// See the module. They are of one family.
pub(super) struct Run {
    len: usize,
    ipv6: bool,
    /// Their places in the chunk.
    places: [u8; CHUNK],
    ways: [Option<Way>; CHUNK],
    passed: [Passed; CHUNK],
    lens: [u32; CHUNK],
    /// Addresses of IPv6.
    sources6: [u128; CHUNK],
    destinations6: [u128; CHUNK],
    hops: [NextHopId; CHUNK],
    /// All of them came by one interface and go to one next hop.
    alike: bool,
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
    /// As in [`Fields`].
    pub(super) len: u32,
}

impl Run {
    pub(super) fn new() -> Self {
        Self {
            len: 0,
            ipv6: false,
            places: [0; CHUNK],
            ways: [None; CHUNK],
            passed: [Passed::default(); CHUNK],
            lens: [0; CHUNK],
            sources6: [0; CHUNK],
            destinations6: [0; CHUNK],
            hops: [NextHopId::NO_ROUTE; CHUNK],
            alike: false,
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

    /// Adds the packet at a place, which came by this interface. The run is not full.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        place: usize,
        way: Option<Way>,
        passed: Passed,
        (fields, ingress): (&Fields, InterfaceId),
    ) {
        let at = self.len % CHUNK;
        let to = &fields.tuple;
        self.places[at] = place as u8;
        self.ways[at] = way;
        self.passed[at] = passed;
        self.lens[at] = fields.len;
        self.columns.state[at] = Of::state(state(way), passed.nat);
        self.columns.ingress[at] = ingress.0;
        match to.ipv6 {
            true => self.destinations6[at] = to.destination,
            false => self.columns.destination[at] = to.destination as u32,
        }
        (self.ipv6, self.columns.complete) = (to.ipv6, false);
        self.len = at + 1;
    }

    /// Fills an empty run with the packets of a chunk.
    fn fill(&mut self, len: usize, ipv6: bool) {
        for (at, place) in self.places.iter_mut().enumerate() {
            *place = at as u8;
        }
        self.ways[..len].fill(None);
        self.passed[..len].fill(Passed::default());
        let untracked = Of::state(State::Untracked, NatState::default());
        self.columns.state[..len].fill(untracked);
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
            len: self.lens[at],
        }
    }

    /// The length of a packet.
    #[inline(always)]
    pub(super) fn packet_len(&self, at: usize) -> u32 {
        self.lens[at % CHUNK]
    }

    /// All are gone.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Where those end that follow each other from `from` on by one interface to one next hop.
    #[inline(always)]
    pub(super) fn stretch(&self, from: usize) -> usize {
        if self.alike {
            return self.len;
        }
        let both = self.between(from);
        let others = (from..self.len).find(|at| self.between(*at) != both);
        others.unwrap_or(self.len)
    }

    /// Routes all of them.
    #[inline(always)]
    pub(super) fn route(&mut self, cx: &Context<'_>, near: &mut Near) {
        let (main, len) = (cx.fib.main(), self.len.min(CHUNK));
        let hops = &mut self.hops[..len];
        match self.ipv6 {
            true => main.ipv6.lookup_vector(&self.destinations6[..len], hops),
            false => main
                .ipv4
                .lookup_vector(&self.columns.destination[..len], hops),
        }
        let ingress = &self.columns.ingress[..len];
        let (hop, by) = (hops[0].0, ingress[0]);
        let hops = hops.iter().fold(0, |others, one| others | (one.0 ^ hop));
        let others = ingress.iter().fold(0, |others, one| others | (one ^ by));
        self.alike = (hops == 0) & (others == 0);
        let mut egress = |at: usize| {
            let ingress = InterfaceId(self.columns.ingress[at]);
            near.get(cx, self.hops[at], ingress).adjacency.egress.0
        };
        if self.alike {
            self.columns.egress[..len].fill(egress(0));
            return;
        }
        for at in 0..len {
            self.columns.egress[at] = egress(at);
        }
    }
}

/// Reads the packets of a chunk of which none is tracked, and puts them into the run, which is empty.
/// False, and nothing done, where they are not all plain and of one family.
pub(super) struct Fill<'a> {
    pub(super) run: &'a mut Run,
    pub(super) frames: &'a [Frame],
    pub(super) lanes: &'a [Lane],
    /// Where rules ask for more than columns: what was read, by place.
    pub(super) fields: Option<&'a mut [Fields; CHUNK]>,
}

impl Work for Fill<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) -> bool {
        match self.lanes.first() {
            Some(Lane::V4) => self.read::<false>(),
            Some(Lane::V6) => self.read::<true>(),
            _ => false,
        }
    }
}

impl Fill<'_> {
    #[inline(always)]
    fn read<const IPV6: bool>(mut self) -> bool {
        let (run, mut plain) = (self.run, true);
        let len = self.frames.len().min(CHUNK);
        let lane = if IPV6 { Lane::V6 } else { Lane::V4 };
        for (at, (frame, is)) in self.frames.iter().zip(self.lanes).enumerate().take(len) {
            let mut fields = Fields::default();
            let usual = fields.read_plain::<IPV6>(depart::packet(frame));
            plain &= (*is == lane) & usual & fasttrack::takes(frame);
            let tuple = &fields.tuple;
            run.lens[at] = fields.len;
            run.columns.ingress[at] = frame.ingress.0;
            run.columns.service[at] = Of::service(tuple);
            if IPV6 {
                run.sources6[at] = tuple.source;
                run.destinations6[at] = tuple.destination;
            } else {
                run.columns.source[at] = tuple.source as u32;
                run.columns.destination[at] = tuple.destination as u32;
            }
            if let Some(all) = &mut self.fields {
                all[at] = fields;
            }
        }
        if plain {
            run.fill(len, IPV6);
        }
        plain
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
    fn addresses(&self, of: Of) -> Option<&[u128; TOGETHER]> {
        match of {
            Of::Source if self.run.ipv6 & self.run.columns.complete => Some(&self.run.sources6),
            Of::Destination if self.run.ipv6 => Some(&self.run.destinations6),
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
