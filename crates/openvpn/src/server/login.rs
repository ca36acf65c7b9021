//! A client of a server, from its record to its open session: choice of algorithms, authentication, push reply.

use esp::mac::Mac;
use machine::{Instant, Rng};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::event::{Action, Failure, Grant, Login, Opened, Reason, ServerSettings};
use crate::fault::Fault;
use crate::options::{Options, RemoteOptions};
use crate::peer_info::{PeerInfo, proto};
use crate::prf::hmac;
use crate::push::Framing;
use crate::record::Record;
use crate::session::{Notice, Parameters, Session};
use crate::suite::{Bits, Cipher, Digest, Suite};

/// Length of a fingerprint in bytes.
const FINGERPRINT_BYTES: usize = 32;

/// State of a session's client.
pub(super) enum Client {
    /// TLS and records.
    Negotiating,
    /// The owner checks password and certificate, or the client has not requested its options.
    Authenticating(Box<Pending>),
    /// The data channel is open. The fingerprint is that of user name and password.
    Open([u8; FINGERPRINT_BYTES]),
}

/// A client that has sent its record.
pub(super) struct Pending {
    info: PeerInfo,
    suite: Suite,
    framing: Framing,
    fingerprint: [u8; FINGERPRINT_BYTES],
    wants_push: bool,
    grant: Option<Grant>,
}

/// A session with the state of its client.
pub(super) struct Entry {
    pub(super) session: Session,
    pub(super) client: Client,
    /// Time in the server's list of timers.
    pub(super) scheduled: Instant,
}

/// Settings of the server, and the secret of the fingerprints of passwords.
pub(super) struct Context {
    pub(super) settings: ServerSettings,
    fingerprints: Mac,
}

impl Client {
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

impl Context {
    pub(super) fn new(settings: ServerSettings, rng: &mut Rng) -> Self {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill(&mut *secret);
        Self {
            settings,
            fingerprints: Mac::new(Digest::Sha256, &*secret),
        }
    }

    /// Handles what a client sent.
    ///
    /// # Errors
    /// The message is ignored, or the session ends.
    pub(super) fn notice(
        &self,
        entry: &mut Entry,
        notice: Notice,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        match notice {
            Notice::FirstRecord(record) => self.first_record(entry, *record, out),
            Notice::Renewal(record) => self.renewal(entry, &record, out),
            Notice::Text(text) => self.text(entry, &text, now, out),
        }
    }

    /// Answers the first record of a client, and asks the owner about the client.
    fn first_record(
        &self,
        entry: &mut Entry,
        record: Record,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        let info = PeerInfo::parse(&record.peer_info);
        let remote = RemoteOptions::parse(&record.options);
        let suite = self.choose(&info, &remote);
        let cipher = self.settings.ciphers.first().copied();
        let options = self.options(
            entry,
            suite.clone().unwrap_or(Suite {
                cipher: cipher.unwrap_or(Cipher::None),
                digest: Digest::None,
            }),
            remote.has_stub,
        );
        let id = entry.session.id;
        let current = entry.session.current_mut();
        let answer = server_record(current.source(), &options);
        current.send_record(&answer);
        let login = Login {
            session: id,
            path: entry.session.path,
            certificate: entry.session.current().peer_certificate(),
            tls: entry.session.current().tls_description(),
            info: info.clone(),
            user: record.user,
            password: record.password,
        };
        let suite = suite.map_err(|reason| {
            let text = format!("AUTH_FAILED,Data channel negotiation failed ({reason})");
            entry.session.send_text(&text);
            Failure::Ended(reason)
        })?;
        let is_negotiated = info.ciphers.is_some() || info.negotiates;
        let mismatches = options.compare(&remote, is_negotiated);
        out.extend(
            mismatches
                .into_iter()
                .map(|mismatch| Action::Mismatch(id, mismatch)),
        );
        entry.client = Client::Authenticating(Box::new(Pending {
            wants_push: info.has(proto::REQUEST_PUSH),
            framing: match remote.has_stub {
                true => Framing::Stub,
                false => Framing::None,
            },
            fingerprint: self.fingerprint(&login.user, &login.password),
            info,
            suite,
            grant: None,
        }));
        out.push(Action::Authenticate(Box::new(login)));
        Ok(())
    }

    fn options(&self, entry: &Entry, suite: Suite, has_stub: bool) -> Options {
        let path = entry.session.path;
        Options {
            device: self.settings.device,
            mtu: self.settings.mtu,
            transport: path.transport,
            is_ipv6: path.remote.is_ipv6(),
            suite,
            has_stub,
        }
    }

    /// Chooses the algorithms: the first cipher that the client announces, or that of its options string.
    fn choose(&self, info: &PeerInfo, remote: &RemoteOptions) -> Result<Suite, Reason> {
        let own = &self.settings.ciphers;
        let gcm = [Bits::B128, Bits::B256].map(Cipher::AesGcm);
        let announced = match &info.ciphers {
            Some(ciphers) => ciphers.as_slice(),
            None if info.negotiates => &gcm,
            None => &[],
        };
        let negotiated = own.iter().find(|cipher| announced.contains(cipher));
        let configured = remote.cipher().filter(|cipher| own.contains(cipher));
        let cipher = negotiated.copied().or(configured).ok_or(Reason::NoCipher)?;
        if cipher.is_aead() {
            let digest = Digest::None;
            return Ok(Suite { cipher, digest });
        }
        let digests = &self.settings.digests;
        let digest = match remote.digest() {
            Some(digest) => Some(digest).filter(|digest| digests.contains(digest)),
            None => digests.first().copied(),
        };
        let digest = digest.ok_or(Reason::NoDigest)?;
        Ok(Suite { cipher, digest })
    }

    fn fingerprint(&self, user: &str, password: &str) -> [u8; FINGERPRINT_BYTES] {
        let bytes = Zeroizing::new([user.as_bytes(), &[0], password.as_bytes()].concat());
        let sum = hmac(&self.fingerprints, &bytes);
        sum.first_chunk().copied().unwrap_or_default()
    }

    /// Answers the record of a renegotiation, whose user name and password must not differ.
    fn renewal(
        &self,
        entry: &mut Entry,
        record: &Record,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        let Client::Open(fingerprint) = &entry.client else {
            return Err(Fault::Message.into());
        };
        let given = self.fingerprint(&record.user, &record.password);
        if !bool::from(given.ct_eq(fingerprint)) {
            entry.session.send_text("AUTH_FAILED,Credentials changed");
            return Err(Reason::Credentials.into());
        }
        let Some(parameters) = entry.session.parameters else {
            return Err(Fault::Message.into());
        };
        let has_stub = parameters.framing != Framing::None;
        let options = self.options(entry, parameters.suite, has_stub);
        if let Some(next) = entry.session.renewal_mut() {
            let answer = server_record(next.source(), &options);
            next.send_record(&answer);
        }
        entry.session.renew_keys(out);
        Ok(())
    }

    /// Handles a control message of a client.
    fn text(
        &self,
        entry: &mut Entry,
        text: &str,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        match (text, &mut entry.client) {
            ("EXIT", _) => Err(Reason::Exit.into()),
            ("PUSH_REQUEST", Client::Authenticating(pending)) => {
                pending.wants_push = true;
                self.open_if_ready(entry, now, out)
            }
            // The reply is under way.
            ("PUSH_REQUEST", Client::Open(_)) => Ok(()),
            _ => Err(Fault::Message.into()),
        }
    }

    /// Handles the owner's decision for a client.
    pub(super) fn granted(
        &self,
        entry: &mut Entry,
        grant: Grant,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        match &mut entry.client {
            Client::Authenticating(pending) if !entry.session.is_ending() => {
                pending.grant = Some(grant);
                self.open_if_ready(entry, now, out)
            }
            _ => Ok(()),
        }
    }

    /// Sends the push reply to a client that is granted access and waits for it, and opens the data channel.
    fn open_if_ready(
        &self,
        entry: &mut Entry,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        let Client::Authenticating(pending) = &mut entry.client else {
            return Ok(());
        };
        let Some(grant) = pending.grant.take_if(|_| pending.wants_push) else {
            return Ok(());
        };
        let info = &pending.info;
        let id = entry.session.id;
        let mut push = grant.push;
        push.peer_id = info.has(proto::DATA_V2).then_some(id);
        push.cipher = (info.ciphers.is_some() || info.negotiates).then_some(pending.suite.cipher);
        push.exports_keys = info.has(proto::KEY_EXPORT);
        push.notifies_exit = info.has(proto::CC_EXIT);
        push.mtu = info.mtu.map(|mtu| mtu.min(self.settings.mtu));
        push.framing = pending.framing;
        let parameters = Parameters {
            suite: pending.suite,
            exports_keys: push.exports_keys,
            peer_id: push.peer_id,
            framing: push.framing,
        };
        let fingerprint = pending.fingerprint;
        for message in push.encode() {
            entry.session.send_text(&message);
        }
        let keys = entry
            .session
            .open(parameters, grant.ping, grant.timeout, now)?;
        entry.client = Client::Open(fingerprint);
        out.push(Action::Opened(Box::new(Opened {
            session: id,
            path: entry.session.path,
            suite: parameters.suite,
            peer_id: parameters.peer_id,
            framing: parameters.framing,
            tls: entry.session.current().tls_description(),
            push,
        })));
        let key_id = keys.key_id;
        out.push(Action::Keys(Box::new(keys)));
        out.push(Action::UseKey(id, key_id));
        Ok(())
    }
}

/// Returns the record of a server.
fn server_record(source: crate::record::Source, options: &Options) -> Record {
    Record {
        source,
        options: options.encode(false),
        user: String::new(),
        password: Zeroizing::default(),
        peer_info: String::new(),
    }
}
