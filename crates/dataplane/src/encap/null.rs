//! The minimal encapsulation, for tests: IPv4 packets behind an IPv4 header with protocol 253,
//! which is reserved for experiments (RFC 3692, 2.1). A new encapsulation needs such a file and a
//! line in the list.

use core::net::{IpAddr, Ipv4Addr};

use frame::{Frame, InterfaceId, Offload, Pool};

use super::{
    Arrival, Batch, ETHERNET, Encap, Form, IP_BYTES, Outer, OuterPath, mark_decapsulated,
    mark_encapsulated, put, settle,
};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::walk::{Context, Exit};

const PROTOCOL: u8 = 253;
const HEADER: usize = IP_BYTES[0];

/// A null tunnel between two addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Null {
    /// The tunnel's interface.
    pub id: InterfaceId,
    /// This router's address.
    pub local: Ipv4Addr,
    /// The remote address.
    pub remote: Ipv4Addr,
}

impl Null {
    fn write(&self, frame: &mut Frame) -> Result<(), DropReason> {
        mark_encapsulated(frame)?;
        frame.pull_front(usize::from(frame.l3));
        let total = frame.len() + HEADER;
        if !frame.push_front(HEADER + ETHERNET) {
            return Err(DropReason::NoBuffer);
        }
        (frame.l3, frame.offload) = (ETHERNET as u16, Offload::FINISHED);
        let outer = Outer {
            ends: (self.local.into(), self.remote.into()),
            protocol: PROTOCOL,
            tos: 0,
            total,
            id: 0,
        };
        outer.write(&mut frame.bytes_mut()[ETHERNET..]);
        Ok(())
    }
}

fn key(local: Ipv4Addr, remote: Ipv4Addr) -> Ends {
    Ends {
        form: Form::Null,
        port: 0,
        number: 0,
        local: IpAddr::V4(local),
        remote: IpAddr::V4(remote),
    }
}

impl Encap for Null {
    fn ends(&self) -> [Option<Ends>; 2] {
        [Some(key(self.local, self.remote)), None]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        for (at, frame) in frames.iter_mut().enumerate() {
            let next = match self.write(frame) {
                Ok(()) => batch.nexts.by(cx, frame, None, outlet),
                Err(reason) => super::Next::Lost(reason),
            };
            batch.nexts.set(at, next);
        }
    }

    fn encapsulate_unencrypted(
        &self,
        _: &Context<'_>,
        frame: &mut Frame,
        _: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        self.write(frame).map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath {
            direct: None,
            copies: 1,
        })
    }

    fn classify(_: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        let header = packet.first_chunk::<HEADER>()?;
        let [.., a, b, c, d, e, f, g, h] = *header;
        let ends = key([e, f, g, h].into(), [a, b, c, d].into());
        (header[0] == 0x45 && header[9] == PROTOCOL).then_some(Arrival::Of(ends))
    }

    fn decapsulate(
        &self,
        _: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        _: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let mut all = Traffic::default();
        for mut frame in frames {
            all.packets += 1;
            all.bytes += frame.len() as u64;
            let start = usize::from(frame.l3) + HEADER;
            if !interface.running || settle(&mut frame, start, [0x08, 0x00]).is_none() {
                outlet.discard(frame, DropReason::InterfaceDown);
                continue;
            }
            frame.bytes_mut()[..6].copy_from_slice(&interface.mac.0);
            mark_decapsulated(&mut frame, self.id);
            put(&mut None, Item::Arrived(self.id), frame, outlet);
        }
        all
    }
}

mod tests {
    use super::*;
    use crate::encap::tests::add;
    use crate::testing::{MAC, Rig, Udp4, ethernet, seal};

    const TUNNEL: InterfaceId = InterfaceId(10);
    const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    /// Remote end, behind the gateway.
    const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
    /// Host behind the tunnel.
    const INSIDE: u32 = 0x1400_0007;

    #[test]
    fn packets_go_in_and_come_out() {
        let mut rig = Rig::new();
        let null = Null {
            id: TUNNEL,
            local: HERE,
            remote: FAR,
        };
        let hop = add(&mut rig, TUNNEL, null);
        rig.route4(INSIDE & 0xff00_0000, 8, hop);
        let inside = Udp4 {
            destination: INSIDE,
            ..Udp4::default()
        };

        let sent = rig.pass(inside.frame());
        let [frame] = &sent[..] else {
            panic!("{} frames, {:?}", sent.len(), rig.drops());
        };
        let (outer, inner) = frame[ETHERNET..].split_at(HEADER);
        assert_eq!((outer[9], &outer[16..]), (PROTOCOL, &FAR.octets()[..]));
        assert_eq!(inner[16..20], INSIDE.to_be_bytes());

        // The decapsulated packet is forwarded by its own destination.
        let mut packet = outer.to_vec();
        packet[12..16].copy_from_slice(&FAR.octets());
        packet[16..].copy_from_slice(&HERE.octets());
        seal(&mut packet);
        packet.extend(Udp4::default().packet());
        let sent = rig.pass(ethernet(MAC, 0x0800, &packet));
        let [frame] = &sent[..] else {
            panic!("{} frames, {:?}", sent.len(), rig.drops());
        };
        assert_eq!(frame[ETHERNET + 9], 17, "no longer encapsulated");
        assert_eq!(rig.traffic(TUNNEL).tx.packets, 1);
    }
}
