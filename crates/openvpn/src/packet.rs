//! Control packets: opcodes, session ids, acknowledgements (OpenVPN `ssl_pkt.c`, `reliable.c`).
//!
//! ```text
//! opcode‖key id 1 · session id 8 │ acknowledgements 1+4n · [peer's session id 8] · [packet id 4 · TLS bytes]
//! └──────────── front ──────────┘ └───────────────────────────── body ─────────────────────────────────────┘
//! ```
//! tls-auth and tls-crypt put their fields between front and body. The peer's session id is present only with
//! acknowledgements; a pure acknowledgement has no packet id.

use crate::fault::Fault;

/// Identifier of one end of a session, chosen at random.
pub(crate) type Sid = [u8; SID_BYTES];

/// Length of a session id in bytes.
pub(crate) const SID_BYTES: usize = 8;
/// Length of opcode, key id and session id in bytes.
pub(crate) const FRONT_BYTES: usize = 1 + SID_BYTES;
/// Acknowledgements of a packet, at most (OpenVPN: `RELIABLE_ACK_SIZE`).
pub(crate) const MAX_ACKS: usize = 8;
/// Largest control packet that is accepted, in bytes.
pub const MAX_CONTROL_BYTES: usize = 2048;

/// Meaning of a packet, in the upper five bits of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// New negotiation of a session, with a new key id.
    SoftReset,
    /// TLS bytes.
    Control,
    /// Acknowledgements alone.
    Ack,
    /// First packet of a client.
    HardResetClient,
    /// First packet of a server.
    HardResetServer,
}

/// Opcodes of data packets.
pub(crate) const DATA_V1: u8 = 6;
pub(crate) const DATA_V2: u8 = 9;

impl Opcode {
    const fn number(self) -> u8 {
        match self {
            Self::SoftReset => 3,
            Self::Control => 4,
            Self::Ack => 5,
            Self::HardResetClient => 7,
            Self::HardResetServer => 8,
        }
    }

    /// Returns the opcode of a packet's first byte.
    ///
    /// # Errors
    /// [`Fault::Data`] for data packets, [`Fault::KeyMethod`] for resets of key method 1 and of tls-crypt-v2, and
    /// [`Fault::Opcode`] for unknown opcodes.
    pub(crate) const fn parse(head: u8) -> Result<Self, Fault> {
        match head >> 3 {
            3 => Ok(Self::SoftReset),
            4 => Ok(Self::Control),
            5 => Ok(Self::Ack),
            7 => Ok(Self::HardResetClient),
            8 => Ok(Self::HardResetServer),
            1 | 2 | 10 | 11 => Err(Fault::KeyMethod),
            DATA_V1 | DATA_V2 => Err(Fault::Data),
            _ => Err(Fault::Opcode),
        }
    }

    /// Returns the first byte of a packet.
    pub(crate) const fn head(self, key_id: u8) -> u8 {
        self.number() << 3 | key_id & 7
    }
}

/// Returns true if a datagram is a data packet, which the control machine does not handle.
pub fn is_data(datagram: &[u8]) -> bool {
    matches!(
        datagram.first().map(|head| head >> 3),
        Some(DATA_V1 | DATA_V2)
    )
}

/// Acknowledged packet ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acks {
    ids: [u32; MAX_ACKS],
    count: usize,
}

impl Acks {
    /// Adds a packet id. Returns false if the list is full.
    pub(crate) fn push(&mut self, id: u32) -> bool {
        let Some(slot) = self.ids.get_mut(self.count) else {
            return false;
        };
        *slot = id;
        self.count += 1;
        true
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.ids[..self.count]
    }
}

/// A message of the reliable channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// Packet id, which counts the messages of a negotiation from 0.
    pub(crate) id: u32,
    /// TLS bytes.
    pub(crate) payload: &'a [u8],
}

/// Body of a control packet: the part that tls-crypt encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    pub(crate) acks: Acks,
    /// Session id of the receiver; only with acknowledgements.
    pub(crate) receiver: Option<Sid>,
    /// Absent in pure acknowledgements.
    pub(crate) message: Option<Message<'a>>,
}

impl<'a> Body<'a> {
    /// Parses the body of a packet.
    ///
    /// # Errors
    /// [`Fault::Malformed`] if it is truncated or has too many acknowledgements.
    pub(crate) fn parse(opcode: Opcode, bytes: &'a [u8]) -> Result<Self, Fault> {
        let (&count, mut rest) = bytes.split_first().ok_or(Fault::Malformed)?;
        let mut acks = Acks::default();
        for _ in 0..count {
            let (id, tail) = rest.split_first_chunk().ok_or(Fault::Malformed)?;
            if !acks.push(u32::from_be_bytes(*id)) {
                return Err(Fault::Malformed);
            }
            rest = tail;
        }
        let mut receiver = None;
        if count > 0 {
            let (sid, tail) = rest.split_first_chunk().ok_or(Fault::Malformed)?;
            receiver = Some(*sid);
            rest = tail;
        }
        let message = match opcode {
            Opcode::Ack => None,
            _ => {
                let (id, payload) = rest.split_first_chunk().ok_or(Fault::Malformed)?;
                let id = u32::from_be_bytes(*id);
                Some(Message { id, payload })
            }
        };
        Ok(Self {
            acks,
            receiver,
            message,
        })
    }

    /// Appends the body.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let acks = self.acks.as_slice();
        out.push(acks.len() as u8);
        for id in acks {
            out.extend_from_slice(&id.to_be_bytes());
        }
        if !acks.is_empty() {
            out.extend_from_slice(&self.receiver.unwrap_or_default());
        }
        if let Some(message) = self.message {
            out.extend_from_slice(&message.id.to_be_bytes());
            out.extend_from_slice(message.payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(acks: &[u32]) -> Body<'static> {
        let mut all = Acks::default();
        acks.iter().for_each(|id| assert!(all.push(*id)));
        Body {
            acks: all,
            receiver: (!acks.is_empty()).then_some([7; 8]),
            message: Some(Message {
                id: 3,
                payload: b"tls",
            }),
        }
    }

    #[test]
    fn bodies_are_read_as_they_were_written_and_no_truncated_header_is_read() {
        for acks in [&[][..], &[0], &[5, 6, 7, 8, 9, 10, 11, 12]] {
            let body = body(acks);
            let mut bytes = Vec::new();
            body.encode(&mut bytes);
            assert_eq!(Body::parse(Opcode::Control, &bytes), Ok(body));
            for len in 0..bytes.len() - 3 {
                assert_eq!(
                    Body::parse(Opcode::Control, &bytes[..len]),
                    Err(Fault::Malformed)
                );
            }
        }
        assert_eq!(
            Body::parse(Opcode::Ack, &[9; 100]),
            Err(Fault::Malformed),
            "nine acknowledgements are too many"
        );
    }

    #[test]
    fn the_first_byte_holds_opcode_and_key_id() {
        assert_eq!(Opcode::HardResetClient.head(0), 0x38);
        assert_eq!(Opcode::parse(0x38), Ok(Opcode::HardResetClient));
        assert_eq!(
            Opcode::parse(Opcode::SoftReset.head(5)),
            Ok(Opcode::SoftReset)
        );
        assert_eq!(Opcode::parse(0x48), Err(Fault::Data));
        assert_eq!(Opcode::parse(0x08), Err(Fault::KeyMethod));
        assert_eq!(Opcode::parse(0xff), Err(Fault::Opcode));
        assert!(is_data(&[0x30]) && is_data(&[0x4f]) && !is_data(&[0x38]) && !is_data(&[]));
    }
}
