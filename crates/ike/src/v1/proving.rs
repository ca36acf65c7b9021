//! Proofs of this end in phase 1: sent at once, or when the key has signed.

use super::proof::{PendingProof, Proving};
use super::{Bad, Sa, exchange, kind};
use crate::engine::core::{Context, SIGNATURE_INTERVAL};
use crate::event::{State, Why};
use crate::message::Chain;

impl Sa {
    /// Returns the message with the local proof, which is sent. A message whose key has not signed yet is sent later.
    pub(super) fn prove(
        &mut self,
        message: Proving,
        heard: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<Option<Vec<u8>>, Bad> {
        let sent = match &message {
            Proving::MainIdentity => self.send_main_identity(cx),
            Proving::MainAnswer => self.send_main_answer(cx),
            Proving::AggressiveAnswer(chosen) => self.send_aggressive_answer(chosen, cx),
            Proving::AggressiveProof => self.send_aggressive_proof(cx),
        };
        if matches!(sent, Err(Bad::Later)) {
            self.proof = Some(PendingProof {
                message,
                heard: heard.to_vec(),
                again_at: cx.now + SIGNATURE_INTERVAL,
            });
        }
        sent
    }

    /// Repeats the message whose signature was not made yet. An error ends the SA.
    pub(super) fn prove_again(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        let Some(proof) = self.proof.take_if(|proof| proof.again_at <= cx.now) else {
            return Ok(());
        };
        match self.prove(proof.message, &proof.heard, cx) {
            Ok(answer) => {
                self.advance(&proof.heard, answer, cx);
                Ok(())
            }
            Err(Bad::Over(why)) => Err(why),
            Err(Bad::Ignored(_) | Bad::Fault(_) | Bad::Later) => Ok(()),
        }
    }

    /// Initiator, main mode: sends ID and proof.
    fn send_main_identity(&mut self, cx: &mut Context<'_>) -> Result<Option<Vec<u8>>, Bad> {
        let mut message = Chain::default().with(kind::ID, &self.ids.0.clone());
        self.push_proof(&mut message, cx)?;
        self.push_requests(&mut message);
        self.push_contact(&mut message, cx);
        let bytes = self.seal_phase1(exchange::MAIN, &message)?;
        self.ask_phase1(bytes.clone(), State::Message4, cx);
        Ok(Some(bytes))
    }

    /// Responder, main mode: sends ID and proof.
    fn send_main_answer(&mut self, cx: &mut Context<'_>) -> Result<Option<Vec<u8>>, Bad> {
        let mut message = Chain::default().with(kind::ID, &self.ids.1.clone());
        self.push_proof(&mut message, cx)?;
        let bytes = self.seal_phase1(exchange::MAIN, &message)?;
        self.common.send(bytes.clone(), cx);
        Ok(Some(bytes))
    }

    /// Responder, aggressive mode: sends its values and proof with the chosen proposal.
    fn send_aggressive_answer(
        &mut self,
        chosen: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<Option<Vec<u8>>, Bad> {
        let mut message = Chain::default().with(kind::SA, chosen);
        message.push(kind::KE, &self.values.1);
        message.push(kind::NONCE, &self.nonces.1);
        message.push(kind::ID, &self.ids.1.clone());
        self.push_proof(&mut message, cx)?;
        self.push_requests(&mut message);
        self.push_nat(&mut message);
        self.push_vendors(&mut message);
        let bytes = message.message(&self.header(exchange::AGGRESSIVE, 0, 0));
        self.common.state = State::Message2;
        self.common.send(bytes.clone(), cx);
        Ok(Some(bytes))
    }

    /// Initiator, aggressive mode: sends its proof.
    fn send_aggressive_proof(&mut self, cx: &mut Context<'_>) -> Result<Option<Vec<u8>>, Bad> {
        let mut message = Chain::default();
        self.push_proof(&mut message, cx)?;
        self.push_contact(&mut message, cx);
        self.push_nat(&mut message);
        let bytes = self.seal_phase1(exchange::AGGRESSIVE, &message)?;
        self.resend = None;
        self.common.send(bytes.clone(), cx);
        Ok(Some(bytes))
    }
}
