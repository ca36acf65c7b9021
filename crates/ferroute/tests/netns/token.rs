//! Private keys in a token: SoftHSM, with curl, OpenSSL, OpenVPN and a second ferroute as peers.
//!
//! ```text
//! one ── left (with the token) ── right ── two
//! ```

use std::fs;
use std::path::Path;
use std::process::Command;

use lab::Lab;

use crate::carriers::SSTP;
use crate::ipsec::{SITES, base};
use crate::pppoe::start;
use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, output, shell, text, until, works,
};

const MODULES: [&str; 2] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
];
const PIN: &str = "98417203";
/// A certificate that signs itself, for all services.
const TEMPLATE: &str = "common-name=left subject-alt-name=IP:10.1.0.1,IP:192.0.2.1,DNS:left.example \
    key-usage=key-cert-sign,digital-signature,tls-server,tls-client";

/// A token of SoftHSM in a folder of its own.
struct Token {
    folder: Folder,
    module: &'static str,
}

impl Token {
    /// Makes a token; `None` without SoftHSM.
    fn new(test: &str) -> Option<Self> {
        let module = MODULES.iter().find(|path| Path::new(path).exists());
        let Some(module) = module.filter(|_| have(test, &["softhsm2-util", "openssl", "curl"]))
        else {
            lab::testing::skip(test, "SoftHSM is not installed");
            return None;
        };
        let token = Self {
            folder: Folder::new(),
            module,
        };
        let tokens = token.folder.file("tokens");
        fs::create_dir_all(&tokens).expect("a folder of our own");
        let configuration = format!("directories.tokendir = {}\n", tokens.display());
        fs::write(token.configuration(), configuration).expect("a folder of our own");
        token.util(&[
            "--init-token",
            "--free",
            "--label",
            "router",
            "--pin",
            PIN,
            "--so-pin",
            "12345678",
        ]);
        Some(token)
    }

    fn configuration(&self) -> String {
        self.folder.file("softhsm2.conf").display().to_string()
    }

    fn util(&self, arguments: &[&str]) {
        let mut command = Command::new("softhsm2-util");
        command
            .args(arguments)
            .env("SOFTHSM2_CONF", self.configuration());
        let done = command.output().expect("it is installed");
        assert!(done.status.success(), "{}", text(&done.stderr));
    }

    /// Makes a key pair outside the router, and stores its private key in the token. Returns the certificate's file.
    fn import_key(&self, lab: &Lab) -> String {
        let (key, certificate) = (self.folder.file("key.pem"), self.folder.file("other.pem"));
        let (key, certificate) = (key.display().to_string(), certificate.display().to_string());
        let line = format!(
            "openssl req -x509 -newkey rsa:2048 -nodes -keyout {key}.1 -out {certificate} -days 30 -subj /CN=other \
             -addext subjectAltName=IP:10.1.0.1"
        );
        assert!(output(lab, "one", &line).status.success());
        assert!(
            output(
                lab,
                "one",
                &format!("openssl pkcs8 -topk8 -nocrypt -in {key}.1 -out {key}")
            )
            .status
            .success()
        );
        self.util(&[
            "--import", &key, "--token", "router", "--label", "other", "--id", "a1b2", "--pin", PIN,
        ]);
        certificate
    }

    /// Pulls the token out.
    fn pull_out(&self) {
        fs::rename(self.folder.file("tokens"), self.folder.file("aside")).expect("our folder");
    }

    fn insert(&self) {
        fs::rename(self.folder.file("aside"), self.folder.file("tokens")).expect("our folder");
    }

    /// Starts the router `left` with the token.
    fn start(&self, lab: &Lab, config: &str, state: Option<&Path>) -> Router {
        let tokens = self.folder.file("tokens").display().to_string();
        let configuration = self.configuration();
        let ports = ["ether1", "ether2"].map(|port| format!("{port}={PACKET}:{port}"));
        let arguments = [
            "--token-module",
            self.module,
            "--token-label",
            "router",
            "--token-folder",
            &tokens,
        ];
        let start = Start {
            host: "left",
            ports: ports.to_vec(),
            state,
            arguments: &arguments,
            environment: &[("SOFTHSM2_CONF", &configuration)],
            ..Start::with(PACKET, config)
        };
        Router::start(lab, &start)
    }
}

/// Makes a certificate whose key is in the token. Returns the file of the certificate.
fn make(router: &Router, folder: &Folder, name: &str, size: &str) -> String {
    router.exec(&format!(
        "/certificate/add name={name} {TEMPLATE} key-size={size}"
    ));
    router.exec(&format!("/certificate/sign {name} ca-on-smart-card=yes"));
    let rows = router.rows("/certificate/print");
    let row = rows
        .iter()
        .find(|row| row["name"] == name)
        .expect("a certificate");
    assert_eq!(row["smart-card-key"], "true", "{row}");
    assert_ne!(row["private-key"], "true", "{row}");
    router.exec(&format!(
        "/certificate/export-certificate {name} file-name={name}"
    ));
    let pem = router.exec(&format!(":put [/file/get {name}.crt contents]"));
    let file = folder.file(&format!("{name}.pem"));
    fs::write(&file, pem).expect("a folder of our own");
    file.display().to_string()
}

fn page(lab: &Lab, authority: &str, options: &str) -> String {
    let line = format!(
        "curl -sS -m 20 --cacert {authority} {options} -u joe:secret https://10.1.0.1/rest/system/identity"
    );
    let got = output(lab, "one", &line);
    text(&got.stdout) + &text(&got.stderr)
}

/// Checks that no PIN and wrong PINs are refused in words, then stores the PIN.
fn install(router: &Router) {
    for (command, words) in [
        ("/certificate/card-verify", "the token's PIN is not known"),
        (
            "/certificate/card-verify pin=00000000",
            "the token refuses the PIN",
        ),
    ] {
        let why = complaint(router, command);
        assert!(why.contains(words), "{why}");
    }
    router.exec(&format!("/certificate/card-reinstall pin={PIN}"));
    router.exec("/certificate/card-verify");
}

/// Returns what a refused command prints.
fn complaint(router: &Router, command: &str) -> String {
    let done = router.command(command);
    text(&done.stderr) + &text(&done.stdout)
}

/// Pulls the token out and inserts it again, while other services go on. `other` is the certificate of `www-ssl`.
fn interrupt(token: &Token, router: &Router, lab: &Lab, other: &str) {
    token.pull_out();
    let failed = page(lab, other, "");
    assert!(!failed.contains("ferroute"), "{failed}");
    until("a line in the log", || {
        router.log().contains("token: the token is not there")
    });
    assert!(works(
        lab,
        "one",
        "curl -sS -m 20 -o /dev/null http://10.1.0.1/"
    ));
    assert!(works(lab, "one", "ping -q -c 1 -W 2 10.1.0.1"));
    token.insert();
    until("the token comes back", || {
        page(lab, other, "").contains("ferroute")
    });
    until("a line in the log", || {
        router.log().matches("the token is there").count() >= 2
    });
}

#[test]
fn tls_services_sign_by_a_token_that_may_be_pulled_out() {
    let test = "tls_services_sign_by_a_token_that_may_be_pulled_out";
    let Some(token) = Token::new(test) else {
        return;
    };
    let Some(lab) = lab(test, &SITES) else { return };
    let folder = Folder::new();
    let state = folder.file("state");
    let router = token.start(&lab, &base(1, 2), Some(&state));
    router.exec("/user/add name=joe group=full password=secret");
    install(&router);
    let authority = make(&router, &folder, "vpn", "prime256v1");
    let why = complaint(
        &router,
        "/certificate/export-certificate vpn export-passphrase=12345678",
    );
    assert!(why.contains("the key is in a token"), "{why}");
    for service in ["www-ssl", "api-ssl"] {
        router.exec(&format!(
            "/ip/service/set {service} disabled=no certificate=vpn"
        ));
    }
    until("a page", || page(&lab, &authority, "").contains("ferroute"));
    assert!(page(&lab, &authority, "--tls-max 1.2").contains("ferroute"));
    let api = format!(
        "openssl s_client -connect 10.1.0.1:8729 -CAfile {authority} </dev/null 2>&1 || true"
    );
    let said = shell(&lab, "one", &api);
    assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    // A key that the token had before, whose certificate is imported.
    let other = token.import_key(&lab);
    router.import(Path::new(&other));
    let rows = router.rows("/certificate/print");
    let row = rows
        .iter()
        .find(|row| row["common-name"] == "other")
        .expect("imported");
    assert_eq!(row["smart-card-key"], "true", "{row}");
    let name = row["name"].as_str().expect("a name");
    router.exec(&format!("/ip/service/set www-ssl certificate={name}"));
    for options in ["--tls-max 1.2", "--tlsv1.3"] {
        until("a page by RSA", || {
            page(&lab, &other, options).contains("ferroute")
        });
    }

    interrupt(&token, &router, &lab, &other);
    let exported = router.exec("/export show-sensitive");
    assert!(!exported.contains(PIN), "the PIN is exported");
    router.kill();
    let router = token.start(&lab, "", Some(&state));
    until("a page from the stored state", || {
        page(&lab, &other, "").contains("ferroute")
    });
    assert!(!router.log().contains("PIN is not known"));
}

/// Dials into a server of OpenVPN with this certificate, which renews its keys while packets pass.
fn dial(left: &Router, lab: &Lab, folder: &Folder, certificate: &str, authority: &str) {
    left.exec(&format!(
        "/interface/ovpn-server/server/add name={certificate} protocol=udp certificate={certificate} \
         default-profile=home cipher=aes256-gcm disabled=no"
    ));
    let login = folder.file("login");
    fs::write(&login, "anna\ngeheim\n").expect("a folder of our own");
    let line = format!(
        "/usr/sbin/openvpn --client --dev tun --nobind --remote 10.1.0.1 1194 --proto udp4 --ca {authority} \
         --auth-user-pass {} --verb 3 --reneg-sec 3",
        login.display()
    );
    let client = Server::start(lab, "one", &line, "Initialization Sequence Completed");
    let ping = output(lab, "one", "ping -q -c 500 -i 0.01 -W 2 10.64.0.1");
    assert!(
        text(&ping.stdout).contains(" 0% packet loss"),
        "{}",
        text(&ping.stdout)
    );
    drop(client);
    left.exec(&format!(
        "/interface/ovpn-server/server/remove {certificate}"
    ));
}

/// Returns the names of the certificates with this common name.
fn names(router: &Router, common: &str) -> Vec<String> {
    let rows = router.rows("/certificate/print");
    let rows = rows.iter().filter(|row| row["common-name"] == common);
    rows.filter_map(|row| row["name"].as_str().map(str::to_owned))
        .collect()
}

/// Encrypts between both sites with these certificates, until a packet passes; then removes all.
fn protect(lab: &Lab, routers: [&Router; 2], exchange: &str, names: [&str; 4]) {
    let [left, right] = routers;
    let [own, peer, theirs, left_at_right] = names;
    for (router, other, identity) in [
        (
            left,
            2,
            format!("certificate={own} remote-certificate={peer}"),
        ),
        (
            right,
            1,
            format!("certificate={theirs} remote-certificate={left_at_right}"),
        ),
    ] {
        router.exec(&format!(
            "/ip/ipsec/peer/add name=far address=192.0.2.{other}/32 exchange-mode={exchange}"
        ));
        router.exec(&format!(
            "/ip/ipsec/identity/add peer=far auth-method=digital-signature {identity}"
        ));
        router.exec(&format!(
            "/ip/ipsec/policy/add peer=far tunnel=yes src-address=10.{}.0.0/24 dst-address=10.{other}.0.0/24",
            3 - other
        ));
    }
    until(&format!("{exchange} {own}"), || {
        works(lab, "one", "ping -q -c 1 -W 1 10.2.0.2")
    });
    assert!(crate::ipsec::is_established(left), "{}", left.log());
    for router in [left, right] {
        router.exec("/ip/ipsec/policy/remove [find peer=far]");
        router.exec("/ip/ipsec/identity/remove [find]");
        router.exec("/ip/ipsec/peer/remove [find]");
    }
}

#[test]
fn a_router_that_starts_without_its_token_serves_once_it_is_there() {
    let test = "a_router_that_starts_without_its_token_serves_once_it_is_there";
    let Some(token) = Token::new(test).filter(|_| have(test, &["openvpn", "ping"])) else {
        return;
    };
    let Some(lab) = lab(test, &SITES) else { return };
    let folder = Folder::new();
    let state = folder.file("state");
    let users = "/ip pool add name=users ranges=10.64.0.2-10.64.0.99\n\
        /ppp profile add name=home local-address=10.64.0.1 remote-address=users\n\
        /ppp secret add name=anna password=geheim profile=home\n";
    let left = token.start(&lab, &(base(1, 2) + users), Some(&state));
    left.exec("/user/add name=joe group=full password=secret");
    left.exec(&format!("/certificate/card-reinstall pin={PIN}"));
    let authority = make(&left, &folder, "vpn", "prime256v1");
    left.exec("/ip/service/set www-ssl disabled=no certificate=vpn");
    left.exec(
        "/interface/sstp-server/server/set enabled=yes certificate=vpn default-profile=home port=8443",
    );
    until("a page", || page(&lab, &authority, "").contains("ferroute"));
    left.kill();

    token.pull_out();
    let left = token.start(&lab, "", Some(&state));
    until("the log names the token", || {
        left.log().contains("token: the token is not there")
    });
    assert!(works(&lab, "one", "ping -q -c 1 -W 2 10.1.0.1"));
    let plain = "curl -sS -m 20 -o /dev/null http://10.1.0.1/";
    until("services without the token", || works(&lab, "one", plain));
    assert!(!page(&lab, &authority, "").contains("ferroute"));
    let client = "/interface sstp-client add name=sstp-out1 connect-to=192.0.2.1 port=8443 user=anna password=geheim \
        disabled=no";
    let right = start(&lab, "right", &(base(2, 1) + client), None);
    until("the client fails", || {
        right.log().contains("sstp-out1: terminating...")
    });

    token.insert();
    until("a page", || page(&lab, &authority, "").contains("ferroute"));
    until("a session of SSTP", || {
        SSTP.monitor(&right, "status") == "connected"
    });
    dial(&left, &lab, &folder, "vpn", &authority);
}

#[test]
fn tunnels_sign_by_a_token() {
    let test = "tunnels_sign_by_a_token";
    let Some(token) = Token::new(test).filter(|_| have(test, &["openvpn", "ping"])) else {
        return;
    };
    let Some(lab) = lab(test, &SITES) else { return };
    let folder = Folder::new();
    let users = "/ip pool add name=users ranges=10.64.0.2-10.64.0.99\n\
        /ppp profile add name=home local-address=10.64.0.1 remote-address=users\n\
        /ppp secret add name=anna password=geheim profile=home\n";
    let left = token.start(&lab, &(base(1, 2) + users), None);
    left.exec(&format!("/certificate/card-reinstall pin={PIN}"));
    let curve = make(&left, &folder, "curve", "prime256v1");
    let rsa = make(&left, &folder, "rsa", "2048");

    for (certificate, authority) in [("curve", &curve), ("rsa", &rsa)] {
        dial(&left, &lab, &folder, certificate, authority);
    }

    let client = "/interface sstp-client add name=sstp-out1 connect-to=192.0.2.1 user=anna password=geheim disabled=no";
    let right = start(&lab, "right", &(base(2, 1) + client), None);
    left.exec("/interface/sstp-server/server/set enabled=yes certificate=rsa default-profile=home");
    until("a session of SSTP", || {
        SSTP.monitor(&right, "status") == "connected"
    });
    right.exec("/interface/sstp-client/disable [find]");

    for file in [&curve, &rsa] {
        right.import(Path::new(file));
        right.exec("/file/remove imported.pem");
    }
    right.exec("/certificate/add name=right common-name=right key-usage=key-cert-sign,digital-signature key-size=2048");
    right.exec("/certificate/sign right");
    right.exec("/certificate/export-certificate right file-name=right");
    let pem = right.exec(":put [/file/get right.crt contents]");
    fs::write(folder.file("right.pem"), pem).expect("a folder of our own");
    left.import(&folder.file("right.pem"));
    let (peer, left_at_right) = (names(&left, "right"), names(&right, "left"));
    for (exchange, own, number) in [("ike2", "curve", 0), ("ike2", "rsa", 1), ("main", "rsa", 1)] {
        let names = [own, &peer[0], "right", &left_at_right[number]];
        protect(&lab, [&left, &right], exchange, names);
    }
}
