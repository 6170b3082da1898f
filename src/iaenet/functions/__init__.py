"""Functions as data: where they are sampled, what they are there, and how they reach a grid."""
