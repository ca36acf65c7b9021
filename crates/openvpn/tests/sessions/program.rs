//! OpenVPN itself as the other end, over loopback: control channel, keys and options. Without the program the tests are
//! skipped with a message.

#![expect(clippy::disallowed_methods, reason = "the other end has a clock")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path as File, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration as Span, Instant as Clock, SystemTime, UNIX_EPOCH};

use machine::{Duration, Instant, Machine, Rng};
use openvpn::data::{self, Head, Incoming, Opened, Outgoing, PING, Receiving, Sending};
use openvpn::{
    Action, Bits, Cipher, Client, ClientEvent, ClientSettings, DataKeys, Digest, Login,
    Opened as Session, Path, Protection, Reason, Server, ServerEvent, StaticKey, Traffic,
    Transport, is_data,
};

use crate::certificates::Certificates;
use crate::network::{client_settings, grant, server_settings};

const PROGRAM: &str = "/usr/sbin/openvpn";
/// Time for a test's event.
const TIMEOUT: Span = Span::from_secs(30);

/// The running program, and the lines that it prints.
struct Program {
    child: Child,
    lines: Receiver<String>,
    folder: PathBuf,
    printed: Vec<String>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Set in processes that run in a namespace of their own.
const ISOLATED: &str = "OPENVPN_TEST_ISOLATED";

/// Runs a test in a process with a network namespace of its own, as OpenVPN makes a device. Returns true in that
/// process. Otherwise the test is over, or is skipped with a message.
fn is_isolated(test: &str) -> bool {
    if std::env::var_os(ISOLATED).is_some() {
        return true;
    }
    if !File::new(PROGRAM).exists() {
        println!("{test}: skipped: there is no {PROGRAM}");
        return false;
    }
    let isolated = |command: &str| {
        let mut run = Command::new("unshare");
        run.args(["--net", "sh", "-c", command]);
        run.env(ISOLATED, "1");
        run
    };
    let mut probe = isolated("ip link set lo up");
    probe.stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        println!("{test}: skipped: network namespaces cannot be made here");
        return false;
    }
    let own = std::env::current_exe().expect("a path");
    let mut run = isolated("ip link set lo up; exec \"$0\" --exact \"$1\"");
    let run = run.arg(own).arg(format!("program::{test}")).output();
    let output = run.expect("the test runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("1 passed"), "{printed}");
    false
}

impl Program {
    /// Starts the program with options besides those for certificates and a null device.
    fn start(test: &str, certificates: &Certificates, identity: &str, options: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("openvpn-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text).expect("a file");
        };
        write("ca", &certificates.authority.pem);
        let own = match identity {
            "server" => &certificates.server,
            _ => &certificates.client,
        };
        write("cert", &own.pem);
        write("key", &own.key.serialize_pem());
        write("static", STATIC_KEY);
        write("login", "user\nsecret\n");
        write("accept", "#!/bin/sh\nexit 0\n");
        let mut child = Command::new(PROGRAM)
            .current_dir(&folder)
            .args("--ca ca --cert cert --key key --verb 3".split(' '))
            .args("--ifconfig-noexec --route-noexec --suppress-timestamps".split(' '))
            .args(options.split_ascii_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            folder,
            printed: Vec::new(),
        }
    }

    /// Reads what was printed. Returns true if a line contains the text.
    fn has_printed(&mut self, text: &str) -> bool {
        self.printed.extend(self.lines.try_iter());
        self.printed.iter().any(|line| line.contains(text))
    }

    /// Waits for a line with the text.
    fn wait_for(&mut self, text: &str) {
        let end = Clock::now() + TIMEOUT;
        while !self.has_printed(text) {
            let left = end.saturating_duration_since(Clock::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.printed.push(line),
                Err(_) => panic!("{text:?} is missing in\n{}", self.printed.join("\n")),
            }
        }
    }
}

/// A machine on a socket of the loopback interface.
struct End<M> {
    machine: M,
    socket: UdpSocket,
    start: Clock,
    opened: Vec<Session>,
    keys: Vec<DataKeys>,
    used: Vec<u8>,
    logins: Vec<Login>,
    closed: Vec<Reason>,
    sending: BTreeMap<u8, Sending>,
    receiving: BTreeMap<u8, Receiving>,
    /// Results of data packets.
    data: Vec<Result<Opened, data::Fault>>,
}

/// Delivers a packet to a machine.
trait Receive: Machine<Action = Action> {
    fn receive(&mut self, path: Path, packet: &[u8], now: Instant, out: &mut Vec<Action>);
    fn answer(&mut self, login: &Login, now: Instant, out: &mut Vec<Action>);
    /// Reports an authentic data packet.
    fn received_data(&mut self, now: Instant, out: &mut Vec<Action>);
}

/// The report of a packet received now.
fn received(now: Instant) -> Traffic {
    Traffic {
        received: Some(now),
        ..Traffic::default()
    }
}

impl Receive for Client {
    fn receive(&mut self, path: Path, packet: &[u8], now: Instant, out: &mut Vec<Action>) {
        self.handle(ClientEvent::Received { path, packet }, now, out);
    }

    fn answer(&mut self, _: &Login, _: Instant, _: &mut Vec<Action>) {}

    fn received_data(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.handle(ClientEvent::Traffic(received(now)), now, out);
    }
}

impl Receive for Server {
    fn receive(&mut self, path: Path, packet: &[u8], now: Instant, out: &mut Vec<Action>) {
        self.handle(ServerEvent::Received { path, packet }, now, out);
    }

    fn answer(&mut self, login: &Login, now: Instant, out: &mut Vec<Action>) {
        self.handle(
            ServerEvent::Accept(login.session, Box::new(grant())),
            now,
            out,
        );
    }

    fn received_data(&mut self, _: Instant, _: &mut Vec<Action>) {}
}

impl<M: Receive> End<M> {
    fn new(machine: M) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        Self {
            machine,
            socket,
            start: Clock::now(),
            opened: Vec::new(),
            keys: Vec::new(),
            used: Vec::new(),
            logins: Vec::new(),
            closed: Vec::new(),
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            data: Vec::new(),
        }
    }

    fn now(&self) -> Instant {
        Instant::from_secs(1000) + self.start.elapsed()
    }

    fn local(&self) -> SocketAddr {
        self.socket.local_addr().expect("an address")
    }

    fn path(&self, remote: SocketAddr) -> Path {
        Path {
            local: self.local(),
            remote,
            transport: Transport::Udp,
        }
    }

    fn carry_out(&mut self, mut actions: Vec<Action>) {
        while !actions.is_empty() {
            let mut more = Vec::new();
            for action in actions {
                match action {
                    Action::Send(path, packet) => {
                        let _ = self.socket.send_to(&packet, path.remote);
                    }
                    Action::Opened(opened) => self.opened.push(*opened),
                    Action::Keys(keys) => {
                        let mut rng = Rng::seeded(5);
                        let sending = Sending::new(&keys, &mut rng).expect("a key");
                        self.sending.insert(keys.key_id, sending);
                        let receiving = Receiving::new(&keys).expect("a key");
                        self.receiving.insert(keys.key_id, receiving);
                        self.keys.push(*keys);
                    }
                    Action::Ping(_) => self.ping(),
                    Action::UseKey(_, key) => self.used.push(key),
                    Action::Closed(_, reason) => self.closed.push(reason),
                    Action::Authenticate(login) => {
                        let now = self.now();
                        self.machine.answer(&login, now, &mut more);
                        self.logins.push(*login);
                    }
                    _ => {}
                }
            }
            actions = more;
        }
    }

    /// Sends a ping.
    fn ping(&self) {
        let key = self.used.last().and_then(|key| self.sending.get(key));
        let sending = key.expect("a ping has a key");
        let layout = sending.layout(&PING);
        let mut packet = [&vec![0; layout.front], &PING[..], &vec![0; layout.back]].concat();
        let mut outgoing = [Outgoing::new(sending, layout, &mut packet)];
        data::seal_all(&mut outgoing);
        assert_eq!(outgoing[0].result, Ok(()));
        let path = self.opened.last().expect("the session is open").path;
        let _ = self.socket.send_to(&packet, path.remote);
    }

    /// Decrypts a data packet.
    fn decrypt(&mut self, packet: &mut [u8], out: &mut Vec<Action>)
    where
        M: Receive,
    {
        let head = Head::parse(packet).expect("a data packet");
        let Some(receiving) = self.receiving.get(&head.key_id) else {
            return;
        };
        let mut incoming = [Incoming::new(receiving, head, packet)];
        data::open_all(&mut incoming);
        let [incoming] = incoming;
        let now = self.now();
        if incoming.result.is_ok() {
            self.machine.received_data(now, out);
        }
        self.data.push(incoming.result);
    }

    /// Runs the machine until a condition holds.
    fn run_until(
        &mut self,
        program: &mut Program,
        condition: impl Fn(&Self, &mut Program) -> bool,
    ) {
        let end = Clock::now() + TIMEOUT;
        let mut packet = [0; 4096];
        while !condition(self, program) {
            assert!(
                Clock::now() < end,
                "{:?} {:?}\n{}",
                self.opened,
                self.closed,
                program.printed.join("\n")
            );
            let due = self.machine.deadline().map(|(at, _)| at - self.now());
            let wait = due.unwrap_or(Duration::MAX).min(Span::from_millis(100));
            let wait = wait.max(Span::from_millis(1));
            self.socket.set_read_timeout(Some(wait)).expect("a timeout");
            let mut out = Vec::new();
            if let Ok((len, remote)) = self.socket.recv_from(&mut packet) {
                let packet = &mut packet[..len];
                match is_data(packet) {
                    true => self.decrypt(packet, &mut out),
                    false => {
                        let (path, now) = (self.path(remote), self.now());
                        self.machine.receive(path, packet, now, &mut out);
                    }
                }
            }
            self.machine.tick(self.now(), &mut out);
            self.carry_out(out);
        }
    }
}

const STATIC_KEY: &str = "-----BEGIN OpenVPN Static key V1-----
000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f
404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f
606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f
808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f
a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf
c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf
e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff
-----END OpenVPN Static key V1-----
";

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    socket.local_addr().expect("an address").port()
}

/// A client of this crate, and the program as its server.
fn with_program_as_server(
    test: &str,
    options: &str,
    change: impl Fn(&mut ClientSettings),
) -> (End<Client>, Program) {
    let certificates = Certificates::new();
    let port = free_port();
    let options = format!(
        "--dev tun --mode server --tls-server --dh none --local 127.0.0.1 --port {port} --proto udp4 --topology subnet \
         {options}"
    );
    let mut program = Program::start(test, &certificates, "server", &options);
    program.wait_for("Initialization Sequence Completed");
    let mut end = End::new(Client::new(Rng::seeded(port.into())));
    let mut settings = client_settings(&certificates);
    settings.tls = certificates.client_tls(rustls::ALL_VERSIONS, true);
    change(&mut settings);
    let unix_time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time");
    let event = ClientEvent::Connect {
        settings: Box::new(settings),
        path: end.path((Ipv4Addr::LOCALHOST, port).into()),
        unix_time: unix_time.as_secs() as u32,
    };
    let (now, mut out) = (end.now(), Vec::new());
    end.machine.handle(event, now, &mut out);
    end.carry_out(out);
    (end, program)
}

#[test]
fn our_client_connects_to_openvpn() {
    if !is_isolated("our_client_connects_to_openvpn") {
        return;
    }
    let options = "--keepalive 1 60";
    let (mut end, mut program) = with_program_as_server("client", options, |_| {});
    end.run_until(&mut program, |end, _| end.data.len() > 1);
    assert_eq!(end.data, [Ok(Opened::Ping), Ok(Opened::Ping)]);
    let opened = &end.opened[0];
    assert_eq!(opened.push.ping, Some(1));
    assert_eq!(opened.peer_id, Some(0));
    assert_eq!(opened.suite.cipher, Cipher::AesGcm(Bits::B256));
    assert!(opened.push.exports_keys);
}

#[test]
fn our_client_connects_to_openvpn_with_tls_crypt_and_tls_auth() {
    if !is_isolated("our_client_connects_to_openvpn_with_tls_crypt_and_tls_auth") {
        return;
    }
    let key = || StaticKey::parse(STATIC_KEY).expect("a key");
    let tls_crypt = |settings: &mut ClientSettings| {
        settings.protection = Protection::TlsCrypt { key: key() };
    };
    let options = "--keepalive 1 60 --tls-crypt static";
    let (mut end, mut program) = with_program_as_server("crypt", options, tls_crypt);
    end.run_until(&mut program, |end, _| !end.data.is_empty());
    for (name, digest, direction) in [
        ("SHA256", Digest::Sha256, Some(1)),
        ("SHA1", Digest::Sha1, None),
    ] {
        let tls_auth = |settings: &mut ClientSettings| {
            settings.digest = digest;
            settings.protection = Protection::TlsAuth {
                key: key(),
                digest,
                direction,
            };
        };
        let side = direction.map_or("", |_| "0");
        let options = format!("--keepalive 1 60 --tls-auth static {side} --auth {name}");
        let (mut end, mut program) = with_program_as_server("auth", &options, tls_auth);
        end.run_until(&mut program, |end, _| !end.data.is_empty());
    }
}

#[test]
fn both_ends_decrypt_the_pings_of_the_other() {
    if !is_isolated("both_ends_decrypt_the_pings_of_the_other") {
        return;
    }
    let cbc = Cipher::AesCbc(Bits::B128);
    for (cipher, digest, name) in [
        (cbc, Digest::Sha256, "SHA256"),
        (Cipher::ChaCha20Poly1305, Digest::Sha1, "SHA1"),
    ] {
        // The server forgets a client without pings after four seconds.
        let ciphers = cipher.name();
        let options = format!("--keepalive 1 2 --data-ciphers {ciphers} --auth {name}");
        let change = |settings: &mut ClientSettings| {
            settings.ciphers = vec![cipher];
            settings.digest = digest;
        };
        let (mut end, mut program) = with_program_as_server("pings", &options, change);
        end.run_until(&mut program, |end, _| end.data.len() > 5);
        assert!(
            end.data.iter().all(|result| *result == Ok(Opened::Ping)),
            "{:?}",
            end.data
        );
        assert_eq!(end.closed, []);
        for fault in ["Inactivity timeout", "decrypt", "HMAC"] {
            assert!(
                !program.has_printed(fault),
                "{}",
                program.printed.join("\n")
            );
        }
    }
}

/// A server of this crate, and the program as its client.
fn with_program_as_client(
    test: &str,
    options: &str,
    change: impl Fn(&mut openvpn::ServerSettings),
) -> (End<Server>, Program) {
    let certificates = Certificates::new();
    let mut settings = server_settings(&certificates);
    settings.tls = certificates.server_tls(true);
    change(&mut settings);
    let end = End::new(Server::new(settings, Rng::seeded(3)));
    let port = end.local().port();
    let options = format!(
        "--dev null --client --nobind --remote 127.0.0.1 {port} --proto udp4 --auth-user-pass login --server-poll-timeout 20 {options}"
    );
    let program = Program::start(test, &certificates, "client", &options);
    (end, program)
}

#[test]
fn openvpn_connects_to_our_server() {
    if !is_isolated("openvpn_connects_to_our_server") {
        return;
    }
    for (test, options) in [
        ("server13", ""),
        ("server12", "--tls-version-max 1.2"),
        ("serverocc", "--data-ciphers AES-128-GCM"),
    ] {
        let (mut end, mut program) = with_program_as_client(test, options, |_| {});
        end.run_until(&mut program, |_, program| {
            program.has_printed("Initialization Sequence Completed")
        });
        let login = &end.logins[0];
        assert_eq!(
            (login.user.as_str(), login.password.as_str()),
            ("user", "secret")
        );
        assert!(login.certificate.is_some());
        assert_eq!(login.info.platform.as_deref(), Some("linux"));
        assert_eq!(end.opened[0].push.peer_id, Some(end.opened[0].session));
        assert_eq!(end.used, [0]);
        assert!(program.has_printed("ifconfig 10.8.0.2 255.255.255.0"));
        // Of the options strings, only the null device differs.
        let is_warning = |line: &&String| line.contains("WARNING: '");
        let warnings: Vec<_> = program.printed.iter().filter(is_warning).collect();
        assert!(
            warnings.iter().all(|line| line.contains("dev-type")),
            "{warnings:?}"
        );
    }
}

#[test]
fn openvpn_renews_its_keys_and_leaves() {
    if !is_isolated("openvpn_renews_its_keys_and_leaves") {
        return;
    }
    let (mut end, mut program) =
        with_program_as_client("renew", "--reneg-sec 6 --explicit-exit-notify 1", |_| {});
    end.run_until(&mut program, |end, _| end.used.ends_with(&[0, 1, 2]));
    assert_eq!(end.keys.len(), 3);
    assert_eq!(
        end.logins.len(),
        1,
        "unchanged passwords are not asked for again"
    );
    let pid = program.child.id().to_string();
    let signal = Command::new("kill").args(["-INT", &pid]).status();
    assert!(signal.expect("kill").success());
    end.run_until(&mut program, |end, _| !end.closed.is_empty());
    assert_eq!(end.closed, [Reason::Exit]);
}

#[test]
fn openvpn_learns_why_it_is_refused() {
    if !is_isolated("openvpn_learns_why_it_is_refused") {
        return;
    }
    let cbc = |settings: &mut openvpn::ServerSettings| {
        settings.ciphers = vec![Cipher::AesCbc(Bits::B192)];
    };
    let options = "--connect-retry-max 1 --auth-retry none";
    let (mut end, mut program) = with_program_as_client("refuse", options, cbc);
    end.run_until(&mut program, |_, program| {
        program.has_printed("AUTH_FAILED")
    });
    assert_eq!(end.closed[0], Reason::NoCipher);
}
