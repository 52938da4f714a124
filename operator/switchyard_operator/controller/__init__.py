"""The operator in a cluster: what is watched becomes config and credentials beside each gateway, and statuses."""
