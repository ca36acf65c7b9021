//! Interoperability with `boringtun`: either side initiates, with and without preshared key, data both ways.

use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519::{PublicKey, StaticSecret};
use machine::Instant;
use wireguard::{Event, Peer, Preshared};

use crate::end::{End, PEER, address, peer, private};

const START: Instant = Instant::from_secs(100);
const SHARED: [u8; 32] = [1; 32];

fn tunnel(shared: Option<[u8; 32]>) -> Tunn {
    let own = StaticSecret::from([2; 32]);
    let other = PublicKey::from(&StaticSecret::from([1; 32]));
    Tunn::new(own, other, shared, None, 7, None)
}

fn end(shared: bool) -> End {
    let preshared = Preshared::from_base64("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
    let peer = Peer {
        preshared: preshared.filter(|_| shared),
        ..peer(2)
    };
    End::new(1, peer, START)
}

/// Builds an IPv4 packet, which boringtun inspects.
fn packet(last: u8) -> Vec<u8> {
    let mut packet = vec![
        0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, last,
    ];
    packet.resize(40, last);
    packet
}

/// Delivers messages both ways. Returns the packets that boringtun decrypted.
fn carry(end: &mut End, tunnel: &mut Tunn) -> Vec<Vec<u8>> {
    let (mut came, mut place) = (Vec::new(), [0; 2048]);
    for _ in 0..8 {
        for (_, bytes) in core::mem::take(&mut end.out) {
            let mut input = &bytes[..];
            loop {
                match tunnel.decapsulate(None, input, &mut place) {
                    TunnResult::WriteToNetwork(answer) => {
                        let answer = answer.to_vec();
                        end.hear(address(2), &answer, START);
                        // An empty input asks for more queued output.
                        input = &[];
                    }
                    TunnResult::WriteToTunnelV4(packet, _) => {
                        came.push(packet.to_vec());
                        break;
                    }
                    TunnResult::Done => break,
                    other => panic!("{other:?}"),
                }
            }
        }
        end.look(START);
    }
    came
}

#[test]
fn simultaneous_initiations_and_data_succeed() {
    assert_eq!(private(2).public().to_string(), {
        let public = PublicKey::from(&StaticSecret::from([2; 32]));
        wireguard::Public::from_base64(&base64(public.as_bytes()))
            .expect("a key")
            .to_string()
    });
    for shared in [false, true] {
        for ours in [true, false] {
            let mut tunnel = tunnel(shared.then_some(SHARED));
            let mut end = end(shared);
            let mut place = [0; 2048];
            if ours {
                end.send(&packet(1), START);
            } else {
                let TunnResult::WriteToNetwork(first) = tunnel.encapsulate(&packet(9), &mut place)
                else {
                    panic!("a handshake");
                };
                let first = first.to_vec();
                end.hear(address(2), &first, START);
            }
            let mut came = carry(&mut end, &mut tunnel);
            end.send(&packet(2), START);
            came.extend(carry(&mut end, &mut tunnel));
            assert!(came.contains(&packet(2)), "{shared} {ours}");
            let TunnResult::WriteToNetwork(sealed) = tunnel.encapsulate(&packet(3), &mut place)
            else {
                panic!("sealed");
            };
            let sealed = sealed.to_vec();
            end.hear(address(2), &sealed, START);
            assert!(end.came.iter().any(|came| came.starts_with(&packet(3))));
        }
    }
}

#[test]
fn different_preshared_keys_never_connect() {
    let mut tunnel = tunnel(None);
    let mut end = end(true);
    end.handle(Event::Wanted(PEER), START);
    let (_, first) = end.out.pop().expect("a first message");
    let mut place = [0; 2048];
    let answered = tunnel.decapsulate(None, &first, &mut place);
    if let TunnResult::WriteToNetwork(answer) = answered {
        let answer = answer.to_vec();
        end.hear(address(2), &answer, START);
    }
    assert_eq!((end.pairs, end.is_ready()), (0, false));
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}
