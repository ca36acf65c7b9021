//! Advice about VPNs: two candidates for a need, with figures, weaknesses, commands for both ends, and the file of the
//! client.
//!
//! ```text
//!  need ─► VPNS (data): fit ─► two candidates ─► figures (benchmark, calculator), commands, client's file
//! ```
//!
//! Keys and secrets are passed in: this crate has no source of randomness.

mod branch;
mod client;
mod data;
mod end;
mod foreign;
mod road;
#[cfg(test)]
mod tests;

pub use data::{Characteristics, Client, FarEnd, Need, VPNS, Vpn, Who, candidates};
pub use end::{EndText, Keys, secret};

/// Returns the texts for both ends; the server's commands are the first.
pub fn texts(vpn: &Vpn, need: &Need, keys: &Keys) -> Vec<EndText> {
    let mut texts = match (vpn.name, need.who) {
        ("WireGuard", Who::RoadWarrior) => road::wireguard(need, keys),
        ("WireGuard", _) => branch::wireguard(need, keys),
        ("IKEv2", Who::RoadWarrior) => road::ike2(need),
        ("IKEv2", _) => branch::ike2(need, keys),
        _ => road::openvpn(need, keys),
    };
    for text in &mut texts {
        text.text = text.text.trim_end().to_owned() + "\n";
    }
    texts
}

/// Returns figures of a VPN: MTU and overhead by the calculator, and measured rates.
///
/// # Errors
/// The reason if the calculator does not know the tunnel.
pub fn figures(vpn: &Vpn) -> Result<Vec<(String, String)>, String> {
    let layers = format!("layers={}", vpn.layers);
    let rows = calc::calculate("tunnel", [layers.as_str(), "mtu=1500"].into_iter())?;
    let mut figures = Vec::new();
    for (name, value) in rows {
        if name == "MTU inside" || name.starts_with("packet of 1400") {
            figures.push((name, value));
        }
    }
    if let Some(measured) = vpn.measured {
        let (out, back) = (measured.clocks_out, measured.clocks_in);
        let rate = |clocks: u32| 2600 * 1418 * 8 / u64::from(clocks);
        figures.push((
            "one core, frames of 1,418 bytes".to_owned(),
            format!(
                "{out} clocks out and {back} in: {} and {} Mbit/s at 2.6 GHz (row {})",
                rate(out),
                rate(back),
                measured.row
            ),
        ));
    }
    if let Some(tcp) = vpn.tcp_mbps {
        figures.push((
            "one TCP connection, two routers on two cores".to_owned(),
            format!("{tcp} Mbit/s"),
        ));
    }
    Ok(figures)
}
