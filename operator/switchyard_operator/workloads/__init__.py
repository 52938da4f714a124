"""The sidecar as it runs in a cluster: its container and volume, and what stands around them where a gateway runs by itself.

Pure: equal settings give equal dicts. Injection and the controller both build from here.
"""
