/ip/firewall/filter/set [find connection-state=established,related] connection-bytes=10000-0
