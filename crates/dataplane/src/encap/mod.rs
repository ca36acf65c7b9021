//! Encapsulations of tunnels. Each has a file that implements [`Encap`], and a line in the list.
//!
//! Encapsulation is a pass over the frames for one tunnel. It writes the outer header in front of
//! each frame, and the outer link header too if no rule applies to the router's own packets;
//! otherwise each packet takes the router's output path. Decapsulation is an exit of `input`: the
//! payloads of consecutive packets of one tunnel enter the walk together, on the tunnel's
//! interface. The depth of a frame counts its tunnels, which ends loops.
//!
//! A worker chooses the encapsulation once for a vector, and calls it directly.

pub mod between;
pub mod bridged;
pub mod carrier;
mod decrypt;
pub(crate) mod incomplete;
pub mod l2tp;
pub mod l2tp_ether;
pub mod mppe;
pub mod multilink;
mod next;
#[cfg(test)]
mod null;
mod outer;
pub mod ovpn;
mod pass;
pub mod plain;
pub mod pptp;
mod segment_size;
mod session_data;
mod source;
pub mod stream;
#[cfg(test)]
pub(crate) mod tests;
mod udp;
mod unencrypted;
pub mod vxlan;
pub mod wireguard;

pub(crate) use self::next::{Next, Nexts, beside_ipsec};
pub(crate) use self::outer::{
    IP_BYTES, Outer, UDP_BYTES, congest, make_room, packet_of, settle, tos, write_udp,
};
pub(crate) use self::pass::{
    Arrival, Arrivals, Batch, Encap, arrival, arrive, arrive_by_many, discard_all, divide, leave,
    leave_by_many, mark_decapsulated, mark_encapsulated, put, put_edited,
};
pub(crate) use self::unencrypted::{OuterPath, encapsulate_unencrypted};
pub(crate) use self::vxlan::Targets;

/// Bytes of the Ethernet header in front of every packet in the walk.
pub(crate) const ETHERNET: usize = 14;
/// Maximum number of nested tunnels.
pub(crate) const DEPTH: u8 = 8;

/// Calls a macro with the list. Packets for this router are classified in the order of the list.
macro_rules! encapsulations {
    ($generate:ident) => {
        $generate! {
            /// Packets or frames in packets between two fixed addresses.
            Between(crate::encap::between::Between),
            /// Packets in WireGuard messages; the destination address selects the peer.
            Wireguard(crate::encap::wireguard::Wireguard),
            /// Frames in UDP datagrams; the learned host selects the peer.
            Vxlan(crate::encap::vxlan::Vxlan),
            /// Packets of a PPP session; long ones in fragments.
            Multilink(crate::encap::multilink::Multilink),
            /// Encrypted packets of a PPP session.
            Mppe(crate::encap::mppe::Mppe),
            /// Packets of an L2TP session in datagrams.
            L2tp(crate::encap::l2tp::L2tp),
            /// Frames in packets of an L2TPv3 session.
            L2tpEther(crate::encap::l2tp_ether::L2tpEther),
            /// Packets of an OpenVPN session in datagrams.
            Ovpn(crate::encap::ovpn::Ovpn),
            /// Packets of a PPTP call in GRE, or of a session on a byte stream.
            Plain(crate::encap::plain::Plain),
            /// Frames of a bridge in a PPP session.
            Bridged(crate::encap::bridged::Bridged),
            #[cfg(test)]
            /// IPv4 packets behind a bare IPv4 header, for tests.
            Null(crate::encap::null::Null),
        }
    };
}
use encapsulations;

/// Generates the types.
macro_rules! types {
    ($($(#[cfg($when:meta)])? $(#[doc = $doc:expr])+ $name:ident($settings:ty),)+) => {
        /// The encapsulation of a tunnel.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Encapsulation {
            $($(#[cfg($when)])? $(#[doc = $doc])+ $name($settings),)+
        }

        /// The form of an encapsulation, without its settings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Form {
            $($(#[cfg($when)])? $name,)+
        }

        const FORMS: &[Form] = &[$($(#[cfg($when)])? Form::$name,)+];

        /// Number of forms.
        pub(crate) const COUNT: usize = FORMS.len();

        $($(#[cfg($when)])? impl From<$settings> for Encapsulation {
            fn from(settings: $settings) -> Self {
                Self::$name(settings)
            }
        })+
    };
}

encapsulations!(types);
