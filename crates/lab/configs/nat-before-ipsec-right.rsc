/ip/firewall/raw/add action=notrack chain=prerouting src-address=10.1.101.0/24 dst-address=10.1.202.0/24
/ip/firewall/raw/add action=notrack chain=prerouting src-address=10.1.202.0/24 dst-address=10.1.101.0/24
