//! Tests sessions and routers that end: unconfirmed changes are reverted. These tests need no namespace and no
//! permission.

mod doors;
mod meanwhile;
mod running;
mod web;

use std::time::{Duration, Instant};

use console::protocol::receive;
use running::Router;

#[test]
fn a_console_that_disconnects_in_safe_mode_reverts_its_changes() {
    let router = Router::start("cut");
    let mut console = router.console();
    console.rename_safely("during");
    assert_eq!(router.name(), "during");

    drop(console);

    router.wait_for_name("ferroute");
}

#[test]
fn ctrl_d_in_safe_mode_reverts_changes_that_quit_and_a_second_ctrl_x_keep() {
    let router = Router::start("quit");
    let mut console = router.console();
    console.rename_safely("one");
    console.type_keys("\x04");
    router.wait_for_name("ferroute");

    let mut console = router.console();
    console.rename_safely("two");
    console.type_keys("/quit\r");
    while let Ok(Some(_)) = receive(&mut console.stream) {}
    drop(console);
    assert_eq!(router.name(), "two");

    let mut console = router.console();
    console.rename_safely("three");
    console.type_keys("\x1bOS");
    console.until("[Safe Mode released]");
    drop(console);
    let mut console = router.console();
    console.rename_safely("four");
    drop(console);
    router.wait_for_name("three");
}

#[test]
fn a_second_session_may_take_over_safe_mode_and_the_first_is_notified() {
    let router = Router::start("hijack");
    let (mut first, mut second) = (router.console(), router.console());
    first.rename_safely("first");

    second.type_keys("\x18");
    second.until("[u/r/d]: ");
    second.type_keys("d");
    second.until("[admin@first] > ");
    second.type_keys("\x18");
    second.until("[u/r/d]: ");
    second.type_keys("u");
    second.until("[Safe Mode taken]");

    assert_eq!(router.name(), "ferroute");
    first.type_keys("x");
    first.until("[Safe mode unrolled by another user]");
}

#[test]
fn killing_a_client_in_safe_mode_reverts_its_changes() {
    let router = Router::start("client");
    let (mut terminal, mut client) = terminal::client(&router.state);
    terminal.type_keys("\x18");
    terminal.until("[Safe Mode taken]");
    terminal.type_keys("/system identity set name=during\r");
    terminal.until("[admin@during] <SAFE>");
    assert_eq!(router.name(), "during");

    client.kill().expect("it runs");
    client.wait().expect("it was started here");

    router.wait_for_name("ferroute");
}

#[test]
fn a_program_in_safe_mode_reverts_its_changes_on_disconnection_but_not_after_quit() {
    let router = Router::start("program");
    router.exec("/user add name=joe group=full password=secret");
    let program = router.program_in_safe_mode("joe", "during");
    drop(program);
    router.wait_for_name("ferroute");

    let mut program = router.program_in_safe_mode("joe", "kept");
    let end = program.ask(&["/quit"]);
    assert_eq!(end, ["!fatal", "session terminated on request"]);
    drop(program);
    assert_eq!(router.name(), "kept");
    let held = router.exec(":put [/safe-mode get]");
    assert!(held.contains("enabled=false"), "{held}");
}

#[test]
fn a_killed_router_reverts_safe_mode_and_unconfirmed_changes_at_the_next_start() {
    let mut router = Router::start("router");
    router.exec("/system identity set name=before");
    let mut console = router.console();
    console.rename_safely("during");
    router.kill();
    router.run();
    assert_eq!(router.name(), "before");

    router.exec("/file add name=new.rsc contents=\"/system identity set name=new\"");
    let applied = router.exec("/system configuration apply file=new.rsc confirm=1h");
    assert!(
        applied.contains("+ /system identity set name=new"),
        "{applied}"
    );
    assert_eq!(router.name(), "new");
    router.kill();
    router.run();
    assert_eq!(router.name(), "before");
    let history = router.exec("/system history print");
    assert!(history.contains("system identity changed"), "{history}");
}

#[test]
fn the_time_of_the_last_login_is_known_after_a_stop() {
    let mut router = Router::start("seen");
    router.exec("/user add name=joe group=full password=secret; /user add name=jim group=full");
    let seen = ":put [/user get joe last-logged-in]";
    drop(router.program("joe"));
    let before = router.exec(seen);
    assert!(before.starts_with("20"), "{before}");

    router.kill();
    router.run();

    assert_eq!(router.exec(seen), before);
    assert_eq!(router.exec(":put [/user get jim last-logged-in]"), "\n");
}

#[test]
fn continuous_commands_do_not_stop_at_a_full_page() {
    let router = Router::start("page");
    let mut console = router.console();

    // The router has no route; the terminal has 40 rows.
    console.type_keys("/ping 192.0.2.1 interval=10ms count=100\r");
    let shown = console.until("sent=100 received=0 packet-loss=100%");

    assert!(!shown.contains("-- ["), "{shown}");
}

#[test]
fn print_stops_at_a_full_page_and_the_output_of_put_does_not() {
    let router = Router::start("pages");
    router.exec(
        ":for i from=1 to=60 do={/ip firewall address-list add list=a address=\"10.0.0.$i\"}",
    );
    let mut console = router.console();

    console.type_keys(":for i from=1 to=60 do={:put \"line $i\"}\r");
    assert!(!console.until("line 60").contains("-- ["));
    console.until("] > ");
    console.type_keys("/ip firewall address-list print without-paging\r");
    assert!(!console.until("10.0.0.60").contains("-- ["));
    console.until("] > ");
    console.type_keys("/ip firewall address-list print\r");
    console.until("-- [Q quit|D dump|down]");
    console.type_keys("q");
    console.until("] > ");
}

#[test]
fn a_script_asks_at_the_console_for_keys_and_lines() {
    let router = Router::start("ask");
    let mut console = router.console();

    // Characters typed in advance go to the first command that reads.
    console.type_keys(":put [/terminal inkey]; :put [/terminal inkey]\r\x1b[Aq");
    console.until("60931\r\n113\r\n");
    console.until("] > ");
    console.type_keys(":put [/terminal inkey]\r\x1b");
    console.until("27\r\n");
    console.until("] > ");
    console.type_keys(":put [/terminal inkey timeout=10ms]\r");
    console.until("65535\r\n");
    console.until("] > ");
    console.type_keys(":put (\"<\".[/terminal/ask prompt=who preinput=joe].\">\")\r");
    console.until("value: joe");
    console.type_keys("\x08\x08im?\r");
    console.until("<jim?>");
    console.until("] > ");
    console.type_keys(":put [/terminal ask]\r");
    console.until("value: ");
    console.type_keys("\x03");
    console.until("interrupted");
    console.until("] > ");
    assert!(router.exec("/terminal inkey").contains("no terminal"));
}

#[test]
fn commands_without_effect_end_exec_with_1() {
    let router = Router::start("lacking");
    let idle = "/tool snmp-walk address=192.0.2.1";
    let said = "failure: /tool/snmp-walk has no effect here yet\n".to_owned();

    assert_eq!(router.exec_to_end(idle), (said, Some(1)));
    let caught = format!(":do {{ {idle} }} on-error={{ :put caught }}");
    let said = "caught\n".to_owned();
    assert_eq!(router.exec_to_end(&caught), (said, Some(0)));
}

#[test]
fn startup_and_greeting_report_settings_without_effect() {
    let mut router = Router::start("effects");
    let (console, greeting) = router.console_and_greeting();
    assert!(!greeting.contains("no effect"), "{greeting}");
    drop(console);
    router.exec("/interface mesh add name=br");
    router.exec("/ip address add address=10.0.0.1/24 interface=br");

    router.kill();
    router.run();

    let line =
        "commands have no effect yet: virtual interfaces; /system/configuration/effects lists them";
    // The router logs the effects of the configuration only after it forwards packets.
    router.exec(
        ":local rounds 0; :while ([:len [/log find message~\"no effect\"]] = 0 and $rounds < 300) do={ \
         :set rounds ($rounds + 1); :delay 100ms }",
    );
    let greeting = router.console_and_greeting().1;
    assert!(
        greeting.contains("2 of ") && greeting.contains(line),
        "{greeting}"
    );
    let log = router.exec("/log print where message~\"no effect\"");
    assert_eq!(log.matches(line).count(), 1, "{log}");
}

#[test]
fn the_menu_named_in_the_greeting_lists_settings_without_effect() {
    let router = Router::start("listed");
    router.exec("/interface mesh add name=net");
    let (mut console, greeting) = router.console_and_greeting();
    let path = greeting
        .split_whitespace()
        .find(|word| word.ends_with("/effects"));
    let path = path.unwrap_or_else(|| panic!("{greeting}"));
    console.type_keys(&format!("{path}\r"));
    let shown = console.until("virtual interfaces");
    assert!(shown.contains("Columns: MENU, ITEM, MISSING"), "{shown}");
    let printed = router.exec(path);
    assert!(printed.contains("/interface/mesh"), "{printed}");
    assert_eq!(printed, router.exec(&format!("{path}/print")));
}

#[test]
fn exec_reports_settings_without_effect_on_standard_error() {
    let router = Router::start("remarks");
    let (output, errors, code) = router.exec_apart("/interface mesh add name=one", false);
    let remark = "interface mesh has no effect here yet\n";
    assert_eq!(
        (output.as_str(), errors.as_str(), code),
        ("", remark, Some(0))
    );
    let (output, errors, code) = router.exec_apart("/interface mesh add name=two", true);
    assert!(output.starts_with("{\"ret\":\"*"), "{output}");
    assert_eq!((errors.as_str(), code), (remark, Some(0)));
    // A property with effect causes no remark, and `name` here is no item.
    let (_, errors, _) = router.exec_apart("/system identity set name=quiet", false);
    assert_eq!(errors, "");

    router.exec("/file add name=mesh.rsc contents=\"/interface mesh add name=three\"");
    let (_, errors, code) = router.exec_apart("/import mesh.rsc", false);
    let list = "have no effect yet: virtual interfaces; /system/configuration/effects lists them";
    assert!(errors.contains(list), "{errors}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_script_resolves_a_name_at_the_server_that_it_names() {
    let router = Router::start("dns");
    let server = std::net::UdpSocket::bind((router.address, 0)).expect("a socket");
    let port = server.local_addr().expect("its address").port();
    std::thread::spawn(move || answer_names(&server));
    let resolve = |name: &str, more: &str| {
        let server = format!("server={} server-port={port}", router.address);
        router.exec(&format!(":put [:resolve {name} {server} {more}]"))
    };

    assert_eq!(resolve("a.example", ""), "192.0.2.7\n");
    assert_eq!(resolve("A.Example.", "type=ipv6"), "2001:db8::7\n");
    assert_eq!(
        resolve("b.example", ""),
        "failure: dns name does not exist\n"
    );
    let nobody = format!(":resolve a.example server={} server-port=9", router.address);
    assert_eq!(router.exec(&nobody), "failure: dns server failure\n");
}

/// Answers DNS queries for the addresses of `a.example`; no other name exists.
fn answer_names(server: &std::net::UdpSocket) {
    let mut bytes = [0; 512];
    while let Ok((count, from)) = server.recv_from(&mut bytes) {
        let mut answer = bytes[..count].to_vec();
        let known = answer.windows(10).any(|name| name == b"\x01a\x07example");
        answer[2..4].copy_from_slice(if known { b"\x81\x80" } else { b"\x81\x83" });
        let data: &[u8] = match answer[count - 3] {
            1 => &[192, 0, 2, 7],
            _ => &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7],
        };
        if known {
            answer[7] = 1;
            let length = u8::try_from(data.len()).expect("an address");
            let kind = answer[count - 3];
            answer.extend([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, length]);
            answer.extend(data);
        }
        // Sends an answer with a wrong identifier before the right one.
        let forged = [&[!answer[0]], &answer[1..]].concat();
        for message in [forged, answer] {
            server.send_to(&message, from).expect("who asked");
        }
    }
}

#[test]
fn reset_configuration_asks_for_confirmation() {
    let router = Router::start("reset");
    router.exec("/system identity set name=old");
    let mut console = router.console();

    console.type_keys("/system/reset-configuration\r");
    console.until("Dangerous! Reset anyway? [y/N]: ");
    console.type_keys("n");
    console.until("action cancelled");
    assert_eq!(router.name(), "old");
    console.type_keys("/system/reset-configuration\r");
    console.until("Dangerous! Reset anyway? [y/N]: ");
    console.type_keys("y");
    console.until("system configuration will be reset");

    assert_eq!(router.name(), "ferroute");
    assert!(
        router
            .exec("/file print")
            .contains("auto-before-reset.backup")
    );
}

/// Runs `ferroute console` in a pseudoterminal.
mod terminal {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    /// The controlling side of a pseudoterminal.
    pub(super) struct Terminal(File);

    pub(super) fn client(state: &Path) -> (Terminal, Child) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let slave = rustix::fs::open(&name, flags, Mode::empty()).expect("its other end");
        let slave = File::from(slave);
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let client = Command::new(env!("CARGO_BIN_EXE_ferroute"))
            .args(["console", "--state"])
            .arg(state)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program");
        let mut terminal = Terminal(File::from(master));
        terminal.until("] > ");
        (terminal, client)
    }

    impl Terminal {
        pub(super) fn type_keys(&mut self, keys: &str) {
            self.0.write_all(keys.as_bytes()).expect("the terminal");
        }

        pub(super) fn until(&mut self, text: &str) {
            let mut shown = String::new();
            let mut bytes = [0; 1024];
            while !shown.contains(text) {
                let count = self.0.read(&mut bytes).expect("the terminal");
                shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        }
    }
}

#[test]
fn changes_of_rights_and_password_apply_to_running_sessions() {
    let router = Router::start("rights");
    router.exec("/user add name=joe group=full password=secret");
    let (mut program, mut other) = (router.program("joe"), router.program("joe"));
    let mut listening = router.program("joe");
    listening.say(&["/log/listen"]);

    router.exec("/user set joe group=read");

    let (refused, _) = program.try_to(&["/user/set", "=numbers=joe", "=group=full"]);
    assert_eq!(
        refused,
        ["!trap", "=message=not enough permissions (9)"],
        "joe is no administrator any more"
    );
    router.exec("/user group set read policy=read,write,password,api");
    program.ask(&["/system/identity/set", "=name=joes"]);
    program.ask(&[
        "/password",
        "=old-password=secret",
        "=new-password=other",
        "=confirm-new-password=other",
    ]);
    other.closes();
    listening.closes();
    program.ask(&["/system/identity/print"]);
    router.exec("/user remove joe");
    program.closes();
}

#[test]
fn removing_a_user_ends_the_users_jobs() {
    let router = Router::start("gone");
    router.exec("/user add name=joe group=full password=secret");
    let mut program = router.program("joe");
    program.ask(&["/execute", "=script=:while (true) do={:delay 1h}"]);
    let jobs = ":put [:len [/system script job find owner=joe]]";
    assert_eq!(router.exec(jobs), "1\n");

    router.exec("/user disable joe");

    let limit = Instant::now() + Duration::from_secs(60);
    while router.exec(jobs) != "0\n" {
        assert!(Instant::now() < limit, "the job goes on");
    }
}
