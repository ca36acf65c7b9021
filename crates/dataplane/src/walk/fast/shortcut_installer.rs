//! Flow offload without a firewall: installs forwarded flows in their ingress port, so that the
//! kernel forwards the next packets of the flow (`frame::shortcut`).

use frame::shortcut::{AddressPair, Handler, Rules, Shortcut, ShortcutPath};
use frame::{Frame, InterfaceId};

use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::ingress::{ETHERNET, Entrance};
use crate::walk::{Context, bypass};

/// Installs shortcuts in the ingress port of a vector.
#[derive(Clone, Copy)]
pub(in crate::walk) struct ShortcutInstaller {
    pub(in crate::walk) ingress: InterfaceId,
    port: u16,
    /// MAC address of the ingress interface.
    to: [u8; 6],
}

impl ShortcutInstaller {
    /// Returns `None` if the port has no offload or its interface is tapped.
    pub(in crate::walk) fn of(
        cx: &Context<'_>,
        entrance: &Entrance,
        outlet: &mut Outlet,
    ) -> Option<Self> {
        let port = entrance.interface.out.as_port()?;
        outlet.ports.offload(port)?;
        if bypass::is_tapped(cx.interfaces, &[entrance.id]) {
            return None;
        }
        Some(Self {
            ingress: entrance.id,
            port,
            to: entrance.interface.mac.0,
        })
    }

    /// Returns the path part of a shortcut for a frame with its new link header that leaves by
    /// `out`; `None` if no device is behind that out.
    pub(in crate::walk) fn shortcut_path(
        &self,
        cx: &Context<'_>,
        frame: &Frame,
        out: OutId,
        handler: Handler,
        rules: Rules,
        outlet: &mut Outlet,
    ) -> Option<ShortcutPath> {
        // The program on the device handles neither tagged frames nor tunnels.
        let plain = (frame.ingress == self.ingress)
            & (usize::from(frame.l3) == ETHERNET)
            & (frame.untagged == 0);
        let port = out.as_port().filter(|_| plain)?;
        let leaves = cx.interfaces.get(frame.egress)?;
        if bypass::is_tapped(cx.interfaces, &[frame.egress, leaves.under]) {
            return None;
        }
        Some(ShortcutPath {
            ingress: self.ingress,
            to: self.to,
            egress: frame.egress,
            device: outlet.ports.offload(port)?.device(),
            link: *frame.bytes().first_chunk()?,
            mtu: leaves.mtu,
            handler,
            rules,
        })
    }

    pub(in crate::walk) fn install(&self, shortcut: &Shortcut, outlet: &mut Outlet) {
        if let Some(offload) = outlet.ports.offload(self.port) {
            offload.install(shortcut);
        }
    }

    /// Installs shortcuts for frames that the fast path has forwarded to these outs.
    #[cold]
    #[inline(never)]
    pub(in crate::walk) fn install_straight<const IPV6: bool>(
        &self,
        cx: &Context<'_>,
        frames: &[Frame],
        outs: &[OutId],
        outlet: &mut Outlet,
    ) {
        for (frame, out) in frames.iter().zip(outs) {
            let handler = Handler::FastPath;
            let path = self.shortcut_path(cx, frame, *out, handler, Rules::default(), outlet);
            let (Some(lane), Some(between)) = (path, read::<IPV6>(frame.bytes())) else {
                continue;
            };
            let shortcut = Shortcut {
                between,
                connection: None,
                lane,
            };
            self.install(&shortcut, outlet);
        }
    }
}

/// Returns the addresses of a frame's packet.
fn read<const IPV6: bool>(bytes: &[u8]) -> Option<AddressPair> {
    let packet = bytes.get(ETHERNET..)?;
    let (source, destination) = if IPV6 {
        let address = |at: usize| Some(u128::from_be_bytes(*packet.get(at..)?.first_chunk()?));
        (address(8)?, address(24)?)
    } else {
        let address = |at: usize| Some(u32::from_be_bytes(*packet.get(at..)?.first_chunk()?));
        (u128::from(address(12)?), u128::from(address(16)?))
    };
    Some(AddressPair {
        source,
        destination,
        ipv6: IPV6,
    })
}
