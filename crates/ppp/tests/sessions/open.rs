//! Sessions that open: each method of authentication, IPv4, IPv6, sizes.

use machine::Duration;
use ppp::{Method, Methods, Settings};

use crate::link::{ADDRESSES, CLIENT, Pair, SERVER, client, server};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_client_gets_address_dns_and_ipv6() {
    let client = Settings {
        ipv6: true,
        ..client()
    };
    let mut pair = Pair::new(client, server(), 1);
    pair.start();
    pair.run_for(Duration::from_secs(1));

    pair.assert_open();
    let [client, server] = &pair.ends;
    assert_eq!(client.ipv4.expect("open").dns, ADDRESSES.dns);
    let (there, here) = (
        client.ipv6.expect("IPv6 is open"),
        server.ipv6.expect("IPv6 is open"),
    );
    assert_eq!((there.local, there.remote), (here.remote, here.local));
    assert_ne!(there.local, here.local);
    let link = client.link.expect("the link is up");
    assert_eq!((link.mtu, link.mru), (1480, 1480));
    assert_eq!(link.method, Some(Method::MsChap2));
    assert_eq!(server.link.map(|link| link.method), Some(link.method));
}

#[test]
fn each_method_opens_a_session() {
    for method in Method::ALL {
        let methods = Methods::NONE.with(method);
        let client = Settings {
            methods,
            ..client()
        };
        let mut pair = Pair::new(client, server(), 2);
        pair.start();
        pair.run_for(MINUTE);

        pair.assert_open();
        for at in [CLIENT, SERVER] {
            let link = pair.ends[at].link.expect("the link is up");
            assert_eq!(link.method, Some(method));
        }
    }
}
