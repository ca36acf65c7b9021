//! Checks of values in the answers for programs and for people.

use super::Everyday;

/// Checks that rates are numbers for programs and have units at the console, and that DNS answers keep the client's
/// spelling of the name.
pub(super) fn values_are_numbers_for_programs_and_have_units_at_the_console(everyday: &Everyday) {
    let router = everyday.router();
    for menu in ["/queue/simple", "/queue/tree"] {
        let rows = router.rows(&format!("{menu}/print"));
        assert!(!rows.is_empty(), "{menu} has queues");
        for row in &rows {
            let rate = row["rate"].as_str().unwrap_or_default();
            let is_number = |part: &str| part.parse::<u64>().is_ok();
            assert!(rate.split('/').all(is_number), "{menu}: {row:#}");
        }
        let shown = router.exec(&format!("{menu}/print stats without-paging"));
        assert!(shown.contains("bps"), "{shown}");
    }
    let menu = "/interface/wireguard/peers/print";
    let received = router.value(menu, "far", "rx");
    assert!(received.parse::<u64>().is_ok(), "{received}");
    let shown = router.exec(&format!("{menu} detail without-paging"));
    for name in ["rx=", "tx="] {
        let value = shown.split_once(name).map_or("", |(_, rest)| rest);
        let value = value.split_whitespace().next().unwrap_or_default();
        assert!(value.ends_with("iB"), "{name}: {shown}");
    }
    let line = "dig +noall +answer +time=5 @192.168.88.1 WwW.eXaMpLe.NeT";
    let answer = everyday.run("client", line);
    assert!(
        answer.trim_start().starts_with("WwW.eXaMpLe.NeT."),
        "{answer}"
    );
}
