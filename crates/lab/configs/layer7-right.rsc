/ip/firewall/filter/set [find layer7-protocol=friends] !layer7-protocol protocol=tcp dst-port=443 tls-host=*.friends-site.example
/ip/firewall/filter/set [find layer7-protocol=videos] !layer7-protocol protocol=tcp dst-port=443 tls-host=*.video-site.example
