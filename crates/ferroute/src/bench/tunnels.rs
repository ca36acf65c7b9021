//! `ferroute bench tunnels`: brings up sessions of L2TP, PPTP, SSTP or OpenVPN between two routers, and measures
//! setup rate and memory.
//!
//! ```text
//! clients [ a router with a client item per session ] eth0 ── ether1 [ router with the server ]
//! ```
//! Each router runs in a process of its own, on the same cores. The report has no bounds.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options};

use super::process::{Router, SERVER, Start};
use crate::cli::{Tunnel, Tunnels, output};

/// Host of the clients.
const CLIENTS: &str = "clients";
/// Maximum time of each step.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Interval of the count of sessions.
const POLL: Duration = Duration::from_millis(50);
/// Time after the last session, in which the routers settle before their memory is read.
const SETTLE: Duration = Duration::from_secs(3);

const LAYOUT: Layout = Layout {
    name: "tunnels",
    summary: "a server of tunnels and its clients",
    hosts: &[host(CLIENTS), host(SERVER)],
    links: &[Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [end(CLIENTS), end(SERVER)],
    }],
    config: "",
};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn end(host: &'static str) -> End {
    End {
        host,
        device: "ether1",
        addresses: &[],
    }
}

/// Runs the measurement, and prints the report.
///
/// # Errors
/// The machine does not permit it, a router does not start, or sessions stay down.
pub(super) fn run(asked: &Tunnels) -> Result<(), String> {
    let text = |error: lab::Error| error.to_string();
    let options = Options {
        name: Some(format!("tunnels-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    let lab = Lab::up(&LAYOUT, &options).map_err(text)?;
    let server = start(&lab, SERVER, &server_configuration(asked))?;
    for command in asked.kind.begin() {
        server.exec(command)?;
    }
    let before = server.resident_kib();
    let begin = Instant::now();
    let clients = start(&lab, CLIENTS, &client_configuration(asked))?;
    let loaded = begin.elapsed();
    let mut first = None;
    let mut up = 0;
    while up < asked.sessions {
        if begin.elapsed() > loaded + TIMEOUT {
            return Err(format!("{up} of {} sessions are up", asked.sessions));
        }
        thread::park_timeout(POLL);
        let count = server.exec("/ppp/active/print count-only")?;
        up = count.trim().parse().unwrap_or(0);
        if up > 0 {
            first.get_or_insert_with(Instant::now);
        }
    }
    let last = begin.elapsed();
    let first = first.map_or(loaded, |first| first.duration_since(begin));
    thread::park_timeout(SETTLE);
    let growth = server.resident_kib().saturating_sub(before) * 1024;
    let span = last
        .saturating_sub(first)
        .as_secs_f64()
        .max(POLL.as_secs_f64());
    output::line(format_args!(
        "{}: {} sessions; the clients' configuration took {:.1} s; first session after {:.1} s, last after {:.1} s: {:.0} \
         sessions per second; memory of the server: {} bytes per session, of the clients: {} KiB",
        asked.kind.service(),
        asked.sessions,
        loaded.as_secs_f64(),
        first.as_secs_f64(),
        last.as_secs_f64(),
        f64::from(asked.sessions) / span,
        growth / u64::from(asked.sessions),
        clients.resident_kib(),
    ))?;
    drop((clients, server));
    lab.down().map_err(text)
}

/// Starts a router in a host, and waits until it answers.
fn start(lab: &Lab, host: &'static str, config: &str) -> Result<Router, String> {
    let ports = ["ether1=packet:ether1".to_owned()];
    let start = Start {
        host,
        config: Some(config),
        ports: &ports,
        state: None,
        // PPTP has connections of TCP.
        host_plane: true,
    };
    let mut router = Router::begin(lab, &start)?;
    router.wait(TIMEOUT)?;
    Ok(router)
}

/// Returns the server's configuration, with a secret for each session.
fn server_configuration(asked: &Tunnels) -> String {
    let service = asked.kind.service();
    let mut text = format!(
        "/ip address add address=10.254.0.1/24 interface=ether1\n\
         /ip pool add name=users ranges=10.64.0.2-10.79.255.254\n\
         /ppp profile add name=user local-address=10.255.0.1 remote-address=users change-tcp-mss=no\n\
         {}\n",
        asked.kind.server()
    );
    for number in 0..asked.sessions {
        let _ = writeln!(
            text,
            "/ppp secret add name=u{number} password=p{number} service={service} profile=user"
        );
    }
    text
}

/// Returns the configuration of the clients.
fn client_configuration(asked: &Tunnels) -> String {
    let service = asked.kind.service();
    let mut text = "/ip address add address=10.254.0.2/24 interface=ether1\n".to_owned();
    for number in 0..asked.sessions {
        let _ = writeln!(
            text,
            "/interface {service}-client add name=c{number} connect-to=10.254.0.1 user=u{number} password=p{number} \
             profile=default disabled=no {}",
            asked.kind.client()
        );
    }
    text
}

/// Commands that make the certificate of a server with TLS.
pub(super) const CERTIFICATE: [&str; 2] = [
    "/certificate/add name=vpn common-name=server key-usage=key-cert-sign,digital-signature,tls-server \
     key-size=prime256v1",
    "/certificate/sign vpn",
];

impl Tunnel {
    /// Returns the name of the service: `l2tp`.
    const fn service(self) -> &'static str {
        match self {
            Self::L2tp => "l2tp",
            Self::Pptp => "pptp",
            Self::Sstp => "sstp",
            Self::Ovpn => "ovpn",
        }
    }

    /// Returns the command that configures the server.
    const fn server(self) -> &'static str {
        match self {
            Self::L2tp => {
                "/interface l2tp-server server set enabled=yes default-profile=user authentication=chap"
            }
            Self::Pptp => {
                "/interface pptp-server server set enabled=yes default-profile=user authentication=chap"
            }
            Self::Sstp => {
                "/interface sstp-server server set default-profile=user authentication=mschap2"
            }
            Self::Ovpn => {
                "/interface ovpn-server server add name=ovpn1 protocol=udp cipher=aes256-gcm default-profile=user"
            }
        }
    }

    /// Returns the commands by which a configured server begins to serve.
    fn begin(self) -> Vec<&'static str> {
        let enable = match self {
            Self::L2tp | Self::Pptp => return Vec::new(),
            Self::Sstp => "/interface/sstp-server/server/set enabled=yes certificate=vpn",
            Self::Ovpn => "/interface/ovpn-server/server/set ovpn1 certificate=vpn disabled=no",
        };
        CERTIFICATE.into_iter().chain([enable]).collect()
    }

    /// Returns the properties of a client beside server and user.
    const fn client(self) -> &'static str {
        match self {
            Self::L2tp | Self::Pptp | Self::Sstp => "",
            Self::Ovpn => "protocol=udp cipher=aes256-gcm",
        }
    }
}
