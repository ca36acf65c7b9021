//! Requests to RADIUS servers and their packets (RFC 2865, 2866, 2869, 3579, 2548).

use core::net::IpAddr;

use wire::radius::{Builder, code, kind, vendor};

use super::authorization::Prefix6;
use super::{Server, secret};
use secret::PASSWORD;

/// Service of the router that sends requests: `service` of `/radius` selects its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// PPP sessions.
    Ppp,
    /// Logins to the router.
    Login,
    /// DHCP leases.
    Dhcp,
    /// IPsec users.
    Ipsec,
}

impl Service {
    /// All services.
    pub const ALL: [Self; 4] = [Self::Ppp, Self::Login, Self::Dhcp, Self::Ipsec];

    /// Returns the word of the service in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ppp => "ppp",
            Self::Login => "login",
            Self::Dhcp => "dhcp",
            Self::Ipsec => "ipsec",
        }
    }

    /// Service-Type and Framed-Protocol (RFC 2865, 5.6 and 5.7).
    const fn attributes(self) -> &'static [(u8, u32)] {
        match self {
            Self::Ppp => &[(kind::SERVICE_TYPE, FRAMED), (kind::FRAMED_PROTOCOL, PPP)],
            Self::Login => &[(kind::SERVICE_TYPE, ADMINISTRATIVE)],
            Self::Ipsec => &[(kind::SERVICE_TYPE, FRAMED)],
            Self::Dhcp => &[],
        }
    }
}

const FRAMED: u32 = 2;
const ADMINISTRATIVE: u32 = 6;
const PPP: u32 = 1;

/// Length of the value field of MS-CHAP responses in PPP (RFC 2433, 6; RFC 2759, 4).
pub const MS_CHAP_VALUE: usize = 49;

/// Maximum length of an id of a subscriber's line in bytes (RFC 4679, 3.3.1).
const MAX_LINE_ID: usize = 63;

/// Kind of request.
#[derive(Clone, PartialEq, Eq)]
pub enum Question {
    /// Authentication by password, also by PAP.
    Access {
        /// Password.
        password: Vec<u8>,
    },
    /// Authentication by CHAP (RFC 1994).
    Chap {
        /// Identifier of challenge and response.
        id: u8,
        /// Challenge.
        challenge: Vec<u8>,
        /// Response.
        response: [u8; 16],
    },
    /// Authentication by MS-CHAP version 1 (RFC 2433).
    MsChap1 {
        /// Identifier of challenge and response.
        id: u8,
        /// Challenge.
        challenge: Vec<u8>,
        /// Value field of the response: LAN Manager response, NT response, flags.
        response: Box<[u8; MS_CHAP_VALUE]>,
    },
    /// Authentication by MS-CHAP version 2 (RFC 2759).
    MsChap2 {
        /// Identifier of challenge and response.
        id: u8,
        /// Challenge.
        challenge: Vec<u8>,
        /// Value field of the response: peer challenge, reserved bytes, NT response, flags.
        response: Box<[u8; MS_CHAP_VALUE]>,
    },
    /// Authentication by EAP.
    Eap {
        /// EAP message.
        message: Vec<u8>,
        /// State attribute of the answered challenge; empty in the first request.
        state: Vec<u8>,
    },
    /// Accounting of a session.
    Accounting(Accounting),
    /// Start or end of all accounting of this router.
    Router(RouterStatus),
}

/// Status of the accounting of a whole router (RFC 2866, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterStatus {
    /// Accounting-On: the router started; the server ends sessions that began earlier.
    On = 7,
    /// Accounting-Off: the router stops in order.
    Off = 8,
}

/// Accounting of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounting {
    /// Status.
    pub status: Status,
    /// Session time in seconds.
    pub seconds: u32,
    /// Who authenticated the user.
    pub authentic: Authentic,
    /// Reason of the end of the session; for [`Status::Stop`] only.
    pub cause: Option<TerminateCause>,
    /// Traffic of the user through this router; `None` for a login to the router itself.
    pub through: Option<Through>,
}

impl Accounting {
    /// Creates accounting of a session that RADIUS authenticated.
    pub const fn new(status: Status, seconds: u32, through: Option<Through>) -> Self {
        Self {
            status,
            seconds,
            authentic: Authentic::Radius,
            cause: None,
            through,
        }
    }
}

/// Accounting status (RFC 2866, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Start.
    Start = 1,
    /// Stop.
    Stop = 2,
    /// Interim-Update.
    Interim = 3,
}

/// Who authenticated a user (RFC 2866, 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentic {
    /// A RADIUS server.
    Radius = 1,
    /// This router.
    Local = 2,
}

/// Reason of the end of a session (RFC 2866, 5.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminateCause {
    /// The user ended the session.
    UserRequest = 1,
    /// The link below was lost.
    LostCarrier = 2,
    /// The service can no longer be provided.
    LostService = 3,
    /// Idle timeout.
    IdleTimeout = 4,
    /// Session timeout, or a limit of bytes.
    SessionTimeout = 5,
    /// An administrator or a server ended the session.
    AdminReset = 6,
    /// An administrator restarts the router.
    AdminReboot = 7,
    /// An error on the port.
    PortError = 8,
    /// An error of this router.
    NasError = 9,
    /// This router ended the session for another reason.
    NasRequest = 10,
    /// This router restarted.
    NasReboot = 11,
    /// Input of the user was invalid.
    UserError = 17,
}

impl TerminateCause {
    const ALL: [Self; 12] = [
        Self::UserRequest,
        Self::LostCarrier,
        Self::LostService,
        Self::IdleTimeout,
        Self::SessionTimeout,
        Self::AdminReset,
        Self::AdminReboot,
        Self::PortError,
        Self::NasError,
        Self::NasRequest,
        Self::NasReboot,
        Self::UserError,
    ];

    /// Returns the cause with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| *cause as u8 == number)
    }
}

/// Traffic of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Through {
    /// IPv4 address assigned to the user.
    pub address: Option<IpAddr>,
    /// IPv6 prefix of the session's link.
    pub ipv6_prefix: Option<Prefix6>,
    /// IPv6 prefix delegated to the user.
    pub delegated_prefix: Option<Prefix6>,
    /// Packets and bytes from the user.
    pub input: Traffic,
    /// Packets and bytes to the user.
    pub output: Traffic,
}

/// Packets and bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Port of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// NAS-Port-Type.
    pub kind: PortType,
    /// NAS-Port: number of the port, if it has one.
    pub number: Option<u32>,
    /// NAS-Port-Id: interface, or service such as `ssh`.
    pub id: String,
}

impl Port {
    /// Returns the virtual port of a service.
    pub fn of_service(name: impl Into<String>) -> Self {
        Self {
            kind: PortType::Virtual,
            number: None,
            id: name.into(),
        }
    }
}

/// Line of a subscriber as an access node names it (RFC 4679, 3.3.1 and 3.3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriberLine {
    /// Agent-Circuit-Id.
    pub circuit_id: Option<String>,
    /// Agent-Remote-Id.
    pub remote_id: Option<String>,
}

/// NAS-Port-Type (RFC 2865, 5.41).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortType {
    /// A connection by a transport protocol.
    Virtual = 5,
    /// Ethernet.
    Ethernet = 15,
}

impl PortType {
    /// Returns the type with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        { [Self::Virtual, Self::Ethernet].into_iter() }.find(|kind| *kind as u8 == number)
    }
}

/// Request with the attributes of its session.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// Service that sends it.
    pub service: Service,
    /// Kind of request.
    pub question: Question,
    /// User name.
    pub user: String,
    /// Calling-Station-Id: address of the user.
    pub calling: String,
    /// Called-Station-Id; empty if not applicable.
    pub called: String,
    /// NAS-Identifier: name of this router.
    pub router: String,
    /// Port of the user.
    pub port: Port,
    /// Line of the subscriber.
    pub subscriber_line: SubscriberLine,
    /// Acct-Session-Id; empty before there is a session.
    pub session: String,
    /// Class attributes of the access accept, to repeat in accounting.
    pub classes: Vec<Vec<u8>>,
    /// Event-Timestamp of accounting in seconds since 1970.
    pub timestamp: Option<u32>,
}

impl core::fmt::Debug for Request {
    /// Omits credentials.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Request")
            .field("service", &self.service)
            .field("user", &self.user)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Request {
    /// True for accounting, which servers receive at a port of its own.
    pub const fn is_accounting(&self) -> bool {
        matches!(self.question, Question::Accounting(_) | Question::Router(_))
    }

    /// True for the accounting of a session's end.
    pub const fn is_stop(&self) -> bool {
        matches!(&self.question, Question::Accounting(of) if matches!(of.status, Status::Stop))
    }

    /// Builds the packet for a server; `None` if it does not fit. `random` is the authenticator of access requests;
    /// `delay` is the age of the request in seconds.
    pub(super) fn packet(
        &self,
        server: &Server,
        id: u8,
        random: [u8; 16],
        delay: u32,
    ) -> Option<Vec<u8>> {
        let accounting = || Builder::new(code::ACCOUNTING_REQUEST, id, [0; 16]);
        let built = match &self.question {
            Question::Router(status) => accounting()
                .with_number(kind::STATUS, *status as u32)
                .with_number(kind::DELAY, delay),
            Question::Accounting(of) => {
                let built = self.with_accounting(accounting(), of, delay);
                self.with_user(built, server)
            }
            question => {
                // Message-Authenticator comes first, as a defence against CVE-2024-3596.
                let built = Builder::new(code::ACCESS_REQUEST, id, random)
                    .with(kind::MESSAGE_AUTHENTICATOR, &[0; 16]);
                let built = with_credentials(built, question, &server.secret, &random)?;
                self.with_user(built, server)
            }
        };
        let mut bytes = self.with_router(built, server).finish()?;
        secret::sign(&mut bytes, &server.secret, self.is_accounting());
        Some(bytes)
    }

    fn with_accounting(&self, built: Builder, accounting: &Accounting, delay: u32) -> Builder {
        let mut built = built
            .with_number(kind::STATUS, accounting.status as u32)
            .with_number(kind::AUTHENTIC, accounting.authentic as u32)
            .with_number(kind::DELAY, delay);
        if accounting.status != Status::Start {
            built = built.with_number(kind::SESSION_TIME, accounting.seconds);
        }
        if let Some(cause) = accounting.cause
            && accounting.status == Status::Stop
        {
            built = built.with_number(kind::TERMINATE_CAUSE, cause as u32);
        }
        if let Some(through) = &accounting.through {
            built = with_traffic(built, through, accounting.status);
        }
        let classes = self.classes.iter();
        classes.fold(built, |built, class| built.with(kind::CLASS, class))
    }

    /// Adds attributes of service and user.
    fn with_user(&self, mut built: Builder, server: &Server) -> Builder {
        for (kind, value) in self.service.attributes() {
            built = built.with_number(*kind, *value);
        }
        let user = match server.realm.is_empty() || self.user.contains('@') {
            true => self.user.clone(),
            false => format!("{}@{}", self.user, server.realm),
        };
        let mut built = built
            .with(kind::USER_NAME, user.as_bytes())
            .with_number(kind::NAS_PORT_TYPE, self.port.kind as u32)
            .with(kind::NAS_PORT_ID, self.port.id.as_bytes())
            .with(kind::CALLING_STATION, self.calling.as_bytes());
        if let Some(number) = self.port.number {
            built = built.with_number(kind::NAS_PORT, number);
        }
        for (kind, id) in [
            (vendor::AGENT_CIRCUIT_ID, &self.subscriber_line.circuit_id),
            (vendor::AGENT_REMOTE_ID, &self.subscriber_line.remote_id),
        ] {
            if let Some(id) = id {
                let cut = id.floor_char_boundary(MAX_LINE_ID);
                let id = id.as_bytes().get(..cut).unwrap_or_default();
                built = built.with_vendor(vendor::BROADBAND_FORUM, kind, id);
            }
        }
        if !self.called.is_empty() {
            built = built.with(kind::CALLED_STATION, self.called.as_bytes());
        }
        if !server.domain.is_empty() && !self.is_accounting() {
            let domain = server.domain.as_bytes();
            built = built.with_vendor(vendor::MICROSOFT, vendor::MS_CHAP_DOMAIN, domain);
        }
        built
    }

    /// Adds attributes of router and session.
    fn with_router(&self, built: Builder, server: &Server) -> Builder {
        let mut built = built.with(kind::NAS_IDENTIFIER, self.router.as_bytes());
        if !self.session.is_empty() {
            built = built.with(kind::SESSION, self.session.as_bytes());
        }
        if let Some(timestamp) = self.timestamp.filter(|_| self.is_accounting()) {
            built = built.with_number(kind::EVENT_TIMESTAMP, timestamp);
        }
        match server.source.or(server.nas_address) {
            Some(IpAddr::V4(v4)) => built.with(kind::NAS_IP_ADDRESS, &v4.octets()),
            Some(IpAddr::V6(v6)) => built.with(kind::NAS_IPV6_ADDRESS, &v6.octets()),
            None => built,
        }
    }
}

/// Adds the credentials of an access request; `None` if they do not fit.
fn with_credentials(
    built: Builder,
    question: &Question,
    secret: &[u8],
    authenticator: &[u8; 16],
) -> Option<Builder> {
    Some(match question {
        Question::Access { password } if password.len() > PASSWORD => return None,
        Question::Access { password } => {
            let hidden = secret::hide(password, secret, authenticator);
            built.with(kind::USER_PASSWORD, &hidden)
        }
        Question::Chap {
            id,
            challenge,
            response,
        } => built
            .with(kind::CHAP_PASSWORD, &[&[*id][..], response].concat())
            .with(kind::CHAP_CHALLENGE, challenge),
        Question::MsChap1 {
            id,
            challenge,
            response,
        } => {
            let (responses, flags) = response.split_at(48);
            with_ms_chap(
                built,
                vendor::MS_CHAP_RESPONSE,
                challenge,
                &[&[*id], flags, responses],
            )
        }
        Question::MsChap2 {
            id,
            challenge,
            response,
        } => {
            let (responses, flags) = response.split_at(48);
            with_ms_chap(
                built,
                vendor::MS_CHAP2_RESPONSE,
                challenge,
                &[&[*id], flags, responses],
            )
        }
        Question::Eap { message, state } => {
            let built = built.with_whole(kind::EAP_MESSAGE, message);
            match state.is_empty() {
                true => built,
                false => built.with(kind::STATE, state),
            }
        }
        Question::Accounting(_) | Question::Router(_) => built,
    })
}

/// Adds challenge and response of MS-CHAP. In RADIUS the flags precede the responses (RFC 2548, 2.1.3 and 2.3.2).
fn with_ms_chap(built: Builder, kind: u8, challenge: &[u8], response: &[&[u8]]) -> Builder {
    built
        .with_vendor(vendor::MICROSOFT, vendor::MS_CHAP_CHALLENGE, challenge)
        .with_vendor(vendor::MICROSOFT, kind, &response.concat())
}

/// Adds addresses and traffic of a session. Byte counters have 64 bits in two attributes (RFC 2869, 5.1).
fn with_traffic(mut built: Builder, through: &Through, status: Status) -> Builder {
    if let Some(IpAddr::V4(v4)) = through.address {
        built = built.with(kind::FRAMED_IP_ADDRESS, &v4.octets());
    }
    for (kind, prefix) in [
        (kind::FRAMED_IPV6_PREFIX, through.ipv6_prefix),
        (kind::DELEGATED_IPV6_PREFIX, through.delegated_prefix),
    ] {
        if let Some(prefix) = prefix {
            built = built.with(kind, &prefix.to_bytes());
        }
    }
    if status == Status::Start {
        return built;
    }
    let (input, output) = (through.input, through.output);
    [
        (kind::INPUT_OCTETS, input.bytes),
        (kind::INPUT_GIGAWORDS, input.bytes >> 32),
        (kind::OUTPUT_OCTETS, output.bytes),
        (kind::OUTPUT_GIGAWORDS, output.bytes >> 32),
        (kind::INPUT_PACKETS, input.packets),
        (kind::OUTPUT_PACKETS, output.packets),
    ]
    .into_iter()
    // Low 32 bits; the Gigawords attributes hold the rest.
    .fold(built, |built, (kind, count)| {
        built.with_number(kind, count as u32)
    })
}
