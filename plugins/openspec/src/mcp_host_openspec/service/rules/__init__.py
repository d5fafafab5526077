"""What validation looks for: one function a rule, with its number and its level.

To add a rule, write its function in the module of what it looks at, name it in that module's
`RULES`, call it where its findings belong in the order, and run

    python -m mcp_host_openspec.service.rules.table docs/how-to/openspec.md
"""
