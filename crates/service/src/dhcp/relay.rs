//! DHCP relay agent (RFC 1542, 4; RFC 3046): forwards requests to servers in other networks, and the answers back.
//!
//! The relay agent is stateless: the messages carry all data about a client.

use core::net::Ipv4Addr;

use wire::Mac;

use super::message::{Message, MessageType, code};

/// Maximum number of relay agents on the path of a request (RFC 1542, 4.1.1).
const HOPS: u8 = 16;

/// Sub-options of the relay agent option: circuit id and remote id (RFC 3046, 2.0).
const CIRCUIT: u8 = 1;
const REMOTE: u8 = 2;

/// Configuration of a relay agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Relay address on the client link; the server selects the network and sends its answers by it.
    pub address: Option<Ipv4Addr>,
    /// Requests whose `secs` field is below this number of seconds are ignored, so that a nearer server can answer.
    pub threshold_s: Option<u16>,
    /// Circuit id and remote id of option 82, if the relay adds it.
    pub agent: Option<(Vec<u8>, Vec<u8>)>,
}

/// Reason why a message is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not a request, or not an answer.
    Kind,
    /// Too many relay agents on the path, or the message passed this one before.
    Looped,
    /// The `secs` field is below the threshold.
    Early,
    /// The client itself sent option 82 (RFC 3046, 2.1).
    Forged,
    /// The relay has no address.
    NoAddress,
    /// The message is meant for another relay agent.
    Other,
}

/// Destination of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Broadcast on the client link.
    Everybody,
    /// Unicast to the client, at its assigned or current address.
    Client(Ipv4Addr, Mac),
}

impl Config {
    /// Converts a client's request into the request for the servers.
    ///
    /// # Errors
    /// Returns a [`Fault`] if the request must not be forwarded.
    pub fn request(&self, mut message: Message) -> Result<Message, Fault> {
        if message.is_reply {
            return Err(Fault::Kind);
        }
        let own = self.address.ok_or(Fault::NoAddress)?;
        if message.hops >= HOPS || message.giaddr == own {
            return Err(Fault::Looped);
        }
        if self.threshold_s.is_some_and(|least| message.secs < least) {
            return Err(Fault::Early);
        }
        message.hops += 1;
        if !message.giaddr.is_unspecified() {
            // A relay agent closer to the client has already set `giaddr` and option 82.
            return Ok(message);
        }
        message.giaddr = own;
        if let Some((circuit, remote)) = &self.agent {
            if message.options.contains(code::AGENT) {
                return Err(Fault::Forged);
            }
            let mut value = Vec::new();
            for (part, bytes) in [(CIRCUIT, circuit), (REMOTE, remote)] {
                let len = bytes.len().min(120);
                if len > 0 {
                    value.extend([part, len as u8]);
                    value.extend(&bytes[..len]);
                }
            }
            if !value.is_empty() {
                message.options.set(code::AGENT, value);
            }
        }
        Ok(message)
    }

    /// Converts a server's answer into the answer for the client, and returns its destination.
    ///
    /// # Errors
    /// Returns a [`Fault`] if the answer must not be forwarded.
    pub fn answer(&self, mut message: Message) -> Result<(Message, To), Fault> {
        if !message.is_reply {
            return Err(Fault::Kind);
        }
        if self.address != Some(message.giaddr) {
            return Err(Fault::Other);
        }
        if self.agent.is_some() {
            message.options.remove(code::AGENT);
        }
        let has = |address: Ipv4Addr| Some(address).filter(|address| !address.is_unspecified());
        let address = has(message.yiaddr).or_else(|| has(message.ciaddr));
        let refuses = message.kind() == Some(MessageType::Nak);
        let to = match (address, message.mac()) {
            (Some(address), Some(mac)) if !message.broadcast && !refuses => {
                To::Client(address, mac)
            }
            _ => To::Everybody,
        };
        Ok((message, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn relay() -> Config {
        Config {
            address: Some(OWN),
            threshold_s: None,
            agent: Some((b"ether1".to_vec(), b"remote".to_vec())),
        }
    }

    fn request() -> Message {
        let mut message = Message::default();
        message.chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        message.options.set(code::MESSAGE_TYPE, [1]);
        message
    }

    #[test]
    fn a_relayed_request_has_the_relay_address_and_the_circuit_of_the_client() {
        let passed = relay().request(request()).expect("it is good");
        assert_eq!((passed.giaddr, passed.hops), (OWN, 1));
        let expected = [&[1, 6][..], b"ether1", &[2, 6], b"remote"].concat();
        assert_eq!(passed.options.get(code::AGENT), Some(&expected[..]));

        let near = Message {
            giaddr: [10, 0, 9, 9].into(),
            hops: 3,
            ..request()
        };
        let passed = relay().request(near.clone()).expect("it is good");
        assert_eq!((passed.giaddr, passed.hops), (near.giaddr, 4));
        assert!(!passed.options.contains(code::AGENT));
    }

    #[test]
    fn looped_early_forged_and_invalid_requests_are_not_relayed() {
        let refused = |message: Message, config: Config| config.request(message).err();
        let looped = [
            Message {
                hops: 16,
                ..request()
            },
            Message {
                giaddr: OWN,
                ..request()
            },
        ];
        for message in looped {
            assert_eq!(refused(message, relay()), Some(Fault::Looped));
        }
        let patient = Config {
            threshold_s: Some(5),
            ..relay()
        };
        assert_eq!(refused(request(), patient.clone()), Some(Fault::Early));
        assert_eq!(
            refused(
                Message {
                    secs: 5,
                    ..request()
                },
                patient
            ),
            None
        );
        let mut forged = request();
        forged.options.set(code::AGENT, [1, 1, 7]);
        assert_eq!(refused(forged.clone(), relay()), Some(Fault::Forged));
        let plain = Config {
            agent: None,
            ..relay()
        };
        assert_eq!(refused(forged, plain), None);
        let reply = Message {
            is_reply: true,
            ..request()
        };
        assert_eq!(refused(reply, relay()), Some(Fault::Kind));
        assert_eq!(
            refused(request(), Config::default()),
            Some(Fault::NoAddress)
        );
    }

    #[test]
    fn a_reply_reaches_its_client_without_the_agent_option() {
        let mut answer = Message {
            is_reply: true,
            giaddr: OWN,
            yiaddr: [10, 0, 0, 7].into(),
            ..request()
        };
        answer.options.set(code::MESSAGE_TYPE, [2]);
        answer.options.set(code::AGENT, [1, 1, 7]);
        let (passed, to) = relay().answer(answer.clone()).expect("it is good");
        assert!(!passed.options.contains(code::AGENT));
        let client = To::Client([10, 0, 0, 7].into(), Mac([2, 0, 0, 0, 0, 9]));
        assert_eq!(to, client);
        answer.broadcast = true;
        assert_eq!(
            relay().answer(answer.clone()).expect("it is good").1,
            To::Everybody
        );
        answer.broadcast = false;
        answer.options.set(code::MESSAGE_TYPE, [6]);
        assert_eq!(
            relay().answer(answer.clone()).expect("it is good").1,
            To::Everybody
        );
        answer.giaddr = [10, 0, 0, 2].into();
        assert_eq!(relay().answer(answer).err(), Some(Fault::Other));
        assert_eq!(relay().answer(request()).err(), Some(Fault::Kind));
    }
}
