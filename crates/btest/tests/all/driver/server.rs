//! A server on real sockets.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread;

use btest::Flow;
use btest::server::{Action, Authentication, Connection, Credential, Event, Server, Settings};
use btest::srp::Verifier;
use machine::{Instant, Machine};

use super::{Host, Inner, Side, Socket, random};

/// Starts a server at this address, with one password for all users; returns its actual address.
pub(crate) fn begin(
    address: &str,
    authentication: Authentication,
    password: &str,
) -> (Arc<Host<Server>>, SocketAddr) {
    let settings = Settings {
        authentication,
        max_sessions: 100,
    };
    let host = Host::new(Server::new(settings, random()), password, None);
    let listener = TcpListener::bind(address).expect("the address is free");
    let address = listener.local_addr().expect("it is bound");
    let accepts = host.clone();
    thread::spawn(move || accept(&accepts, &listener));
    (host, address)
}

/// Accepts connections until the process ends.
fn accept(host: &Arc<Host<Server>>, listener: &TcpListener) {
    for number in 0.. {
        let Ok((stream, peer)) = listener.accept() else {
            return;
        };
        if host.is_over() {
            return;
        }
        let mut inner = host.lock();
        host.adopt(&mut inner, number, stream);
        let event = Event::Accepted {
            connection: Connection(number),
            peer: peer.ip(),
            random: Box::new(random()),
        };
        host.tell_inner(&mut inner, |server, now, out| {
            server.handle(event, now, out)
        });
    }
}

impl Side for Server {
    fn received(&mut self, link: u64, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Received(Connection(link), bytes), now, out);
    }

    fn closed(&mut self, link: u64, now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Closed(Connection(link)), now, out);
    }

    fn datagram(&mut self, socket: Socket, port: u16, datagram: &[u8], now: Instant) {
        let session = Connection(socket.session);
        let event = Event::Datagram {
            session,
            port,
            datagram,
        };
        self.handle(event, now, &mut Vec::new());
    }

    fn flow(&mut self, session: u64) -> Option<&mut Flow> {
        Self::flow(self, Connection(session))
    }

    fn next(&mut self, session: u64, _: usize, _: usize) -> Option<(usize, Option<u16>)> {
        let port = self.destination(Connection(session))?;
        Some((0, Some(port)))
    }

    fn act(host: &Arc<Host<Self>>, inner: &mut Inner<Self>, action: Action) {
        match action {
            Action::Send(Connection(link), bytes) => inner.send(link, &bytes),
            Action::Ask(connection, user) => {
                let salt = random();
                let verifier = || Verifier::of(&user, &inner.password, salt);
                let known = match inner.authentication() {
                    Authentication::EcSrp5 => Credential::Verifier(verifier()),
                    _ => Credential::Password(inner.password.as_str().into()),
                };
                host.tell_inner(inner, |server, now, out| {
                    server.handle(Event::Credential(connection, known), now, out);
                });
            }
            Action::OpenUdp(session, peer) => {
                let socket = UdpSocket::bind("0.0.0.0:0").expect("a port is free");
                let port = socket.local_addr().expect("it is bound").port();
                host.adopt_udp(inner, session.0, (socket, peer));
                host.tell_inner(inner, |server, now, out| {
                    server.handle(Event::UdpOpened(session, port), now, out);
                });
            }
            Action::Begin(session, links) => {
                if links.is_empty() {
                    host.begin_udp(session.0);
                }
                links
                    .into_iter()
                    .for_each(|link| inner.carry(link.0, session.0));
            }
            Action::Close(Connection(link), _) => inner.close(link),
            Action::Ended(session, _) => inner.close_udp(session.0),
        }
    }
}

impl Inner<Server> {
    fn authentication(&self) -> Authentication {
        self.machine.settings().authentication
    }
}
