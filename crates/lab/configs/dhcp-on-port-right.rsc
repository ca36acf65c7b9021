/interface/bridge/port/remove [find interface=ether1]
