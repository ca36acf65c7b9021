//! Programs of others, from their registries and unmodified, against a running router.
//!
//! `make deps` puts them into `target/clients` (packaging/clients.sh); their scripts are in
//! `tests/clients`.

use std::path::{Path, PathBuf};

use lab::Lab;
use lab::testing::skip;

use crate::world::{PACKET, Router, Start, have, lab, layout, text};

/// Users that the scripts know.
pub(crate) const USERS: &str = "
/user
add name=operator group=full password=\"Let-me-in-1\"
add name=reader group=read password=\"Only-reads-1\"
add name=keyed group=read password=\"Has-a-key-1\"
";

/// The router's address on the client's side of the lab `plain`.
const ROUTER: &str = "192.168.88.1";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The interpreter that has the clients; noted when it is not there.
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let python = root().join("target/clients/bin/python");
    let ready = root().join("target/clients/requirements.txt").exists();
    if !ready {
        skip(test, "the Python clients are not installed (make deps)");
    }
    ready.then_some(python)
}

/// Runs a script of `tests/clients` in a lab's host; it must end with `ok`.
pub(crate) fn script(lab: &Lab, python: &Path, script: &str, arguments: &[&str]) {
    script_by(lab, &python.display().to_string(), script, arguments);
}

fn script_by(lab: &Lab, interpreter: &str, script: &str, arguments: &[&str]) {
    let script = root().join("tests/clients").join(script);
    let mut argv = vec![interpreter.to_owned(), script.display().to_string()];
    argv.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let output = lab
        .command_line("client", &argv)
        .expect("a host of the layout")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NODE_PATH", root().join("target/clients-node/node_modules"))
        .output()
        .expect("nsenter is there: it made the lab");
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(said.trim_end().ends_with("ok"), "{said}\n{complaint}");
}

#[test]
fn netmiko_works_by_ssh_as_on_any_routeros_device() {
    let test = "netmiko_works_by_ssh_as_on_any_routeros_device";
    let Some(python) = python(test) else { return };
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let config = format!("{}{USERS}", layout("plain").config);
    let _router = Router::start(&lab, &Start::with(PACKET, &config));

    let arguments = [ROUTER, "operator", "Let-me-in-1"];
    script(&lab, &python, "netmiko_routeros.py", &arguments);
}

#[test]
fn garbage_by_ssh_harms_nobody() {
    let test = "garbage_by_ssh_harms_nobody";
    let Some(python) = python(test) else { return };
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let config = format!("{}{USERS}", layout("plain").config);
    let _router = Router::start(&lab, &Start::with(PACKET, &config));

    for seed in ["1", "2", "3", "7", "8", "10"] {
        let arguments = [ROUTER, "operator", "Let-me-in-1", seed];
        script(&lab, &python, "ssh_garbage.py", &arguments);
    }
}

/// Runs a script of Python against a router with the users that it knows.
fn as_operator(test: &str, name: &str) {
    let Some(python) = python(test) else { return };
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let config = format!("{}{USERS}", layout("plain").config);
    let _router = Router::start(&lab, &Start::with(PACKET, &config));

    script(&lab, &python, name, &[ROUTER, "operator", "Let-me-in-1"]);
}

#[test]
fn librouteros_works_by_the_api_as_on_any_routeros_device() {
    as_operator(
        "librouteros_works_by_the_api_as_on_any_routeros_device",
        "librouteros_api.py",
    );
}

#[test]
fn ansible_brings_a_router_to_a_configuration_and_then_changes_nothing() {
    let test = "ansible_brings_a_router_to_a_configuration_and_then_changes_nothing";
    if !root()
        .join("target/clients/collections/collections.txt")
        .exists()
    {
        skip(test, "Ansible's collections are not installed (make deps)");
        return;
    }
    as_operator(test, "ansible_api.py");
}

#[test]
fn an_exporter_tells_prometheus_of_the_router() {
    as_operator("an_exporter_tells_prometheus_of_the_router", "exporter.py");
}

#[test]
fn rest_works_by_an_ordinary_http_client() {
    as_operator("rest_works_by_an_ordinary_http_client", "rest_api.py");
}

#[test]
fn node_routeros_works_by_the_api_as_on_any_routeros_device() {
    let test = "node_routeros_works_by_the_api_as_on_any_routeros_device";
    if !root().join("target/clients-node/packages.txt").exists() {
        skip(test, "the Node.js clients are not installed (make deps)");
        return;
    }
    let Some(lab) = have(test, &["node"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}{USERS}", layout("plain").config);
    let _router = Router::start(&lab, &Start::with(PACKET, &config));

    let arguments = [ROUTER, "operator", "Let-me-in-1"];
    script_by(&lab, "node", "node/routeros_api.js", &arguments);
}
