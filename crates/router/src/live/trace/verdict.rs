//! The result of a trace, as text.

use dataplane::trace::{End, Walked};
use dataplane::walk::Exit;
use dataplane::{DropReason, PuntReason};
use frame::InterfaceId;
use menu::{Row, Value};

use super::missing::AwaitedAddress;
use crate::drive::Control;

impl Control {
    /// Builds the row of the result for a packet that came by interface `ingress`. `awaited` are addresses without
    /// which routes are missing.
    pub(super) fn end_row(
        &self,
        walked: &Walked,
        ingress: InterfaceId,
        ipv6: bool,
        awaited: &[AwaitedAddress],
    ) -> Row {
        let mut row = Row::default();
        row.set("stage", Value::Word("verdict"));
        let (verdict, mut decision) = self.verdict(walked, ipv6);
        let is_awaited = awaited.iter().any(|awaited| awaited.interface == ingress);
        let is_down =
            is_awaited && matches!(walked.end, End::Exit(Exit::Drop(DropReason::InterfaceDown)));
        if is_down || !awaited.is_empty() && lacks_route(&walked.end) {
            let missing = self.missing(awaited);
            decision = format!("{decision}; still unknown are the addresses of {missing}");
            row.set("missing", Value::text(missing));
        }
        row.set("verdict", Value::Word(verdict));
        row.set("decision", Value::text(decision));
        let egress = &walked.egress;
        if let Some(id) = egress.interface {
            row.set("out-interface", Value::text(self.layout.name(id)));
        }
        if !egress.below.is_empty() {
            row.set("leaves-by", Value::text(self.below(walked)));
        }
        row
    }

    /// Returns the interfaces below the egress interface, as text.
    fn below(&self, walked: &Walked) -> String {
        let below = walked.egress.below.iter();
        below
            .map(|id| self.layout.name(*id))
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Returns the verdict's word, and its explanation.
    fn verdict(&self, walked: &Walked, ipv6: bool) -> (&'static str, String) {
        match walked.end {
            End::Sent(egress) => {
                let sent = format!("sent by {}", self.layout.name(egress));
                match self.leaves_in_others(walked) {
                    true => (
                        "sent",
                        format!("{sent}, and leaves by {}", self.below(walked)),
                    ),
                    false => ("sent", sent),
                }
            }
            End::Exit(
                Exit::Deliver(_)
                | Exit::Decapsulate(_)
                | Exit::Reveal
                | Exit::Punt(PuntReason::Local),
            ) => ("delivered", "delivered to this router".to_owned()),
            End::Exit(Exit::Flood) => ("sent", "sent by ports of its bridge".to_owned()),
            End::Exit(Exit::Collect | Exit::Join(_)) => {
                ("delivered", "held until its datagram is whole".to_owned())
            }
            End::Exit(Exit::Stream) => ("sent", "sent by the connection of its session".to_owned()),
            End::Exit(Exit::Finish { .. }) => ("sent", "sent in pieces".to_owned()),
            End::Exit(Exit::Punt(PuntReason::Unresolved(hop))) => {
                let to = match ipv6 {
                    true => { self.v6.rib.target(hop) }.and_then(|target| self.immediate(&target)),
                    false => { self.v4.rib.target(hop) }.and_then(|target| self.immediate(&target)),
                };
                let to = to.unwrap_or_default();
                let waits = format!("sent to {to} when its link address is known");
                ("sent", waits)
            }
            End::Exit(Exit::Punt(PuntReason::Keyless(_))) => {
                let waits =
                    "sent when the WireGuard peer has answered the handshake that it asks for";
                ("sent", waits.to_owned())
            }
            End::Exit(Exit::Punt(PuntReason::Service { id, .. })) => {
                let service = self.services.table().name(id);
                ("delivered", format!("delivered to this router: {service}"))
            }
            End::Exit(
                Exit::HandOver(_) | Exit::Punt(PuntReason::Redirect(_) | PuntReason::RuleEvent(_)),
            ) => ("delivered", "seen to by this router".to_owned()),
            End::Exit(Exit::Punt(PuntReason::Tarpit)) => {
                ("refused", "held without a window".to_owned())
            }
            // No ICMP error is sent: IKE starts, and retransmitted packets are protected.
            End::Exit(Exit::Punt(PuntReason::Unprotected(_))) => {
                ("discarded", explain(DropReason::IpsecNoKeys))
            }
            End::Exit(Exit::Punt(why)) => (
                "refused",
                format!("discarded, with an error to the sender: {}", why.explain()),
            ),
            End::Exit(Exit::Drop(reason)) => ("discarded", explain(reason)),
        }
    }

    /// Whether the packet leaves encapsulated: by a tunnel, or by IPsec.
    fn leaves_in_others(&self, walked: &Walked) -> bool {
        let Some(egress) = walked.egress.interface else {
            return false;
        };
        let laid = self.layout.interfaces.get(&egress);
        laid.is_some_and(|laid| laid.tunnel.is_some()) && !walked.egress.below.is_empty()
    }
}

/// Whether the packet ends for want of a route or an address.
const fn lacks_route(end: &End) -> bool {
    matches!(
        end,
        End::Exit(
            Exit::Punt(PuntReason::NoRoute)
                | Exit::Drop(
                    DropReason::NoRoute
                        | DropReason::TunnelNoSource
                        | DropReason::VxlanNoSource
                        | DropReason::NatAddress
                        | DropReason::ReversePath
                )
        )
    )
}

fn explain(reason: DropReason) -> String {
    let text = reason.explain();
    let text = text.trim().trim_end_matches('.');
    format!("discarded ({}): {text}", reason.name())
}
