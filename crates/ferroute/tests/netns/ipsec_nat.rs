//! Tests masquerade without an exception for IPsec: packets leave unencrypted and get no answer; the doctor reports the
//! cause, and its correction works.

use crate::ipsec::{SITES, base, is_established, policy, reaches, router};
use crate::world::{Router, have, lab, until};

const MASQUERADE: &str =
    "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade\n";

fn site(site: u8, other: u8) -> String {
    base(site, other) + &policy(site, other, "exchange-mode=ike2", "") + MASQUERADE
}

/// Returns the doctor's finding about masquerade, with its correction.
fn diagnosis(router: &Router) -> Option<serde_json::Value> {
    let found = router.rows("/system/doctor/print");
    found
        .into_iter()
        .find(|row| row["rule"] == "masquerade-ipsec")
}

#[test]
fn masquerade_without_an_exception_for_ipsec_breaks_the_tunnel() {
    let test = "masquerade_without_an_exception_for_ipsec_breaks_the_tunnel";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let routers = [
        router(&lab, "left", &site(1, 2)),
        router(&lab, "right", &site(2, 1)),
    ];
    // SAs exist, but packets leave unencrypted: unencrypted packets to the protected network are refused.
    for router in &routers {
        until("keys are there", || is_established(router));
    }
    assert!(!reaches(&lab, ""));
    let sent = |router: &Router| {
        let pairs = router.rows("/ip/ipsec/installed-sa/print");
        let bytes = pairs
            .iter()
            .map(|row| row["current-bytes"].as_str().unwrap_or("0").to_owned());
        bytes.filter(|bytes| bytes != "0").count()
    };
    assert!(routers.iter().all(|router| sent(router) == 0));
    let drops = routers[0].rows("/tool/drop/print");
    assert!(
        drops.iter().any(|row| row["reason"] == "ipsec-unprotected"),
        "{drops:#?}"
    );
    for router in &routers {
        let said = diagnosis(router).expect("the doctor sees it");
        assert_eq!(said["severity"], "error", "{said:#}");
        router.exec("/ip/firewall/nat/set 0 ipsec-policy=out,none");
        assert!(diagnosis(router).is_none());
    }
    until("packets get through", || reaches(&lab, ""));
    assert!(routers.iter().all(|router| sent(router) > 0), "protected");
}
