//! All reasons to drop a packet, declared once: counters, packet tracer and manual use the same text.

use frame::reassembly::Lost;

macro_rules! drops {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// Reason why a packet was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum DropReason {
            $($(#[doc = $doc])+ $name,)+
        }

        impl DropReason {
            /// All reasons; the index of a reason is that of its counter.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the name in counters and traces.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns the meaning in one or two sentences, with its source.
            pub const fn explain(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+),)+ }
            }
        }
    };
}

drops! {
    /// The frame is shorter than an Ethernet header.
    EthernetLength = "ethernet-length",
    /// The destination MAC address is not this router's, and the port is not a bridge port.
    EthernetOther = "ethernet-other-host",
    /// A unicast IP packet in a link-layer broadcast or multicast frame (RFC 1812, 5.3.4).
    LinkBroadcast = "link-broadcast",
    /// The EtherType is not supported.
    EthernetType = "ethernet-type",
    /// The port has no VLAN interface with this VLAN id.
    VlanUnknown = "vlan-unknown",
    /// The PPPoE session header is truncated or has another version, type or code, or the frame was sent to a
    /// multicast address (RFC 2516, 4).
    PppoeMalformed = "pppoe-malformed",
    /// The PPPoE length is shorter than a PPP protocol field, or longer than the frame (RFC 2516, 4).
    PppoeLength = "pppoe-length",
    /// The interface has no PPPoE session with this peer and session id.
    PppoeSession = "pppoe-session",
    /// The PPP protocol in the PPPoE session is not supported.
    PppoeProtocol = "pppoe-protocol",
    /// The packet belongs to a link on which no PPP session runs.
    PppLink = "ppp-no-session",
    /// A PPP control packet is truncated, or its length or an option is malformed (RFC 1661, 5 and 6).
    PppMalformed = "ppp-malformed",
    /// The protocol or the code of a PPP packet is unknown; the sender was told (RFC 1661, 5.6 and 5.7).
    PppUnknown = "ppp-unknown",
    /// A PPP control packet does not fit the state of its session, such as a delayed answer.
    PppUnexpected = "ppp-unexpected",
    /// A multilink fragment was lost, or the packet exceeds the MRRU (RFC 1990, 4 and 5).
    PppFragment = "ppp-fragment",
    /// The caller had too many logins refused in this minute: its new PPP link is closed.
    PppGuesses = "ppp-refused-logins",
    /// The PPP session takes no packets of this protocol.
    PppProtocol = "ppp-protocol",
    /// A data packet of a PPP session arrived before the session had an interface. The sender may repeat it.
    PppEarly = "ppp-early",
    /// An MPPE packet is truncated, compressed or not encrypted (RFC 3078, 3).
    MppeMalformed = "mppe-malformed",
    /// An MPPE packet without state is older than the previous one, or a duplicate.
    MppeLate = "mppe-late",
    /// A packet before this MPPE packet was lost: the other end is asked to begin again (RFC 3078, 8.2).
    MppeLost = "mppe-lost",
    /// MPPE with state waits for the other end to begin again after a loss.
    MppeReset = "mppe-reset",
    /// A decrypted MPPE packet is no packet: the keys of both ends differ, or the packet is forged.
    MppeKey = "mppe-key",
    /// Forged MPPE packets pretended so many losses that this loss is not believed.
    MppeGap = "mppe-gap",
    /// A packet in clear text arrived by an encrypted PPP session.
    MppePlain = "mppe-plain",
    /// Another worker uses the cipher of this MPPE session, while the number of workers changes.
    MppeBusy = "mppe-busy",
    /// The other end of a bridged PPP session does not take the frame: it has a VLAN tag, or is a BPDU (RFC 3518, 5).
    PppBridged = "ppp-bridged",
    /// A tag of a PPPoE discovery packet exceeds the packet, or is too long to be repeated (RFC 2516, 4).
    PppoeTag = "pppoe-tag",
    /// No PPPoE service, or no offer, has the requested name.
    PppoeService = "pppoe-service",
    /// A PPPoE request without a cookie of this router, or with one that is too old (RFC 2516, appendix A).
    PppoeCookie = "pppoe-cookie",
    /// The sender exceeds the rate of PPPoE discovery packets of one link address.
    PppoeRate = "pppoe-rate",
    /// A PPP session sends more control packets in one second than this router handles per session.
    PppRate = "ppp-rate",
    /// The packet made a client dial on demand. The packets of the next moments pass, once the session is open.
    PppDemand = "ppp-dial-on-demand",
    /// The PPPoE service has its maximum number of sessions, or too many offers wait.
    PppoeFull = "pppoe-full",
    /// A PPPoE answer that no client of the interface expects.
    PppoeUnexpected = "pppoe-unexpected",
    /// The ingress interface is disabled or has no IP configuration.
    InterfaceDown = "interface-down",
    /// The packet is shorter than an IPv4 header or its total length (RFC 1812, 5.2.2).
    Ipv4Length = "ipv4-length",
    /// The version is not 4 (RFC 1812, 5.2.2).
    Ipv4Version = "ipv4-version",
    /// The header checksum is wrong (RFC 1812, 5.2.2).
    Ipv4Checksum = "ipv4-checksum",
    /// The source address is invalid as a source: loopback, multicast, broadcast, this network, class E
    /// (RFC 1812, 5.3.7).
    Ipv4MartianSource = "ipv4-martian-source",
    /// The destination address must not be forwarded (RFC 1812, 5.3.7).
    Ipv4MartianDestination = "ipv4-martian-destination",
    /// The source is an address of this router.
    Ipv4OwnSource = "ipv4-own-source",
    /// An option is malformed (RFC 1812, 5.2.4).
    Ipv4Options = "ipv4-options",
    /// The packet has a source-route option.
    Ipv4SourceRoute = "ipv4-source-route",
    /// The packet is shorter than an IPv6 header or its payload length (RFC 8200, 3).
    Ipv6Length = "ipv6-length",
    /// The version is not 6 (RFC 8200, 3).
    Ipv6Version = "ipv6-version",
    /// The source address is invalid as a source: multicast or loopback (RFC 4291, 2.7 and 2.5.3).
    Ipv6MartianSource = "ipv6-martian-source",
    /// The destination must not be forwarded: loopback or unspecified (RFC 4291, 2.5.2 and 2.5.3).
    Ipv6MartianDestination = "ipv6-martian-destination",
    /// The source is an address of this router.
    Ipv6OwnSource = "ipv6-own-source",
    /// A link-local address has nonzero bits where the host plane stores its zone (RFC 4291, 2.5.6;
    /// `dataplane/src/zone.rs`).
    Ipv6Zone = "ipv6-zone",
    /// A link-local address would leave its link (RFC 4291, 2.5.6); the sender is notified.
    Ipv6BeyondScope = "ipv6-beyond-scope",
    /// An extension header is malformed, or there are too many.
    Ipv6ExtensionHeader = "ipv6-extension-header",
    /// A hop-by-hop option is malformed, or there are more than eight (RFC 8200, 4.2; RFC 8504, 5.3).
    Ipv6Options = "ipv6-options",
    /// An unknown hop-by-hop option requires the packet to be dropped; the sender is notified if the option
    /// requires it (RFC 8200, 4.2).
    Ipv6UnknownOption = "ipv6-unknown-option",
    /// The route back to the source does not leave by the ingress interface (RFC 3704).
    ReversePath = "reverse-path",
    /// The packet is not addressed to this router, and forwarding is off.
    ForwardingOff = "forwarding-off",
    /// The TTL or hop limit is exhausted; the sender is notified (RFC 1812, 5.3.1; RFC 4443, 3.3).
    TtlExceeded = "ttl-exceeded",
    /// There is no route to the destination; the sender is notified (RFC 1812, 4.3.3.1).
    NoRoute = "no-route",
    /// A blackhole route matched: the packet is dropped silently.
    Blackhole = "blackhole",
    /// An unreachable route or rule matched; the sender is notified.
    Unreachable = "unreachable",
    /// A prohibit route or rule matched; the sender is notified.
    Prohibit = "prohibit",
    /// The packet exceeds the MTU of the egress link and must not be fragmented; the sender is notified.
    TooBig = "too-big",
    /// The egress interface is down.
    EgressDown = "egress-down",
    /// The next hop did not answer; the sender is notified (RFC 1812, 3.3.2).
    NeighbourUnreachable = "neighbour-unreachable",
    /// Too many packets wait for the next hop's address.
    NeighbourQueueFull = "neighbour-queue-full",
    /// A multicast or broadcast packet for a group that this router neither joined nor forwards.
    MulticastNotMine = "multicast-not-mine",
    /// A directed broadcast from another network (RFC 2644).
    DirectedBroadcast = "directed-broadcast",
    /// The receive ring of the ingress port was full: the worker was too slow.
    PortOverrun = "port-overrun",
    /// The frame arrived damaged, or too long for the ingress port.
    PortDamaged = "port-damaged",
    /// The queue was full (`/queue`).
    QueueFull = "queue-full",
    /// The queue discipline dropped the packet to keep the queue or its delay short.
    QueueEarly = "queue-early",
    /// A later packet in the queue carries a newer TCP acknowledgement.
    QueueNeedless = "queue-needless-ack",
    /// The egress port had no room.
    PortFull = "port-full",
    /// The pool had no free slot for a copy, a fragment or a segment.
    NoBuffer = "no-buffer",
    /// Components that hold packets (reassembly, neighbour resolution) have their maximum of the pool: the
    /// rest is reserved for receiving.
    PoolReserve = "pool-reserve",
    /// The ring to the control plane was full.
    PuntFull = "punt-full",
    /// More frames arrived for a service of this router (ARP, echo requests …) than it accepts per second, so
    /// that no service starves the others.
    ServiceLimit = "service-limit",
    /// The ring to the worker that owns the flow, or the egress port's queue, was full.
    HandoverFull = "handover-full",
    /// A merged segment or unfinished checksum contradicts the packet's headers.
    OffloadMalformed = "offload-malformed",
    /// A feature of this router requested more frames at once than the control plane sends for it.
    FeatureSends = "feature-sends",
    /// No service of this router accepts the packet; the sender may be notified.
    NotForUs = "not-for-us",
    /// A malformed ARP packet (RFC 826).
    ArpMalformed = "arp-malformed",
    /// A malformed ICMP or neighbour discovery message.
    IcmpMalformed = "icmp-malformed",
    /// A datagram to the DNS server with a malformed UDP header (RFC 768).
    DnsMalformed = "dns-malformed",
    /// The connection needs an address of the router for NAT, and the interface has none.
    NatAddress = "nat-address",
    /// The connection was masqueraded on another interface than the packet's egress. The connection is
    /// removed with this packet; the next packet begins a new one with that interface's address.
    NatEgress = "nat-egress",
    /// No free port or address is left for NAT: replies would be ambiguous.
    NatPorts = "nat-ports",
    /// The packet is too short for the translation of its connection.
    NatMalformed = "nat-malformed",
    /// An invalid fragment: empty, with a length that is no multiple of 8, beyond the end of a datagram, or a
    /// first fragment without its headers (RFC 791, 3.2; RFC 8200, 4.5; RFC 7112).
    FragmentMalformed = "fragment-malformed",
    /// A duplicate fragment.
    FragmentDuplicate = "fragment-duplicate",
    /// Fragments of a datagram overlap or disagree about its end (RFC 5722).
    FragmentOverlap = "fragment-overlap",
    /// Only some fragments of a datagram are ECN-capable while others carry a congestion mark (RFC 3168,
    /// 5.3).
    FragmentEcn = "fragment-ecn",
    /// A datagram was not completed in time (RFC 1122, 3.3.2; RFC 8200, 4.5).
    FragmentTimeout = "fragment-timeout",
    /// Too many fragments waited for the rest of their datagrams: the oldest were dropped.
    FragmentsFull = "fragments-full",
    /// A new connection does not fit: the connection table contains only connections that must not be
    /// evicted.
    ConnectionsFull = "connections-full",
    /// The tuple or reply tuple of a new connection belongs to another connection.
    ConnectionTaken = "connection-taken",
    /// A `raw` rule dropped the packet.
    FirewallRaw = "firewall-raw",
    /// A `mangle` rule dropped the packet.
    FirewallMangle = "firewall-mangle",
    /// A `filter` rule dropped the packet.
    FirewallFilter = "firewall-filter",
    /// A `filter` rule rejected the packet; the sender is notified.
    FirewallReject = "firewall-reject",
    /// A `filter` rule tarpitted the packet.
    FirewallTarpit = "firewall-tarpit",
    /// A bridge `filter` rule dropped the frame.
    BridgeFilter = "bridge-filter",
    /// A bridge `nat` rule dropped the frame.
    BridgeNat = "bridge-nat",
    /// Tunnels are nested too deep, or lead to each other in a loop.
    TunnelDepth = "tunnel-depth",
    /// The source MAC address of a bridged frame is multicast or zero.
    BridgeSource = "bridge-source",
    /// The destination is an address reserved for bridge protocols (IEEE 802.1Q, 8.6.3), and no service here
    /// uses it.
    BridgeReserved = "bridge-reserved",
    /// The spanning tree state of the bridge port blocks the frame.
    BridgePortState = "bridge-port-state",
    /// The bridge port admits only tagged, or only untagged, frames (`frame-types`).
    BridgeFrameTypes = "bridge-frame-types",
    /// The ingress bridge port is not a member of the frame's VLAN (`ingress-filtering`).
    BridgeIngressVlan = "bridge-ingress-vlan",
    /// The egress bridge port, or the bridge itself, is not a member of the frame's VLAN.
    BridgeEgressVlan = "bridge-egress-vlan",
    /// A malformed SNMP request.
    SnmpMalformed = "snmp-malformed",
    /// An SNMP request with a community, address or key that is not permitted.
    SnmpRefused = "snmp-refused",
    /// A switch chip rule of the port dropped the frame, or its `rate` was exceeded.
    SwitchRule = "switch-rule",
    /// The port's `vlan-mode` does not admit the frame's VLAN: the switch chip's table lacks it, or the port
    /// is not a member.
    SwitchVlan = "switch-vlan",
    /// The frame's destination is behind the bridge port that it arrived on.
    BridgeSamePort = "bridge-same-port",
    /// Horizon, isolation or a forwarding override separates the two bridge ports.
    BridgeApart = "bridge-apart",
    /// The frame is for several bridge ports, and none of them accepts it.
    BridgeNowhere = "bridge-nowhere",
    /// A DHCP or DHCPv6 server message from a bridge port that is not trusted (RFC 7610, 2).
    BridgeDhcpServer = "bridge-dhcp-server",
    /// A DHCP request with a relay agent option from a bridge port that is not trusted (RFC 3046, 2.1).
    BridgeDhcpOption = "bridge-dhcp-option",
    /// A router advertisement, or a packet that may hide one, from a bridge port that is not trusted
    /// (RFC 6105, RFC 7113).
    BridgeAdvertisement = "bridge-router-advertisement",
    /// The frame exceeds the maximum length of the egress bridge port.
    BridgeTooBig = "bridge-too-big",
    /// Bridges are nested too deep, or lead to each other in a loop.
    BridgeDepth = "bridge-depth",
    /// Too many frames waited for encapsulation, or for processing after decapsulation.
    AgendaFull = "agenda-full",
    /// The frame arrived on an inactive slave of its bond: a backup, or one that LACP does not collect from.
    BondInactive = "bond-inactive-slave",
    /// No slave of the bond can send.
    BondDown = "bond-no-slave",
    /// A VRRP advertisement or its packet is malformed (RFC 5798, 7.1).
    VrrpMalformed = "vrrp-malformed",
    /// A VRRP advertisement has a TTL other than 255: its sender is not on the link (RFC 5798, 7.1).
    VrrpTtl = "vrrp-ttl",
    /// A VRRP advertisement has a wrong checksum (RFC 5798, 7.1); `v3-checksum-as-v2` selects the kind of
    /// checksum.
    VrrpChecksum = "vrrp-checksum",
    /// A VRRP advertisement lacks the virtual router's authentication (RFC 2338, 5.3.6).
    VrrpAuthentication = "vrrp-authentication",
    /// A VRRP 2 advertisement has another interval than this router's (RFC 3768, 7.1).
    VrrpInterval = "vrrp-interval",
    /// A VRRP advertisement has another version than the virtual router.
    VrrpVersion = "vrrp-version",
    /// An advertisement of a virtual router that this router does not take part in.
    VrrpOther = "vrrp-other-router",
    /// An NTP packet is malformed, or is neither a request nor a response (RFC 5905, 7.3).
    NtpMalformed = "ntp-malformed",
    /// An NTP response without outstanding request of this router, or with a wrong key.
    NtpUnasked = "ntp-unasked",
    /// The sender exceeds the rate limit for NTP requests.
    NtpLimit = "ntp-limit",
    /// A DHCP message is neither a request for a relay agent here nor a reply to one.
    DhcpRelayOther = "dhcp-relay-other",
    /// A DHCP request passed too many relay agents, or this one before (RFC 1542, 4.1.1).
    DhcpRelayLooped = "dhcp-relay-looped",
    /// A DHCP client has not requested an address for as long as the relay agent's `delay-threshold`.
    DhcpRelayEarly = "dhcp-relay-too-early",
    /// A DHCP client sent a relay agent option itself (RFC 3046, 2.1).
    DhcpRelayForged = "dhcp-relay-forged",
    /// The DHCP relay agent has no address for the servers' replies.
    DhcpRelayNoAddress = "dhcp-relay-no-address",
    /// A reply to a DHCP client is malformed or has a wrong checksum.
    DhcpClientMalformed = "dhcp-client-malformed",
    /// A reply to a DHCP client has another transaction, client or server than the request.
    DhcpClientOther = "dhcp-client-other",
    /// A reply to a DHCP client that expects none.
    DhcpClientUnexpected = "dhcp-client-unexpected",
    /// A reply to a DHCP client has an address, mask or lease time that no host can use.
    DhcpClientUnusable = "dhcp-client-unusable",
    /// An MNDP, CDP or LLDP message is malformed.
    NeighbourMalformed = "neighbor-malformed",
    /// A CDP message has a wrong checksum.
    NeighbourChecksum = "neighbor-checksum",
    /// The table of `/ip/neighbor` is full.
    NeighbourFull = "neighbor-table-full",
    /// A MAC ping message is malformed.
    MacPingMalformed = "mac-ping-malformed",
    /// A DHCP message is too short, too long or malformed, or its UDP datagram is.
    DhcpMalformed = "dhcp-malformed",
    /// A DHCP message of a type that the server does not answer, or BOOTP where it is not enabled.
    DhcpType = "dhcp-type",
    /// A DHCP client accepted the offer of another server, or requests a server that does not exist here.
    DhcpOtherServer = "dhcp-other-server",
    /// A DHCP client has not requested an address for as long as `delay-threshold`.
    DhcpEarly = "dhcp-too-early",
    /// The DHCP client has a static lease with `block-access=yes`.
    DhcpBlocked = "dhcp-blocked",
    /// The DHCP server has nothing for this client: no static lease, no pool, or not the requested address.
    DhcpUnknown = "dhcp-unknown-client",
    /// No address is left for a DHCP client.
    DhcpNoAddress = "dhcp-no-address",
    /// The MAC address has as many leases as `client-mac-limit` permits.
    DhcpMacLimit = "dhcp-mac-limit",
    /// A DHCP request needs the grant of a RADIUS server, and none answers.
    DhcpNoGrant = "dhcp-no-grant",
    /// The inner packet of a tunnel is malformed or truncated.
    TunnelMalformed = "tunnel-malformed",
    /// The router has no source address for packets to the remote end of the tunnel.
    TunnelNoSource = "tunnel-no-source",
    /// The tunnel packet carries a congestion mark, and the inner packet is not ECN-capable (RFC 6040, 4.2).
    TunnelCongested = "tunnel-congested",
    /// No WireGuard peer of the interface has the destination among its allowed addresses.
    WireguardNoPeer = "wireguard-no-peer",
    /// The handshake with the WireGuard peer was not completed while the packet waited, or too many packets
    /// wait.
    WireguardNoSession = "wireguard-no-session",
    /// A WireGuard message has a session index that the interface does not know, or no longer knows.
    WireguardUnknown = "wireguard-unknown-session",
    /// A datagram to a WireGuard port is no WireGuard message, or its content is no packet.
    WireguardMalformed = "wireguard-malformed",
    /// The WireGuard message is a duplicate, or older than the replay window of its session.
    WireguardReplayed = "wireguard-replayed",
    /// The authentication tag of the WireGuard message is wrong: another key, or the message was modified.
    WireguardIntegrity = "wireguard-integrity",
    /// A WireGuard handshake is not newer than the peer's last one: a replay.
    WireguardReplayedHandshake = "wireguard-replayed-handshake",
    /// A WireGuard handshake response cannot be decrypted: the peer has another preshared key.
    WireguardPreshared = "wireguard-wrong-preshared-key",
    /// A WireGuard handshake has a wrong MAC or key, or comes from an unknown peer.
    WireguardStranger = "wireguard-unknown-peer",
    /// Too many WireGuard handshakes arrive: their senders got cookies.
    WireguardFlood = "wireguard-handshake-limit",
    /// The packet's source is not among the allowed addresses of the WireGuard peer that sent it.
    WireguardSource = "wireguard-wrong-source",
    /// The WireGuard session has used up its counters and needs a new handshake.
    WireguardExhausted = "wireguard-counters-exhausted",
    /// An OpenVPN packet is truncated, or its content is no packet.
    OvpnMalformed = "ovpn-malformed",
    /// An OpenVPN packet belongs to no session, or to one of another address.
    OvpnUnknown = "ovpn-unknown-session",
    /// The OpenVPN session has no key for the packet: it is not open yet, or the key was renewed.
    OvpnKey = "ovpn-no-key",
    /// The OpenVPN packet was received before, or is older than the replay window.
    OvpnReplayed = "ovpn-replayed",
    /// The HMAC, tag or padding of the OpenVPN packet is wrong.
    OvpnIntegrity = "ovpn-integrity",
    /// The content of the OpenVPN packet is compressed, which is refused.
    OvpnCompressed = "ovpn-compressed",
    /// The OpenVPN key has used up its packet ids.
    OvpnExhausted = "ovpn-counters-exhausted",
    /// An OpenVPN control packet is repeated, out of sequence, or not admitted by the state of its session.
    OvpnState = "ovpn-state",
    /// An OpenVPN client returned a session id that is wrong or too old.
    OvpnCookie = "ovpn-wrong-cookie",
    /// The OpenVPN server has as many sessions as it may have.
    OvpnFull = "ovpn-session-limit",
    /// An L2TP message has another version than 2, is truncated, or its fields contradict each other (RFC 2661, 3.1).
    L2tpMalformed = "l2tp-malformed",
    /// An L2TP message has an unknown mandatory attribute or type (RFC 2661, 4.1).
    L2tpAttribute = "l2tp-unknown-attribute",
    /// No L2TP tunnel or session has the number of the message.
    L2tpUnknown = "l2tp-unknown-session",
    /// The L2TP tunnel belongs to another address.
    L2tpPeer = "l2tp-wrong-address",
    /// An L2TP message did not come through the IPsec association of its tunnel (RFC 3193, 4).
    L2tpAssociation = "l2tp-wrong-association",
    /// A packet of an L2TPv3 session has another cookie (RFC 3931, 8.2).
    L2tpCookie = "l2tp-wrong-cookie",
    /// An L2TP message was received before, or is not the expected one (RFC 2661, 5.4 and 5.8).
    L2tpSequence = "l2tp-sequence",
    /// The state of the L2TP tunnel or session admits no such message (RFC 2661, 7).
    L2tpState = "l2tp-state",
    /// An L2TP request arrived, and the L2TP server is not enabled.
    L2tpDisabled = "l2tp-server-disabled",
    /// The other end of an L2TP tunnel does not know its secret (RFC 2661, 5.1.1).
    L2tpAuthentication = "l2tp-authentication",
    /// The L2TP tunnel needs IPsec, and no policy protects the packet.
    L2tpUnprotected = "l2tp-unprotected",
    /// The L2TP server has its maximum number of sessions or tunnels.
    L2tpFull = "l2tp-limit",
    /// A PPTP message or GRE packet is truncated, or its fields contradict each other (RFC 2637, 2 and 4).
    PptpMalformed = "pptp-malformed",
    /// The type of a PPTP message is unknown (RFC 2637, 2).
    PptpUnknown = "pptp-unknown-message",
    /// No PPTP call has the number of the message or packet.
    PptpCall = "pptp-unknown-call",
    /// The PPTP call belongs to another address.
    PptpPeer = "pptp-wrong-address",
    /// A PPTP packet was received before, or comes more than 31 packets late (RFC 2637, 4.3).
    PptpSequence = "pptp-sequence",
    /// The state of the PPTP connection admits no such message (RFC 2637, 3).
    PptpState = "pptp-state",
    /// A PPTP client called, and the PPTP server is not enabled.
    PptpDisabled = "pptp-server-disabled",
    /// The PPTP server has its maximum number of connections without a call, or the connection has a call.
    PptpFull = "pptp-limit",
    /// The TLS handshake of a connection to the SSTP server failed.
    SstpTls = "sstp-tls",
    /// The head of an SSTP connection is no request for it ([MS-SSTP], 3.1.4.1).
    SstpRequest = "sstp-request",
    /// An SSTP packet is truncated, or its fields contradict each other ([MS-SSTP], 2.2).
    SstpMalformed = "sstp-malformed",
    /// The type of an SSTP message is unknown ([MS-SSTP], 2.2.2).
    SstpUnknown = "sstp-unknown-message",
    /// The state of the SSTP connection admits no such packet ([MS-SSTP], 3).
    SstpState = "sstp-state",
    /// An SSTP client asked for another protocol than PPP ([MS-SSTP], 2.2.5).
    SstpProtocol = "sstp-protocol",
    /// The crypto binding of an SSTP call is wrong: somebody is in the middle ([MS-SSTP], 3.2.5.2).
    SstpBinding = "sstp-binding",
    /// A network packet of an SSTP call came before its crypto binding ([MS-SSTP], 3.2.5.2).
    SstpUnbound = "sstp-unbound",
    /// An SSTP client connected, and the SSTP server is not enabled.
    SstpDisabled = "sstp-server-disabled",
    /// The SSTP server has its maximum number of connections.
    SstpFull = "sstp-limit",
    /// A batch of packets found no room on its way between a worker and a byte stream.
    StreamFull = "stream-full",
    /// A packet came on a byte stream whose session has no interface.
    StreamUnknown = "stream-unknown-session",
    /// A datagram to a VXLAN port has a network identifier that no interface has there (RFC 7348, 4).
    VxlanUnknown = "vxlan-unknown-network",
    /// No remote VXLAN endpoint is known: neither for the frame's destination nor for flooding.
    VxlanNoPeer = "vxlan-no-peer",
    /// The router has no source address for packets to a remote VXLAN endpoint.
    VxlanNoSource = "vxlan-no-source",
    /// A frame from a VXLAN has this router's MAC address as its source: it was looped back.
    VxlanEcho = "vxlan-echo",
    /// An IPsec policy discards the received packet (`action=discard`).
    IpsecDiscard = "ipsec-discard",
    /// An IPsec policy discards the packet to be sent (`action=discard`).
    IpsecDiscardOut = "ipsec-discard-out",
    /// An IPsec policy requires protection, and the packet arrived unprotected (RFC 4301, 5.2).
    IpsecClear = "ipsec-unprotected",
    /// An IPsec policy requires protection, and there are no keys yet; negotiation was started.
    IpsecNoKeys = "ipsec-no-keys",
    /// No IPsec association has the SPI of the packet (RFC 4301, 5.2).
    IpsecUnknown = "ipsec-unknown-spi",
    /// The packet is too short for its IPsec association, or its content is no packet.
    IpsecMalformed = "ipsec-malformed",
    /// The IPsec packet is a duplicate, or older than the replay window of its association (RFC 4303, 3.4.3).
    IpsecReplayed = "ipsec-replayed",
    /// The integrity check of the IPsec packet failed: another key, or the packet was modified.
    IpsecIntegrity = "ipsec-integrity",
    /// The decapsulated packet does not match the policy of its IPsec association (RFC 4301, 5.2).
    IpsecMismatch = "ipsec-policy-mismatch",
    /// An IPsec dummy packet, which hides the amount of traffic (RFC 4303, 2.6).
    IpsecDummy = "ipsec-dummy",
    /// A NAT keepalive datagram of IPsec (RFC 3948, 4).
    IpsecKeepalive = "ipsec-nat-keepalive",
    /// The IPsec association has used up its sequence numbers and needs new keys (RFC 4303, 3.3.3).
    IpsecExhausted = "ipsec-sequence-exhausted",
    /// A RADIUS request of this router was refused: too many requests are open.
    RadiusRequests = "radius-requests",
    /// The report of an accounted session's end was dropped: no RADIUS server answers, and too many reports wait.
    RadiusAccounting = "radius-accounting",
    /// A datagram for the RADIUS client has an invalid length, checksum or code.
    RadiusMalformed = "radius-malformed",
    /// The sender of a CoA or Disconnect request is no server of `/radius`.
    RadiusUnknown = "radius-unknown-sender",
    /// A CoA or Disconnect request does not have the authenticator of the sender's secret (RFC 5176, 2.3).
    RadiusUnauthenticated = "radius-unauthenticated",
    /// The Event-Timestamp of a CoA or Disconnect request differs from this router's time by more than five minutes.
    RadiusStale = "radius-stale",
    /// The sender sends more frames to a service of this router than the control plane accepts per sender.
    ServiceSender = "service-sender-limit",
    /// The senders of one interface together send more frames to a service of this router than the control plane
    /// accepts per interface.
    ServiceInterface = "service-interface-limit",
    /// Unknown senders send more than the control plane can process: the sender must prove its address, or
    /// try again.
    ServiceStranger = "service-stranger-limit",
    /// An IKE message refers to an SA that does not exist.
    IkeUnknown = "ike-unknown-spi",
    /// A datagram to an IKE port is malformed.
    IkeMalformed = "ike-malformed",
    /// The packet has headers that must not be separated from the payload to protect.
    IpsecHeaders = "ipsec-headers",
    /// The packet ends before the field that a rule changes.
    FirewallTruncated = "firewall-truncated",
    /// A helper exceeds its limits of expected connections or edits. The sender retransmits and may succeed
    /// later.
    HelperFull = "helper-full",
    /// A helper's edit makes the packet longer than its maximum or its buffer.
    HelperRoom = "helper-room",
}

impl DropReason {
    /// Returns the drop reason for a fragment that reassembly gave up.
    pub const fn of_fragment(lost: Lost) -> Self {
        match lost {
            Lost::Malformed | Lost::Problem { .. } => Self::FragmentMalformed,
            Lost::Duplicate => Self::FragmentDuplicate,
            Lost::Overlap => Self::FragmentOverlap,
            Lost::Ecn => Self::FragmentEcn,
            Lost::Full => Self::FragmentsFull,
            Lost::NoBuffer => Self::NoBuffer,
            Lost::Reserve => Self::PoolReserve,
            Lost::TimedOut { .. } => Self::FragmentTimeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_list_is_in_order() {
        for (index, reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
            let same = DropReason::ALL
                .iter()
                .filter(|other| other.name() == reason.name());
            assert_eq!(same.count(), 1, "{}", reason.name());
        }
    }
}
