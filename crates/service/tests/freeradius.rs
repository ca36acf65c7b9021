//! The RADIUS client with FreeRADIUS on loopback: PAP, CHAP, MS-CHAP 1 and 2, and accounting.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use machine::{Instant, Machine as _, Rng};
use service::radius::{
    Accept, Accounting, Action, Answer, Client, Event, LineId, Outcome, Port, PortType, Query,
    Question, Request, RouterStatus, Server, Service, Status, SubscriberLine, TerminateCause,
    Through, Traffic,
};

/// Time without any answer after which the client's timers run.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const PROGRAM: &str = "/usr/sbin/freeradius";

const CONFIG: &str = "name = freeradius
prefix = /usr
libdir = /usr/lib/freeradius
run_dir = FOLDER
max_requests = 16384
logdir = FOLDER
log {
 destination = stdout
}
security {
 max_attributes = 200
 reject_delay = 0
}
client all {
 ipaddr = 127.0.0.1
 secret = testing123
 require_message_authenticator = yes
}
modules {
 pap {
 }
 chap {
 }
 mschap {
 }
 detail {
  filename = FOLDER/detail
 }
 files {
  filename = FOLDER/users
 }
}
server default {
 listen {
  type = auth
  ipaddr = 127.0.0.1
  port = ACCESS
 }
 listen {
  type = acct
  ipaddr = 127.0.0.1
  port = ACCOUNTING
 }
 authorize {
  files
  chap
  mschap
  pap
 }
 authenticate {
  Auth-Type CHAP {
   chap
  }
  Auth-Type MS-CHAP {
   mschap
  }
  Auth-Type PAP {
   pap
  }
 }
 accounting {
  detail
 }
}
";

/// `User` and `client` have the passwords of the examples in RFC 2759, 9.2, and RFC 2433, B.1.
const USERS: &str = "User Cleartext-Password := \"clientPass\"
\tMikrotik-Rate-Limit = \"1M/2M 2M/4M\",
\tMikrotik-Address-List = \"paid\",
\tFramed-IP-Address = 10.9.0.7,
\tFramed-Route = \"198.51.100.0/24 10.9.0.7 1\",
\tFilter-Id = \"customers.in\",
\tDelegated-IPv6-Prefix = 2001:db8:1::/48,
\tSession-Timeout = 3600,
\tClass = \"a class\"
client Cleartext-Password := \"MyPw\"
";

/// Running FreeRADIUS with a folder of its own.
struct FreeRadius {
    child: Child,
    folder: PathBuf,
    access: u16,
    accounting: u16,
}

impl FreeRadius {
    fn start() -> Self {
        let ports = [free_port(), free_port()].map(|socket| {
            let address = socket.local_addr().expect("it is bound");
            address.port()
        });
        let name = format!("ferroute-radius-{}-{}", std::process::id(), ports[0]);
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let config = CONFIG
            .replace("FOLDER", &folder.display().to_string())
            .replace("ACCESS", &ports[0].to_string())
            .replace("ACCOUNTING", &ports[1].to_string());
        fs::write(folder.join("radiusd.conf"), config).expect("the test's folder");
        fs::write(folder.join("users"), USERS).expect("the test's folder");
        let mut child = Command::new(PROGRAM)
            .args(["-f", "-l", "stdout", "-xx", "-d"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it is installed");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut said = Vec::new();
        loop {
            let line = lines
                .next()
                .unwrap_or_else(|| panic!("{}", said.join("\n")));
            said.push(line.expect("text"));
            if said
                .last()
                .is_some_and(|line| line.contains("Ready to process requests"))
            {
                break;
            }
        }
        // Its output is read to the end, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            folder,
            access: ports[0],
            accounting: ports[1],
        }
    }

    fn server(&self) -> Server {
        Server {
            id: 1,
            services: vec![Service::Ppp],
            called: String::new(),
            domain: String::new(),
            address: Ipv4Addr::LOCALHOST.into(),
            authentication: self.access,
            accounting: self.accounting,
            secret: b"testing123".to_vec(),
            timeout: Duration::from_secs(5),
            is_backup: false,
            source: None,
            nas_address: Some(Ipv4Addr::LOCALHOST.into()),
            realm: String::new(),
            // FreeRADIUS signs its answers since version 3.2.5 only.
            needs_message_authenticator: false,
            tls: None,
        }
    }

    fn detail(&self) -> String {
        fs::read_to_string(self.folder.join("detail")).unwrap_or_default()
    }
}

impl Drop for FreeRadius {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of loopback")
}

/// Received datagram.
type Datagram = (LineId, SocketAddr, Vec<u8>);

/// The client, with a socket for each line.
struct Nas {
    client: Client<u32>,
    sockets: BTreeMap<LineId, UdpSocket>,
    /// Datagrams of all sockets.
    sender: Sender<Datagram>,
    received: Receiver<Datagram>,
    now: Instant,
}

impl Nas {
    fn new(server: Server) -> Self {
        let mut client = Client::new(Rng::seeded(7));
        client.handle(Event::Servers(vec![server]), Instant::ZERO, &mut Vec::new());
        let (sender, received) = channel();
        Self {
            client,
            sockets: BTreeMap::new(),
            sender,
            received,
            now: Instant::ZERO,
        }
    }

    /// Sends requests at once, and returns the answers in the order of the requests.
    fn ask(&mut self, requests: Vec<Request>) -> Vec<Answer> {
        let (mut answers, mut out) = (BTreeMap::new(), Vec::new());
        let count = requests.len();
        for (key, request) in (0..).zip(requests) {
            let query = Query {
                request,
                server: None,
                since: None,
                age: Duration::ZERO,
            };
            let event = Event::Query(key, Box::new(query));
            self.client.handle(event, self.now, &mut out);
        }
        loop {
            for action in core::mem::take(&mut out) {
                match action {
                    Action::Send {
                        line, to, bytes, ..
                    } => self.send(line, to, &bytes),
                    Action::Done(key, answer) => _ = answers.insert(key, *answer),
                    _ => {}
                }
            }
            if answers.len() == count {
                return answers.into_values().collect();
            }
            match self.received.recv_timeout(ANSWER_TIMEOUT) {
                Ok((line, from, bytes)) => {
                    let bytes = &bytes;
                    let event = Event::Received { line, from, bytes };
                    self.client.handle(event, self.now, &mut out);
                }
                Err(_) => {
                    self.now = self.client.deadline().expect("requests are open").0;
                    self.client.tick(self.now, &mut out);
                }
            }
        }
    }

    fn send(&mut self, line: LineId, to: SocketAddr, bytes: &[u8]) {
        let socket = self.sockets.entry(line).or_insert_with(|| {
            let socket = free_port();
            let (reader, sender) = (socket.try_clone(), self.sender.clone());
            std::thread::spawn(move || receive(line, &reader.expect("a file"), &sender));
            socket
        });
        socket.send_to(bytes, to).expect("loopback is up");
    }
}

/// Passes datagrams on until the client is gone.
fn receive(line: LineId, socket: &UdpSocket, sender: &Sender<Datagram>) {
    let mut bytes = [0; 4_096];
    while let Ok((len, from)) = socket.recv_from(&mut bytes)
        && sender.send((line, from, bytes[..len].to_vec())).is_ok()
    {}
}

fn request(user: &str, question: Question) -> Request {
    Request {
        service: Service::Ppp,
        question,
        user: user.into(),
        calling: "02:00:00:00:00:09".into(),
        called: "isp".into(),
        router: "bras".into(),
        port: Port {
            kind: PortType::Ethernet,
            number: Some(7),
            id: "ether1".into(),
        },
        subscriber_line: SubscriberLine::default(),
        session: "81000001".into(),
        classes: Vec::new(),
        timestamp: None,
    }
}

fn bytes<const N: usize>(hexadecimal: &str) -> [u8; N] {
    let digits: Vec<_> = hexadecimal.split(' ').collect();
    let values = digits.iter().map(|two| u8::from_str_radix(two, 16));
    let values: Result<Vec<_>, _> = values.collect();
    values
        .ok()
        .and_then(|values| values.try_into().ok())
        .expect("bytes of an RFC")
}

fn pap(user: &str, password: &str) -> Request {
    let password = password.as_bytes().to_vec();
    request(user, Question::Access { password })
}

fn chap(user: &str, password: &str) -> Request {
    let (id, challenge) = (9, vec![5; 16]);
    let sum = md5::compute([&[id], password.as_bytes(), &challenge].concat());
    let question = Question::Chap {
        id,
        challenge,
        response: sum.0,
    };
    request(user, question)
}

/// The response of RFC 2433, B.1; `damage` changes it.
fn ms_chap1(damage: u8) -> Request {
    let response: [u8; 24] =
        bytes("4E 9D 3C 8F 9C FD 38 5D 5B F4 D3 24 67 91 95 6C A4 C3 51 AB 40 9A 3D 61");
    let mut value = [0; 49];
    value[24..48].copy_from_slice(&response);
    value[24] ^= damage;
    value[48] = 1;
    let question = Question::MsChap1 {
        id: 3,
        challenge: bytes::<8>("10 2D B5 DF 08 5D 30 41").to_vec(),
        response: Box::new(value),
    };
    request("client", question)
}

/// The response of RFC 2759, 9.2; `damage` changes it.
fn ms_chap2(damage: u8) -> Request {
    let peer: [u8; 16] = bytes("21 40 23 24 25 5E 26 2A 28 29 5F 2B 3A 33 7C 7E");
    let response: [u8; 24] =
        bytes("82 30 9E CD 8D 70 8B 5E A0 8F AA 39 81 CD 83 54 42 33 11 4A 3D 85 D6 DF");
    let mut value = [0; 49];
    value[..16].copy_from_slice(&peer);
    value[24..48].copy_from_slice(&response);
    value[24] ^= damage;
    let question = Question::MsChap2 {
        id: 4,
        challenge: bytes::<16>("5B 5D 7C 7D 7B 3F 2F 3E 3C 2C 60 21 32 26 26 28").to_vec(),
        response: Box::new(value),
    };
    request("User", question)
}

fn accepted(answer: &Answer) -> &Accept {
    match &answer.outcome {
        Outcome::Accept(accept) => accept,
        other => panic!("{other:?}"),
    }
}

fn has_session_attributes(accept: &Accept) {
    let of = &accept.authorization;
    assert_eq!(of.rate_limit.as_deref(), Some("1M/2M 2M/4M"));
    assert_eq!(of.address_lists, ["paid"]);
    assert_eq!(of.ipv4.address, Some([10, 9, 0, 7].into()));
    assert_eq!(of.ipv4.routes, ["198.51.100.0/24 10.9.0.7 1"]);
    assert_eq!(of.filters, ["customers.in"]);
    assert_eq!(of.session_timeout, Some(3_600));
    let delegated = of.ipv6.delegated_prefixes.iter();
    let delegated: Vec<_> = delegated
        .map(|of| (of.network.to_string(), of.length))
        .collect();
    assert_eq!(delegated, [("2001:db8:1::".to_owned(), 48)]);
    assert_eq!(accept.classes, [b"a class".to_vec()]);
}

fn accounting(status: Status) -> Request {
    let traffic = |packets, bytes| Traffic { packets, bytes };
    let through = Through {
        address: Some([10, 9, 0, 7].into()),
        input: traffic(3, (1 << 32) + 30),
        output: traffic(4, 40),
        ..Through::default()
    };
    let accounting = Accounting {
        cause: Some(TerminateCause::IdleTimeout),
        ..Accounting::new(status, 61, Some(through))
    };
    Request {
        classes: vec![b"a class".to_vec()],
        timestamp: Some(1_700_000_000),
        ..request("User", Question::Accounting(accounting))
    }
}

#[test]
fn freeradius_checks_passwords_of_all_methods_and_accounts() {
    let test = "freeradius_checks_passwords_of_all_methods_and_accounts";
    if !Path::new(PROGRAM).exists() {
        return lab::testing::skip(test, "`freeradius` is not installed");
    }
    let radius = FreeRadius::start();
    let mut nas = Nas::new(radius.server());

    let answers = nas.ask(vec![
        pap("User", "clientPass"),
        pap("User", "wrong"),
        chap("User", "clientPass"),
        chap("User", "wrong"),
        ms_chap1(0),
        ms_chap1(1),
        ms_chap2(0),
        ms_chap2(1),
    ]);

    for accept in [&answers[0], &answers[2], &answers[6]] {
        has_session_attributes(accepted(accept));
    }
    assert!(accepted(&answers[4]).ms_chap_keys.is_some());
    let accept = accepted(&answers[6]);
    let success = "S=407A5589115FD0D6209F510FE9C04566932CDA56";
    assert_eq!(accept.ms_chap2_success.as_deref(), Some(success));
    // The send key of the server in the example of RFC 3079, 3.5.3.
    let send: [u8; 16] = bytes("8B 7C DC 14 9B 99 3A 1B A1 18 CB 15 3F 56 DC CB");
    let keys = accept.keys.as_ref().expect("keys of MPPE");
    assert_eq!(keys.send.0, send);
    for (at, has_error) in [(1, false), (3, false), (5, true), (7, true)] {
        let Outcome::Reject(reject) = &answers[at].outcome else {
            panic!("{:?}", answers[at]);
        };
        let error = reject.ms_chap_error.as_deref();
        assert_eq!(
            error.is_some_and(|error| error.starts_with("E=691")),
            has_error
        );
    }

    let noted = nas.ask(
        [Status::Start, Status::Interim, Status::Stop]
            .map(accounting)
            .into(),
    );

    assert!(noted.iter().all(|answer| answer.outcome == Outcome::Noted));
    let detail = radius.detail();
    for line in [
        "Acct-Status-Type = Start",
        "Acct-Status-Type = Interim-Update",
        "Acct-Status-Type = Stop",
        "Acct-Terminate-Cause = Idle-Timeout",
        "Acct-Input-Gigawords = 1",
        "Acct-Input-Octets = 30",
        "Acct-Output-Packets = 4",
        "Acct-Session-Time = 61",
        "Framed-IP-Address = 10.9.0.7",
        "Framed-Protocol = PPP",
        "NAS-Port-Type = Ethernet",
        "Class = 0x6120636c617373",
    ] {
        assert!(detail.contains(line), "{line}: {detail}");
    }
}

#[test]
fn freeradius_notes_the_start_and_the_end_of_accounting() {
    let test = "freeradius_notes_the_start_and_the_end_of_accounting";
    if !Path::new(PROGRAM).exists() {
        return lab::testing::skip(test, "`freeradius` is not installed");
    }
    let radius = FreeRadius::start();
    let mut nas = Nas::new(radius.server());

    let marks = [RouterStatus::On, RouterStatus::Off].map(|status| Request {
        timestamp: Some(1_700_000_000),
        ..request("", Question::Router(status))
    });
    let noted = nas.ask(marks.into());

    assert!(noted.iter().all(|answer| answer.outcome == Outcome::Noted));
    let detail = radius.detail();
    for line in [
        "Acct-Status-Type = Accounting-On",
        "Acct-Status-Type = Accounting-Off",
        "NAS-Identifier = \"bras\"",
        "NAS-IP-Address = 127.0.0.1",
        "Acct-Session-Id = \"81000001\"",
        "Event-Timestamp = \"Nov 14 2023",
    ] {
        assert!(detail.contains(line), "{line}: {detail}");
    }
    for attribute in [
        "User-Name",
        "NAS-Port",
        "Calling-Station-Id",
        "Service-Type",
    ] {
        assert!(!detail.contains(attribute), "{attribute}: {detail}");
    }
}

#[test]
fn a_burst_of_thousands_is_answered_by_freeradius() {
    let test = "a_burst_of_thousands_is_answered_by_freeradius";
    if !Path::new(PROGRAM).exists() {
        return lab::testing::skip(test, "`freeradius` is not installed");
    }
    let radius = FreeRadius::start();
    let mut nas = Nas::new(radius.server());
    let requests = (0..2_000).map(|_| pap("User", "clientPass"));
    let answers = nas.ask(requests.collect());
    answers.iter().for_each(|answer| _ = accepted(answer));
}
