//! Link modes: RouterOS's words for them, and the bits that the kernel has for them
//! (`enum ethtool_link_mode_bit_indices` of `linux/ethtool.h`).

use menu::{Item, Value};

/// What the link of a port does and offers, as its device tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortLink {
    /// Megabits in a second; 0 where the device does not know.
    pub speed_mbps: u32,
    /// It sends and receives at the same time; none where the device does not know.
    pub full_duplex: Option<bool>,
    /// It agrees with its partner; none where the device does not tell.
    pub negotiates: Option<bool>,
    /// The modes that it offers, that it has, and that its partner offers.
    pub modes: [u128; 3],
    /// It obeys pause frames, and sends some; none where the device does not tell.
    pub pause: Option<(bool, bool)>,
}

/// What the configuration asks of the link of a port; none is as the device has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkWish {
    /// Whether it agrees with its partner.
    pub negotiate: Option<bool>,
    /// The modes that it offers.
    pub offer: Option<u128>,
    /// Megabits in a second, and whether it sends and receives at the same time.
    pub speed: Option<(u32, bool)>,
    /// Whether it obeys pause frames, and sends some.
    pub pause: (Option<bool>, Option<bool>),
}

/// A mode: its word, megabits in a second, whether it is full duplex, and its bits.
type Mode = (&'static str, u32, bool, &'static [u32]);

/// All modes that RouterOS has words for, slowest first.
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

fn bits((.., bits): &Mode) -> u128 {
    bits.iter().fold(0, |all, bit| all | 1 << bit)
}

/// The words of some bits.
pub(crate) fn words(of: u128) -> Value {
    let modes = MODES.iter().filter(|mode| bits(mode) & of != 0);
    Value::List(modes.map(|(word, ..)| Value::Word(word)).collect())
}

/// A speed as RouterOS writes it.
pub(crate) fn rate(mbps: u32) -> String {
    match mbps {
        1_000.. if mbps.is_multiple_of(1_000) => format!("{}Gbps", mbps / 1_000),
        1_000.. => format!("{}.{}Gbps", mbps / 1_000, mbps % 1_000 / 100),
        _ => format!("{mbps}Mbps"),
    }
}

/// What the item of a port asks of its link. RouterOS: `advertise` counts with auto-negotiation, `speed` without.
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
    fn every_mode_has_bits_of_its_own_and_a_word_of_the_schema() {
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
