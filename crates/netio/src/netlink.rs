//! Requests to the kernel's routing netlink (rtnetlink(7)), one at a time.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Maximum number of attempts for a dump that changes while it is read.
const DUMP_ATTEMPTS: usize = 16;

/// Socket for requests in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Requests a change and waits for its completion.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub(crate) fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut ignored = Vec::new();
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK | flags, &mut ignored)
    }

    /// Sends a query with at most one answer.
    ///
    /// # Errors
    /// Returns the kernel's error, such as "no such device".
    pub(crate) fn query(
        &mut self,
        message: RouteNetlinkMessage,
    ) -> io::Result<Option<RouteNetlinkMessage>> {
        let mut answers = Vec::new();
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK, &mut answers)?;
        Ok(answers.pop())
    }

    /// Requests a table.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub(crate) fn dump(
        &mut self,
        message: RouteNetlinkMessage,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut attempt = 0;
        loop {
            let mut answers = Vec::new();
            let flags = NLM_F_REQUEST | NLM_F_DUMP;
            match self.exchange(message.clone(), flags, &mut answers) {
                Err(error)
                    if error.kind() == io::ErrorKind::Interrupted && attempt < DUMP_ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(answers),
            }
        }
    }

    fn exchange(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        answers: &mut Vec<RouteNetlinkMessage>,
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut changed = false;
        loop {
            let (bytes, _from) = self.socket.recv_from_full()?;
            for message in Messages(&bytes) {
                let message = message?;
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                changed |= message.header.flags & netlink_packet_core::NLM_F_DUMP_INTR != 0;
                match message.payload {
                    NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Done(_) if changed => {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    NetlinkPayload::Done(_) | NetlinkPayload::Error(_) => return Ok(()),
                    _ => {}
                }
            }
        }
    }
}

/// Iterator over the messages in a datagram.
pub(crate) struct Messages<'a>(pub(crate) &'a [u8]);

impl Iterator for Messages<'_> {
    type Item = io::Result<NetlinkMessage<RouteNetlinkMessage>>;

    fn next(&mut self) -> Option<Self::Item> {
        let length = self.0.first_chunk::<4>().map(|b| u32::from_ne_bytes(*b))? as usize;
        // A header has 16 bytes; messages are padded to 4 bytes.
        let (Some(bytes), true) = (self.0.get(..length), length >= 16) else {
            self.0 = &[];
            return Some(Err(io::Error::other("truncated netlink message")));
        };
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(NetlinkMessage::deserialize(bytes).map_err(io::Error::other))
    }
}
