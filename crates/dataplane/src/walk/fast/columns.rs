//! Header fields of the packets of a chunk, one array per field, so that connections, routes and
//! rules of many packets are looked up at once.

use core::ops::Range;

use frame::{Frame, InterfaceId};

use crate::ipsec::Policies;
use crate::packet::Tuple;
use crate::rule::{Class, Ipsec, Of, TOGETHER};
use crate::walk::Context;
use crate::walk::decide::CHUNK;
use crate::walk::headers;
use crate::walk::headers::{Headers, column};

/// Fields of a chunk, one column per field. The values are encoded as [`Of`] defines.
pub(in crate::walk) struct Columns {
    pub(in crate::walk) source: [u32; CHUNK],
    pub(in crate::walk) destination: [u32; CHUNK],
    /// IPv6 addresses; the columns above hold IPv4 addresses only.
    pub(in crate::walk) sources6: [u128; CHUNK],
    pub(in crate::walk) destinations6: [u128; CHUNK],
    pub(in crate::walk) service: [u32; CHUNK],
    /// Ports, as [`Tuple::ports`].
    ports: [u64; CHUNK],
    pub(in crate::walk) ingress: [u32; CHUNK],
    /// Classes of the ingress interfaces, valid after [`Self::classify`].
    classes: [u32; CHUNK],
    /// IPsec processing; 0 without policies.
    ipsec: [u32; CHUNK],
}

/// An address type that has columns: IPv4 or IPv6.
pub(in crate::walk) trait AddressColumns: Copy {
    /// Returns the source and destination columns of the family.
    fn kept(columns: &mut Columns) -> (&mut [Self; CHUNK], &mut [Self; CHUNK]);
}

impl AddressColumns for u32 {
    #[inline(always)]
    fn kept(columns: &mut Columns) -> (&mut [Self; CHUNK], &mut [Self; CHUNK]) {
        (&mut columns.source, &mut columns.destination)
    }
}

impl AddressColumns for u128 {
    #[inline(always)]
    fn kept(columns: &mut Columns) -> (&mut [Self; CHUNK], &mut [Self; CHUNK]) {
        (&mut columns.sources6, &mut columns.destinations6)
    }
}

impl Columns {
    pub(in crate::walk) const fn new() -> Self {
        Self {
            source: [0; CHUNK],
            destination: [0; CHUNK],
            sources6: [0; CHUNK],
            destinations6: [0; CHUNK],
            service: [0; CHUNK],
            ports: [0; CHUNK],
            ingress: [0; CHUNK],
            classes: [0; CHUNK],
            ipsec: [0; CHUNK],
        }
    }

    /// Stores the fields of a whole TCP segment or UDP datagram.
    #[inline(always)]
    pub(in crate::walk) fn put<const IPV6: bool>(
        &mut self,
        at: usize,
        tuple: &Tuple,
        ingress: InterfaceId,
    ) {
        let at = at % CHUNK;
        if IPV6 {
            self.sources6[at] = tuple.source;
        } else {
            self.source[at] = tuple.source as u32;
        }
        self.ingress[at] = ingress.0;
        self.set_destination::<IPV6>(at, tuple);
    }

    /// Stores the fields of consecutive whole TCP segments and UDP datagrams, the first at this
    /// position.
    #[inline(always)]
    pub(in crate::walk) fn put_together<H: Headers>(
        &mut self,
        at: usize,
        frames: &[Frame; headers::TOGETHER],
        headers: &H,
    ) {
        let to = at..at + headers::TOGETHER;
        let (sources, destinations) = H::Address::kept(self);
        sources[to.clone()].copy_from_slice(&headers.sources());
        destinations[to.clone()].copy_from_slice(&headers.destinations());
        let (ports, protocols) = (headers.ports(), headers.protocols());
        let service = column(|at| Of::service_of(protocols[at], ports[at]));
        self.service[to.clone()].copy_from_slice(&service);
        for (to, frame) in self.ingress[to.clone()].iter_mut().zip(frames) {
            *to = frame.ingress.0;
        }
        for ((to, ports), protocol) in self.ports[to].iter_mut().zip(ports).zip(protocols) {
            *to = u64::from(protocol) << 32 | u64::from(ports.rotate_left(16));
        }
    }

    /// Replaces the destination address and port of a packet.
    #[inline(always)]
    pub(in crate::walk) fn set_destination<const IPV6: bool>(&mut self, at: usize, tuple: &Tuple) {
        let at = at % CHUNK;
        if IPV6 {
            self.destinations6[at] = tuple.destination;
        } else {
            self.destination[at] = tuple.destination as u32;
        }
        self.ports[at] = tuple.ports();
        self.service[at] = Of::service(tuple);
    }

    /// Stores the classes of the ingress interfaces of the first `len` packets.
    #[inline(always)]
    pub(in crate::walk) fn classify(&mut self, cx: &Context<'_>, len: usize) {
        let len = len.min(CHUNK);
        let (ingress, classes) = (&self.ingress[..len], &mut self.classes[..len]);
        let Some(first) = ingress.first().copied() else {
            return;
        };
        let others = ingress.iter().fold(0, |others, one| others | (one ^ first));
        let class = |interface| u32::from(cx.class(InterfaceId(interface)).0);
        if others == 0 {
            return classes.fill(class(first));
        }
        for (to, interface) in classes.iter_mut().zip(ingress) {
            *to = class(*interface);
        }
    }

    /// Returns false if no IPsec policy has the packet for transmission, with its columns' addresses.
    #[inline(always)]
    pub(in crate::walk) fn may_go_in<const IPV6: bool>(
        &self,
        at: usize,
        policies: &Policies,
    ) -> bool {
        let at = at % CHUNK;
        match IPV6 {
            true => policies.may_have6(self.sources6[at], self.destinations6[at]),
            false => policies.may_have4(self.source[at], self.destination[at]),
        }
    }

    /// Returns false if no IPsec policy concerns the received packet: none has it as one that came out of IPsec, and
    /// none has packets to its destination, whatever source it leaves with.
    #[inline(always)]
    pub(in crate::walk) fn may_be_policed<const IPV6: bool>(
        &self,
        at: usize,
        policies: &Policies,
    ) -> bool {
        let at = at % CHUNK;
        if IPV6 {
            let (source, destination) = (self.sources6[at], self.destinations6[at]);
            policies.may_go_to6(destination) | policies.may_have6(destination, source)
        } else {
            let (source, destination) = (self.source[at], self.destination[at]);
            policies.may_go_to4(destination) | policies.may_have4(destination, source)
        }
    }

    /// Sets the IPsec processing of a packet.
    #[inline(always)]
    pub(in crate::walk) fn set_ipsec(&mut self, at: usize, ipsec: Ipsec) {
        self.ipsec[at % CHUNK] = ipsec.0.into();
    }

    /// Returns the IPsec processing of a packet.
    #[inline(always)]
    pub(in crate::walk) fn ipsec(&self, at: usize) -> Ipsec {
        Ipsec(self.ipsec[at % CHUNK] as u8)
    }

    /// Returns the class of a packet's ingress interface.
    #[inline(always)]
    pub(in crate::walk) fn class(&self, at: usize) -> Class {
        Class(self.classes[at % CHUNK] as u16)
    }

    /// Returns the column of a field; `None` if the field has no column.
    #[inline(always)]
    pub(in crate::walk) fn column(&self, of: Of, ipv6: bool) -> Option<&[u32; TOGETHER]> {
        match of {
            Of::Source if !ipv6 => Some(&self.source),
            Of::Destination if !ipv6 => Some(&self.destination),
            Of::Service => Some(&self.service),
            Of::Ingress => Some(&self.classes),
            Of::Ipsec => Some(&self.ipsec),
            _ => None,
        }
    }

    /// Returns the IPv6 address column of a field; `None` if the field is no address or the family
    /// is IPv4.
    #[inline(always)]
    pub(in crate::walk) fn addresses(&self, of: Of, ipv6: bool) -> Option<&[u128; TOGETHER]> {
        match of {
            Of::Source if ipv6 => Some(&self.sources6),
            Of::Destination if ipv6 => Some(&self.destinations6),
            _ => None,
        }
    }

    /// Returns the addresses, ports and protocol of a packet.
    #[inline(always)]
    pub(in crate::walk) fn tuple<const IPV6: bool>(&self, at: usize) -> Tuple {
        let at = at % CHUNK;
        let (source, destination) = match IPV6 {
            true => (self.sources6[at], self.destinations6[at]),
            false => (self.source[at].into(), self.destination[at].into()),
        };
        Tuple::of(source, destination, self.ports[at], IPV6)
    }

    /// Copies the columns of the packet at `from` to `to`.
    #[inline(always)]
    pub(in crate::walk) fn copy<const IPV6: bool>(&mut self, from: usize, to: usize) {
        let (from, to) = (from % CHUNK, to % CHUNK);
        if IPV6 {
            self.sources6[to] = self.sources6[from];
            self.destinations6[to] = self.destinations6[from];
        } else {
            self.source[to] = self.source[from];
            self.destination[to] = self.destination[from];
        }
        self.service[to] = self.service[from];
        self.ports[to] = self.ports[from];
        self.ingress[to] = self.ingress[from];
        self.ipsec[to] = self.ipsec[from];
    }

    /// Copies the columns of the packets in a range to `to` and the positions after it.
    #[inline(always)]
    pub(in crate::walk) fn copy_all<const IPV6: bool>(&mut self, from: Range<usize>, to: usize) {
        if IPV6 {
            self.sources6.copy_within(from.clone(), to);
            self.destinations6.copy_within(from.clone(), to);
        } else {
            self.source.copy_within(from.clone(), to);
            self.destination.copy_within(from.clone(), to);
        }
        self.service.copy_within(from.clone(), to);
        self.ports.copy_within(from.clone(), to);
        self.ingress.copy_within(from.clone(), to);
        self.ipsec.copy_within(from, to);
    }
}
