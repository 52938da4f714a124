"""The admission webhook: adds the sidecar to pods that ask for a gateway."""
