//! The lab of the measurement: subscribers, router and RADIUS server, and the router's configuration.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use lab::{End, Host, Lab, Layout, Link, Offloads};

use super::super::process::{Router, SERVER as ROUTER, Start};
use super::radius;
use crate::cli::Pppoe;

/// Host of the subscribers, and its device.
pub(super) const CLIENTS: &str = "clients";
pub(super) const DEVICE: &str = "eth0";

pub(super) const LAYOUT: Layout = Layout {
    name: "pppoe",
    summary: "a PPPoE server and its subscribers",
    hosts: &[host(CLIENTS), host(ROUTER), host(radius::HOST)],
    links: &[
        link([end(CLIENTS, DEVICE, &[]), end(ROUTER, "ether1", &[])]),
        link([
            end(radius::HOST, "eth0", &["10.254.0.2/24"]),
            end(ROUTER, "ether2", &[]),
        ]),
    ],
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

const fn link(ends: [End; 2]) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends,
    }
}

const fn end(host: &'static str, device: &'static str, addresses: &'static [&'static str]) -> End {
    End {
        host,
        device,
        addresses,
    }
}

/// Starts the router without waiting for it: with a configuration, or from its stored state.
///
/// # Errors
/// The program or its folder is missing.
pub(super) fn start(lab: &Lab, config: Option<&str>, state: &Folder) -> Result<Router, String> {
    let ports = ["ether1", "ether2"].map(|name| format!("{name}=packet:{name}"));
    let start = Start {
        host: ROUTER,
        config,
        ports: &ports,
        state: Some(&state.0),
        host_plane: false,
    };
    Router::begin(lab, &start)
}

/// Returns the router's configuration: a server, and a secret for each subscriber or the RADIUS server.
pub(super) fn configuration(asked: &Pppoe) -> String {
    let limit = if asked.queues {
        " rate-limit=10M/10M"
    } else {
        ""
    };
    let mut text = format!(
        "/ip address add address=10.254.0.1/24 interface=ether2\n\
         /ip pool add name=subscribers ranges=10.64.0.2-10.79.255.254\n\
         /ppp profile add name=subscriber local-address=10.255.0.1 remote-address=subscribers \
         use-ipv6=yes change-tcp-mss=no{limit}\n\
         /interface pppoe-server server add service-name=bench interface=ether1 disabled=no \
         default-profile=subscriber authentication=chap one-session-per-host=yes\n"
    );
    // FreeRADIUS signs its answers since version 3.2.5 only.
    if asked.radius {
        let _ = writeln!(
            text,
            "/radius add address=10.254.0.2 secret={} service=ppp timeout=3s require-message-auth=no\n\
             /ppp aaa set use-radius=yes accounting=yes",
            radius::SECRET
        );
        return text;
    }
    for number in 0..asked.sessions {
        let _ = writeln!(
            text,
            "/ppp secret add name=u{number} password=p{number} service=pppoe profile=subscriber"
        );
    }
    text
}

/// State folder, removed with the value.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let name = format!("ferroute-pppoe-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(self.0.with_extension("key"));
    }
}
