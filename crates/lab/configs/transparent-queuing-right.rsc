/queue/simple/remove guests
/interface/bridge/settings/set use-ip-firewall=no
/queue/tree/add max-limit=10M name=guests parent=ether4
