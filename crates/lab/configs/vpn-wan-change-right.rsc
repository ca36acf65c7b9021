/interface/ipip/set to-far local-address=0.0.0.0
