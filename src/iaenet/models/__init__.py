"""Networks, ours and those that it is compared with, all under `model(field, at=None) -> field`."""
