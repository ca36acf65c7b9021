//! Link modes: RouterOS's words, and the bits of the kernel (`enum ethtool_link_mode_bit_indices` of
//! `linux/ethtool.h`).

use menu::{Item, Value};

/// State and abilities of a port's link, as its device reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortLink {
    /// Speed in Mbps; 0 if unknown.
    pub speed_mbps: u32,
    /// Full duplex; `None` if unknown.
    pub full_duplex: Option<bool>,
    /// Auto-negotiation; `None` if unknown.
    pub negotiates: Option<bool>,
    /// Link modes: advertised, supported, and advertised by the link partner.
    pub modes: [u128; 3],
    /// Flow control, receive and transmit; `None` if unknown.
    pub pause: Option<(bool, bool)>,
}

/// Link settings that the configuration requests for a port; `None` keeps the device's setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkWish {
    /// Auto-negotiation.
    pub negotiate: Option<bool>,
    /// Link modes to advertise.
    pub offer: Option<u128>,
    /// Speed in Mbps, and full duplex.
    pub speed: Option<(u32, bool)>,
    /// Flow control: receive and transmit.
    pub pause: (Option<bool>, Option<bool>),
}

/// A link mode: its word, speed in Mbps, full duplex, and kernel bits.
type Mode = (&'static str, u32, bool, &'static [u32]);

/// All modes with a RouterOS word, slowest first.
const MODES: [Mode; 21] = [
    ("10M-baseT-half", 10, false, &[0]),
    ("10M-baseT-full", 10, true, &[1]),
    ("100M-baseT-half", 100, false, &[2]),
    ("100M-baseT-full", 100, true, &[3]),
    ("1G-baseT-half", 1_000, false, &[4]),
    ("1G-baseT-full", 1_000, true, &[5]),
    ("1G-baseX", 1_000, true, &[17, 41]),
    ("2.5G-baseT", 2_500, true, &[47]),
    ("2.5G-baseX", 2_500, true, &[15]),
    ("5G-baseT", 5_000, true, &[48]),
    ("10G-baseT", 10_000, true, &[12]),
    ("10G-baseSR-LR", 10_000, true, &[43, 44]),
    ("10G-baseCR", 10_000, true, &[42]),
    ("25G-baseSR-LR", 25_000, true, &[33]),
    ("25G-baseCR", 25_000, true, &[31]),
    ("40G-baseSR4-LR4", 40_000, true, &[25, 26]),
    ("40G-baseCR4", 40_000, true, &[24]),
    ("50G-baseSR2-LR2", 50_000, true, &[40]),
    ("50G-baseCR2", 50_000, true, &[34]),
    ("100G-baseSR4-LR4", 100_000, true, &[37, 39]),
    ("100G-baseCR4", 100_000, true, &[38]),
];

fn bits(mode: &Mode) -> u128 {
    let (.., bits) = mode;
    bits.iter().fold(0, |all, bit| all | 1 << bit)
}

/// Returns the words of mode bits.
pub(crate) fn words(of: u128) -> Value {
    let modes = MODES.iter().filter(|mode| bits(mode) & of != 0);
    Value::List(modes.map(|(word, ..)| Value::Word(word)).collect())
}

/// Formats a speed as RouterOS does.
pub(crate) fn rate(mbps: u32) -> String {
    match mbps {
        1_000.. if mbps.is_multiple_of(1_000) => format!("{}Gbps", mbps / 1_000),
        1_000.. => format!("{}.{}Gbps", mbps / 1_000, mbps % 1_000 / 100),
        _ => format!("{mbps}Mbps"),
    }
}

/// Reads the link settings of a port's item. RouterOS: `advertise` applies with auto-negotiation, `speed` without.
pub(crate) fn wish(item: &Item) -> LinkWish {
    let named = |word: &str| MODES.iter().find(|(name, ..)| *name == word);
    let flow = |name: &str| (item.text(name) == "on").then_some(true);
    let pause = (flow("rx-flow-control"), flow("tx-flow-control"));
    if item.get("auto-negotiation").is_some() && !item.is("auto-negotiation") {
        return LinkWish {
            negotiate: Some(false),
            speed: named(item.text("speed")).map(|(_, mbps, full, _)| (*mbps, *full)),
            offer: None,
            pause,
        };
    }
    let offered = item.get("advertise").map(Value::as_list);
    let offered = offered.unwrap_or_default().iter();
    let offered = offered.filter_map(|word| named(&word.to_string()));
    let offer = offered.fold(0, |all, mode| all | bits(mode));
    LinkWish {
        negotiate: (offer != 0).then_some(true),
        offer: (offer != 0).then_some(offer),
        speed: None,
        pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_routeros_writes_them() {
        let written = [10, 100, 1_000, 2_500, 10_000].map(rate);
        assert_eq!(written, ["10Mbps", "100Mbps", "1Gbps", "2.5Gbps", "10Gbps"]);
    }

    #[test]
    fn every_mode_has_its_own_bits_and_a_word() {
        let mut all = 0;
        for mode in &MODES {
            assert_eq!(all & bits(mode), 0, "{}", mode.0);
            all |= bits(mode);
        }
        assert_eq!(
            words(1 << 5 | 1 << 3).to_string(),
            "100M-baseT-full,1G-baseT-full"
        );
    }
}
