//! Rules of bridges: asks them about the frames of a chunk, and does what they say.
//!
//! ```text
//! port → switch chip
//!      → nat dstnat → bridging decision ─┬→ filter forward → nat srcnat → port      (for each port that it leaves by)
//!                                        └→ filter input → router
//! router → bridging decision → filter output → nat srcnat → port
//! ```
//!
//! Bits of many frames are looked up together; a frame is looked at closely where its bits do not say what becomes of
//! it. Bridges without rules are asked once for each vector ([`Rules::of`]).

use frame::{Frame, InterfaceId};
use wire::Mac;

use crate::bridge::Rules;
use crate::bridge::sheet::{Between, CHUNK, Sheet, counted};
use crate::drop::DropReason;
use crate::firewall::{bridge_nat, chip, filter};
use crate::outlet::Outlet;
use crate::packet::link::{Arp, Bpdu, HEADER, Link};
use crate::packet::{Fields, Tuple};
use crate::rule::{
    self, AddressTypes, Ahead, Bridged, ChainId, Class, Facts, First, Helper, Hotspot, Marks,
    NOBODY, Quick, Readdress, Sender, StreamPatterns, Subject, Table, Verdict, Watch,
};
use crate::walk::Context;

/// Where frames are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// At a port: what its switch chip does.
    Chip,
    /// Before the bridging decision: link addresses of receivers.
    Dstnat,
    /// For the router.
    Input,
    /// From port to port.
    Forward,
    /// The router's own.
    Output,
    /// Before a port: link addresses of senders.
    Srcnat,
}

impl Hook {
    const fn is_nat(self) -> bool {
        matches!(self, Self::Dstnat | Self::Srcnat)
    }

    const fn chain(self) -> ChainId {
        match self {
            Self::Chip => chip::INGRESS,
            Self::Dstnat => bridge_nat::DSTNAT,
            Self::Srcnat => bridge_nat::SRCNAT,
            Self::Input => filter::INPUT,
            Self::Forward => filter::FORWARD,
            Self::Output => filter::OUTPUT,
        }
    }

    /// What a frame is counted as that its rules discard.
    pub(crate) const fn reason(self) -> DropReason {
        match self {
            Self::Chip => DropReason::SwitchRule,
            Self::Dstnat | Self::Srcnat => DropReason::BridgeNat,
            Self::Input | Self::Forward | Self::Output => DropReason::BridgeFilter,
        }
    }
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes on, perhaps with other link addresses, priority or mark.
    GoesOn,
    /// It ends here.
    Drop(DropReason),
    /// It has become the answer to itself, and leaves by the port that it came by.
    Answers,
}

/// What became of the frames of a chunk, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fates {
    /// They end here.
    pub(crate) dropped: u64,
    /// They answer themselves, and leave by the port that they came by.
    pub(crate) answers: u64,
    /// An ARP packet to be answered was malformed.
    pub(crate) malformed: u64,
}

impl Fates {
    /// The frames that go no further on their way.
    pub(crate) const fn ended(&self) -> u64 {
        self.dropped | self.answers | self.malformed
    }

    fn set(&mut self, at: usize, fate: Fate) {
        let set = match fate {
            Fate::GoesOn => return,
            Fate::Drop(DropReason::ArpMalformed) => &mut self.malformed,
            Fate::Drop(_) => &mut self.dropped,
            Fate::Answers => &mut self.answers,
        };
        *set |= 1 << at;
    }
}

/// Frames of a chunk, [`CHUNK`] at most.
pub(crate) struct Asked<'a> {
    pub(crate) frames: &'a mut [Frame],
    pub(crate) ways: &'a [Between],
    /// A bit for each that is asked about.
    pub(crate) which: u64,
}

impl<'a> Rules<'a> {
    /// Those that look at the frames of this bridge; none where there is no rule.
    #[inline]
    pub(crate) fn of(cx: &Context<'a>, bridge: InterfaceId) -> Option<Self> {
        let tables = &cx.snapshot.firewall.bridge;
        if tables.nat.is_empty() && tables.filter.is_empty() && tables.chip.is_empty() {
            return None;
        }
        let line = cx.interfaces.get(bridge);
        Some(Self {
            tables,
            class: cx.class(bridge),
            mac: line.map_or(Mac::ZERO, |line| line.mac),
        })
    }

    /// Whether there are rules of this hook.
    pub(crate) fn has(&self, hook: Hook) -> bool {
        self.table(hook).is_some()
    }

    /// The rules of a hook, where there are any.
    #[inline]
    fn table(&self, hook: Hook) -> Option<(&'a Table, ChainId)> {
        let table = match hook {
            Hook::Chip => &self.tables.chip,
            hook if hook.is_nat() => &self.tables.nat,
            _ => &self.tables.filter,
        };
        Some((table, table.busy(hook.chain())?))
    }

    /// Asks about frames of a chunk.
    #[inline(never)]
    pub(crate) fn ask(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        asked: &mut Asked<'_>,
        sheet: &mut Sheet,
        outlet: &mut Outlet,
    ) -> Fates {
        let mut fates = Fates::default();
        let Some((table, id)) = self.table(hook) else {
            return fates;
        };
        let Some(chain) = table.chain(id) else {
            return fates;
        };
        sheet.read(chain.parts, asked.frames);
        sheet.pass(asked.ways, self.class, |port| cx.class(port));
        let mut firsts = [First::NOBODY; CHUNK];
        table.ahead(id, sheet, &mut firsts);
        let all = asked.frames.iter_mut().zip(asked.ways).zip(&firsts);
        for (at, ((frame, way), first)) in all.enumerate().take(CHUNK) {
            if asked.which >> at & 1 == 0 {
                continue;
            }
            let fate = match chain.quick(first) {
                Quick::Accept(NOBODY) => continue,
                Quick::Accept(rule) => {
                    count(rule, frame, outlet);
                    continue;
                }
                Quick::Drop(rule) => {
                    count(rule, frame, outlet);
                    self.drop(hook, frame)
                }
                _ => self.look(
                    cx,
                    hook,
                    (table, id, Ahead::of(*first)),
                    frame,
                    *way,
                    outlet,
                ),
            };
            fates.set(at, fate);
        }
        fates
    }

    /// Asks about one frame.
    pub(crate) fn ask_one(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        frame: &mut Frame,
        way: Between,
        outlet: &mut Outlet,
    ) -> Fate {
        match self.table(hook) {
            Some((table, id)) => {
                self.look(cx, hook, (table, id, Ahead::default()), frame, way, outlet)
            }
            None => Fate::GoesOn,
        }
    }

    /// RouterOS: no rule keeps messages of the spanning tree from it.
    fn drop(&self, hook: Hook, frame: &Frame) -> Fate {
        let bytes = frame.bytes();
        let is_bpdu = || Link::of(bytes).is_some_and(|link| Bpdu::of(&link, bytes).is_some());
        match hook == Hook::Input && is_bpdu() {
            true => Fate::GoesOn,
            false => Fate::Drop(hook.reason()),
        }
    }

    /// Takes a frame through the rules, and does what they say.
    #[inline(never)]
    fn look(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        (table, id, ahead): (&Table, ChainId, Ahead),
        frame: &mut Frame,
        way: Between,
        outlet: &mut Outlet,
    ) -> Fate {
        let Some(seen) = Seen::of(frame.bytes(), frame.mark) else {
            return Fate::Drop(DropReason::EthernetLength);
        };
        let (marks, changes, verdict) = {
            let mut subject = self.subject(cx, &seen, frame.bytes(), way);
            let facts = Unconnected(&cx.snapshot.firewall.sought);
            let rules = &mut outlet.memory.rules;
            let verdict = ahead.run(table, id, &mut subject, &facts, rules, &mut outlet.told);
            (subject.marks, subject.changes, verdict)
        };
        if outlet.told.has_events() {
            let before = core::mem::replace(&mut frame.ingress, way.ingress);
            outlet.tell(frame);
            frame.ingress = before;
        }
        frame.mark = marks.packet;
        if let Some(priority) = changes.priority {
            prioritise(frame, priority & 7, seen.link.tag.is_some());
        }
        match verdict {
            Verdict::Readdress(how) => self.readdress(frame, &seen.link, how),
            verdict if ends(verdict) => self.drop(hook, frame),
            _ => Fate::GoesOn,
        }
    }

    /// Decides about a frame for the tracer: nothing is committed.
    pub(crate) fn explain<W: Watch>(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        bytes: &[u8],
        (way, marks): (Between, &mut Marks),
        worker: &mut rule::Worker,
        watch: &mut W,
    ) -> Option<Verdict> {
        let (table, id) = self.table(hook)?;
        let seen = Seen::of(bytes, marks.packet)?;
        let mut subject = self.subject(cx, &seen, bytes, way);
        let facts = Unconnected(&cx.snapshot.firewall.sought);
        let verdict = rule::run(table, id, &mut subject, &facts, worker, watch);
        *marks = subject.marks;
        Some(verdict)
    }

    fn subject<'f>(
        &self,
        cx: &Context<'_>,
        seen: &'f Seen,
        bytes: &'f [u8],
        way: Between,
    ) -> Subject<'f> {
        let through = |port: InterfaceId| match port {
            InterfaceId::NONE => Class::NONE,
            _ => self.class,
        };
        let to = seen.link.destination;
        let is_port = || {
            cx.interfaces
                .get(way.ingress)
                .is_some_and(|port| port.mac == to)
        };
        let packet = bytes.get(HEADER..).unwrap_or_default();
        Subject {
            sender: Some(Sender {
                mac: seen.link.source,
                priority: seen.link.tag.map_or(0, |tag| tag.tci.pcp()),
            }),
            egress: cx.class(way.egress),
            leaves_by: way.egress,
            marks: Marks {
                packet: seen.mark,
                ..Marks::default()
            },
            bridged: Some(Bridged {
                link: &seen.link,
                frame: bytes,
                own: to == self.mac || is_port(),
                ingress: through(way.ingress),
                egress: through(way.egress),
            }),
            ..Subject::new(&seen.fields, packet, cx.class(way.ingress))
        }
    }

    /// Gives a frame another link address, or makes it the answer to itself.
    fn readdress(&self, frame: &mut Frame, link: &Link, how: Readdress) -> Fate {
        let (at, mac) = match how {
            Readdress::Destination(mac) => (0, mac),
            Readdress::Redirect => (0, self.mac),
            Readdress::Source(mac) => (6, mac),
            Readdress::ArpReply(mac) => return answer(frame, link, mac),
        };
        if let Some(place) = frame.bytes_mut().get_mut(at..at + 6) {
            place.copy_from_slice(&mac.0);
        }
        Fate::GoesOn
    }
}

/// What was read of a frame.
struct Seen {
    link: Link,
    fields: Fields,
    mark: u32,
}

impl Seen {
    fn of(bytes: &[u8], mark: u32) -> Option<Self> {
        let link = Link::of(bytes)?;
        let packet = &bytes[HEADER..];
        let mut fields = match link.has_ip {
            true => Fields::of(packet),
            false => Fields::default(),
        };
        fields.len = counted(link.kind, packet);
        Some(Self { link, fields, mark })
    }
}

/// Whether a verdict ends a frame's way. Rules of bridges neither reject nor translate.
const fn ends(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Drop(_) | Verdict::Reject(..) | Verdict::Tarpit(_) => true,
        Verdict::Accept | Verdict::Translate(_) | Verdict::Readdress(_) => false,
    }
}

/// Counts a frame for a rule that its bits alone have chosen.
#[inline]
fn count(rule: u32, frame: &Frame, outlet: &Outlet) {
    let bytes = frame.bytes();
    let Some(packet) = bytes.get(HEADER..) else {
        return;
    };
    let kind = u16::from_be_bytes([bytes[12], bytes[13]]);
    outlet.memory.rules.count(rule, counted(kind, packet));
}

/// Sets the priority that a frame leaves with, and that of the tag that it has.
fn prioritise(frame: &mut Frame, priority: u8, has_tag: bool) {
    frame.priority = priority;
    if has_tag && let Some(byte) = frame.bytes_mut().get_mut(HEADER) {
        *byte = *byte & 0x1f | priority << 5;
    }
}

/// Answers a question for a link address, in the place of whoever has the address (RFC 826).
fn answer(frame: &mut Frame, link: &Link, mac: Mac) -> Fate {
    const LEN: usize = HEADER + 28;
    const REPLY: u16 = 2;
    let bytes = frame.bytes_mut();
    let arp = Arp::of(link, bytes);
    let Some(Arp {
        sender_mac: Some(asker),
        sender: Some(from),
        target: Some(sought),
        target_mac: Some(_),
        ..
    }) = arp
    else {
        return Fate::Drop(DropReason::ArpMalformed);
    };
    let Some(bytes) = bytes.first_chunk_mut::<LEN>() else {
        return Fate::Drop(DropReason::ArpMalformed);
    };
    bytes[..6].copy_from_slice(&link.source.0);
    bytes[6..12].copy_from_slice(&mac.0);
    bytes[HEADER + 6..HEADER + 8].copy_from_slice(&REPLY.to_be_bytes());
    bytes[HEADER + 8..HEADER + 14].copy_from_slice(&mac.0);
    bytes[HEADER + 14..HEADER + 18].copy_from_slice(&sought.to_be_bytes());
    bytes[HEADER + 18..HEADER + 24].copy_from_slice(&asker.0);
    bytes[HEADER + 24..].copy_from_slice(&from.to_be_bytes());
    Fate::Answers
}

/// What rules of bridges may ask beyond a frame: they know of no connection.
struct Unconnected<'a>(&'a StreamPatterns);

impl Facts for Unconnected<'_> {
    fn bytes(&self) -> Option<u64> {
        None
    }

    fn rate_bps(&self) -> Option<u64> {
        None
    }

    fn helper(&self) -> Option<Helper> {
        None
    }

    fn is_mapped(&self, _tuple: &Tuple) -> bool {
        false
    }

    fn original(&self) -> Option<Tuple> {
        None
    }

    fn sought(&self) -> Option<&StreamPatterns> {
        Some(self.0)
    }

    fn address_types(&self, _address: u128, _ipv6: bool) -> AddressTypes {
        AddressTypes::UNICAST
    }

    fn realm(&self) -> Option<u32> {
        None
    }

    fn hotspot(&self) -> Hotspot {
        Hotspot::default()
    }
}
