//! A client on real sockets.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;

use btest::client::{Action, Client, Event, Test};
use btest::{Flow, Status};
use machine::{Instant, Machine};

use super::{Host, Inner, Side, Socket, random};

/// Starts a test with a server at this address.
pub(crate) fn begin(test: Test, server: SocketAddr) -> Arc<Host<Client>> {
    let host = Host::new(Client::new(test, random()), "", Some(server));
    host.tell(|client, now, out| client.handle(Event::Start, now, out));
    host
}

/// Stops a test.
pub(crate) fn stop(host: &Arc<Host<Client>>) {
    host.tell(|client, now, out| client.handle(Event::Stop, now, out));
    host.wait(|client, _| !matches!(client.status(), Status::Connecting | Status::Running));
    host.stop();
}

impl Side for Client {
    fn received(&mut self, link: u64, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Received(link as u8, bytes), now, out);
    }

    fn closed(&mut self, link: u64, now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Closed(link as u8), now, out);
    }

    fn datagram(&mut self, socket: Socket, _: u16, datagram: &[u8], now: Instant) {
        self.handle(
            Event::Datagram(socket.index, datagram),
            now,
            &mut Vec::new(),
        );
    }

    fn flow(&mut self, _: u64) -> Option<&mut Flow> {
        Self::flow(self)
    }

    fn next(&mut self, _: u64, turn: usize, sockets: usize) -> Option<(usize, Option<u16>)> {
        Some((turn % sockets, None))
    }

    fn act(host: &Arc<Host<Self>>, inner: &mut Inner<Self>, action: Action) {
        match action {
            Action::Connect(number) => connect(host, number),
            Action::Send(number, bytes) => inner.send(number.into(), &bytes),
            Action::OpenUdp {
                socket,
                local_port,
                remote_port,
            } => open(host, inner, socket, local_port, remote_port),
            Action::Probe(socket) => {
                if let Some(socket) = inner.udp(0, socket.into()) {
                    let _ = socket.send(&[]);
                }
            }
            Action::Begin(links) => {
                if links.is_empty() {
                    host.begin_udp(0);
                }
                links
                    .into_iter()
                    .for_each(|link| inner.carry(link.into(), 0));
            }
            Action::Close(number) => inner.close(number.into()),
            Action::Ended(..) => {
                (0..=u64::from(u8::MAX)).for_each(|link| inner.close(link));
                inner.close_udp(0);
            }
        }
    }
}

fn connect(host: &Arc<Host<Client>>, number: u8) {
    let host = host.clone();
    thread::spawn(move || {
        let peer = host.peer.expect("a client has a server");
        let stream = TcpStream::connect(peer);
        let mut inner = host.lock();
        match stream {
            Ok(stream) => host.adopt(&mut inner, number.into(), stream),
            Err(_) => host.tell_inner(&mut inner, |client, now, out| {
                client.handle(Event::Closed(number), now, out);
            }),
        }
    });
}

fn open(
    host: &Arc<Host<Client>>,
    inner: &mut Inner<Client>,
    socket: u8,
    local_port: u16,
    remote_port: u16,
) {
    let peer = host.peer.expect("a client has a server");
    // Another test may have taken the port; the server learns the actual one.
    let any = UdpSocket::bind(("0.0.0.0", local_port)).or_else(|_| UdpSocket::bind("0.0.0.0:0"));
    let connected = any.and_then(|any| any.connect((peer.ip(), remote_port)).map(|()| any));
    let event = match connected {
        Ok(connected) => {
            host.adopt_udp(inner, 0, (connected, peer.ip()));
            Event::UdpOpened(socket)
        }
        Err(_) => Event::UdpFailed(socket),
    };
    host.tell_inner(inner, |client, now, out| client.handle(event, now, out));
}
