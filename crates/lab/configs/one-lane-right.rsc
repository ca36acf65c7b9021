/ip/address/remove [find interface=ether4]
/ip/route/add dst-address=10.9.4.0/24 gateway=10.9.3.2
