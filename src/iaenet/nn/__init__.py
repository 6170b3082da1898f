"""Parts of networks. Each works alone on a grid."""
