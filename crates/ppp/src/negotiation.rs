//! A control protocol that negotiates options: automaton, restart timer, counters, packets (RFC 1661, 4 and 5).
//!
//! [`Options`] is what LCP, IPCP and IPv6CP differ in. The session owns one [`Negotiation`] for each, passes packets
//! and time, and acts on the [`Signals`].
//!
//! Three deviations keep a lossy, duplicating or hostile carrier from reopening a session: replies to one
//! Configure-Request count once; a duplicate of the last acknowledged Configure-Request is acknowledged again in the
//! state Opened without leaving it, twice at most; and a session sends at most [`MAX_REQUESTS`] Configure-Requests
//! between two successes.

use machine::{Duration, Instant};

use crate::automaton::{Event, State, Step, transition};
use crate::event::Action;
use crate::packet::{
    CODE_REJECT, CONFIGURE_ACK, CONFIGURE_NAK, CONFIGURE_REJECT, CONFIGURE_REQUEST,
    ConfigureOption, Control, PROTOCOL_FIELD, Packet, TERMINATE_ACK, TERMINATE_REQUEST, options,
};
use crate::reason::Fault;
use crate::settings::Settings;

/// Time between retransmissions (RFC 1661, 4.6).
pub(crate) const RESTART_TIMER: Duration = Duration::from_secs(3);
/// Configure-Requests without a valid reply.
const MAX_CONFIGURE: u8 = 10;
/// Terminate-Requests without a reply.
const MAX_TERMINATE: u8 = 2;
/// Configure-Naks before this end rejects instead.
const MAX_FAILURE: u8 = 5;
/// Configure-Requests until the state Opened, whatever the peer replies.
pub(crate) const MAX_REQUESTS: u8 = 40;
/// Bytes of a rejected packet that a Code-Reject or Protocol-Reject repeats.
pub(crate) const MAX_REJECTED: usize = 128;
/// Acknowledgements of one Configure-Request in the state Opened.
const MAX_DUPLICATES: u8 = 2;

/// How an option of the peer is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Acceptable.
    Ack,
    /// Acceptable with another value: a complete option.
    Nak(Packet),
    /// Unknown or not negotiable.
    Reject,
}

/// Options of a control protocol.
pub(crate) trait Options {
    /// Protocol number of the packets.
    const PROTOCOL: u16;

    /// Appends the options of the next Configure-Request. Equal state gives equal options.
    fn request(&self, options: &mut Packet);

    /// Judges an option of the peer's Configure-Request. Options of one request come in order after `begin`.
    fn judge(&mut self, option: ConfigureOption<'_>, settings: &Settings) -> Judgement;

    /// A Configure-Request of the peer begins; `request` is the list of its options.
    fn begin(&mut self, request: &[u8]);

    /// Appends options that the request lacks and that this end wants; sent in a Configure-Nak.
    fn missing(&mut self, _suggestions: &mut Packet) {}

    /// The options judged since `begin` have been acknowledged and are in force.
    fn commit(&mut self);

    /// The peer suggests another value for an option of this end.
    fn nak(&mut self, option: ConfigureOption<'_>, settings: &Settings);

    /// The peer rejects an option of this end.
    fn reject(&mut self, option: ConfigureOption<'_>, settings: &Settings);
}

/// State changes that an event reports to the owner of the negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signals {
    /// The protocol has reached the state Opened.
    pub(crate) up: bool,
    /// The protocol has left the state Opened.
    pub(crate) down: bool,
    /// The protocol has given up or is closed.
    pub(crate) finished: bool,
    /// The peer sent a Terminate-Request.
    pub(crate) terminated: bool,
}

/// State of a control protocol.
#[derive(Debug)]
pub(crate) struct Negotiation<P> {
    pub(crate) options: P,
    state: State,
    /// Restart counter: transmissions that are left.
    remaining: u8,
    /// Configure-Naks sent since the last Configure-Ack.
    failures: u8,
    /// Configure-Requests sent since the state Opened or the start.
    requests: u8,
    /// Identifier of the last Configure-Request, Terminate-Request or Code-Reject.
    id: u8,
    /// A reply to the last Configure-Request has arrived.
    replied: bool,
    /// Configure-Requests acknowledged again in the state Opened.
    duplicates: u8,
    /// Digest of the last acknowledged Configure-Request.
    acknowledged: Option<u32>,
    /// The restart timer.
    expires: Option<Instant>,
}

impl Signals {
    /// Merges the signals of two events.
    const fn and(self, other: Self) -> Self {
        Self {
            up: self.up || other.up,
            down: self.down || other.down,
            finished: self.finished || other.finished,
            terminated: self.terminated || other.terminated,
        }
    }
}

/// An event for the automaton with the content of its answer.
#[derive(Clone, Copy, Debug)]
struct Input<'a> {
    event: Event,
    /// Answer that the steps SendAck, SendRefusal, SendTerminateAck and SendCodeReject send.
    answer: Control<'a>,
}

impl Input<'_> {
    /// An event that has no answer.
    const fn plain(event: Event) -> Self {
        let answer = Control {
            code: TERMINATE_ACK,
            id: 0,
            data: &[],
        };
        Self { event, answer }
    }
}

impl<P: Options> Negotiation<P> {
    pub(crate) const fn new(options: P) -> Self {
        Self {
            options,
            state: State::Initial,
            remaining: 0,
            failures: 0,
            requests: 0,
            id: 0,
            replied: true,
            duplicates: 0,
            acknowledged: None,
            expires: None,
        }
    }

    /// Returns true in the state Opened.
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Opened
    }

    /// Returns true if the protocol neither is open nor sends requests.
    pub(crate) fn is_at_rest(&self) -> bool {
        !self.is_open() && !self.state.runs_timer()
    }

    /// Returns the expiry of the restart timer.
    pub(crate) const fn expires(&self) -> Option<Instant> {
        self.expires
    }

    /// Opens the protocol on a lower layer that is up.
    pub(crate) fn open(&mut self, now: Instant, out: &mut Vec<Action>) -> Signals {
        let opened = self.step(Input::plain(Event::Open), now, out);
        opened.and(self.step(Input::plain(Event::Up), now, out))
    }

    /// Closes the protocol with Terminate-Requests.
    pub(crate) fn close(&mut self, now: Instant, out: &mut Vec<Action>) -> Signals {
        self.step(Input::plain(Event::Close), now, out)
    }

    /// The layer below is gone.
    pub(crate) fn lower_down(&mut self, now: Instant, out: &mut Vec<Action>) -> Signals {
        self.step(Input::plain(Event::Down), now, out)
    }

    /// The peer rejects the whole protocol, or a code that the protocol needs.
    pub(crate) fn reject_basics(&mut self, now: Instant, out: &mut Vec<Action>) -> Signals {
        self.step(Input::plain(Event::RejectedBasics), now, out)
    }

    /// Handles the expiry of the restart timer.
    pub(crate) fn expire(&mut self, now: Instant, out: &mut Vec<Action>) -> Signals {
        let event = match self.remaining {
            0 => Event::LastTimeout,
            _ => Event::Timeout,
        };
        self.step(Input::plain(event), now, out)
    }

    /// Handles a packet. Codes above Code-Reject are unknown here.
    pub(crate) fn receive(
        &mut self,
        packet: Control<'_>,
        settings: &Settings,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Signals {
        let answer = Control {
            code: TERMINATE_ACK,
            id: packet.id,
            data: &[],
        };
        match packet.code {
            CONFIGURE_REQUEST => self.receive_request(packet, settings, now, out),
            CONFIGURE_ACK | CONFIGURE_NAK | CONFIGURE_REJECT => {
                self.receive_reply(packet, settings, now, out)
            }
            TERMINATE_REQUEST => {
                let event = Event::TerminateRequest;
                Signals {
                    terminated: true,
                    ..self.step(Input { event, answer }, now, out)
                }
            }
            TERMINATE_ACK => self.step(Input::plain(Event::TerminateAck), now, out),
            CODE_REJECT => {
                let is_basic = { packet.data.first() }
                    .is_some_and(|code| (CONFIGURE_REQUEST..=CODE_REJECT).contains(code));
                let event = match is_basic {
                    true => Event::RejectedBasics,
                    false => Event::RejectedExtension,
                };
                self.step(Input::plain(event), now, out)
            }
            _ => self.receive_unknown(packet, now, out),
        }
    }

    /// Returns true if a Configure-Request repeats the last acknowledged one, and may be acknowledged again.
    pub(crate) fn is_duplicate(&self, request: Control<'_>) -> bool {
        self.is_open()
            && self.acknowledged == Some(digest(request))
            && self.duplicates < MAX_DUPLICATES
    }

    fn receive_request(
        &mut self,
        request: Control<'_>,
        settings: &Settings,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Signals {
        if options(request.data).any(|option| option.is_err()) {
            out.push(Action::Count(Fault::Option));
            return Signals::default();
        }
        if self.is_duplicate(request) {
            self.duplicates += 1;
            let ack = Control {
                code: CONFIGURE_ACK,
                ..request
            };
            out.push(Action::Send(ack.build(P::PROTOCOL)));
            return Signals::default();
        }
        if matches!(self.state, State::Closed | State::Closing | State::Stopping) {
            let event = Event::BadRequest;
            let answer = Control {
                code: TERMINATE_ACK,
                data: &[],
                ..request
            };
            return self.step(Input { event, answer }, now, out);
        }
        let mut refused = Packet::new();
        let code = self.judge(request, settings, &mut refused);
        let (event, data) = match code {
            CONFIGURE_ACK => (Event::GoodRequest, request.data),
            _ => (Event::BadRequest, &refused[..]),
        };
        if code == CONFIGURE_ACK {
            self.options.commit();
            self.acknowledged = Some(digest(request));
        }
        let answer = Control {
            code,
            id: request.id,
            data,
        };
        self.step(Input { event, answer }, now, out)
    }

    /// Judges a Configure-Request: returns the code of the answer, and appends the options of a Nak or Reject.
    fn judge(&mut self, request: Control<'_>, settings: &Settings, refused: &mut Packet) -> u8 {
        let patient = self.failures < MAX_FAILURE;
        let mut suggestions = Packet::new();
        self.options.begin(request.data);
        for option in options(request.data).flatten() {
            match self.options.judge(option, settings) {
                Judgement::Ack => {}
                Judgement::Nak(suggestion) if patient => suggestions.extend_from_slice(&suggestion),
                Judgement::Nak(_) | Judgement::Reject => refused.extend_from_slice(option.bytes),
            }
        }
        if !refused.is_empty() {
            return CONFIGURE_REJECT;
        }
        if patient {
            self.options.missing(&mut suggestions);
        }
        if suggestions.is_empty() {
            self.failures = 0;
            return CONFIGURE_ACK;
        }
        self.failures += 1;
        *refused = suggestions;
        CONFIGURE_NAK
    }

    /// Handles an Ack, Nak or Reject of this end's Configure-Request.
    fn receive_reply(
        &mut self,
        reply: Control<'_>,
        settings: &Settings,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Signals {
        let is_ack = reply.code == CONFIGURE_ACK;
        let event = match is_ack {
            true => Event::Ack,
            false => Event::Refusal,
        };
        let awaits = matches!(
            self.state,
            State::RequestSent | State::AckReceived | State::AckSent | State::Opened
        );
        if awaits {
            if let Err(fault) = self.check_reply(reply) {
                out.push(Action::Count(fault));
                return Signals::default();
            }
            self.replied = true;
            for option in options(reply.data).flatten().filter(|_| !is_ack) {
                match reply.code {
                    CONFIGURE_NAK => self.options.nak(option, settings),
                    _ => self.options.reject(option, settings),
                }
            }
        }
        let answer = Control {
            code: TERMINATE_ACK,
            data: &[],
            ..reply
        };
        self.step(Input { event, answer }, now, out)
    }

    /// Checks that a packet replies to the last Configure-Request, and is the first reply to it.
    fn check_reply(&self, reply: Control<'_>) -> Result<(), Fault> {
        if reply.id != self.id {
            return Err(Fault::Mismatch);
        }
        if self.replied {
            return Err(Fault::Stale);
        }
        let mut request = Packet::new();
        self.options.request(&mut request);
        match reply.code {
            CONFIGURE_ACK if reply.data != &request[..] => Err(Fault::Mismatch),
            _ if options(reply.data).any(|option| option.is_err()) => Err(Fault::Option),
            _ => Ok(()),
        }
    }

    /// Answers a packet whose code is unknown with a Code-Reject.
    pub(crate) fn receive_unknown(
        &mut self,
        packet: Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Signals {
        out.push(Action::Count(Fault::UnknownCode));
        let rejected = packet.build(P::PROTOCOL);
        let rejected = &rejected[PROTOCOL_FIELD..];
        self.id = match self.state.runs_timer() {
            // The identifier of an outstanding request stays.
            true => self.id,
            false => self.id.wrapping_add(1),
        };
        let answer = Control {
            code: CODE_REJECT,
            id: self.id,
            data: &rejected[..rejected.len().min(MAX_REJECTED)],
        };
        let event = Event::UnknownCode;
        self.step(Input { event, answer }, now, out)
    }

    /// Executes the steps of an event.
    fn step(&mut self, input: Input<'_>, now: Instant, out: &mut Vec<Action>) -> Signals {
        let mut signals = Signals::default();
        let Some((steps, next)) = transition(input.event, self.state) else {
            return signals;
        };
        self.state = next;
        for step in steps {
            match step {
                Step::LayerUp => {
                    signals.up = true;
                    self.requests = 0;
                    self.duplicates = 0;
                }
                Step::LayerDown => signals.down = true,
                Step::LayerStarted => {}
                Step::LayerFinished => signals.finished = true,
                Step::CountRequests => self.remaining = MAX_CONFIGURE,
                Step::CountTerminations => self.remaining = MAX_TERMINATE,
                Step::CountNone => {
                    self.remaining = 0;
                    self.expires = Some(now + RESTART_TIMER);
                }
                Step::SendRequest => self.send_request(now, out),
                Step::SendTerminateRequest => self.send_terminate_request(now, out),
                Step::SendAck
                | Step::SendRefusal
                | Step::SendTerminateAck
                | Step::SendCodeReject => {
                    out.push(Action::Send(input.answer.build(P::PROTOCOL)));
                }
            }
        }
        if !self.state.runs_timer() {
            self.expires = None;
        }
        signals
    }

    /// Sends a Configure-Request. A retransmission without a reply in between repeats the identifier.
    fn send_request(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.requests = self.requests.saturating_add(1);
        if self.requests > MAX_REQUESTS {
            self.remaining = 0;
            self.expires = Some(now);
            return;
        }
        if core::mem::take(&mut self.replied) {
            self.id = self.id.wrapping_add(1);
        }
        // After a renegotiation the counter may be spent.
        self.remaining = self.remaining.saturating_sub(1);
        self.expires = Some(now + RESTART_TIMER);
        let mut data = Packet::new();
        self.options.request(&mut data);
        let request = Control {
            code: CONFIGURE_REQUEST,
            id: self.id,
            data: &data,
        };
        out.push(Action::Send(request.build(P::PROTOCOL)));
    }

    fn send_terminate_request(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.id = self.id.wrapping_add(1);
        self.remaining = self.remaining.saturating_sub(1);
        self.expires = Some(now + RESTART_TIMER);
        let request = Control {
            code: TERMINATE_REQUEST,
            id: self.id,
            data: &[],
        };
        out.push(Action::Send(request.build(P::PROTOCOL)));
    }
}

/// Digest of a Configure-Request by which a duplicate is recognised (FNV-1a).
fn digest(request: Control<'_>) -> u32 {
    let bytes = core::iter::once(&request.id).chain(request.data);
    bytes.fold(0x811c_9dc5, |digest: u32, byte| {
        (digest ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}
