/ip/firewall/filter/add action=accept chain=forward connection-state=established,related src-address=192.168.88.0/24 place-before=[find action=fasttrack-connection]
/ip/firewall/filter/add action=accept chain=forward connection-state=established,related dst-address=192.168.88.0/24 place-before=[find action=fasttrack-connection]
