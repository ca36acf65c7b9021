//! `ferroute advise vpn`: two candidates with figures, weaknesses, commands for both ends, and the client's file.

use advise::{Client, EndText, FarEnd, Keys, Need, VPNS, Vpn, Who, candidates, figures, texts};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cli::output;
use crate::cli::{AdviseVpn, VpnClient, VpnFarEnd, VpnUser};
use crate::session::access::random;

/// Runs `ferroute advise vpn`; returns the exit code.
pub(crate) fn vpn(asked: &AdviseVpn) -> Result<u8, String> {
    if asked.table {
        return table();
    }
    let need = need(asked);
    let keys = keys()?;
    let advice = candidates(&need).map(|(vpn, why)| Advice {
        vpn,
        why,
        ends: texts(vpn, &need, &keys),
    });
    if asked.json {
        let all: Result<Vec<_>, _> = advice.iter().map(Advice::to_json).collect();
        output::line(json!({"candidates": all?}))?;
        return Ok(0);
    }
    for (number, advice) in (1..).zip(&advice) {
        for line in advice.in_words(number)? {
            output::line(line)?;
        }
    }
    Ok(0)
}

/// A candidate with the texts of both ends.
struct Advice {
    vpn: &'static Vpn,
    why: &'static str,
    ends: Vec<EndText>,
}

impl Advice {
    fn in_words(&self, number: usize) -> Result<Vec<String>, String> {
        let vpn = self.vpn;
        let mut lines = vec![format!("# {number}. {}: {}", vpn.name, self.why)];
        let figures = figures(vpn)?.into_iter();
        lines.extend(figures.map(|(name, value)| format!("#    {name}: {value}")));
        for (name, value) in [("weak", vpn.weak), ("ports", vpn.ports), ("NAT", vpn.nat)] {
            lines.push(format!("#    {name}: {value}"));
        }
        for end in &self.ends {
            lines.push(format!("# {}", end.name));
            lines.extend(end.text.lines().map(str::to_owned));
        }
        Ok(lines)
    }

    fn to_json(&self) -> Result<Value, String> {
        let vpn = self.vpn;
        let figures: Vec<_> = figures(vpn)?
            .into_iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        let ends = self
            .ends
            .iter()
            .map(|end| json!({"name": end.name, "text": end.text}));
        Ok(json!({
            "name": vpn.name,
            "why": self.why,
            "weak": vpn.weak,
            "ports": vpn.ports,
            "nat": vpn.nat,
            "figures": figures,
            "ends": ends.collect::<Vec<_>>(),
        }))
    }
}

fn need(asked: &AdviseVpn) -> Need {
    let who = match asked.who {
        VpnUser::RoadWarrior => Who::RoadWarrior,
        VpnUser::Branch => Who::Branch,
        VpnUser::Secret => Who::Secret,
    };
    let far = match asked.far {
        VpnFarEnd::Routeros => FarEnd::RouterOs,
        VpnFarEnd::Azure => FarEnd::Azure,
        VpnFarEnd::Aws => FarEnd::Aws,
        VpnFarEnd::Cisco => FarEnd::Cisco,
    };
    let clients = asked.clients.iter().map(|client| match client {
        VpnClient::Windows => Client::Windows,
        VpnClient::Apple => Client::Apple,
        VpnClient::Android => Client::Android,
        VpnClient::Linux => Client::Linux,
        VpnClient::Routeros => Client::RouterOs,
    });
    Need {
        who,
        clients: clients.collect(),
        far,
        nat: asked.nat,
        only_https: asked.only_https,
        server: asked.server.clone(),
        client: asked.client.clone(),
        server_network: asked.server_network.to_string(),
        client_network: asked.client_network.to_string(),
    }
}

/// Generates keys and secrets.
fn keys() -> Result<Keys, String> {
    let pair = || {
        let private = STANDARD.encode(random::<32>()?);
        let public = router::wireguard_public_key(&private).unwrap_or_default();
        Ok::<_, String>([private, public])
    };
    Ok(Keys {
        server: pair()?,
        client: pair()?,
        preshared: STANDARD.encode(random::<32>()?),
        secret: advise::secret(random()?),
    })
}

/// Prints the table of characteristics of all VPNs.
fn table() -> Result<u8, String> {
    let or_none = |text: &'static str| if text.is_empty() { "-" } else { text };
    output::line(format_args!(
        "{:<16} {:<10} {:<20} {:<32} {:<14} {}",
        "VPN", "interface", "encryption", "authentication", "bridged", "today"
    ))?;
    for vpn in VPNS {
        let facts = vpn.characteristics;
        output::line(format_args!(
            "{:<16} {:<10} {:<20} {:<32} {:<14} {}",
            vpn.name,
            if facts.interface { "+" } else { "-" },
            or_none(facts.encryption),
            or_none(facts.authentication),
            or_none(facts.bridged),
            if vpn.is_secure { "secure" } else { vpn.weak }
        ))?;
    }
    Ok(0)
}
