//! Bandwidth test on this machine's sockets, for interoperability tests.
//!
//! ```text
//! btest server 0.0.0.0:2000 none|md5|ec-srp5 PASSWORD
//! btest client 192.0.2.1:2000 tcp|udp receive|transmit|both CONNECTIONS SECONDS USER PASSWORD BPS
//! ```

#[path = "../tests/all/driver/mod.rs"]
mod driver;

use std::net::SocketAddr;
use std::time::Duration;

use btest::client::Test;
use btest::server::Authentication;
use btest::wire::{Direction, Fill, Protocol};
use btest::{Figures, Status};

fn main() {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["server", address, authentication, password] => {
            server(address, authentication, password);
            Some(())
        }
        ["client", address, ref test @ ..] => client(address, test),
        _ => None,
    };
    if done.is_none() {
        eprintln!("see the head of this file for what to say");
    }
}

fn server(address: &str, authentication: &str, password: &str) {
    let authentication = match authentication {
        "md5" => Authentication::Md5,
        "ec-srp5" => Authentication::EcSrp5,
        _ => Authentication::None,
    };
    let (host, address) = driver::server::begin(address, authentication, password);
    println!("listening on {address}");
    let mut shown = 0;
    loop {
        let is_new = host.wait(|server, now| {
            let views = server.sessions(now);
            let seconds = views
                .map(|view| view.figures.duration.as_secs())
                .sum::<u64>();
            seconds != shown
        });
        if !is_new {
            continue;
        }
        shown = host.look(|server, now| {
            let mut seconds = 0;
            for view in server.sessions(now) {
                let (user, peer) = (view.user, view.peer);
                show(&format!("{user}@{peer}"), &view.figures);
                seconds += view.figures.duration.as_secs();
            }
            seconds
        });
    }
}

fn client(address: &str, words: &[&str]) -> Option<()> {
    let address: SocketAddr = address.parse().ok()?;
    let [
        protocol,
        direction,
        connections,
        seconds,
        user,
        password,
        bps,
    ] = *words
    else {
        return None;
    };
    let bps = bps.parse().ok()?;
    let test = Test {
        server: address.ip(),
        protocol: match protocol {
            "tcp" => Protocol::Tcp,
            _ => Protocol::Udp,
        },
        direction: match direction {
            "receive" => Direction::Receive,
            "transmit" => Direction::Transmit,
            _ => Direction::Both,
        },
        fill: Fill::Zeros,
        local_size: 0,
        remote_size: 0,
        local_speed_bps: bps,
        remote_speed_bps: bps,
        connections: connections.parse().ok()?,
        user: user.to_owned(),
        password: password.into(),
        duration: Some(Duration::from_secs(seconds.parse().ok()?)),
    };
    let host = driver::client::begin(test, address);
    let is_over = |status| !matches!(status, Status::Connecting | Status::Running);
    let mut shown = 0;
    while !host.look(|client, _| is_over(client.status())) {
        host.wait(|client, now| {
            is_over(client.status()) || client.figures(now).duration.as_secs() != shown
        });
        let figures = host.look(|client, now| client.figures(now));
        shown = figures.duration.as_secs();
        show("test", &figures);
    }
    let (status, reason) = host.look(|client, _| (client.status(), client.reason()));
    let reason = reason.map(|reason| reason.to_string()).unwrap_or_default();
    println!("{} ({reason})", status.name());
    driver::client::stop(&host);
    Some(())
}

fn show(name: &str, figures: &Figures) {
    println!(
        "{name} {:?} tx {} rx {} bit/s, lost {}, load {}% {:?}",
        figures.duration,
        figures.tx.current_bps,
        figures.rx.current_bps,
        figures.lost_packets,
        figures.local_cpu_percent,
        figures.remote_cpu_percent
    );
}
