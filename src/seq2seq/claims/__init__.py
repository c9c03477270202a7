"""Claims about attention: what a sweep was to show, whether it does, and the page that says so."""
