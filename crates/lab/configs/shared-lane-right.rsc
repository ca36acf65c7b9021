/interface/bridge/port/set [find bridge=data] hw=no
