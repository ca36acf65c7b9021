//! One negotiation of keys: reliable channel, TLS, and the records of key method 2. A session has one per key id.

use machine::{Instant, Rng};
use zeroize::Zeroizing;

use crate::event::{Failure, Reason};
use crate::fault::Fault;
use crate::packet::{Message, Opcode, Sid};
use crate::prf::Seeds;
use crate::record::{MAX_RECORD_BYTES, Record, Source};
use crate::reliable::{Order, Reliable};
use crate::suite::{Keys, MATERIAL_BYTES};
use crate::tls::{Tls, TlsConfig};

/// TLS bytes of a packet, at most: with all headers a packet fits into 1280 bytes.
const MAX_CHUNK_BYTES: usize = 1100;
/// Longest control message in bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// Something that the peer sent inside TLS.
#[derive(Debug)]
pub(crate) enum Received {
    /// Its record.
    Record(Box<Record>),
    /// A control message, without its NUL.
    Text(Zeroizing<String>),
}

/// A negotiation.
pub(crate) struct Negotiation {
    /// Number of the key, 0 to 7.
    pub(crate) key_id: u8,
    /// Reliable channel.
    pub(crate) reliable: Reliable,
    /// Start.
    pub(crate) began: Instant,
    is_client: bool,
    config: TlsConfig,
    /// TLS, once the peer is known to listen.
    tls: Option<Tls>,
    local: Source,
    remote: Option<Source>,
    /// The record of this end was sent.
    pub(crate) has_sent_record: bool,
    /// Beginning of a record.
    partial: Zeroizing<Vec<u8>>,
}

impl Negotiation {
    /// Begins a negotiation. `reset` is the first message; servers behind a stateless reset have sent theirs.
    pub(crate) fn new(
        key_id: u8,
        config: &TlsConfig,
        reset: Option<Opcode>,
        rng: &mut Rng,
        now: Instant,
    ) -> Self {
        let is_client = config.is_client();
        let mut reliable = Reliable::default();
        if let Some(reset) = reset {
            reliable.push(reset, Vec::new());
        }
        Self {
            key_id,
            reliable,
            began: now,
            is_client,
            config: config.clone(),
            tls: None,
            local: Source::new(rng, is_client),
            remote: None,
            has_sent_record: false,
            partial: Zeroizing::default(),
        }
    }

    /// Returns true once both records are exchanged.
    pub(crate) const fn has_keys(&self) -> bool {
        self.has_sent_record && self.remote.is_some()
    }

    /// Stores a message.
    ///
    /// # Errors
    /// The message was received before, or is out of sequence.
    pub(crate) fn store(&mut self, opcode: Opcode, message: Message<'_>) -> Result<(), Fault> {
        let payload = match opcode {
            Opcode::Control => message.payload,
            // Resets carry no TLS bytes.
            _ => &[],
        };
        let id = message.id;
        match self.reliable.receive(Message { id, payload }) {
            Order::New => Ok(()),
            Order::Duplicate => Err(Fault::Duplicate),
            Order::Ahead => Err(Fault::Sequence),
        }
    }

    /// Passes received bytes to TLS, and TLS's bytes to the channel. `record` makes the record of a
    /// client, which sends it as soon as TLS is established. Appends what the peer sent.
    ///
    /// # Errors
    /// The session ends: TLS failed, or a record is malformed.
    pub(crate) fn advance(
        &mut self,
        record: Option<&dyn Fn(Source) -> Record>,
        out: &mut Vec<Received>,
    ) -> Result<(), Failure> {
        let may_begin = !self.is_client || self.reliable.is_empty();
        if self.tls.is_none() && may_begin {
            self.tls = Some(Tls::new(&self.config).map_err(tls_failure)?);
        }
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let mut processed = tls.take_back();
        while processed.is_ok()
            && !tls.is_away()
            && let Some(payload) = self.reliable.next_received()
        {
            processed = tls.receive(payload);
        }
        if let Err(error) = processed {
            // The alert tells the peer why.
            self.flush();
            return Err(tls_failure(error));
        }
        if tls.is_away() {
            return Ok(());
        }
        let is_established = tls.is_established();
        while let Some(plaintext) = self.tls.as_mut().and_then(Tls::next_plaintext) {
            self.read(&plaintext, out)?;
        }
        if let Some(record) = record
            && is_established
            && !self.has_sent_record
        {
            self.send_record(&record(self.local.clone()));
        }
        match self.flush() {
            true => Ok(()),
            false => Err(Reason::Handshake.into()),
        }
    }

    /// Returns true while another thread has the TLS connection: [`Negotiation::advance`] takes it back.
    pub(crate) fn is_away(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::is_away)
    }

    /// Reads the plaintext of one TLS record.
    fn read(&mut self, plaintext: &[u8], out: &mut Vec<Received>) -> Result<(), Failure> {
        if self.remote.is_some() {
            for text in plaintext.split(|byte| *byte == 0) {
                if text.is_empty() {
                    continue;
                }
                let text = core::str::from_utf8(text).map_err(|_| Fault::Message)?;
                let text = text.trim_end_matches(['\r', '\n']);
                if text.len() > MAX_TEXT_BYTES || text.chars().any(char::is_control) {
                    return Err(Fault::Message.into());
                }
                out.push(Received::Text(Zeroizing::new(text.to_owned())));
            }
            return Ok(());
        }
        self.partial.extend_from_slice(plaintext);
        match Record::parse(&self.partial, !self.is_client) {
            Ok(record) => {
                self.partial = Zeroizing::default();
                self.remote = Some(record.source.clone());
                out.push(Received::Record(Box::new(record)));
                Ok(())
            }
            Err(Fault::Malformed) if self.partial.len() < MAX_RECORD_BYTES => Ok(()),
            Err(fault) => Err(Reason::Protocol(fault).into()),
        }
    }

    /// Returns the random numbers of this end, for its record.
    pub(crate) fn source(&self) -> Source {
        self.local.clone()
    }

    /// Sends the record of this end.
    pub(crate) fn send_record(&mut self, record: &Record) {
        if let Some(tls) = &mut self.tls {
            self.has_sent_record = tls.send(&record.encode(self.is_client));
        }
        self.flush();
    }

    /// Sends a control message. Returns false if it cannot be queued.
    pub(crate) fn send_text(&mut self, text: &str) -> bool {
        let mut bytes = Zeroizing::new(text.as_bytes().to_vec());
        bytes.push(0);
        let sent = self.tls.as_mut().is_some_and(|tls| tls.send(&bytes));
        sent && self.flush()
    }

    /// Moves TLS's bytes into the channel. Returns false if too many wait.
    fn flush(&mut self) -> bool {
        let Some(tls) = &mut self.tls else {
            return true;
        };
        let bytes = tls.outgoing();
        bytes
            .chunks(MAX_CHUNK_BYTES)
            .all(|chunk| self.reliable.push(Opcode::Control, chunk.to_vec()))
    }

    /// Derives the keys of the data channel, by the exporter of TLS or from the records. `None` before both records
    /// are exchanged.
    pub(crate) fn keys(&self, exports: bool, local: Sid, remote: Sid) -> Option<Keys> {
        let material: Zeroizing<[u8; MATERIAL_BYTES]> = match exports {
            true => self.tls.as_ref()?.export()?,
            false => {
                let peer = self.remote.as_ref()?;
                let (client, server, sessions) = match self.is_client {
                    true => (&self.local, peer, [local, remote]),
                    false => (peer, &self.local, [remote, local]),
                };
                let seeds = Seeds {
                    pre_master: &client.pre_master,
                    client: [&client.random[0], &client.random[1]],
                    server: [&server.random[0], &server.random[1]],
                    client_session: sessions[0],
                    server_session: sessions[1],
                };
                seeds.expand()
            }
        };
        Some(Keys::split(&material, self.is_client))
    }

    /// Returns version and cipher suite of TLS.
    pub(crate) fn tls_description(&self) -> String {
        self.tls.as_ref().map(Tls::description).unwrap_or_default()
    }

    /// Returns the certificate of the peer in DER.
    pub(crate) fn peer_certificate(&self) -> Option<Vec<u8>> {
        self.tls.as_ref()?.peer_certificate()
    }
}

fn tls_failure(error: rustls::Error) -> Failure {
    Reason::Tls(error.to_string().into()).into()
}
