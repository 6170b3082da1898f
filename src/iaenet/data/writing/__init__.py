"""What writers of files share."""
