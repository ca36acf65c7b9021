//! The automaton of option negotiation, as RFC 1661, 4.1 tabulates it. All control protocols of PPP share it.

/// State of the automaton (RFC 1661, 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// The lower layer is down, and nobody has opened the protocol.
    #[default]
    Initial,
    /// The protocol is open, but the lower layer is down.
    Starting,
    /// The lower layer is up, but the protocol is closed.
    Closed,
    /// Open and passive: negotiation failed or the peer terminated.
    Stopped,
    /// A Terminate-Request was sent because the protocol is being closed.
    Closing,
    /// Terminating in an open protocol.
    Stopping,
    /// A Configure-Request was sent.
    RequestSent,
    /// A Configure-Request was sent, and the peer acknowledged it.
    AckReceived,
    /// A Configure-Request was sent, and the peer's was acknowledged.
    AckSent,
    /// Both ends acknowledged.
    Opened,
}

/// Event of the automaton (RFC 1661, 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The lower layer is up.
    Up,
    /// The lower layer is down.
    Down,
    /// The protocol may be opened.
    Open,
    /// The protocol must be closed.
    Close,
    /// TO+: the restart timer expired, and transmissions are left.
    Timeout,
    /// TO-: the restart timer expired after the last transmission.
    LastTimeout,
    /// RCR+: an acceptable Configure-Request.
    GoodRequest,
    /// RCR-: a Configure-Request to be answered with Nak or Reject.
    BadRequest,
    /// RCA: a Configure-Ack.
    Ack,
    /// RCN: a Configure-Nak or Configure-Reject.
    Refusal,
    /// RTR: a Terminate-Request.
    TerminateRequest,
    /// RTA: a Terminate-Ack.
    TerminateAck,
    /// RUC: a packet with an unknown code.
    UnknownCode,
    /// RXJ+: a Code-Reject or Protocol-Reject of something dispensable.
    RejectedExtension,
    /// RXJ-: a Code-Reject or Protocol-Reject of something indispensable.
    RejectedBasics,
}

/// Action of the automaton (RFC 1661, 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// tlu: the upper layers may begin.
    LayerUp,
    /// tld: the upper layers must stop.
    LayerDown,
    /// tls: the lower layer is needed.
    LayerStarted,
    /// tlf: the lower layer is needed no longer.
    LayerFinished,
    /// irc with Max-Configure.
    CountRequests,
    /// irc with Max-Terminate.
    CountTerminations,
    /// zrc: the restart timer expires once, without a transmission.
    CountNone,
    /// scr: send a Configure-Request.
    SendRequest,
    /// sca: send a Configure-Ack.
    SendAck,
    /// scn: send a Configure-Nak or Configure-Reject.
    SendRefusal,
    /// str: send a Terminate-Request.
    SendTerminateRequest,
    /// sta: send a Terminate-Ack.
    SendTerminateAck,
    /// scj: send a Code-Reject.
    SendCodeReject,
}

impl State {
    /// Returns true in the states whose restart timer runs (RFC 1661, 4.2).
    pub(crate) const fn runs_timer(self) -> bool {
        matches!(
            self,
            Self::Closing | Self::Stopping | Self::RequestSent | Self::AckReceived | Self::AckSent
        )
    }
}

/// Actions and next state.
pub(crate) type Transition = (&'static [Step], State);

/// Returns the actions and the next state of an event, or `None` where the table has no entry. Echoes (RXR) are not
/// part of it: LCP answers them in the state Opened.
pub(crate) const fn transition(event: Event, state: State) -> Option<Transition> {
    match event {
        Event::Up | Event::Down | Event::Open | Event::Close => administer(event, state),
        Event::Timeout | Event::LastTimeout => expire(event, state),
        Event::GoodRequest | Event::BadRequest | Event::Ack | Event::Refusal => {
            negotiate(event, state)
        }
        Event::TerminateRequest
        | Event::TerminateAck
        | Event::UnknownCode
        | Event::RejectedExtension
        | Event::RejectedBasics => terminate(event, state),
    }
}

/// Rows Up, Down, Open, Close.
const fn administer(event: Event, state: State) -> Option<Transition> {
    use State as S;
    use Step as A;
    let next: Transition = match event {
        Event::Up => match state {
            S::Initial => (&[], S::Closed),
            S::Starting => (&[A::CountRequests, A::SendRequest], S::RequestSent),
            _ => return None,
        },
        Event::Down => match state {
            S::Closed => (&[], S::Initial),
            S::Stopped => (&[A::LayerStarted], S::Starting),
            S::Closing => (&[], S::Initial),
            S::Stopping | S::RequestSent | S::AckReceived | S::AckSent => (&[], S::Starting),
            S::Opened => (&[A::LayerDown], S::Starting),
            S::Initial | S::Starting => return None,
        },
        Event::Open => match state {
            S::Initial => (&[A::LayerStarted], S::Starting),
            S::Closed => (&[A::CountRequests, A::SendRequest], S::RequestSent),
            S::Closing => (&[], S::Stopping),
            _ => (&[], state),
        },
        Event::Close => match state {
            S::Initial | S::Closed | S::Closing => (&[], state),
            S::Starting => (&[A::LayerFinished], S::Initial),
            S::Stopped => (&[], S::Closed),
            S::Stopping => (&[], S::Closing),
            S::RequestSent | S::AckReceived | S::AckSent => {
                (&[A::CountTerminations, A::SendTerminateRequest], S::Closing)
            }
            S::Opened => (
                &[A::LayerDown, A::CountTerminations, A::SendTerminateRequest],
                S::Closing,
            ),
        },
        _ => return None,
    };
    Some(next)
}

/// Rows TO+ and TO-.
const fn expire(event: Event, state: State) -> Option<Transition> {
    use State as S;
    use Step as A;
    let next: Transition = match event {
        Event::Timeout => match state {
            S::Closing | S::Stopping => (&[A::SendTerminateRequest], state),
            S::RequestSent | S::AckReceived => (&[A::SendRequest], S::RequestSent),
            S::AckSent => (&[A::SendRequest], S::AckSent),
            _ => return None,
        },
        Event::LastTimeout => match state {
            S::Closing => (&[A::LayerFinished], S::Closed),
            S::Stopping | S::RequestSent | S::AckReceived | S::AckSent => {
                (&[A::LayerFinished], S::Stopped)
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(next)
}

/// Rows RCR+, RCR-, RCA, RCN.
const fn negotiate(event: Event, state: State) -> Option<Transition> {
    use State as S;
    use Step as A;
    let next: Transition = match event {
        Event::GoodRequest => match state {
            S::Closed => (&[A::SendTerminateAck], S::Closed),
            S::Stopped => (&[A::CountRequests, A::SendRequest, A::SendAck], S::AckSent),
            S::Closing | S::Stopping => (&[], state),
            S::RequestSent | S::AckSent => (&[A::SendAck], S::AckSent),
            S::AckReceived => (&[A::SendAck, A::LayerUp], S::Opened),
            S::Opened => (&[A::LayerDown, A::SendRequest, A::SendAck], S::AckSent),
            S::Initial | S::Starting => return None,
        },
        Event::BadRequest => match state {
            S::Closed => (&[A::SendTerminateAck], S::Closed),
            S::Stopped => (
                &[A::CountRequests, A::SendRequest, A::SendRefusal],
                S::RequestSent,
            ),
            S::Closing | S::Stopping => (&[], state),
            S::RequestSent | S::AckSent => (&[A::SendRefusal], S::RequestSent),
            S::AckReceived => (&[A::SendRefusal], S::AckReceived),
            S::Opened => (
                &[A::LayerDown, A::SendRequest, A::SendRefusal],
                S::RequestSent,
            ),
            S::Initial | S::Starting => return None,
        },
        Event::Ack => match state {
            S::Closed | S::Stopped => (&[A::SendTerminateAck], state),
            S::Closing | S::Stopping => (&[], state),
            S::RequestSent => (&[A::CountRequests], S::AckReceived),
            S::AckReceived => (&[A::SendRequest], S::RequestSent),
            S::AckSent => (&[A::CountRequests, A::LayerUp], S::Opened),
            S::Opened => (&[A::LayerDown, A::SendRequest], S::RequestSent),
            S::Initial | S::Starting => return None,
        },
        Event::Refusal => match state {
            S::Closed | S::Stopped => (&[A::SendTerminateAck], state),
            S::Closing | S::Stopping => (&[], state),
            S::RequestSent => (&[A::CountRequests, A::SendRequest], S::RequestSent),
            S::AckReceived => (&[A::SendRequest], S::RequestSent),
            S::AckSent => (&[A::CountRequests, A::SendRequest], S::AckSent),
            S::Opened => (&[A::LayerDown, A::SendRequest], S::RequestSent),
            S::Initial | S::Starting => return None,
        },
        _ => return None,
    };
    Some(next)
}

/// Rows RTR, RTA, RUC, RXJ+, RXJ-.
const fn terminate(event: Event, state: State) -> Option<Transition> {
    use State as S;
    use Step as A;
    let next: Transition = match event {
        Event::TerminateRequest => match state {
            S::Closed | S::Stopped | S::Closing | S::Stopping => (&[A::SendTerminateAck], state),
            S::RequestSent | S::AckReceived | S::AckSent => {
                (&[A::SendTerminateAck], S::RequestSent)
            }
            S::Opened => (
                &[A::LayerDown, A::CountNone, A::SendTerminateAck],
                S::Stopping,
            ),
            S::Initial | S::Starting => return None,
        },
        Event::TerminateAck => match state {
            S::Closed | S::Stopped => (&[], state),
            S::Closing => (&[A::LayerFinished], S::Closed),
            S::Stopping => (&[A::LayerFinished], S::Stopped),
            S::RequestSent | S::AckReceived => (&[], S::RequestSent),
            S::AckSent => (&[], S::AckSent),
            S::Opened => (&[A::LayerDown, A::SendRequest], S::RequestSent),
            S::Initial | S::Starting => return None,
        },
        Event::UnknownCode => match state {
            S::Initial | S::Starting => return None,
            _ => (&[A::SendCodeReject], state),
        },
        Event::RejectedExtension => match state {
            S::AckReceived => (&[], S::RequestSent),
            S::Initial | S::Starting => return None,
            _ => (&[], state),
        },
        Event::RejectedBasics => match state {
            S::Closed | S::Closing => (&[A::LayerFinished], S::Closed),
            S::Stopped | S::Stopping | S::RequestSent | S::AckReceived | S::AckSent => {
                (&[A::LayerFinished], S::Stopped)
            }
            S::Opened => (
                &[A::LayerDown, A::CountTerminations, A::SendTerminateRequest],
                S::Stopping,
            ),
            S::Initial | S::Starting => return None,
        },
        _ => return None,
    };
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Event; 15] = [
        Event::Up,
        Event::Down,
        Event::Open,
        Event::Close,
        Event::Timeout,
        Event::LastTimeout,
        Event::GoodRequest,
        Event::BadRequest,
        Event::Ack,
        Event::Refusal,
        Event::TerminateRequest,
        Event::TerminateAck,
        Event::UnknownCode,
        Event::RejectedExtension,
        Event::RejectedBasics,
    ];
    const STATES: [State; 10] = [
        State::Initial,
        State::Starting,
        State::Closed,
        State::Stopped,
        State::Closing,
        State::Stopping,
        State::RequestSent,
        State::AckReceived,
        State::AckSent,
        State::Opened,
    ];
    /// RFC 1661, 4.1, one row per event in the order of `EVENTS`; without the letters that mark notes.
    const TABLE: &str = "\
        2 irc,scr/6 - - - - - - - -
        - - 0 tls/1 0 1 1 1 1 tld/1
        tls/1 1 irc,scr/6 3 5 5 6 7 8 9
        0 tlf/0 2 2 4 4 itc,str/4 itc,str/4 itc,str/4 tld,itc,str/4
        - - - - str/4 str/5 scr/6 scr/6 scr/8 -
        - - - - tlf/2 tlf/3 tlf/3 tlf/3 tlf/3 -
        - - sta/2 irc,scr,sca/8 4 5 sca/8 sca,tlu/9 sca/8 tld,scr,sca/8
        - - sta/2 irc,scr,scn/6 4 5 scn/6 scn/7 scn/6 tld,scr,scn/6
        - - sta/2 sta/3 4 5 irc/7 scr/6 irc,tlu/9 tld,scr/6
        - - sta/2 sta/3 4 5 irc,scr/6 scr/6 irc,scr/8 tld,scr/6
        - - sta/2 sta/3 sta/4 sta/5 sta/6 sta/6 sta/6 tld,zrc,sta/5
        - - 2 3 tlf/2 tlf/3 6 6 8 tld,scr/6
        - - scj/2 scj/3 scj/4 scj/5 scj/6 scj/7 scj/8 scj/9
        - - 2 3 4 5 6 6 8 9
        - - tlf/2 tlf/3 tlf/2 tlf/3 tlf/3 tlf/3 tlf/3 tld,itc,str/5";

    /// Writes an entry as the RFC does; `itc` is irc with Max-Terminate.
    fn entry(transition: Option<Transition>) -> String {
        let Some((steps, next)) = transition else {
            return "-".to_owned();
        };
        let names = steps.iter().map(|step| match step {
            Step::LayerUp => "tlu",
            Step::LayerDown => "tld",
            Step::LayerStarted => "tls",
            Step::LayerFinished => "tlf",
            Step::CountRequests => "irc",
            Step::CountTerminations => "itc",
            Step::CountNone => "zrc",
            Step::SendRequest => "scr",
            Step::SendAck => "sca",
            Step::SendRefusal => "scn",
            Step::SendTerminateRequest => "str",
            Step::SendTerminateAck => "sta",
            Step::SendCodeReject => "scj",
        });
        let names: Vec<_> = names.collect();
        match names.is_empty() {
            true => format!("{}", next as u8),
            false => format!("{}/{}", names.join(","), next as u8),
        }
    }

    #[test]
    fn the_table_is_that_of_rfc_1661() {
        for (event, row) in EVENTS.into_iter().zip(TABLE.lines()) {
            for (state, expected) in STATES.into_iter().zip(row.split_whitespace()) {
                assert_eq!(
                    entry(transition(event, state)),
                    expected,
                    "{event:?} in {state:?}"
                );
            }
        }
        assert_eq!(
            TABLE.split_whitespace().count(),
            EVENTS.len() * STATES.len()
        );
    }

    #[test]
    fn the_timer_runs_where_a_timeout_leads_somewhere() {
        for state in STATES {
            let leads = transition(Event::LastTimeout, state).is_some();
            assert_eq!(state.runs_timer(), leads, "{state:?}");
        }
    }
}
