//! Helpers: a running router for a test, and sessions with it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use console::protocol::{Message, receive, send};
use rustix::net::{AddressFamily, SocketType};

/// A router without ports. Its state folder is removed with the value.
pub(crate) struct Router {
    pub(crate) state: PathBuf,
    process: Option<Child>,
    /// A loopback address that no other test of this machine uses.
    pub(crate) address: Ipv4Addr,
}

/// Base that `--listen` adds to the port of each service.
pub(crate) const BASE: u16 = 20_000;

/// Number of the next router in this process.
static ROUTERS: AtomicU8 = AtomicU8::new(1);

impl Router {
    pub(crate) fn start(name: &str) -> Self {
        let name = format!("ferroute-sessions-{}-{name}", std::process::id());
        let [.., high, low] = std::process::id().to_be_bytes();
        let number = ROUTERS.fetch_add(1, Ordering::Relaxed);
        let mut router = Self {
            state: std::env::temp_dir().join(name),
            process: None,
            address: Ipv4Addr::new(127, high, low, number),
        };
        router.run();
        router
    }

    /// Starts the program and waits until it is ready.
    pub(crate) fn run(&mut self) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ferroute"))
            .args(["run", "--no-host", "--state"])
            .arg(&self.state)
            .arg("--store-key")
            .arg(self.state.with_extension("key"))
            .args(["--listen", &format!("{}:{BASE}", self.address)])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let log = BufReader::new(process.stderr.take().expect("it is piped"));
        let mut lines = log.lines().map_while(Result::ok);
        let mut before = Vec::new();
        let ready = lines.by_ref().any(|line| {
            let ready = line.contains("ready:");
            before.push(line);
            ready
        });
        assert!(ready, "{before:#?}");
        // Keeps reading the log: a full pipe would block the router.
        std::thread::spawn(move || lines.for_each(drop));
        self.process = Some(process);
    }

    /// Kills the program by SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it was started here");
        }
    }

    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.state.join("control.sock")).expect("the router");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a time limit");
        stream
    }

    /// Runs a command. Returns its output.
    pub(crate) fn exec(&self, command: &str) -> String {
        self.exec_to_end(command).0
    }

    /// Runs a command. Returns its output and the exit code of `ferroute exec`.
    pub(crate) fn exec_to_end(&self, command: &str) -> (String, Option<u8>) {
        let (output, errors, code) = self.exec_apart(command, false);
        (output + &errors, code)
    }

    /// Runs a command. Returns its standard output, its standard error, and the exit code of `ferroute exec`.
    pub(crate) fn exec_apart(&self, command: &str, json: bool) -> (String, String, Option<u8>) {
        let mut stream = self.connect();
        let command = command.to_owned();
        send(&mut stream, &Message::Exec { command, json }).expect("the router listens");
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        loop {
            match receive(&mut stream).expect("an answer") {
                Some(Message::Output(bytes)) => output.extend(bytes),
                Some(Message::Error(bytes)) => errors.extend(bytes),
                Some(Message::Exit(code)) => return (text(output), text(errors), Some(code)),
                _ => return (text(output), text(errors), None),
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        self.exec(":put [/system identity get name]")
            .trim()
            .to_owned()
    }

    /// Waits until the router has this name.
    pub(crate) fn wait_for_name(&self, name: &str) {
        let limit = Instant::now() + Duration::from_secs(60);
        while self.name() != name {
            assert!(Instant::now() < limit, "the router is {}", self.name());
        }
    }

    pub(crate) fn console(&self) -> Console {
        self.console_and_greeting().0
    }

    /// Opens a console. Returns it with its greeting.
    pub(crate) fn console_and_greeting(&self) -> (Console, String) {
        let mut stream = self.connect();
        let wanted = Message::Console {
            columns: 100,
            rows: 40,
            colours: false,
        };
        send(&mut stream, &wanted).expect("the router listens");
        let mut console = Console { stream };
        let greeting = console.until("] > ");
        (console, greeting)
    }

    /// Opens an API session of this user, whose password is `secret`.
    pub(crate) fn program(&self, user: &str) -> Program {
        let mut program = self.stranger(self.address);
        program.ask(&["/login", &format!("=name={user}"), "=password=secret"]);
        program
    }

    /// Opens an API connection from this source address, without a login.
    pub(crate) fn stranger(&self, from: Ipv4Addr) -> Program {
        let stream = self.reach(from, 8728);
        Program { stream }
    }

    /// Connects to a service from this source address.
    pub(crate) fn reach(&self, from: Ipv4Addr, port: u16) -> TcpStream {
        let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
        let socket = rustix::net::socket(family, kind, None).expect("a socket");
        rustix::net::bind(&socket, &SocketAddrV4::new(from, 0)).expect("loopback is a /8");
        let to = SocketAddrV4::new(self.address, BASE + port);
        rustix::net::connect(&socket, &to).expect("the router listens");
        let stream = TcpStream::from(socket);
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a time limit");
        stream
    }

    /// Returns a value of the router's `/proc/PID/status`, such as `VmRSS`.
    pub(crate) fn status(&self, name: &str) -> u64 {
        let process = self.process.as_ref().expect("it runs").id();
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_ascii_whitespace().nth(1));
        number
            .and_then(|number| number.parse().ok())
            .expect("a number")
    }

    /// Opens an API session in safe mode, which renames the router.
    pub(crate) fn program_in_safe_mode(&self, user: &str, name: &str) -> Program {
        let mut program = self.program(user);
        program.ask(&["/safe-mode/take"]);
        program.ask(&["/system/identity/set", &format!("=name={name}")]);
        assert_eq!(self.name(), name);
        program
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.state);
        let _ = std::fs::remove_file(self.state.with_extension("key"));
    }
}

/// A session of the binary API.
pub(crate) struct Program {
    pub(crate) stream: TcpStream,
}

impl Program {
    /// Sends a sentence of short words. Returns the words of the reply that ends the command.
    pub(crate) fn ask(&mut self, words: &[&str]) -> Vec<String> {
        let (trap, end) = self.try_to(words);
        assert_eq!(trap, Vec::<String>::new());
        end
    }

    /// Sends a sentence of short words. Returns the words of `!trap`, if any, and of the ending reply.
    pub(crate) fn try_to(&mut self, words: &[&str]) -> (Vec<String>, Vec<String>) {
        self.say(words);
        let mut trap = Vec::new();
        loop {
            let sentence = self.sentence();
            match sentence.first().map(String::as_str) {
                Some("!trap") => trap = sentence,
                Some("!done" | "!fatal") => return (trap, sentence),
                _ => {}
            }
        }
    }

    /// Waits until the router closes the connection; ignores other data.
    pub(crate) fn closes(&mut self) {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }

    /// Tries to log in. Returns true on success.
    pub(crate) fn logs_in(&mut self, user: &str, password: &str) -> bool {
        let (name, password) = (format!("=name={user}"), format!("=password={password}"));
        self.say(&["/login", &name, &password]);
        let is_user = self.sentence() == ["!done"];
        if !is_user {
            assert_eq!(self.sentence(), ["!done"]);
        }
        is_user
    }

    /// Sends a sentence of short words.
    pub(crate) fn say(&mut self, words: &[&str]) {
        let mut bytes = Vec::new();
        for word in words {
            bytes.push(u8::try_from(word.len()).expect("a short word"));
            bytes.extend(word.as_bytes());
        }
        bytes.push(0);
        self.stream.write_all(&bytes).expect("the router listens");
    }

    pub(crate) fn sentence(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        loop {
            let mut length = [0];
            self.stream.read_exact(&mut length).expect("a word");
            if length == [0] {
                return words;
            }
            assert!(length[0] < 0x80, "a short word");
            let mut word = vec![0; length[0].into()];
            self.stream.read_exact(&mut word).expect("a word");
            words.push(String::from_utf8(word).expect("it is text"));
        }
    }
}

/// A console session by the local socket.
pub(crate) struct Console {
    pub(crate) stream: UnixStream,
}

impl Console {
    pub(crate) fn type_keys(&mut self, keys: &str) {
        let input = Message::Input(keys.as_bytes().to_vec());
        send(&mut self.stream, &input).expect("the router listens");
    }

    /// Reads until the output contains this text. Returns the output.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut shown = String::new();
        while !shown.contains(text) {
            match receive(&mut self.stream).expect("output") {
                Some(Message::Output(bytes)) => shown.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("{other:?} after {shown:?}"),
            }
        }
        shown
    }

    /// Takes safe mode and gives the router a name.
    pub(crate) fn rename_safely(&mut self, name: &str) {
        self.type_keys("\x18");
        self.until("[Safe Mode taken]");
        self.type_keys(&format!("/system identity set name={name}\r"));
        self.until(&format!("[admin@{name}] <SAFE> "));
    }
}
