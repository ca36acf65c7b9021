//! Tries hosts that are watched (`/tool/netwatch`): connections, pages, names. Each trial has a thread for as long as
//! it is under way, so that a host that does not answer holds nobody up. How many there are, control decides.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use certificate::Check;
use netio::Waker;
use router::Instance;
use router::drive::netwatch::{Probe, Probed, Trial};
use script::{Asked, Interrupt};

use crate::core::Shared;
use crate::host::HostPlane;
use crate::outgoing::{Answer, Request, Road, ask};
use crate::trust;

/// A thread that speaks TLS needs this much.
const STACK: usize = 512 << 10;
/// Bytes of a page that are looked at: nobody wants more than its status.
const PAGE_MOST: usize = 64 << 10;

/// See the module.
pub(crate) struct Probes {
    host: Option<Arc<HostPlane>>,
    tell: Sender<((u64, u64), Probed)>,
    told: Receiver<((u64, u64), Probed)>,
    /// Wakes the control thread.
    wake: Waker,
}

impl Probes {
    /// Tries hosts from the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (tell, told) = channel();
        Self {
            host,
            tell,
            told,
            wake,
        }
    }

    /// Tells control what came of trials; gives those that are to begin.
    pub(crate) fn follow(&self, instance: &mut Instance) -> Vec<Probe> {
        for (ticket, probed) in self.told.try_iter() {
            instance.control().hear_probe(ticket, probed);
        }
        instance.control().take_probes()
    }

    /// Begins trials, and does not wait for what comes of them.
    pub(crate) fn begin(&self, shared: &Arc<Shared>, probes: Vec<Probe>) {
        for probe in probes {
            let (tell, wake) = (self.tell.clone(), self.wake.clone());
            let (host, ticket) = (self.host.clone(), probe.ticket);
            let shared = Arc::clone(shared);
            let thread = thread::Builder::new().name("netwatch".to_owned());
            let begun = thread.stack_size(STACK).spawn(move || {
                let _ = tell.send((ticket, try_host(&shared, host.as_deref(), &probe)));
                wake.wake();
            });
            if let Err(error) = begun {
                let fault = error.to_string();
                let probed = Probed {
                    fault,
                    ..Probed::default()
                };
                let _ = self.tell.send((ticket, probed));
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
        let asked = Asked {
            name: &probe.host,
            families,
            server,
        };
        // Nobody stops it: it ends by itself.
        let found = crate::resolve::resolve(shared, host, &asked, &Interrupt::default());
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
    let road = Road {
        host,
        source: probe.source,
        until: begin + probe.timeout,
        patience: probe.timeout,
        interrupt: &Interrupt::default(),
    };
    let (Trial::Tcp(port) | Trial::Http(port) | Trial::Https(port, _)) = probe.trial else {
        return Ok(());
    };
    let stream = road.connect(SocketAddr::new(to, port))?;
    probed.connected = begin.elapsed();
    if matches!(probe.trial, Trial::Tcp(_)) {
        return Ok(());
    }
    let mut seen = 0;
    let mut take = |_: &Answer, piece: &[u8]| {
        seen += piece.len();
        match seen > PAGE_MOST {
            true => Err("the page is too long".to_owned()),
            false => Ok(()),
        }
    };
    let answer = match probe.trial {
        Trial::Https(_, check) => {
            let trust = shared.lock().trust();
            let config = trust::client(&trust, "netwatch", Check::of(check))?;
            let line = road.secured(stream, &probe.host, config)?;
            ask(line, &Request::get(&probe.host, port, 443), &mut take)?
        }
        _ => ask(
            road.plain(stream),
            &Request::get(&probe.host, port, 80),
            &mut take,
        )?,
    };
    probed.code = Some(answer.status);
    Ok(())
}
