//! Tests `/tool/e-mail` and log entries by mail, with a Python mail server (aiosmtpd).

use std::fs;
use std::path::Path;

use lab::Lab;

use crate::pair::{PAIR, PEER, start};
use crate::world::{Folder, Router, Server, have, lab, until};

/// Three mail servers: one without authentication, one with STARTTLS and a user, one with TLS. Each writes the user and
/// the message to a file.
const SERVER: &str = "
import email, email.policy, json, signal, ssl, sys
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
at, into, certificate, key = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
class Box:
    def __init__(self, name):
        self.name = name
    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.original_content, policy=email.policy.default)
        files = [[a.get_filename(), a.get_content().decode()] for a in mail.iter_attachments()]
        body = mail.get_body(('plain',)).get_content()
        said = dict(by=self.name, sender=envelope.mail_from, to=envelope.rcpt_tos, subject=mail['subject'],
                    name=str(mail['from']), body=body, files=files)
        with open(into, 'a') as out:
            out.write(json.dumps(said, ensure_ascii=False) + chr(10))
        return '250 taken'
def knows(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b'joe', b'secret'), handled=False)
Controller(Box('plain'), hostname=at, port=2525).start()
Controller(Box('starttls'), hostname=at, port=2587, tls_context=context, require_starttls=True,
           authenticator=knows, auth_required=True).start()
Controller(Box('tls'), hostname=at, port=2465, ssl_context=context).start()
print('ready', flush=True)
signal.pause()
";

/// Starts the servers with the certificate of `doh.lan`.
fn servers(lab: &Lab, into: &Path, [certificate, key]: [&Path; 2]) -> Server {
    let path = |path: &Path| path.display().to_string();
    let (into, certificate, key) = (path(into), path(certificate), path(key));
    // The system's interpreter, which has the package aiosmtpd.
    let argv = [
        "/usr/bin/python3",
        "-c",
        SERVER,
        PEER,
        &into,
        &certificate,
        &key,
    ];
    let command = lab.command_line("peer", &argv.map(str::to_owned));
    Server::begin(command.expect("a host of the layout"), "ready")
}

fn status(router: &Router) -> String {
    router.value("/tool/e-mail/print", "", "last-status")
}

#[test]
fn mails_and_log_entries_reach_a_mail_server() {
    let test = "mails_and_log_entries_reach_a_mail_server";
    let Some(lab) = have(test, &["aiosmtpd"])
        .then(|| lab(test, &PAIR))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("mails");
    let [certificate, key, authority] = crate::dns::certificate(&folder);
    let _servers = servers(&lab, &file, [&certificate, &key]);
    let router = start(
        &lab,
        &format!(
            "/ip dns static add name=doh.lan address={PEER}\n\
             /system identity set name=edge\n\
             /tool e-mail set server={PEER} port=2525 from=\"The Router <router@example.org>\"\n"
        ),
    );
    plain(&router, &file);
    secured(&router, &file, &authority);
    router.exec("/system logging action add name=post target=email email-to=log@example.org");
    router.exec("/system logging add topics=script action=post");
    router.exec("/log/warning \"by mail\"");
    let logged = |mail: &serde_json::Value| {
        let body = mail["body"].as_str().unwrap_or_default();
        mail["to"][0] == "log@example.org" && body.contains("script,warning by mail")
    };
    until("the entry has come", || mails(&file).iter().any(logged));
    let refused = router.command("/tool/e-mail/send to=nobody");
    assert!(!refused.status.success());
    assert!(router.stop().success());
}

/// Returns the messages that the servers have received.
fn mails(file: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let read = |line| serde_json::from_str(line).expect("the server writes JSON");
    whole.map(read).collect()
}

/// Sends a mail. Returns the command's output.
fn send(router: &Router, more: &str) -> String {
    router.exec(&format!("/tool/e-mail/send to=noc@example.org {more}"));
    until("the mail has gone", || status(router) != "in-progress");
    status(router)
}

fn plain(router: &Router, file: &Path) {
    assert_eq!(status(router), "none");
    router.exec("/file/add name=note.txt contents=\"in the file\"");
    let with = "cc=two@example.org subject=\"Grüße\" body=\"one\\n.two\" file=note.txt";
    assert_eq!(
        send(router, with),
        "succeeded",
        "{}",
        router.exec("/log/print")
    );
    let first = &mails(file)[0];
    assert_eq!(first["by"], "plain");
    assert_eq!(first["sender"], "router@example.org");
    assert_eq!(
        first["to"],
        serde_json::json!(["noc@example.org", "two@example.org"])
    );
    assert!(
        first["name"]
            .as_str()
            .is_some_and(|name| name.contains("The Router")),
        "{first}"
    );
    assert!(
        first["subject"]
            .as_str()
            .is_some_and(|text| text.starts_with("Gr")),
        "{first}"
    );
    let lines: Vec<_> = first["body"].as_str().unwrap_or_default().lines().collect();
    assert_eq!(lines, ["one", ".two"]);
    assert_eq!(
        first["files"],
        serde_json::json!([["note.txt", "in the file"]])
    );
    assert_eq!(router.value("/tool/e-mail/print", "", "last-address"), PEER);
}

fn secured(router: &Router, file: &Path, authority: &Path) {
    let send = |more: &str| send(router, more);
    let by_tls = "server=doh.lan port=2465 tls=yes";
    assert_eq!(send(by_tls), "failed", "nobody has signed it");
    let log = router.exec("/log/print");
    assert!(
        log.contains("Error sending e-mail") && log.contains("certificate"),
        "{log}"
    );
    router.import(authority);
    assert_eq!(send(by_tls), "succeeded");
    let starttls = "server=doh.lan port=2587 tls=starttls user=joe password";
    assert_eq!(send(&format!("{starttls}=wrong")), "failed");
    assert_eq!(send(&format!("{starttls}=secret")), "succeeded");
    assert_eq!(
        send("port=2525 tls=starttls"),
        "failed",
        "it is not offered"
    );
    let by: Vec<_> = mails(file).iter().map(|mail| mail["by"].clone()).collect();
    assert_eq!(by, ["plain", "tls", "starttls"]);
}
