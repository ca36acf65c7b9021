//! Noise handshake by `snow`: two messages that result in two keys (white paper, 5.4.2 to 5.4.5).

use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use crate::key::{Preshared, Private, Public};
use crate::message::NOISE;

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"WireGuard v1 zx2c4 Jason@zx2c4.com";
/// Position of the preshared key in the pattern.
const PSK_POSITION: u8 = 2;
/// Length of the timestamp (TAI64N) in the initiation.
pub(crate) const TIMESTAMP_BYTES: usize = 12;

pub(crate) type Time = [u8; TIMESTAMP_BYTES];

/// Session keys: of messages to the peer, and of messages from the peer.
pub(crate) struct Keys {
    pub(crate) send: Zeroizing<[u8; 32]>,
    pub(crate) receive: Zeroizing<[u8; 32]>,
}

/// Initiator's state after the first message.
pub(crate) struct InitiatorState(HandshakeState);

impl core::fmt::Debug for InitiatorState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("InitiatorState")
    }
}

fn builder(own: &Private) -> Option<Builder<'_>> {
    let builder = Builder::new(PATTERN.parse().ok()?);
    let builder = builder.prologue(PROLOGUE).ok()?;
    builder.local_private_key(own.bytes()).ok()
}

/// Returns the preshared key, or zeros without one.
fn shared(key: Option<&Preshared>) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(key.map_or([0; 32], |key| *key.bytes()))
}

/// Creates a handshake and its first message.
pub(crate) fn begin(
    own: &Private,
    peer: &Public,
    preshared: Option<&Preshared>,
    time: Time,
) -> Option<(InitiatorState, [u8; NOISE[0]])> {
    let preshared = shared(preshared);
    let builder = builder(own)?.remote_public_key(&peer.0).ok()?;
    let builder = builder.psk(PSK_POSITION, &preshared).ok()?;
    let mut state = builder.build_initiator().ok()?;
    let mut message = [0; NOISE[0]];
    let len = state.write_message(&time, &mut message).ok()?;
    (len == message.len()).then_some((InitiatorState(state), message))
}

impl InitiatorState {
    /// Completes the handshake with the second message. A message that fails leaves the state unchanged.
    pub(crate) fn end(&mut self, message: &[u8]) -> Option<Keys> {
        self.0.read_message(message, &mut []).ok()?;
        let (send, receive) = self.0.dangerously_get_raw_split();
        Some(Keys {
            send: Zeroizing::new(send),
            receive: Zeroizing::new(receive),
        })
    }
}

/// Responder's state after the first message.
pub(crate) struct Initiation {
    state: HandshakeState,
    /// Public key of the initiator.
    pub(crate) peer: Public,
    /// Timestamp of the initiator.
    pub(crate) time: Time,
}

/// Processes the first message of a handshake.
pub(crate) fn read(own: &Private, message: &[u8]) -> Option<Initiation> {
    let mut state = builder(own)?.build_responder().ok()?;
    let mut time = [0; TIMESTAMP_BYTES];
    let len = state.read_message(message, &mut time).ok()?;
    let peer = Public(state.get_remote_static()?.try_into().ok()?);
    (len == TIMESTAMP_BYTES).then_some(Initiation { state, peer, time })
}

impl Initiation {
    /// Returns the second message and the session keys.
    pub(crate) fn answer(
        mut self,
        preshared: Option<&Preshared>,
    ) -> Option<([u8; NOISE[1]], Keys)> {
        let preshared = shared(preshared);
        self.state.set_psk(PSK_POSITION.into(), &*preshared).ok()?;
        let mut message = [0; NOISE[1]];
        let len = self.state.write_message(&[], &mut message).ok()?;
        let (receive, send) = self.state.dangerously_get_raw_split();
        let keys = Keys {
            send: Zeroizing::new(send),
            receive: Zeroizing::new(receive),
        };
        (len == message.len()).then_some((message, keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(preshared: [Option<&Preshared>; 2]) -> Option<(Keys, Keys)> {
        let [one, other] = [[1; 32], [2; 32]].map(Private::new);
        let begun = begin(&one, &other.public(), preshared[0], [3; TIMESTAMP_BYTES]);
        let (mut begun, message) = begun.expect("keys");
        let asked = read(&other, &message).expect("it is for this one");
        assert_eq!(
            (asked.peer, asked.time),
            (one.public(), [3; TIMESTAMP_BYTES])
        );
        let (answer, theirs) = asked.answer(preshared[1]).expect("an answer");
        for at in 0..answer.len() {
            let mut altered = answer;
            altered[at] ^= 1;
            assert!(begun.end(&altered).is_none());
        }
        Some((begun.end(&answer)?, theirs))
    }

    #[test]
    fn both_ends_derive_the_same_keys() {
        let key = Preshared::from_base64("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
        for preshared in [None, key.as_ref()] {
            let (ours, theirs) = meet([preshared; 2]).expect("the same shared key");
            assert_eq!(*ours.send, *theirs.receive);
            assert_eq!(*ours.receive, *theirs.send);
            assert_ne!(*ours.send, *ours.receive);
        }
        assert!(meet([None, key.as_ref()]).is_none());
    }

    #[test]
    fn a_message_for_another_key_is_refused() {
        let [one, other, third] = [[1; 32], [2; 32], [3; 32]].map(Private::new);
        let (_, message) = begin(&one, &other.public(), None, [0; TIMESTAMP_BYTES]).expect("keys");
        assert!(read(&third, &message).is_none());
        let mut altered = message;
        altered[50] ^= 1;
        assert!(read(&other, &altered).is_none());
    }
}
