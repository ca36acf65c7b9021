//! Encryption and decryption of data packets allocate nothing, checked with a counting allocator.

use machine::Rng;
use openvpn::data::{Head, Incoming, Outgoing, Receiving, Sending, open_all, seal_all};
use openvpn::{Cipher, DataKeys, Digest, DirectionKeys, Framing, Keys, Suite};
use zeroize::Zeroizing;

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

/// Returns the allocations during `run`.
fn allocated(run: impl FnOnce()) -> u64 {
    let before = kernels::CountingAllocator::count();
    run();
    kernels::CountingAllocator::count() - before
}

#[test]
fn packets_allocate_nothing() {
    let direction = || DirectionKeys {
        cipher: Zeroizing::new([1; 64]),
        hmac: Zeroizing::new([2; 64]),
    };
    let digests =
        Digest::all().flat_map(|digest| Cipher::all().map(move |cipher| (cipher, digest)));
    let sessions: Vec<(Sending, Receiving)> = digests
        .map(|(cipher, digest)| {
            let keys = DataKeys {
                session: 1,
                key_id: 3,
                suite: Suite { cipher, digest },
                peer_id: Some(7),
                framing: Framing::None,
                keys: Keys {
                    send: direction(),
                    receive: direction(),
                },
            };
            let sending = Sending::new(&keys, &mut Rng::seeded(1)).expect("a key");
            (sending, Receiving::new(&keys).expect("a key"))
        })
        .collect();
    let session = |at: usize| &sessions[at / 5 % sessions.len()];
    let mut packets: Vec<_> = (0..700)
        .map(|at| {
            let payload = vec![0x45; at * 31 % 400];
            let layout = session(at).0.layout(&payload);
            let bytes = [vec![0; layout.front], payload, vec![0; layout.back]].concat();
            (layout, bytes)
        })
        .collect();
    let mut outgoing: Vec<_> = { packets.iter_mut().enumerate() }
        .map(|(at, (layout, bytes))| Outgoing::new(&session(at).0, *layout, bytes))
        .collect();
    assert_eq!(allocated(|| seal_all(&mut outgoing)), 0);
    assert!(outgoing.iter().all(|packet| packet.result.is_ok()));
    let mut incoming: Vec<_> = { packets.iter_mut().enumerate() }
        .map(|(at, (_, bytes))| {
            let head = Head::parse(bytes).expect("a data packet");
            Incoming::new(&session(at).1, head, bytes)
        })
        .collect();
    assert_eq!(allocated(|| open_all(&mut incoming)), 0);
    assert!(incoming.iter().all(|packet| packet.result.is_ok()));
}
