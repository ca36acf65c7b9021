use menu::Clock;
use script::Session;

use crate::Instance;
use crate::drive::Setup;

const NOW: i64 = 1_795_287_477;

fn router() -> Instance {
    let (mut router, _) = Instance::new(&Setup::offline(Clock::utc(0)), schema::store())
        .expect("memory for a small pool");
    router.control().set_clock(Clock {
        unix_seconds: NOW,
        ..Clock::utc(0)
    });
    router
}

fn run(router: &mut Instance, text: &str) -> String {
    let mut out = String::new();
    if let Err(refusal) = router.run(&mut Session::new("admin"), text, &mut out) {
        out.push_str(&refusal.to_string());
    }
    out
}

fn get(router: &mut Instance, property: &str) -> String {
    let command = format!(":put [/interface/ovpn-client/get [find] {property}]");
    run(router, &command).trim().to_owned()
}

fn file(router: &mut Instance, name: &str) -> Vec<u8> {
    let files = &router.control().manage.files;
    menu::Files::read(files, name).unwrap_or_else(|_| panic!("{name} was written"))
}

fn write(router: &mut Instance, name: &str, contents: &[u8]) {
    let files = &mut router.control().manage.files;
    menu::Files::write(files, name, contents).expect("there is room");
}

/// Returns a router with a server, and the files that it exported for a client.
fn server() -> (Instance, String) {
    let mut router = router();
    for command in [
        "/certificate add name=ca common-name=ca key-usage=key-cert-sign,crl-sign key-size=prime256v1",
        "/certificate sign ca",
        "/certificate add name=vpn common-name=vpn key-usage=digital-signature,tls-server key-size=prime256v1",
        "/certificate sign vpn ca=ca",
        "/certificate add name=road common-name=road key-usage=digital-signature,tls-client key-size=prime256v1",
        "/certificate sign road ca=ca",
        "/certificate export-certificate road file-name=road export-passphrase=12345678",
        "/interface ovpn-server server add name=ovpn1 protocol=tcp mode=ethernet port=1195 certificate=vpn \
         cipher=aes256-gcm,aes128-cbc auth=sha256,sha512",
    ] {
        run(&mut router, command);
    }
    let said = run(
        &mut router,
        "/interface ovpn-server server export-client-configuration server=ovpn1 server-address=vpn.example.com \
         client-certificate=road client-cert-key=road.key",
    );
    let name = format!("client{NOW}.ovpn");
    assert!(said.contains(&name), "{said}");
    (router, name)
}

#[test]
fn what_a_server_exports_a_client_imports() {
    let (mut from, name) = server();
    let contents = file(&mut from, &name);
    let mut to = router();
    write(&mut to, "road.ovpn", &contents);
    let import = "/interface ovpn-client import-ovpn-configuration file-name=road.ovpn";
    let said = run(&mut to, import);
    assert!(
        said.contains("road.ovpn") && said.contains("passphrase"),
        "{said}"
    );
    let import = format!("{import} key-passphrase=12345678");
    let said = run(&mut to, &import);
    assert!(said.contains("give ovpn-user and ovpn-password"), "{said}");
    assert_eq!(run(&mut to, ":put [:len [/certificate find]]"), "0\n");
    let said = run(
        &mut to,
        &format!("{import} ovpn-user=anna ovpn-password=geheim"),
    );
    assert!(said.contains("interface: road"), "{said}");
    for (property, expected) in [
        ("name", "road"),
        ("connect-to", "vpn.example.com"),
        ("port", "1195"),
        ("protocol", "tcp"),
        ("mode", "ethernet"),
        ("cipher", "aes256-gcm"),
        ("auth", "sha256"),
        ("user", "anna"),
        ("verify-server-certificate", "true"),
        ("disabled", "false"),
    ] {
        assert_eq!(get(&mut to, property), expected, "{property}");
    }
    let own = get(&mut to, "certificate");
    let name = run(
        &mut to,
        &format!(":put [/certificate get {own} common-name]"),
    );
    assert_eq!(name, "road\n");
    assert_eq!(
        run(&mut to, ":put [:len [/certificate find trusted]]"),
        "2\n"
    );
}

#[test]
fn a_file_is_refused_by_name_and_line_and_keys_are_shown_to_nobody() {
    let mut router = router();
    let digits = "0123456789abcdef".repeat(32);
    let key = format!(
        "-----BEGIN OpenVPN Static key V1-----\n{digits}\n-----END OpenVPN Static key V1-----\n"
    );
    let text = format!(
        "client\ndev tun\nproto udp\nremote 192.0.2.1\npull-filter ignore dns\nkey-direction 1\n\
         <tls-auth>\n{key}</tls-auth>\n"
    );
    write(
        &mut router,
        "old.ovpn",
        format!("{text}comp-lzo\n").as_bytes(),
    );
    let import = "/interface ovpn-client import-ovpn-configuration file-name";
    let said = run(&mut router, &format!("{import}=old.ovpn"));
    assert!(
        said.contains("old.ovpn: line 12: comp-lzo is refused"),
        "{said}"
    );
    write(&mut router, "new.ovpn", text.as_bytes());
    let said = run(&mut router, &format!("{import}=new"));
    assert!(
        said.contains("left out: line 5, pull-filter ignore dns"),
        "{said}"
    );
    assert_eq!(get(&mut router, "tls-auth"), "true");
    for command in [
        "/interface ovpn-client print detail",
        "/interface ovpn-client print as-value",
        "/export show-sensitive verbose",
    ] {
        let said = run(&mut router, command);
        assert!(!said.contains(&digits[..32]), "{command}");
    }
    let said = run(&mut router, &format!("{import}=none.ovpn"));
    assert!(!said.contains("interface:"), "{said}");
}

#[test]
fn an_export_needs_a_certificate_and_the_key_of_the_client() {
    let (mut router, _) = server();
    let export = "/interface ovpn-server server export-client-configuration server=ovpn1";
    for (arguments, why) in [
        ("", "server-address"),
        (
            "server-address=a client-certificate=road",
            "client-cert-key is missing",
        ),
        ("server-address=a ca-certificate=none.crt", "none.crt"),
    ] {
        let said = run(&mut router, &format!("{export} {arguments}"));
        assert!(said.contains(why), "{said}");
    }
    run(
        &mut router,
        "/interface ovpn-server server set ovpn1 certificate=none",
    );
    let said = run(&mut router, &format!("{export} server-address=a"));
    assert!(said.contains("set certificate"), "{said}");
}
