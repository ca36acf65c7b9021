//! Who is who: a web page with a certificate of the router's own authority. The other end is curl.

use std::fs;

use ::lab::Lab;

use crate::world::{Folder, PACKET, Router, Start, have, lab, layout, output, text, until};

/// The router, with an authority and a certificate for its LAN address that it has signed, and a user for REST.
fn started(lab: &Lab) -> Router {
    let router = Router::start(lab, &Start::with(PACKET, layout("plain").config));
    router.exec("/user/add name=joe group=full password=secret");
    let authority = "common-name=ca key-usage=key-cert-sign,crl-sign key-size=prime256v1";
    router.exec(&format!("/certificate/add name=ca {authority}"));
    router.exec("/certificate/sign ca ca-crl-host=192.168.88.1");
    make(&router, "www");
    router
}

fn make(router: &Router, name: &str) {
    let template = "common-name=router.lan subject-alt-name=IP:192.168.88.1 key-usage=digital-signature,tls-server";
    router.exec(&format!(
        "/certificate/add name={name} {template} key-size=prime256v1"
    ));
    router.exec(&format!("/certificate/sign {name} ca=ca"));
}

/// The certificate of the authority as a file.
fn authority(router: &Router, folder: &Folder) -> String {
    router.exec("/certificate/export-certificate ca file-name=ca");
    let pem = router.exec(":put [/file/get ca.crt contents]");
    let file = folder.file("ca.pem");
    fs::write(&file, pem).expect("a folder of our own");
    file.display().to_string()
}

#[test]
fn services_show_a_certificate_of_the_routers_own_authority_and_change_it_while_they_run() {
    let test =
        "services_show_a_certificate_of_the_routers_own_authority_and_change_it_while_they_run";
    let Some(lab) = have(test, &["curl", "openssl"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = started(&lab);
    let folder = Folder::new();
    let ca = authority(&router, &folder);
    let page = |options: &str| {
        let line = format!(
            "curl -sS -m 20 --cacert {ca} {options} -u joe:secret https://192.168.88.1/rest/system/identity"
        );
        let got = output(&lab, "client", &line);
        text(&got.stdout) + &text(&got.stderr)
    };
    let serial = || {
        let script = "openssl s_client -connect 192.168.88.1:443 </dev/null 2>/dev/null \
                      | openssl x509 -noout -serial";
        crate::world::shell(&lab, "client", script)
            .trim()
            .to_lowercase()
    };

    router.exec("/ip/service/set www-ssl disabled=no");
    until("the router's own certificate is of no authority", || {
        page("").contains("SSL")
    });
    router.exec("/ip/service/set www-ssl certificate=www");
    until("a page", || page("").contains("ferroute"));
    assert!(page("--tls-max 1.2").contains("ferroute"));
    let first = serial();
    make(&router, "again");
    router.exec("/ip/service/set www-ssl certificate=again tls-version=only-1.2");
    until("another certificate", || serial() != first);
    let known = router.exec(":put [/certificate/get again serial-number]");
    assert_eq!(serial(), format!("serial={}", known.trim().to_lowercase()));
    assert!(page("").contains("ferroute"));
    assert!(!page("--tlsv1.3").contains("ferroute"));
    router.exec("/certificate/issued-revoke www");
    let list =
        "curl -sS http://192.168.88.1/crl/1.crl | openssl crl -inform DER -noout -text -CAfile ";
    let list = crate::world::shell(&lab, "client", &format!("{list}{ca} 2>&1"));
    assert!(list.contains("verify OK"), "{list}");
    let known = router.exec(":put [/certificate/get www serial-number]");
    assert!(list.contains(known.trim()), "{known} in {list}");
    router.exec("/ip/service/set www-ssl certificate=nobody");
    until("the router's own again", || page("").contains("SSL"));
    let row = router.exec("/ip/service/print where name=www-ssl");
    assert!(row.contains("there is none of this name"), "{row}");
}
