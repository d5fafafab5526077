"""What an OpenSpec tree says: documents, findings and names, read from text alone.

Nothing in here touches a disk. The reading rules are those of the reference tool, release 1.13.2,
so that both agree on every byte; what the two deliberately do differently is written down in
`docs/explanation/openspec-differences.md`.
"""
