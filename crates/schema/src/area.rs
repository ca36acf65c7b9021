//! Feature areas in users' words, by menu. An area whose menus are all implemented is removed here together
//! with `Effect::None` in its menus; a test checks that both agree.

use menu::Area;

const fn area(name: &'static str, menus: &'static [&'static str]) -> Area {
    Area { name, menus }
}

/// Feature areas that lack an effect completely or in some menus.
pub(crate) const AREAS: &[Area] = &[
    area("apps", &["/app"]),
    area("BFD", &["/routing/bfd"]),
    area("BGP", &["/routing/bgp", "/routing/rpki"]),
    area("bridges", &["/interface/bridge"]),
    area(
        "CAPsMAN",
        &[
            "/caps-man",
            "/interface/wifi/cap",
            "/interface/wifi/capsman",
        ],
    ),
    area("certificates", &["/certificate"]),
    area("cloud and back-to-home", &["/ip/cloud"]),
    area("connection helpers", &["/ip/firewall/service-port"]),
    area(
        "console settings",
        &["/console", "/system/console", "/special-login"],
    ),
    area("containers", &["/container"]),
    area("detect-internet", &["/interface/detect-internet"]),
    area("DHCP", &["/ipv6/dhcp-relay"]),
    area(
        "disks and file sharing",
        &[
            "/disk",
            "/file/rsync-daemon",
            "/file/sync",
            "/ip/media",
            "/ip/smb",
        ],
    ),
    area("Dude", &["/dude"]),
    area("Ethernet settings", &["/interface/ethernet"]),
    area(
        "hardware",
        &[
            "/lcd",
            "/partitions",
            "/port",
            "/system/gps",
            "/system/health",
            "/system/lcd",
            "/system/leds",
            "/system/resource",
            "/system/routerboard",
            "/system/swos",
            "/system/ups",
            "/system/watchdog",
        ],
    ),
    area("hotspot", &["/ip/hotspot"]),
    area("IoT", &["/iot"]),
    area("IPsec", &["/ip/ipsec"]),
    area("key material", &["/system/keymat-provider"]),
    area("kid control", &["/ip/kid-control"]),
    area("log targets", &["/system/logging"]),
    area("LTE", &["/interface/lte", "/tool/sms"]),
    area("MAC server and RoMON", &["/tool/mac-server", "/tool/romon"]),
    area(
        "MACsec and 802.1X",
        &["/interface/dot1x", "/interface/macsec"],
    ),
    area("MPLS", &["/interface/vpls", "/mpls"]),
    area(
        "multicast routing",
        &["/routing/gmp", "/routing/igmp-proxy", "/routing/pimsm"],
    ),
    area("netwatch", &["/tool/netwatch"]),
    area("NTP", &["/system/ntp", "/system/ptp"]),
    area("OpenFlow", &["/openflow"]),
    area(
        "OSPF / RIP / IS-IS",
        &[
            "/routing/isis",
            "/routing/mme",
            "/routing/ospf",
            "/routing/ospf-v3",
            "/routing/rip",
        ],
    ),
    area("packages and updates", &["/system/package"]),
    area("power line", &["/interface/pwr-line"]),
    area(
        "PPP and its tunnels",
        &["/interface/ppp-client", "/interface/ppp-server"],
    ),
    area(
        "proxies",
        &[
            "/ip/proxy",
            "/ip/reverse-proxy",
            "/ip/socks",
            "/ip/socksify",
            "/ip/tftp",
        ],
    ),
    area("user manager", &["/tool/user-manager", "/user-manager"]),
    area("neighbour discovery proxies", &["/ipv6/nd/proxy"]),
    area("routing filters", &["/routing/filter"]),
    area(
        "routing settings",
        &["/routing/fantasy", "/routing/id", "/routing/settings"],
    ),
    area("switch chips", &["/interface/ethernet/switch"]),
    area("other services", &["/ip/service"]),
    area("TR-069", &["/tr069-client"]),
    area("traffic flow", &["/ip/traffic-flow"]),
    area(
        "traffic tools",
        &[
            "/ip/accounting",
            "/ip/firewall/calea",
            "/tool/calea",
            "/tool/netinstall",
            "/tool/traffic-monitor",
        ],
    ),
    area(
        "tunnels",
        &[
            "/interface/6to4",
            "/interface/eoip",
            "/interface/eoipv6",
            "/interface/gre",
            "/interface/gre6",
            "/interface/ipip",
            "/interface/ipipv6",
            "/ip/packing",
        ],
    ),
    area("UPnP and NAT-PMP", &["/ip/nat-pmp", "/ip/upnp"]),
    area("virtual interfaces", &["/interface/mesh"]),
    area("VRF", &["/ip/vrf"]),
    area("WireGuard", &["/interface/wireguard"]),
    area(
        "wireless",
        &["/interface/w60g", "/interface/wifi", "/interface/wireless"],
    ),
    area("ZeroTier", &["/zerotier"]),
];
