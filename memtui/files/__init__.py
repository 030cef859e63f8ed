"""Read and save files that belong to other programs.

`reading` guards against hostile files, `json`, `frontmatter` and `sidecar_lines` edit texts by
spans, `merging` applies edits to what a file holds now, `save_transaction` saves files,
`atomic_replace` replaces one, `backups` keeps former versions, `revert_detection` finds what other
programs wrote afterwards.
"""
