//! Probes of `/tool/netwatch`: TCP connections, HTTP requests, DNS queries. Each runs in its own thread, so
//! that a silent host delays no other. Control bounds their number.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use certificate::Check;
use netio::Waker;
use router::Instance;
use router::drive::netwatch::{Probe, Probed, Trial};
use script::{Interrupt, NameQuery};

use crate::host::HostPlane;
use crate::inlet::outgoing::{Answer, ConnectionParameters, Request, ask};
use crate::run::shared::Shared;
use router::tls;

/// Stack size: TLS needs this much.
const STACK_BYTES: usize = 512 << 10;
/// Bytes read of a page, whose status alone matters.
const MAX_PAGE_BYTES: usize = 64 << 10;

/// Running probes.
pub(crate) struct Probes {
    host: Option<Arc<HostPlane>>,
    sender: Sender<((u64, u64), Probed)>,
    results: Receiver<((u64, u64), Probed)>,
    /// Wakes the control thread.
    wake: Waker,
}

impl Probes {
    /// Creates the set of probes, which use the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (sender, results) = channel();
        Self {
            host,
            sender,
            results,
            wake,
        }
    }

    /// Reports results to control, and returns the probes to start.
    pub(crate) fn follow(&self, instance: &mut Instance) -> Vec<Probe> {
        for (ticket, probed) in self.results.try_iter() {
            instance.control().hear_probe(ticket, probed);
        }
        instance.control().take_probes()
    }

    /// Starts probes without waiting for their results.
    pub(crate) fn begin(&self, shared: &Arc<Shared>, probes: Vec<Probe>) {
        for probe in probes {
            let (sender, wake) = (self.sender.clone(), self.wake.clone());
            let (host, ticket) = (self.host.clone(), probe.ticket);
            let shared = Arc::clone(shared);
            let thread = thread::Builder::new().name("netwatch".to_owned());
            let begun = thread.stack_size(STACK_BYTES).spawn(move || {
                let _ = sender.send((ticket, try_host(&shared, host.as_deref(), &probe)));
                wake.wake();
            });
            if let Err(error) = begun {
                let fault = error.to_string();
                let probed = Probed {
                    fault,
                    ..Probed::default()
                };
                let _ = self.sender.send((ticket, probed));
                self.wake.wake();
            }
        }
    }
}

fn try_host(shared: &Shared, host: Option<&HostPlane>, probe: &Probe) -> Probed {
    let mut probed = Probed::default();
    let begin = Instant::now();
    if let Err(fault) = attempt(shared, host, probe, &mut probed) {
        probed.fault = fault;
    }
    probed.took = begin.elapsed();
    probed
}

fn attempt(
    shared: &Shared,
    host: Option<&HostPlane>,
    probe: &Probe,
    probed: &mut Probed,
) -> Result<(), String> {
    let resolve = |families: &'static [bool], server| -> Result<Vec<IpAddr>, String> {
        let asked = NameQuery {
            name: &probe.host,
            families,
            server,
        };
        // Nothing interrupts it: it has a time limit.
        let found = crate::inlet::resolve::resolve(shared, host, &asked, &Interrupt::default());
        found.map_err(|reason| reason.to_string())
    };
    if let Trial::Dns(ipv6, server) = probe.trial {
        probed.addresses = resolve(if ipv6 { &[false] } else { &[true] }, server)?;
        return Ok(());
    }
    let to = match probe.to {
        Some(to) => to,
        None => {
            let found = resolve(&[true, false], None)?;
            found.first().copied().ok_or("no address")?
        }
    };
    let begin = Instant::now();
    let parameters = ConnectionParameters {
        host,
        source: probe.source,
        until: begin + probe.timeout,
        patience: probe.timeout,
        interrupt: &Interrupt::default(),
    };
    let (Trial::Tcp(port) | Trial::Http(port) | Trial::Https(port, _)) = probe.trial else {
        return Ok(());
    };
    let stream = parameters.connect(SocketAddr::new(to, port))?;
    probed.connected = begin.elapsed();
    if matches!(probe.trial, Trial::Tcp(_)) {
        return Ok(());
    }
    let mut seen = 0;
    let mut take = |_: &Answer, piece: &[u8]| {
        seen += piece.len();
        match seen > MAX_PAGE_BYTES {
            true => Err("the page is too long".to_owned()),
            false => Ok(()),
        }
    };
    let answer = match probe.trial {
        Trial::Https(_, check) => {
            let trust = shared.lock().trust();
            let config = tls::client(&trust, "netwatch", Check::of(check))?;
            let line = parameters.secured(stream, &probe.host, config)?;
            ask(line, &Request::get(&probe.host, port, 443), &mut take)?
        }
        _ => ask(
            parameters.plain(stream),
            &Request::get(&probe.host, port, 80),
            &mut take,
        )?,
    };
    probed.code = Some(answer.status);
    Ok(())
}
