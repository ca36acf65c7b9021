//! The ways in, each with the policy that it needs.

use menu::Policies;

/// A way to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The console on this machine.
    Local,
    /// The console by SSH.
    Ssh,
    /// The console by telnet.
    Telnet,
    /// The binary API.
    Api,
    /// The binary API in TLS.
    ApiSsl,
    /// REST.
    Rest,
    /// The web pages.
    Web,
    /// FTP.
    Ftp,
}

impl Service {
    /// The name, as the log and the list of active users show it.
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
        }
    }

    /// The policy without which a user may not come in this way.
    pub const fn policy(self) -> Policies {
        match self {
            Self::Local => Policies::LOCAL,
            Self::Ssh => Policies::SSH,
            Self::Telnet => Policies::TELNET,
            Self::Api | Self::ApiSsl => Policies::API,
            Self::Rest => Policies::REST_API,
            Self::Web => Policies::WEB,
            Self::Ftp => Policies::FTP,
        }
    }
}
