//! Tests limits on clients: strangers and users who use up connections, logins, sessions or threads do not lock others
//! out. Strangers connect from other addresses of the loopback network.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use console::protocol::{Message, receive, send};

use crate::running::Router;

/// Returns the source address of a stranger.
fn stranger(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 200, 0, number)
}

#[test]
fn strangers_who_guess_passwords_lock_nobody_out_and_use_no_memory_afterwards() {
    const GUESSES: usize = 2;
    let router = Router::start("guess");
    router.exec("/user add name=joe group=full password=secret");
    let key = ssh::key().public_key().to_openssh().expect("a key");
    router.exec(&format!("/user/ssh-keys add user=joe key=\"{key}\""));
    assert!(router.stranger(stranger(1)).logs_in("joe", "secret"));
    let before = router.status("VmRSS");

    // In parallel: hashes in several threads would each keep their memory.
    thread::scope(|scope| {
        for first in [10, 20, 30, 40, 50, 60] {
            let router = &router;
            scope.spawn(move || {
                for number in first..first + 10 {
                    let mut program = router.stranger(stranger(number));
                    for _ in 0..GUESSES {
                        assert!(!program.logs_in("joe", "guess"));
                    }
                }
            });
        }
    });

    assert!(router.stranger(stranger(1)).logs_in("joe", "secret"));
    assert!(
        router.stranger(stranger(2)).logs_in("joe", "secret"),
        "a new address"
    );
    let (_, output) = ssh::exec(&router, stranger(3), ssh::Proof::Key, ":put hello");
    assert_eq!(output, "hello\r\n");
    let kept = router.status("VmRSS").saturating_sub(before);
    assert!(kept < 64 << 10, "{kept} kB are kept");
}

/// Returns true if the router has closed a connection without pending data.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let mut bytes = [0; 64];
    loop {
        match stream.read(&mut bytes) {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            _ => return true,
        }
    }
}

/// Returns the answer to a REST request of joe, whose password is `secret`.
fn rest(router: &Router, from: Ipv4Addr, path: &str) -> String {
    let mut stream = router.reach(from, 80);
    // Base64 of joe:secret.
    let head = "Host: router\r\nAuthorization: Basic am9lOnNlY3JldA==\r\nConnection: close";
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").expect("the router listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn silent_connections_of_strangers_keep_nobody_out() {
    let router = Router::start("silent");
    router.exec("/user add name=joe group=full password=secret");
    let greedy = |port| -> Vec<_> {
        let connect = |_| router.reach(stranger(1), port);
        (0..100).map(connect).collect()
    };
    let mut silent = [8728, 80, 22].map(greedy);

    assert!(router.stranger(stranger(2)).logs_in("joe", "secret"));
    assert!(rest(&router, stranger(2), "/rest/system/identity").contains("200 OK"));
    let (status, output) = ssh::exec(&router, stranger(2), ssh::SECRET, ":put hello");
    assert_eq!((status, &*output), (0, "hello\r\n"));
    // A login from the address of the silent connections also succeeds.
    assert!(router.stranger(stranger(1)).logs_in("joe", "secret"));
    // The oldest silent connections are closed long before their timeout.
    let limit = Instant::now() + Duration::from_secs(20);
    for streams in &mut silent {
        while streams.len() > 24 {
            streams.retain_mut(|stream| !is_closed(stream));
            assert!(Instant::now() < limit, "{} are open", streams.len());
            thread::yield_now();
        }
    }
}

#[test]
fn silent_connections_at_the_local_socket_are_closed_first() {
    let router = Router::start("local");
    let console = router.console();
    let silent: Vec<_> = (0..200).map(|_| router.connect()).collect();

    assert_eq!(router.name(), "ferroute");

    drop(silent);
    let mut last = router.connect();
    let (command, json) = (String::from(":put here"), false);
    send(&mut last, &Message::Exec { command, json }).expect("the router listens");
    let output = receive(&mut last).expect("an answer");
    assert_eq!(output, Some(Message::Output(b"here\n".to_vec())));
    drop(console);
}

#[test]
fn users_cannot_take_the_sessions_of_administrators() {
    let router = Router::start("seats");
    router.exec("/ip/service set api max-sessions=2");
    router.exec("/user add name=joe group=full password=secret");
    router.exec("/user add name=eve group=read password=secret");
    let eves = [router.program("eve"), router.program("eve")];

    assert!(!router.stranger(stranger(1)).logs_in("eve", "secret"));
    assert!(router.stranger(stranger(1)).logs_in("joe", "secret"));

    drop(eves);
    let log = router.exec("/log print");
    assert!(
        log.contains("user eve is refused: api has max-sessions"),
        "{log}"
    );
}

#[test]
fn a_user_with_many_listening_commands_leaves_threads_for_others() {
    let router = Router::start("listen");
    router.exec("/user add name=joe group=full password=secret");
    router.exec("/user/group add name=listeners policy=read,api");
    router.exec("/user add name=eve group=listeners password=secret");
    let mut listening: Vec<_> = (0..16).map(|_| router.program("eve")).collect();
    for program in &mut listening {
        for number in 0..64 {
            program.say(&[
                "/interface/list/print",
                "=follow=",
                &format!(".tag={number}"),
            ]);
        }
    }

    assert!(router.stranger(stranger(1)).logs_in("joe", "secret"));
    let mut administrator = router.program("joe");
    administrator.ask(&["/interface/print"]);
    assert!(rest(&router, stranger(1), "/rest/system/identity").contains("200 OK"));
    let (_, output) = ssh::exec(&router, stranger(1), ssh::SECRET, ":put hello");
    assert_eq!(output, "hello\r\n");
    assert_eq!(router.name(), "ferroute");

    // A user may have far more listening commands than threads.
    let (mut heard, mut refused) = (Vec::new(), 0);
    for program in &mut listening {
        let (mut hear, mut denied) = (BTreeSet::new(), BTreeSet::new());
        while hear.len() + denied.len() < 64 {
            let sentence = program.sentence();
            let tag = sentence.iter().find(|word| word.starts_with(".tag="));
            let tag = tag.expect("it is marked").clone();
            match &*sentence[0] {
                "!re" => hear.insert(tag),
                "!trap" => denied.insert(tag),
                _ => false,
            };
        }

        heard.push(hear.len());
        refused += denied.len();
    }
    let hearing: usize = heard.iter().sum();
    assert!(
        (257..=512).contains(&hearing),
        "{hearing} listen, {refused} are refused"
    );

    router.exec("/interface/list add name=new");
    while !listening[0].sentence().contains(&String::from("=name=new")) {}
    listening[0].say(&["/cancel", ".tag=cancel"]);
    let mut done = 0;
    while done < heard[0] + 1 {
        done += usize::from(listening[0].sentence()[0] == "!done");
    }
}

#[test]
fn ssh_asks_three_times_for_a_password_and_ends_lines_with_cr_lf() {
    let router = Router::start("ssh");
    router.exec("/user add name=joe group=full password=secret");

    let methods = ssh::tries(&router, stranger(1), &["a", "b", "c", "secret"]);

    let asked: Vec<_> = methods
        .iter()
        .map(|names| names.contains("password"))
        .collect();
    assert_eq!(asked, [true, true, false, false], "{methods:?}");
    let (status, output) = ssh::exec(
        &router,
        stranger(1),
        ssh::SECRET,
        ":put one; :put two; :error x",
    );
    assert_eq!((status, &*output), (1, "one\r\ntwo\r\nx\r\n"));
}

/// An SSH client, by the client side of the library.
mod ssh {
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    use russh::ChannelMsg;
    use russh::client::{AuthResult, Config, Handle, Handler, connect_stream};
    use russh::keys::ssh_key::private::Ed25519Keypair;
    use russh::keys::{PrivateKey, PrivateKeyWithHashAlg, PublicKeyOrCertificate};

    use crate::running::Router;

    /// The credentials of joe.
    pub(super) enum Proof {
        Password(&'static str),
        Key,
    }

    pub(super) const SECRET: Proof = Proof::Password("secret");

    /// The private key of joe in tests with keys.
    pub(super) fn key() -> PrivateKey {
        PrivateKey::from(Ed25519Keypair::from_seed(&[7; 32]))
    }

    struct Client;

    impl Handler for Client {
        type Error = russh::Error;

        async fn check_server_key(
            &mut self,
            _key: &PublicKeyOrCertificate,
        ) -> Result<bool, Self::Error> {
            Ok(true)
        }
    }

    /// Runs a function with an SSH connection that is not logged in.
    fn with<T>(router: &Router, from: Ipv4Addr, run: impl AsyncFnOnce(Handle<Client>) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let stream = router.reach(from, 22);
        stream.set_nonblocking(true).expect("a socket");
        runtime.block_on(async {
            let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
            let config = Arc::new(Config::default());
            let connected = connect_stream(config, stream, Client).await;
            run(connected.expect("the router speaks SSH")).await
        })
    }

    /// Tries passwords of joe. Returns the remaining methods after each attempt.
    pub(super) fn tries(router: &Router, from: Ipv4Addr, passwords: &[&str]) -> Vec<String> {
        with(router, from, async |mut handle| {
            let mut left = Vec::new();
            for password in passwords {
                let result = handle.authenticate_password("joe", *password).await;
                left.push(match result.expect("an answer") {
                    AuthResult::Success => String::from("success"),
                    AuthResult::Failure {
                        remaining_methods, ..
                    } => {
                        let names = remaining_methods.iter().map(<&str>::from);
                        names.collect::<Vec<_>>().join(",")
                    }
                });
            }
            left
        })
    }

    /// Runs a command as joe. Returns its exit status and output.
    pub(super) fn exec(
        router: &Router,
        from: Ipv4Addr,
        proof: Proof,
        command: &str,
    ) -> (u32, String) {
        with(router, from, async |mut handle| {
            let result = match proof {
                Proof::Password(password) => handle.authenticate_password("joe", password).await,
                Proof::Key => {
                    let key = PrivateKeyWithHashAlg::new(Arc::new(key()), None);
                    handle.authenticate_publickey("joe", key).await
                }
            };
            assert!(result.expect("an answer").success());
            let mut channel = handle.channel_open_session().await.expect("a channel");
            channel.exec(true, command).await.expect("a request");
            let (mut status, mut output) = (None, Vec::new());
            while let Some(message) = channel.wait().await {
                match message {
                    ChannelMsg::Data { data } => output.extend_from_slice(&data),
                    ChannelMsg::ExitStatus { exit_status } => status = Some(exit_status),
                    _ => {}
                }
            }
            let output = String::from_utf8(output).expect("it is text");
            (status.expect("a status"), output)
        })
    }
}
