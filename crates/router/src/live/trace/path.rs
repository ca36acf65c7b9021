//! Queues of a traced packet, and its use of the fast path.

use core::net::IpAddr;

use dataplane::connection::{ConnectionCopy, Row as Entry};
use dataplane::packet::protocol;
use dataplane::trace::{End, Walked};
use dataplane::walk::Exit;
use dataplane::{DropReason, PuntReason};
use menu::{Row, Value};
use queue::PacketFields;
use wire::tcp::Flags;

use crate::drive::Control;
use crate::probe::Probe;

impl Control {
    /// Returns a row for each queue that the packet meets behind `postrouting` or `input`.
    pub(super) fn queue_rows(
        &self,
        probe: &Probe,
        known: Option<&ConnectionCopy>,
        walked: &Walked,
    ) -> Vec<Row> {
        let egress = match walked.end {
            // The packet may wait for the link address of its next hop first.
            End::Sent(_) | End::Exit(Exit::Punt(PuntReason::Unresolved(_))) => {
                walked.egress.interface
            }
            End::Exit(exit) if exit.is_local() => None,
            End::Exit(_) => return Vec::new(),
        };
        let Some((ingress, mark)) = walked.marked else {
            return Vec::new();
        };
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => address.into(),
        };
        // Behind dstnat: the destination that routing looked up.
        let sought = walked.lines.iter().find_map(|line| line.sought);
        let seen = PacketFields {
            ipv6: probe.source.is_ipv6(),
            source: bits(probe.source),
            destination: sought.map_or(bits(probe.destination), |sought| sought.destination),
            ingress: ingress.0,
            egress: egress.map_or(0, |egress| egress.0),
            mark,
        };
        let fasttracked = known.is_some_and(|known| {
            self.fasttrack_refuses(probe, &known.row, &walked.end)
                .is_none()
        });
        let number = |name: &str| self.firewall.known_packet_mark(name);
        let met = self
            .features
            .queues
            .met(&seen, egress, fasttracked, &number);
        let row = |decision: String| {
            let mut row = Row::default();
            row.set("stage", Value::Word("queues"));
            row.set("decision", Value::text(decision));
            row
        };
        met.into_iter().map(row).collect()
    }

    /// Adds whether the packet takes the fast path, and the reason if not.
    pub(super) fn path_row(
        &self,
        probe: &Probe,
        known: Option<&ConnectionCopy>,
        walked: &Walked,
    ) -> Row {
        let mut row = Row::default();
        row.set("stage", Value::Word("path"));
        let decision = match is_bridged(walked) {
            true => self.path_of_frame().to_owned(),
            false => self.path_of_packet(probe, known, &walked.end),
        };
        row.set("decision", Value::text(decision));
        row
    }

    fn path_of_frame(&self) -> &'static str {
        let snapshot = self.snapshot();
        let bridge = &snapshot.firewall.bridge;
        match bridge.is_empty() && !bridge.slow {
            true => "fast: it is bridged, and no rule inspects it",
            false => "slow: it is bridged, and rules inspect bridged frames",
        }
    }

    fn path_of_packet(&self, probe: &Probe, known: Option<&ConnectionCopy>, end: &End) -> String {
        let reasons = self.snapshot().family(probe.source.is_ipv6()).slow;
        let mut reasons: Vec<_> = reasons.iter().map(|reason| reason.explain()).collect();
        let fasttrack = known.map(|known| self.fasttrack_refuses(probe, &known.row, end));
        match (reasons.is_empty(), fasttrack) {
            (true, _) => "fast".to_owned(),
            (false, Some(None)) => {
                "fast: FastTrack carries it; rules see only one packet per second, for which the \
                 results above hold"
                    .to_owned()
            }
            (false, refused) => {
                reasons.extend(refused.flatten());
                format!("slow: {}", reasons.join("; "))
            }
        }
    }

    /// Returns why FastTrack does not carry a packet of this connection.
    fn fasttrack_refuses(&self, probe: &Probe, entry: &Entry, end: &End) -> Option<&'static str> {
        let ends = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let tcp = entry.original.protocol == protocol::TCP;
        let of_this_packet = if tcp && !entry.assured {
            Some("its handshake is not complete")
        } else if tcp && probe.segment.flags & ends != 0 {
            Some("SYN, FIN and RST change the connection's state")
        } else {
            self.cannot_be_carried(probe, end)
        };
        self.slow_reason(entry).or(of_this_packet)
    }

    /// Returns why no FastTrack connection could carry the packet; `None` if one could.
    fn cannot_be_carried(&self, probe: &Probe, end: &End) -> Option<&'static str> {
        let egress = match *end {
            End::Sent(egress) => egress,
            // FastTrack skips the rules.
            End::Exit(Exit::Drop(
                DropReason::FirewallRaw | DropReason::FirewallMangle | DropReason::FirewallFilter,
            ))
            | End::Exit(Exit::Punt(PuntReason::Rejected(_) | PuntReason::Tarpit)) => return None,
            End::Exit(_) => return Some("it is not forwarded unchanged"),
        };
        let egress = self.published.table().get(egress);
        let fits = egress.is_some_and(|egress| probe.len() <= egress.mtu as usize);
        (!fits).then_some("it is longer than its link's MTU")
    }
}

/// Whether a bridge forwards the frame between its ports, without routing.
fn is_bridged(walked: &Walked) -> bool {
    let leaves = matches!(walked.end, End::Sent(_) | End::Exit(Exit::Flood));
    leaves && walked.marked.is_none()
}
