//! Configuration for the device of a peer: as text for wg-quick and the WireGuard apps, and as a QR
//! code that the apps scan.

use menu::{Id, Item, Reason, Row, Value};
use qrcodegen::{QrCode, QrCodeEcc};
use wireguard::Private;

use super::conf::section;
use super::{MENU, PEERS, View, conf};

/// Returns the row of `show-client-config`.
///
/// # Errors
///
/// The peer does not exist, or a required value is unset.
pub(super) fn row(view: &View<'_>, id: Id) -> Result<Row, Reason> {
    let peer = view.store.item(PEERS, id).ok_or(Reason::NoItem)?;
    let text = text(view, peer)?;
    let mut row = Row::default();
    let picture = picture(&text).unwrap_or_else(|| "too long for a QR code".to_owned());
    row.set("conf", Value::text(format!("\n{text}")));
    row.set("qr", Value::text(format!("\n{picture}")));
    Ok(row)
}

fn text(view: &View<'_>, peer: &Item) -> Result<String, Reason> {
    let interface = peer.text("interface");
    let network = { view.store.items(MENU) }.find(|item| item.name() == Some(interface));
    let network = network.ok_or_else(|| Reason::failure("the peer has no WireGuard interface"))?;
    let public = Private::from_base64(network.text("private-key")).map(|key| key.public());
    let public =
        public.ok_or_else(|| Reason::failure(format!("{interface} has no private key")))?;
    let networks = match list(peer, "client-allowed-address") {
        none if none.is_empty() => "0.0.0.0/0, ::/0".to_owned(),
        networks => networks,
    };
    let keepalive = peer.get("client-keepalive").and_then(Value::as_nanos);
    let keepalive = keepalive.unwrap_or_default() / 1_000_000_000;
    let mut text = String::new();
    section(
        &mut text,
        "Interface",
        &[
            ("ListenPort", nonzero(peer.number("client-listen-port"))),
            ("PrivateKey", peer.text("private-key").to_owned()),
            ("Address", list(peer, "client-address")),
            ("DNS", list(peer, "client-dns")),
        ],
    );
    text.push('\n');
    section(
        &mut text,
        "Peer",
        &[
            ("PublicKey", public.to_string()),
            ("PresharedKey", peer.text("preshared-key").to_owned()),
            ("AllowedIPs", networks),
            ("Endpoint", endpoint(peer, network)),
            ("PersistentKeepalive", nonzero(Some(keepalive))),
        ],
    );
    Ok(text)
}

fn list(item: &Item, name: &str) -> String {
    let all = item.get(name).map(Value::as_list).unwrap_or_default();
    let all: Vec<_> = all.iter().map(ToString::to_string).collect();
    all.join(", ")
}

fn nonzero(number: Option<i64>) -> String {
    let number = number.filter(|number| *number != 0);
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// Returns the endpoint of this router for the peer's device.
fn endpoint(peer: &Item, network: &Item) -> String {
    let host = peer.get("client-endpoint").map(ToString::to_string);
    let port = network.number("listen-port").unwrap_or_default();
    conf::endpoint(&host.unwrap_or_default(), port)
}

/// Draws a text as a QR code in half blocks, light on dark, with its margin. Returns `None` if the
/// text is too long.
fn picture(text: &str) -> Option<String> {
    const MARGIN: i32 = 2;
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
    let side = -MARGIN..code.size() + MARGIN;
    let is_light = |x, y| !code.get_module(x, y);
    let mut picture = String::new();
    for y in side.clone().step_by(2) {
        for x in side.clone() {
            picture.push(
                match (is_light(x, y), y + 1 < side.end && is_light(x, y + 1)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                },
            );
        }
        picture.push('\n');
    }
    Some(picture)
}
