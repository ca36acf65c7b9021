//! Tests unmodified third-party clients against a running router.
//!
//! `make deps` installs them into `target/clients` (`packaging/clients.sh`); their scripts are in `tests/clients`.

use std::path::{Path, PathBuf};

use lab::Lab;
use lab::testing::skip;

use crate::world::{PACKET, Router, Start, have, lab, layout, text};

/// Users that the scripts log in as.
pub(crate) const USERS: &str = "
/user
add name=operator group=full password=\"Let-me-in-1\"
add name=reader group=read password=\"Only-reads-1\"
add name=keyed group=read password=\"Has-a-key-1\"
";

/// The router's address on the client's side of a lab, and the first of [`USERS`] with its password.
const ARGUMENTS: [&str; 3] = ["192.168.88.1", "operator", "Let-me-in-1"];

/// A third-party client: a script of `tests/clients` and its interpreter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    script: &'static str,
    runtime: Runtime,
}

/// Interpreter of a script.
#[derive(Clone, Copy, Debug)]
enum Runtime {
    Python,
    /// Python with Ansible's collections.
    Ansible,
    Node,
}

const NETMIKO: Client = Client::python("netmiko_routeros.py");
const LIBROUTEROS: Client = Client::python("librouteros_api.py");
const EXPORTER: Client = Client::python("exporter.py");
const REST: Client = Client::python("rest_api.py");
const NODE: Client = Client {
    script: "node/routeros_api.js",
    runtime: Runtime::Node,
};
const ANSIBLE: Client = Client {
    script: "ansible_api.py",
    runtime: Runtime::Ansible,
};

/// All clients. Ansible is the last, since it replaces rules and queues of the router.
pub(crate) const ALL: [Client; 6] = [NETMIKO, LIBROUTEROS, EXPORTER, REST, NODE, ANSIBLE];

impl Client {
    const fn python(script: &'static str) -> Self {
        Self {
            script,
            runtime: Runtime::Python,
        }
    }

    /// Runs the script in the host `client` of a lab whose router has [`USERS`]. The script must print `ok`. Skips
    /// `test` if the client is not installed.
    pub(crate) fn run(self, test: &str, lab: &Lab) {
        if let Some(interpreter) = self.interpreter(test) {
            script(lab, &interpreter, self.script, &ARGUMENTS);
        }
    }

    /// Returns the path of the interpreter; skips `test` if it is not installed.
    fn interpreter(self, test: &str) -> Option<PathBuf> {
        let installed = |file: &str, what: &str| {
            let found = root().join("target").join(file).exists();
            if !found {
                skip(test, &format!("{what} are not installed (make deps)"));
            }
            found
        };
        match self.runtime {
            Runtime::Python => python(test),
            Runtime::Ansible => {
                let collections = "clients/collections/collections.txt";
                installed(collections, "Ansible's collections").then(|| python(test))?
            }
            Runtime::Node => {
                let packages = "clients-node/packages.txt";
                let runs = installed(packages, "the Node.js clients") && have(test, &["node"]);
                runs.then(|| PathBuf::from("node"))
            }
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the Python interpreter with the clients; skips `test` if it is not installed.
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let python = root().join("target/clients/bin/python");
    let ready = root().join("target/clients/requirements.txt").exists();
    if !ready {
        skip(test, "the Python clients are not installed (make deps)");
    }
    ready.then_some(python)
}

/// Runs a script of `tests/clients` in a lab's host; it must print `ok`.
fn script(lab: &Lab, interpreter: &Path, script: &str, arguments: &[&str]) {
    let script = root().join("tests/clients").join(script);
    let mut argv = vec![
        interpreter.display().to_string(),
        script.display().to_string(),
    ];
    argv.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let output = lab
        .command_line("client", &argv)
        .expect("a host of the layout")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NODE_PATH", root().join("target/clients-node/node_modules"))
        .output()
        .expect("nsenter is there: it made the lab");
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    let script = script.display();
    assert!(
        said.trim_end().ends_with("ok"),
        "{script}: {said}\n{complaint}"
    );
}

/// Runs a client against a router with the client's users.
fn as_operator(test: &str, client: Client) {
    if client.interpreter(test).is_none() {
        return;
    }
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let config = format!("{}{USERS}", layout("plain").config);
    let _router = Router::start(&lab, &Start::with(PACKET, &config));

    client.run(test, &lab);
}

#[test]
fn netmiko_works_by_ssh() {
    as_operator("netmiko_works_by_ssh", NETMIKO);
}

#[test]
fn random_bytes_by_ssh_do_no_harm() {
    let test = "random_bytes_by_ssh_do_no_harm";
    let Some(python) = python(test) else { return };
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let config = format!("{}{USERS}", layout("plain").config);
    let _router = Router::start(&lab, &Start::with(PACKET, &config));

    for seed in ["1", "2", "3", "7", "8", "10"] {
        let arguments = [ARGUMENTS.as_slice(), &[seed]].concat();
        script(&lab, &python, "ssh_garbage.py", &arguments);
    }
}

#[test]
fn librouteros_works_by_the_api() {
    as_operator("librouteros_works_by_the_api", LIBROUTEROS);
}

#[test]
fn ansible_configures_a_router_and_a_second_run_changes_nothing() {
    as_operator(
        "ansible_configures_a_router_and_a_second_run_changes_nothing",
        ANSIBLE,
    );
}

#[test]
fn an_exporter_reads_the_metrics_of_the_router() {
    as_operator("an_exporter_reads_the_metrics_of_the_router", EXPORTER);
}

#[test]
fn rest_works_with_an_ordinary_http_client() {
    as_operator("rest_works_with_an_ordinary_http_client", REST);
}

#[test]
fn node_routeros_works_by_the_api() {
    as_operator("node_routeros_works_by_the_api", NODE);
}
