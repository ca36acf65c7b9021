use super::*;
use crate::word::encode_word;

fn sentence(words: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in words.split(' ') {
        encode_word(word.as_bytes(), &mut bytes);
    }
    encode_word(b"", &mut bytes);
    bytes
}

/// The actions of a connection as texts; the words of sent sentences are separated by spaces.
fn told(actions: Vec<Action>) -> Vec<String> {
    let mut told = Vec::new();
    for action in actions {
        match action {
            Action::Send(bytes) => {
                let mut decoder = Decoder::new(Limits::USER);
                decoder.push(&bytes);
                while let Some(words) = decoder.sentence().expect("a sentence") {
                    let words: Vec<_> = words.iter().map(|w| String::from_utf8_lossy(w)).collect();
                    told.push(words.join(" "));
                }
            }
            Action::Login { name, password } => {
                let password = password.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                told.push(format!("login {name} {password:?}"));
            }
            Action::Run {
                number, request, ..
            } => told.push(format!("run {number} {}", request.path)),
            Action::Stop(number) => told.push(format!("stop {number}")),
            Action::Leave => told.push("leave".to_owned()),
            Action::Close => told.push("close".to_owned()),
        }
    }
    told
}

fn say(connection: &mut Connection, words: &str) -> Vec<String> {
    let mut out = Vec::new();
    connection.receive(&sentence(words), &mut out);
    told(out)
}

fn end(connection: &mut Connection, number: u64, ended: Result<Done, Reason>) -> Vec<String> {
    let mut out = Vec::new();
    connection.ended(number, &ended.map_err(Reason::nowhere), &mut out);
    told(out)
}

fn admit(connection: &mut Connection, is_user: bool) -> Vec<String> {
    let mut out = Vec::new();
    connection.admitted(is_user, &mut out);
    told(out)
}

fn user() -> Connection {
    let mut connection = Connection::new([0x0a; 16], true);
    say(&mut connection, "/login =name=admin =password=x");
    assert_eq!(admit(&mut connection, true), ["!done"]);
    connection
}

#[test]
fn a_login_reply_waits_for_the_check_of_the_password() {
    let mut connection = Connection::new([0x0a; 16], true);

    let asked = say(&mut connection, "/login =name=admin =password=wrong .tag=1");
    assert_eq!(asked, ["login admin Some(\"wrong\")"]);
    assert_eq!(
        admit(&mut connection, false),
        [
            "!trap .tag=1 =message=invalid user name or password (6)",
            "!done .tag=1"
        ]
    );
    say(&mut connection, "/login =name=admin =password=");
    assert_eq!(admit(&mut connection, true), ["!done"]);
    assert!(connection.is_user());
}

#[test]
fn the_old_login_gets_a_challenge_and_is_refused() {
    let mut connection = Connection::new([0x0a; 16], true);

    assert_eq!(
        say(&mut connection, "/login"),
        ["!done =ret=0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"]
    );
    let digest = "/login =name=admin =response=00e134102a9d330dd7b1849fedfea3cb57";
    assert_eq!(say(&mut connection, digest), ["login admin None"]);
}

#[test]
fn before_login_all_other_commands_are_refused() {
    let mut connection = Connection::new([0; 16], true);

    let told = say(&mut connection, "/system/identity/print");

    assert_eq!(told, ["!fatal not logged in", "close"]);
    assert!(say(&mut connection, "/login").is_empty());
}

#[test]
fn commands_after_a_login_wait_for_its_result() {
    let mut connection = Connection::new([0; 16], true);
    let mut bytes = sentence("/login =name=a =password=b");
    bytes.extend(sentence("/x/print"));
    let mut out = Vec::new();
    connection.receive(&bytes, &mut out);
    assert_eq!(told(std::mem::take(&mut out)), ["login a Some(\"b\")"]);

    connection.admitted(true, &mut out);
    connection.receive(&[], &mut out);

    assert_eq!(told(out), ["!done", "run 0 /x/print"]);
}

#[test]
fn failed_logins_are_counted() {
    let mut connection = Connection::new([0; 16], true);
    for _ in 0..TRIES {
        say(&mut connection, "/login =name=a =password=b");
        admit(&mut connection, false);
    }

    let told = say(&mut connection, "/login =name=a =password=b");

    assert_eq!(told, ["!fatal too many login attempts", "close"]);
}

#[test]
fn concurrent_commands_have_their_tags() {
    let mut connection = user();
    say(&mut connection, "/a/print .tag=1");
    say(&mut connection, "/b/print .tag=2");

    assert_eq!(
        end(&mut connection, 1, Ok(Done::Ret("*1".into()))),
        ["!done .tag=2 =ret=*1"]
    );
    assert!(connection.wants(0) && !connection.wants(1));
    assert_eq!(
        end(&mut connection, 0, Ok(Done::Empty)),
        ["!empty .tag=1", "!done .tag=1"]
    );
    assert!(!connection.wants(0));
}

#[test]
fn an_error_is_trap_followed_by_done() {
    let mut connection = user();
    say(&mut connection, "/a/add");
    say(&mut connection, "/a/add");

    assert_eq!(
        end(&mut connection, 0, Err(Reason::Missing(vec!["address"]))),
        ["!trap =category=1 =message=missing =address=", "!done"]
    );
    assert_eq!(
        end(
            &mut connection,
            1,
            Err(Reason::failure("already have such address"))
        ),
        ["!trap =message=failure: already have such address", "!done"]
    );
}

#[test]
fn a_cancelled_command_is_interrupted_and_sends_no_more_rows() {
    let mut connection = user();
    say(&mut connection, "/a/listen .tag=l");
    say(&mut connection, "/b/listen .tag=m");

    assert_eq!(
        say(&mut connection, "/cancel =tag=l .tag=c"),
        [
            "!trap .tag=l =category=2 =message=interrupted",
            "stop 0",
            "!done .tag=c"
        ]
    );
    assert!(!connection.wants(0));
    assert_eq!(
        end(&mut connection, 0, Err(Reason::Interrupted)),
        ["!done .tag=l"]
    );
    assert_eq!(say(&mut connection, "/cancel =tag=nobody"), ["!done"]);
    assert_eq!(
        say(&mut connection, "/cancel"),
        [
            "!trap .tag=m =category=2 =message=interrupted",
            "stop 1",
            "!done"
        ]
    );
}

#[test]
fn concurrent_commands_are_limited() {
    let mut connection = user();
    for _ in 0..RUNNING {
        say(&mut connection, "/a/listen");
    }

    let told = say(&mut connection, "/a/print .tag=x");

    assert_eq!(
        told,
        [
            "!trap .tag=x =category=5 =message=too many commands are running",
            "!done .tag=x"
        ]
    );
}

#[test]
fn a_disconnect_ends_running_commands() {
    let mut connection = user();
    say(&mut connection, "/a/listen");

    let told = say(&mut connection, "/quit");

    assert_eq!(
        told,
        [
            "leave",
            "!fatal session terminated on request",
            "stop 0",
            "close"
        ]
    );
}
