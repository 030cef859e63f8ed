"""One HTML file of what a query shows, for people without memtui.

`contents` collects it from a library as plain values, `page` writes these as HTML.
"""
