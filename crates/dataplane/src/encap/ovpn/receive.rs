//! Decapsulation of an OpenVPN session's packets.

use core::net::SocketAddr;
use core::ops::Range;
use std::sync::Arc;

use frame::{Frame, Offload};
use openvpn::data::{EXIT, Fault, Head, Incoming, Opened, PING, Receiving, open_all};
use smallvec::SmallVec;

use super::send::reason;
use super::session::{Ovpn, Transport};
use crate::drop::DropReason;
use crate::encap::decrypt::{Contents, Decrypt, EncryptedPacket, TOGETHER, WaitingPacket};
use crate::encap::udp::{Delivery, datagram, deliver};
use crate::encap::{ETHERNET, mark_decapsulated, tos};
use crate::interface::Interface;
use crate::walk::Context;

/// Place of a data packet's key among those of its vector, and the packet's head.
pub(super) struct DataKey {
    key: usize,
    head: Head,
}

/// Receives the packets of one vector.
pub(super) struct Receiver<'a> {
    cx: &'a Context<'a>,
    tunnel: &'a Ovpn,
    mac: [u8; 6],
    running: bool,
    /// Keys of the vector's packets: one, or two while keys change.
    keys: SmallVec<[(u8, Arc<Receiving>); 2]>,
    /// The other end, as the session knows it.
    remote: SocketAddr,
    /// Payload of a signal that control passed for the other end.
    pub(super) signal: Option<&'static [u8]>,
}

impl<'a> Receiver<'a> {
    pub(super) fn new(cx: &'a Context<'a>, tunnel: &'a Ovpn, interface: &Interface) -> Self {
        Self {
            cx,
            tunnel,
            mac: interface.mac.0,
            running: interface.running,
            keys: SmallVec::new(),
            remote: tunnel.session.remote(),
            signal: None,
        }
    }

    /// Returns the place of the key with this number.
    fn key(&mut self, key_id: u8) -> Option<usize> {
        let known = self.keys.iter().position(|(id, _)| *id == key_id);
        if known.is_none() {
            let receiving = self.tunnel.session.receiving(key_id)?;
            self.keys.push((key_id, receiving));
        }
        known.or_else(|| self.keys.len().checked_sub(1))
    }

    /// Finds the data packet in a frame: its place, its sender, and the type of service of its datagram.
    fn place(&self, frame: &Frame) -> Option<(Range<usize>, SocketAddr, u8)> {
        let l3 = usize::from(frame.l3);
        let session = &self.tunnel.session;
        match session.transport() {
            Transport::Datagrams => {
                let packet = frame.bytes().get(l3..)?;
                let (from, at) = datagram(packet)?;
                Some((l3 + at.start..l3 + at.end, from, tos(packet)))
            }
            Transport::Stream(_) => Some((l3..frame.len(), session.remote(), 0)),
        }
    }

    /// Takes a signal that control passed. Tasks of connections pass data packets alone, which have other opcodes.
    fn take_signal(&mut self, data: &[u8]) -> bool {
        let is_stream = self.tunnel.session.transport() != Transport::Datagrams;
        let signals: [&'static [u8]; 2] = [&PING, &EXIT];
        let signal = signals.into_iter().find(|signal| *signal == data);
        let signal = signal.filter(|_| is_stream);
        self.signal = signal.or(self.signal);
        signal.is_some()
    }

    /// Returns the place of a decrypted packet's content in its frame, and tells control of authentic packets.
    fn content(
        &self,
        packet: &EncryptedPacket<Option<DataKey>>,
        opened: Opened,
    ) -> Option<Range<usize>> {
        let session = &self.tunnel.session;
        if packet.from != self.remote {
            session.received_from(packet.from);
        }
        let start = packet.at.start;
        match opened {
            Opened::Payload(at) => Some(start + at.start..start + at.end),
            Opened::Exit => {
                session.record_exit();
                None
            }
            Opened::Ping | Opened::Options => None,
        }
    }

    /// Cuts a frame down to the decrypted Ethernet frame at `at`.
    fn extract_frame(&self, frame: &mut Frame, at: &Range<usize>) -> Result<(), DropReason> {
        if at.len() < ETHERNET || !frame.set_len(at.end) {
            return Err(DropReason::OvpnMalformed);
        }
        frame.pull_front(at.start);
        mark_decapsulated(frame, self.tunnel.id);
        (frame.flow, frame.l3, frame.offload) = (0, ETHERNET as u16, Offload::FINISHED);
        Ok(())
    }
}

impl Decrypt for Receiver<'_> {
    /// `None` for a signal, which is in clear text.
    type Key = Option<DataKey>;

    fn locate(&mut self, frame: &Frame) -> Result<EncryptedPacket<Option<DataKey>>, DropReason> {
        let malformed = DropReason::OvpnMalformed;
        let (at, from, tos) = self.place(frame).ok_or(malformed)?;
        let data = frame.bytes().get(at.clone()).ok_or(malformed)?;
        let key = match self.take_signal(data) {
            true => None,
            false => {
                let head = Head::parse(data).ok_or(malformed)?;
                let key = self.key(head.key_id).ok_or(DropReason::OvpnKey)?;
                Some(DataKey { key, head })
            }
        };
        Ok(EncryptedPacket { key, at, from, tos })
    }

    fn decrypt(&self, packets: &mut [WaitingPacket<Option<DataKey>>]) -> Contents {
        let mut incoming = SmallVec::<[Incoming<'_>; TOGETHER]>::new();
        for waiting in &mut *packets {
            if let (Some(DataKey { key, head }), bytes) = waiting.parts()
                && let Some((_, receiving)) = self.keys.get(*key)
            {
                incoming.push(Incoming::new(receiving, *head, bytes));
            }
        }
        open_all(&mut incoming);
        let results: SmallVec<[Result<Opened, Fault>; TOGETHER]> =
            incoming.into_iter().map(|packet| packet.result).collect();
        let mut results = results.into_iter();
        let (mut received, mut is_data) = (0, false);
        let contents = packets.iter().map(|waiting| match &waiting.packet.key {
            None => Ok(None),
            Some(_) => match results.next() {
                Some(Ok(opened)) => {
                    received += waiting.packet.at.len() as u64;
                    is_data |= matches!(opened, Opened::Payload(_));
                    Ok(self.content(&waiting.packet, opened))
                }
                Some(Err(fault)) => Err(reason(fault)),
                None => Err(DropReason::OvpnMalformed),
            },
        });
        let contents = contents.collect();
        if received > 0 {
            self.tunnel
                .session
                .received
                .add(self.cx.now, received, is_data);
        }
        contents
    }

    fn extract(
        &self,
        frame: &mut Frame,
        at: Range<usize>,
        packet: &EncryptedPacket<Option<DataKey>>,
    ) -> Result<(), DropReason> {
        if !self.running {
            return Err(DropReason::InterfaceDown);
        }
        if self.tunnel.has_frames {
            return self.extract_frame(frame, &at);
        }
        let first = frame.bytes().get(at.start).map(|first| first >> 4);
        let ethertype = match first {
            Some(4) => [0x08, 0x00],
            Some(6) => [0x86, 0xdd],
            _ => return Err(DropReason::OvpnMalformed),
        };
        let to = Delivery {
            interface: self.tunnel.id,
            mac: self.mac,
            tos: packet.tos,
        };
        deliver(frame, at, ethertype, &to, DropReason::OvpnMalformed)
    }
}
