//! Frames of 9,000 bytes pass whole.

use crate::throughput::tcp_both_ways;
use crate::world::{PACKET, Router, Start, have, lab, layout, run, works};

#[test]
fn packets_of_9000_bytes_pass_whole() {
    let test = "packets_of_9000_bytes_pass_whole";
    let programs = ["ping", "iperf3"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("jumbo")))
        .flatten()
    else {
        return;
    };
    let _router = Router::start(&lab, &Start::with(PACKET, layout("jumbo").config));

    // The headers of ICMP and IP make it 9,000; one more does not fit the client's own link.
    for (protocol, address, data) in [(4, "203.0.113.1", 8972), (6, "2001:db8:1::1", 8952)] {
        let ping =
            |size: u32| format!("ping -{protocol} -q -M do -c 3 -i 0.01 -W 10 -s {size} {address}");
        run(&lab, "client", &ping(data));
        assert!(
            !works(&lab, "client", &ping(data + 1)),
            "the client's link carries more"
        );
        tcp_both_ways(&lab, address, 20);
    }
}
