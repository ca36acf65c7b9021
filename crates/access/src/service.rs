//! Login services with their policies.

use menu::Policies;

/// Login service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Local console.
    Local,
    /// SSH console.
    Ssh,
    /// Telnet console.
    Telnet,
    /// The binary API.
    Api,
    /// The binary API over TLS.
    ApiSsl,
    /// REST.
    Rest,
    /// Web pages.
    Web,
    /// FTP.
    Ftp,
    /// Bandwidth test.
    BandwidthTest,
}

impl Service {
    /// Name in the log and in `/user/active`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ssh => "ssh",
            Self::Telnet => "telnet",
            Self::Api => "api",
            Self::ApiSsl => "api-ssl",
            Self::Rest => "rest-api",
            Self::Web => "web",
            Self::Ftp => "ftp",
            Self::BandwidthTest => "bandwidth-test",
        }
    }

    /// Policy that a user needs for this service.
    pub const fn policy(self) -> Policies {
        match self {
            Self::Local => Policies::LOCAL,
            Self::Ssh => Policies::SSH,
            Self::Telnet => Policies::TELNET,
            Self::Api | Self::ApiSsl => Policies::API,
            Self::Rest => Policies::REST_API,
            Self::Web => Policies::WEB,
            Self::Ftp => Policies::FTP,
            Self::BandwidthTest => Policies::TEST,
        }
    }
}
