/interface/bridge/port/set [find comment=server or comment=workstation] hw=yes
/interface/bridge/filter/set [find] in-interface=ether4
