"""What releases the project and shows it to people: the site, the picture, the checks of a tag."""
