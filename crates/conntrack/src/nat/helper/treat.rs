//! Applies a helper's findings to a packet of its connection.

use super::{Edits, edit};
use crate::nat::apply::{Malformed, PacketLayout};
use crate::nat::rewrite::Layer;
use crate::nat::sequence::{Shift, shift};

/// TCP sequence offsets of a connection with a helper: original direction, reply direction.
pub type Shifts = [Shift; 2];

/// Returns a packet's payload; `None` unless it is a whole TCP segment or UDP datagram. `packet` begins with
/// the network header.
pub fn payload(packet: &[u8], shape: PacketLayout) -> Option<&[u8]> {
    let place = edit::PayloadLayout::of(packet, shape)?;
    packet.get(place.payload()..shape.len as usize)
}

/// Returns the sequence number of a segment's first payload byte, in the sender's numbering; `None` unless
/// the packet is a whole TCP segment. `packet` begins with the network header.
pub fn number(packet: &[u8], shape: PacketLayout) -> Option<u32> {
    const SYN: u8 = 0x02;
    if edit::PayloadLayout::of(packet, shape)?.layer() != Layer::Tcp {
        return None;
    }
    let segment = packet.get(usize::from(shape.upper)..)?;
    let number = u32::from_be_bytes(*segment.get(4..)?.first_chunk()?);
    // A SYN occupies one sequence number (RFC 9293, 3.4).
    Some(number.wrapping_add(u32::from(segment.get(13)? & SYN != 0)))
}

/// Edits a packet's payload and adjusts its TCP sequence numbers. Returns the packet's new length.
///
/// `room` begins with the network header and extends [`Edits::reach`] bytes beyond the packet's end. May be
/// called before or after [`Rewrite::apply`]: all checksums are updated by differences.
///
/// [`Rewrite::apply`]: crate::nat::Rewrite::apply
///
/// # Errors
/// Returns [`Malformed`] with packet and shifts unchanged if the packet is not a whole segment or datagram,
/// or if there is no room.
pub fn treat(
    room: &mut [u8],
    shape: PacketLayout,
    edits: &Edits,
    reply: bool,
    shifts: &mut Shifts,
) -> Result<u32, Malformed> {
    let place = edit::PayloadLayout::of(room, shape).ok_or(Malformed)?;
    let len = match edits.is_empty() {
        true => shape.len,
        false => edit(room, shape, edits)?,
    };
    if place.layer() == Layer::Tcp {
        let segment = room.get_mut(usize::from(shape.upper)..).ok_or(Malformed)?;
        renumber(segment, edits, shape.unfinished, reply, shifts)?;
    }
    Ok(len)
}

/// Records a change of length and adjusts the segment's numbers.
fn renumber(
    segment: &mut [u8],
    edits: &Edits,
    unfinished: bool,
    reply: bool,
    shifts: &mut Shifts,
) -> Result<(), Malformed> {
    let [original, answers] = shifts;
    let (own, other) = match reply {
        false => (original, answers),
        true => (answers, original),
    };
    let number = segment.get(4..).and_then(|tail| tail.first_chunk());
    own.record(
        u32::from_be_bytes(*number.ok_or(Malformed)?),
        edits.growth(0),
    );
    match own.is_none() && other.is_none() {
        true => Ok(()),
        false => shift(segment, own, other, unfinished),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Helper;
    use crate::nat::helper::read;
    use crate::nat::helper::tests::{KnownExpectations, view};
    use crate::nat::tests::{Built, Checksum, shape};
    use packet::protocol;
    use proptest::prelude::*;

    /// Passes one segment through the router; returns its sequence number, acknowledgement number and payload
    /// afterwards.
    fn pass(
        shifts: &mut Shifts,
        reply: bool,
        number: u32,
        acknowledged: u32,
        payload: &[u8],
    ) -> (u32, u32, Vec<u8>) {
        let view = view(Helper::Ftp, protocol::TCP, 21, reply);
        let built = Built {
            tuple: view.forth,
            payload: payload.to_vec(),
            options: false,
            checksum: Checksum::Finished,
        };
        let mut room = built.packet();
        room[24..28].copy_from_slice(&number.to_be_bytes());
        room[28..32].copy_from_slice(&acknowledged.to_be_bytes());
        crate::nat::tests::seal_tcp(&mut room);
        let shape = shape(&room);
        room.resize(room.len() + 100, 0);

        let findings = read(
            super::payload(&room, shape).unwrap(),
            0,
            &view,
            &KnownExpectations::default(),
        );
        let treated = treat(&mut room, shape, &findings.edits, reply, shifts);

        room.truncate(treated.unwrap() as usize);
        let before = room.clone();
        crate::nat::tests::seal_tcp(&mut room);
        assert_eq!(before, room, "the checksum is right");
        let word = |at: usize| u32::from_be_bytes(room[at..at + 4].try_into().unwrap());
        (word(24), word(28), room[40..].to_vec())
    }

    proptest! {
        /// The client's commands, some of which grow, arrive in order, are retransmitted or are lost.
        #[test]
        fn a_stream_arrives_whole_and_is_acknowledged(
            start in any::<u32>(),
            commands in proptest::collection::vec((any::<bool>(), 0..256_u32, 0..4_u32), 1..20),
        ) {
            let mut shifts = Shifts::default();
            let (mut sent, mut received) = (start, start);
            let (mut stream, mut wanted) = (Vec::new(), Vec::new());
            for (names, byte, lost) in commands {
                let (said, becomes) = match names {
                    true => (
                        format!("PORT 10,0,0,2,19,{byte}\r\n"),
                        format!("PORT 198,51,100,1,19,{byte}\r\n"),
                    ),
                    false => (format!("NOOP {byte}\r\n"), format!("NOOP {byte}\r\n")),
                };
                wanted.extend(becomes.as_bytes());
                // The last copy and its acknowledgement arrive; earlier copies or their acknowledgements were
                // lost.
                for copy in 0..=lost {
                    let (number, _, payload) = pass(&mut shifts, false, sent, 7, said.as_bytes());
                    prop_assert_eq!(number, received);
                    prop_assert_eq!(&payload, becomes.as_bytes());
                    if copy == lost {
                        stream.extend(payload);
                    }
                }
                received = received.wrapping_add(becomes.len() as u32);
                sent = sent.wrapping_add(said.len() as u32);
                let (number, acknowledged, _) = pass(&mut shifts, true, 7, received, b"200 Okay.\r\n");
                prop_assert_eq!((number, acknowledged), (7, sent));
            }
            prop_assert_eq!(stream, wanted);
        }
    }
}
