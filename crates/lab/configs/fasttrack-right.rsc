/ip/firewall/filter/add action=fasttrack-connection chain=forward connection-state=established,related place-before=[find comment=established]
