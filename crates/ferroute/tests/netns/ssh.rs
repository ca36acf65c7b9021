//! Tests `/ip/ssh` with OpenSSH's commands: algorithms, host keys, authentication methods, forwarded connections.

use std::fs;
use std::path::Path;

use lab::Lab;

use crate::bridge::THREE;
use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, output, run, shell, text, until,
};

const CONFIG: &str = "/interface bridge add name=lan protocol-mode=none\n\
     /interface bridge port add bridge=lan interface=ether1\n\
     /interface bridge port add bridge=lan interface=ether2\n\
     /ip address add address=192.0.2.1/24 interface=lan\n\
     /user add name=joe group=full password=secret\n";

/// Starts a router with joe's key. Returns it with the ssh options for logins as joe.
pub(crate) fn start(lab: &Lab, folder: &Folder) -> (Router, String) {
    let key = folder.file("key");
    let key = key.to_str().expect("a path in UTF-8");
    shell(
        lab,
        "one",
        &format!("ssh-keygen -q -t ed25519 -f {key} -N ''"),
    );
    let state = folder.file("state");
    let router = Router::start(lab, &begin(&state));
    let public = fs::read_to_string(format!("{key}.pub")).expect("it was made");
    router.exec(&format!(
        "/user/ssh-keys add user=joe key=\"{}\"",
        public.trim()
    ));
    let options = format!(
        "-F none -i {key} -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
         -o LogLevel=ERROR -o ConnectTimeout=20"
    );
    (router, options)
}

fn begin(state: &Path) -> Start<'_> {
    Start {
        state: Some(state),
        ..Start::with(PACKET, CONFIG)
    }
}

#[test]
fn ssh_accepts_only_algorithms_of_the_settings() {
    let test = "ssh_accepts_only_algorithms_of_the_settings";
    let Some(lab) = have(test, &["ssh", "ssh-keygen"])
        .then(|| lab(test, &THREE))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let (router, options) = start(&lab, &folder);
    let says = |more: &str| {
        let line = format!("ssh {options} {more} joe@192.0.2.1 :put hello");
        let said = output(&lab, "one", &line);
        (text(&said.stdout), text(&said.stderr))
    };
    let comes_in = |more: &str| says(more).0 == "hello\r\n";
    until("joe comes in", || comes_in("-4"));

    for (more, usual, strong) in [
        ("-c aes128-ctr", true, false),
        ("-c aes256-ctr", true, true),
        ("-c aes256-gcm@openssh.com", true, true),
        ("-c aes256-cbc", false, false),
        ("-c aes256-ctr -m hmac-sha1", true, false),
        ("-c aes256-ctr -m hmac-sha2-512", true, true),
        ("-o KexAlgorithms=diffie-hellman-group14-sha1", true, false),
        ("-o KexAlgorithms=diffie-hellman-group16-sha512", true, true),
    ] {
        router.exec("/ip/ssh set strong-crypto=no");
        assert_eq!(comes_in(more), usual, "{more}: {:?}", says(more));
        router.exec("/ip/ssh set strong-crypto=yes");
        assert_eq!(comes_in(more), strong, "{more}, strong: {:?}", says(more));
    }

    router.exec("/ip/ssh set strong-crypto=no ciphers=aes-cbc");
    assert!(comes_in("-c aes128-cbc"));
    assert!(!comes_in("-c aes256-ctr"));
    router.exec("/ip/ssh set ciphers=auto password-authentication=no");
    let (_, why) = says("-o PubkeyAuthentication=no");
    assert!(why.contains("(publickey)"), "{why}");
    router.exec("/ip/ssh set password-authentication=yes");
    let (_, why) = says("-o PubkeyAuthentication=no");
    assert!(why.contains("password"), "{why}");
    for refused in ["null", "3des-cbc"] {
        let said = router.command(&format!("/ip/ssh set ciphers={refused}"));
        assert!(!said.status.success(), "{refused}");
    }
    assert!(router.stop().success());
}

/// Returns the fingerprint of the router's host key of this kind.
fn shown(lab: &Lab, kind: &str) -> String {
    let scan = format!(
        "ssh-keyscan -T 20 -t {kind} 192.0.2.1 2>/dev/null | ssh-keygen -lf - | cut -d' ' -f2"
    );
    let argv = ["sh", "-c", &scan].map(str::to_owned);
    let mut command = lab
        .command_line("one", &argv)
        .expect("a host of the layout");
    let said = command.output().expect("nsenter is there: it made the lab");
    text(&said.stdout).trim().to_owned()
}

#[test]
fn the_host_key_is_generated_kept_exported_and_imported() {
    let test = "the_host_key_is_generated_kept_exported_and_imported";
    let needs = ["ssh", "ssh-keygen", "ssh-keyscan"];
    let Some(lab) = have(test, &needs).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let folder = Folder::new();
    let (router, _) = start(&lab, &folder);
    let tells = |router: &Router| router.value("/ip/ssh/print", "", "host-key-fingerprint");
    let first = tells(&router);
    until("the first key is shown", || shown(&lab, "ed25519") == first);
    router.exec("/ip/ssh export-host-key key-file-prefix=old passphrase=secret");
    let public = router.exec(":put [/file get old_ed25519_pub.pem contents]");
    assert!(public.starts_with("ssh-ed25519 AAAA"), "{public}");

    router.exec("/ip/ssh set host-key-type=rsa");
    router.exec("/ip/ssh regenerate-host-key");
    let second = tells(&router);
    assert_ne!(first, second);
    until("the second key is shown", || shown(&lab, "rsa") == second);
    assert_eq!(shown(&lab, "ed25519"), "", "the first key is gone");
    let export = router.exec("/export");
    assert!(export.contains("host-key-type=rsa"), "{export}");
    assert!(!export.contains("PRIVATE KEY"), "{export}");
    assert!(router.stop().success());

    let state = folder.file("state");
    let router = Router::start(&lab, &begin(&state));
    assert_eq!(tells(&router), second);
    until("the second key is shown again", || {
        shown(&lab, "rsa") == second
    });
    let import = "/ip/ssh import-host-key private-key-file=old_ed25519.pem passphrase=";
    assert!(!router.command(&format!("{import}wrong")).status.success());
    router.exec(&format!("{import}secret"));
    assert_eq!(tells(&router), first);
    until("the first key is shown again", || {
        shown(&lab, "ed25519") == first
    });

    for (kind, how) in [
        ("rsa", "-m PEM"),
        ("rsa", "-m PKCS8"),
        ("ed25519", "-m RFC4716"),
    ] {
        let file = folder.file(&format!("{kind}{}", how.len()));
        let file = file.to_str().expect("a path in UTF-8");
        shell(
            &lab,
            "one",
            &format!("ssh-keygen -q -t {kind} {how} -f {file} -N ''"),
        );
        let pem = fs::read_to_string(file)
            .expect("it was made")
            .replace('\n', "\\n");
        router.exec("/file remove [find name=brought.pem]");
        router.exec(&format!("/file/add name=brought.pem contents=\"{pem}\""));
        router.exec("/ip/ssh import-host-key private-key-file=brought.pem");
        let print = run(&lab, "one", &format!("ssh-keygen -lf {file}.pub"));
        assert!(print.contains(&tells(&router)), "{kind} {how}: {print}");
        until("the key is shown", || shown(&lab, kind) == tells(&router));
    }
    assert!(router.stop().success());
}

/// Starts a TCP server that sends a word to each client.
fn greeter(lab: &Lab, host: &str, port: u16) -> Server {
    let script = format!(
        "import socket;s=socket.create_server((\"\",{port}));print(\"ready\",flush=True)\nwhile 1:\n\
         \tc=s.accept()[0];c.sendall(b\"I am {host}\");c.close()"
    );
    let argv = ["python3", "-c", &script].map(str::to_owned);
    Server::begin(
        lab.command_line(host, &argv).expect("a host of the layout"),
        "ready",
    )
}

#[test]
fn connections_are_forwarded_only_if_the_settings_permit_it() {
    let test = "connections_are_forwarded_only_if_the_settings_permit_it";
    let needs = ["ssh", "ssh-keygen", "python3"];
    let Some(lab) = have(test, &needs).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let folder = Folder::new();
    let (router, options) = start(&lab, &folder);
    let (_two, _one) = (greeter(&lab, "two", 7000), greeter(&lab, "one", 7001));
    let through = || {
        let line = format!("ssh {options} -W 192.0.2.12:7000 joe@192.0.2.1");
        text(&output(&lab, "one", &line).stdout)
    };
    router.exec("/ip/ssh set forwarding-enabled=local");
    until("the router connects", || through() == "I am two");
    router.exec("/ip/ssh set forwarding-enabled=remote");
    assert_eq!(through(), "");

    // OpenSSH reports that the router listens, and exits if the router refuses.
    let listen = format!(
        "ssh {options} -v -N -o ExitOnForwardFailure=yes -R *:7002:127.0.0.1:7001 joe@192.0.2.1"
    );
    let say = format!("exec {listen} 2>&1");
    let argv = [
        "sh",
        "-c",
        &say.replace("-R *", "-R '*'")
            .replace("LogLevel=ERROR", "LogLevel=DEBUG"),
    ]
    .map(str::to_owned);
    let command = || {
        lab.command_line("one", &argv)
            .expect("a host of the layout")
    };
    let listening = Server::begin(command(), "remote forward success");
    let ask = "import socket;s=socket.create_connection((\"192.0.2.1\",7002),20);print(s.recv(99).decode())";
    let asks = || {
        let argv = ["python3", "-c", ask].map(str::to_owned);
        let mut command = lab
            .command_line("two", &argv)
            .expect("a host of the layout");
        let said = command.output().expect("nsenter is there: it made the lab");
        text(&said.stdout).trim().to_owned()
    };
    assert_eq!(asks(), "I am one");
    drop(listening);
    until("the router listens no more", || asks().is_empty());
    router.exec("/ip/ssh set forwarding-enabled=no");
    let refused = command()
        .output()
        .expect("nsenter is there: it made the lab");
    assert!(
        text(&refused.stdout).contains("forwarding failed"),
        "{refused:?}"
    );
    assert!(router.stop().success());
}
