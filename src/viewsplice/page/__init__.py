"""The parts of the page that `viewsplice.report` writes: sections, data, and the script that draws them."""
