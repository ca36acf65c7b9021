//! Client of a bandwidth test on sockets: a thread per test.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use btest::client::{Action, Client, Event};
use btest::{Flow, Status, Test};
use machine::{Duration, Instant, Machine};
use netio::TcpInfo;
use script::Interrupt;
use tool::{BandwidthProgress, PathState};

use super::datagrams::enlarge;
use super::engine::{Engine, Side, SocketKey};
use crate::host::HostPlane;
use crate::session::access::random;

/// The only session of a client.
const SESSION: u64 = 0;
/// Interval of progress reports, below the interval of the measurements.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

/// The state machine, and the port of the server.
pub(super) struct ClientSide {
    client: Client,
    port: u16,
}

/// Runs a test to its end, or until the interrupt. `port` is the TCP port of the server. Passes on the progress.
///
/// # Errors
/// No descriptors or random numbers are left.
pub(super) fn run(
    test: &Test,
    port: u16,
    host: Option<Arc<HostPlane>>,
    stop: &Interrupt,
    report: &mut dyn FnMut(BandwidthProgress),
) -> Result<(), String> {
    let client = Client::new(test.clone(), random()?);
    let side = ClientSide { client, port };
    let mut engine = Engine::new(side, host).map_err(|error| error.to_string())?;
    Engine::<ClientSide>::yield_to_forwarding();
    engine.tell(|side, now, out| side.handle(Event::Start, now, out));
    let (mut due, mut last_path) = (Instant::ZERO, None);
    loop {
        let status = engine.machine.client.status();
        let is_over = !matches!(status, Status::Connecting | Status::Running);
        if is_over || engine.now() >= due {
            due = engine.now() + REPORT_INTERVAL;
            // The connections are closed at the end.
            last_path = path(&engine).or(last_path);
            report(progress(&engine, last_path));
        }
        if is_over {
            return Ok(());
        }
        if stop.is_on() {
            engine.tell(|side, now, out| side.handle(Event::Stop, now, out));
            continue;
        }
        engine.round().map_err(|error| error.to_string())?;
    }
}

fn progress(engine: &Engine<ClientSide>, path: Option<PathState>) -> BandwidthProgress {
    let client = &engine.machine.client;
    let mut figures = client.figures(engine.now());
    figures.local_cpu_percent = engine.cpu_percent;
    // A busy machine ends the test late.
    let limit = client.test().duration.unwrap_or(Duration::MAX);
    figures.duration = figures.duration.min(limit);
    BandwidthProgress {
        status: client.status(),
        reason: client.reason(),
        figures,
        test_cpu_percent: engine.own_percent(),
        path,
    }
}

/// Reads the state of the first connection.
fn path(engine: &Engine<ClientSide>) -> Option<PathState> {
    let link = engine.links.get(&SESSION)?;
    let info = TcpInfo::of(&link.stream).ok()?;
    let direction = engine.machine.client.test().direction;
    Some(PathState {
        rtt: info.rtt,
        window_bytes: match direction.client_sends() {
            true => info.send_window_bytes,
            false => info.receive_window_bytes,
        },
        retransmitted: info.retransmitted,
    })
}

impl Machine for ClientSide {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = btest::client::Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        self.client.handle(event, now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.client.tick(now, out);
    }

    fn deadline(&self) -> Option<(Instant, Self::Timer)> {
        self.client.deadline()
    }
}

impl Side for ClientSide {
    fn received(&mut self, link: u64, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Received(link as u8, bytes), now, out);
    }

    fn connected(&mut self, link: u64, now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Connected(link as u8), now, out);
    }

    fn closed(&mut self, link: u64, now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Closed(link as u8), now, out);
    }

    fn datagram(&mut self, socket: SocketKey, _: u16, datagram: &[u8], now: Instant) {
        // A datagram causes no action.
        self.handle(
            Event::Datagram(socket.index, datagram),
            now,
            &mut Vec::new(),
        );
    }

    fn flow(&mut self, _: u64) -> Option<&mut Flow> {
        self.client.flow()
    }

    fn destination(&mut self, _: u64) -> Option<u16> {
        None
    }

    fn set_cpu_percent(&mut self, percent: u8) {
        self.client.set_cpu_percent(percent);
    }

    fn act(engine: &mut Engine<Self>, action: Action) {
        match action {
            Action::Connect(number) => {
                let to = SocketAddr::new(engine.machine.client.test().server, engine.machine.port);
                if engine.connect(number.into(), to).is_err() {
                    engine.tell(|side, now, out| side.handle(Event::Closed(number), now, out));
                }
            }
            Action::Send(number, bytes) => engine.send(number.into(), &bytes),
            Action::OpenUdp {
                socket,
                local_port,
                remote_port,
            } => open(engine, socket, local_port, remote_port),
            Action::Probe(index) => {
                let key = SocketKey {
                    session: SESSION,
                    index,
                };
                if let Some(socket) = engine.datagrams.get(key) {
                    let _ = socket.send(&[]);
                }
            }
            Action::Begin(links) => {
                engine.datagrams.begin(SESSION);
                for link in links {
                    engine.carry(link.into(), SESSION);
                }
            }
            Action::Close(number) => engine.close(number.into()),
            Action::Ended(..) => {
                engine.datagrams.close(SESSION);
                engine.links.clear();
            }
        }
    }
}

/// Opens a datagram socket to the server.
fn open(engine: &mut Engine<ClientSide>, socket: u8, local_port: u16, remote_port: u16) {
    let server = engine.machine.client.test().server;
    let opened = engine.inside(move || {
        let any: IpAddr = match server {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, local_port))?;
        socket.set_nonblocking(true)?;
        socket.connect((server, remote_port))?;
        Ok(socket)
    });
    let event = match opened {
        Ok(opened) => {
            enlarge(&opened);
            let key = engine.datagrams.add(SESSION, opened, server);
            let watched = engine
                .datagrams
                .get(key)
                .map(|socket| engine.watch(socket, key));
            match watched {
                Some(Ok(())) => Event::UdpOpened(socket),
                _ => Event::UdpFailed(socket),
            }
        }
        Err(_) => Event::UdpFailed(socket),
    };
    engine.tell(|side, now, out| side.handle(event, now, out));
}
