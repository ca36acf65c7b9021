//! A packet as queues see it.

use packet::Tuple;

/// What a packet carries for its owner, such as a frame.
pub trait Carried {
    /// Marks congestion (RFC 3168, 5) in a packet whose ends understand that; false, and nothing changed, in others.
    fn mark_congestion(&mut self) -> bool;

    /// Clears the DSCP; what says congestion stays.
    fn clear_class(&mut self);
}

/// A packet that waits, or asks to.
#[derive(Debug)]
pub struct Packet<T> {
    /// The packet itself.
    pub carries: T,
    /// Its length with its link header, in bytes: what rates and limits count.
    pub bytes: u32,
    /// Between whom it travels; what disciplines tell flows apart by.
    pub tuple: Tuple,
    /// The type of service of its header: DSCP in the upper 6 bits (RFC 2474, 3).
    pub tos: u8,
    /// It acknowledges and carries nothing else: TCP without payload, SYN, FIN or RST.
    pub is_ack: bool,
}
