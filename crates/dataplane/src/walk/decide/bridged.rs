//! Bridge rules: evaluates them for the frames of a chunk and applies their actions.
//!
//! ```text
//! port → switch chip
//!      → nat dstnat → bridging decision ─┬→ filter forward → nat srcnat → port      (for each egress port)
//!                                        └→ filter input → router
//! router → bridging decision → filter output → nat srcnat → port
//! ```
//!
//! The candidate rules of many frames are looked up together; a frame whose candidates do not
//! decide its verdict is evaluated alone. [`Rules::of`] checks once per vector whether a bridge has
//! rules at all.

use frame::{Frame, InterfaceId};
use wire::Mac;

use crate::bridge::Rules;
use crate::bridge::frame_columns::{CHUNK, FrameColumns, PortPair, counted};
use crate::drop::DropReason;
use crate::firewall::{bridge_nat, chip, filter};
use crate::outlet::Outlet;
use crate::packet::link::{Arp, Bpdu, HEADER, Link};
use crate::packet::{Fields, Tuple};
use crate::rule;
use crate::rule::{
    AddressTypes, Ahead, Bridged, ChainId, Class, Facts, First, Helper, Hotspot, Marks, NOBODY,
    Quick, Readdress, Sender, StreamPatterns, Subject, Table, Verdict, Watch,
};
use crate::walk::Context;

/// Positions in the bridge's packet flow where rules are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// At the ingress port, as rules of its switch chip.
    Chip,
    /// Before the bridging decision; may rewrite the destination MAC address.
    Dstnat,
    /// For frames to the router.
    Input,
    /// For frames from port to port.
    Forward,
    /// For frames from the router.
    Output,
    /// Before the egress port; may rewrite the source MAC address.
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

    /// Returns the drop reason of frames that this hook's rules discard.
    pub(crate) const fn reason(self) -> DropReason {
        match self {
            Self::Chip => DropReason::SwitchRule,
            Self::Dstnat | Self::Srcnat => DropReason::BridgeNat,
            Self::Input | Self::Forward | Self::Output => DropReason::BridgeFilter,
        }
    }
}

/// Result of the rules for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameVerdict {
    /// The frame continues, perhaps with other MAC addresses, priority or mark.
    GoesOn,
    /// The frame is dropped for this reason.
    Drop(DropReason),
    /// The frame was turned into an ARP reply and leaves by its ingress port.
    Answers,
}

/// Results of the rules for the frames of a chunk: bit `n` belongs to frame `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameVerdicts {
    /// Dropped frames.
    pub(crate) dropped: u64,
    /// Frames that were turned into ARP replies and leave by their ingress port.
    pub(crate) answers: u64,
    /// Malformed ARP requests that a rule should have answered.
    pub(crate) malformed: u64,
}

impl FrameVerdicts {
    /// Returns the frames whose way through the bridge ends here.
    pub(crate) const fn ended(&self) -> u64 {
        self.dropped | self.answers | self.malformed
    }

    fn set(&mut self, at: usize, verdict: FrameVerdict) {
        let set = match verdict {
            FrameVerdict::GoesOn => return,
            FrameVerdict::Drop(DropReason::ArpMalformed) => &mut self.malformed,
            FrameVerdict::Drop(_) => &mut self.dropped,
            FrameVerdict::Answers => &mut self.answers,
        };
        *set |= 1 << at;
    }
}

/// The frames of a chunk, at most [`CHUNK`].
pub(crate) struct HookInput<'a> {
    pub(crate) frames: &'a mut [Frame],
    pub(crate) ports: &'a [PortPair],
    /// The frames that rules are evaluated for, one bit each.
    pub(crate) which: u64,
}

/// A chain that has rules, and the first of them that may match a frame.
struct HookChain<'a> {
    table: &'a Table,
    id: ChainId,
    ahead: Ahead,
}

/// A frame of the tracer.
pub(crate) struct TracedFrame<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) ports: PortPair,
    /// The frame's marks, which rules change.
    pub(crate) marks: &'a mut Marks,
}

impl<'a> Rules<'a> {
    /// Returns the rules that apply to the frames of this bridge; `None` if all tables are empty.
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

    /// Returns true if this hook has rules.
    pub(crate) fn has(&self, hook: Hook) -> bool {
        self.table(hook).is_some()
    }

    /// Returns the table and chain of a hook; `None` if the chain has no rules.
    #[inline]
    fn table(&self, hook: Hook) -> Option<(&'a Table, ChainId)> {
        let table = match hook {
            Hook::Chip => &self.tables.chip,
            hook if hook.is_nat() => &self.tables.nat,
            _ => &self.tables.filter,
        };
        Some((table, table.busy(hook.chain())?))
    }

    /// Evaluates the rules of a hook for the frames of a chunk.
    #[inline(never)]
    pub(crate) fn evaluate_chunk(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        input: &mut HookInput<'_>,
        frame_columns: &mut FrameColumns,
        outlet: &mut Outlet,
    ) -> FrameVerdicts {
        let mut verdicts = FrameVerdicts::default();
        let Some((table, id)) = self.table(hook) else {
            return verdicts;
        };
        let Some(chain) = table.chain(id) else {
            return verdicts;
        };
        frame_columns.read(chain.parts, input.frames);
        frame_columns.pass(input.ports, self.class, |port| cx.class(port));
        let mut firsts = [First::NOBODY; CHUNK];
        table.ahead(id, frame_columns, &mut firsts);
        let all = input.frames.iter_mut().zip(input.ports).zip(&firsts);
        for (at, ((frame, ports), first)) in all.enumerate().take(CHUNK) {
            if input.which >> at & 1 == 0 {
                continue;
            }
            let verdict = match chain.quick(first) {
                Quick::Accept(NOBODY) => continue,
                Quick::Accept(rule) => {
                    count(rule, frame, outlet);
                    continue;
                }
                Quick::Drop(rule) => {
                    count(rule, frame, outlet);
                    self.drop(hook, frame)
                }
                _ => {
                    let chain = HookChain {
                        table,
                        id,
                        ahead: Ahead::of(*first),
                    };
                    self.evaluate(cx, hook, chain, frame, *ports, outlet)
                }
            };
            verdicts.set(at, verdict);
        }
        verdicts
    }

    /// Evaluates the rules of a hook for one frame.
    pub(crate) fn evaluate_one(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        frame: &mut Frame,
        ports: PortPair,
        outlet: &mut Outlet,
    ) -> FrameVerdict {
        match self.table(hook) {
            Some((table, id)) => {
                let chain = HookChain {
                    table,
                    id,
                    ahead: Ahead::default(),
                };
                self.evaluate(cx, hook, chain, frame, ports, outlet)
            }
            None => FrameVerdict::GoesOn,
        }
    }

    /// RouterOS: bridge rules cannot drop spanning tree messages.
    fn drop(&self, hook: Hook, frame: &Frame) -> FrameVerdict {
        let bytes = frame.bytes();
        let is_bpdu = || Link::of(bytes).is_some_and(|link| Bpdu::of(&link, bytes).is_some());
        match hook == Hook::Input && is_bpdu() {
            true => FrameVerdict::GoesOn,
            false => FrameVerdict::Drop(hook.reason()),
        }
    }

    /// Evaluates the rules for a frame one by one, and applies their actions.
    #[inline(never)]
    fn evaluate(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        chain: HookChain<'_>,
        frame: &mut Frame,
        ports: PortPair,
        outlet: &mut Outlet,
    ) -> FrameVerdict {
        let Some(parsed) = ParsedFrame::of(frame.bytes(), frame.mark) else {
            return FrameVerdict::Drop(DropReason::EthernetLength);
        };
        let (marks, changes, verdict) = {
            let mut subject = self.subject(cx, &parsed, frame.bytes(), ports);
            let facts = Unconnected(&cx.snapshot.firewall.sought);
            let rules = &mut outlet.memory.rules;
            let HookChain { table, id, ahead } = chain;
            let verdict = ahead.run(
                table,
                id,
                &mut subject,
                &facts,
                rules,
                &mut outlet.rule_events,
            );
            (subject.marks, subject.changes, verdict)
        };
        if outlet.rule_events.has_events() {
            let before = core::mem::replace(&mut frame.ingress, ports.ingress);
            outlet.send_rule_events(frame);
            frame.ingress = before;
        }
        frame.mark = marks.packet;
        if let Some(priority) = changes.priority {
            prioritise(frame, priority & 7, parsed.link.tag.is_some());
        }
        match verdict {
            Verdict::Readdress(how) => self.readdress(frame, &parsed.link, how),
            verdict if ends(verdict) => self.drop(hook, frame),
            _ => FrameVerdict::GoesOn,
        }
    }

    /// Evaluates the rules for a frame of the tracer; commits nothing.
    pub(crate) fn explain<W: Watch>(
        &self,
        cx: &Context<'_>,
        hook: Hook,
        frame: TracedFrame<'_>,
        worker: &mut rule::Worker,
        watch: &mut W,
    ) -> Option<Verdict> {
        let (table, id) = self.table(hook)?;
        let parsed = ParsedFrame::of(frame.bytes, frame.marks.packet)?;
        let mut subject = self.subject(cx, &parsed, frame.bytes, frame.ports);
        let facts = Unconnected(&cx.snapshot.firewall.sought);
        let verdict = rule::run(table, id, &mut subject, &facts, worker, watch);
        *frame.marks = subject.marks;
        Some(verdict)
    }

    fn subject<'f>(
        &self,
        cx: &Context<'_>,
        parsed: &'f ParsedFrame,
        bytes: &'f [u8],
        ports: PortPair,
    ) -> Subject<'f> {
        let through = |port: InterfaceId| match port {
            InterfaceId::NONE => Class::NONE,
            _ => self.class,
        };
        let to = parsed.link.destination;
        let is_port = || {
            cx.interfaces
                .get(ports.ingress)
                .is_some_and(|port| port.mac == to)
        };
        let packet = bytes.get(HEADER..).unwrap_or_default();
        Subject {
            sender: Some(Sender {
                mac: parsed.link.source,
                priority: parsed.link.tag.map_or(0, |tag| tag.tci.pcp()),
            }),
            egress: cx.class(ports.egress),
            leaves_by: ports.egress,
            marks: Marks {
                packet: parsed.mark,
                ..Marks::default()
            },
            bridged: Some(Bridged {
                link: &parsed.link,
                frame: bytes,
                own: to == self.mac || is_port(),
                ingress: through(ports.ingress),
                egress: through(ports.egress),
            }),
            ..Subject::new(&parsed.fields, packet, cx.class(ports.ingress))
        }
    }

    /// Replaces a MAC address of a frame, or turns the frame into an ARP reply.
    fn readdress(&self, frame: &mut Frame, link: &Link, how: Readdress) -> FrameVerdict {
        let (at, mac) = match how {
            Readdress::Destination(mac) => (0, mac),
            Readdress::Redirect => (0, self.mac),
            Readdress::Source(mac) => (6, mac),
            Readdress::ArpReply(mac) => return answer(frame, link, mac),
        };
        if let Some(place) = frame.bytes_mut().get_mut(at..at + 6) {
            place.copy_from_slice(&mac.0);
        }
        FrameVerdict::GoesOn
    }
}

/// The parsed parts of a frame.
struct ParsedFrame {
    link: Link,
    fields: Fields,
    mark: u32,
}

impl ParsedFrame {
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

/// Returns true if a verdict ends the frame's way. Bridge rules neither reject nor translate.
const fn ends(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Drop(_) | Verdict::Reject(..) | Verdict::Tarpit(_) => true,
        Verdict::Accept | Verdict::Translate(_) | Verdict::Readdress(_) => false,
    }
}

/// Counts a frame for a rule that the bit sets alone have chosen.
#[inline]
fn count(rule: u32, frame: &Frame, outlet: &Outlet) {
    let bytes = frame.bytes();
    let Some(packet) = bytes.get(HEADER..) else {
        return;
    };
    let kind = u16::from_be_bytes([bytes[12], bytes[13]]);
    outlet.memory.rules.count(rule, counted(kind, packet));
}

/// Sets the egress priority of a frame, and the priority in its VLAN tag if it has one.
fn prioritise(frame: &mut Frame, priority: u8, has_tag: bool) {
    frame.priority = priority;
    if has_tag && let Some(byte) = frame.bytes_mut().get_mut(HEADER) {
        *byte = *byte & 0x1f | priority << 5;
    }
}

/// Turns an ARP request into a reply on behalf of the address's owner (RFC 826).
fn answer(frame: &mut Frame, link: &Link, mac: Mac) -> FrameVerdict {
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
        return FrameVerdict::Drop(DropReason::ArpMalformed);
    };
    let Some(bytes) = bytes.first_chunk_mut::<LEN>() else {
        return FrameVerdict::Drop(DropReason::ArpMalformed);
    };
    bytes[..6].copy_from_slice(&link.source.0);
    bytes[6..12].copy_from_slice(&mac.0);
    bytes[HEADER + 6..HEADER + 8].copy_from_slice(&REPLY.to_be_bytes());
    bytes[HEADER + 8..HEADER + 14].copy_from_slice(&mac.0);
    bytes[HEADER + 14..HEADER + 18].copy_from_slice(&sought.to_be_bytes());
    bytes[HEADER + 18..HEADER + 24].copy_from_slice(&asker.0);
    bytes[HEADER + 24..].copy_from_slice(&from.to_be_bytes());
    FrameVerdict::Answers
}

/// The matchers beyond the frame itself: bridged frames have no connection.
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
