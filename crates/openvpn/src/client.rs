//! A client: one session with a server.
//!
//! ```text
//! Connect ─reset, TLS, records▶ Pulling ─PUSH_REPLY▶ Open ─EXIT, RESTART, timeout, Close▶ gone
//! ```
//! A session that ends is reported once. The owner decides when to connect again.

use machine::{Duration, Instant, Machine, Rng};
use zeroize::Zeroizing;

use crate::event::{Action, ClientEvent, ClientSettings, Failure, Opened, Reason};
use crate::fault::Fault;
use crate::options::{Options, RemoteOptions};
use crate::packet::{MAX_CONTROL_BYTES, is_data};
use crate::path::Path;
use crate::peer_info::{PeerInfo, proto};
use crate::push::{MAX_MESSAGES, Push, REPLY};
use crate::record::{Record, Source};
use crate::server::Timer;
use crate::session::{Notice, Parameters, Session, Start};
use crate::suite::{Bits, Cipher, Digest, Suite};

/// Time between requests of options (OpenVPN: `PUSH_REQUEST_INTERVAL`).
const REQUEST_INTERVAL: Duration = Duration::from_secs(5);
/// Longest time that a server may ask for to authenticate a client.
const MAX_PENDING: Duration = Duration::from_secs(600);
/// Number of a client's session.
const ID: u32 = 0;

/// A client.
pub struct Client {
    rng: Rng,
    attempt: Option<Attempt>,
}

/// A session, from its first packet on.
struct Attempt {
    settings: ClientSettings,
    session: Session,
    /// Password of the next record, if the server gave a token.
    token: Option<Zeroizing<String>>,
    /// Next request of options.
    request_at: Option<Instant>,
    /// Options received so far, and the number of messages.
    push: Push,
    messages: usize,
    /// The server takes a control message at the end.
    notifies_exit: bool,
}

impl Client {
    /// Returns a client without a session.
    pub const fn new(rng: Rng) -> Self {
        Self { rng, attempt: None }
    }

    /// Returns true if a session exists, or the last messages of one.
    pub const fn has_session(&self) -> bool {
        self.attempt.is_some()
    }

    /// Runs `work` on the session, and then what follows from it: packets and its end.
    fn with_session(
        &mut self,
        now: Instant,
        out: &mut Vec<Action>,
        work: impl FnOnce(&mut Attempt, &mut Vec<Action>) -> Result<(), Failure>,
    ) {
        let Some(attempt) = &mut self.attempt else {
            return;
        };
        let was_ending = attempt.session.is_ending();
        match work(attempt, out) {
            Ok(()) => {}
            Err(Failure::Ignored(fault)) => out.push(Action::Ignored(fault)),
            Err(Failure::Ended(reason)) => {
                attempt.session.end(now);
                if !was_ending {
                    out.push(Action::Closed(ID, reason));
                }
            }
        }
        attempt.session.transmit(now, out);
        if attempt.session.is_over(now) {
            self.attempt = None;
        }
    }
}

impl Attempt {
    fn receive(
        &mut self,
        path: Path,
        packet: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        if path.remote != self.session.path.remote {
            return Err(Fault::Session.into());
        }
        if is_data(packet) || packet.len() > MAX_CONTROL_BYTES {
            return Err(Fault::Malformed.into());
        }
        self.step(now, out, |session, record, notices| {
            session.receive(packet, Some(record), now, notices)
        })
    }

    /// Continues a negotiation whose TLS was on another thread.
    fn resume(&mut self, now: Instant, out: &mut Vec<Action>) -> Result<(), Failure> {
        self.step(now, out, |session, record, notices| {
            session.resume(Some(record), now, notices)
        })
    }

    /// Lets the session handle something, and then handles what the server sent.
    fn step(
        &mut self,
        now: Instant,
        out: &mut Vec<Action>,
        work: impl FnOnce(
            &mut Session,
            &dyn Fn(Source) -> Record,
            &mut Vec<Notice>,
        ) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut notices = Vec::new();
        let (settings, token, path) = (&self.settings, self.token.as_ref(), self.session.path);
        let record = |source| client_record(source, settings, token, path);
        let result = work(&mut self.session, &record, &mut notices);
        for notice in notices {
            self.notice(notice, now, out)?;
        }
        result
    }

    fn notice(
        &mut self,
        notice: Notice,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        match notice {
            Notice::FirstRecord(record) => {
                let remote = RemoteOptions::parse(&record.options);
                let options = options(&self.settings, self.session.path);
                // What the server negotiates comes with its options.
                let mismatches = options.compare(&remote, true);
                out.extend(mismatches.into_iter().map(|one| Action::Mismatch(ID, one)));
                self.request_at = Some(now);
                self.request(now);
                Ok(())
            }
            Notice::Renewal(_) => {
                self.session.renew_keys(out);
                Ok(())
            }
            Notice::Text(text) => self.text(&text, now, out),
        }
    }

    /// Requests options if it is time to.
    fn request(&mut self, now: Instant) {
        if self.request_at.is_some_and(|at| at <= now) {
            self.request_at = Some(now + REQUEST_INTERVAL);
            self.session.send_text("PUSH_REQUEST");
        }
    }

    /// Handles a control message of the server.
    fn text(&mut self, text: &str, now: Instant, out: &mut Vec<Action>) -> Result<(), Failure> {
        let (name, rest) = text.split_once(',').unwrap_or((text, ""));
        match name {
            REPLY => self.reply(rest, now, out),
            "AUTH_FAILED" => Err(Reason::Refused(rest.into()).into()),
            "RESTART" | "HALT" => Err(Reason::Restart(rest.into()).into()),
            "EXIT" => Err(Reason::Exit.into()),
            "AUTH_PENDING" => {
                let words = rest.split([',', ' ']);
                let seconds = words.skip_while(|word| *word != "timeout").nth(1);
                if let Some(seconds) = seconds.and_then(|seconds| seconds.parse().ok()) {
                    let time = Duration::from_secs(seconds).min(MAX_PENDING);
                    self.session.extend(time, now);
                }
                Ok(())
            }
            "INFO" | "INFO_PRE" => Ok(()),
            _ => Err(Fault::Message.into()),
        }
    }

    /// Handles a message of options. The last one opens the data channel.
    fn reply(&mut self, options: &str, now: Instant, out: &mut Vec<Action>) -> Result<(), Failure> {
        if self.session.parameters.is_some() {
            // A server renews its token this way.
            let mut renewed = Push::default();
            renewed.read(options);
            self.token = renewed
                .token
                .map(|token| Zeroizing::new(token.into()))
                .or(self.token.take());
            return Ok(());
        }
        self.messages += 1;
        if self.messages > MAX_MESSAGES {
            return Err(Reason::Protocol(Fault::Message).into());
        }
        if self.push.read(options) {
            return Ok(());
        }
        let push = core::mem::take(&mut self.push);
        self.request_at = None;
        let parameters = self.parameters(&push)?;
        self.notifies_exit = push.notifies_exit;
        self.token = push.token.clone().map(|token| Zeroizing::new(token.into()));
        let seconds = |seconds: Option<u32>| {
            let seconds = seconds.filter(|seconds| *seconds > 0);
            seconds.map(|seconds| Duration::from_secs(seconds.into()))
        };
        let (ping, timeout) = (seconds(push.ping), seconds(push.ping_restart));
        let keys = self.session.open(parameters, ping, timeout, now)?;
        out.push(Action::Opened(Box::new(Opened {
            session: ID,
            path: self.session.path,
            suite: parameters.suite,
            peer_id: parameters.peer_id,
            framing: parameters.framing,
            tls: self.session.current().tls_description(),
            push,
        })));
        let key_id = keys.key_id;
        out.push(Action::Keys(Box::new(keys)));
        out.push(Action::UseKey(ID, key_id));
        Ok(())
    }

    /// Returns the parameters of the data channel that the server's options give.
    fn parameters(&self, push: &Push) -> Result<Parameters, Reason> {
        if let Some(compression) = &push.refused_compression {
            return Err(Reason::Compression(compression.clone()));
        }
        let own = &self.settings.ciphers;
        let cipher = push.cipher.or(own.first().copied());
        let cipher = cipher.filter(|cipher| push.unknown_cipher.is_none() && own.contains(cipher));
        let cipher = cipher.ok_or(Reason::NoCipher)?;
        Ok(Parameters {
            suite: Suite {
                cipher,
                digest: match cipher.is_aead() {
                    true => Digest::None,
                    false => self.settings.digest,
                },
            },
            exports_keys: push.exports_keys,
            peer_id: push.peer_id,
            framing: push.framing,
        })
    }

    /// Ends the session at the owner's wish, and notifies the server.
    fn close(&mut self, out: &mut Vec<Action>) -> Result<(), Failure> {
        if self.session.parameters.is_some() && !self.session.is_ending() {
            match self.notifies_exit {
                true => self.session.send_text("EXIT"),
                false => out.push(Action::NotifyExit(ID)),
            }
        }
        Err(Reason::Closed.into())
    }
}

/// Returns the record of a client.
fn client_record(
    source: Source,
    settings: &ClientSettings,
    token: Option<&Zeroizing<String>>,
    path: Path,
) -> Record {
    let (user, password) = settings.credentials.clone().unwrap_or_default();
    let gcm = [Bits::B128, Bits::B256].map(Cipher::AesGcm);
    let info = PeerInfo {
        version: Some(settings.version.clone()),
        platform: Some("linux".into()),
        proto: proto::CLIENT,
        ciphers: Some(settings.ciphers.clone()),
        negotiates: gcm.iter().all(|cipher| settings.ciphers.contains(cipher)),
        mtu: Some(settings.mtu),
    };
    Record {
        source,
        options: options(settings, path).encode(true),
        user,
        password: token.cloned().unwrap_or(password),
        peer_info: info.encode(),
    }
}

fn options(settings: &ClientSettings, path: Path) -> Options {
    Options {
        device: settings.device,
        mtu: settings.mtu,
        transport: path.transport,
        is_ipv6: path.remote.is_ipv6(),
        suite: Suite {
            cipher: settings.ciphers.first().copied().unwrap_or(Cipher::None),
            digest: settings.digest,
        },
        has_stub: false,
    }
}

impl Machine for Client {
    type Event<'a> = ClientEvent<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: ClientEvent<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            ClientEvent::Connect {
                settings,
                path,
                unix_time,
            } => {
                let start = Start {
                    id: ID,
                    path,
                    tls: &settings.tls,
                    renegotiation: settings.renegotiation,
                };
                let protection = &settings.protection;
                let session = Session::connect(&start, protection, unix_time, &mut self.rng, now);
                self.attempt = Some(Attempt {
                    session,
                    settings: *settings,
                    token: None,
                    request_at: None,
                    push: Push::default(),
                    messages: 0,
                    notifies_exit: false,
                });
                self.with_session(now, out, |_, _| Ok(()));
            }
            ClientEvent::Received { path, packet } => {
                self.with_session(now, out, |attempt, out| {
                    attempt.receive(path, packet, now, out)
                });
            }
            ClientEvent::Traffic(traffic) => self.with_session(now, out, |attempt, _| {
                attempt.session.traffic(&traffic, now);
                Ok(())
            }),
            ClientEvent::Disconnected => {
                self.with_session(now, out, |_, _| Err(Reason::Disconnected.into()));
                self.attempt = None;
            }
            ClientEvent::Close => self.with_session(now, out, Attempt::close),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.deadline().is_none_or(|(at, _)| at > now) {
            return;
        }
        self.with_session(now, out, |attempt, out| {
            if !attempt.session.is_ending() {
                attempt.request(now);
                attempt.resume(now, out)?;
            }
            attempt.session.tick(now, out).map_err(Failure::Ended)
        });
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let attempt = self.attempt.as_ref()?;
        let request = attempt.request_at.filter(|_| !attempt.session.is_ending());
        let session = attempt.session.deadline();
        let at = request.map_or(session, |request| request.min(session));
        Some((at, Timer::Session(ID)))
    }
}
