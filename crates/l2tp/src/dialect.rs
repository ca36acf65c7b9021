//! Messages of both versions: their attributes, and their form on the wire.

use machine::Duration;

use crate::avp::{Builder, attribute};
use crate::channel::Outgoing;
use crate::digest::{Integrity, hiding};
use crate::event::{Fault, Pseudowire};
use crate::header::{Control, Version};
use crate::message::{ETHERNET, Message, kind};
use crate::secret::Secret;

/// Silence of the other end before a HELLO (RFC 2661, 6.5).
const HELLO_INTERVAL: Duration = Duration::from_secs(60);
/// Receive window of this end.
const WINDOW: u16 = 16;
/// Speed that a call announces, in bits per second.
const SPEED: u32 = 1_000_000_000;
/// Framing of a call: synchronous.
const SYNCHRONOUS: u32 = 1;
/// Both framings that this end accepts.
const FRAMINGS: u32 = 3;
/// Sublayer of packets: none, or the default one (RFC 3931, 5.4.4).
const SUBLAYERS: [u16; 2] = [0, 1];
/// State of a circuit: active, and new (RFC 3931, 5.4.5).
const ACTIVE: u16 = 3;

/// Version of a tunnel, with what its messages need.
#[derive(Clone, Debug)]
pub(crate) enum Dialect {
    /// Version 2, for PPP.
    Two,
    /// Version 3, for Ethernet.
    Three(Box<VersionThree>),
}

/// What messages of version 3 need.
#[derive(Clone, Debug)]
pub(crate) struct VersionThree {
    pub(crate) integrity: Integrity,
    pub(crate) pseudowire: Pseudowire,
    /// Number of this router.
    pub(crate) router_id: u32,
}

/// A call, as messages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallName<'a> {
    /// Session number of this end.
    pub(crate) id: u32,
    /// Session number of the other end; 0 while unknown.
    pub(crate) remote: u32,
    /// Cookie of packets to this end.
    pub(crate) cookie: &'a [u8],
    /// Whether packets to this end have the sublayer.
    pub(crate) has_sublayer: bool,
}

impl Dialect {
    pub(crate) const fn version(&self) -> Version {
        match self {
            Self::Two => Version::Two,
            Self::Three(_) => Version::Three,
        }
    }

    /// Returns the settings of Ethernet pseudowires; `None` for version 2.
    pub(crate) fn pseudowire(&self) -> Option<&Pseudowire> {
        match self {
            Self::Two => None,
            Self::Three(three) => Some(&three.pseudowire),
        }
    }

    /// Returns the silence of the other end before a HELLO.
    pub(crate) fn hello_interval(&self) -> Duration {
        let own = self.pseudowire().and_then(|own| own.hello_interval);
        own.unwrap_or(HELLO_INTERVAL)
    }

    /// Returns the largest number of a tunnel or session.
    pub(crate) const fn largest_number(&self) -> u32 {
        match self {
            Self::Two => u16::MAX as u32,
            Self::Three(_) => u32::MAX,
        }
    }

    /// Returns the secret of hidden attributes, by the secret of the tunnel.
    pub(crate) fn hiding_secret(&self, secret: Option<&Secret>) -> Option<Secret> {
        match self {
            Self::Two => secret.cloned(),
            Self::Three(_) => secret.map(hiding),
        }
    }

    /// Checks the digest of a message of version 3. The SCCRQ or SCCRP that introduces the other end is given as
    /// `message` too: it has the random bytes of its sender.
    ///
    /// # Errors
    /// The version is not the tunnel's; or the digest is wrong, or is missing although the tunnel has a secret.
    pub(crate) fn check(
        &mut self,
        control: &Control<'_>,
        message: Option<&Message<'_>>,
    ) -> Result<(), Fault> {
        if control.version != self.version() {
            return Err(Fault::Version);
        }
        let Self::Three(three) = self else {
            return Ok(());
        };
        let introduction =
            message.filter(|message| matches!(message.kind, kind::SCCRQ | kind::SCCRP));
        match introduction {
            Some(message) => {
                let mut integrity = three.integrity.clone();
                integrity.learn(message.nonce.as_deref());
                integrity.check(control.encode())?;
                three.integrity = integrity;
                Ok(())
            }
            None => three.integrity.check(control.encode()),
        }
    }

    /// Returns true if the tunnel has a secret, and this end sends no digests.
    pub(crate) fn lacks_digest(&self) -> bool {
        match self {
            Self::Two => false,
            Self::Three(three) => three.integrity.lacks_digest(),
        }
    }

    /// Encodes a message to a tunnel of the other end, with its numbers Ns and Nr.
    pub(crate) fn encode(&self, tunnel: u32, numbers: (u16, u16), message: &Outgoing) -> Vec<u8> {
        let (ns, nr) = numbers;
        let control = Control {
            version: self.version(),
            tunnel,
            session: message.session,
            ns,
            nr,
            body: &message.body,
        };
        let mut bytes = control.encode();
        if let Self::Three(three) = self {
            three.integrity.sign(&mut bytes);
        }
        bytes
    }

    /// Begins a message.
    pub(crate) fn begin(&self, kind: u16) -> Builder {
        match self {
            Self::Two => Builder::new(kind),
            Self::Three(three) => three.integrity.begin(kind),
        }
    }

    /// Returns an acknowledgement: an empty message, or an explicit one, which can have a digest.
    pub(crate) fn acknowledgement(&self) -> Outgoing {
        let body = match self {
            Self::Two => Box::default(),
            Self::Three(_) => self.begin(kind::ACK).finish(),
        };
        Outgoing { session: 0, body }
    }

    /// Begins SCCRQ or SCCRP with the attributes that both have.
    pub(crate) fn describe(&self, kind: u16, host_name: &str, tunnel: u32) -> Builder {
        // An empty name is no name (RFC 2661, 4.4.3).
        let name = match host_name {
            "" => "ferroute",
            name => name,
        };
        let message = self.begin(kind);
        let message = match self {
            Self::Two => message
                .mandatory(attribute::PROTOCOL_VERSION, &[1, 0])
                .mandatory(attribute::FRAMING_CAPABILITIES, &FRAMINGS.to_be_bytes())
                .mandatory(attribute::ASSIGNED_TUNNEL, &(tunnel as u16).to_be_bytes()),
            Self::Three(three) => { three.integrity.add_nonce(message) }
                .mandatory(attribute::ROUTER_ID, &three.router_id.to_be_bytes())
                .mandatory(attribute::ASSIGNED_CONNECTION, &tunnel.to_be_bytes())
                .mandatory(attribute::PSEUDOWIRES, &ETHERNET.to_be_bytes()),
        };
        message
            .mandatory(attribute::HOST_NAME, name.as_bytes())
            .optional(attribute::VENDOR_NAME, b"ferroute")
            .mandatory(attribute::RECEIVE_WINDOW, &WINDOW.to_be_bytes())
    }

    /// Returns StopCCN for the tunnel with this number of this end, with a result and an error code.
    pub(crate) fn stop(&self, tunnel: u32, code: (u16, u16)) -> Outgoing {
        let message = self.begin(kind::STOP_CCN);
        let message = match self {
            Self::Two => {
                message.mandatory(attribute::ASSIGNED_TUNNEL, &(tunnel as u16).to_be_bytes())
            }
            Self::Three(_) => {
                message.mandatory(attribute::ASSIGNED_CONNECTION, &tunnel.to_be_bytes())
            }
        };
        let message = message.mandatory(attribute::RESULT_CODE, &code_bytes(code));
        Outgoing {
            session: 0,
            body: message.finish(),
        }
    }

    /// Returns ICRQ.
    pub(crate) fn request_call(&self, call: CallName<'_>, serial: u32) -> Outgoing {
        let message = self.name(kind::ICRQ, call);
        let message = message.mandatory(attribute::CALL_SERIAL, &serial.to_be_bytes());
        let message = match self {
            Self::Two => message,
            Self::Three(three) => {
                let circuit = three.pseudowire.circuit_id.as_bytes();
                describe_circuit(message, call)
                    .mandatory(attribute::PSEUDOWIRE_TYPE, &ETHERNET.to_be_bytes())
                    .mandatory(attribute::REMOTE_END_ID, circuit)
            }
        };
        to(call, message)
    }

    /// Returns ICRP.
    pub(crate) fn accept_call(&self, call: CallName<'_>) -> Outgoing {
        let message = self.name(kind::ICRP, call);
        match self {
            Self::Two => to(call, message),
            Self::Three(_) => to(call, describe_circuit(message, call)),
        }
    }

    /// Returns ICCN.
    pub(crate) fn connect_call(&self, call: CallName<'_>) -> Outgoing {
        let message = match self {
            Self::Two => Builder::new(kind::ICCN)
                .mandatory(attribute::CONNECT_SPEED, &SPEED.to_be_bytes())
                .mandatory(attribute::FRAMING_TYPE, &SYNCHRONOUS.to_be_bytes()),
            Self::Three(_) => self.name(kind::ICCN, call),
        };
        to(call, message)
    }

    /// Returns CDN, with a result and an error code.
    pub(crate) fn disconnect_call(&self, call: CallName<'_>, code: (u16, u16)) -> Outgoing {
        let message = self.name(kind::CDN, call);
        to(
            call,
            message.mandatory(attribute::RESULT_CODE, &code_bytes(code)),
        )
    }

    /// Begins a message of a call with its numbers.
    fn name(&self, kind: u16, call: CallName<'_>) -> Builder {
        let message = self.begin(kind);
        match self {
            Self::Two => {
                message.mandatory(attribute::ASSIGNED_SESSION, &(call.id as u16).to_be_bytes())
            }
            Self::Three(_) => message
                .mandatory(attribute::LOCAL_SESSION, &call.id.to_be_bytes())
                .mandatory(attribute::REMOTE_SESSION, &call.remote.to_be_bytes()),
        }
    }
}

/// Adds the form of packets to this end, and the state of its circuit.
fn describe_circuit(message: Builder, call: CallName<'_>) -> Builder {
    let message = match call.cookie {
        [] => message,
        cookie => message.mandatory(attribute::COOKIE, cookie),
    };
    let sublayer = SUBLAYERS[usize::from(call.has_sublayer)];
    message
        .mandatory(attribute::SUBLAYER, &sublayer.to_be_bytes())
        .mandatory(attribute::CIRCUIT_STATUS, &ACTIVE.to_be_bytes())
}

fn to(call: CallName<'_>, message: Builder) -> Outgoing {
    Outgoing {
        session: call.remote,
        body: message.finish(),
    }
}

fn code_bytes(code: (u16, u16)) -> Vec<u8> {
    let (result, error) = code;
    [result, error].map(u16::to_be_bytes).concat()
}
