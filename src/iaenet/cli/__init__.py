"""The commands of `iaenet`: each reads its arguments, does its work, and gives the text that is shown in the end."""
