"""Controllers: carry out the actions of the table, by subject, through `BrowseScreen`."""
