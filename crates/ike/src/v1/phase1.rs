//! Phase 1: main mode, the identity protection exchange, and aggressive mode (RFC 2409, 5).
//!
//! ```text
//!  main                                    aggressive
//!  SA ▶            ◀ SA            First    SA KE Ni ID ▶    ◀ SA KE Nr ID HASH_R    First
//!  KE Ni ▶         ◀ KE Nr         Second   HASH_I ▶                                 Done
//!  ID HASH_I ▶     ◀ ID HASH_R     Third
//! ```

use super::establish::{X509, certificates};
use super::keys::{Keys, skeyid_psk, skeyid_signature};
use super::offer::{Method, choose_phase1, phase1};
use super::proof::Proving;
use super::{Bad, Natt, Sa, Step, bodies, body, chain, exchange, kind, method_of};
use crate::config::{Auth, Exchange, Id, NoSignature, Scheme};
use crate::crypto::Agreement;
use crate::der;
use crate::describe;
use crate::engine::core::{Context, Path, Resend};
use crate::event::{Level, Side, State, Why};
use crate::message::{
    Chain, Header, Identification, Notify, Payload, Version, id_body, read_id, read_offers,
    write_offers,
};

const NATT_RFC: [u8; 16] = 0x4a13_1c81_0703_5845_5c57_28f2_0e95_452f_u128.to_be_bytes();
const NATT_DRAFT_3: [u8; 16] = 0x7d94_19a6_5310_ca6f_2c17_9d92_1552_9d56_u128.to_be_bytes();
/// MD5 of draft 02's name with a trailing newline, which most implementations send.
const NATT_DRAFT_2N: [u8; 16] = 0x90cb_8091_3ebb_696e_0863_81b5_ec42_7b1f_u128.to_be_bytes();
const NATT_DRAFT_2: [u8; 16] = 0xcd60_4643_35df_21f8_7cfd_b2fc_68b6_a448_u128.to_be_bytes();
/// Vendor ID of XAuth (draft-beaulieu-ike-xauth-02, 2).
const XAUTH: [u8; 8] = 0x0900_2689_dfd6_b712_u64.to_be_bytes();
/// Vendor ID of Cisco Unity: split networks in Cisco's format.
const UNITY: [u8; 16] = 0x12f5_f28c_4571_68a9_702d_9fe2_74cc_0100_u128.to_be_bytes();
const DEAD_PEER: [u8; 16] = 0xafca_d713_68a1_f1c9_6b86_96fc_7757_0100_u128.to_be_bytes();

const INITIAL_CONTACT: u16 = 24_578;

impl Sa {
    /// Sends the first message.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        let identities = self.common.peer.identities.iter();
        let methods = identities.map(|identity| method_of(&identity.auth));
        let found = methods
            .enumerate()
            .find_map(|(at, method)| Some((at, method?)));
        let (identity, method) = found.ok_or(Why::Authentication)?;
        self.common.identity = identity;
        let peer = self.common.peer.clone();
        let mut offers = phase1(&peer.profile, method);
        if self.exchange == Exchange::Aggressive {
            // Aggressive mode: the KE payload of the first message fixes the group (RFC 2409, 5).
            let group = peer.profile.groups.first().ok_or(Why::NoProposal)?;
            let number = u64::from(group.number());
            for offer in &mut offers {
                offer.transforms.retain(|one| one.value(4) == Some(number));
            }
            self.agreement = Agreement::new(*group, &mut cx.core.entropy);
        }
        if offers.iter().all(|offer| offer.transforms.is_empty()) {
            return Err(Why::NoProposal);
        }
        self.offers = write_offers(Version::One, &offers);
        let mut message = Chain::default().with(kind::SA, &self.offers);
        let number = if self.exchange == Exchange::Aggressive {
            self.values.0 = self.public();
            self.nonces.0 = cx.core.random(32);
            self.ids.0 = self.own_id();
            message.push(kind::KE, &self.values.0);
            message.push(kind::NONCE, &self.nonces.0);
            message.push(kind::ID, &self.ids.0);
            exchange::AGGRESSIVE
        } else {
            exchange::MAIN
        };
        self.push_vendors(&mut message);
        let bytes = message.message(&self.header(number, 0, 0));
        self.ask_phase1(bytes, State::Message1, cx);
        Ok(())
    }

    /// Sends a message of phase 1 and starts its retransmission.
    pub(super) fn ask_phase1(&mut self, bytes: Vec<u8>, state: State, cx: &mut Context<'_>) {
        self.common.state = state;
        self.resend = Some(Resend::new(vec![bytes.clone()], cx.now));
        self.common.send(bytes, cx);
    }

    fn public(&self) -> Vec<u8> {
        let agreement = self.agreement.as_ref();
        agreement
            .map(|one| one.public().to_vec())
            .unwrap_or_default()
    }

    pub(super) fn push_vendors(&self, message: &mut Chain) {
        if self.common.peer.profile.nat_traversal {
            for vendor in [NATT_RFC, NATT_DRAFT_3, NATT_DRAFT_2N, NATT_DRAFT_2] {
                message.push(kind::VENDOR, &vendor);
            }
        }
        message.push(kind::VENDOR, &DEAD_PEER);
        let identities = &self.common.peer.identities;
        if self.methods().contains(&Method::PskLogin) {
            message.push(kind::VENDOR, &XAUTH);
        }
        if identities.iter().any(|one| one.mode_config.is_some()) {
            message.push(kind::VENDOR, &UNITY);
        }
    }

    fn read_vendors(&mut self, payloads: &[Payload<'_>]) {
        for vendor in bodies(payloads, kind::VENDOR) {
            let natt = match vendor {
                _ if vendor == DEAD_PEER => {
                    self.dead_peer.known = true;
                    continue;
                }
                _ if vendor == NATT_RFC => Natt::Rfc,
                _ if [NATT_DRAFT_3, NATT_DRAFT_2N, NATT_DRAFT_2]
                    .iter()
                    .any(|one| vendor == one) =>
                {
                    Natt::Draft
                }
                _ => continue,
            };
            if self.common.peer.profile.nat_traversal {
                self.natt = self.natt.max(natt);
            }
        }
    }

    pub(super) fn push_nat(&self, message: &mut Chain) {
        let number = match self.natt {
            Natt::None => return,
            Natt::Draft => kind::NAT_D_DRAFT,
            Natt::Rfc => kind::NAT_D,
        };
        message.push(number, &self.nat_hash(self.common.remote));
        message.push(number, &self.nat_hash(self.common.local));
    }

    /// Detects NAT: the first NAT-D hash covers the destination of the message, the others its source.
    fn read_nat(&mut self, payloads: &[Payload<'_>]) {
        let number = if self.natt == Natt::Rfc {
            kind::NAT_D
        } else {
            kind::NAT_D_DRAFT
        };
        let mut hashes = bodies(payloads, number);
        let Some(own) = hashes.next().filter(|_| self.natt != Natt::None) else {
            return;
        };
        let remote = self.nat_hash(self.common.remote);
        let is_translated = !hashes.any(|hash| hash == remote);
        self.common.translated = (own != self.nat_hash(self.common.local), is_translated);
    }

    const fn is_translated(&self) -> bool {
        self.common.translated.0 || self.common.translated.1
    }

    /// Processes a message of phase 1.
    pub(super) fn phase1(
        &mut self,
        header: &Header,
        message: &[u8],
        path: Path,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if let Some(answer) = self.last.again(message) {
            if let Some(answer) = answer {
                self.common.send(answer, cx);
            }
            return Ok(());
        }
        if self.proof.is_some() {
            return Err(Bad::Ignored("ike1-signature-pending"));
        }
        let expected = Self::first_exchange(header.exchange) == Some(self.exchange);
        if !expected || header.id != 0 {
            return Err(Bad::Ignored("ike1-other-exchange"));
        }
        let (_, clear) = Header::read(message)?;
        let mut vector = None;
        let opened;
        let plain = if header.flags & super::ENCRYPTED != 0 {
            let iv = self.keys.as_ref().map(|keys| keys.iv.clone());
            let (bytes, next) = self.open(header, &iv.unwrap_or_default(), message)?;
            (vector, opened) = (Some(next), bytes);
            opened.as_slice()
        } else {
            clear
        };
        let found = match chain(header.next, plain) {
            Ok(found) => found,
            Err(_) if vector.is_some() => return Err(self.undecipherable(cx)),
            Err(fault) => return Err(fault.into()),
        };
        let answer = match (self.exchange, self.common.side, self.step) {
            (Exchange::Main, Side::Responder, Step::First) => self.main_first(&found, cx),
            (Exchange::Main, Side::Initiator, Step::First) => self.main_values(header, &found, cx),
            (Exchange::Main, Side::Responder, Step::Second) => self.main_answer_values(&found, cx),
            (Exchange::Main, Side::Initiator, Step::Second) => {
                self.main_identity(&found)?;
                self.prove(Proving::MainIdentity, message, cx)
            }
            (Exchange::Main, Side::Responder, Step::Third) => {
                self.proof_of_peer(&found, vector, path, cx)?;
                self.prove(Proving::MainAnswer, message, cx)
            }
            (Exchange::Main, Side::Initiator, Step::Third) => {
                self.proof_of_peer(&found, vector, path, cx)?;
                Ok(None)
            }
            (Exchange::Aggressive, Side::Responder, Step::First) => {
                let chosen = self.aggressive_values(&found, cx)?;
                self.prove(Proving::AggressiveAnswer(chosen), message, cx)
            }
            (Exchange::Aggressive, Side::Initiator, Step::First) => {
                self.aggressive_check(header, &found, cx)?;
                self.prove(Proving::AggressiveProof, message, cx)
            }
            (Exchange::Aggressive, Side::Responder, Step::Second) => {
                self.read_nat(&found);
                self.proof_of_peer(&found, vector, path, cx)?;
                Ok(None)
            }
            _ => return Err(Bad::Ignored("ike1-unexpected")),
        }?;
        self.advance(message, answer, cx);
        Ok(())
    }

    /// Advances the step after an accepted message, and stores its answer for repetitions.
    pub(super) fn advance(&mut self, heard: &[u8], answer: Option<Vec<u8>>, cx: &mut Context<'_>) {
        self.last.set(heard, answer);
        let aggressive = self.exchange == Exchange::Aggressive;
        self.step = match (self.step, self.common.side) {
            (Step::First, Side::Initiator) if aggressive => Step::Done,
            (Step::Second, Side::Responder) if aggressive => Step::Done,
            (Step::First, _) => Step::Second,
            (Step::Second, _) => Step::Third,
            (Step::Third | Step::Done, _) => Step::Done,
        };
        if self.step == Step::Done {
            self.after_phase1(cx);
        }
    }

    fn undecipherable(&self, cx: &mut Context<'_>) -> Bad {
        let text = "a message cannot be decrypted: the pre-shared keys differ?";
        self.say(Level::Error, text, cx);
        Bad::Ignored("ike1-undecipherable")
    }

    /// Returns the authentication methods of the peer's identities.
    fn methods(&self) -> Vec<Method> {
        let identities = self.common.peer.identities.iter();
        identities
            .filter_map(|identity| method_of(&identity.auth))
            .collect()
    }

    /// Selects the identity with the negotiated method: the first that names the peer, else the first wildcard.
    fn choose_identity(&mut self, id: Option<&Id>, found: &[Payload<'_>]) -> Result<(), Bad> {
        let method = self.agreed.map(|agreed| agreed.method);
        let address = Id::Address(self.common.remote.ip());
        let id = id.unwrap_or(&address);
        let identities = self.common.peer.identities.iter().enumerate();
        let mut fitting = identities.filter(|(_, one)| method_of(&one.auth) == method);
        let certificate = certificates(found).next();
        let named = fitting
            .clone()
            .find(|(_, one)| one.remote_id.names(id, certificate));
        let any = || fitting.find(|(_, one)| one.remote_id.may_be(id, certificate));
        let chosen = named.or_else(any).map(|(at, _)| at);
        let first = || {
            self.common
                .peer
                .identities
                .iter()
                .position(|one| method_of(&one.auth) == method)
        };
        // Main mode needs the secret before the ID payload arrives; the identity is checked later.
        let last = || (self.exchange == Exchange::Main).then(first).flatten();
        let chosen = chosen.or_else(last).ok_or(Bad::Over(Why::Authentication))?;
        self.common.identity = chosen;
        Ok(())
    }

    /// Responder: selects a proposal.
    fn choose(&mut self, offers: &[u8], cx: &mut Context<'_>) -> Result<Vec<u8>, Bad> {
        let read = read_offers(Version::One, offers)?;
        let peer = self.common.peer.clone();
        let configured = describe::profile(&peer.profile);
        let tells = cx.tells_of_stranger();
        if tells {
            self.common.log_offers(Version::One, &read, configured, cx);
        }
        let Some((chosen, agreed)) = choose_phase1(&read, &peer.profile, &self.methods()) else {
            if tells {
                self.say(Level::Error, "no suitable proposal found, phase 1", cx);
            }
            let notify = Notify {
                protocol: 1,
                spi: &[],
                kind: 14,
                data: &[],
            };
            let chain = Chain::default().with(kind::NOTIFY, &notify.write(Version::One));
            let id = self.fresh_id(cx);
            let bytes = chain.message(&self.header(exchange::INFORMATIONAL, 0, id));
            self.common.send(bytes, cx);
            return Err(Bad::Over(Why::NoProposal));
        };
        self.offers = offers.to_vec();
        self.set_agreed(agreed);
        Ok(write_offers(Version::One, &[chosen]))
    }

    fn set_agreed(&mut self, agreed: super::Phase1) {
        self.agreed = Some(agreed);
        self.common.suite = Some((agreed.cipher, agreed.hash, agreed.hash, agreed.group));
    }

    /// Initiator: checks that the responder's choice was offered.
    fn chosen(&mut self, body: &[u8]) -> Result<(), Bad> {
        let answer = read_offers(Version::One, body)?;
        let asked = read_offers(Version::One, &self.offers)?;
        let transform = answer.first().and_then(|offer| offer.transforms.first());
        let transform = transform.ok_or(Bad::Ignored("ike1-no-transform"))?;
        let mut asked = asked.iter().flat_map(|offer| &offer.transforms);
        let offered = asked.any(|one| {
            [1, 2, 3, 4, 14]
                .iter()
                .all(|kind| one.value(*kind) == transform.value(*kind))
        });
        if !offered {
            return Err(Bad::Ignored("ike1-not-offered"));
        }
        let peer = self.common.peer.clone();
        let (_, agreed) = choose_phase1(&answer, &peer.profile, &self.methods())
            .ok_or(Bad::Ignored("ike1-not-offered"))?;
        self.set_agreed(agreed);
        Ok(())
    }

    /// Responder, main mode: answers message 1.
    fn main_first(
        &mut self,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<Option<Vec<u8>>, Bad> {
        self.read_vendors(found);
        let chosen = self.choose(body(found, kind::SA)?, cx)?;
        self.choose_identity(None, found)?;
        let mut message = Chain::default().with(kind::SA, &chosen);
        self.push_vendors(&mut message);
        let bytes = message.message(&self.header(exchange::MAIN, 0, 0));
        self.common.state = State::Message2;
        self.common.send(bytes.clone(), cx);
        Ok(Some(bytes))
    }

    /// Initiator, main mode: answers message 2 with KE and nonce.
    fn main_values(
        &mut self,
        header: &Header,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<Option<Vec<u8>>, Bad> {
        self.chosen(body(found, kind::SA)?)?;
        self.read_vendors(found);
        self.common.spis.1 = header.responder;
        self.draw(cx);
        (self.values.0, self.nonces.0) = (self.public(), cx.core.random(32));
        let mut message = Chain::default().with(kind::KE, &self.values.0);
        message.push(kind::NONCE, &self.nonces.0);
        self.push_nat(&mut message);
        let bytes = message.message(&self.header(exchange::MAIN, 0, 0));
        self.ask_phase1(bytes.clone(), State::Message3, cx);
        Ok(Some(bytes))
    }

    fn draw(&mut self, cx: &mut Context<'_>) {
        let group = self.agreed.map(|agreed| agreed.group);
        self.agreement = group.and_then(|group| Agreement::new(group, &mut cx.core.entropy));
    }

    /// Responder, main mode: answers message 3 with KE and nonce, and derives the keys.
    fn main_answer_values(
        &mut self,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<Option<Vec<u8>>, Bad> {
        let value = body(found, kind::KE)?.to_vec();
        let nonce = body(found, kind::NONCE)?.to_vec();
        self.read_nat(found);
        self.draw(cx);
        self.values = (value, self.public());
        self.nonces = (nonce, cx.core.random(32));
        self.derive()?;
        let mut message = Chain::default().with(kind::KE, &self.values.1);
        message.push(kind::NONCE, &self.nonces.1);
        self.push_requests(&mut message);
        self.push_nat(&mut message);
        let bytes = message.message(&self.header(exchange::MAIN, 0, 0));
        self.common.state = State::Message4;
        self.common.send(bytes.clone(), cx);
        Ok(Some(bytes))
    }

    /// Initiator, main mode: processes message 4.
    fn main_identity(&mut self, found: &[Payload<'_>]) -> Result<(), Bad> {
        self.values.1 = body(found, kind::KE)?.to_vec();
        self.nonces.1 = body(found, kind::NONCE)?.to_vec();
        self.read_nat(found);
        self.derive()?;
        if self.is_translated() {
            self.common.move_to_4500();
        }
        self.ids.0 = self.own_id();
        Ok(())
    }

    pub(super) fn seal_phase1(&mut self, number: u8, message: &Chain) -> Result<Vec<u8>, Bad> {
        let mut iv = self
            .keys
            .as_ref()
            .map(|keys| keys.iv.clone())
            .unwrap_or_default();
        let bytes = self.seal(number, 0, &mut iv, message);
        if let Some(keys) = &mut self.keys {
            keys.iv = iv;
        }
        bytes.ok_or(Bad::Over(Why::Protocol))
    }

    /// Responder, aggressive mode: processes message 1, and returns the chosen proposal.
    fn aggressive_values(
        &mut self,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<Vec<u8>, Bad> {
        self.read_vendors(found);
        let chosen = self.choose(body(found, kind::SA)?, cx)?;
        self.ids.0 = body(found, kind::ID)?.to_vec();
        let (who, ..) = read_id(&self.ids.0)?;
        let Identification::Who(id) = who else {
            return Err(Bad::Ignored("ike1-identity"));
        };
        self.choose_identity(Some(&id), found)?;
        self.draw(cx);
        self.values = (body(found, kind::KE)?.to_vec(), self.public());
        self.nonces = (body(found, kind::NONCE)?.to_vec(), cx.core.random(32));
        self.derive()?;
        self.ids.1 = self.own_id();
        Ok(chosen)
    }

    /// Initiator, aggressive mode: processes message 2.
    fn aggressive_check(
        &mut self,
        header: &Header,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        self.common.spis.1 = header.responder;
        self.chosen(body(found, kind::SA)?)?;
        self.read_vendors(found);
        self.values.1 = body(found, kind::KE)?.to_vec();
        self.nonces.1 = body(found, kind::NONCE)?.to_vec();
        self.read_nat(found);
        self.derive()?;
        self.proof_of_peer(found, None, self.common.path(), cx)?;
        if self.is_translated() {
            self.common.move_to_4500();
        }
        Ok(())
    }

    /// Derives all keys from the public values and nonces.
    fn derive(&mut self) -> Result<(), Bad> {
        let agreed = self.agreed.ok_or(Bad::Over(Why::Protocol))?;
        let agreement = self.agreement.as_ref().ok_or(Bad::Over(Why::Protocol))?;
        let (theirs, nonce) = match self.common.side {
            Side::Initiator => (&self.values.1, &self.nonces.1),
            Side::Responder => (&self.values.0, &self.nonces.0),
        };
        if !(8..=256).contains(&nonce.len()) {
            return Err(Bad::Ignored("ike1-nonce"));
        }
        let shared = agreement
            .shared(theirs)
            .ok_or(Bad::Ignored("ike1-public-value"))?;
        let nonces = (self.nonces.0.as_slice(), self.nonces.1.as_slice());
        let skeyid = match self.auth() {
            Some(Auth::Psk(secret) | Auth::PskXauth { secret, .. }) => {
                skeyid_psk(agreed.hash, secret.bytes(), nonces)
            }
            Some(Auth::Signature(_)) => skeyid_signature(agreed.hash, shared.bytes(), nonces),
            _ => return Err(Bad::Over(Why::Authentication)),
        };
        let values = (self.values.0.as_slice(), self.values.1.as_slice());
        self.keys = Some(Keys::new(
            agreed.cipher,
            agreed.hash,
            skeyid,
            shared.bytes(),
            self.common.spis,
            values,
        ));
        Ok(())
    }

    /// Returns the local ID: configured, or from the certificate, or the local address.
    fn own_id(&self) -> Vec<u8> {
        let identity = self.common.peer.identities.get(self.common.identity);
        let configured = identity.and_then(|identity| identity.my_id.clone());
        let named = || match &identity?.auth {
            Auth::Signature(certified) => der::subject(certified.chain.first()?).map(Id::Dn),
            _ => None,
        };
        let id = configured.or_else(named);
        id_body(&id.unwrap_or(Id::Address(self.common.local.ip())), 0, 0)
    }

    /// Returns HASH_I or HASH_R.
    pub(super) fn proof(&self, side: Side) -> Vec<u8> {
        let Some(keys) = &self.keys else {
            return Vec::new();
        };
        let (initiator, responder) = (self.values.0.as_slice(), self.values.1.as_slice());
        let spis = self.common.spis;
        match side {
            Side::Initiator => keys.proof((initiator, responder), spis, &self.offers, &self.ids.0),
            Side::Responder => keys.proof(
                (responder, initiator),
                (spis.1, spis.0),
                &self.offers,
                &self.ids.1,
            ),
        }
    }

    /// Appends the local proof, and the certificates for it.
    pub(super) fn push_proof(&self, message: &mut Chain, cx: &mut Context<'_>) -> Result<(), Bad> {
        let proof = self.proof(self.common.side);
        let Some(Auth::Signature(certified)) = self.auth() else {
            message.push(kind::HASH, &proof);
            return Ok(());
        };
        for certificate in &certified.chain {
            message.push(kind::CERT, &[&[X509], certificate.as_slice()].concat());
        }
        match certified.signer.sign(Scheme::RsaRaw, &proof) {
            Ok(signature) => {
                message.push(kind::SIGNATURE, &signature);
                Ok(())
            }
            Err(NoSignature::Pending) => Err(Bad::Later),
            Err(NoSignature::Failed(why)) => {
                self.say(Level::Error, &format!("no signature: {why}"), cx);
                Err(Bad::Over(Why::Authentication))
            }
        }
    }

    pub(super) fn push_requests(&self, message: &mut Chain) {
        if let Some(Auth::Signature(certified)) = self.auth() {
            for name in certified.verifier.names() {
                message.push(kind::CERT_REQUEST, &[&[X509], name.as_slice()].concat());
            }
        }
    }

    pub(super) fn push_contact(&self, message: &mut Chain, cx: &Context<'_>) {
        let remote = self.common.remote.ip();
        let others = cx.core.children.has_remote(remote);
        if self.common.peer.send_initial_contact && !others {
            let cookies = super::keys::cookies(self.common.spis.0, self.common.spis.1);
            let notify = Notify {
                protocol: 1,
                spi: &cookies,
                kind: INITIAL_CONTACT,
                data: &[],
            };
            message.push(kind::NOTIFY, &notify.write(Version::One));
        }
    }

    /// Verifies the peer's proof. On success the source of the message becomes the peer's endpoint.
    fn proof_of_peer(
        &mut self,
        found: &[Payload<'_>],
        vector: Option<Vec<u8>>,
        path: Path,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        let must_hide = self.exchange == Exchange::Main;
        if must_hide && vector.is_none() {
            return Err(Bad::Ignored("ike1-not-encrypted"));
        }
        let side = match self.common.side {
            Side::Initiator => Side::Responder,
            Side::Responder => Side::Initiator,
        };
        if let Ok(id) = body(found, kind::ID) {
            match side {
                Side::Initiator => self.ids.0 = id.to_vec(),
                Side::Responder => self.ids.1 = id.to_vec(),
            }
        }
        let theirs = if side == Side::Initiator {
            &self.ids.0
        } else {
            &self.ids.1
        };
        let (Identification::Who(id), ..) =
            read_id(theirs).map_err(|_| Bad::Ignored("ike1-identity"))?
        else {
            return Err(Bad::Ignored("ike1-identity"));
        };
        // With signatures the keys do not depend on the identity: select it now.
        if side == Side::Initiator && matches!(self.auth(), Some(Auth::Signature(_))) {
            self.choose_identity(Some(&id), found)?;
        }
        if let Err(reason) = self.judge(found, side, &id) {
            self.say(
                Level::Error,
                &format!("authentication failed: {reason}"),
                cx,
            );
            return Err(Bad::Ignored("ike1-authentication"));
        }
        if let (Some(keys), Some(vector)) = (&mut self.keys, vector) {
            keys.iv = vector;
        }
        self.common.remote_id = Some(id);
        if self.common.side == Side::Responder {
            self.ids.1 = self.own_id();
        }
        (self.common.local, self.common.remote) = (path.local, path.remote);
        self.common.natt = path.natt;
        self.heard(cx.now);
        self.resend = None;
        for notify in bodies(found, kind::NOTIFY) {
            if Notify::read(Version::One, notify).is_ok_and(|notify| notify.kind == INITIAL_CONTACT)
            {
                self.says_first = true;
            }
        }
        Ok(())
    }
}
