//! Room in front of the generator's frames, as a card's driver leaves it.
//!
//! XDP wants 256 bytes in front of a frame (`XDP_PACKET_HEADROOM`). A frame that a packet socket sends
//! has a few, so the kernel copies each before it shows it to XDP, which no frame of a card needs whose
//! driver knows XDP. How much a veth device asks for cannot be set; but a bridge has all of its ports
//! ask for as much as the most demanding one, and a tunnel asks for what its headers take, above what
//! the tunnel below it asks for.

use lab::Lab;

use super::GENERATOR;

/// Makes tunnels that are never used, five deep, and a bridge of the last one and the devices that
/// send.
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

/// Has both paths' frames begin behind enough room.
///
/// # Errors
/// What cannot be made here. Everything works without it; our side is slower.
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
