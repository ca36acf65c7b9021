//! Headroom in front of the generator's frames, as the driver of a network card leaves.
//!
//! XDP wants 256 bytes in front of a frame (`XDP_PACKET_HEADROOM`). Frames from a packet socket have only a few, so the
//! kernel copies each frame before XDP, which frames of a card with XDP support do not need. The headroom of a veth
//! device cannot be set. But all ports of a bridge get the headroom of the most demanding port, and a tunnel needs its
//! headers in addition to the headroom of the tunnel below.

use lab::Lab;

use super::GENERATOR;

/// Creates five unused stacked tunnels, and a bridge of the last one and the sending devices.
const SCRIPT: &str = "
below=lo
for number in 1 2 3 4 5; do
    ip link add room$number type vxlan id $number dstport 4789 remote 127.0.0.9 dev $below
    below=room$number
done
ip link add rooms type bridge
ip link set $below master rooms
ip link set ga1 master rooms
ip link set ga2 master rooms
";

/// Gives the frames of both paths enough headroom.
///
/// # Errors
/// The devices cannot be created. Everything works without them, but the router's side is slower.
pub(super) fn leave(lab: &Lab) -> Result<(), String> {
    let command = lab.command(GENERATOR, "sh");
    let output = command
        .map_err(|error| error.to_string())?
        .args(["-e", "-c", SCRIPT])
        .output()
        .map_err(|error| format!("sh: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
