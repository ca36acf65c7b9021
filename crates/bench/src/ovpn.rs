//! OpenVPN sessions by UDP of the benchmark's router, and data packets of the other end.

use core::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use dataplane::encap::ovpn::{Notices, Ovpn, Session, Transport};
use frame::InterfaceId;
use machine::Rng;
use openvpn::data::{Head, Incoming, Opened, Outgoing, Receiving, Sending, open_all, seal_all};
use openvpn::{Bits, Cipher, DataKeys, Digest, DirectionKeys, Framing, Keys, Suite};
use zeroize::Zeroizing;

/// UDP port of both ends.
pub(super) const PORT: u16 = 1194;
/// Number of the session in packets of version 2.
const PEER_ID: u32 = 7;

/// Suite of the rows `ovpn-udp-gcm`.
pub(super) const GCM: Suite = Suite {
    cipher: Cipher::AesGcm(Bits::B128),
    digest: Digest::None,
};
/// Suite of the rows `ovpn-cbc-sha1`.
pub(super) const CBC_SHA1: Suite = Suite {
    cipher: Cipher::AesCbc(Bits::B128),
    digest: Digest::Sha1,
};

/// Returns the keys of both ends, which use one key in both directions.
fn keys(suite: Suite) -> DataKeys {
    let direction = || DirectionKeys {
        cipher: Zeroizing::new([1; 64]),
        hmac: Zeroizing::new([2; 64]),
    };
    DataKeys {
        session: 0,
        key_id: 0,
        suite,
        peer_id: Some(PEER_ID),
        framing: Framing::None,
        keys: Keys {
            send: direction(),
            receive: direction(),
        },
    }
}

/// Returns the session of an interface between both ends. It accepts repeated packets, because the templates repeat.
pub(super) fn session(id: InterfaceId, suite: Suite, ends: [Ipv4Addr; 2]) -> Ovpn {
    let ends = ends.map(|end| SocketAddr::from((end, PORT)));
    let notices = Arc::new(Notices::new(1));
    let session = Session::new(ends, Some(PEER_ID), Transport::Datagrams, 0, notices);
    let keys = keys(suite);
    session.set_sending(Some(Arc::new(sending(suite))));
    session.set_receiving(0, Some(Arc::new(receiving(&keys))));
    Ovpn {
        id,
        session: Arc::new(session),
        has_frames: false,
    }
}

fn sending(suite: Suite) -> Sending {
    Sending::new(&keys(suite), &mut Rng::seeded(1)).expect("keys of the right length")
}

fn receiving(keys: &DataKeys) -> Receiving {
    Receiving::without_window(keys).expect("keys of the right length")
}

/// The other end.
pub(super) struct OtherEnd {
    sending: Sending,
    receiving: Receiving,
}

impl OtherEnd {
    pub(super) fn new(suite: Suite) -> Self {
        Self {
            sending: sending(suite),
            receiving: receiving(&keys(suite)),
        }
    }

    /// Encrypts a packet.
    pub(super) fn encrypt(&self, packet: &[u8]) -> Vec<u8> {
        let layout = self.sending.layout(packet);
        let mut bytes = [&vec![0; layout.front], packet, &vec![0; layout.back]].concat();
        let mut batch = [Outgoing::new(&self.sending, layout, &mut bytes)];
        seal_all(&mut batch);
        assert_eq!(batch[0].result, Ok(()));
        bytes
    }

    /// Decrypts a data packet of the router; `None` if it is not authentic.
    pub(super) fn decrypt(&self, data: &[u8]) -> Option<Vec<u8>> {
        let head = Head::parse(data)?;
        let mut bytes = data.to_vec();
        let mut batch = [Incoming::new(&self.receiving, head, &mut bytes)];
        open_all(&mut batch);
        match batch[0].result.clone().ok()? {
            Opened::Payload(payload) => bytes.get(payload).map(<[u8]>::to_vec),
            _ => None,
        }
    }
}
