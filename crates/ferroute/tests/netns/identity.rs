//! Tests identities: services with a certificate of the router's own authority, and users of a RADIUS server. The peers
//! are curl and FreeRADIUS.

use std::fs;

use ::lab::Lab;

use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, layout, output, run, text, until,
};

/// Starts the router with an authority, a certificate for its LAN address signed by it, and a user for REST.
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

/// Exports the authority's certificate. Returns the path of the file.
fn authority(router: &Router, folder: &Folder) -> String {
    router.exec("/certificate/export-certificate ca file-name=ca");
    let pem = router.exec(":put [/file/get ca.crt contents]");
    let file = folder.file("ca.pem");
    fs::write(&file, pem).expect("a folder of our own");
    file.display().to_string()
}

#[test]
fn running_services_use_and_replace_a_certificate_of_the_routers_authority() {
    let test = "running_services_use_and_replace_a_certificate_of_the_routers_authority";
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
    let set = "/ip/service/set www-ssl certificate=nobody";
    let refused = router.exec(&format!(":onerror e in={{ {set} }} do={{ :put $e }}"));
    let reason = "input does not match any value of certificate";
    assert!(refused.contains(reason), "{refused}");
    router.exec("/certificate/remove again");
    until("the router's own again", || page("").contains("SSL"));
    let row = router.exec("/ip/service/print where name=www-ssl");
    assert!(row.contains("it does not exist"), "{row}");
}

/// Minimal configuration of FreeRADIUS, with its own users. It supports passwords (PAP) and EAP-MSCHAPv2.
pub(crate) const SERVER: &str = "name = freeradius
prefix = /usr
libdir = /usr/lib/freeradius
run_dir = FOLDER
logdir = FOLDER
log {
 destination = stdout
}
security {
 max_attributes = 200
 reject_delay = 0
}
client all {
 ipaddr = 0.0.0.0/0
 secret = testing123
 require_message_authenticator = yes
}
modules {
 pap {
 }
 mschap {
 }
 eap {
  default_eap_type = mschapv2
  mschapv2 {
  }
 }
 detail {
  filename = FOLDER/detail
 }
 files {
  filename = FOLDER/users
 }
}
server default {
 listen {
  type = auth
  ipaddr = 0.0.0.0
  port = 1812
 }
 listen {
  type = acct
  ipaddr = 0.0.0.0
  port = 1813
 }
 authorize {
  files
  eap {
   ok = return
  }
  pap
 }
 authenticate {
  eap
  Auth-Type MS-CHAP {
   mschap
  }
  Auth-Type PAP {
   pap
  }
 }
 accounting {
  detail
 }
}
";
const USERS: &str = "carol Cleartext-Password := \"horse\"
\tMikrotik-Group = \"write\",
\tClass = \"a class\"
dave Cleartext-Password := \"battery\"
joe Cleartext-Password := \"staple\"
";

fn address_of_client(lab: &Lab) -> String {
    let said = run(lab, "client", "ip -4 -br addr show scope global");
    let mut words = said.split_whitespace();
    let found = words.find_map(|word| word.split_once("/24"));
    found.expect("an address of the layout").0.to_owned()
}

#[test]
fn radius_users_log_in_and_the_server_gets_accounting() {
    let test = "radius_users_log_in_and_the_server_gets_accounting";
    let Some(lab) = have(test, &["curl", "freeradius"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = started(&lab);
    let folder = Folder::new();
    let place = folder.file("").display().to_string();
    let place = place.trim_end_matches('/');
    fs::write(folder.file("radiusd.conf"), SERVER.replace("FOLDER", place)).expect("our folder");
    fs::write(folder.file("users"), USERS).expect("our folder");
    let line = format!("freeradius -f -l stdout -xx -d {place}");
    let _server = Server::start(&lab, "client", &line, "Ready to process requests");
    let client = address_of_client(&lab);
    let name = |user: &str| {
        let line = format!("curl -sS -m 30 -u {user} http://192.168.88.1/rest/system/identity");
        let got = output(&lab, "client", &line);
        text(&got.stdout)
    };
    assert!(name("dave:battery").contains("401"), "nobody is asked yet");
    // Servers from before July 2024 send no Message-Authenticator by default.
    router.exec(&format!(
        "/radius/add service=login address={client} secret=testing123 timeout=2s require-message-auth=no"
    ));
    router.exec("/user/aaa/set use-radius=yes default-group=read");
    let renamed = |user: &str| {
        let what = "-H content-type:application/json -d {\"name\":\"other\"}";
        let line =
            format!("curl -sS -m 30 -u {user} {what} http://192.168.88.1/rest/system/identity/set");
        text(&output(&lab, "client", &line).stdout)
    };
    let said = renamed("dave:battery");
    let counted = router.exec("/radius/monitor 0 once");
    assert!(
        said.contains("error") && !said.contains("401"),
        "the default group reads: {said}\n{counted}"
    );
    let said = renamed("carol:horse");
    let counted = router.exec("/radius/monitor 0 once");
    assert!(
        !said.contains("error"),
        "the server gives another group: {said}\n{counted}"
    );
    router.exec("/system/identity/set name=ferroute");
    assert!(name("dave:battery").contains("ferroute"));
    assert!(name("dave:guess").contains("401"));
    assert!(
        name("joe:staple").contains("401"),
        "who is known here is asked here"
    );
    assert!(name("joe:secret").contains("ferroute"));
    let counted = router.exec("/radius/monitor 0 once");
    assert!(counted.contains("rejects: 1"), "{counted}");
    until("the server is told", || {
        let told = fs::read_to_string(folder.file("detail")).unwrap_or_default();
        told.contains("\"dave\"") && told.contains("Start") && told.contains("Stop")
    });
    router.exec("/user/aaa/set use-radius=no");
    assert!(name("dave:battery").contains("401"));
}
