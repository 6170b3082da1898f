"""Where pairs of functions come from: problems, files of many formats, and data files of our own."""
