//! Imports and exports of WireGuard files by commands.

use super::super::tests::{once, router, write};

const WG: &str = "[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n\
                  Address = 10.8.0.2, 2001:db8::2/64\nDNS = 10.8.0.1\nMTU = 1380\nPostUp = reboot\n\n\
                  [Peer]\n# the provider's\nPublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\n\
                  AllowedIPs = 0.0.0.0/0, ::/0, 10.8.0.1\nEndpoint = [2001:db8:7::1]:51820\n\
                  PersistentKeepalive = 25\n";

#[test]
fn a_providers_file_is_imported_and_left_out_lines_are_reported() {
    let mut router = router();
    write(&mut router, "far.conf", WG);
    let import = "/interface wireguard wg-import config-file=far";

    let said = once(&mut router, import);

    assert!(said.contains("left out: line 4, dns = 10.8.0.1"), "{said}");
    assert!(said.contains("left out: line 6, postup"), "{said}");
    let export = once(&mut router, "/export terse show-sensitive");
    for line in [
        "/interface wireguard add listen-port=0 mtu=1380 name=far private-key=\"yAnz",
        "/interface wireguard peers add allowed-address=0.0.0.0/0,::/0,10.8.0.1/32 \
         endpoint-address=2001:db8:7::1 endpoint-port=51820 interface=far",
        "persistent-keepalive=25s public-key=\"xTIBA5rb",
        "/ip address add address=10.8.0.2 interface=far",
        "/ipv6 address add address=2001:db8::2/64",
    ] {
        assert!(export.contains(line), "{line}: {export}");
    }
    let shown = once(
        &mut router,
        ":put ([/interface wireguard wg-export far as-value]->\"conf\")",
    );
    for line in [
        "PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
        ", 2001:db8::2/64\n",
        "Endpoint = [2001:db8:7::1]:51820",
        "PersistentKeepalive = 25",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // The name is taken: the import chooses another. One undo reverts the whole import.
    let again = once(&mut router, import);
    assert!(!again.contains("failure"), "{again}");
    once(&mut router, "/undo");
    once(&mut router, "/undo");
    assert_eq!(
        once(&mut router, ":put [:len [/interface wireguard find]]"),
        "0\n"
    );
    assert_eq!(once(&mut router, ":put [:len [/ip address find]]"), "0\n");
}

#[test]
fn a_wrong_file_of_wireguard_changes_nothing_and_says_where() {
    let mut router = router();
    for (from, to, says) in [
        (
            "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
            "short",
            "44 characters",
        ),
        ("10.8.0.2,", "10.8.0.300,", "line 3"),
        (":51820", ":port", "line 12"),
        ("25", "soon", "line 13"),
        ("[Peer]", "[Pear]", "line 8: [Pear]"),
    ] {
        let before = once(&mut router, "/export terse show-sensitive");
        write(&mut router, "far.conf", &WG.replace(from, to));
        let said = once(
            &mut router,
            "/interface wireguard wg-import config-file=far.conf",
        );
        assert!(said.contains(says), "{says}: {said}");
        assert_eq!(once(&mut router, "/export terse show-sensitive"), before);
    }
    let said = once(&mut router, "/interface wireguard wg-import");
    assert!(said.contains("config-file"), "{said}");
}
