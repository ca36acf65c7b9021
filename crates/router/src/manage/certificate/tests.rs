use menu::{Clock, Files as _};
use script::Session;

use crate::Instance;
use crate::drive::Setup;
use crate::store::{Durable, Key, OnDamage};

const NOW: i64 = 1_795_287_477;

fn with(store: menu::Store) -> Instance {
    let (mut router, _) =
        Instance::new(&Setup::offline(Clock::utc(0)), store).expect("memory for a small pool");
    at(&mut router, NOW);
    router
}

fn router() -> Instance {
    with(schema::store())
}

fn at(router: &mut Instance, unix_seconds: i64) {
    router.control().set_clock(Clock {
        unix_seconds,
        ..Clock::utc(0)
    });
}

fn run(router: &mut Instance, text: &str) -> String {
    let mut out = String::new();
    if let Err(refusal) = router.run(&mut Session::new("admin"), text, &mut out) {
        out.push_str(&refusal.to_string());
    }
    out
}

fn file(router: &mut Instance, name: &str) -> Vec<u8> {
    let files = &router.control().manage.files;
    files
        .read(name)
        .unwrap_or_else(|_| panic!("{name} was written"))
}

fn write(router: &mut Instance, name: &str, contents: &[u8]) {
    let files = &mut router.control().manage.files;
    files.write(name, contents).expect("there is room");
}

/// Creates a router with an authority `ca` and a certificate `www` signed by it.
fn signed() -> Instance {
    let mut router = router();
    sign(&mut router);
    router
}

fn sign(router: &mut Instance) {
    for command in [
        "/certificate add name=ca-template common-name=ca key-usage=key-cert-sign,crl-sign \
         key-size=prime256v1 days-valid=3650",
        "/certificate add name=www common-name=router.lan subject-alt-name=DNS:router.lan,IP:192.0.2.1 \
         key-usage=digital-signature,tls-server key-size=secp384r1",
    ] {
        assert_eq!(run(router, command), "");
    }
    let done = run(
        router,
        "/certificate sign ca-template name=ca ca-crl-host=192.0.2.1",
    );
    assert!(done.contains("progress: done"), "{done}");
    let done = run(router, "/certificate sign www ca=ca");
    assert!(done.contains("progress: done"), "{done}");
}

fn flags(router: &mut Instance) -> Vec<String> {
    let rows = run(router, "/certificate print terse");
    let flag = |row: &str| {
        let (head, _) = row.split_once("name=").expect("a row");
        head.split_whitespace().skip(1).collect()
    };
    rows.lines()
        .filter(|row| row.contains("name="))
        .map(flag)
        .collect()
}

#[test]
fn an_authority_signs_and_rows_say_so() {
    let mut router = signed();

    assert_eq!(flags(&mut router), ["KLAT", "KLI"]);
    let get = |router: &mut Instance, name: &str, value: &str| {
        run(router, &format!(":put [/certificate get {name} {value}]"))
            .trim()
            .to_owned()
    };
    assert_eq!(get(&mut router, "www", "ca"), "ca");
    assert_eq!(
        get(&mut router, "www", "akid"),
        get(&mut router, "ca", "skid")
    );
    assert_eq!(get(&mut router, "www", "key-type"), "ec");
    assert_eq!(
        get(&mut router, "www", "invalid-before"),
        "2026-11-21 18:57:57"
    );
    assert_eq!(
        get(&mut router, "www", "invalid-after"),
        "2027-11-21 18:57:57"
    );
    assert_eq!(get(&mut router, "www", "expires-after"), "52w1d00:00:00");
    assert_eq!(get(&mut router, "www", "fingerprint").len(), 64);
    let again = run(&mut router, "/certificate sign www");
    assert!(again.contains("signed already"), "{again}");
    let other = run(&mut router, "/certificate set www common-name=x");
    assert!(other.contains("can not change common-name"), "{other}");
    assert_eq!(run(&mut router, "/certificate set www name=web"), "");
    at(&mut router, NOW + 366 * 86_400);
    assert_eq!(flags(&mut router), ["KLAT", "KLIE"]);
}

#[test]
fn what_cannot_be_signed_is_refused_and_stays() {
    let mut router = router();
    run(
        &mut router,
        "/certificate add name=a common-name=a key-size=1024",
    );
    run(
        &mut router,
        "/certificate add name=b common-name=b digest-algorithm=md5 key-size=prime256v1",
    );
    run(
        &mut router,
        "/certificate add name=c common-name=c country=Latvia key-size=prime256v1",
    );
    run(&mut router, "/certificate add name=d key-size=prime256v1");
    for (name, why) in [
        ("a", "not safe"),
        ("b", "not safe"),
        ("c", "two letters"),
        ("d", "common-name"),
    ] {
        let said = run(&mut router, &format!("/certificate sign {name}"));
        assert!(said.contains(why), "{said}");
    }
    let said = run(&mut router, "/certificate sign a ca=b");
    assert!(!said.contains("done"), "{said}");
    assert_eq!(flags(&mut router), ["", "", "", ""]);
}

#[test]
fn keys_are_shown_to_nobody() {
    let mut router = signed();
    let key = { router.store().named("certificate", "www") }.expect("it is there");
    let key = key.text("key").to_owned();
    assert!(key.len() > 100);

    for command in [
        "/certificate print detail show-ids",
        "/certificate print as-value",
        ":put [/certificate print as-value]",
        ":put [/certificate get www]",
        "/export show-sensitive verbose",
        "/system history print detail",
    ] {
        let said = run(&mut router, command);
        assert!(!said.contains(&key[20..60]), "{command}");
    }
    assert_ne!(run(&mut router, "/certificate set www key=00"), "");
    assert!(!run(&mut router, "/export").contains("/certificate"));
}

#[test]
fn certificates_outlive_a_kill_and_other_configurations_but_no_reset() {
    let folder = std::env::temp_dir().join(format!("ferroute-certificates-{}", std::process::id()));
    let open = || {
        let durable = Durable::open(&folder, &Key::new([7; 32], "a test"), OnDamage::Refuse)
            .expect("our folder");
        let kept = durable.load().expect("it can be read");
        let mut store = schema::store();
        if let Some(kept) = &kept {
            crate::store::take_up(&mut store, durable, kept, Clock::utc(0))
                .expect("it can be read");
        } else {
            store.set_journal(Box::new(durable));
        }
        with(store)
    };
    let mut first = open();
    sign(&mut first);
    let print = |router: &mut Instance| run(router, ":put [/certificate print as-value]");
    let before = print(&mut first);
    drop(first);

    let mut second = open();
    assert_eq!(print(&mut second), before);
    write(&mut second, "new.rsc", b"/system identity set name=new\n");
    run(&mut second, "/system configuration apply file=new");
    assert_eq!(
        run(&mut second, ":put [/system identity get name]"),
        "new\n"
    );
    assert_eq!(print(&mut second), before);
    run(&mut second, "/certificate remove www");
    assert_eq!(flags(&mut second), ["KLAT"]);
    run(&mut second, "/undo");
    assert_eq!(print(&mut second), before);
    run(&mut second, "/system reset-configuration skip-backup=yes");
    assert_eq!(print(&mut second), "\n");
    drop(second);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Creates a router with the files that another router exported.
fn with_files_of_another() -> Instance {
    let (mut one, mut other) = (signed(), router());
    let export = "/certificate export-certificate";
    run(&mut one, &format!("{export} ca file-name=ca"));
    run(
        &mut one,
        &format!("{export} www type=pkcs12 export-passphrase=12345678"),
    );
    run(
        &mut one,
        &format!("{export} www file-name=www export-passphrase=12345678"),
    );
    let short = run(&mut one, &format!("{export} www export-passphrase=short"));
    assert!(short.contains("8 characters"), "{short}");
    for (from, to) in [
        ("ca.crt", "ca.crt"),
        ("cert_export_www.p12", "www.p12"),
        ("www.crt", "www.crt"),
        ("www.key", "www.key"),
    ] {
        let contents = file(&mut one, from);
        write(&mut other, to, &contents);
    }
    other
}

#[test]
fn what_one_router_exports_another_imports() {
    let mut router = with_files_of_another();

    for (file, wanted) in [
        ("ca.crt passphrase=\"\"", "certificates-imported: 1"),
        ("www.p12 passphrase=wrong", "decryption-failures: 1"),
        ("www.crt trusted=no", "certificates-imported: 1"),
        ("www.key passphrase=12345678", "private-keys-imported: 1"),
        // The certificate is known already.
        ("www.p12 passphrase=12345678", "certificates-imported: 0"),
    ] {
        let said = run(
            &mut router,
            &format!("/certificate import file-name={file}"),
        );
        assert!(said.contains(wanted), "{file}: {said}");
    }

    assert_eq!(flags(&mut router), ["AT", "KL"]);
    let names = ":foreach c in=[/certificate find] do={ :put [/certificate get $c name] }";
    assert_eq!(run(&mut router, names), "ca.crt_0\nwww.crt_0\n");
    let found = ":put [:len [/certificate find where common-name=router.lan]]";
    assert_eq!(run(&mut router, found), "1\n");
    assert_eq!(
        run(&mut router, "/certificate set ca.crt_0 name=authority"),
        ""
    );
    write(
        &mut router,
        "junk.pem",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n",
    );
    let said = run(&mut router, "/certificate import file-name=junk.pem");
    assert!(said.contains("junk.pem"), "{said}");
}

#[test]
fn a_request_is_signed_elsewhere() {
    let (mut one, mut other) = (signed(), router());
    run(
        &mut other,
        "/certificate add name=t common-name=other.lan key-size=prime256v1 key-usage=tls-client",
    );
    let said = run(
        &mut other,
        "/certificate create-certificate-request template=t key-passphrase=12345678",
    );
    assert_eq!(said, "");
    let asked = file(&mut other, "certificate-request.pem");
    write(&mut one, "other.pem", &asked);

    let said = run(
        &mut one,
        "/certificate sign-certificate-request file-name=other.pem ca=ca days-valid=30",
    );
    assert_eq!(said, "");
    let given = file(&mut one, "certificate-response.pem");
    write(&mut other, "given.pem", &given);
    run(
        &mut other,
        "/certificate import file-name=given.pem name=given trusted=no",
    );
    let said = run(
        &mut other,
        "/certificate import file-name=certificate-request_key.pem passphrase=12345678",
    );

    assert!(said.contains("private-keys-imported: 1"), "{said}");
    assert_eq!(flags(&mut one), ["KLAT", "KLI", "LI"]);
    assert_eq!(flags(&mut other), ["", "KL"]);
}

#[test]
fn a_revoked_certificate_is_on_the_list_of_its_authority() {
    let mut router = signed();
    let ca = { router.store().named("certificate", "ca") }
        .expect("it is there")
        .id;
    let before = router
        .revocation_list(ca)
        .expect("an authority with its key");

    assert_eq!(run(&mut router, "/certificate issued-revoke www"), "");

    assert_eq!(flags(&mut router), ["KLAT", "KLR"]);
    let after = router
        .revocation_list(ca)
        .expect("an authority with its key");
    assert!(after.len() > before.len());
    assert_eq!(router.revocation_list(ca), Some(after));
    let own = run(&mut router, "/certificate issued-revoke ca");
    assert!(own.contains("not issued here"), "{own}");
    let www = { router.store().named("certificate", "www") }
        .expect("it is there")
        .id;
    assert_eq!(router.revocation_list(www), None);
}

#[test]
fn trust_settings_select_the_authorities_of_a_purpose() {
    let mut router = signed();
    let own = |router: &Instance, wanted: &str| router.trust().own(wanted).count();

    assert_eq!((own(&router, "fetch"), own(&router, "dns")), (1, 1));
    run(&mut router, "/certificate set ca trust-store=dns,ipsec");
    assert_eq!((own(&router, "fetch"), own(&router, "dns")), (0, 1));
    run(&mut router, "/certificate set ca trusted=no");
    assert_eq!(own(&router, "dns"), 0);
    assert!(router.trust().roots("fetch").count() > 50);
    run(
        &mut router,
        "/certificate settings set builtin-trust-store=untrusted",
    );
    assert_eq!(router.trust().roots("fetch").count(), 0);
}

#[test]
fn commands_of_a_file_see_the_certificates_that_it_has_signed() {
    let mut router = router();
    let text = "/certificate\n\
        add common-name=ca name=ca key-size=prime256v1\n\
        sign ca ca-crl-host=192.0.2.1\n\
        add common-name=peer name=peer key-size=prime256v1 key-usage=tls-client\n\
        sign peer ca=ca\n\
        export-certificate peer\n\
        export-certificate peer type=pkcs12 export-passphrase=12345678 file-name=both\n\
        issued-revoke peer\n";
    write(&mut router, "road.rsc", text.as_bytes());

    let done = run(&mut router, "/import road.rsc");

    assert!(done.ends_with("executed successfully\n"), "{done}");
    let flags = ":put [:len [/certificate/find where revoked]]";
    assert_eq!(run(&mut router, flags), "1\n");
    let pem = file(&mut router, "cert_export_peer.crt");
    assert!(pem.starts_with(b"-----BEGIN CERTIFICATE-----"));
    // The other router imports the authority from the file, and has to trust it.
    let mut other = with(schema::store());
    let both = file(&mut router, "both.p12");
    write(&mut other, "both.p12", &both);
    let imported = run(
        &mut other,
        "/certificate/import file-name=both.p12 passphrase=12345678",
    );
    assert!(imported.contains("certificates-imported: 2"), "{imported}");
    assert!(imported.contains("private-keys-imported: 1"), "{imported}");
}
