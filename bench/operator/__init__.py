"""The operator at scale: the real process, on a real API server, in a cluster full of other people's objects.

Reuses the API server and client of the tests; ``KUBEBUILDER_ASSETS`` names the folder with etcd and kube-apiserver.
"""
