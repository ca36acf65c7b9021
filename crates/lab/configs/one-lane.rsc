# The lab "one-lane": a hEX that routes between a site at ether2 and a database at ether4. The database's second cable is
# in ether3.
/system identity
set name=ferroute
/ip address
add address=10.9.2.1/24 interface=ether2
add address=10.9.4.1/24 interface=ether4
add address=10.9.3.1/24 interface=ether3
