//! XAuth (draft-beaulieu-ike-xauth-02): after phase 1 with a pre-shared key the initiator logs in by name and
//! password.

use super::offer::Method;
use super::transaction::{ACK, Opening, REPLY, REQUEST, ReplyTo, SET};
use super::{Bad, Sa};
use crate::config::{Auth, Secret};
use crate::crypto::equal;
use crate::engine::core::Context;
use crate::event::{Level, Side, Why};
use crate::message::{Attribute, Configuration};

const TYPE: u16 = 16_520;
const NAME: u16 = 16_521;
const PASSWORD: u16 = 16_522;
const STATUS: u16 = 16_527;
/// Highest XAuth attribute type.
const LAST_TYPE: u16 = 16_529;

/// XAuth type Generic: name and password in clear; the only supported type.
const GENERIC: u64 = 0;

/// Returns true if a configuration payload contains XAuth attributes.
pub(super) fn is_login(said: &Configuration) -> bool {
    let mut kinds = said.attributes.iter().map(|attribute| attribute.kind);
    kinds.any(|kind| (TYPE..=LAST_TYPE).contains(&kind))
}

fn said(kind: u8, attributes: Vec<Attribute>) -> Configuration {
    Configuration {
        kind,
        identifier: 0,
        attributes,
    }
}

/// Returns the numeric value of an attribute.
fn number(said: &Configuration, kind: u16) -> Option<u64> {
    let mut found = said.attributes.iter().filter(|one| one.kind == kind);
    found.next()?.value.number()
}

impl Sa {
    /// Returns true if the negotiated method includes XAuth.
    fn needs_login(&self) -> bool {
        self.agreed
            .is_some_and(|agreed| agreed.method == Method::PskLogin)
    }

    /// Returns true if client and server differ: with XAuth, or with mode config as responder.
    pub(super) fn has_roles(&self) -> bool {
        self.needs_login() || self.mode_config(true).is_some()
    }

    /// Continues after phase 1: with XAuth, or directly after the login.
    pub(super) fn after_phase1(&mut self, cx: &mut Context<'_>) {
        if !self.needs_login() {
            return self.after_login(cx);
        }
        self.wait_for(Opening::Login, cx);
        if self.common.side == Side::Responder {
            let asked = [NAME, PASSWORD].map(|kind| Attribute::bytes(kind, &[]));
            self.transact(&said(REQUEST, asked.into()), cx);
        }
    }

    /// Initiator: answers a request for name and password.
    pub(super) fn log_in(
        &mut self,
        asked: &Configuration,
        to: ReplyTo,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        let Some(Auth::PskXauth { user, password, .. }) = self
            .auth()
            .filter(|_| self.opening == Opening::Login && self.common.side == Side::Initiator)
        else {
            return Err(Bad::Ignored("ike1-unexpected"));
        };
        let of_type = number(asked, TYPE);
        if of_type.is_some_and(|of_type| of_type != GENERIC) {
            let text = "the peer requests another login than a password (XAuth)";
            self.say(Level::Error, text, cx);
            self.reply(to, &said(REPLY, vec![Attribute::number(STATUS, 0)]), cx);
            return Ok(());
        }
        let answers = asked.attributes.iter().filter_map(|one| match one.kind {
            TYPE => Some(Attribute::number(TYPE, GENERIC)),
            NAME => Some(Attribute::bytes(NAME, user.as_bytes())),
            PASSWORD => Some(Attribute::bytes(PASSWORD, password.bytes())),
            _ => None,
        });
        let answers = said(REPLY, answers.collect());
        self.reply(to, &answers, cx);
        Ok(())
    }

    /// Initiator: processes the login status.
    pub(super) fn hear_verdict(
        &mut self,
        verdict: &Configuration,
        to: ReplyTo,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if self.opening != Opening::Login || self.common.side != Side::Initiator {
            return Err(Bad::Ignored("ike1-unexpected"));
        }
        let status = number(verdict, STATUS);
        self.reply(
            to,
            &said(ACK, vec![Attribute::number(STATUS, status.unwrap_or(0))]),
            cx,
        );
        if status != Some(1) {
            self.say(Level::Error, "the peer refuses the user (XAuth)", cx);
            return Err(Bad::Over(Why::Authentication));
        }
        self.after_login(cx);
        Ok(())
    }

    /// Responder: compares name and password with the configured users of this secret.
    pub(super) fn judge_login(&mut self, reply: &Configuration, cx: &mut Context<'_>) {
        let value = |kind| {
            let mut found = reply.attributes.iter().filter(|one| one.kind == kind);
            found.next().map_or(&[][..], |one| one.value.bytes())
        };
        let (name, password) = (value(NAME), value(PASSWORD));
        let found = self.user(name, password);
        let shown: String = String::from_utf8_lossy(name).chars().take(64).collect();
        let granted = found.is_some();
        let status = said(SET, vec![Attribute::number(STATUS, u64::from(granted))]);
        if let Some(identity) = found {
            self.say(Level::Info, &format!("user {shown:?} logged in"), cx);
            self.common.identity = identity;
            self.transact(&status, cx);
            return self.after_login(cx);
        }
        let text = format!("user {shown:?} is not known, or the password is wrong");
        self.say(Level::Error, &text, cx);
        self.opening = Opening::Refused;
        self.transact(&status, cx);
    }

    /// Returns the identity with the secret of phase 1 and this user. Compares all identities, to take constant
    /// time.
    fn user(&self, name: &[u8], password: &[u8]) -> Option<usize> {
        let Some(Auth::PskXauth { secret: known, .. }) = self.auth() else {
            return None;
        };
        let is_user = |auth: &Auth| match auth {
            Auth::PskXauth {
                secret,
                user,
                password: own,
            } => {
                // No short circuit: the duration must not reveal which of the three differs.
                let is_name = equal(user.as_bytes(), name);
                (*secret == known) & is_name & (Secret::new(password) == *own)
            }
            _ => false,
        };
        let identities = self.common.peer.identities.iter();
        let fitting: Vec<_> = identities
            .enumerate()
            .filter(|(_, identity)| is_user(&identity.auth))
            .collect();
        fitting.first().map(|(at, _)| *at)
    }
}
