// Tasks by their common names, for the search field.

/** [names, title, address] */
const TASKS = [
  ["port forward forwarding open port expose server dst-nat dstnat virtual server pinhole", "Forward a port", "/ip/firewall/nat/new?chain=dstnat&action=dst-nat&protocol=tcp"],
  ["quick set setup wizard first start home internet router new install", "Set up a home router", "quickset?setup=home"],
  ["quick set pppoe dsl setup provider password", "Set up the internet by PPPoE", "quickset?setup=pppoe"],
  ["quick set bridge access point switch mode", "Set up a bridge", "quickset?setup=bridge"],
  ["quick set vpn server wireguard phone road warrior", "Set up a VPN server for phones", "quickset?setup=vpn"],
  ["masquerade share internet nat source srcnat", "Share the internet connection (masquerade)", "/ip/firewall/nat/new?chain=srcnat&action=masquerade"],
  ["wan ip address public external internet address", "WAN address", "/ip/address"],
  ["internet provider dhcp client wan connection", "Internet connection by DHCP", "/ip/dhcp-client"],
  ["pppoe dsl dial internet provider", "Internet connection by PPPoE", "/interface/pppoe-client"],
  ["reset configuration factory defaults reboot restart power off shutdown", "Reset the configuration here. Reboot: by the tools of the machine", "/system"],
  ["block deny ban website host drop firewall rule", "Block traffic", "/ip/firewall/filter/new?chain=forward&action=drop"],
  ["allow permit firewall rule accept", "Allow traffic", "/ip/firewall/filter/new?chain=forward&action=accept"],
  ["static lease reserve fixed address reservation dhcp device", "Give a device a fixed address", "/ip/dhcp-server/lease/new"],
  ["who is connected devices clients hosts leases", "Devices of the network", "/ip/dhcp-server/lease"],
  ["limit bandwidth speed qos shaping slow throttle", "Limit the speed of a device", "/queue/simple/new"],
  ["top talkers who uses bandwidth connections traffic rate", "Connections by traffic", "/ip/firewall/connection"],
  ["vpn phone wireguard peer road warrior", "WireGuard peers", "/interface/wireguard/peers"],
  ["vpn ipsec site tunnel", "IPsec peers", "/ip/ipsec/peer"],
  ["wifi wireless ssid password", "Wireless", "/interface/wifi"],
  ["vlan tagged untagged trunk", "VLANs of a bridge", "/interface/bridge/vlan"],
  ["dns server resolver name host record", "DNS", "/ip/dns"],
  ["local name host entry dns record", "Add a DNS name", "/ip/dns/static/new"],
  ["password change user account login administrator", "Users and passwords", "/user"],
  ["backup restore save export import download configuration text", "Backup, export and import", "changes"],
  ["undo redo history changes who changed what revert take back", "History of changes", "changes"],
  ["files upload download storage", "Files", "/file"],
  ["log errors messages events", "Log", "/log"],
  ["time clock timezone date ntp", "Clock", "/system/clock"],
  ["router name hostname identity rename", "Name of the router", "/system/identity"],
  ["default gateway route static routing", "Routes", "/ip/route"],
  ["why blocked cannot reach trace packet path dropped", "Why is a packet dropped?", "walk"],
  ["dropped packets drops loss reasons counter", "Dropped packets by reason", "/tool/drop"],
  ["mistakes problems check health findings", "Check the configuration for mistakes", "doctor"],
  ["cpu memory uptime version load resource", "Load and version", "/system/resource"],
  ["ssh telnet api services ports winbox management access www", "Services of the router", "/ip/service"],
  ["console command line terminal cli", "Terminal", "terminal"],
  ["ping reach host alive latency rtt loss echo", "Ping a host", "tools?run=/tool/ping"],
  ["traceroute path hops route to host", "Trace the route to a host", "tools?run=/tool/traceroute"],
  ["torch live traffic who talks bandwidth now interface", "Traffic of an interface, live", "tools?run=/tool/torch"],
  ["sniffer capture packets pcap wireshark tcpdump", "Capture packets", "tools?run=/tool/sniffer/quick"],
  ["profile cpu load activity busy", "Load by activity", "tools?run=/tool/profile"],
  ["ip scan find devices network addresses in use", "Find devices of a network", "tools?run=/tool/ip-scan"],
  ["watch live graph chart rate traffic interface queue cpu monitor five minutes", "Watch interfaces, queues and the processor", "watch"],
  ["vpn device phone wireguard qr code scan", "Add a WireGuard phone and show its code", "quickset?setup=device"],
  ["fetch download url http test", "Fetch a URL", "tools?run=/tool/fetch"],
];

/** Returns [title, address] of the tasks whose names contain all words and whose menus exist. */
export function tasksFor(world, words) {
  const exists = (address) => !address.startsWith("/") || world.menus.has(address.replace(/\/new\b.*$/, ""));
  const found = TASKS.filter(([names, title]) => words.every((word) => `${names} ${title}`.toLowerCase().includes(word)));
  return found.filter(([, , address]) => exists(address)).map(([, title, address]) => [title, address]);
}
