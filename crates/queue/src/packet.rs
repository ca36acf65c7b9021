//! Packets in queues.

use packet::Tuple;

/// Contents of a packet, for example a frame.
pub trait Payload {
    /// Marks congestion (RFC 3168, 5). Returns false without a change if the packet does not support ECN.
    fn mark_congestion(&mut self) -> bool;

    /// Clears the DSCP and keeps the ECN bits.
    fn clear_class(&mut self);
}

/// A packet to queue.
#[derive(Debug)]
pub struct Packet<T> {
    /// The contents.
    pub carries: T,
    /// Length in bytes, including the link header: used for rates and limits.
    pub bytes: u32,
    /// Addresses and ports: disciplines use them to identify flows.
    pub tuple: Tuple,
    /// Type of service: DSCP in the upper 6 bits (RFC 2474, 3).
    pub tos: u8,
    /// Whether the packet is a pure acknowledgement: TCP without payload, SYN, FIN or RST.
    pub is_ack: bool,
}
